#!/usr/bin/python3
"""The step of `pe-bench train` in PyTorch: the same decoder, batch, loss, clipping and AdamW.

    torch_train.py [scheme=none] [layers=2] [d_model=128] [heads=4] [length=64] [batch=16] [threads=2] [steps=100]

Written as somebody does who has profiled it: one product for q, k and v, masks, biases and angles made once, gradients
dropped instead of zeroed, the optimiser's loops over all tensors at once (`foreach`), the data one tensor from which a
batch is cut by one index. Prints one JSON object.
"""
import json
import math
import resource
import sys
import time

import torch
from torch import nn
from torch.nn import functional

WARM_STEPS = 5


def settings(arguments):
    values = dict(scheme="none", layers="2", d_model="128", heads="4", length="64", batch="16", threads="2", steps="100")
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals or key not in values:
            sys.exit(f"torch_train.py: {argument}: allowed are {', '.join(values)}")
        values[key] = value
    for key in values:
        values[key] = values[key] if key == "scheme" else int(values[key])
    if values["scheme"] not in ("none", "rope", "alibi"):
        sys.exit("torch_train.py: scheme is none, rope or alibi")
    return values


class Layer(nn.Module):
    def __init__(self, value):
        super().__init__()
        d = value["d_model"]
        self.heads, self.head_dim = value["heads"], d // value["heads"]
        self.norm, self.ff_norm = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x, mask, rotation):
        batch, length, d = x.shape
        qkv = self.qkv(self.norm(x)).view(batch, length, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        if rotation is not None:
            cosine, sine = rotation
            q, k = (torch.cat([a * cosine - b * sine, b * cosine + a * sine], -1)
                    for a, b in (q.chunk(2, -1), k.chunk(2, -1)))
        scores = torch.baddbmm(mask, q.reshape(-1, length, self.head_dim),
                               k.reshape(-1, length, self.head_dim).transpose(1, 2), alpha=self.head_dim**-0.5)
        context = torch.softmax(scores, -1) @ v.reshape(-1, length, self.head_dim)
        context = context.view(batch, self.heads, length, self.head_dim).transpose(1, 2).reshape(batch, length, d)
        x = x + self.out(context)
        return x + self.down(functional.gelu(self.up(self.ff_norm(x))))


class Decoder(nn.Module):
    def __init__(self, value):
        super().__init__()
        d, length, heads, batch = value["d_model"], value["length"], value["heads"], value["batch"]
        self.embeddings = nn.Embedding(256, d)
        self.layers = nn.ModuleList(Layer(value) for _ in range(value["layers"]))
        self.norm, self.out = nn.LayerNorm(d), nn.Linear(d, 256)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, 0, 0.02)
        position = torch.arange(length)
        mask = torch.full((length, length), float("-inf")).triu(1).expand(heads, -1, -1)
        if value["scheme"] == "alibi":
            slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads)
            mask = mask - slopes[:, None, None] * (position[:, None] - position[None, :]).clamp_min(0)
        self.mask = mask.repeat(batch, 1, 1).contiguous()
        self.rotation = None
        if value["scheme"] == "rope":
            width = d // heads
            angle = position.double()[:, None] * 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
            self.rotation = torch.cos(angle).float(), torch.sin(angle).float()

    def forward(self, ids):
        x = self.embeddings(ids)
        for layer in self.layers:
            x = layer(x, self.mask, self.rotation)
        return self.out(self.norm(x))


def main():
    value = settings(sys.argv[1:])
    torch.set_num_threads(value["threads"])
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    # What the bytes are does not matter to the clock.
    text = torch.randint(97, 123, (1 << 20,), generator=generator)
    window = torch.arange(value["length"] + 1)[None, :]
    model = Decoder(value)
    optimiser = torch.optim.AdamW(model.parameters(), 2e-3, betas=(0.9, 0.95), weight_decay=0.1, foreach=True)
    seconds = []
    for step in range(value["steps"] + WARM_STEPS):
        begun = time.perf_counter()
        for group in optimiser.param_groups:
            group["lr"] = 2e-3 * min(1, (step + 1) / 50)
        start = torch.randint(0, len(text) - value["length"] - 1, (value["batch"], 1), generator=generator)
        tokens = text[start + window]
        optimiser.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        seconds.append(time.perf_counter() - begun)
    seconds = sorted(seconds[WARM_STEPS:])
    print(json.dumps({**value, "seconds": seconds[len(seconds) // 2], "seconds_min": seconds[0],
                      "seconds_max": seconds[-1], "loss": loss.item(), "library": f"PyTorch {torch.__version__}",
                      "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}, indent=2))


main()
