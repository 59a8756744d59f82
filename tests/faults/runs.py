"""What the fault tests share: pe-run called in a folder of its own, and what is expected of it.

The environment says where things are: PE_RUN (the program), SOURCE (the tree), SHIM (failing_calls.so), BAD_PLUGINS
(their folder), SLOW (1: every point), SANITIZER (what the program was built with).
"""
import atexit
import hashlib
import os
import re
import shutil
import subprocess
import sys

PE_RUN = os.environ["PE_RUN"]
SOURCE = os.environ["SOURCE"]
SHIM = os.environ["SHIM"]
BAD_PLUGINS = os.environ["BAD_PLUGINS"]
SLOW = os.environ.get("SLOW", "0") == "1"
SANITIZER = os.environ.get("SANITIZER", "")

# Two experiments, four schemes, done in milliseconds: eight jobs.
CONFIG = """\
model: {random: {heads: 2, head_dim: 8, d_model: 16, length: 4}}
seed: 3
schemes: [none, sinusoidal, rope, alibi]
experiments: [equivariance, {relative_position: {length: 8, shifts: [1, 7]}}]
"""
JOBS = [f"{experiment}/{scheme}" for experiment in ("equivariance", "relative_position")
        for scheme in ("none", "sinusoidal", "rope", "alibi")]


class Outcome:
    """What a run did: code (negative: the signal that killed it), out, err."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def jobs(self, word):
        """The jobs that were reported with this word: measured, kept, failed."""
        found = re.findall(r"^\d+/\d+ (\S+): (kept)?(?:, )?(\w+)", self.err, re.M)
        return [name for name, kept, status in found if (kept or status) == word]

    def __str__(self):
        return f"exit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def run(*arguments, env=None, timeout=300, cwd=None, **more):
    """pe-run with these arguments, to its end."""
    done = subprocess.run([PE_RUN, *arguments], capture_output=True, timeout=timeout, cwd=cwd,
                          env={**os.environ, **(env or {})}, errors="replace", text=True, check=False, **more)
    return Outcome(done.returncode, done.stdout, done.stderr)


def start(*arguments, env=None, cwd=None, stdout=subprocess.PIPE):
    """pe-run with these arguments, running."""
    process = subprocess.Popen([PE_RUN, *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True, errors="replace",
                               env={**os.environ, **(env or {})}, cwd=cwd)
    # A test that fails leaves nobody behind; workers go with their parent.
    atexit.register(process.kill)
    return process


def children_of(process):
    """Process ids of its workers; none where it has ended."""
    try:
        with open(f"/proc/{process}/task/{process}/children", encoding="utf-8") as file:
            return [int(child) for child in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def finish(process, timeout=120):
    out, err = process.communicate(timeout=timeout)
    return Outcome(process.returncode, out, err)


def folder(name):
    """A new, empty folder."""
    shutil.rmtree(name, ignore_errors=True)
    os.makedirs(name)
    return name


def config(path, text=CONFIG):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def parts(output):
    """The names in the folder of an output's parts; None where there is no folder."""
    path = output + ".parts"
    return sorted(os.listdir(path)) if os.path.isdir(path) else None


def left_behind(place):
    """Temporary files below a folder."""
    return [os.path.join(at, name) for at, _, names in os.walk(place) for name in names if name.endswith(".tmp")]


def is_sound(path):
    """Whether pe-run reads the whole file."""
    return run("diff", path, path).code == 0


def expect(condition, what, outcome=""):
    if not condition:
        print(f"NOT AS EXPECTED: {what}\n{outcome}")
        sys.exit(1)


def expect_code(outcome, code, what):
    expect(outcome.code == code, f"{what}: exit code {outcome.code} instead of {code}", outcome)


def reference(place, text=CONFIG, *arguments):
    """Digest of the output of an uninterrupted run of this config, and the config's path."""
    path = config(os.path.join(place, "config.yaml"), text)
    output = os.path.join(place, "reference.h5")
    outcome = run(path, "output=" + output, *arguments)
    expect_code(outcome, 0, "the uninterrupted run")
    expect(parts(output) is None, "parts are left after a whole run", outcome)
    return digest(output), path
