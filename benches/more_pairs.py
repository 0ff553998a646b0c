"""Time, memory and validation MRR of configs/chebi20-all.toml on more pairs than there are, perturbed copies of its own.

usage: more_pairs.py DSOKR COUNT [SECTION.KEY=VALUE …]    (data: DSOKR_DATA, default ../shared/data)

Writes COUNT pairs to a temporary folder: those of train.tsv and more.tsv, then copies of them one after another, of whose
words a tenth is left out. Trains on them with the settings given, and prints the metrics of the validation split, seconds and
the largest memory of the process. From the project's root.
"""
import os, pathlib, random, sys, tempfile
from measured import train

root = pathlib.Path(os.environ.get("DSOKR_DATA", "../shared/data")).resolve()
dsokr, count, settings = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
random.seed(1)
pairs = []
for name in ("train.tsv", "more.tsv"):
    lines = (root / "chebi20" / name).read_text().splitlines()[1:]
    pairs += [line.split("\t")[:2] for line in lines]
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    (folder / "chebi20").mkdir()
    for file in (root / "chebi20").iterdir():
        if file.name not in ("train.tsv", "more.tsv"):
            (folder / "chebi20" / file.name).symlink_to(file)
    with open(folder / "chebi20" / "train.tsv", "w") as file:
        file.write("cid\tdescription\n")
        for at in range(count):
            cid, text = pairs[at % len(pairs)]
            if at >= len(pairs):
                text = " ".join(word for word in text.split(" ") if random.random() >= 0.1)
            file.write(f"{cid}\t{text}\n")
    settings = [part for setting in ['data.train=["train.tsv"]', *settings] for part in ("--set", setting)]
    found, took = train(dsokr, "configs/chebi20-all.toml", folder / "run", "--json", *settings, DSOKR_DATA=str(folder))
    print(f"{count} pairs {' '.join(sys.argv[3:])}: {took}")
    print(found)
