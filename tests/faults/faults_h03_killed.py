"""Field report H03 (h5py #1807, killed during a run): killed when 2 of 3 experiments are done, the output does not exist
or is the old one, what is done is kept, and going on gives the bytes of a run that was not disturbed."""
from sweep import *

THREE = """\
model: {matrix: {x: [[1, 0], [0, 1]]}}
schemes: [none]
experiments: [attention, equivariance, {relative_position: {length: 2, shifts: [1]}}]
"""


def main():
    sweep = Sweep("h03", "-j1", text=THREE)
    for old in (False, True):
        output = os.path.join(sweep.place, f"out{old}.h5")
        if old:
            shutil.copy(sweep.old_file, output)
        # The third rename puts the third job's part in place.
        outcome, calls = sweep.run_with(output, "rename:3:killrun")
        expect(outcome.code == -9 and calls == 3, "it was not killed at the third part", outcome)
        expect(digest(output) == sweep.old if old else not os.path.exists(output), "the final name is not as before")
        finished = [name for name in parts(output) if name.endswith(".h5") and not name.startswith(".")]
        expect(len(finished) == 2, f"two parts are finished, there are {finished}")
        again = run(sweep.config, "output=" + output, *sweep.arguments)
        expect_code(again, 0, "going on")
        expect(len(again.jobs("kept")) == 2 and len(again.jobs("measured")) == 1, "not only the third is done", again)
        expect(digest(output) == sweep.good and parts(output) is None, "other bytes than undisturbed", again)
    print("killed after 2 of 3 experiments, without and with an old output: both kept, the third done, equal bytes")


main()
