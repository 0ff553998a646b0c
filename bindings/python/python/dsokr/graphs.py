"""Labelled graphs: kernels and edit distances."""

from __future__ import annotations

import copyreg
import functools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from . import _dsokr
from ._dsokr import Graph, Rows
from ._errors import ConfigError
from ._progress import LOGGER
from ._rows import real, whole
from ._tables import Table, to_json

__all__ = ["EditDistance", "Graph", "GraphKernel", "edit_distance", "edit_distances", "from_networkx"]


class EditDistance(NamedTuple):
    """What is known of the edit distance of two graphs, at unit costs."""

    lower: int
    """Proven: the distance is at least this."""
    upper: int
    """The cost of ``mapping``."""
    mapping: list[int | None]
    """What each node of the first graph becomes; None where it is deleted."""
    states: int
    """Partial assignments that were bounded."""

    @property
    def exact(self) -> int | None:
        """The distance, where it is known."""
        return self.upper if self.lower == self.upper else None


def _pickled(graph: Graph) -> tuple[Any, ...]:
    return Graph, (graph.labels, graph.edges)


copyreg.pickle(Graph, _pickled)


def from_networkx(graph: Any, *, node_label: str = "label", edge_label: str = "label") -> Graph:
    """Makes a graph from one of NetworkX, or anything with ``nodes(data=True)`` and ``edges(data=True)``.

    Labels are whole numbers from 0 or texts; a node or edge without the attribute has the label 0, with a warning
    where there are only attributes of other names. The graph must be undirected, without loops and without parallel edges.
    """
    if getattr(graph, "is_directed", bool)():
        raise ConfigError("graph: directed, expected an undirected graph")
    try:
        nodes = list(graph.nodes(data=True))
        edges = list(graph.edges(data=True))
    except (AttributeError, TypeError) as error:
        raise ConfigError(f"graph: {type(graph).__name__}, expected nodes and edges as NetworkX has them") from error
    _warn_of_other_names("nodes", [data for _, data in nodes], "node_label", node_label)
    _warn_of_other_names("edges", [data for _, _, data in edges], "edge_label", edge_label)
    position = {node: at for at, (node, _) in enumerate(nodes)}
    labels = [_label(data.get(node_label, 0), f"node {node!r}") for node, data in nodes]
    joined = [(position[a], position[b], _label(data.get(edge_label, 0), f"edge {a!r}, {b!r}")) for a, b, data in edges]
    return Graph(labels, joined)


def _warn_of_other_names(what: str, attributes: list[Any], argument: str, label: str) -> None:
    """Warns where nodes or edges have attributes, and none the one that is read."""
    names = sorted({str(name) for data in attributes for name in data})
    if names and not any(label in data for data in attributes):
        _warn_once(
            f"{what} have no attribute {label!r} but {', '.join(map(repr, names))}, so that all have the label 0: "
            f"name another by from_networkx(graph, {argument}={names[0]!r})"
        )


@functools.cache
def _warn_once(message: str) -> None:
    """Warns once of what is the same of many graphs."""
    LOGGER.warning(message)


def _label(value: Any, of: str) -> int | str:
    if isinstance(value, str):
        return value
    return whole(value, f"graph: label of {of}", 0, 2**64 - 1)


def _graphs(graphs: Iterable[Any]) -> list[Graph]:
    if not hasattr(graphs, "__iter__"):
        raise ConfigError(f"graphs: {type(graphs).__name__}, expected a list of graphs")
    return [graph if isinstance(graph, Graph) else from_networkx(graph) for graph in graphs]


class GraphKernel:
    """A graph kernel as rows of features: the linear or cosine kernel of two rows is the graph kernel.

    ``kernel`` is "vertex-histogram", "shortest-path", "weisfeiler-lehman", "core" or "nspd", or a dict such as
    ``{"name": "weisfeiler-lehman", "iterations": 3, "edge_labels": True}``; ``{"name": "sum", "kernels": […]}`` adds
    several.
    """

    def __init__(self, kernel: Table = "weisfeiler-lehman") -> None:
        self._kernel = to_json(kernel, "kernel")
        self._vocabulary: _dsokr.GraphVocabulary | None = None

    def __getstate__(self) -> tuple[str, list[int] | None]:
        return self._kernel, None if self._vocabulary is None else self._vocabulary.features

    def __setstate__(self, state: tuple[str, list[int] | None]) -> None:
        self._kernel, features = state
        self._vocabulary = None
        if features is not None:
            self._vocabulary = _dsokr.GraphVocabulary.from_features(self._kernel, features)

    def fit_transform(self, graphs: Iterable[Any]) -> Rows:
        """Finds the features of these graphs, and returns their rows."""
        self._vocabulary, rows = _dsokr.GraphVocabulary.fit(self._kernel, _graphs(graphs))
        return rows

    def transform(self, graphs: Iterable[Any]) -> Rows:
        """Returns the rows of other graphs; the last column holds the norm of features that the fit had not seen."""
        if self._vocabulary is None:
            raise ConfigError("the graph kernel is not fitted: call fit_transform first")
        return self._vocabulary.rows(_graphs(graphs))


def edit_distances(
    pairs: Sequence[tuple[Any, Any]], *, max_states: int | None = None, max_seconds: float | None = None
) -> list[EditDistance]:
    """Returns the edit distances of many pairs in parallel: insert, delete or relabel a node or an edge, 1 each.

    Exact unless a limit for each pair is reached. A signal waits for the pairs at work, so hard pairs should have
    ``max_seconds``.
    """
    graphs = []
    for at, pair in enumerate(pairs):
        if not (isinstance(pair, Sequence) and len(pair) == 2):
            raise ConfigError(f"pairs[{at}]: {type(pair).__name__}, expected two graphs")
        a, b = _graphs(pair)
        graphs.append((a, b))
    states = None if max_states is None else whole(max_states, "max_states", 1)
    seconds = None if max_seconds is None else real(max_seconds, "max_seconds")
    return [EditDistance(*found) for found in _dsokr.edit_distances(graphs, states, seconds)]


def edit_distance(
    a: Any, b: Any, *, max_states: int | None = None, max_seconds: float | None = None
) -> EditDistance:
    """Returns the edit distance of two graphs; see ``edit_distances``."""
    return edit_distances([(a, b)], max_states=max_states, max_seconds=max_seconds)[0]
