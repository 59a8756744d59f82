"""write, open, fsync, rename, mkdir and flock fail, and pe-run is killed, at every such call of a run, with workers and
without."""
from sweep import *

# The errors of each call, and what else happens to it.
CALLS = {
    "write": (["ENOSPC", "EIO", "EDQUOT", "EINTR"], ["short", "kill", "killrun"]),
    "open": (["ENOSPC", "EACCES", "EMFILE"], ["kill", "killrun"]),
    "fsync": (["EIO", "ENOSPC"], ["kill", "killrun"]),
    "rename": (["EIO", "ENOSPC", "EXDEV"], ["kill", "killrun"]),
    "mkdir": (["ENOSPC", "EACCES"], ["killrun"]),
    "flock": (["ENOLCK", "EINTR"], ["killrun"]),
}


def main():
    for mode in ("-j1", "--in-process"):
        sweep = Sweep("calls" + mode, mode)
        told = []
        for call, (errors, actions) in CALLS.items():
            if mode == "--in-process":  # the process is the run
                actions = [action for action in actions if action != "killrun"]
            points = sweep.every(call, range(1, sweep.count(call) + 1), errors, actions)
            told.append(f"{call} {points}")
        print(f"{mode}: at every {', '.join(told)}: {sweep}", flush=True)


main()
