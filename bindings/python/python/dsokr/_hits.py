"""Found candidates, drawn where they are molecules."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any, NamedTuple

import numpy as np

from . import _dsokr
from ._errors import Error

CELLS = ("rank", "id", "label", "score", "gap", "tied", "duplicates")
"""The names of the cells that a hit of a trained model has, which no further column can have."""

DRAWN = 20
"""The most molecules that a notebook's cell shows."""


def drawing(label: str) -> str | None:
    """Returns a drawing of a SMILES; none of any other text."""
    if not label or label.split() != [label]:
        return None
    try:
        return _dsokr.drawing(label)
    except Error:
        return None


def _single(number: float) -> float:
    """Returns the number of 32 bits whose digits were written, in all of its digits: scores of arrays are equal to it."""
    return float(np.float32(number))


class _Found(NamedTuple):
    id: str
    label: str
    score: float


class Hit(_Found):
    """A candidate that a search found: a tuple of id, label and score."""

    columns: dict[str, str]
    """The further columns of the candidate by name, such as a price, as the texts that the table has."""
    cells: dict[str, Any]
    """All that is known of it by name: id, label, score, of a trained model also rank, gap, tied and duplicates, as
    ``dsokr search --json`` prints them, and the further columns."""

    def __new__(cls, id: str, label: str, score: float, found: Mapping[str, Any] | None = None) -> Hit:
        self = super().__new__(cls, id, label, score)
        known = dict(found or {})
        self.columns = dict(known.pop("columns", {}))
        self.cells = {**known, "id": id, "label": label, "score": score, **self.columns}
        return self

    def _repr_svg_(self) -> str | None:
        return drawing(self.label)


class Hits(list[Hit]):
    """The candidates that a search found, best first.

    A notebook shows them as a table, with drawings where every label is a SMILES; what a search found comes first.
    """

    best: tuple[str, float] | None
    """Label and score of the best of all outputs, where the configuration searches them."""
    quantiles: dict[float, float]
    """Predicted quantiles by level, where outputs are numbers."""
    beyond: list[dict[str, Any]]
    """What a search found beyond the candidates, best first, ``k`` molecules at most: label, score, in_table, nearest, …"""
    cautions: list[str]
    """What is doubtful about the query, such as a text of which the model knows no part, or a spectrum of a polarity that it
    was not trained on; and that a search beyond the candidates found nothing that passes a filter."""
    competing: int | None
    """The number of candidates that a rule such as ``mass:10`` leaves to the query, before any filter; None where all queries
    share the candidates."""

    def __init__(
        self,
        hits: Iterable[Hit],
        best: tuple[str, float] | None = None,
        quantiles: Iterable[tuple[float, float]] = (),
        beyond: Iterable[Mapping[str, Any]] = (),
        cautions: Iterable[str] = (),
        competing: int | None = None,
    ) -> None:
        super().__init__(hits)
        self.best = best
        self.quantiles = dict(quantiles)
        self.beyond = [dict(output) for output in beyond]
        self.cautions = list(cautions)
        self.competing = competing

    @classmethod
    def from_json(cls, text: str) -> Hits:
        """Returns the answer of a trained model to a query, as ``dsokr search --json`` prints it."""
        answer = json.loads(text)
        exact = answer.get("exact")
        return cls(
            [Hit(hit["id"], hit["label"], _single(hit["score"]), hit) for hit in answer["candidates"]],
            None if exact is None else (exact["label"], exact["score"]),
            [(quantile["level"], _single(quantile["value"])) for quantile in answer.get("quantiles", [])],
            answer.get("beyond", []),
            answer.get("cautions", []),
            answer.get("competing"),
        )

    def to_pandas(self) -> Any:
        """Returns a pandas frame with a row for each hit and a column for each of its cells."""
        import pandas

        return pandas.DataFrame([hit.cells for hit in self])

    def _repr_html_(self) -> str:
        beyond = [Hit(output["nearest"] if output["in_table"] else "", output["label"], output["score"]) for output in self.beyond]
        ranks = ["new"] * len(beyond) + [str(at + 1) for at in range(len(self))]
        shown = list(zip(ranks, [*beyond, *self]))
        drawings: list[str | None] = [drawing(hit.label) for _, hit in shown[:DRAWN]]
        drawn = bool(drawings) and None not in drawings
        columns = list(self[0].columns) if self else []
        heading = ["rank", "score", "id", "label", *columns] + (["molecule"] if drawn else [])
        rows: list[list[Any]] = []
        for at, (rank, hit) in enumerate(shown):
            picture = [drawings[at] if at < DRAWN else ""] if drawn else []
            further = [escape(hit.columns.get(name, "")) for name in columns]
            rows.append([rank, f"{hit.score:.4f}", escape(hit.id), escape(hit.label), *further, *picture])
        doubts = "".join(f"<p>{escape(caution)}</p>" for caution in self.cautions)
        return doubts + table(heading, rows)


def table(heading: list[str], rows: list[list[Any]]) -> str:
    """Returns a table of HTML; cells are HTML."""
    head = "".join(f"<th>{escape(name)}</th>" for name in heading)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
