"""Jobs dealt out to processes that share a folder: four shards at once, one of them killed; joined only when whole,
unless --partial; under mpirun and as a Slurm array. The bytes are those of a single run."""
import signal
import time

from runs import *

CONFIG = CONFIG.replace("length: 4}}", "length: 4}}\nseeds: 2")
SHARDS = 4


def check_four(place, whole, path):
    output = os.path.join(place, "four.h5")
    processes = [start(path, "output=" + output, "--shard", f"{i}/{SHARDS}", "-j", "1") for i in range(SHARDS)]
    processes[2].send_signal(signal.SIGKILL)
    outcomes = [finish(process) for process in processes]
    done = [name for outcome in outcomes for name in outcome.jobs("measured")]
    expect(len(done) == len(set(done)), "a job is done by two shards", outcomes[0])
    for i in (0, 1, 3):
        expect_code(outcomes[i], 0, f"shard {i}")
        expect("when all shards are" in outcomes[i].err, f"shard {i}: not told how to go on", outcomes[i])
    expect(outcomes[2].code == -signal.SIGKILL, "the killed shard has ended by itself", outcomes[2])
    expect(not os.path.exists(output), "a shard makes the output")
    refused = run("join", path, "output=" + output)
    expect_code(refused, 1, "a join that lacks jobs")
    expect("4 of 16 jobs are not done yet" in refused.err and "--partial" in refused.err, "not told what is missing", refused)
    expect(not os.path.exists(output), "a join that is refused leaves an output")
    partial = run("join", path, "output=" + output, "--partial")
    expect_code(partial, 1, "join --partial")
    shown = run("show", output)
    expect("partial" in shown.out, "a partial output does not say so", shown)
    expect(not list(finished_temporaries(place)), "temporary files are left")
    again = run(path, "output=" + output, "--shard", f"2/{SHARDS}", "-j", "1")
    expect_code(again, 0, "the killed shard again")
    joined = run("join", path, "output=" + output)
    expect_code(joined, 0, "the join")
    expect(digest(output) == whole, "joined bytes are not those of a single run", joined)
    expect(parts(output) is None, "parts are left after the join", joined)
    expect(joined.out.splitlines()[:-1] == run(path, "output=" + output).out.splitlines()[:-1], "other tables", joined)


def finished_temporaries(place):
    return (name for name in left_behind(place))


def check_refusals(place, path):
    for text in ("4/4", "-1/4", "1", "a/b", "1/0", "0/4x"):
        outcome = run(path, f"output={place}/none.h5", "--shard", text)
        expect_code(outcome, 2, f"--shard {text}")
    nowhere = run(path, f"output={place}/none.h5", "--shard", "auto", env={"SLURM_ARRAY_TASK_ID": ""})
    expect_code(nowhere, 2, "--shard auto without Slurm and MPI")
    expect("neither Slurm nor MPI" in nowhere.err, "not told why", nowhere)


def check_mpi(place, whole, path):
    """'skipped: why', or what was done."""
    program = shutil.which("mpirun")
    if not program:
        return "mpirun is not there: skipped"
    output = os.path.join(place, "mpi.h5")
    command = [program, "--oversubscribe", "-n", "2"]
    command[1:1] = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    done = subprocess.run([*command, PE_RUN, path, "output=" + output, "--shard", "auto", "-j", "1"], check=False,
                          capture_output=True, text=True, timeout=200)
    outcome = Outcome(done.returncode, done.stdout, done.stderr)
    expect_code(outcome, 0, "mpirun -n 2")
    expect("shard 0/2" in outcome.err and "shard 1/2" in outcome.err, "the ranks do not share the work", outcome)
    joined = run("join", path, "output=" + output)
    expect_code(joined, 0, "the join after mpirun")
    expect(digest(output) == whole, "bytes under mpirun are not those of a single run", joined)
    return "mpirun -n 2"


def check_slurm(place, whole, path):
    """The script of an array whose tasks count from 1, as Slurm would start it."""
    output = os.path.join(place, "slurm.h5")
    script = os.path.join(SOURCE, "contrib", "slurm-array.sh")

    if shutil.which("shellcheck"):
        checked = subprocess.run(["shellcheck", script], capture_output=True, text=True, check=False)
        expect(checked.returncode == 0, "shellcheck", checked.stdout)

    def task(i):
        return subprocess.Popen([script, path, "output=" + output], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "PE_RUN": PE_RUN, "SLURM_ARRAY_TASK_ID": str(i),
                                     "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_CPUS_PER_TASK": "1"})

    first, second = task(1), task(2)
    for process in (first, second):
        expect_code(finish(process), 0, "a task of an array")
    expect(not os.path.exists(output), "the output is made before the last task")
    third = finish(task(3))
    expect_code(third, 0, "the last task of an array")
    expect(os.path.exists(output) and digest(output) == whole, "bytes of an array are not those of a single run", third)
    outside = subprocess.run([script, path], capture_output=True, text=True, check=False)
    expect(outside.returncode == 2 and "usage" in outside.stderr, "the script outside an array", outside)


def check_stopped_task(place):
    """Time is up: Slurm tells the shell, the shell tells pe-run, what is done is kept."""
    text = CONFIG.replace("schemes: [none, sinusoidal, rope, alibi]", "schemes: [none, rope, {spoiled: {}, label: endless, "
                          f"plugin: {BAD_PLUGINS}/ends_never.so}}]").replace("seeds: 2", "seeds: 1")
    path = config(os.path.join(place, "endless.yaml"), text)
    process = subprocess.Popen([os.path.join(SOURCE, "contrib", "slurm-array.sh"), path, f"output={place}/endless.h5"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "PE_RUN": PE_RUN, "SLURM_ARRAY_TASK_ID": "0", "SLURM_ARRAY_TASK_MIN": "0",
                                    "SLURM_ARRAY_TASK_COUNT": "1", "SLURM_CPUS_PER_TASK": "2"})
    lines = []
    while sum(": measured" in line for line in lines) < 4:
        lines.append(process.stderr.readline())
        expect(lines[-1], "the task ended early", "".join(lines))
    process.send_signal(signal.SIGTERM)
    outcome = finish(process)
    expect_code(outcome, 143, "a task whose time is up")
    expect("jobs are done and kept" in outcome.err, "not told what is kept", outcome)


def main():
    place = folder("shards")
    whole, path = reference(place, CONFIG)
    check_four(place, whole, path)
    check_refusals(place, path)
    mpi = check_mpi(place, whole, path)
    check_slurm(place, whole, path)
    check_stopped_task(place)
    print(f"{SHARDS} shards, one killed; {mpi}; a Slurm array of 3: the bytes of a single run each time")


main()
