"""Runs with one call that fails, and what must hold whatever fails: an exit code that says so or complete results, the
old output or the new one under the final name and nothing else, and the same command again makes the bytes of a run
that was never disturbed, without doing a job again that had been reported as done."""
import os
import re
import shutil
import signal
import struct
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

import runs
from runs import *

# Two jobs, done in a few milliseconds.
SMALL = """\
model: {matrix: {x: [[1, 0], [0, 1]]}}
schemes: [none, alibi]
experiments: [attention]
"""


def small_home(place):
    """pe-run with two plugins beside it, so that a run is short."""
    os.makedirs(os.path.join(place, "plugins"))
    for name in ("alibi.so", "rope.so"):
        shutil.copy(os.path.join(os.path.dirname(PE_RUN), "plugins", name), os.path.join(place, "plugins"))
    return shutil.copy(PE_RUN, place)


class Sweep:
    def __init__(self, name, *arguments, text=SMALL, old=True):
        """`old`: an output with other results is there before each run."""
        self.place = os.path.abspath(folder(name))
        runs.PE_RUN = small_home(self.place)
        self.arguments = [*arguments, "--threads", "1"]
        self.good, self.config = reference(self.place, text, *self.arguments)
        self.old_file = self.old = None
        if old:
            self.old_file = os.path.join(self.place, "old.h5")
            outcome = run(self.config, "output=" + self.old_file, "seed=99", *self.arguments)
            expect_code(outcome, 0, "the old output")
            self.old = digest(self.old_file)
            expect(self.old != self.good, "the old output is another one")
        self.n_runs = self.n_done = self.n_failed = self.n_killed = self.n_crashed = self.n_kept = 0
        self.lock = threading.Lock()
        self.first_again = False  # tried already

    def new_output(self):
        place = tempfile.mkdtemp(dir=self.place)
        output = os.path.join(place, "out.h5")
        if self.old:
            shutil.copy(self.old_file, output)
        return place, output

    def run(self, output, env=None):
        """pe-run, called in the folder of the output."""
        place, name = os.path.split(output)
        return run(self.config, "output=" + name, *self.arguments, env=env, cwd=place)

    def run_with(self, output, fault, where=None):
        """One run with a fault; how many such calls there were."""
        count = output + ".count"
        with open(count, "wb") as file:
            file.write(bytes(8))
        env = {"LD_PRELOAD": SHIM, "PE_FAULT": fault, "PE_FAULT_COUNT": count}
        if where:
            env["PE_FAULT_IN"] = where
        outcome = self.run(output, env)
        with open(count, "rb") as file:
            calls = struct.unpack("<Q", file.read())[0]
        os.remove(count)
        return outcome, calls

    def count(self, call, where=None):
        place, output = self.new_output()
        outcome, calls = self.run_with(output, f"{call}:0:EIO", where)
        expect_code(outcome, 0, f"counting {call}")
        shutil.rmtree(place)
        return calls

    def try_point(self, call, at, action, where=None):
        what = f"{call} {at} of {where or 'all'}: {action}"
        place, output = self.new_output()
        outcome, _ = self.run_with(output, f"{call}:{at}:{action}", where)
        # Not every library takes NULL from malloc: starting, libhdf5 1.10 copies what strdup did not make. Whatever ends
        # a process must leave no more behind than SIGKILL does.
        crashed = call == "alloc" and outcome.code in (-signal.SIGSEGV, -signal.SIGABRT)
        killed = outcome.code == -signal.SIGKILL or crashed
        self.check_stopped(what, output, outcome, killed)
        # Where nothing was left the same command again is a first run.
        untouched = outcome.code > 0 and os.listdir(place) == ([os.path.basename(output)] if self.old else [])
        kept = 0 if untouched and self.first_again else self.go_on(what, output, outcome, place)
        self.first_again |= untouched
        shutil.rmtree(place)
        with self.lock:
            self.n_runs += 1
            self.n_done += outcome.code == 0
            self.n_killed += killed
            self.n_crashed += crashed
            self.n_failed += outcome.code > 0
            self.n_kept += kept

    def check_stopped(self, what, output, outcome, killed):
        there = digest(output) if os.path.exists(output) else None
        expect(killed or outcome.code in (0, 1, 3, 4, 70), f"{what}: exit code {outcome.code}", outcome)
        if outcome.code == 0:
            expect(there == self.good, f"{what}: exit 0 without the results", outcome)
        elif not killed:
            expect(re.search(r"error\[E\d{4}\]", outcome.err), f"{what}: exit {outcome.code} without a reason", outcome)
        if there not in (self.old, self.good):
            # Jobs that failed are told in a whole file of their own.
            expect((killed or outcome.code == 1) and is_sound(output), f"{what}: a broken file under the final name", outcome)
        if not killed and "kill" not in what:
            expect(not left_behind(output + ".parts"), f"{what}: temporary files are left", outcome)

    def go_on(self, what, output, outcome, place):
        """The same command again. How many jobs it did not need to do again."""
        again = self.run(output)
        expect_code(again, 0, f"{what}: the same command again, after\n{outcome}\n")
        expect(digest(output) == self.good, f"{what}: other bytes than without the fault", f"{outcome}\n{again}")
        redone = set(outcome.jobs("measured")) & set(again.jobs("measured"))
        expect(not redone, f"{what}: done again: {redone}", f"{outcome}\n{again}")
        expect(parts(output) is None, f"{what}: parts are left", again)
        expect(not left_behind(place), f"{what}: temporary files are left: {left_behind(place)}", again)
        return len(again.jobs("kept"))

    def every(self, call, points, errors, actions=(), where=None):
        """At each of these points one of the errors, in turn (all of them in a slow test), and each action."""
        points = list(points)
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            tried = []
            for i, at in enumerate(points):
                here = list(errors) if SLOW else [errors[i % len(errors)]]
                tried += [pool.submit(self.try_point, call, at, action, where) for action in [*here, *actions]]
            try:
                for one in tried:
                    one.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return len(points)

    def __str__(self):
        return (f"{self.n_runs} faults: {self.n_done} runs done all the same, {self.n_failed} ended with an error, "
                f"{self.n_killed} were killed ({self.n_crashed} by a library); {self.n_kept} finished jobs kept, none done again")
