#!/usr/bin/env python3
"""Mean sizes of candidate sets by several scores of conformal prediction, on halves of labelled queries.

    dsokr predict RUN queries.tsv --id id --top 2000 > answers.jsonl     # ids are those of the right outputs
    benches/coverage.py answers.jsonl
"""

import json
import sys

import numpy as np

scores, gold = [], []
for line in open(sys.argv[1], encoding="utf-8"):
    answer = json.loads(line)
    hits = answer["candidates"]
    right = [hit["score"] for hit in hits if answer["id"] in [hit["id"], *hit["duplicates"]]]
    scores.append([hit["score"] for hit in hits])
    # behind all that are listed
    gold.append(right[0] if right else hits[-1]["score"] - 0.05)
width = min(map(len, scores))
s, gold = np.array([row[:width] for row in scores]), np.array(gold)
n, best = len(s), s[:, :1]
place = np.minimum((s > gold[:, None]).sum(1), width - 1)


def level(t, first):
    return best[:, 0] + t * np.log(np.exp((s[:, :first] - best) / t).sum(1))


kinds = {"rank": (np.tile(np.arange(width), (n, 1)), place), "margin to the best": (best - s, best[:, 0] - gold)}
for t in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2):
    own = level(t, 100)
    kinds[f"softmax {t}"] = own[:, None] - s, own - gold
    sums = np.cumsum(np.exp((s - level(t, width)[:, None]) / t), 1)
    kinds[f"cumulated {t}"] = sums, sums[np.arange(n), place]
print(f"{n} queries; mean size and coverage")
for name, (all_, right) in kinds.items():
    row = f"{name:20}"
    for coverage in (0.8, 0.9):
        sizes, held = [], []
        for seed in range(30):
            order = np.random.default_rng(seed).permutation(n)
            own, others = order[: n // 2], order[n // 2 :]
            limit = np.sort(right[own])[int(np.ceil((len(own) + 1) * coverage)) - 1]
            sizes.append((all_[others] <= limit).sum(1).mean())
            held.append((right[others] <= limit).mean())
        row += f"{np.mean(sizes):10.1f}{np.mean(held):7.3f}"
    print(row)
