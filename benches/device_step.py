"""The steps of device_step.rs in PyTorch.

usage: device_step.py LAYERS WIDTH HEADS FEED_FORWARD BATCH LENGTH [f32|tf32|bf16 [cpu|cuda]] [eager|compile|graphs] [ragged]

An encoder as BERT with the attention kernel that PyTorch chooses, mean pooling, a head onto 300 coordinates; square loss,
clipping, fused AdamW. Batches are on the device from the start; with `ragged` they hold texts of similar length, padded to a
multiple of eight. An epoch has ten batches. Epochs warm up until every shape is compiled, then five are timed. Prints one
JSON line; padding is not counted. `graphs` is torch.compile with CUDA graphs.
"""
import json
import resource
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

modes = {"eager": None, "compile": "default", "graphs": "reduce-overhead"}
mode = next((a for a in sys.argv[7:] if a in modes), "eager")
flags = [a for a in sys.argv[7:] if a not in (*modes, "ragged")]
layers, d, heads, ff, batch, length = map(int, sys.argv[1:7])
precision = flags[0] if flags else "f32"
device = flags[1] if len(flags) > 1 else "cuda" if torch.cuda.is_available() else "cpu"
ragged, STEPS = "ragged" in sys.argv, 10
torch.set_float32_matmul_precision("highest" if precision == "f32" else "high")
torch.manual_seed(0)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.up, self.down = (nn.Linear(*s) for s in ((d, 3 * d), (d, d), (d, ff), (ff, d)))
        self.norm1, self.norm2 = nn.LayerNorm(d, 1e-12), nn.LayerNorm(d, 1e-12)

    def forward(self, x, mask):
        q, k, v = self.qkv(x).unflatten(2, (3, heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=0.1)
        x = self.norm1(x + F.dropout(self.out(y.transpose(1, 2).flatten(2)), 0.1))
        return self.norm2(x + F.dropout(self.down(F.gelu(self.up(x))), 0.1))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions, self.head = nn.Embedding(30522, d), nn.Embedding(length, d), nn.Linear(d, 300)
        self.norm, self.layers = nn.LayerNorm(d, 1e-12), nn.ModuleList(Layer() for _ in range(layers))

    def forward(self, ids, real):
        x = F.dropout(self.norm(self.tokens(ids) + self.positions.weight[: ids.shape[1]]), 0.1)
        for layer in self.layers:
            x = layer(x, None if real is None else real[:, None, None])
        return self.head(x.mean(1) if real is None else (x * real[..., None]).sum(1) / real.sum(1)[:, None])


lengths = torch.randint((length + 1) // 2, length + 1, (STEPS * batch,)) if ragged else torch.full((STEPS * batch,), length)
batches = []
for own in lengths.sort().values.split(batch):
    longest = min(length, (int(own.max()) + 7) // 8 * 8)
    ids, real, y = torch.randint(30522, (batch, longest)), torch.arange(longest) < own[:, None], torch.rand(batch, 300) - 0.5
    batches.append((ids.to(device), real.to(device) if ragged else None, y.to(device)))
model = Encoder().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)


def loss_of(ids, real, y):
    with torch.autocast(device, torch.bfloat16, enabled=precision == "bf16"):
        return (model(ids, real).float() - y).square().sum() / batch


run = torch.compile(loss_of, mode=modes[mode]) if modes[mode] else loss_of
times = []
for epoch in range(6 if mode == "eager" else 8):
    start = time.perf_counter()
    for i in torch.randperm(STEPS).tolist():
        loss = run(*batches[i])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    last = loss.item()  # waits for the device
    times.append(time.perf_counter() - start)
took = statistics.median(times[-5:])
print(json.dumps({
    "peer": f"torch {torch.__version__}", "mode": mode, "device": device, "precision": precision,
    "sizes": " ".join(sys.argv[1:7]), "ragged": ragged, "parameters": sum(p.numel() for p in model.parameters()),
    "tokens_per_s": round(lengths.sum().item() / took), "step_ms": 1e3 * took / STEPS, "loss": last,
    "peak_mib": torch.cuda.max_memory_allocated() >> 20, "device_mib": torch.cuda.max_memory_reserved() >> 20,
    "host_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}))
