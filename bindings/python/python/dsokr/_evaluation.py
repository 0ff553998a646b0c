"""Evaluations of trained models, and comparisons of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from html import escape
from typing import Any

from . import _dsokr
from ._errors import ConfigError
from ._hits import Hit, table
from ._rows import whole
from .metrics import Ranks


class Evaluation:
    """The evaluation of a model or an ensemble on queries."""

    def __init__(self, inner: _dsokr.Evaluation) -> None:
        self._inner = inner

    @cached_property
    def _scores(self) -> list[Any]:
        return json.loads(self._inner.scores)

    @cached_property
    def _queries(self) -> list[tuple[str, str | None, str, tuple[str, str, float] | None]]:
        return self._inner.rows

    @property
    def metrics(self) -> dict[str, Any]:
        """All metrics by name, as ``dsokr evaluate --json`` prints them."""
        return self._scores[0]

    @property
    def chance(self) -> dict[str, Any]:
        """The metrics of a random order of the candidates."""
        return self._scores[1]

    @property
    def members(self) -> dict[str, dict[str, Any]]:
        """The metrics of each member of an ensemble; empty of one model."""
        return dict(self._scores[2])

    @property
    def caution(self) -> str | None:
        """Why metrics say less about new queries, if they do: checkpoints, λ or the like were chosen on these, or some
        queries of a file have inputs of training pairs."""
        return self._scores[3]

    @property
    def groups(self) -> int | None:
        """The number of groups of queries that belong together, which intervals draw whole; none where each query is by itself."""
        return self._scores[4]

    @cached_property
    def intervals(self) -> dict[str, list[float]]:
        """95 % intervals [low, high] of the metrics, by a bootstrap over queries, or over their ``groups``.

        A metric whose draws all have one value has none, and so has every metric of fewer than three groups."""
        return json.loads(self._inner.intervals())

    @cached_property
    def ranks(self) -> Ranks:
        """The rank of each query's right output."""
        return Ranks(self._inner.ranks)

    @property
    def queries(self) -> list[str]:
        """Names of the queries: ids of their own, else those of their outputs."""
        return [name for name, *_ in self._queries]

    @property
    def texts(self) -> list[str]:
        """Texts of the queries; empty where a model reads something else."""
        return [text for _, text, *_ in self._queries if text is not None]

    @property
    def golds(self) -> list[str]:
        """The id of each query's right output, of several the one that counts."""
        return [gold for _, _, gold, _ in self._queries]

    @property
    def best(self) -> list[Hit | None]:
        """The best candidate of each query."""
        return [hit and Hit(*hit) for *_, hit in self._queries]

    def to_pandas(self) -> Any:
        """Returns a pandas frame of the metrics: a row for each member of an ensemble, for the whole, and for chance."""
        import pandas

        rows = {**self.members, "ensemble" if self.members else "model": self.metrics, "chance": self.chance}
        return pandas.DataFrame.from_dict(rows, orient="index")

    def queries_to_pandas(self) -> Any:
        """Returns a pandas frame with a row a query: its text, its right output with the expected rank, and the best
        candidate."""
        import pandas

        best = self.best
        columns = {
            "query": self.queries,
            "text": self.texts or None,
            "gold": self.golds,
            "rank": self.ranks.ranks,
            "reciprocal_rank": self.ranks.reciprocals,
            "tied": self.ranks.tied,
            "best": [hit and hit[0] for hit in best],
            "best_label": [hit and hit[1] for hit in best],
            "best_score": [hit and hit[2] for hit in best],
        }
        return pandas.DataFrame({name: values for name, values in columns.items() if values is not None})

    def _repr_html_(self) -> str:
        rows = []
        for name, value in self.metrics.items():
            # counts are no metrics
            if isinstance(value, float):
                ends = self.intervals.get(name)
                interval = "" if ends is None else f"[{ends[0]:.4f}, {ends[1]:.4f}]"
                rows.append([escape(name), _number(value), interval, _number(self.chance.get(name))])
        return table(["metric", "value", "95 % interval", "chance"], rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._inner.to_json(),)

    def __len__(self) -> int:
        return len(self._queries)

    def __str__(self) -> str:
        return str(self._inner)

    def __repr__(self) -> str:
        return f"Evaluation({len(self)} queries)"


def _unpickled(content: str) -> Evaluation:
    return Evaluation(_dsokr.Evaluation.from_json(content))


class Comparison:
    """Models compared with the first one on the same queries."""

    def __init__(self, content: str, text: str) -> None:
        compared = json.loads(content)
        self.metrics: list[dict[str, Any]] = compared["metrics"]
        """The metrics, each with its value, interval and paired difference of every model."""
        self.groups: int | None = compared.get("groups")
        """The number of groups of queries that belong together, which are drawn whole; none where each query is by itself."""
        self._text = text

    def to_pandas(self) -> Any:
        """Returns a pandas frame with a row for each metric and model."""
        import pandas

        return pandas.DataFrame(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        for metric in self.metrics:
            for run in metric["runs"]:
                low, high = run["ci95"] or (None, None)
                row = {"metric": metric["metric"], "run": run["run"], "value": run["value"], "low": low, "high": high}
                difference = run["difference"] or {"difference": None, "ci95": (None, None), "p": None, "p_holm": None}
                least, most = difference["ci95"] or (None, None)
                row |= {"difference": difference["difference"], "difference_low": least, "difference_high": most}
                rows.append(row | {"p": difference["p"], "p_holm": difference["p_holm"]})
        return rows

    def _repr_html_(self) -> str:
        rows = []
        for row in self._rows():
            interval = "" if row["low"] is None else f"[{row['low']:.4f}, {row['high']:.4f}]"
            difference = ""
            if row["difference"] is not None:
                difference = f"{row['difference']:+.4f}"
                if row["difference_low"] is not None:
                    difference += f" [{row['difference_low']:+.4f}, {row['difference_high']:+.4f}]"
            rows.append([escape(row["metric"]), escape(row["run"]), _number(row["value"]), interval, difference])
        return table(["metric", "model", "value", "95 % interval", "difference from the first"], rows)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Comparison({len(self.metrics)} metrics)"


def compare(evaluations: Mapping[str, Evaluation], *, resamples: int = 10_000) -> Comparison:
    """Compares models with the first one by a paired bootstrap, as ``dsokr compare`` does.

    ``evaluations`` are at least two by name, on the same queries among the same candidates.
    """
    if not isinstance(evaluations, Mapping):
        raise ConfigError(f"evaluations: {type(evaluations).__name__}, expected a dict of evaluations by name")
    for name, evaluation in evaluations.items():
        if not isinstance(evaluation, Evaluation):
            raise ConfigError(f"evaluations[{name!r}]: {type(evaluation).__name__}, expected a dsokr.Evaluation")
    given = [(str(name), evaluation._inner) for name, evaluation in evaluations.items()]
    return Comparison(*_dsokr.compare_runs(given, whole(resamples, "resamples", 0)))


def _number(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else escape("" if value is None else str(value))
