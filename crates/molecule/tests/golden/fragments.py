"""Parts of molecules by at most two cuts, by removing every set of at most four bonds: golden values of tests/fragments.rs.

usage: fragments.py > fragments.json    (from this folder; pip install rdkit networkx)

A set of bonds is two cuts at most if its bridges, and half the bonds in each biconnected component, rounded up, are two at
most. For each molecule: the connected components without some such set, as sums of 2^atom.
"""
import itertools, json, math

import networkx as nx
from rdkit import Chem

MOLECULES = [
    "C", "CCO", "CC(C)(C)O", "C1CC1", "C1CC1CO", "Oc1ccccc1", "CC(=O)Oc1ccccc1C(=O)O", "C1CCCCC1CC1CC1",
    "c1ccc2ccccc2c1", "c1ccc2cc3ccccc3cc2c1", "C1CC2CCC1C2", "C1CC2(C1)CC2", "C12C3C4C1C5C2C3C45", "C1CC23CC1(C2)C3",
    "CCN.OCl", "[Na+].CC(=O)[O-]", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C", "C1CC2CCC3CCCC4CCC(C1)C2C34", "O=C1OCCCCC1C1CC1",
    "C1CC1C1CC1", "C12C3C1C23", "N#CCC(=O)NC1CC1",
]


def cuts(bonds, blocks):
    """The number of cuts that break the bonds."""
    inside = [sum(bond in block for bond in bonds) for block in blocks]
    return sum(math.ceil(broken / 2) if len(block) > 1 else broken for broken, block in zip(inside, blocks))


def parts(smiles):
    molecule = Chem.MolFromSmiles(smiles)
    graph = nx.Graph()
    graph.add_nodes_from(range(molecule.GetNumAtoms()))
    bonds = [tuple(sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))) for bond in molecule.GetBonds()]
    graph.add_edges_from(bonds)
    blocks = [{tuple(sorted(edge)) for edge in block} for block in nx.biconnected_component_edges(graph)]
    found = set()
    for count in range(5):
        for broken in itertools.combinations(bonds, count):
            if cuts(broken, blocks) <= 2:
                rest = graph.copy()
                rest.remove_edges_from(broken)
                found.update(sum(1 << atom for atom in part) for part in nx.connected_components(rest))
    return sorted(found)


print("{" + ",\n".join(json.dumps(smiles) + ": " + json.dumps(parts(smiles)) for smiles in MOLECULES) + "}")
