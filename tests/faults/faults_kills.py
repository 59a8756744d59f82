"""SIGKILL at random moments: whatever the moment, the output under its name is the earlier one or the new one, whole; a
job that was finished stays finished and is not computed again; and what comes out at last has the bytes of a run that
nobody disturbed."""
import random
import signal
import time

from runs import *

KILLS = 20 if SANITIZER else 500 if SLOW else 100
MOST_IN_A_ROW = 5
CONFIG = CONFIG.replace("length: 4}}", "length: 4}}\nseeds: 3")


def finished(output):
    """The parts that are there: name, and what tells one file of that name from another."""
    found = {}
    for name in parts(output) or []:
        if name.endswith(".h5") and not name.startswith("."):
            about = os.stat(os.path.join(output + ".parts", name))
            found[name] = (about.st_ino, about.st_mtime_ns)
    return found


def main():
    place = folder("kills")
    chance = random.Random(20)
    started = time.monotonic()
    whole, path = reference(place, CONFIG, "-j", "2")
    usual = time.monotonic() - started
    earlier_file = os.path.join(place, "earlier.h5")
    expect_code(run(path, "output=" + earlier_file, "seed=8"), 0, "another run")
    earlier = digest(earlier_file)
    output = os.path.join(place, "out.h5")
    kills = trials = kept_parts = most_kept = 0
    while kills < KILLS:
        if os.path.exists(output):
            os.remove(output)
        allowed = (None, whole)
        if trials % 2:
            shutil.copy(earlier_file, output)
            allowed = (earlier, whole)
        trials += 1
        for _ in range(MOST_IN_A_ROW):
            before = finished(output)
            process = start(path, "output=" + output, "-j", "2", stdout=subprocess.DEVNULL)
            time.sleep(chance.uniform(0, 1.1 * usual))
            if process.poll() is not None:
                finish(process)
                break
            process.send_signal(signal.SIGKILL)
            kills += 1
            outcome = finish(process)
            after = finished(output)
            there = digest(output) if os.path.exists(output) else None
            expect(there in allowed, f"kill {kills}: the output is not whole", outcome)
            # Parts go only when the output has them.
            expect(there == whole or all(after.get(name) == before[name] for name in before),
                   f"kill {kills}: a finished part is gone or was written again", outcome)
            most_kept = max(most_kept, len(after))
        held = finished(output)
        outcome = run(path, "output=" + output, "-j", "2")
        expect_code(outcome, 0, f"the run after kill {kills}")
        expect(digest(output) == whole, f"other bytes after kill {kills}", outcome)
        expect(len(outcome.jobs("kept")) >= len(held), f"after kill {kills}: {len(held)} parts, but not as many kept",
               outcome)
        kept_parts += len(held)
        expect(not left_behind(place) and parts(output) is None, f"left over after kill {kills}", outcome)
    print(f"{kills} kills in {trials} runs: no broken output, {kept_parts} finished jobs of interrupted runs kept (at most "
          f"{most_kept} of {len(JOBS) * 3} at once), every run's bytes equal to the uninterrupted run's")


main()
