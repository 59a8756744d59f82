"""Files that cannot be plugins or cannot be trusted: `check` and a config that names one refuse it with exit 3 and the
same sentence, at once and before any job; none is opened that could hang."""
from sweep import *

CONFIG = """\
model: {matrix: {x: [[1, 0], [0, 1]]}}
schemes:
  - sound: {}
    plugin: "%s"
experiments: [attention]
"""
SOUND = os.path.join(BAD_PLUGINS, "sound.so")


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def sound_bytes():
    with open(SOUND, "rb") as file:
        return bytearray(file.read())


def changed(offset, value):
    """sound.so with one byte of its ELF header changed."""
    def make(path):
        data = sound_bytes()
        data[offset] = value
        write(path, data)
    return make


def copy_with(mode_of_file, mode_of_folder):
    def make(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(SOUND, path)
        os.chmod(path, mode_of_file)
        os.chmod(os.path.dirname(path), mode_of_folder)
    return make


def link_into_open_folder(path):
    target = os.path.join(os.path.dirname(path), "reachable", "sound.so")
    copy_with(0o644, 0o777)(target)
    os.symlink(target, path)


FILES = [
    ("missing.so", lambda path: None, "E0301", "No such file or directory"),
    ("dangling.so", lambda path: os.symlink("nowhere", path), "E0301", "a symbolic link to a file that does not exist"),
    ("text.so", lambda path: write(path, b"hello\n"), "E0303", "not a shared object (no ELF file)"),
    ("empty.so", lambda path: write(path, b""), "E0303", "the file is empty"),
    ("header_only.so", lambda path: write(path, sound_bytes()[:64]), "E0303", "damaged"),
    ("cut_short.so", lambda path: write(path, sound_bytes()[:300]), "E0303", "damaged: the file ends after 300 bytes"),
    ("truncated.so", lambda path: write(path, sound_bytes()[:9000]), "E0303", "damaged: the file ends after 9000 bytes"),
    ("folder.so", os.mkdir, "E0302", "not a regular file but a folder"),
    ("fifo.so", os.mkfifo, "E0302", "not a regular file but a FIFO"),
    ("arm.so", changed(18, 40), "E0303", "machine 40"),
    ("bits.so", changed(4, 1), "E0303", "built for 32 bits"),
    ("byte_order.so", changed(5, 2), "E0303", "built for the other byte order"),
    ("object.so", changed(16, 1), "E0303", "not a shared object but an object file (.o)"),
    ("program.so", changed(16, 2), "E0303", "not a shared object but a program"),
    ("open_folder/sound.so", copy_with(0o644, 0o777), "E0308", "everyone can write the folder"),
    ("own_folder/sound.so", copy_with(0o666, 0o755), "E0308", "everyone can write the file"),
    ("link_to_open.so", link_into_open_folder, "E0308", "everyone can write the folder"),
]


def main():
    place = os.path.abspath(folder("plugin_files"))
    runs.PE_RUN = small_home(place)
    for name, make, code, sentence in FILES:
        path = os.path.join(place, name)
        make(path)
        outcome = run(config(os.path.join(place, "config.yaml"), CONFIG % path), f"output={place}/out.h5", timeout=60)
        expect_code(outcome, 3, name)
        expect(f"error[{code}]" in outcome.err and sentence in outcome.err, f"{name}: {code}, '{sentence}'", outcome)
        expect(not os.path.exists(f"{place}/out.h5") and parts(f"{place}/out.h5") is None, f"{name}: something is written")
        checked = run("check", path, timeout=60)
        expect_code(checked, 3, f"check {name}")
        expect(sentence in checked.out + checked.err, f"check {name}: '{sentence}'", checked)

    # No path at all.
    outcome = run(config(os.path.join(place, "config.yaml"), CONFIG % ""), f"output={place}/out.h5")
    expect_code(outcome, 2, "an empty path")
    expect("error[E0105]: schemes.sound.plugin: is empty" in outcome.err, "an empty path is not called so", outcome)
    outcome = run("check", "")
    expect_code(outcome, 3, "check of an empty path")
    expect("names no file" in outcome.out + outcome.err, "check of an empty path is not called so", outcome)

    # Folders to search: nobody else may have put something there, and the current one is never meant by accident.
    searched = os.path.join(place, "searched")
    os.mkdir(searched)
    os.symlink(SOUND, os.path.join(searched, "sound.so"))
    text = config(os.path.join(place, "config.yaml"), "model: {matrix: {x: [[1, 0], [0, 1]]}}\nschemes: [sound]\n"
                  "experiments: [attention]\n")
    outcome = run(text, f"output={place}/out.h5", "--plugin-dir", searched)
    expect(outcome.code in (2, 3) and "a link that leads out of the plugin folder" in outcome.err, "a link out", outcome)
    outcome = run(text, f"output={place}/out.h5", "--plugin-dir", os.path.join(place, "open_folder"))
    expect(outcome.code in (2, 3) and "everyone can write" in outcome.err, "an open folder", outcome)
    for value in (":", searched + ":", ":" + searched):
        outcome = run(text, f"output={place}/out.h5", env={"PE_PLUGIN_PATH": value})
        expect_code(outcome, 3, f"PE_PLUGIN_PATH={value}")
        expect("error[E0308]" in outcome.err and "empty element" in outcome.err, "an empty element", outcome)
    expect(not os.path.exists(f"{place}/out.h5"), "something is written")
    print(f"{len(FILES)} files refused by config and by check; empty paths, links out and open folders too")


main()
