"""Field report H01 (h5py #1082, a lock on the output): who only reads the output is no obstacle, whatever lock he holds,
and keeps what he has open; a file system without locks is none either, and is told; only another pe-run is refused."""
import fcntl

from sweep import *


def main():
    sweep = Sweep("h01", "-j1")
    output = os.path.join(sweep.place, "out.h5")

    # flock, shared and exclusive, as HDF5 and others take it.
    for operation in (fcntl.LOCK_SH, fcntl.LOCK_EX):
        shutil.copy(sweep.old_file, output)
        with open(output, "rb") as reader:
            fcntl.flock(reader, operation)
            expect_code(run(sweep.config, "output=" + output, *sweep.arguments), 0, "beside a lock on the output")
            expect(digest(output) == sweep.good, "the output is not whole beside a lock")
            expect(hashlib.sha256(reader.read()).hexdigest() == sweep.old, "the reader's file has changed under him")

    # A program that has the file open by HDF5, with its lock.
    try:
        import h5py
    except ImportError:
        h5py = None
    if h5py:
        shutil.copy(sweep.old_file, output)
        with h5py.File(output, "r") as reader:
            expect_code(run(sweep.config, "output=" + output, *sweep.arguments), 0, "beside a reader by HDF5")
            expect(digest(output) == sweep.good, "the output is not whole beside a reader")
            expect(reader["run"] is not None, "the reader lost his file")

    # No locks to be had: it runs, and says so.
    shutil.copy(sweep.old_file, output)
    outcome, calls = sweep.run_with(output, "flock:1+:ENOLCK")
    expect_code(outcome, 0, "without locks")
    expect(calls > 0 and "this file system has no locks" in outcome.err, "it is not told that there are no locks", outcome)
    expect(digest(output) == sweep.good, "other bytes without locks")

    # Another pe-run: refused at once, by name of the output; the one that died is no obstacle.
    shutil.copy(sweep.old_file, output)
    os.makedirs(output + ".parts", exist_ok=True)  # without locks nobody can know whether it may go
    with open(output + ".parts/.lock", "w", encoding="ascii") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        outcome = run(sweep.config, "output=" + output, *sweep.arguments)
        expect_code(outcome, 6, "beside another pe-run")
        expect("error[E0601]" in outcome.err and output in outcome.err, "it does not say what is busy", outcome)
        expect(digest(output) == sweep.old, "the output was touched")
    expect_code(run(sweep.config, "output=" + output, *sweep.arguments), 0, "beside the lock of one that is gone")
    expect(digest(output) == sweep.good, "the output is not whole after a stale lock")
    print(f"readers by flock{' and HDF5' if h5py else ''}, no locks, another pe-run, a stale lock: as promised")


main()
