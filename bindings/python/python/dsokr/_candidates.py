"""Candidates, and ranks among them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from . import _dsokr
from ._basis import Basis
from ._errors import ConfigError
from ._hits import CELLS, Hit, Hits
from ._rows import as_matrix, as_rows, as_vector, is_missing, listed, real, texts, whole
from ._tables import Missing, Rule, to_json
from .metrics import Ranks

_MISSING = ("error", "rank-infinity")


class Candidates:
    """Candidates with an id, a label, further columns and coordinates each, on which predictions are ranked.

    The score of a candidate is ⟨z, ψ(c)⟩ + b(c), with b(c) = −½ k(c, c), or 0 where the kernel is normalised.
    Candidates with equal rows tie bit for bit.
    """

    def __init__(
        self,
        basis: Basis,
        Y: Any,
        ids: Iterable[Any] | None = None,
        labels: Iterable[Any] | None = None,
        columns: Mapping[str, Iterable[Any]] | None = None,
    ):
        """Projects the rows ``Y`` of all candidates; ids are 0, 1, … by default.

        Dense rows are refused under the kernel "linear" where their mean is some hundred times as far from zero as they are
        from it, unless the basis is centred: scores in 32 bits do not tell them apart. Rows that are nearer to each other than
        the outputs that the basis was fitted on count as far from their mean as these are from theirs, and may be ties.

        ``columns`` are further ones by name, such as ``{"price": [9.5, None, 12]}``; a missing value is an empty text. The
        names of a hit's own cells, such as "score", are refused.
        """
        if not isinstance(basis, Basis):
            raise ConfigError(f"basis: {type(basis).__name__}, expected a dsokr.Basis")
        rows = as_rows(Y)
        self._inner = _dsokr.Candidates.project(basis._inner, rows, *_names(len(rows), ids, labels, columns))

    @classmethod
    def from_points(
        cls,
        points: Any,
        ids: Iterable[Any] | None = None,
        labels: Iterable[Any] | None = None,
        constants: Any = None,
        columns: Mapping[str, Iterable[Any]] | None = None,
    ) -> Candidates:
        """Candidates at given points, (n, p), such as a different model's embeddings."""
        matrix = as_matrix(points, "points")
        column = np.zeros(len(matrix), np.float32) if constants is None else as_vector(constants, "constants", np.float32)
        if len(column) != len(matrix):
            raise ConfigError(f"constants: {len(column)} constants of {len(matrix)} points")
        rows = np.column_stack([matrix, column])
        return cls._of(_dsokr.Candidates.points(rows, *_names(len(matrix), ids, labels, columns)))

    @classmethod
    def _of(cls, inner: _dsokr.Candidates) -> Candidates:
        self = cls.__new__(cls)
        self._inner = inner
        return self

    def rank(
        self,
        Z: Any,
        gold: Iterable[Any],
        *,
        queries: Iterable[Any] | None = None,
        lists: Sequence[Iterable[Any]] | None = None,
        missing: Missing = "error",
    ) -> Ranks:
        """Ranks the gold candidate of each prediction, exactly; ties are averaged.

        ``Z`` are predictions, (q, p), and ``gold`` the ids of their gold candidates. Errors name queries by
        ``queries``. With ``lists`` each query has its own candidates, by id. A gold candidate that is not
        among them is an error, or with ``missing="rank-infinity"`` counts as infinitely far down.
        """
        matrix = self._predictions(Z)
        names = range(len(matrix)) if queries is None else queries
        return Ranks(
            self._inner.rank(
                matrix,
                texts(gold, "gold", len(matrix)),
                texts(names, "queries", len(matrix)),
                missing_rule(missing),
                lists_of_ids(lists),
            )
        )

    def perfect_h(self, gold: Iterable[Any]) -> Ranks:
        """Returns the ranks of a model that meets every target: each gold candidate's own coordinates are the prediction."""
        ids = texts(gold, "gold")
        return self.rank(self._inner.coordinates_of(ids), ids)

    def top_k(self, Z: Any, k: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Indices (q, k) int64 and scores (q, k) float32 of the k best candidates, best first.

        Ties come in the order of the candidates.
        """
        return self._inner.top_k(self._predictions(Z), whole(k, "k", 0))

    def search(self, Z: Any, k: int = 10) -> list[Hits]:
        """Returns the k best candidates of each prediction, best first."""
        indices, scores = self.top_k(Z, k)
        ids, labels, columns = self._listed

        def hit(at: int, score: float) -> Hit:
            further = {name: cells[at] for name, cells in columns.items()}
            return Hit(ids[at], labels[at], float(score), {"columns": further})

        return [
            Hits(hit(at, score) for at, score in zip(indices_of_query, scores_of_query, strict=True))
            for indices_of_query, scores_of_query in zip(indices, scores, strict=True)
        ]

    def with_hubs(self, Z: Any, *, neighbours: int = 10, weight: float = 0.5) -> Candidates:
        """Returns the same candidates, but those that are near everything lose their advantage.

        ``Z`` are predictions for training inputs that have not seen their own targets, at unit length as
        all later ones. From each constant ``weight`` times the mean of the ``neighbours`` largest
        similarities with them is subtracted.
        """
        inner = self._inner.with_hubs(self._predictions(Z), whole(neighbours, "neighbours", 0), real(weight, "weight"))
        return self._of(inner)

    def _predictions(self, Z: Any) -> np.ndarray:
        matrix = as_matrix(Z, "Z")
        if matrix.shape[1] != self.dim:
            raise ConfigError(f"Z: shape {matrix.shape}, expected ({matrix.shape[0]}, {self.dim})")
        return matrix

    @property
    def ids(self) -> list[str]:
        """All ids, in order."""
        return list(self._listed[0])

    @property
    def labels(self) -> list[str]:
        """All labels, in order."""
        return list(self._listed[1])

    @property
    def columns(self) -> dict[str, list[str]]:
        """The columns behind ids and labels by name: the cell of each candidate, in order."""
        return {name: list(cells) for name, cells in self._listed[2].items()}

    @cached_property
    def _listed(self) -> tuple[list[str], list[str], dict[str, list[str]]]:
        """Ids, labels and further columns, which take longer to list than a search among a million candidates."""
        return self._inner.ids, self._inner.labels, dict(self._inner.columns)

    @property
    def constants(self) -> np.ndarray:
        """b(c) of each candidate, (n,) float32."""
        return self._inner.constants

    @property
    def coordinates(self) -> np.ndarray:
        """ψ(c) of all candidates, in order, (n, p) float32: a copy. ``Z @ coordinates.T + constants`` are the scores of
        predictions ``Z``, but for rounding."""
        return self._inner.coordinates_of(self._listed[0])

    def coordinates_of(self, ids: Iterable[Any]) -> np.ndarray:
        """Coordinates of the candidates with these ids, (len(ids), p) float32."""
        return self._inner.coordinates_of(texts(ids, "ids"))

    @property
    def dim(self) -> int:
        """p."""
        return self._inner.dim

    @property
    def duplicates(self) -> int:
        """Candidates that are the same point as an earlier one."""
        return self._inner.duplicates

    def __reduce__(self) -> tuple[Any, ...]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "candidates"
            self._inner.save(path)
            return _unpickled, (path.read_bytes(), self._inner.normalised)

    def __len__(self) -> int:
        return len(self._inner)

    def __repr__(self) -> str:
        return f"Candidates({len(self)} of dimension {self.dim}, {self.duplicates} duplicates)"


def _unpickled(content: bytes, normalised: bool) -> Candidates:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "candidates"
        path.write_bytes(content)
        return Candidates._of(_dsokr.Candidates.load(path, normalised))


_Columns = list[tuple[str, list[str]]]


def _names(
    count: int,
    ids: Iterable[Any] | None,
    labels: Iterable[Any] | None,
    columns: Mapping[str, Iterable[Any]] | None,
) -> tuple[list[str], list[str], _Columns]:
    """Ids, labels and further columns of so many candidates, as texts."""
    id_texts = texts(range(count) if ids is None else ids, "ids", count)
    label_texts = [""] * count if labels is None else texts(labels, "labels", count)
    further = []
    for name, values in ({} if columns is None else columns).items():
        place = f"columns[{name!r}]"
        if name in CELLS:
            taken = ", ".join(CELLS)
            raise ConfigError(f"{place}: expected another name, since hits have cells of their own with the names {taken}")
        cells = ["" if is_missing(value) else value for value in listed(values, place)]
        further.append((str(name), texts(cells, place, count)))
    return id_texts, label_texts, further


def missing_rule(missing: str, name: str = "missing") -> str:
    """Returns how a gold candidate that is missing is ranked, as JSON; ``name`` is that of the argument."""
    if missing not in _MISSING:
        raise ConfigError(f"{name}: {missing!r}, allowed: {', '.join(map(repr, _MISSING))}")
    return f'"{missing}"'


def lists_of_ids(lists: Sequence[Iterable[Any]] | None) -> list[list[str]] | None:
    """Returns the candidates of each query, by id; None where all queries share all candidates."""
    if lists is None:
        return None
    # those of a set are ranked whatever their order
    ordered = (sorted(ids, key=str) if isinstance(ids, (set, frozenset)) else ids for ids in lists)
    return [texts(ids, f"lists[{at}]") for at, ids in enumerate(ordered)]


def rank_ensemble(
    members: Sequence[tuple[Candidates, Any]],
    gold: Iterable[Any],
    *,
    rule: Rule = "mean",
    missing: Missing = "error",
) -> Ranks:
    """Ranks under several models of the same queries and candidates.

    ``members`` are pairs of candidates and predictions. ``rule`` is "mean", "max", "rank" or
    "reciprocal-rank", or a dict such as ``{"name": "mean", "weights": [0.75, 0.25], "standardise": True}``. Scores of
    kernels that are not normalised are combined only standardised, or as ranks.
    """
    rule_of_missing = missing_rule(missing)
    pairs = []
    for at, member in enumerate(members):
        if not (isinstance(member, tuple) and len(member) == 2 and isinstance(member[0], Candidates)):
            raise ConfigError(f"members[{at}]: {type(member).__name__}, expected (Candidates, predictions)")
        pairs.append((member[0]._inner, member[0]._predictions(member[1])))
    ranks = _dsokr.rank_ensemble(pairs, texts(gold, "gold"), to_json(rule, "rule"), rule_of_missing)
    return Ranks(ranks)
