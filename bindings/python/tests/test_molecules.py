"""Molecules and graphs."""

import numpy as np
import pytest

import dsokr
from dsokr import graphs, molecules

SMILES = ["CCO", "OCC", "c1ccccc1", "c1ccncc1", "CC(=O)Oc1ccccc1C(=O)O"]


def test_morgan():
    rows = molecules.features(SMILES, kind="morgan", radius=2)
    assert rows.kind == "sparse" and rows.shape == (5, 2048)
    counts = rows.toarray()
    assert np.array_equal(counts[0], counts[1]) and counts[0].sum() == 6
    bits = molecules.features(SMILES, bits=True, width=512)
    assert bits.kind == "bit" and bits.shape == (5, 512)
    assert bits.toarray()[0].sum() == 6


@pytest.mark.parametrize("kind", ["configurations", "chains", "rings", "components", "composition"])
def test_other_kinds(kind):
    assert len(molecules.features(SMILES, kind)) == 5


def test_morgan_is_that_of_rdkit():
    pytest.importorskip("rdkit")
    from rdkit import Chem
    from rdkit.Chem import rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    expected = [generator.GetFingerprintAsNumPy(Chem.MolFromSmiles(smiles)) for smiles in SMILES]
    assert np.array_equal(molecules.features(SMILES, bits=True).toarray(), expected)


def test_canonical_and_drawing():
    one, same, *_ = molecules.canonical(SMILES)
    assert one == same
    assert molecules.svg("c1ccccc1").startswith("<svg")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: molecules.features(["CCO", "C1CC"]), 'smiles: "C1CC" at 1: position'),
        (lambda: molecules.features("CCO"), "smiles: str"),
        (lambda: molecules.features(["CCO", 3]), "smiles: int at 1"),
        (lambda: molecules.features(["CCO", None]), "smiles: None, a missing value, at 1"),
        (lambda: molecules.canonical(["CCO", "C\udc80"]), "smiles: the text at 1 holds .*, a surrogate"),
        (lambda: molecules.features(["CCO"], "morgana"), "kind: .*morgana"),
        (lambda: molecules.features(["CCO"], radios=2), "kind: .*radios"),
        (lambda: molecules.features(["CCO"], width=0), "width"),
        (lambda: molecules.features(["CCO"], width=-1), "kind: "),
        (lambda: molecules.features(["CCO"], width=2**40), "width|columns"),
        (lambda: molecules.features(["CCO"], "rings", bits=True), "bits: True"),
        (lambda: molecules.features(["CCO"], 3), "kind: int"),
        (lambda: molecules.features([], "graph", kernel={"name": "core"}), "0 graphs"),
        (lambda: molecules.svg("C(("), 'smiles: "C\\(\\(" at 0'),
        (lambda: molecules.svg(None), "smiles: None, a missing value, at 0"),
        (lambda: molecules.features(["C" * 1_000_000]), "smiles: "),
        (lambda: molecules.features(["(" * 100_000]), "smiles: "),
        (lambda: molecules.features(["\0"]), "smiles: "),
    ],
)
def test_wrong_molecules(call, message):
    with pytest.raises(dsokr.ConfigError, match=message):
        call()


def histogram(labels):
    values, counts = np.unique(labels, return_counts=True)
    return dict(zip(values, counts))


def refined(labels, edges, rounds):
    """The Weisfeiler-Lehman subtree kernel as a dictionary of counts, by nested tuples."""
    names = list(labels)
    found = [("0", name) for name in names]
    for level in range(rounds):
        around = [[] for _ in names]
        for a, b, _ in edges:
            around[a].append(names[b])
            around[b].append(names[a])
        names = [repr((name, sorted(own, key=repr))) for name, own in zip(names, around)]
        found += [(str(level + 1), name) for name in names]
    return found


def test_weisfeiler_lehman_is_that_of_the_definition():
    built = molecules.graphs(SMILES)
    kernel = graphs.GraphKernel({"name": "weisfeiler-lehman", "iterations": 3})
    rows = kernel.fit_transform(built)
    found = dsokr.kernel_matrix(rows, kernel="linear")
    features = [refined(graph.labels, graph.edges, 3) for graph in built]
    for i, one in enumerate(features):
        for j, other in enumerate(features):
            assert found[i, j] == sum(one.count(feature) * other.count(feature) for feature in set(one))
    assert np.array_equal(kernel.transform(built).toarray(), rows.toarray())
    same = molecules.features(SMILES, "graph", kernel={"name": "weisfeiler-lehman", "iterations": 3})
    assert np.array_equal(same.toarray(), rows.toarray())


@pytest.mark.parametrize("name", ["vertex-histogram", "shortest-path", "core", "nspd"])
def test_kernels(name):
    rows = graphs.GraphKernel(name).fit_transform(molecules.graphs(SMILES))
    gram = dsokr.kernel_matrix(rows)
    np.testing.assert_allclose(np.diag(gram), 1, rtol=1e-6)
    assert gram[0, 1] == pytest.approx(1) and gram[0, 2] < 0.9


