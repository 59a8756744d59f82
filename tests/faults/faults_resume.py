"""What is finished is found by its key: the same command, a larger config, other plugin bytes, other input bytes; parts
and outputs that are damaged, cut off, or another job's. Whatever is found, the bytes are those of an undisturbed run."""
import json

from runs import *

LARGER = CONFIG.replace("alibi]", "alibi, xpos]")


def check_again(place):
    """Nothing is computed twice, and a larger config computes what is new."""
    whole, path = reference(place)
    output = os.path.join(place, "out.h5")
    expect_code(run(path, "output=" + output), 0, "a first run")
    again = run(path, "output=" + output)
    expect_code(again, 0, "the same command again")
    expect(sorted(again.jobs("kept")) == sorted(JOBS) and not again.jobs("measured"), "not every job is kept", again)
    expect(digest(output) == whole, "other bytes when all is kept", again)
    anew = run(path, "output=" + output, "--fresh")
    expect(sorted(anew.jobs("measured")) == sorted(JOBS) and digest(output) == whole, "--fresh", anew)
    larger = config(os.path.join(place, "larger.yaml"), LARGER)
    alone = os.path.join(place, "alone.h5")
    expect_code(run(larger, "output=" + alone), 0, "the larger config alone")
    grown = run(larger, "output=" + output)
    expect(sorted(grown.jobs("kept")) == sorted(JOBS), "the larger config computes what was there", grown)
    expect(sorted(grown.jobs("measured")) == ["equivariance/xpos", "relative_position/xpos"], "what is new", grown)
    expect(digest(output) == digest(alone), "a larger config has other bytes than alone", grown)
    shrunk = run(path, "output=" + output)
    expect(sorted(shrunk.jobs("kept")) == sorted(JOBS) and digest(output) == whole, "back to the smaller one", shrunk)
    dry = run(path, "output=" + output, "--dry-run", "relative_position.length=9", "--format", "json")
    states = {row["job"]: row["state"] for row in json.loads(dry.out)["rows"]}
    expect(all((state == "kept") == job.startswith("equivariance") for job, state in states.items()),
           "--dry-run after a change of one experiment", dry)
    expect(digest(output) == whole, "--dry-run changes the output", dry)
    changed = run(path, "output=" + output, "relative_position.length=9")
    expect(sorted(changed.jobs("kept")) == [job for job in sorted(JOBS) if job.startswith("equivariance")],
           "a change of one experiment costs the other one", changed)
    return whole, path


def check_other_bytes(place, path):
    """A plugin, or an input file, whose bytes have changed: its jobs alone are computed again."""
    plugins = folder(os.path.join(place, "plugins"))
    shutil.copy(os.path.join(os.path.dirname(PE_RUN), "plugins", "rope.so"), plugins)
    output = os.path.join(place, "bytes.h5")
    arguments = (path, "output=" + output, "--plugin-dir", plugins)
    expect_code(run(*arguments), 0, "a copied plugin")
    with open(os.path.join(plugins, "rope.so"), "ab") as file:
        file.write(b"\0")
    outcome = run(*arguments)
    expect(sorted(outcome.jobs("measured")) == ["equivariance/rope", "relative_position/rope"], "a changed plugin", outcome)
    vectors = os.path.join(place, "vectors.txt")
    text = ("model: {embeddings: {file: vectors.txt, heads: 1, head_dim: 4}, tokens: {text: a b c}}\nschemes: [none, rope]\n"
            "experiments: [equivariance]\n")
    words = config(os.path.join(place, "words.yaml"), text)
    config(vectors, "a 1 0 0 0\nb 0 1 0 0\nc 0 0 1 0\n")
    output = "output=" + os.path.join(place, "words.h5")
    expect_code(run(words, output), 0, "word vectors")
    expect(len(run(words, output).jobs("kept")) == 2, "the same word vectors")
    config(vectors, "a 1 0 0 0\nb 0 1 0 0\nc 0 0 2 0\n")
    outcome = run(words, output)
    expect(len(outcome.jobs("measured")) == 2, "changed word vectors", outcome)


