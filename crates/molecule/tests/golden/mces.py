"""Myopic MCES distances of pairs of the quickstart set's molecules by the package myopic-mces: golden values of tests/mces.rs.

usage: mces.py > mces.json    (from this folder; pip install myopic-mces, which brings PuLP's solver CBC)
"""
import csv, json, pathlib, random

from myopic_mces import MCES
from rdkit import Chem, RDLogger
from rdkit.Chem.rdMolDescriptors import CalcMolFormula

RDLogger.DisableLog("rdApp.*")
here = pathlib.Path(__file__).parents[4] / "datasets/quickstart/molecules.tsv"
smiles = [row["smiles"] for row in csv.DictReader(open(here), delimiter="\t")]
chosen = random.Random(39)
sizes = {one: Chem.MolFromSmiles(one).GetNumAtoms() for one in smiles}
by_formula = {}
for one in smiles:
    by_formula.setdefault(CalcMolFormula(Chem.MolFromSmiles(one)), []).append(one)
alike = [own for own in by_formula.values() if len(own) > 1]
pairs = [chosen.sample(chosen.choice(alike), 2) for _ in range(60)]
pairs += [chosen.sample(smiles, 2) for _ in range(40)]
found = []
for a, b in pairs:
    _, distance, _, mode = MCES(a, b, 15, solver="PULP_CBC_CMD", solver_options=dict(msg=0))
    found.append([a, b, distance, mode == 1])
print("[" + ",\n".join(json.dumps(own) for own in found) + "]")
