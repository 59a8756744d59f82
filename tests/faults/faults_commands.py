"""Commands that run plugins themselves survive them: one that crashes, hangs while it is loaded or ends the process is a
refusal with exit 3 that names the file; where nobody asked for it, it is passed over and listed as refused."""
import time

from runs import *

SHAPE = ("--site", "embed", "--positions", "0:4")


def deadly(name):
    return os.path.join(BAD_PLUGINS, name + ".so")


def check(what, code, error, sentence, *arguments, seconds=60, **more):
    started = time.monotonic()
    outcome = run(*arguments, timeout=100, **more)
    took = time.monotonic() - started
    expect_code(outcome, code, what)
    expect(error in outcome.err and sentence in outcome.err, f"{what}: {error}, '{sentence}'", outcome)
    expect(took < seconds, f"{what}: took {took:.0f} s")
    return outcome


def main():
    place = folder("commands")
    # In a folder that is searched.
    crowd = folder(os.path.join(place, "crowd"))
    for name in ("crashes", "exits", "hangs"):
        shutil.copy(deadly(f"deadly/constructor_{name}"), crowd)
    listed = check("list", 0, "", "", "list", "--plugin-dir", crowd, "--format", "csv")
    plain = run("list", "--format", "csv")
    expect_code(plain, 0, "list without them")
    rows = [line for line in plain.out.splitlines() if line]
    expect(all(line in listed.out for line in rows), "list loses schemes", listed)
    shown = run("list", "--plugin-dir", crowd)
    for name in ("crashes", "exits", "hangs"):
        expect(f"constructor_{name}.so" in shown.out, f"list does not say that {name} is refused", shown)
    check("describe beside them", 0, "", "", "describe", "rope", "--plugin-dir", crowd)
    check("plan beside them", 0, "", "", "plan", config(os.path.join(place, "config.yaml")), "--plugin-dir", crowd)
    # Asked for.
    for command in (("describe", "spoiled"), ("vectors", "spoiled", "--out", f"{place}/v.json"),
                    ("apply", "spoiled", *SHAPE, "--in", f"{place}/x.npy", "--out", f"{place}/y.npy")):
        for name, error, sentence in (("crashes", "E0309", "SIG"), ("exits", "E0309", "exit("), ("hangs", "E0310", "seconds")):
            path = deadly(f"deadly/constructor_{name}")
            check(f"{command[0]}: {name}", 3, error, sentence, *command, "--plugin", path)
    # While it computes.
    for name, sentence in (("ends_exit", "exit(0)"), ("ends_exit_now", "exit(0)"), ("ends_abort", "SIGABRT"),
                           ("writes_null", "SIGSEGV"), ("ends_stack", "SIGSEGV")):
        if os.path.exists(deadly(name)):
            outcome = check(f"vectors: {name}", 3, "E0309", sentence, "vectors", "spoiled", "--plugin", deadly(name), "--out",
                            f"{place}/v.json")
            expect(f"{name}.so" in outcome.err and "while `pe-run vectors` ran it" in outcome.err, "not told who", outcome)
            expect(not os.path.exists(f"{place}/v.json"), f"{name}: vectors are written")
    # What has nothing to do with plugins comes through as it is.
    expect(run("list", "--help").code == 0 and run("list", "--nonsense").code == 2, "usage")
    expect(run("describe", "nobody").code == 2, "an unknown name")
    print("list passes over 3 deadly plugins; describe, vectors and apply refuse them by name; crashes while computing too")


main()
