#!/usr/bin/python3
"""Measure pe-run and what people would write instead, in turn, and write docs/performance.md with its plots.

    bench/run.py BUILD            the whole (about 15 minutes on two idle cores; --rounds 3: 10)
    bench/run.py BUILD --quick    every part once, small, written to a temporary folder: does it run?

BUILD is the build folder with pe-bench and pe-run. Wants python3-torch, python3-numpy and gnuplot; a peer that is not
installed is left out, and the page says so.
"""
import argparse
import array
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
HEADS, HEAD_DIM = 8, 64
# They train for minutes.
LONG_CONFIGS = ("length_generalization.yaml", "tasks.yaml", "trained_checkpoints.yaml", "trained_for_decide.yaml")

# What the libraries choose by themselves on this machine is what is measured.
ENVIRONMENT = {key: value for key, value in os.environ.items()
               if key not in ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "LIBXSMM_TARGET")}


def output_of(command):
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed ({done.returncode}):\n{done.stderr}")
    return done.stdout


class Bench:
    """Runs pe-bench and the peers; each measurement is a fresh process."""

    def __init__(self, build, quick, rounds):
        self.build, self.quick, self.rounds = build, quick, rounds
        self.repeats = 1 if quick else 5

    def own(self, name, *settings):
        return json.loads(output_of([self.build / "pe-bench", name, "--json", *settings]))

    def scan(self, length, scheme="rope", threads=2, repeats=None, **more):
        return self.own("scan", f"scheme={scheme}", f"length={length}", f"threads={threads}", f"heads={HEADS}",
                        f"head_dim={HEAD_DIM}", f"repeats={repeats or self.repeats}",
                        *(f"{key}={value}" for key, value in more.items()))

    def process(self, *command):
        return json.loads(output_of([self.build / "pe-bench", "process", "--json", f"repeats={self.repeats}", "--",
                                     *map(str, command)]))

    def peer(self, script, length, threads=2, repeats=1, **more):
        command = [sys.executable, HERE / "peers" / script, f"length={length}", f"threads={threads}", f"heads={HEADS}",
                   f"head_dim={HEAD_DIM}", f"repeats={repeats}", *(f"{key}={value}" for key, value in more.items())]
        return json.loads(output_of(command))

    @staticmethod
    def train_peer(*settings):
        return json.loads(output_of([sys.executable, HERE / "peers" / "torch_train.py", *settings]))


def installed(module):
    return subprocess.run([sys.executable, "-c", f"import {module}"], env=ENVIRONMENT, capture_output=True,
                          check=False).returncode == 0


# ---- measuring ------------------------------------------------------------------------------------------------------


def bound_of(ceilings, length, threads, product="product"):
    """Seconds that the products and exponentials at and below the diagonal take at the best measured rates; product:
    "product" for the faster kind, "float32" for the one that all machines have."""
    cells = HEADS * length * (length + 1) / 2
    product = cells * 2 * HEAD_DIM / (ceilings[f"{product}_gflops"] * 1e9)
    return (product + cells * ceilings["exponential_ns"] * 1e-9) / threads


def better(one, other):
    """The better of two measurements of the ceilings: a bound must not be too easy."""
    return {**one, "product_gflops": max(one["product_gflops"], other["product_gflops"]),
            "float32_gflops": max(one["float32_gflops"], other["float32_gflops"]),
            "exponential_ns": min(one["exponential_ns"], other["exponential_ns"]),
            "copy_gb_per_s": max(one["copy_gb_per_s"], other["copy_gb_per_s"])}


def in_turn(rounds, *calls):
    """Each call once per round, so that whatever else the machine does meets all of them. Lists of seconds."""
    times = [[] for _ in calls]
    results = [None] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            results[i] = call()
            times[i].append(results[i]["seconds"])
    return times, results


def ratio(times, base):
    """Median of the rounds' ratios, with the smallest and the largest."""
    ratios = sorted(t / b for t, b in zip(times, base))
    return statistics.median(ratios), ratios[0], ratios[-1]