def damages():
    """What happens to a file: name, and how its bytes change."""
    def flip(share):
        def change(data):
            data = bytearray(data)
            data[int(share * (len(data) - 1))] ^= 0x10
            return bytes(data)
        return change

    flips = [(f"a flipped bit at {share:.2f}", flip(share)) for share in (i / 9 for i in range(10))]
    return flips + [("empty", lambda data: b""), ("cut in half", lambda data: data[:len(data) // 2]),
                    ("text", lambda data: b"hello\n"), ("longer", lambda data: data + b"\0" * 100)]


def check_damaged_parts(place, whole, path):
    output = os.path.join(place, "parts.h5")
    noted = count = 0
    for name, change in damages():
        expect_code(run(path, "output=" + output, "--shard", "0/1"), 0, "all parts")
        there = [part for part in parts(output) if part.endswith(".h5")]
        expect(len(there) == len(JOBS), f"{len(there)} parts instead of {len(JOBS)}")
        victim = os.path.join(output + ".parts", there[count % len(there)])
        with open(victim, "rb") as file:
            data = file.read()
        with open(victim, "wb") as file:
            file.write(change(data))
        outcome = run(path, "output=" + output)
        expect_code(outcome, 0, f"a part that is damaged: {name}")
        expect(digest(output) == whole, f"a part that is damaged changes the bytes: {name}", outcome)
        again = outcome.jobs("measured")
        expect(len(again) <= 1 and len(outcome.jobs("kept")) == len(JOBS) - len(again), f"other jobs suffer: {name}", outcome)
        expect(not again or "computed again" in outcome.err, f"no note of a damaged part: {name}", outcome)
        # A flipped bit may be in space that nothing is kept in; these cannot be overlooked.
        expect(again or name not in ("empty", "cut in half", "text"), f"not noticed: {name}", outcome)
        noted += len(again)
        count += 1
        os.remove(output)
    expect(noted > 3, "no flipped bit is noticed")
    return count, noted


def check_stale_parts(place, whole, path):
    """A part of another job under this one's name, and parts that nobody asks for."""
    output = os.path.join(place, "stale.h5")
    expect_code(run(path, "output=" + output, "--shard", "0/1"), 0, "all parts")
    here = output + ".parts"
    one, other = [os.path.join(here, part) for part in parts(output) if part.endswith(".h5")][:2]
    shutil.copy(one, other)
    shutil.copy(one, os.path.join(here, "0" * 64 + ".h5"))
    with open(os.path.join(here, ".x.1.tmp"), "wb") as file:
        file.write(b"half a part")
    outcome = run(path, "output=" + output)
    expect_code(outcome, 0, "another job's part")
    expect(len(outcome.jobs("measured")) == 1 and "computed again" in outcome.err, "another job's part is taken", outcome)
    expect(digest(output) == whole and parts(output) is None, "stale parts change the bytes, or stay", outcome)


def check_damaged_output(place, whole, path):
    output = os.path.join(place, "damaged.h5")
    for name, change in damages():
        expect_code(run(path, "output=" + output, "--fresh"), 0, "an output")
        with open(output, "rb") as file:
            data = file.read()
        with open(output, "wb") as file:
            file.write(change(data))
        outcome = run(path, "output=" + output)
        if name == "text" or outcome.code == 4:
            expect_code(outcome, 4, f"an output that is no results file: {name}")
            expect("--fresh" in outcome.err, f"{name}: not told what to do", outcome)
            outcome = run(path, "output=" + output, "--fresh")
        expect_code(outcome, 0, f"an output that is damaged: {name}")
        expect(digest(output) == whole, f"an output that is damaged changes the bytes: {name}", outcome)


def main():
    place = folder("resume")
    whole, path = check_again(place)
    check_other_bytes(place, path)
    count, noted = check_damaged_parts(place, whole, path)
    check_stale_parts(place, whole, path)
    check_damaged_output(place, whole, path)
    print(f"{count} damages to parts ({noted} noticed, the others change nothing that is read) and as many to outputs: the "
          f"bytes of an undisturbed run each time")


main()
