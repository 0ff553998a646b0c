"""Molecules from SMILES."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import _dsokr
from ._dsokr import Graph, Rows
from ._errors import ConfigError
from ._rows import smiles_list
from ._tables import to_json

__all__ = ["canonical", "features", "graphs", "svg"]


def features(smiles: Iterable[str], kind: str = "morgan", *, bits: bool = False, **parameters: Any) -> Rows:
    """Rows of features of molecules.

    ``kind`` and its parameters are those of a configuration: "morgan" (``radius=2``, ``width=2048``),
    "configurations" (the same), "chains" and "rings" (``width=2048``), "components" (``width=65536``), "composition", or
    "graph" (``kernel={"name": "weisfeiler-lehman"}``). Rows are counts; with ``bits=True`` a Morgan fingerprint is one of
    bits. A graph kernel's columns are those features that occur in these molecules; where others follow use
    ``dsokr.graphs.GraphKernel``.
    """
    if not isinstance(kind, str):
        raise ConfigError(f"kind: {type(kind).__name__}, expected a text")
    return _dsokr.molecule_features(smiles_list(smiles), to_json({"name": kind, **parameters}, "kind"), bool(bits))


def canonical(smiles: Iterable[str]) -> list[str]:
    """Returns one SMILES for all that stand for the same molecule."""
    return _dsokr.canonical_smiles(smiles_list(smiles))


def svg(smiles: str) -> str:
    """Returns a drawing of a molecule as SVG."""
    return _dsokr.drawing(*smiles_list([smiles]))


def graphs(smiles: Iterable[str]) -> list[Graph]:
    """Returns the graphs of molecules: elements are the labels of nodes, bond orders those of edges."""
    return _dsokr.molecule_graphs(smiles_list(smiles))
