"""Which jobs are done, and how often: --only, --exclude, --dry-run, --fail-fast, --retries; a partial output while the
run goes on, and who ends when pe-run is killed."""
import json
import signal
import time

from runs import *

FAILING = """\
model: {random: {heads: 2, head_dim: 8, d_model: 16, length: 4}}
seed: 3
schemes:
  - none
  - spoiled: {}
    label: failing
    plugin: %s/%s.so
  - rope
  - alibi
experiments: [equivariance]
"""


def check_choice(place, path):
    """Patterns, the jobs that they mean, and the exit code."""
    output = os.path.join(place, "chosen.h5")
    cases = [
        (("--only", "rope"), ["equivariance/rope", "relative_position/rope"]),
        (("--only", "equivariance"), [job for job in JOBS if job.startswith("equivariance/")]),
        (("--only", "equivariance/r*"), ["equivariance/rope"]),
        (("--only", "*/rope/3"), ["equivariance/rope", "relative_position/rope"]),
        (("--only", "*/*/3", "--exclude", "relative_position"), [job for job in JOBS if job.startswith("equivariance/")]),
        (("--only", "rope", "--only", "alibi", "--exclude", "equivariance/*"),
         ["relative_position/rope", "relative_position/alibi"]),
        (("--exclude", "*o*"), ["equivariance/alibi"]),
    ]
    for arguments, jobs in cases:
        dry = run(path, "output=" + output, "--dry-run", "--format", "json", *arguments)
        expect_code(dry, 0, f"--dry-run {arguments}")
        rows = json.loads(dry.out)["rows"]
        expect(sorted(row["job"] for row in rows) == sorted(jobs), f"--dry-run {arguments}: other jobs", dry)
        expect(not os.path.exists(output) and parts(output) is None, "--dry-run leaves something", dry)
        outcome = run(path, "output=" + output, *arguments)
        expect(sorted(outcome.jobs("measured")) == sorted(jobs), f"{arguments}: other jobs", outcome)
        expect_code(outcome, 0, f"{arguments}")
        os.remove(output)
        shutil.rmtree(output + ".parts", ignore_errors=True)
    for arguments in (("--only", "nobody"), ("--exclude", "*"), ("--only", "rope", "--exclude", "rope"), ("--only", "*/*/4")):
        outcome = run(path, "output=" + output, *arguments)
        expect_code(outcome, 5, f"{arguments}: no job")
        expect(not os.path.exists(output) and parts(output) is None, f"{arguments}: something is left", outcome)
    return len(cases)


def check_estimates(place, path):
    """By hand: a token's projection costs 2 d_model (q, k and v widths), a score 2 channels of q, 2 of v, 20 else."""
    dry = run(path, f"output={place}/none.h5", "--dry-run", "--format", "json")
    rows = {row["job"]: row for row in json.loads(dry.out)["rows"]}
    expected = {"equivariance": ((24 + 6) * 2 * (2 * 4 * 16 * 48 + 2 * 4 * 4 * 52), 2 * 4 * 4 * 80)}
    for job in JOBS:
        experiment = job.split("/")[0]
        operations, size = rows[job]["operations"], rows[job]["bytes"]
        expect(operations > 0 and size > 0, f"no estimate of {job}", dry)
        if experiment in expected:
            expect((operations, size) == expected[experiment], f"{job}: {operations}, {size} instead of {expected}", dry)


def check_one_after_the_other(place, whole, path):
    """A run in pieces is the run."""
    output = os.path.join(place, "pieces.h5")
    for scheme in ("none", "sinusoidal", "rope", "alibi"):
        outcome = run(path, "output=" + output, "--only", scheme)
        expect(len(outcome.jobs("measured")) == 2, f"--only {scheme}", outcome)
    expect(digest(output) == whole, "a run in pieces has other bytes", outcome)


def check_fail_fast(place):
    path = config(os.path.join(place, "failing.yaml"), FAILING % (BAD_PLUGINS, "ends_abort"))
    output = os.path.join(place, "failing.h5")
    outcome = run(path, "output=" + output, "-j", "1", "--fail-fast")
    expect_code(outcome, 1, "--fail-fast")
    expect(outcome.jobs("measured") == ["equivariance/none"] and outcome.jobs("failed") == ["equivariance/failing"],
           "--fail-fast: other jobs", outcome)
    expect("2 of 4 jobs were not begun" in outcome.err, "--fail-fast: not told what is missing", outcome)
    outcome = run(path, "output=" + output, "-j", "1")
    expect_code(outcome, 1, "after --fail-fast")
    expect(outcome.jobs("kept") == ["equivariance/none"] and len(outcome.jobs("measured")) == 2, "after --fail-fast", outcome)


def check_retries(place):
    """Fails twice, then gives the numbers that it would have given at once."""
    path = config(os.path.join(place, "retried.yaml"), FAILING % (BAD_PLUGINS, "ends_at_first"))
    output = os.path.join(place, "retried.h5")
    expect_code(run(path, "output=" + output), 0, "a plugin that does not fail")
    whole = digest(output)
    counter = os.path.join(place, "aborts")
    for retries, code, left in ((1, 1, 0), (2, 0, 0), (5, 0, 0)):
        config(counter, "xx")
        outcome = run(path, "output=" + output, "--fresh", "--retries", str(retries), env={"PE_TEST_ABORTS": counter})
        expect_code(outcome, code, f"--retries {retries} of a job that fails twice")
        expect(os.path.getsize(counter) == left, f"--retries {retries}: {2 - os.path.getsize(counter)} failures", outcome)
        expect(code or digest(output) == whole, f"--retries {retries}: other bytes", outcome)


def is_there(process):
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def check_checkpoint_and_orphans(place):
    """A partial output while a job runs that never ends; then pe-run is killed, and everybody with it."""
    path = config(os.path.join(place, "endless.yaml"), FAILING % (BAD_PLUGINS, "ends_never"))
    output = os.path.join(place, "endless.h5")
    process = start(path, "output=" + output, "-j", "2", "--timeout", "0", "--checkpoint", "1s", stdout=subprocess.DEVNULL)
    held = 0
    for _ in range(600):
        time.sleep(0.1)
        if os.path.exists(output):
            shown = run("show", output)
            expect(shown.code == 0 and "partial" in shown.out, "a checkpoint is not a sound, partial output", shown)
            held = len(re.findall(r"^[├└] (?:none|rope|alibi) ", shown.out, re.M))
            if held == 3:
                break
    expect(held == 3, f"the last checkpoint holds {held} of 3 jobs")
    workers = children_of(process.pid)
    expect(len(workers) >= 2, f"{len(workers)} processes")
    process.send_signal(signal.SIGKILL)
    finish(process)
    for _ in range(100):
        if not any(map(is_there, workers)):
            break
        time.sleep(0.1)
    expect(not any(map(is_there, workers)), "processes are left when pe-run is killed")
    outcome = run(path, "output=" + output, "--exclude", "*/failing")
    expect(len(outcome.jobs("kept")) == 3, "not everything is kept", outcome)


def main():
    place = folder("selection")
    whole, path = reference(place)
    count = check_choice(place, path)
    check_estimates(place, path)
    check_one_after_the_other(place, whole, path)
    check_fail_fast(place)
    check_retries(place)
    check_checkpoint_and_orphans(place)
    print(f"{count} selections; --fail-fast, --retries; checkpoints while a job runs; nobody outlives pe-run")


main()
