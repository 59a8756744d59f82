"""A training that is killed or stopped in the middle of its job goes on at the step of its state, with the bits of one
that was not; progress says step, loss and time left; what makes no progress is given up, what makes some is not."""
import pty
import re
import signal
import struct
import threading
import time

from runs import *

STEPS = 600
CONFIG = f"""\
seed: 5
schemes: [none]
experiments:
  - length_generalization:
      corpus: 30000
      train_length: 32
      lengths: [32, 64]
      seeds: 1
      steps: {STEPS}
      batch: 8
      learning_rates: [0.002, 0.004]
      d_model: 48
      heads: 4
      d_ff: 96
      tail: 16
      targets: 256
"""
ALL_STEPS = 2 * STEPS
JOB = "length_generalization/none"
ONE = ("-j", "1", "--threads", "1")
STEP = re.compile(r"step (\d+)/(\d+), loss \d+\.\d{3}")
LEFT = re.compile(r"step \d+/\d+, loss \d+\.\d{3}, \d+ s left")


class Terminal:
    """pe-run with a terminal for its stderr."""

    def __init__(self, *arguments):
        self.text = ""
        master, slave = pty.openpty()
        self.process = subprocess.Popen([PE_RUN, *arguments], stdout=subprocess.PIPE, stderr=slave, text=True)
        os.close(slave)
        self.reader = threading.Thread(target=self.read, args=(master,))
        self.reader.start()

    def read(self, master):
        try:
            while piece := os.read(master, 4096):
                self.text += piece.decode(errors="replace")
        except OSError:  # the other side is closed
            pass
        os.close(master)

    def finish(self):
        out = self.process.communicate(timeout=120)[0]
        self.reader.join()
        return Outcome(self.process.returncode, out, self.text)


def states(output):
    """Names and steps of the states that lie among the parts: a file's header is read."""
    found = {}
    for name in parts(output) or []:
        if name.endswith(".state"):
            with open(os.path.join(output + ".parts", name), "rb") as file:
                header = file.read(168)
            expect(header.startswith(b"pe-run state 2"), f"{name} is no state")
            found[name.split(".")[-2]] = struct.unpack_from("<Q", header, 152)[0]
    return found


def wait_for_half(process, output):
    """Until the second model's training has a state; the steps of the job until then."""
    while True:
        expect(process.poll() is None, "the run ended before it could be stopped")
        if 0 < (states(output) if parts(output) else {}).get("rate1", 0) < STEPS:
            return STEPS + states(output)["rate1"]
        time.sleep(0.02)


def shown_steps(outcome):
    steps = [(int(step), int(of)) for step, of in STEP.findall(outcome.err)]
    expect(steps and all(of == ALL_STEPS for _, of in steps), "no progress with steps and loss", outcome)
    return [step for step, _ in steps if step != STEPS]  # the first model is taken whole


def check_goes_on(place, name, whole, path, stop, more=ONE):
    output = os.path.join(place, name + ".h5")
    process = start(path, "output=" + output, *more)
    least = wait_for_half(process, output)
    stop(process)
    finish(process)
    expect(not os.path.exists(output), f"{name}: an output without a finished job")
    kept = states(output)
    expect(kept.get("rate0") == STEPS and kept.get("rate1", 0) > 0, f"{name}: states {kept}")
    outcome = Terminal(path, "output=" + output, *more).finish()
    expect_code(outcome, 0, f"{name}: going on")
    expect(shown_steps(outcome)[0] >= least, f"{name}: begins before step {least}", outcome)
    expect(LEFT.search(outcome.err), f"{name}: no time left", outcome)
    expect(digest(output) == whole, f"{name}: other bytes than without a stop")
    expect(parts(output) is None, f"{name}: parts are left: {parts(output)}")
    again = run(path, "output=" + output, *more)
    expect(again.jobs("kept") == [JOB] and digest(output) == whole, f"{name}: trained again", again)
    return least


def twice(number):
    def stop(process):
        process.send_signal(number)
        time.sleep(0.2)
        process.send_signal(number)
    return stop


def check_worker_killed(place, whole, path):
    """The worker alone is killed, as by a system that runs out of memory: another one goes on."""
    output = os.path.join(place, "worker.h5")
    process = start(path, "output=" + output, "--retries", "1", *ONE)
    wait_for_half(process, output)
    for child in children_of(process.pid):
        os.kill(child, signal.SIGKILL)
    outcome = finish(process)
    expect_code(outcome, 0, "a worker was killed")
    expect(digest(output) == whole, "other bytes than with the first worker", outcome)


def check_fresh(place, path):
    """--fresh takes no state."""
    output = os.path.join(place, "fresh.h5")
    process = start(path, "output=" + output, *ONE)
    wait_for_half(process, output)
    process.kill()
    finish(process)
    again = Terminal(path, "output=" + output, "--fresh", *ONE)
    while not STEP.search(again.text):
        time.sleep(0.02)
    again.process.kill()
    expect(shown_steps(again.finish())[0] < STEPS, "--fresh took a state")


def check_limits(place, path):
    output = os.path.join(place, "limits.h5")
    outcome = run(path, "output=" + output, "--timeout", "1s", *ONE)
    expect_code(outcome, 1, "a limit of one second")
    expect("took longer than 1 seconds (--timeout)" in outcome.err, "no word of the limit", outcome)
    endless = config(os.path.join(place, "endless.yaml"), """\
model: {random: {heads: 2, head_dim: 8, d_model: 16, length: 6}}
schemes: [none, {spoiled: {}, plugin: %s/ends_never.so}]
experiments: [equivariance]
""" % BAD_PLUGINS)
    outcome = run(endless, "output=" + output, "--stall", "1s")
    expect_code(outcome, 1, "a job without progress")
    expect("made no progress for 1 seconds (--stall)" in outcome.err, "no word of the missing progress", outcome)


def main():
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError as reason:  # a container or chroot without /dev/pts
        print(f"no terminals here: {reason}")
        sys.exit(77)
    place = os.path.abspath(folder("training"))
    path = config(os.path.join(place, "config.yaml"), CONFIG)
    output = os.path.join(place, "whole.h5")
    started = time.monotonic()
    outcome = run(path, "output=" + output, "--stall", "1s", *ONE)
    seconds = time.monotonic() - started
    expect_code(outcome, 0, "training with a limit on what makes no progress")
    expect(seconds < 3 or re.search(rf"^{JOB}: {STEP.pattern}", outcome.err, re.M), "no lines of progress", outcome)
    whole = digest(output)
    stopped = [check_goes_on(place, "killed", whole, path, lambda process: process.kill()),
               check_goes_on(place, "interrupted", whole, path, twice(signal.SIGINT)),
               check_goes_on(place, "in_process", whole, path, lambda process: process.kill(),
                             ("--in-process", "--threads", "1"))]
    check_worker_killed(place, whole, path)
    check_fresh(place, path)
    check_limits(place, path)
    quiet = run(path, "output=" + os.path.join(place, "quiet.h5"), "--quiet", "length_generalization.steps=3")
    expect(not STEP.search(quiet.err), "--quiet tells progress", quiet)
    print(f"one job of {seconds:.1f} s, stopped at steps {stopped} of {ALL_STEPS}: went on from there, same bytes")


main()