def write_rows(path, length):
    """A .npy file [HEADS][length][HEAD_DIM] of float32."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({HEADS}, {length}, {HEAD_DIM}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    values = array.array("f", (math.sin(7 * i) for i in range(HEADS * HEAD_DIM * 256)))
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        for _ in range(length // 256):
            values.tofile(file)


def measure_commands(bench, folder):
    """apply and compare on rows of a file, beside a copy of it."""
    length = 1024 if bench.quick else 32768
    rows, turned = f"{folder}/rows.npy", f"{folder}/turned.npy"
    write_rows(rows, length)
    apply = [bench.build / "pe-run", "apply", "rope", "--site", "qk", "--positions", f"0:{length}", "--in", rows,
             "--out", turned]
    facts = {"length": length, "mib": os.path.getsize(rows) / 2**20,
             "copy": bench.process("sh", "-c", f"cp {rows} {folder}/copy.npy && sync {folder}/copy.npy"),
             "apply": bench.process(*apply)}
    facts["compare"] = bench.process(bench.build / "pe-run", "compare", "rope", "--", turned, "in=" + rows)
    return facts


def measure(bench):
    quick = bench.quick
    rounds = 1 if quick else bench.rounds
    facts = {"ceilings": bench.own("ceilings", "repeats=3" if quick else "repeats=40")}
    main_length = 512 if quick else 8192
    peers = []
    if installed("torch"):
        peers += [("PyTorch, tuned", "torch_scan.py", {"variant": "tuned"}),
                  ("PyTorch, as first written, in chunks", "torch_scan.py", {"variant": "chunked"})]
    if installed("numpy"):
        peers += [("NumPy", "numpy_scan.py", {})]
    if quick:
        peers = [peer for peer in peers if peer[2].get("variant") != "chunked"]

    facts["main_length"] = main_length
    calls = [lambda: bench.scan(main_length), lambda: bench.scan(main_length, threads=1),
             lambda: bench.scan(main_length, product="float32"),
             lambda: bench.scan(main_length, threads=1, product="float32")]
    for _, script, more in peers:
        calls += [lambda s=script, m=more: bench.peer(s, main_length, **m),
                  lambda s=script, m=more: bench.peer(s, main_length, threads=1, **m)]
    times, results = in_turn(rounds, *calls)
    facts["main"] = {"times": times, "results": results, "peers": [name for name, _, _ in peers]}

    # Beside plain attention: what positions cost.
    schemes = ["none", "rope", "alibi", "kerple", "t5"]
    # Small differences, so many rounds.
    times, _ = in_turn(1 if quick else 2 * rounds + 5, *(lambda s=s: bench.scan(main_length, scheme=s) for s in schemes))
    facts["schemes"] = [(scheme, statistics.median(t), ratio(t, times[0])) for scheme, t in zip(schemes, times)]

    # Short sequences, many of them: one call after the other, and as jobs on both threads; peers with either number of
    # threads.
    facts["short"] = []
    torch = [peer for peer in peers if peer[1] == "torch_scan.py"]
    for length in [64] if quick else [64, 128, 256, 512]:
        count = 2 if quick else max(20, 2_000_000 // length // length)
        calls = [lambda j=j, n=length, c=count: bench.scan(n, calls=c, repeats=3, jobs=j) for j in (0, 1)]
        calls += [lambda s=script, m=more, t=t, n=length, c=count: bench.peer(s, n, threads=t, calls=max(2, c // 10), **m)
                  for _, script, more in torch for t in (1, 2)]
        times, results = in_turn(rounds, *calls)
        per_call = [[t / int(r["calls"]) for t in ts] for ts, r in zip(times, results)]
        best = [min(per_call[i:i + 2], key=statistics.median) for i in range(2, len(per_call), 2)]
        facts["short"].append((length, per_call[:2] + best, [name for name, _, _ in torch]))

    # Growth.
    facts["growth"] = []
    for length in [256, 512] if quick else [1024, 2048, 4096, 8192, 16384, 32768, 65536]:
        runs = [bench.scan(length, repeats=1 if length > 16384 else 3)
                for _ in range(1 if quick or length > 16384 else 2 * rounds + 1)]
        facts["growth"].append({**runs[0], "seconds": statistics.median(run["seconds"] for run in runs),
                                "peak_mib": max(run["peak_mib"] for run in runs)})
    facts["peer_growth"] = []
    if peers and peers[0][1] == "torch_scan.py":
        for length in [256, 512] if quick else [1024, 2048, 4096, 8192, 16384]:
            facts["peer_growth"].append(bench.peer("torch_scan.py", length, variant="tuned"))

    # A step of training: whatever number of threads is best for each.
    facts["train"] = []
    steps = "steps=2" if quick else "steps=100"
    for scheme in ["none"] if quick else ["none", "rope", "alibi"]:
        calls = [lambda s=scheme, t=t: bench.own("train", f"scheme={s}", f"threads={t}", steps) for t in (1, 2)]
        if installed("torch"):
            calls += [lambda s=scheme, t=t: bench.train_peer(f"scheme={s}", f"threads={t}", steps) for t in (1, 2)]
        facts["train"].append((scheme, in_turn(rounds, *calls)[0]))

    facts["parts"] = [bench.own("scheme", f"scheme={s}", "length=512" if quick else "length=4096")
                      for s in ("sinusoidal", "learned", "rope", "alibi", "t5")]
    with tempfile.TemporaryDirectory() as folder:
        facts["write"] = bench.own("write", f"folder={folder}", "megabytes=4" if quick else "megabytes=256")
        facts["commands"] = measure_commands(bench, folder)
    facts["exponential"] = bench.own("exponential", "repeats=3" if quick else "repeats=40")
    facts["start"] = bench.own("start", "repeats=3" if quick else "repeats=30")
    facts["list"] = bench.process(bench.build / "pe-run", "list")
    configs = [ROOT / "configs" / "worked_example.yaml"] if quick else sorted((ROOT / "configs").glob("*.yaml"))
    facts["configs"] = [(config.name, bench.own("config", f"path={config}", "threads=2",
                                                "repeats=1" if quick else f"repeats={min(3, rounds)}"))
                        for config in configs if config.name not in LONG_CONFIGS]
    facts["ceilings"] = better(facts["ceilings"], bench.own("ceilings", "repeats=3" if quick else "repeats=40"))
    return facts


# ---- writing --------------------------------------------------------------------------------------------------------


def seconds_text(seconds):
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} µs"


def slope(rows, key):
    """Exponent between the last two rows."""
    a, b = rows[-2], rows[-1]
    return math.log(b[key] / a[key]) / math.log(int(b["length"]) / int(a["length"]))


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    compiler = output_of(["gcc", "--version"]).splitlines()[0]
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, {compiler}, glibc {platform.libc_ver()[1]}"


def plot(facts, path):
    rows, peers = facts["growth"], facts["peer_growth"]
    data = "\n".join(f"{r['length']} {r['seconds']} {r['peak_mib']} {r['qk_mib']}" for r in rows)
    peer_data = "\n".join(f"{r['length']} {r['seconds']} {r['peak_mib']}" for r in peers)
    first = rows[0]
    scale = first["seconds"] / int(first["length"]) ** 2
    peer_time = ", $peer using 1:2 with linespoints title 'PyTorch, tuned'" if peers else ""
    peer_memory = ", $peer using 1:3 with linespoints title 'PyTorch, tuned'" if peers else ""
    script = f"""
