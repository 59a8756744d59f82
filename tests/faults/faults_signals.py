"""SIGINT, SIGTERM and SIGHUP: nothing new is begun, what is done is kept, and the last line says how many jobs remain
and how to go on; a second one ends at once. A reader that goes away is no error; a file that may not grow is one."""
import resource
import signal
import time

from runs import *

CONFIG = """\
model: {random: {heads: 2, head_dim: 8, d_model: 16, length: 6}}
seed: 3
schemes:
  - none
  - rope
  - alibi
  - spoiled: {}
    label: endless
    plugin: %s/ends_never_stubborn.so
experiments: [equivariance]
""" % BAD_PLUGINS
OTHERS = [f"equivariance/{label}" for label in ("none", "rope", "alibi")]
GRACE = 10


class Reader:
    """The lines of a running pe-run's stderr; one that stops talking is killed."""

    def __init__(self, process):
        self.process, self.lines = process, []

    def wait_for(self, condition):
        while not condition(self.lines):
            line = self.process.stderr.readline()
            expect(line, "pe-run ended early", "".join(self.lines))
            self.lines.append(line)

    def measured(self):
        self.wait_for(lambda lines: sum(": measured" in line for line in lines) == len(OTHERS))

    def finish(self):
        outcome = finish(self.process)
        return Outcome(outcome.code, outcome.out, "".join(self.lines) + outcome.err)


def stop(place, number, twice, arguments=()):
    """A run with one job that never ends, stopped when the others are done; and the seconds that stopping took."""
    path = config(os.path.join(place, "endless.yaml"), CONFIG)
    output = os.path.join(place, "out.h5")
    process = start(path, "output=" + output, "-j", "2", "--timeout", "0", *arguments)
    reader = Reader(process)
    reader.measured()
    started = time.monotonic()
    process.send_signal(number)
    reader.wait_for(lambda lines: any("stopping" in line for line in lines))
    if twice:
        started = time.monotonic()
        process.send_signal(number)
    outcome = reader.finish()
    return outcome, output, time.monotonic() - started


def check_stopped(place, number, twice):
    name = signal.Signals(number).name
    outcome, output, seconds = stop(place, number, twice)
    what = f"{'two ' if twice else ''}{name}"
    expect_code(outcome, 128 + number, what)
    expect(f"stopped by {name}: 3 of 4 jobs are done and kept" in outcome.err, f"{what}: no word of what is kept", outcome)
    expect("run the same command again to go on" in outcome.err, f"{what}: no word on how to go on", outcome)
    limit = (0 if twice else GRACE) + 20  # a busy machine
    expect(seconds < limit, f"{what}: took {seconds:.1f} s")
    expect(not left_behind(place), f"{what}: temporary files are left")
    shown = run("show", output)
    expect_code(shown, 0, f"{what}: the partial output")
    expect("partial" in shown.out, f"{what}: the output does not say that it is partial", shown)
    again = run(os.path.join(place, "endless.yaml"), "output=" + output, "--exclude", "*/endless")
    expect(sorted(again.jobs("kept")) == sorted(OTHERS) and not again.jobs("measured"), f"{what}: not all is kept", again)
    os.remove(output)
    shutil.rmtree(output + ".parts")
    return seconds


def check_complete_output_stays(place):
    """An interrupted run does not put less in the place of a complete one."""
    path = config(os.path.join(place, "complete.yaml"), CONFIG.replace(f"plugin: {BAD_PLUGINS}/ends_never_stubborn.so",
                                                                      f"plugin: {BAD_PLUGINS}/sound.so").replace(
                                                                          "spoiled", "sound"))
    output = os.path.join(place, "out.h5")
    expect_code(run(path, "output=" + output), 0, "a complete run")
    before = digest(output)
    outcome, _, _ = stop(place, signal.SIGTERM, True, ("seed=9",))
    expect_code(outcome, 143, "stopped over a complete output")
    expect(digest(output) == before, "a complete output was replaced by less", outcome)
    expect("holds an earlier, complete run" in outcome.err, "nothing is said of the earlier output", outcome)


def check_ignored(place):
    """What a shell's `nohup` has set to be ignored stays ignored."""
    path = config(os.path.join(place, "config.yaml"))
    script = f"trap '' HUP; '{PE_RUN}' '{path}' 'output={place}/nohup.h5' & child=$!; kill -HUP $child; wait $child"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    expect(done.returncode == 0, "SIGHUP that is ignored ends the run", done.stderr)


def check_reader_goes(place):
    path = config(os.path.join(place, "config.yaml"))
    script = f"'{PE_RUN}' '{path}' 'output={place}/pipe.h5' --format csv 2>err.txt | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, cwd=place)
    expect(done.stdout.strip() == "0", "a reader that goes away makes the run fail", done.stdout)
    expect(is_sound(f"{place}/pipe.h5"), "no sound output when the reader goes away")
    for closed in (">&-", ">/dev/full"):
        script = f"'{PE_RUN}' '{path}' 'output={place}/pipe.h5' {closed}"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, cwd=place)
        expect(done.returncode == 4 and "standard output" in done.stderr, f"{closed} is not told", done)
    script = f"'{PE_RUN}' '{path}' 'output={place}/errors.h5' --quiet 2>&- "
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, cwd=place)
    expect(done.returncode == 0 and is_sound(f"{place}/errors.h5"), "a closed stderr makes the run fail", done)


def check_file_size(place):
    """ulimit -f: the parts fit, the output does not; then nothing does."""
    whole, path = reference(place)
    output = os.path.join(place, "limited.h5")
    for limit in (4 << 10, 1 << 10):
        outcome = run(path, "output=" + output,
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        expect_code(outcome, 4, f"files of at most {limit} bytes")
        expect("File too large" in outcome.err and output in outcome.err, "no word of the limit, or of the file", outcome)
        expect(not os.path.exists(output) and not left_behind(place), "something is left", outcome)
    outcome = run(path, "output=" + output)
    expect_code(outcome, 0, "the same without a limit")
    expect(digest(output) == whole, "other bytes after the limit", outcome)


def main():
    place = os.path.abspath(folder("signals"))
    check_reader_goes(place)
    check_ignored(place)
    check_file_size(place)
    seconds = [check_stopped(place, number, True) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    first = check_stopped(place, signal.SIGTERM, False)
    check_complete_output_stays(place)
    print(f"second signal: at most {max(seconds):.2f} s; first signal with a job that never ends: {first:.1f} s")


main()
