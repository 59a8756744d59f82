#!/usr/bin/python3
"""The scan of `pe-bench scan` in NumPy (float32), 256 rows at a time.

    numpy_scan.py [scheme=rope] [length=8192] [heads=8] [head_dim=64] [threads=2] [repeats=3]

Prints one JSON object. Threads are the BLAS library's, so they are set before NumPy is loaded; the rest of NumPy uses
one.
"""
import json
import math
import os
import resource
import statistics
import sys
import time

ROWS = 256


def settings(arguments):
    values = dict(scheme="rope", length="8192", heads="8", head_dim="64", threads="2", repeats="3")
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals or key not in values:
            sys.exit(f"numpy_scan.py: {argument}: allowed are {', '.join(values)}")
        values[key] = value
    for key in ("length", "heads", "head_dim", "threads", "repeats"):
        values[key] = int(values[key])
    if values["scheme"] not in ("rope", "alibi", "none"):
        sys.exit("numpy_scan.py: scheme is rope, alibi or none")
    return values


value = settings(sys.argv[1:])
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(value["threads"])
import numpy as np  # noqa: E402


def rotated(x):
    length, width = x.shape[-2:]
    inv_freq = 10000.0 ** (-np.arange(0, width, 2) / width)
    angle = np.arange(length)[:, None] * inv_freq
    cosine, sine = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    a, b = x[..., : width // 2], x[..., width // 2:]
    return np.concatenate([a * cosine - b * sine, b * cosine + a * sine], -1)


def scan(q, k, scheme):
    heads, length, width = q.shape
    entropy, log_sum_exp, largest, mass = (np.zeros((heads, length), np.float32) for _ in range(4))
    rows = min(ROWS, length)
    hidden = np.triu(np.full((rows, rows), -1e30, np.float32), 1)
    q = q * np.float32(1 / math.sqrt(width))
    for head in range(heads):
        slope = np.float32(2.0 ** (-8.0 * (head + 1) / heads))
        for first in range(0, length, rows):
            end = min(length, first + rows)
            n = end - first
            s = q[head, first:end] @ k[head, :end].T
            if scheme == "alibi":
                s -= slope * np.abs(np.arange(first, end, dtype=np.float32)[:, None] - np.arange(end, dtype=np.float32))
            s[:, first:] += hidden[:n, :n]
            top = s.max(-1, keepdims=True)
            s -= top
            # Padded so that, read with rows one element longer, each distance stands in one column.
            flat = np.zeros(n - 1 + n * (end + n), np.float32)
            e = flat[n - 1:].reshape(n, end + n)[:, :end]
            np.exp(s, out=e)
            total = e.sum(-1)
            entropy[head, first:end] = np.log(total) - np.einsum("ij,ij->i", e, s) / total
            log_sum_exp[head, first:end] = top[:, 0] + np.log(total)
            largest[head, first:end] = top[:, 0]
            e /= total[:, None]
            skewed = np.lib.stride_tricks.as_strided(flat, (n, end), ((end + n + 1) * 4, 4))
            mass[head, :end] += skewed.sum(0)[::-1]
    return entropy, log_sum_exp, largest, mass / length


def main():
    generator = np.random.default_rng(0)
    shape = (value["heads"], value["length"], value["head_dim"])
    q, k = (generator.standard_normal(shape, np.float32) for _ in range(2))
    seconds = []
    for _ in range(value["repeats"]):
        begin = time.perf_counter()
        placed = (rotated(q), rotated(k)) if value["scheme"] == "rope" else (q, k)
        entropy, _, _, mass = scan(*placed, value["scheme"])
        seconds.append(time.perf_counter() - begin)
    value.update(seconds=statistics.median(seconds), seconds_min=min(seconds), seconds_max=max(seconds),
                 peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, entropy_mean=float(entropy.mean()),
                 mass_sum=float(mass.sum(-1).mean()), library=f"NumPy {np.__version__}")
    print(json.dumps(value))


if __name__ == "__main__":
    main()
