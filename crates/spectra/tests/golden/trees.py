"""Kernels of drawn fragmentation trees and of subformulas in NumPy, straight from their definitions: golden values of tests/suite/trees.rs.

Trees are written as SIRIUS writes them: with ids, with formulas (old versions), and as its programming interface does. Masses are
those of NIST. usage: trees.py > trees.json
"""
import itertools, json

import numpy as np

MASS = {"C": 12.0, "H": 1.00782503223, "N": 14.00307400443, "O": 15.99491461957}
ELECTRON = 5.48579909e-4
LOSSES = [{"H": 2, "O": 1}, {"C": 1, "O": 1}, {"N": 1, "H": 3}, {"C": 1, "O": 2}, {"C": 2, "H": 4}, {"C": 1, "H": 1, "N": 1}]
random = np.random.default_rng(39)


def hill(atoms):
    order = sorted((s for s in atoms if atoms[s]), key=lambda s: ("C" in atoms and atoms["C"] > 0 and {"C": 0, "H": 1}.get(s, 2), s))
    return "".join(s + (str(atoms[s]) if atoms[s] > 1 else "") for s in order)


def minus(a, b):
    return {s: a[s] - b.get(s, 0) for s in a}


def draw(count):
    """Nodes (atoms, intensity, parent), of distinct formulas."""
    nodes = [({"C": int(random.integers(10, 12)), "H": 14, "N": 2, "O": 3}, 0.25, None)]
    while len(nodes) < count:
        parent = int(random.integers(len(nodes)))
        atoms = minus(nodes[parent][0], LOSSES[random.integers(len(LOSSES))])
        if min(atoms.values()) >= 0 and all(atoms != own for own, *_ in nodes):
            nodes.append((atoms, round(float(random.uniform(0.05, 1)), 3), parent))
    return nodes


def mz(atoms):
    return sum(count * MASS[s] for s, count in atoms.items()) + MASS["H"] - ELECTRON


def features(nodes, of, power):
    row, atoms = {}, [node[0] for node in nodes]
    for own, intensity, parent in nodes:
        if of == "fragments":
            names = [hill(own)]
        elif of == "losses":
            names = [] if parent is None else [hill(minus(atoms[parent], own))]
        elif of == "root-losses":
            names = [] if parent is None else [hill(minus(atoms[0], own))]
        else:
            names, path, child = [], [], own
            while parent is not None:
                path.insert(0, hill(minus(atoms[parent], child)))
                names.append(">".join(path))
                child, parent = atoms[parent], nodes[parent][2]
        for name in names:
            row[name] = row.get(name, 0) + intensity**power
    return row


def subformulas(nodes, of, ppm, power):
    """All combinations of counts of the ion's atoms, compared with each peak."""
    row, ion = {}, {**nodes[0][0], "H": nodes[0][0]["H"] + 1}
    symbols = sorted(ion)
    counts = np.array(list(itertools.product(*[range(ion[s] + 1) for s in symbols])))
    all_mz = counts @ np.array([MASS[s] for s in symbols]) - ELECTRON
    for peak, intensity in peaks(nodes):
        for at in np.flatnonzero(np.abs(all_mz - peak) <= peak * ppm * 1e-6):
            atoms = dict(zip(symbols, counts[at].tolist()))
            name = hill(atoms if of == "subformulas" else minus(ion, atoms))
            row[name] = row.get(name, 0) + intensity**power
    return row


def peaks(nodes):
    return sorted((round(mz(atoms) * (1 + 1e-6), 4), intensity) for atoms, intensity, _ in nodes)


def cosines(rows):
    common = [k for k in set().union(*rows) if sum(k in row for row in rows) >= 2]
    dense = np.array([[row.get(k, 0.0) for k in common] for row in rows])
    gram = dense @ dense.T
    length = np.sqrt(np.diag(gram))
    return (gram / np.outer(length, length)).tolist()


def exported(nodes, form):
    """The JSON of SIRIUS. The order of its fragments is not that of the tree."""
    order = [0] + random.permutation(range(1, len(nodes))).tolist()
    names = [hill(atoms) for atoms, *_ in nodes]
    if form == "interface":
        fragments = [{"fragmentId": at, "molecularFormula": names[at], "adduct": "[M + H]+", "intensity": nodes[at][1]} for at in order]
        losses = [{"sourceFragmentIdx": p, "targetFragmentIdx": at, "molecularFormula": "x"} for at, (_, _, p) in enumerate(nodes) if p is not None]
        return {"fragments": fragments, "losses": losses, "treeScore": 1.0}
    called = (lambda at: at) if form == "ids" else (lambda at: names[at])
    fragments = [
        {**({"id": at, "ion": "[M + H]+"} if form == "ids" else {}), "molecularFormula": names[at], "relativeIntensity": nodes[at][1], "score": "NaN"}
        for at in order
    ]
    losses = [{"source": called(p), "target": called(at), "molecularFormula": "x"} for at, (_, _, p) in enumerate(nodes) if p is not None]
    return {"molecularFormula": names[0], "root": called(0), "annotations": {}, "fragments": fragments, "losses": losses}


trees = [draw(15) for _ in range(6)]
text = lambda nodes: "/".join(("" if p is None else f"{p}>") + f"{hill(atoms)}:{i}" for atoms, i, p in nodes)
line = lambda nodes: " ".join([f"{mz(nodes[0][0]):.4f} formula={hill(nodes[0][0])} tree={text(nodes)}"] + [f"{m}:{i}" for m, i in peaks(nodes)])
print(json.dumps({
    "spectra": [line(nodes) for nodes in trees],
    "files": [exported(nodes, form) for nodes, form in zip(trees, ["ids", "formulas", "interface"] * 2)],
    **{f"tree-{of}": [[power, cosines([features(nodes, of, power) for nodes in trees])] for power in (0.0, 0.5)]
       for of in ("fragments", "losses", "root-losses", "paths")},
    **{of: [[power, cosines([subformulas(nodes, of, 10, power) for nodes in trees])] for power in (0.0, 0.5)]
       for of in ("subformulas", "subformula-losses")},
}))
