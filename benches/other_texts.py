"""Texts of other authors: a model of ChEBI-20 answers descriptions that PubChem's contributors wrote.

usage: python benches/other_texts.py RUN [DSOKR] [DATA]

RUN is a trained run on ChEBI-20 whose kernels need no file of features, such as one of configs/chebi20-all.toml; it is copied,
and stays as it is. DATA (DSOKR_DATA, else ../shared/data) holds the folder `pcdes` with molecules.tsv (cid, smiles) and
validation.tsv (cid, description), whose texts and molecules are in no training pair. The copy gets the molecules that it lacks
as further candidates, and each text is ranked among all molecules of the table. Prints JSON: the metrics of the run's own
validation split and of the texts, ties averaged, and whether the confidence holds: the page of `dsokr serve` tells it by the gap
from the first score to the next among all candidates, so for five ranges of gaps with as many validation queries in each, how
often the first candidate is right for those, and for the texts with such a gap.
"""
import csv
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = 5
METRICS = ["mrr", "hits@1", "hits@10", "mean_rank"]


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def dsokr(program, *arguments):
    command = [program, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def missing(run, molecules, known):
    """Writes a table of the molecules that the outputs of the run's data lack."""
    new = [row for row in molecules if row["cid"] not in known]
    path = run / "new.tsv"
    with open(path, "w", encoding="utf-8") as file:
        file.write("cid\tsmiles\n")
        file.writelines(f"{row['cid']}\t{row['smiles']}\n" for row in new)
    return path


def answers(program, run, table, right):
    """The gap behind the first candidate of each query, and whether this is right; by increasing gaps."""
    lines = map(json.loads, dsokr(program, "predict", run, table, "--top", 1, "--id", "cid").splitlines())
    firsts = [(line["id"], line["candidates"][0]) for line in lines]
    return sorted((first["gap"], right(cid, first)) for cid, first in firsts)


def reliability(own, others):
    """How often first candidates are right in ranges of gaps with as many of the run's own queries in each."""
    bounds = [own[part * len(own) // PARTS][0] for part in range(1, PARTS)]
    parts = lambda found: [
        [right for gap, right in found if low <= gap < high]
        for low, high in zip([-math.inf, *bounds], [*bounds, math.inf])
    ]
    share = lambda found: {"queries": len(found), "right": round(sum(found) / max(len(found), 1), 3)}
    return [
        {"gap_below": high, "own": share(one), "other": share(other)}
        for high, one, other in zip([*bounds, None], parts(own), parts(others))
    ]


def main():
    run = Path(sys.argv[1])
    program = os.path.abspath(sys.argv[2] if len(sys.argv) > 2 else ROOT / "target/release/dsokr")
    data = Path(sys.argv[3] if len(sys.argv) > 3 else os.environ.get("DSOKR_DATA", ROOT.parent / "shared/data"))
    texts = data / "pcdes/validation.tsv"
    molecules = rows(data / "pcdes/molecules.tsv")
    known = {row["cid"] for row in rows(data / "chebi20/molecules.tsv")}
    right = lambda cid, first: cid == first["id"] or cid in first["duplicates"]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        copy = folder / "run"
        shutil.copytree(run, copy)
        dsokr(program, "candidates", "add", copy, missing(folder, molecules, known))
        ids = [row["cid"] for row in molecules]
        lists = folder / "lists.jsonl"
        with open(lists, "w", encoding="utf-8") as file:
            for row in rows(texts):
                file.write(json.dumps({"query": row["cid"], "candidates": ids}) + "\n")
        among = ["--queries", texts, "--candidates", lists]
        found = {
            "own": json.loads(dsokr(program, "evaluate", run, "--json")),
            "other": json.loads(dsokr(program, "evaluate", copy, *among, "--json")),
        }
        own = answers(program, run, data / "chebi20/val.tsv", right)
        others = answers(program, copy, texts, right)
    metrics = {name: {key: metrics[key] for key in METRICS} for name, metrics in found.items()}
    print(json.dumps({**metrics, "confidence": reliability(own, others)}, indent=2))


main()
