"""Plugins that misbehave while they compute cost their own job, which says why; every other job is done, with the same
numbers as beside a sound plugin, and pe-run never exits 0 without its results."""
import json
import os
import subprocess
import time

from runs import *

CONFIG = """\
model: {random: {heads: 2, head_dim: 8, d_model: 16, length: 6}}
seed: 3
schemes:
  - none
  - %s: {}
    label: bad
    plugin: %s
  - rope
  - alibi
experiments: [equivariance, {relative_position: {length: 8, shifts: [1, 7]}}]
"""
OTHERS = [f"{experiment}/{label}" for experiment in ("equivariance", "relative_position")
          for label in ("none", "rope", "alibi")]
BAD = ["equivariance/bad", "relative_position/bad"]

# What each does, and what its job says: code, and part of the sentence.
DEADLY = {
    "ends_exit": ("E0706", "ended the process by exit(0)"),
    "ends_exit_now": ("E0706", "ended the process by exit(0)"),
    "ends_abort": ("E0706", "SIGABRT"),
    "ends_never": ("E0707", "--timeout"),
    "ends_never_stubborn": ("E0707", "--timeout"),
    "ends_stack": ("E0706", "SIGSEGV"),
    "ends_memory": ("E0708", "out of memory"),
    "writes_null": ("E0706", "SIGSEGV"),
    "writes_far": ("E0706", "SIGSEGV"),
    "writes_before": ("E0706", ""),
    "frees_host_memory": ("E0706", "SIGABRT"),
    "process_closes_files": ("E0706", "closed files that are pe-run's own"),
    "embed_nan": ("E0703", "nan"),
    "qk_nan": ("E0703", "nan"),
    "bias_infinite": ("E0703", "inf"),
}

# These change the process around them and give sound numbers; what they change must not reach anybody else.
INTRUSIVE = {
    "process_folder": "changed the current folder",
    "process_umask": "changed the umask",
    "process_locale": "changed the locale",
    "process_signal_mask": "changed the signal mask",
    "process_prints": "",
    "process_forks": "",
    "process_thread": "",
    "process_signals": "",
    "process_environment": "",
    "process_leaks_files": "",
    "fp_flush_to_zero": "",
    "fp_rounding": "",
    "fp_traps": "",
    "fast_math": "",
    "deadly/destructor_crashes": "",
}


def plugin(name):
    return os.path.join(BAD_PLUGINS, name + ".so")


def run_with(name, place, scheme="spoiled"):
    text = CONFIG % (scheme, plugin(name))
    name = name.replace("/", "_")
    path = config(os.path.join(place, name + ".yaml"), text)
    output = os.path.join(place, name + ".h5")
    started = time.monotonic()
    # Only those that never end wait for it.
    limit = "2s" if name.startswith("ends_never") else "5m"
    outcome = run(path, "output=" + output, "--timeout", limit, "--memory", "300M", "--format", "json")
    return outcome, output, time.monotonic() - started


def tensors(output, job):
    """Every number of a job's record, as text."""
    shown = run("show", output, job, "--format", "json")
    expect_code(shown, 0, f"show {job}")
    return shown.out


def check_others(name, output, sound):
    for job in OTHERS:
        expect(tensors(output, job) == sound[job], f"{name}: {job} has other numbers than beside a sound plugin")


def orphans():
    listed = subprocess.run(["ps", "-eo", "ppid=,pid=,args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if "__worker" in line and line.split()[0] == "1"]


def main():
    place = folder("plugins")
    outcome, output, _ = run_with("sound", place, "sound")
    expect_code(outcome, 0, "the sound plugin")
    sound = {job: tensors(output, job) for job in OTHERS}
    n_deadly = n_intrusive = 0
    for name, (code, sentence) in DEADLY.items():
        if not os.path.exists(plugin(name)):
            continue
        outcome, output, seconds = run_with(name, place)
        expect_code(outcome, 1, name)
        failed = [line for line in outcome.err.splitlines() if line.startswith("pe-run: ") and "failed" in line]
        expect(failed and all(code in line and sentence in line for line in failed), f"{name}: {code}, '{sentence}'",
               outcome)
        expect(all(any(job in line for job in BAD) for line in failed), f"{name}: costs another's job", outcome)
        json.loads(outcome.out.split("\n}\n")[0] + "\n}")
        check_others(name, output, sound)
        n_deadly += 1
    for name, note in INTRUSIVE.items():
        if not os.path.exists(plugin(name)):
            continue
        outcome, output, _ = run_with(name, place, "fast_math" if name == "fast_math" else "spoiled")
        expect(outcome.code in (0, 1), name, outcome)
        expect(note in outcome.err, f"{name}: no note of it", outcome)
        check_others(name, output, sound)
        n_intrusive += 1
    expect(not orphans(), f"processes are left: {orphans()}")
    expect(n_deadly >= 14 and n_intrusive >= 12, f"only {n_deadly} and {n_intrusive} plugins were there")
    print(f"{n_deadly} deadly and {n_intrusive} intrusive plugins, each beside {len(OTHERS)} jobs of others: contained")


main()
