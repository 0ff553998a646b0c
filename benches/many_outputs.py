"""Rows of numbers that are inputs, outputs and candidates at once, to measure what ranks hold of them.

usage: python benches/many_outputs.py FOLDER [CANDIDATES [PAIRS [COLUMNS]]]

Writes into the folder a table, rows.csv, with the columns id and name, a matrix of its rows, rows.safetensors, and two
configurations: a kernel machine, machine.toml, and a neural encoder, mlp.toml. By default these are 1,000,000 candidates, of which
160,000 are paired with an input, of 300 columns: 1.2 GB. It is the same in each run. Then, with a build with the feature mpi:

    python benches/ranks.py target/release/dsokr FOLDER/machine.toml
"""
import array
import json
import random
import struct
import sys
from pathlib import Path

# Rows that are drawn; the others have their numbers in another order.
DRAWN = 4096

DATA = """[data]
source = "pool"
folder = "./"
file = "rows.csv"
inputs = {{ kind = "features", table = "rows.csv", file = "rows.safetensors" }}
splits = {{ train = {pairs}, validation = 100, test = 100, unpaired = true }}

[output]
label = "name"
features = {{ kind = "file", file = "rows.safetensors" }}
kernel = {{ name = "linear" }}

[sketch]
size = {columns}

[evaluation]
split = "test"

"""

MACHINE = """[encoder]
kind = "kernel-machine"
inputs = { kind = "vectors" }
kernel = { name = "linear" }
solver = { name = "sketched", sketch = { size = 500 } }
lambda = 1e-4
"""

MLP = """[encoder]
kind = "mlp"
hidden = [64]

[training]
epochs = 1
batch = 1024
"""


def rows(count, columns):
    """The numbers of each row: one that was drawn, and behind the last of them the same again, begun a column later."""
    generator = random.Random(0)
    drawn = [array.array("f", (generator.gauss(0, 1) for _ in range(columns))) for _ in range(min(DRAWN, count))]
    for row in range(count):
        numbers = drawn[row % DRAWN]
        start = row // DRAWN % columns
        yield numbers[start:] + numbers[:start]


def main(folder, candidates=1_000_000, pairs=160_000, columns=300):
    if candidates > DRAWN * columns or pairs + 200 > candidates:
        sys.exit(f"at most {DRAWN * columns} candidates, and 200 more than pairs")
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "rows.csv", "w", encoding="ascii") as table:
        table.write("id,name\n")
        table.writelines(f"{row},the row {row} of all\n" for row in range(candidates))
    tensor = {"dtype": "F32", "shape": [candidates, columns], "data_offsets": [0, 4 * candidates * columns]}
    header = json.dumps({"rows": tensor}).encode()
    header += b" " * (-len(header) % 8)
    with open(folder / "rows.safetensors", "wb") as matrix:
        matrix.write(struct.pack("<Q", len(header)) + header)
        for numbers in rows(candidates, columns):
            matrix.write(numbers.tobytes())
    data = DATA.format(pairs=pairs, columns=columns)
    for name, encoder in [("machine", MACHINE), ("mlp", MLP)]:
        (folder / f"{name}.toml").write_text(data + encoder, encoding="ascii")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
