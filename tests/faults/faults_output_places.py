"""Places that no output can go to are refused with exit 4 before any job and untouched; a link is followed and stays a
link; a terminal that takes no more is told by exit 4 and costs no results."""
import stat

from sweep import *


def main():
    sweep = Sweep("places", "-j1", old=False)
    place = sweep.place

    def refused(output, sentence):
        outcome = run(sweep.config, "output=" + output, *sweep.arguments, cwd=place)
        expect_code(outcome, 4, f"output={output}")
        expect("error[E0402]" in outcome.err and sentence in outcome.err, f"output={output}: '{sentence}'", outcome)
        expect(not outcome.jobs("measured"), f"output={output}: work was done before", outcome)

    os.symlink("nowhere/out.h5", os.path.join(place, "dangling.h5"))
    os.mkfifo(os.path.join(place, "fifo.h5"))
    refused(".", "it is a folder")
    refused("/dev/null", "it is not a regular file")
    refused("/dev/full", "it is not a regular file")
    refused("fifo.h5", "it is not a regular file")
    refused("dangling.h5", "following the link")
    refused("/proc/out.h5", "cannot be written")
    refused("config.yaml/out.h5", "Not a directory")
    expect(stat.S_ISCHR(os.stat("/dev/null").st_mode), "/dev/null is no device any more")
    n_refused = 7

    # The file that the link names is replaced, the link is not.
    os.mkdir(os.path.join(place, "elsewhere"))
    shutil.copy(os.path.join(place, "reference.h5"), os.path.join(place, "elsewhere", "real.h5"))
    os.symlink("elsewhere/real.h5", os.path.join(place, "link.h5"))
    expect_code(run(sweep.config, "output=link.h5", "--fresh", *sweep.arguments, cwd=place), 0, "output=link.h5")
    expect(os.path.islink(os.path.join(place, "link.h5")), "the link was replaced")
    expect(digest(os.path.join(place, "elsewhere", "real.h5")) == sweep.good, "the file behind the link is not whole")

    # Standard output: full, closed, a reader who goes away. The results are whole each time.
    def with_stdout(name, redirection, loud):
        output = os.path.join(place, name + ".h5")
        command = f'"$0" "$1" "output={output}" {" ".join(sweep.arguments)} {redirection}'
        done = subprocess.run(["bash", "-c", command + "; exit ${PIPESTATUS[0]}", runs.PE_RUN, sweep.config],
                              capture_output=True, text=True, check=False, timeout=120)
        expect(digest(output) == sweep.good, f"{name}: the results are not whole", done)
        if loud:
            expect(done.returncode == 4 and "error[E0402]" in done.stderr, f"{name}: lost output is not told", done)
        else:
            expect("error[" not in done.stderr, f"{name}: a reader who goes away is no error", done)

    with_stdout("full", ">/dev/full", True)
    with_stdout("closed", ">&-", True)
    with_stdout("reader_gone", "| true", False)
    print(f"{n_refused} places refused before any job, a link followed; a full, closed or broken standard output told")


main()
