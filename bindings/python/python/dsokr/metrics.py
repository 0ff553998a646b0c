"""Ranks and metrics, also of scores that other programs made."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _dsokr
from ._errors import ConfigError
from ._rows import as_array, as_matrix, as_vector, whole


class Ranks:
    """The rank of the gold candidate of each query.

    With b candidates above the gold one and t others tied with it, its rank is uniform on b + 1, …, b + t + 1, and everything here is an expectation over that.
    """

    def __init__(self, inner: _dsokr.Ranks) -> None:
        self._inner = inner

    @property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self._inner.arrays

    @property
    def ranks(self) -> np.ndarray:
        """Expected rank, from 1, (q,) float64; infinite where the gold candidate is missing."""
        return self._arrays[0]

    @property
    def reciprocals(self) -> np.ndarray:
        """Expected reciprocal rank, (q,) float64."""
        return self._arrays[1]

    @property
    def above(self) -> np.ndarray:
        """b, (q,) int64; −1 where the gold candidate is missing."""
        return self._arrays[2]

    @property
    def tied(self) -> np.ndarray:
        """t, the number of other candidates with the same score, (q,) int64; 0 where the gold candidate is missing."""
        return self._arrays[3]

    def hits(self, k: int) -> np.ndarray:
        """Returns the probability that the rank is at most k, (q,) float64."""
        return self._inner.hits(whole(k, "k", 1))

    def metrics(
        self,
        k: Sequence[int] = (1, 5, 10),
        ci: float | None = None,
        *,
        resamples: int = 1000,
        seed: int = 0,
    ) -> dict[str, Any]:
        """Metrics by name: mrr, hits@k, mean_rank, median_rank, tied_queries, …

        With ``ci=0.95`` also the 95 % bootstrap intervals over queries, as mrr_ci95 and hits@k_ci95.
        """
        if ci not in (None, 0.95):
            raise ConfigError(f"ci: {ci!r}, allowed: None and 0.95")
        if isinstance(k, str) or not hasattr(k, "__iter__"):
            raise ConfigError(f"k: {k!r}, expected a list of whole numbers, such as (1, 10)")
        ks = [whole(each, "k", 1) for each in k]
        count = whole(resamples, "resamples", 0) if ci is not None else None
        return self._inner.metrics(ks, count, whole(seed, "seed", 0, 2**64 - 1))

    def chance(self) -> Ranks:
        """Ranks of a random order of the same candidates."""
        return Ranks(self._inner.chance())

    def compare(self, other: Ranks, *, resamples: int = 1000, seed: int = 0) -> dict[str, Any]:
        """Compares with a second model on the same queries, by a paired bootstrap.

        For mrr, hits@1, hits@5, hits@10 and hits@20: ``first``, ``second``, ``difference``, its 95 % interval ``ci95``, and
        ``first_better``, the share of the resamples in which this model is better.
        """
        if not isinstance(other, Ranks):
            raise ConfigError(f"other: {type(other).__name__}, expected Ranks")
        draws, seed = whole(resamples, "resamples", 0), whole(seed, "seed", 0, 2**64 - 1)
        return json.loads(self._inner.compare(other._inner, draws, seed))

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._inner.to_json(),)

    def __len__(self) -> int:
        return len(self._inner)

    def __repr__(self) -> str:
        return f"Ranks({len(self)} queries)"


def _unpickled(content: str) -> Ranks:
    return Ranks(_dsokr.Ranks.from_json(content))


def rank_scores(scores: Any, gold: Any) -> Ranks:
    """Ranks of the gold columns of a matrix of scores, (q, c); a higher score is better.

    ``gold`` are q column numbers from 0. Equal scores are ties. A NaN is an error; infinite scores are
    allowed.
    """
    array = as_array(scores, "scores")
    columns = as_vector(gold, "gold", np.int64)
    kind = np.float32 if array.dtype == np.float32 else np.float64
    return Ranks(_dsokr.rank_scores(as_matrix(array, "scores", kind), columns))
