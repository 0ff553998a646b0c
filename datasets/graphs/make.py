"""Writes this data set: small graphs with coloured nodes, and a sentence that describes each.

Everything is drawn from one seed, so that the files are always the same: python3 make.py
"""

import json
import random
from pathlib import Path

COLOURS = ["red", "blue", "green"]
NUMBERS = {3: "three", 4: "four", 5: "five", 6: "six", 7: "seven"}
SHAPES = ["ring", "path", "star", "fan"]
SPLITS = {"train": 240, "validation": 40, "test": 40}


def shape(kind, size):
    """Edges of a shape on the nodes 0 to size - 1."""
    path = [[i, i + 1, 0] for i in range(size - 1)]
    spokes = [[0, i, 0] for i in range(1, size)]
    return {
        "ring": path + [[0, size - 1, 0]],
        "path": path,
        "star": spokes,
        "fan": spokes + [[i, i + 1, 0] for i in range(1, size - 1)],
    }[kind]


def draw(random):
    """A graph and its description."""
    kind, size = random.choice(SHAPES), random.choice(list(NUMBERS))
    colour, other = random.sample(COLOURS, 2)
    nodes, edges = [colour] * size, shape(kind, size)
    text = f"a {kind} of {NUMBERS[size]} {colour} nodes"
    tails = random.randrange(3)
    for tail in range(tails):
        at, length = random.randrange(size), random.randrange(1, 4)
        bond = random.randrange(1, 3)
        for _ in range(length):
            edges.append([at, len(nodes), bond])
            at = len(nodes)
            nodes.append(other)
        strength = ["weak", "strong"][bond - 1]
        more = "another" if tail else "a"
        text += f", with {more} {strength} tail of length {length} in {other}"
    return {"nodes": nodes, "edges": edges}, text


def main():
    here, generator = Path(__file__).parent, random.Random(15)
    seen, graphs, rows = set(), [], []
    while len(graphs) < sum(SPLITS.values()):
        graph, text = draw(generator)
        if text not in seen:
            seen.add(text)
            name = f"g{len(graphs) + 1}"
            graphs.append(json.dumps({"id": name, **graph}))
            rows.append(f"{name}\t{text}")
    (here / "graphs.jsonl").write_text("\n".join(graphs) + "\n")
    start = 0
    for split, count in SPLITS.items():
        table = ["id\tdescription", *rows[start : start + count]]
        (here / f"{split}.tsv").write_text("\n".join(table) + "\n")
        start += count


main()
