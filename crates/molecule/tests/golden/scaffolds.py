"""The class of each molecule of datasets/quickstart/molecules.tsv by RDKit's Bemis-Murcko scaffold, in the order of the file."""

import csv
from pathlib import Path

from rdkit.Chem.Scaffolds import MurckoScaffold

HERE = Path(__file__).parent
classes = {}
numbers = []
with open(HERE / "../../../../datasets/quickstart/molecules.tsv") as table:
    for row in csv.DictReader(table, delimiter="\t"):
        scaffold = MurckoScaffold.MurckoScaffoldSmiles(row["smiles"])
        numbers.append(classes.setdefault(scaffold, len(classes)))
(HERE / "scaffolds.txt").write_text(" ".join(map(str, numbers)) + "\n")
print(len(numbers), "molecules,", len(classes), "scaffolds")
