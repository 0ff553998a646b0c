"""Sketches: the distributions of the random matrix R with m rows that a basis is fitted with."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Sketch:
    """What all sketches have: ``size``, the number of rows m, at most the number of training outputs."""

    size: int
    kind: ClassVar[str]

    def table(self) -> dict[str, Any]:
        """Returns the table of a configuration file, without the size."""
        table = asdict(self)
        del table["size"]
        return {"kind": self.kind, **table}


@dataclass(frozen=True)
class Subsampling(Sketch):
    """Each row picks one output uniformly."""

    replacement: bool = False
    kind: ClassVar[str] = "subsampling"


@dataclass(frozen=True)
class Leverage(Sketch):
    """Each row picks one output in proportion to its approximate ridge leverage score.

    ``lambda_`` is the ridge and ``pilot`` the number of columns of the approximation. With as many as there
    are outputs, or more, scores are exact.
    """

    lambda_: float = 1e-3
    pilot: int = 200
    kind: ClassVar[str] = "leverage"

    def table(self) -> dict[str, Any]:
        return {"kind": self.kind, "lambda": self.lambda_, "pilot": self.pilot}


@dataclass(frozen=True)
class Gaussian(Sketch):
    """Independent normal entries."""

    kind: ClassVar[str] = "gaussian"


@dataclass(frozen=True, kw_only=True)
class SparsifiedRademacher(Sketch):
    """Independent signs with probability ``density``, else 0; 20/n is a usual density."""

    density: float
    kind: ClassVar[str] = "sparsified-rademacher"


@dataclass(frozen=True, kw_only=True)
class SparsifiedGaussian(Sketch):
    """Independent normal entries with probability ``density``, else 0; 20/n is a usual density."""

    density: float
    kind: ClassVar[str] = "sparsified-gaussian"


@dataclass(frozen=True)
class Accumulation(Sketch):
    """Each row is the sum of ``terms`` outputs with random signs."""

    terms: int = 10
    kind: ClassVar[str] = "accumulation"


@dataclass(frozen=True)
class CountSketch(Sketch):
    """Each output is added to one row, with a random sign."""

    kind: ClassVar[str] = "count-sketch"
