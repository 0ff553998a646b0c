"""Estimators for scikit-learn, which this module needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _sketches
from ._basis import Basis
from ._errors import ConfigError
from ._rows import whole

__all__ = ["KernelSketch"]

_KINDS = {kind.kind: kind for kind in _sketches.Sketch.__subclasses__()}


class KernelSketch(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Coordinates in the basis of a sketched kernel: inner products approximate the kernel.

    ``kernel`` and ``kernel_params`` are a kernel of ``dsokr.Basis.fit`` by name, such as "cosine" or "gaussian" with
    ``{"gamma": 0.5}``. ``n_components`` is the size of the sketch, at most the number of training rows is used; the
    number of coordinates is that or, for a kernel of lower rank, less. ``sketch`` and ``sketch_params`` are the kind of
    sketch by name: "subsampling", "leverage", "gaussian", "sparsified-rademacher", "sparsified-gaussian",
    "accumulation", "count-sketch". ``power`` tempers the spectrum (0 to 1, None: not at all). ``random_state`` is the
    seed, a whole number from 0, or None for 0.

    After the fit ``basis_`` is the ``dsokr.Basis``.
    """

    def __init__(
        self,
        kernel: str = "cosine",
        n_components: int = 100,
        *,
        kernel_params: Mapping[str, Any] | None = None,
        sketch: str = "subsampling",
        sketch_params: Mapping[str, Any] | None = None,
        power: float | None = None,
        tolerance: float = 1e-10,
        random_state: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.kernel_params = kernel_params
        self.sketch = sketch
        self.sketch_params = sketch_params
        self.power = power
        self.tolerance = tolerance
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> KernelSketch:
        """Fits the basis on the rows of a dense or sparse matrix; ``y`` plays no part."""
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float32, np.float64])
        if self.sketch not in _KINDS:
            raise ConfigError(f"sketch: {self.sketch!r}, allowed: {', '.join(sorted(_KINDS))}")
        size = min(whole(self.n_components, "n_components", 1), X.shape[0])
        try:
            sketch = _KINDS[self.sketch](size, **(self.sketch_params or {}))
        except TypeError as error:
            raise ConfigError(f"sketch_params: {error}") from None
        self.basis_ = Basis.fit(
            X,
            {"name": self.kernel, **(self.kernel_params or {})},
            sketch,
            power=self.power,
            seed=0 if self.random_state is None else self.random_state,
            tolerance=self.tolerance,
        )
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of the rows of a matrix of the kind of the fit (dense or sparse), (n, p) float32."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float32, np.float64], reset=False)
        return self.basis_.project(X)

    @property
    def _n_features_out(self) -> int:
        return self.basis_.rank

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
