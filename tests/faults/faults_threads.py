"""The cores of jobs that have ended go to those that still run: of three trainings on two cores, the last one is begun by
one thread and ended by two, with the bits that one thread makes."""
import time

from runs import *

CONFIG = """\
seed: 5
schemes: [none, rope, alibi]
experiments:
  - length_generalization: {corpus: 50000, train_length: 32, lengths: [32, 64], seeds: 1, steps: STEPS,
                            learning_rates: [0.002], layers: 1, d_model: 64, heads: 2}
""".replace("STEPS", "20" if SANITIZER else "80")


def threads_of_children(process):
    """Numbers of threads of the workers."""
    try:
        return [len(os.listdir(f"/proc/{child}/task")) for child in children_of(process.pid)]
    except (FileNotFoundError, ProcessLookupError):
        return []  # one has just ended


def main():
    place = folder("threads")
    path = config(os.path.join(place, "config.yaml"), CONFIG)
    one, two = os.path.join(place, "one.h5"), os.path.join(place, "two.h5")
    outcome = run(path, "output=" + one, "--threads", "1")
    expect_code(outcome, 0, "one thread")
    process = start(path, "output=" + two, "--threads", "2", "--jobs", "2", stdout=subprocess.DEVNULL)
    seen = []
    while process.poll() is None:
        seen.append(threads_of_children(process))
        time.sleep(0.002)
    expect_code(finish(process), 0, "two threads")
    expect(any(max(counts) == 1 for counts in seen if len(counts) == 2), "no two workers of one thread each")
    alone = SANITIZER == "thread"  # which begins a thread of its own with a process's second
    expect(any(max(counts) == 2 + alone for counts in seen if counts), "the last job never had two threads")
    expect(digest(one) == digest(two), "other bytes")


main()