set terminal svg size 900,400 dynamic enhanced font 'sans,12' name 'performance'
set output '{path}'
$own << EOD
{data}
EOD
$peer << EOD
{peer_data or '1 1 1'}
EOD
set logscale xy
set key right bottom
set xlabel 'length T'
set grid
set multiplot layout 1,2
set title 'seconds, {HEADS} heads of {HEAD_DIM}, causal, rope, 2 threads'
plot $own using 1:2 with linespoints title 'pe-run', {scale} * x * x with lines dashtype 2 title 'T^2'{peer_time}
set title 'peak memory in MiB'
plot $own using 1:3 with linespoints title 'pe-run', $own using 1:4 with lines dashtype 2 title 'q and k'{peer_memory}
unset multiplot
"""
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def page(facts, command):
    ceilings, main = facts["ceilings"], facts["main"]
    length, lines = facts["main_length"], []
    add = lines.append
    own, own_1, float32, float32_1 = main["times"][:4]
    tiles = ceilings["product_library"] != ceilings["float32_library"]
    add("# Performance\n")
    add(f"Measured by `{command}` on: {machine()}. Kernel: {main['results'][0]['kernel']}. Times are medians of processes "
        "started in turn; in brackets the smallest and the largest.\n")
    add("## The scan\n")
    add(f"One layer, {HEADS} heads of {HEAD_DIM}, T = {length}, causal, rope: q and k turned, scores, softmax; row entropy, "
        "log-sum-exp, largest logit, mass by distance. The same work in other people's tools: `bench/peers/`.\n")
    add("| program | 2 threads | 1 thread | pe-run is faster by (2 threads) | peak MiB |")
    add("| --- | --- | --- | --- | --- |")

    def cell(times):
        return f"{seconds_text(statistics.median(times))} ({seconds_text(min(times))} to {seconds_text(max(times))})"

    add(f"| pe-run | {cell(own)} | {cell(own_1)} | 1 | {main['results'][0]['peak_mib']:.0f} |")
    if tiles:
        middle, low, high = ratio(float32, own)
        add(f"| pe-run, products by {ceilings['float32_library']} (`product=float32`) | {cell(float32)} | {cell(float32_1)} | "
            f"{middle:.2f} ({low:.2f} to {high:.2f}) | {main['results'][2]['peak_mib']:.0f} |")
    for i, name in enumerate(main["peers"]):
        two, one, result = main["times"][4 + 2 * i], main["times"][5 + 2 * i], main["results"][4 + 2 * i]
        middle, low, high = ratio(two, own)
        add(f"| {name} ({result['library']}) | {cell(two)} | {cell(one)} | {middle:.1f} ({low:.1f} to {high:.1f}) | "
            f"{result['peak_mib']:.0f} |")
    speedup, low, high = ratio(own_1, own)
    add(f"\nTwo threads are {speedup:.2f} ({low:.2f} to {high:.2f}) times as fast as one.\n")
    add("## Against the machine\n")
    add(f"One thread reaches at most {ceilings['float32_gflops']:.0f} GFLOP/s in a float32 product of cached tiles "
        f"({ceilings['float32_library']}, {ceilings['float32_rows']:.0f} queries x {ceilings['product_keys']:.0f} keys x "
        f"{HEAD_DIM}), {ceilings['exponential_ns']:.3f} ns per exponential ({ceilings['exponential_kernel']}), and copies "
        f"{ceilings['copy_gb_per_s']:.1f} GB/s. Products and exponentials at and below the diagonal at these rates, on two "
        f"cores: {seconds_text(bound_of(ceilings, length, 2, 'float32'))}.\n")
    if tiles:
        add(f"With tile registers ({ceilings['product_library']}), where a float32 is the sum of three bfloat16 and six of "
            f"the nine products are added, it reaches {ceilings['product_gflops']:.0f} GFLOP/s, counted as before; the same "
            f"bound is then {seconds_text(bound_of(ceilings, length, 2))}. Shares of the two bounds:\n")
    else:
        add("Shares of that bound:\n")
    kinds = [("float32", "of the float32 bound")] + ([("product", "of the bound with tiles")] if tiles else [])
    add("| | " + " | ".join(f"{name}, {threads}" for _, name in kinds for threads in ("2 threads", "1 thread")) + " |")
    add("| --- " * (1 + 2 * len(kinds)) + "|")

    def shares(two, one, wanted):
        return " | ".join(f"{100 * bound_of(ceilings, length, n, kind) / statistics.median(times):.0f} %"
                          if kind in wanted else "-" for kind, _ in kinds for n, times in ((2, two), (1, one)))

    add(f"| pe-run | {shares(own, own_1, ('float32', 'product'))} |")
    if tiles:
        add(f"| pe-run, `product=float32` | {shares(float32, float32_1, ('float32',))} |")
    add("")
    add("What the bounds leave out, as time stamps around the parts showed it once, on an Intel Xeon with AVX-512 and AMX, "
        "of 239 ms of one thread at T = 8192: products and softmax, side by side, 182, of which 40 were waiting for packed "
        "keys of the longer rows (three parts of all keys and the weights of a row block do not fit into a second-level "
        "cache of 2 MiB; with all keys in it they took 142); sums along diagonals for the mass by distance 26; q and k "
        "turned 6; ends of rows 4; packing 3; positions and the steps from tile to tile 18. Side by side is not for free: "
        "tile loads and the softmax share the first cache and its ports, and additions between two products of tiles took "
        "1.5 times as long as without, so the processor is slower while its tiles are at work. With float32 products, of "
        "350 ms: products 232 (204 at the rate of cached tiles), softmax 60, sums along diagonals 20, the rest 38.\n")
    add("## What positions cost\n")
    add("Logits have deviation 1 for every scheme: T5's queries, whose scores are not divided by the square root of head_dim, "
        "are that much smaller, as T5 makes them.\n")
    add("| scheme | seconds | against none |\n| --- | --- | --- |")
    for scheme, seconds, (middle, low, high) in facts["schemes"]:
        add(f"| {scheme} | {seconds_text(seconds)} | {middle:.3f} ({low:.3f} to {high:.3f}) |")
    add("\n## Short sequences\n")
    add("Alone: one call after the other, which at T = 64 uses one thread, from 128 on two. Jobs: many of them, one on each "
        "thread, as a run spreads its jobs; seconds are those of all by their number. PyTorch: with one or two threads, "
        "whichever is faster; two processes of it side by side, which was not measured, could at best halve its time.\n")
    names = facts["short"][0][2]
    add("| T | pe-run, alone | pe-run, jobs | " + " | ".join(f"{name} | alone faster by | jobs faster by" for name in names)
        + " |")
    add("| --- " * (3 + 3 * len(names)) + "|")
    for short_length, per_call, _ in facts["short"]:
        cells = [f"{short_length}", *(seconds_text(statistics.median(times)) for times in per_call[:2])]
        for times in per_call[2:]:
            cells.append(seconds_text(statistics.median(times)))
            for own_times in per_call[:2]:
                middle, low, high = ratio(times, own_times)
                cells.append(f"{middle:.1f} ({low:.1f} to {high:.1f})")
        add("| " + " | ".join(cells) + " |")
    add("\n## How it grows\n")
    add("![time and memory against T](performance.svg)\n")
    add("| T | seconds | " + " | ".join(f"share {name}" for _, name in kinds)
        + " | peak MiB | bytes of q and k, MiB | 1.6 x that + 32 MiB |")
    add("| --- " * (5 + len(kinds)) + "|")
    for row in facts["growth"]:
        n = int(row["length"])
        add(f"| {n} | {seconds_text(row['seconds'])} | "
            + " | ".join(f"{100 * bound_of(ceilings, n, 2, kind) / row['seconds']:.0f} %" for kind, _ in kinds) + " | "
            f"{row['peak_mib']:.0f} | {row['qk_mib']:.0f} | {1.6 * row['qk_mib'] + 32:.0f} |")
    add(f"\nBetween the last two lengths time grows as T^{slope(facts['growth'], 'seconds'):.2f} and peak memory as "
        f"T^{slope(facts['growth'], 'peak_mib'):.2f}.\n")
    add("## Training\n")
    add("A step of the decoder of `length_generalization` (2 layers, d 128, 4 heads, 16 sequences of 64 tokens): batch, "
        "forward, backward, clipping, AdamW; `bench/peers/torch_train.py` does the same.\n")
    add("| scheme | pe-run, 2 threads | 1 thread | PyTorch, 2 threads | 1 thread | pe-run is faster by (best of each) |")
    add("| --- " * 6 + "|")
    for scheme, times in facts["train"]:
        one, two, *peer = times
        cells = [scheme, cell(two), cell(one)]
        if peer:
            best = min(peer, key=statistics.median)
            middle, low, high = ratio(best, min(two, one, key=statistics.median))
            cells += [cell(peer[1]), cell(peer[0]), f"{middle:.1f} ({low:.1f} to {high:.1f})"]
        else:
            cells += ["-"] * 3
        add("| " + " | ".join(cells) + " |")
    add("\n## Parts\n")
    add("| part | |\n| --- | --- |")
    for part in facts["parts"]:
        for key, unit in (("embed_ns_per_element", "ns per element embedded"),
                          ("rotate_ns_per_element", "ns per element rotated"),
                          ("bias_ns_per_cell", "ns per cell of bias, without the row of distances")):
            if key in part:
                add(f"| {part['scheme']} | {part[key]:.2f} {unit} |")
    add(f"| results file of {facts['write']['megabytes']} MiB of weights | {facts['write']['mib_per_s']:.0f} MiB/s, "
        f"{facts['write']['file_mib']:.0f} MiB on disk |")
    add(f"| the same, read and checked | {facts['write']['read_mib_per_s']:.0f} MiB/s |")
    add(f"| the same, from the parts of a run into its results, as packed | {facts['write']['join_mib_per_s']:.0f} MiB/s |")
    exponentials = facts["exponential"]
    for kernel, name in (("portable", "portable C"), ("avx2", "AVX2"), ("avx512", "AVX-512"), ("library", "glibc's expf")):
        if f"{kernel}_ns" in exponentials:
            add(f"| exponential, {name} | {exponentials[f'{kernel}_ns']:.3f} ns per value, one thread |")
    start = facts["start"]
    add(f"| start of `pe-run CONFIG` to its first job | {seconds_text(start['seconds'])} "
        f"({seconds_text(start['seconds_min'])} to {seconds_text(start['seconds_max'])}), "
        f"{seconds_text(start['cpu_seconds'])} of processor time in all processes |")
    add(f"| `pe-run list`, start to end | {seconds_text(facts['list']['seconds'])} |")
    commands = facts["commands"]
    for key, name in (("copy", "`cp` and `sync`"), ("apply", "`pe-run apply rope`"), ("compare", "`pe-run compare rope`")):
        add(f"| {name}, a .npy file of {commands['mib']:.0f} MiB, [{HEADS}, {commands['length']}, {HEAD_DIM}] | "
            f"{seconds_text(commands[key]['seconds'])}, {seconds_text(commands[key]['cpu_seconds'])} of processor time, "
            f"{commands[key]['peak_mib']:.0f} MiB |")
    add("\n## Whole configs\n")
    add("Each of `configs/` that does not train for minutes, from the start of `pe-run` to its end, two threads; processor "
        "time is that of all its processes, the peak that of the largest.\n")
    add("| config | seconds | processor time | peak MiB | results, MiB |\n| --- | --- | --- | --- | --- |")
    for name, result in facts["configs"]:
        add(f"| {name} | {seconds_text(result['seconds'])} ({seconds_text(result['seconds_min'])} to "
            f"{seconds_text(result['seconds_max'])}) | {seconds_text(result['cpu_seconds'])} | {result['peak_mib']:.0f} | "
            f"{result['file_mib']:.1f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each program, in turn (default: 5)")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error(f"--rounds {arguments.rounds}: at least one is needed")
    facts = measure(Bench(arguments.build.resolve(), arguments.quick, arguments.rounds))
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) if arguments.quick else ROOT / "docs"
        plot(facts, folder / "performance.svg")
        (folder / "performance.md").write_text(page(facts, "bench/run.py build" + (f" --rounds {arguments.rounds}" if arguments.rounds != 5 else "")), encoding="utf-8")
        if arguments.quick:
            print((folder / "performance.md").read_text(encoding="utf-8"))
        else:
            (arguments.build / "performance.json").write_text(json.dumps(facts, indent=1, default=str))


main()
