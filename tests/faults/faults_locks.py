"""One output, one pe-run: the second is refused at once with exit 6 and the first goes on; a lock that a crash left
behind stops nobody; shards share the folder; readers, and locks that they take, are no obstacle."""
import fcntl
import signal
import time

from runs import *

CONFIG = """\
model: {random: {heads: 2, head_dim: 8, d_model: 16, length: 4}}
seed: 3
schemes:
  - none
  - rope
  - spoiled: {}
    label: endless
    plugin: %s/ends_never.so
experiments: [equivariance]
""" % BAD_PLUGINS


def busy(*arguments):
    """A pe-run that is at a job which never ends."""
    process = start(*arguments, "--timeout", "0", stdout=subprocess.DEVNULL)
    lines = []
    while sum(": measured" in line or ": kept" in line for line in lines) < 2:
        line = process.stderr.readline()
        expect(line, "pe-run ended early", "".join(lines))
        lines.append(line)
    return process


def check_refused(what, *arguments):
    started = time.monotonic()
    outcome = run(*arguments)
    seconds = time.monotonic() - started
    expect_code(outcome, 6, what)
    expect("E0601" in outcome.err and "another pe-run" in outcome.err, f"{what}: not told why", outcome)
    expect(seconds < 20, f"{what}: waits {seconds:.0f} s")


def check_two(place):
    path = config(os.path.join(place, "config.yaml"), CONFIG)
    output = "output=" + os.path.join(place, "out.h5")
    first = busy(path, output)
    check_refused("a second run", path, output)
    check_refused("another config with the same output", path, output, "seed=4")
    link = os.path.join(place, "link.h5")
    os.symlink("out.h5", link)
    check_refused("the same output by a link", path, "output=" + link) if os.path.exists(link) else None
    check_refused("a join meanwhile", "join", path, output)
    check_refused("a shard meanwhile", path, output, "--shard", "0/2")
    check_refused("a look meanwhile", path, output, "--dry-run")
    expect(first.poll() is None, "the first run has ended")
    return first, path, output


def check_stale(place, first, path, output):
    first.send_signal(signal.SIGKILL)
    finish(first)
    lock = os.path.join(place, "out.h5.parts", ".lock")
    expect(os.path.exists(lock), "no lock is left by the kill: nothing is tested")
    outcome = run(path, output, "--exclude", "*/endless")
    expect(outcome.code != 6, "a lock that a crash left behind", outcome)
    expect(len(outcome.jobs("kept")) == 2, "what the killed run had finished is not kept", outcome)


def check_shards(place, path):
    output = "output=" + os.path.join(place, "shards.h5")
    first = start(path, output, "--shard", "2/3", "--timeout", "0", stdout=subprocess.DEVNULL)  # the endless one
    lock = os.path.join(place, "shards.h5.parts", ".shard-2-of-3.lock")
    for _ in range(1000):
        if os.path.exists(lock) and os.path.getsize(lock):
            break
        time.sleep(0.02)
    check_refused("the same shard twice", path, output, "--shard", "2/3")
    check_refused("a join while a shard runs", "join", path, output)
    expect_code(run(path, output, "--shard", "0/3"), 0, "another shard meanwhile")
    first.send_signal(signal.SIGKILL)
    finish(first)


def check_readers(place):
    """Readers with the file open, and with locks on it as HDF5 takes them."""
    whole, path = reference(place)
    output = os.path.join(place, "read.h5")
    expect_code(run(path, "output=" + output, "seed=4"), 0, "an earlier output")
    earlier = digest(output)
    with open(output, "rb") as reader:
        fcntl.flock(reader, fcntl.LOCK_SH)
        outcome = run(path, "output=" + output)
        expect_code(outcome, 0, "a reader holds the output")
        expect(digest(output) == whole, "other bytes beside a reader", outcome)
        expect(hashlib.sha256(reader.read()).hexdigest() == earlier, "the reader's file changed under it")
    python = next((name for name in (sys.executable, "/usr/bin/python3")
                   if subprocess.run([name, "-c", "import h5py"], capture_output=True, check=False).returncode == 0), None)
    if not python:
        return "flock; h5py is not there"
    script = "import h5py, sys; file = h5py.File(sys.argv[1], 'r'); print('open', flush=True); input(); print('run' in file)"
    with subprocess.Popen([python, "-c", script, output], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        reader.stdout.readline()
        outcome = run(path, "output=" + output, "--fresh")
        expect_code(outcome, 0, "h5py holds the output")
        expect(digest(output) == whole, "other bytes beside h5py", outcome)
        expect(reader.communicate("\n")[0].strip() == "True", "h5py lost its file")
    return "flock and h5py"


def main():
    place = folder("locks")
    first, path, output = check_two(place)
    check_stale(place, first, path, output)
    check_shards(place, path)
    readers = check_readers(place)
    print(f"7 refusals with exit 6, a stale lock and readers ({readers}) in nobody's way")


main()
