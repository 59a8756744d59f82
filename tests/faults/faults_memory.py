"""pe-run's own allocations fail at every one of them, and with workers those of its libraries at 200 of them
(PE_RUN_SLOW_TESTS: at every one of both)."""
import random

from sweep import *

# With workers: pe-run's own, and all (those of the libraries and of the start of each process are most of them).
SAMPLED_OWN, SAMPLED = 60, 200

# One job without a plugin: each point is tried.
ONE = """\
model: {matrix: {x: [[1, 0], [0, 1]]}}
schemes: [none]
experiments: [attention]
"""


def sample(count, wanted):
    """`wanted` points, spread over all of them; all in a slow test."""
    return range(1, count + 1) if SLOW or count <= wanted else sorted(random.Random(1).sample(range(1, count + 1), wanted))


def main():
    if SANITIZER:
        print("sanitizers have allocators of their own")
        sys.exit(77)
    alone = Sweep("memory_alone", "--in-process", text=ONE, old=False)
    points = alone.every("own", range(1, alone.count("own") + 1), ["ENOMEM"])
    print(f"own allocations, --in-process, at every of {points}: {alone}", flush=True)
    for call, wanted in (("own", SAMPLED_OWN), ("alloc", SAMPLED)):
        crew = Sweep("memory_" + call, "-j1")
        count = crew.count(call)
        points = crew.every(call, sample(count, wanted), ["ENOMEM"])
        print(f"{'own' if call == 'own' else 'all'} allocations, -j1, at {points} of {count}: {crew}", flush=True)


main()
