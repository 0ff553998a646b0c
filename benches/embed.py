"""PyTorch peer of benches/embed.rs: token vectors of a BERT-type folder, mean-pooled, for the texts of a table.

usage: python embed.py FOLDER TABLE.tsv [BATCH]

Texts (column `description`, at most 256 tokens) are tokenised first and sorted by length; the time is
that of the model alone, the median of three rounds. Prints one JSON line.
"""
import csv
import json
import resource
import statistics
import sys
import time

import torch
from transformers import AutoModel, AutoTokenizer

folder, table = sys.argv[1:3]
size = int(sys.argv[3]) if len(sys.argv) > 3 else 64
with open(table, encoding="utf-8") as file:
    texts = [row["description"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
ids = sorted((tokenizer(t, truncation=True, max_length=256)["input_ids"] for t in texts), key=len)


@torch.no_grad()
def embed():
    total = 0.0
    for start in range(0, len(ids), size):
        batch = ids[start : start + size]
        length = max(map(len, batch))
        x, mask = torch.zeros(len(batch), length, dtype=torch.long), torch.zeros(len(batch), length)
        for k, row in enumerate(batch):
            x[k, : len(row)], mask[k, : len(row)] = torch.tensor(row), 1
        h = model(input_ids=x, attention_mask=mask).last_hidden_state
        total += float(((h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)).abs().sum())
    return total


times, total = [], 0.0
for _ in range(3):
    start = time.perf_counter()
    total = embed()
    times.append(time.perf_counter() - start)
print(json.dumps({"texts": len(ids), "tokens": sum(map(len, ids)), "embed_s": statistics.median(times),
                  "sum": total, "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}))
