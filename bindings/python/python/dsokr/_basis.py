"""The basis of the output space."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import _dsokr
from ._errors import ConfigError
from ._dsokr import Rows
from ._rows import as_rows, join_rows, real, training_rows, whole
from ._sketches import Gaussian, Sketch
from ._tables import Kernel, Loss, to_json
from ._targets import Targets


_DESCRIPTION = (
    "kernel kernel_name sketch size seed tolerance tempering trained_rows row_width is_normalised".split()
)


class Projection(NamedTuple):
    """Outputs in a basis."""

    coordinates: np.ndarray
    """(n, p) float32."""
    squared_norms: np.ndarray
    """k(y, y), (n,) float64."""
    residuals: np.ndarray
    """Squared distances from the span, (n,) float64."""


class Basis:
    """An orthonormal basis of the space that a sketch of the training outputs spans.

    Inner products of coordinates approximate the kernel, so the coordinates are targets of any training
    script and the points on which its predictions are ranked.
    """

    def __init__(self, inner: _dsokr.Basis) -> None:
        self._inner = inner

    @classmethod
    def fit(
        cls,
        Y: Any,
        kernel: Kernel = "cosine",
        sketch: Sketch | None = None,
        *,
        power: float | None = None,
        centred: bool | None = None,
        normalised: bool | None = None,
        seed: int = 0,
        tolerance: float = 1e-10,
    ) -> Basis:
        """Fits a basis on the training outputs.

        ``Y`` are n rows: an array, a SciPy sparse matrix, a tensor by DLPack, or ``Rows``. ``kernel`` is
        "linear", "cosine", "tanimoto", "ngram", "kemeny" or "hamming", or a dict such as
        ``{"name": "gaussian", "gamma": 0.5}`` (also "gaussian-tanimoto"). ``sketch`` is one of this
        package's sketches, such as ``dsokr.Gaussian(200)``; by default Gaussian with 300 rows, of fewer outputs with
        as many as there are.

        With ``power`` (0 to 1) the spectrum is tempered: each principal axis is divided by (its standard
        deviation) to that power. Coordinates are then ``centred`` and ``normalised`` unless those are
        False. ``tolerance`` is the relative eigenvalue cut-off, 1e-12 to below 1. The result depends on
        the arguments, not on the number of threads.
        """
        if callable(kernel) or str(kernel) == "precomputed":
            remedy = "of a kernel of your own, dsokr.sklearn.KernelSketch('precomputed') reads the matrix"
            raise ConfigError(f"kernel: {kernel!r}, expected a name or a dict with the key 'name'; {remedy}")
        rows = training_rows(Y)
        if sketch is None:
            sketch = Gaussian(min(300, max(1, len(rows))))
        if not isinstance(sketch, Sketch):
            raise ConfigError(f"sketch: {sketch!r}, expected a sketch such as dsokr.Gaussian(200)")
        tempering = None
        if (power, centred, normalised) != (None, None, None):
            default = power is not None
            tempering = (
                0.0 if power is None else real(power, "power"),
                default if centred is None else bool(centred),
                default if normalised is None else bool(normalised),
            )
        return cls(
            _dsokr.Basis.fit(
                rows,
                to_json(kernel, "kernel"),
                to_json(sketch.table(), "sketch", "kind"),
                whole(sketch.size, "sketch.size", 0),
                whole(seed, "seed", 0, 2**64 - 1),
                real(tolerance, "tolerance"),
                tempering,
            )
        )

    @classmethod
    def sum(cls, bases: Iterable[Basis], Y: Iterable[Any], weights: Iterable[float] | None = None, *, size: int) -> Basis:
        """Returns the basis of a weighted sum of kernels.

        Each of ``bases`` is fitted on its own matrix of ``Y``, and ``weights`` (default: all 1) are scaled to the sum 1.
        The coordinates are those of all bases side by side, turned to the ``size`` leading principal axes. Rows of the
        sum, to be projected, are ``dsokr.join_rows(Y)``.
        """
        bases = list(bases)
        found = [1.0] * len(bases) if weights is None else [real(weight, "weights") for weight in weights]
        if len(found) != len(bases):
            raise ConfigError(f"weights: {len(found)}, expected {len(bases)}")
        return cls(_dsokr.Basis.sum([basis._inner for basis in bases], found, join_rows(Y), whole(size, "size", 1)))

    def project(self, Y: Any) -> np.ndarray:
        """Coordinates of outputs, (n, p) float32."""
        return self.projection(Y).coordinates

    def projection(self, Y: Any) -> Projection:
        """Coordinates of outputs with k(y, y) and the squared distances from the span."""
        return Projection(*self._inner.project(as_rows(Y)))

    def targets(self, Y: Any) -> Targets:
        """Targets of outputs for your own training loop, whose batches ``loss`` takes: ``psi.targets(Y)[batch]``."""
        found = self.projection(Y)
        return Targets._of(found.coordinates, found.residuals)

    def loss(self, z: Any, targets: Targets, loss: Loss = "square") -> Any:
        """Returns the mean loss of predictions ``z``, a tensor of PyTorch (b, p), for as many targets: those of a
        configuration.

        With u = ‖z − ψ̃(y)‖² + r(y), ``loss`` is "square" (u), ``{"name": "huber", "kappa": κ}``,
        ``{"name": "epsilon-insensitive", "epsilon": ε}`` (√u beyond ε) or "epsilon-insensitive-square"; or a cross-entropy of
        cos(z, ψ̃(y)) / τ: "softmax" of finding each output among all distinct ones of the targets, or "contrastive" among those of
        the batch and the other way round, in which pairs with the same output are no negatives of each other. τ is
        ``{"name": "softmax", "temperature": 0.07}``, also a tensor that learns. Coordinates of a different basis are refused by
        their number. Predictions of 16 bits, also under autocast, are measured in 32 bits.
        """
        if not isinstance(targets, Targets):
            remedy = "expected those of Basis.targets, or a part of them such as targets[batch]"
            raise ConfigError(f"targets: {type(targets).__name__}, {remedy}")
        if targets.distinct.shape[1] != self.rank:
            raise ConfigError(f"targets: of {targets.distinct.shape[1]} coordinates, the basis has {self.rank}")
        return targets.loss(z, loss)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file, which the command and the Rust library read too."""
        self._inner.save(Path(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Basis:
        """Reads a file that ``save`` or a training wrote."""
        return cls(_dsokr.Basis.load(Path(path)))

    def __reduce__(self) -> tuple[Any, ...]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "basis"
            self.save(path)
            return _unpickled, (path.read_bytes(),)

    @property
    def rank(self) -> int:
        """p, the number of coordinates."""
        return self._inner.rank

    @property
    def spectrum(self) -> np.ndarray:
        """The p eigenvalues, descending: of R K Rᵀ, or of the covariance where the basis is tempered."""
        return self._inner.spectrum

    @cached_property
    def _description(self) -> dict[str, Any]:
        return dict(zip(_DESCRIPTION, json.loads(self._inner.description), strict=True))

    @property
    def kernel(self) -> Any:
        """The kernel as a dict."""
        return self._description["kernel"] or self._description["kernel_name"]

    @property
    def sketch(self) -> dict[str, Any]:
        """The sketch as a dict, with its size and seed."""
        found = self._description
        return {**found["sketch"], "size": found["size"], "seed": found["seed"]}

    @property
    def tolerance(self) -> float:
        """The relative eigenvalue cut-off."""
        return self._description["tolerance"]

    @property
    def tempering(self) -> dict[str, Any]:
        """``power``, ``centred`` and ``normalised``."""
        return dict(self._description["tempering"])

    @property
    def trained_rows(self) -> int:
        """n, the number of outputs that it was fitted on."""
        return self._description["trained_rows"]

    @property
    def row_width(self) -> int:
        """d, the width of the rows that it projects."""
        return self._description["row_width"]

    @property
    def is_normalised(self) -> bool:
        """Whether k(y, y) = 1."""
        return self._description["is_normalised"]

    def __repr__(self) -> str:
        return f"Basis(rank={self.rank}, kernel={self.kernel}, sketch={self.sketch})"


def _unpickled(content: bytes) -> Basis:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "basis"
        path.write_bytes(content)
        return Basis.load(path)


def kernel_matrix(A: Any, B: Any = None, kernel: Kernel = "cosine") -> np.ndarray:
    """Returns k(a, b) of all pairs of rows, (len(A), len(B)) float64; ``B`` is ``A`` by default."""
    # those of A may be few queries
    b = training_rows(A, "A") if B is None else training_rows(B, "B")
    a: Rows = b if B is None else as_rows(A, "A")
    return _dsokr.kernel_matrix(a, b, to_json(kernel, "kernel"))


def leverage_scores(
    Y: Any, kernel: Kernel = "cosine", *, lambda_: float = 1e-3, pilot: int = 200, seed: int = 0
) -> np.ndarray:
    """Returns approximate ridge leverage scores, (n,) float64: (K (K + nλI)⁻¹)ᵢᵢ, exact where ``pilot`` is n or more.

    Their sum is the effective dimension, a first guess of the sketch size; where ``pilot`` is less than n, it is a
    lower bound of it, and at most ``pilot``.
    """
    return _dsokr.leverage_scores(
        training_rows(Y),
        to_json(kernel, "kernel"),
        real(lambda_, "lambda_"),
        whole(pilot, "pilot", 0),
        whole(seed, "seed", 0, 2**64 - 1),
    )
