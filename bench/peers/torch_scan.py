#!/usr/bin/python3
"""The scan of `pe-bench scan` in PyTorch: rotate (or bias), causal scores, softmax; row entropy, log-sum-exp, largest
logit, and attention mass by distance.

    torch_scan.py [scheme=rope] [length=8192] [heads=8] [head_dim=64] [threads=2] [variant=tuned] [repeats=3] [calls=1]

Variants: `naive`, the whole score matrix at once; `chunked`, 256 rows at a time and otherwise as first written;
`tuned`, as somebody writes it who has profiled it: nothing above the diagonal block, one exponential, work in place,
and the sums by distance by reading a padded copy with a stride that puts each distance into one column.
Prints one JSON object.
"""
import json
import math
import resource
import statistics
import sys
import time

import torch

ROWS = 256


def settings(arguments):
    values = dict(scheme="rope", length="8192", heads="8", head_dim="64", threads="2", variant="tuned", repeats="3",
                  calls="1")
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals or key not in values:
            sys.exit(f"torch_scan.py: {argument}: allowed are {', '.join(values)}")
        values[key] = value
    for key in ("length", "heads", "head_dim", "threads", "repeats", "calls"):
        values[key] = int(values[key])
    if values["scheme"] not in ("rope", "alibi", "none") or values["variant"] not in ("naive", "chunked", "tuned"):
        sys.exit("torch_scan.py: scheme is rope, alibi or none; variant naive, chunked or tuned")
    return values


def rotated(x):
    """RoPE, halves, base 10000; angles in float64 as pe-run has them."""
    length, width = x.shape[-2:]
    inv_freq = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle = torch.arange(length, dtype=torch.float64)[:, None] * inv_freq
    cosine, sine = torch.cos(angle).float(), torch.sin(angle).float()
    a, b = x[..., : width // 2], x[..., width // 2:]
    return torch.cat([a * cosine - b * sine, b * cosine + a * sine], -1)


def slopes_of(heads):
    return 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads)


def as_first_written(q, k, scheme, rows):
    heads, length, width = q.shape
    position = torch.arange(length)
    slopes = slopes_of(heads)
    entropy, log_sum_exp, largest = (torch.zeros(heads, length) for _ in range(3))
    mass = torch.zeros(heads, length)
    for first in range(0, length, rows):
        end = min(length, first + rows)
        seen = length if rows == length else end
        s = (q[:, first:end] @ k[:, :seen].transpose(1, 2)) / math.sqrt(width)
        if scheme == "alibi":
            s = s - slopes[:, None, None] * (position[first:end, None] - position[None, :seen]).abs()
        s = s.masked_fill(position[None, :seen] > position[first:end, None], float("-inf"))
        largest[:, first:end] = s.amax(-1)
        log_sum_exp[:, first:end] = torch.logsumexp(s, -1)
        a = torch.softmax(s, -1)
        entropy[:, first:end] = -torch.special.xlogy(a, a).sum(-1)
        distance = (position[first:end, None] - position[None, :seen]).clamp_min(0).reshape(-1)
        for head in range(heads):
            mass[head].index_add_(0, distance, a[head].reshape(-1))
    return entropy, log_sum_exp, largest, mass / length


def tuned(q, k, scheme, rows):
    heads, length, width = q.shape
    slopes = slopes_of(heads)
    entropy, log_sum_exp, largest = (torch.empty(heads, length) for _ in range(3))
    mass = torch.zeros(heads, length)
    q = q / math.sqrt(width)
    k = k.transpose(1, 2)
    hidden = torch.full((rows, rows), -1e30).triu(1)
    for first in range(0, length, rows):
        end = min(length, first + rows)
        n = end - first
        # Room for a shift by n columns: row r of the padded copy, read with a row one shorter, starts r further left.
        padded = torch.zeros(heads, n, end + n)
        s = padded[:, :, :end]
        scores = q[:, first:end] @ k[:, :, :end]
        if scheme == "alibi":
            distance = (torch.arange(first, end)[:, None] - torch.arange(end)[None, :]).abs()
            scores.addcmul_(slopes[:, None, None].expand_as(scores), distance.to(torch.float32).expand_as(scores), value=-1)
        scores[:, :, first:] += hidden[:n, :n]
        top = scores.amax(-1, keepdim=True)
        scores -= top
        torch.exp(scores, out=s)
        total = s.sum(-1)
        entropy[:, first:end] = total.log() - torch.einsum("hij,hij->hi", s, scores) / total
        log_sum_exp[:, first:end] = top[..., 0] + total.log()
        largest[:, first:end] = top[..., 0]
        s /= total[..., None]
        # Column c of the skewed view holds key c + r - (n - 1) of row r: distance first + n - 1 - c.
        flat = torch.nn.functional.pad(padded.reshape(heads, -1), (n - 1, 0))
        skewed = flat.as_strided((heads, n, end), (flat.stride(0), end + n + 1, 1))
        mass[:, :end] += skewed.sum(1).flip(-1)
    return entropy, log_sum_exp, largest, mass / length


def main():
    value = settings(sys.argv[1:])
    torch.set_num_threads(value["threads"])
    torch.set_grad_enabled(False)
    generator = torch.Generator().manual_seed(0)
    shape = (value["heads"], value["length"], value["head_dim"])
    q, k = torch.randn(shape, generator=generator), torch.randn(shape, generator=generator)

    def run():
        for _ in range(value["calls"]):
            placed = (rotated(q), rotated(k)) if value["scheme"] == "rope" else (q, k)
            if value["variant"] == "tuned":
                result = tuned(*placed, value["scheme"], min(ROWS, value["length"]))
            else:
                rows = ROWS if value["variant"] == "chunked" else value["length"]
                result = as_first_written(*placed, value["scheme"], rows)
        return result

    seconds = []
    entropy, _, _, mass = run() if value["length"] <= 2048 or value["repeats"] > 1 else (None,) * 4
    for _ in range(value["repeats"]):
        begin = time.perf_counter()
        entropy, _, _, mass = run()
        seconds.append(time.perf_counter() - begin)
    value.update(seconds=statistics.median(seconds), seconds_min=min(seconds), seconds_max=max(seconds),
                 peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, entropy_mean=float(entropy.mean()),
                 mass_sum=float(mass.sum(-1).mean()), library=f"PyTorch {torch.__version__}")
    print(json.dumps(value))


if __name__ == "__main__":
    main()
