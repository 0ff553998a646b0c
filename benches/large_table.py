"""A large table of molecules with label sets of few distinct values.

usage: python benches/large_table.py FILE.csv [ROWS [SETS]]

Cuts the quickstart's molecules at the bonds that BRICS breaks (RDKit) and joins two parts at a time to new molecules. A part has
the labels of its functional groups, rings and scaffold, and a molecule has those of both parts. Rows are the molecules
whose label set is one of the most frequent ones: 5,062, or SETS, of which a million rows need 30,000. One row in twenty has the label
set of a different row. The table has the columns id, smiles and groups (labels with `;` between them). It is the same in each run.
"""
import collections
import csv
import random
import sys
from pathlib import Path

from rdkit import Chem, RDLogger
from rdkit.Chem import BRICS, Fragments
from rdkit.Chem.Scaffolds import MurckoScaffold

RDLogger.DisableLog("rdApp.*")
ROOT = Path(__file__).resolve().parent.parent
LABELS, SETS, NOISE = 300, 5062, 0.05
GROUPS = [(name[3:], getattr(Fragments, name)) for name in dir(Fragments) if name.startswith("fr_")]


def parts():
    """Parts of the quickstart's molecules with one open bond: the kind of the bond, SMILES and labels."""
    found = {}
    with open(ROOT / "datasets/quickstart/molecules.tsv", encoding="utf-8") as file:
        smiles = [row["smiles"] for row in csv.DictReader(file, delimiter="\t")]
    for molecule in filter(None, map(Chem.MolFromSmiles, smiles)):
        for atoms, kinds in BRICS.FindBRICSBonds(molecule):
            bond = molecule.GetBondBetweenAtoms(*atoms)
            if bond.IsInRing() or bond.GetBondType() != Chem.BondType.SINGLE:
                continue
            first, second = (int(kind.rstrip("ab")) for kind in kinds)
            cut = Chem.FragmentOnBonds(molecule, [bond.GetIdx()], dummyLabels=[(first, second)])
            for part in Chem.GetMolFrags(cut, asMols=True):
                open_atoms = [atom for atom in part.GetAtoms() if atom.GetAtomicNum() == 0 and atom.GetIsotope()]
                if len(open_atoms) == 1 and 3 <= part.GetNumHeavyAtoms() <= 20:
                    found.setdefault(Chem.MolToSmiles(part), (open_atoms[0].GetIsotope(), part))
    return [(kind, text, labels(part)) for text, (kind, part) in sorted(found.items())]


def labels(part):
    """Functional groups, twice where there are several, rings and scaffold."""
    names = set()
    for name, count in GROUPS:
        number = count(part)
        names.update([name] if number else [], [f"several {name}"] if number > 1 else [])
    for ring in part.GetRingInfo().AtomRings():
        names.add("ring " + Chem.MolFragmentToSmiles(part, ring).replace(";", ""))
    scaffold = Chem.MolToSmiles(MurckoScaffold.GetScaffoldForMol(part), isomericSmiles=False)
    names.update([f"scaffold {scaffold.replace('*', '')}"] if scaffold else [])
    return frozenset(names)


def joined(first, second):
    """Two parts at their open bonds, or none where RDKit refuses the molecule."""
    both = Chem.MolFromSmiles(f"{first}.{second}")
    for atom in both.GetAtoms():
        if atom.GetAtomicNum() == 0 and atom.GetIsotope():
            atom.SetIsotope(0)
            atom.SetAtomMapNum(1)
    molecule = Chem.molzip(both)
    return Chem.MolToSmiles(molecule) if molecule and Chem.SanitizeMol(molecule, catchErrors=True) == 0 else None


def main():
    path, rows = sys.argv[1], int(sys.argv[2] if len(sys.argv) > 2 else 160_000)
    most_sets = int(sys.argv[3]) if len(sys.argv) > 3 else SETS
    draw = random.Random(0)
    environments = BRICS.reverseReactions
    pairs = set()
    for reaction in environments:
        kinds = [atom.GetIsotope() for reactant in reaction.GetReactants() for atom in reactant.GetAtoms() if atom.GetIsotope()]
        pairs.update([tuple(kinds[:2]), tuple(kinds[1::-1])])
    by_kind = collections.defaultdict(list)
    for kind, text, names in parts():
        by_kind[kind].append((text, names))
    kinds = sorted(pair for pair in pairs if by_kind[pair[0]] and by_kind[pair[1]])
    # the parts of common kinds are drawn more often
    weights = [len(by_kind[first]) * len(by_kind[second]) for first, second in kinds]
    frequent = collections.Counter(name for parts in by_kind.values() for _, names in parts for name in names)
    kept = {name for name, _ in sorted(frequent.items(), key=lambda item: (-item[1], item[0]))[:LABELS]}

    def drawn():
        first, second = draw.choices(kinds, weights)[0]
        one, other = draw.choice(by_kind[first]), draw.choice(by_kind[second])
        return one[0], other[0], (one[1] | other[1]) & kept

    sets = collections.Counter(drawn()[2] for _ in range(4 * rows))
    common = {names for names, _ in sorted(sets.items(), key=lambda item: (-item[1], sorted(item[0])))[:most_sets] if names}
    seen, table = set(), []
    while len(table) < rows:
        first, second, names = drawn()
        if names not in common or (first, second) in seen:
            continue
        seen.add((first, second))
        smiles = joined(first, second)
        if smiles and smiles not in seen:
            seen.add(smiles)
            table.append((smiles, names))
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "smiles", "groups"])
        for number, (smiles, names) in enumerate(table):
            names = draw.choice(table)[1] if draw.random() < NOISE else names
            writer.writerow([number + 1, smiles, ";".join(sorted(names))])
    used = {name for _, names in table for name in names}
    print(f"{path}: {rows} rows, {len({names for _, names in table})} label sets of {len(used)} labels")


if __name__ == "__main__":
    main()
