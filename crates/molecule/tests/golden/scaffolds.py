"""The class of each molecule of datasets/quickstart/molecules.tsv by RDKit's Bemis-Murcko scaffold, in the order of the file.

Charges, radicals and hydrogens of the scaffold are left out, so that a base and its salt are in one class.
"""

import csv
from pathlib import Path

from rdkit import Chem
from rdkit.Chem.Scaffolds import MurckoScaffold

HERE = Path(__file__).parent


def uncharged(smiles):
    """The scaffold of a molecule without charges, radicals, hydrogens and configurations."""
    scaffold = MurckoScaffold.GetScaffoldForMol(Chem.MolFromSmiles(smiles))
    for atom in scaffold.GetAtoms():
        atom.SetFormalCharge(0)
        atom.SetNumRadicalElectrons(0)
        atom.SetNoImplicit(True)
        atom.SetNumExplicitHs(0)
    return Chem.MolToSmiles(scaffold, isomericSmiles=False)


classes = {}
numbers = []
with open(HERE / "../../../../datasets/quickstart/molecules.tsv") as table:
    for row in csv.DictReader(table, delimiter="\t"):
        numbers.append(classes.setdefault(uncharged(row["smiles"]), len(classes)))
(HERE / "scaffolds.txt").write_text(" ".join(map(str, numbers)) + "\n")
print(len(numbers), "molecules,", len(classes), "scaffolds")
