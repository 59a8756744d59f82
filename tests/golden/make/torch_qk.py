#!/usr/bin/env python3
"""Makes tests/golden/data/torch_qk.h5 and torch_{q,k,v}.npy: queries, keys and values dumped from a small PyTorch
decoder by forward hooks, before positions are applied, and the attention weights that PyTorch computes from them.

    python3 torch_qk.py ../data          (PyTorch 1.13, numpy, h5py; as in Debian 12: python3-torch, python3-h5py)

Two layers, 4 query heads on 2 key heads (grouped), head_dim 16, 40 tokens, float32, causal. Rotary positions are the
half-split form and ALiBi's slopes those of 4 heads, written out here in PyTorch. Layer 1 reads what layer 0 made of the
scheme, so every scheme has its own q, k and v.
"""
import math
import sys

import h5py
import numpy as np
import torch

TOKENS, LAYERS, HEADS, KV_HEADS, WIDTH = 40, 2, 4, 2, 16
D_MODEL = HEADS * WIDTH


def rotate(x):
    """x [head, token, width]: pairs (i, i + width / 2) turned by position * 10000^(-2i / width)."""
    half = WIDTH // 2
    angle = torch.arange(TOKENS).float()[:, None] * 10000.0 ** (-torch.arange(half).float() / half)
    cos, sin = angle.cos(), angle.sin()
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def alibi():
    """[head, query, key]: -slope * distance, slopes 2^-2, 2^-4, 2^-6, 2^-8."""
    slopes = 2.0 ** (-2 * (torch.arange(HEADS).float() + 1))
    position = torch.arange(TOKENS).float()
    return -slopes[:, None, None] * (position[:, None] - position[None, :]).abs()


class Attention(torch.nn.Module):
    def __init__(self, scheme):
        super().__init__()
        self.scheme = scheme
        self.q_proj = torch.nn.Linear(D_MODEL, HEADS * WIDTH)
        self.k_proj = torch.nn.Linear(D_MODEL, KV_HEADS * WIDTH)
        self.v_proj = torch.nn.Linear(D_MODEL, KV_HEADS * WIDTH)
        self.o_proj = torch.nn.Linear(HEADS * WIDTH, D_MODEL)

    def forward(self, x):
        q, k, v = (heads_first(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))
        if self.scheme == "rope":
            q, k = rotate(q), rotate(k)
        group = HEADS // KV_HEADS
        k, v = k.repeat_interleave(group, 0), v.repeat_interleave(group, 0)
        scores = q @ k.transpose(1, 2) / math.sqrt(WIDTH)
        if self.scheme == "alibi":
            scores = scores + alibi()
        hidden = torch.ones(TOKENS, TOKENS, dtype=torch.bool).triu(1)
        self.weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
        return self.o_proj((self.weights @ v).transpose(0, 1).reshape(TOKENS, -1))


class Decoder(torch.nn.Module):
    def __init__(self, scheme):
        super().__init__()
        self.embedding = torch.nn.Embedding(100, D_MODEL)
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(D_MODEL) for _ in range(LAYERS))
        self.layers = torch.nn.ModuleList(Attention(scheme) for _ in range(LAYERS))

    def forward(self, ids):
        x = self.embedding(ids)
        for norm, layer in zip(self.norms, self.layers):
            x = x + layer(norm(x) * 2)
        return x


def heads_first(rows):
    return rows.view(TOKENS, -1, WIDTH).transpose(0, 1)


def dump(scheme):
    torch.manual_seed(11)
    model = Decoder(scheme)
    dumped = {"q": [], "k": [], "v": []}
    for layer in model.layers:
        for name in dumped:
            getattr(layer, name + "_proj").register_forward_hook(
                lambda module, inputs, output, name=name: dumped[name].append(heads_first(output).numpy()))
    with torch.no_grad():
        model(torch.arange(TOKENS) * 7 % 100)
    tensors = {name: np.stack(layers) for name, layers in dumped.items()}
    weights = np.stack([layer.weights.numpy() for layer in model.layers])
    return tensors, weights


def main(folder):
    with h5py.File(f"{folder}/torch_qk.h5", "w", libver="earliest") as file:
        file.attrs["doc"] = np.bytes_(
            "q [layer, head, token, width], k and v [layer, key head, token, width] dumped from a small PyTorch decoder "
            "before positions are applied; out_weights [layer, head, query, key] its causal attention weights")
        for scheme in ("none", "rope", "alibi"):
            tensors, weights = dump(scheme)
            group = file.create_group(scheme)
            group.attrs["source"] = np.bytes_(f"make/torch_qk.py, PyTorch {torch.__version__}, float32")
            for name, tensor in tensors.items():
                group["in_" + name] = tensor
                if scheme == "none":
                    np.save(f"{folder}/torch_{name}.npy", tensor)
            group["out_weights"] = weights


main(sys.argv[1])