def test_edit_distances():
    benzene, pyridine, ethanol = molecules.graphs(["c1ccccc1", "c1ccncc1", "CCO"])
    found = graphs.edit_distance(benzene, pyridine)
    assert found.exact == 1 and sorted(found.mapping) == list(range(6))
    assert graphs.edit_distance(benzene, benzene).exact == 0
    # 3 nodes and 4 edges are deleted, one label of a node and two of edges change
    assert [found.exact for found in graphs.edit_distances([(benzene, pyridine), (ethanol, ethanol)])] == [1, 0]
    bounded = graphs.edit_distance(*molecules.graphs(["CC(=O)Oc1ccccc1C(=O)O", "CN1C=NC2=C1C(=O)N(C(=O)N2C)C"]), max_states=1)
    assert bounded.lower < bounded.upper and bounded.exact is None
    assert graphs.edit_distance(benzene, pyridine, max_seconds=5).exact == 1


def test_networkx():
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_nodes_from([("a", {"label": "C"}), ("b", {"label": "O"}), ("c", {})])
    graph.add_edge("b", "a", label=2)
    graph.add_edge("b", "c")
    converted = graphs.from_networkx(graph)
    assert converted.edges == [(0, 1, 2), (1, 2, 0)] and converted.labels[2] == 0
    other = graph.copy()
    other.nodes["c"]["label"] = "N"
    assert graphs.edit_distance(graph, other).exact == 1
    assert graphs.GraphKernel("vertex-histogram").fit_transform([graph, other]).shape == (2, 5)
    distance = networkx.graph_edit_distance(
        graph, other, node_match=lambda a, b: a.get("label") == b.get("label"), edge_match=lambda a, b: a == b
    )
    assert distance == 1


class Made:
    """NetworkX-like."""

    def __init__(self, nodes, edges):
        self.made = nodes, edges

    def nodes(self, data):
        return self.made[0]

    def edges(self, data):
        return self.made[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: graphs.Graph([1, 1], [(0, 2, 1)]), "edge 0 leads to node 2"),
        (lambda: graphs.Graph([1, 1], [(0, 0, 1)]), "joins node 0 to itself"),
        (lambda: graphs.Graph([1, 1], [(0, 1, 1), (1, 0, 2)]), "second time"),
        (lambda: graphs.edit_distance(3, 4), "graph: int"),
        (lambda: graphs.edit_distances([3]), r"pairs\[0\]: int"),
        (lambda: graphs.from_networkx(Made([("a", {"label": -1})], [])), "label of node 'a': -1"),
        (lambda: graphs.from_networkx(Made([("a", {"label": 1.5})], [])), "label of node 'a': 1.5"),
        (lambda: graphs.from_networkx(Made([("a", {}), ("b", {})], [("a", "b", {"label": None})])), "label of edge"),
        (lambda: graphs.GraphKernel("wl").fit_transform([graphs.Graph([1], [])]), "kernel: .*wl"),
        (lambda: graphs.GraphKernel({"name": "nspd", "radius": 99}).fit_transform([graphs.Graph([1], [])]), "radius"),
        (lambda: graphs.GraphKernel().fit_transform([]), "none of the 0 graphs"),
        (lambda: graphs.GraphKernel().transform([]), "not fitted"),
        (lambda: graphs.edit_distance(Made([], []), Made([], []), max_seconds=-1.0), "max_seconds"),
        (lambda: graphs.edit_distance(Made([], []), Made([], []), max_states=0), "max_states: 0"),
    ],
)
def test_wrong_graphs(call, message):
    with pytest.raises(dsokr.ConfigError, match=message):
        call()


def test_labels_by_another_name_are_warned_of(caplog):
    networkx = pytest.importorskip("networkx")

    def chain(symbols):
        graph = networkx.path_graph(len(symbols))
        networkx.set_node_attributes(graph, dict(enumerate(symbols)), "element")
        networkx.set_edge_attributes(graph, 1, "order")
        return graph

    chains = [chain("CCC"), chain("NON")]
    graphs.GraphKernel("weisfeiler-lehman").fit_transform(chains)
    lines = [record.getMessage() for record in caplog.records]
    # one for all graphs
    assert len(lines) == 2
    assert "nodes have no attribute 'label' but 'element'" in lines[0] and "node_label='element'" in lines[0]
    assert "edges have no attribute 'label' but 'order'" in lines[1] and "edge_label='order'" in lines[1]
    caplog.clear()
    graphs.from_networkx(networkx.path_graph(3))
    for graph in chains:
        graphs.from_networkx(graph, node_label="element", edge_label="order")
    assert not caplog.records
