"""Files that cannot be plugins, and plugins that are deadly to load: refused with exit 3 before the first job, with a
sentence that says why; where the config does not name them, they are nobody's business."""
import os
import shutil
import time

from runs import *

CONFIG = """\
model: {matrix: {x: [[1, 0], [0, 1], [1, 1]]}}
schemes:
  - spoiled: {}
    plugin: %s
experiments: [equivariance]
"""


def refusals(place):
    """Name, how the file is made, code, part of the sentence."""
    sound = os.path.join(BAD_PLUGINS, "sound.so")

    def write(path, data):
        with open(path, "wb") as file:
            file.write(data)

    def cut(path, size):
        with open(sound, "rb") as file:
            write(path, file.read()[:size])

    def other_machine(path):
        with open(sound, "rb") as file:
            data = bytearray(file.read())
        data[18] = 40  # e_machine: ARM
        write(path, data)

    deadly = os.path.join(BAD_PLUGINS, "deadly")
    return [
        ("missing", lambda path: None, "E0301", ""),
        ("text", lambda path: write(path, b"hello\n"), "E0303", ""),
        ("empty", lambda path: write(path, b""), "E0303", ""),
        ("300 bytes", lambda path: cut(path, 300), "E0303", ""),
        ("truncated", lambda path: cut(path, 9000), "E030", ""),
        ("folder", os.mkdir, "E0302", ""),
        ("fifo", os.mkfifo, "E0302", ""),
        ("dangling link", lambda path: os.symlink("nowhere", path), "E0301", ""),
        ("other machine", other_machine, "E0303", ""),
        ("crashes", lambda path: shutil.copy(f"{deadly}/constructor_crashes.so", path), "E0309", "SIG"),
        ("exits", lambda path: shutil.copy(f"{deadly}/constructor_exits.so", path), "E0309", "exit("),
        ("hangs", lambda path: shutil.copy(f"{deadly}/constructor_hangs.so", path), "E0310", "seconds"),
        ("undefined symbol", lambda path: shutil.copy(f"{BAD_PLUGINS}/undefined_symbol.so", path), "E0304", "undefined"),
        ("wrong magic", lambda path: shutil.copy(f"{BAD_PLUGINS}/wrong_magic.so", path), "E030", ""),
        ("newer major", lambda path: shutil.copy(f"{BAD_PLUGINS}/newer_major.so", path), "E0306", ""),
    ]


def main():
    place = folder("loading")
    count = 0
    for name, make, code, sentence in refusals(place):
        path = os.path.abspath(os.path.join(place, name.replace(" ", "_") + ".so"))
        make(path)
        text = config(os.path.join(place, "config.yaml"), CONFIG % path)
        started = time.monotonic()
        outcome = run(text, f"output={place}/out.h5", timeout=60)
        seconds = time.monotonic() - started
        expect_code(outcome, 3, name)
        expect(code in outcome.err and sentence in outcome.err, f"{name}: {code}, '{sentence}'", outcome)
        expect(not os.path.exists(f"{place}/out.h5") and parts(f"{place}/out.h5") is None, f"{name}: something is written")
        expect(seconds < 40, f"{name}: took {seconds:.0f} s")
        count += 1
    # Beside good ones, in a folder that is searched.
    crowd = folder(os.path.join(place, "crowd"))
    shutil.copy(os.path.join(BAD_PLUGINS, "deadly", "constructor_crashes.so"), crowd)
    shutil.copy(os.path.join(BAD_PLUGINS, "deadly", "constructor_exits.so"), crowd)
    text = config(os.path.join(place, "config.yaml"))
    outcome = run(text, f"output={place}/out.h5", "--plugin-dir", crowd)
    expect_code(outcome, 0, "deadly plugins that nobody asks for")
    expect(sorted(outcome.jobs("measured")) == sorted(JOBS), "every job is done", outcome)
    print(f"{count} files refused with exit 3; two deadly ones in a searched folder passed over")


main()
