"""Parts of ions within a tolerance of a mass, from all combinations of counts in NumPy: golden values of tests/suite/subformulas.rs.

Masses are those of RDKit. usage: subformulas.py > subformulas.json
"""
import itertools, json, re

import numpy as np
from rdkit import Chem

ELECTRON = 5.48579909065e-4
table = Chem.GetPeriodicTable()
cases = []
for molecule, adduct, added, sign in [
    ("C9H8O4", "[M+H]+", {"H": 1}, 1),
    ("C17H21NO4", "[M+H]+", {"H": 1}, 1),
    ("C10H16N5O13P3", "[M-H]-", {"H": -1}, -1),
    ("C6H12O6", "[M+Na]+", {"Na": 1}, 1),
    ("C12H15ClN2O2S", "[M+H-H2O]+", {"H": -1, "O": -1}, 1),
    ("C5H11NO2", "[2M+K]+", {"K": 1, "C": 5, "H": 11, "N": 1, "O": 2}, 1),
    ("C20H25BrN2O3", "[M+NH4]+", {"N": 1, "H": 4}, 1),
]:
    atoms = {symbol: int(count or 1) for symbol, count in re.findall("([A-Z][a-z]?)(\\d*)", molecule)}
    for symbol, count in added.items():
        atoms[symbol] = atoms.get(symbol, 0) + count
    symbols = sorted(atoms)
    mass = np.array([table.GetMostCommonIsotopeMass(symbol) for symbol in symbols])
    counts = np.array(list(itertools.product(*[range(atoms[symbol] + 1) for symbol in symbols])))
    mz = counts @ mass - sign * ELECTRON
    random = np.random.default_rng(len(cases))
    peaks = []
    for target in np.concatenate([random.choice(mz[mz > 20], 6) * (1 + random.normal(0, 4e-6, 6)), random.uniform(30, mz.max(), 3)]):
        for ppm in (5, 50):
            target = round(float(target), 5)
            found = np.flatnonzero(np.abs(mz - target) <= target * ppm * 1e-6)
            # no case that the last digits of masses decide
            if (np.abs(np.abs(mz - target) - target * ppm * 1e-6) < 5e-6).any():
                continue
            parts = sorted("".join(f"{s}{c}" for s, c in zip(symbols, counts[at]) if c) for at in found)
            peaks.append([target, ppm, parts])
    cases.append({"molecule": molecule, "adduct": adduct, "parts": len(counts), "peaks": peaks})
print(json.dumps(cases))
