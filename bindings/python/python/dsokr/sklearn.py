"""Estimators for scikit-learn, which this module needs."""

from __future__ import annotations

import copyreg
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.metrics import f1_score, r2_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import _dsokr, _sketches
from ._basis import Basis
from ._candidates import Candidates
from ._errors import ConfigError
from ._dsokr import Rows
from ._rows import as_rows, real, training_rows, whole
from ._tables import to_json

__all__ = ["IOKR", "KernelSketch", "SketchedKernelRidge"]

_KINDS = {kind.kind: kind for kind in _sketches.Sketch.__subclasses__()}

RandomState: TypeAlias = int | np.random.RandomState | None


def _sketch(kind: str, size: int, parameters: Mapping[str, Any] | None, name: str = "sketch") -> _sketches.Sketch:
    if kind not in _KINDS:
        raise ConfigError(f"{name}: {kind!r}, allowed: {', '.join(sorted(_KINDS))}")
    try:
        return _KINDS[kind](size, **(parameters or {}))
    except TypeError as error:
        raise ConfigError(f"{name}_params: {error}") from None


def _sized(size: int | None, rows: int, kind: str, parameters: Any, name: str) -> tuple[str, int] | None:
    """Returns the table and the size of a sketch of at most ``rows`` rows; none without a size."""
    if size is None:
        return None
    least = min(whole(size, "n_components" if name == "sketch" else "n_input_components", 1), rows)
    return to_json(_sketch(kind, least, parameters, name).table(), name, "kind"), least


def _kernel(name: str, gamma: float | None, parameters: Mapping[str, Any] | None, width: int) -> dict[str, Any]:
    """Returns the table of a kernel of rows of this width; "rbf" is scikit-learn's name of "gaussian" and of its default
    width."""
    if name == "rbf":
        name, gamma = "gaussian", 1 / max(1, width) if gamma is None else gamma
    own = {} if gamma is None else {"gamma": real(gamma, "gamma")}
    return {"name": name, **own, **(parameters or {})}


def _seed(random_state: RandomState) -> int:
    """Returns a whole number as the seed; a generator of NumPy, and by None the global one, draws it."""
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**31 - 1))
    return whole(random_state, "random_state", 0, 2**64 - 1)


def _matrix(X: Any) -> Any:
    """Rows of this package as what scikit-learn validates: sparse ones stay sparse."""
    if not isinstance(X, Rows):
        return X
    return X.to_scipy() if X.kind == "sparse" else np.asarray(X)


def _rows(X: Any) -> Rows:
    """Rows of a matrix that scikit-learn has validated; bools are numbers here, not bits."""
    return as_rows(_numbers(X), "X")


def _training_rows(X: Any) -> Rows:
    """Rows of such a matrix, on which something is fitted."""
    return training_rows(_numbers(X), "X")


def _numbers(X: Any) -> Any:
    return X.astype(np.float32) if X.dtype == np.bool_ else X


def _kept(sample_weight: Any, X: Any) -> tuple[np.ndarray, list[float] | None]:
    """Returns the rows of a weight above 0, and their weights; no weights where all rows have the same."""
    count = X.shape[0]
    if sample_weight is None:
        return np.arange(count), None
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if (weights < 0).any():
        raise ConfigError(f"sample_weight: {weights.min()}, allowed: numbers from 0")
    kept = np.flatnonzero(weights)
    if not len(kept):
        raise ConfigError("sample_weight: all 0, at least one above 0 is needed")
    return kept, weights[kept].tolist()


def _alpha(alpha: float) -> float:
    if not real(alpha, "alpha") > 0:
        raise ConfigError(f"alpha: {alpha}, allowed: finite numbers above 0")
    return float(alpha)


def _pickled(machine: _dsokr.KernelMachine) -> tuple[Any, ...]:
    with tempfile.TemporaryDirectory() as folder:
        machine.save(Path(folder))
        return _unpickled, ({file.name: file.read_bytes() for file in sorted(Path(folder).iterdir())},)


def _unpickled(files: dict[str, bytes]) -> _dsokr.KernelMachine:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        return _dsokr.KernelMachine.load(Path(folder))


copyreg.pickle(_dsokr.KernelMachine, _pickled)


class KernelSketch(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Coordinates in the basis of a sketched kernel: inner products approximate the kernel.

    ``kernel`` is a kernel of ``dsokr.Basis.fit`` by name, such as "cosine", or "gaussian" with ``gamma``, which is 1 over the
    number of columns for its other name "rbf"; other parameters are ``kernel_params``. Or it is "precomputed": then the fit takes the kernel matrix of the training rows, and ``transform``
    the kernel's values with them, a row each. ``n_components`` is the size of the sketch, at most the number of
    training rows is used; the number of coordinates is that or, for a kernel of lower rank, less. ``sketch`` and
    ``sketch_params`` are the kind of sketch by name: "subsampling", "leverage", "gaussian", "sparsified-rademacher",
    "sparsified-gaussian", "accumulation", "count-sketch". ``power`` tempers the spectrum (0 to 1, None: not at all),
    but not that of a precomputed kernel. ``random_state`` is as scikit-learn has it: a whole number from 0 is the seed, a
    ``numpy.random.RandomState`` draws one, and so does by None the global generator of NumPy.

    After the fit ``basis_`` is the ``dsokr.Basis``; a precomputed kernel has ``map_`` (n, p), which takes the kernel's
    values to coordinates.
    """

    def __init__(
        self,
        kernel: str = "cosine",
        n_components: int = 100,
        *,
        gamma: float | None = None,
        kernel_params: Mapping[str, Any] | None = None,
        sketch: str = "subsampling",
        sketch_params: Mapping[str, Any] | None = None,
        power: float | None = None,
        tolerance: float = 1e-10,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.sketch = sketch
        self.sketch_params = sketch_params
        self.power = power
        self.tolerance = tolerance
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> KernelSketch:
        """Fits the basis on the rows of a dense or sparse matrix; ``y`` plays no part."""
        X = self._validated(X, True)
        size = min(whole(self.n_components, "n_components", 1), X.shape[0])
        sketch = _sketch(self.sketch, size, self.sketch_params)
        if self.kernel == "precomputed":
            self.map_ = self._map(X, sketch)
            return self
        self.basis_ = Basis.fit(
            _training_rows(X),
            _kernel(self.kernel, self.gamma, self.kernel_params, X.shape[1]),
            sketch,
            power=self.power,
            seed=_seed(self.random_state),
            tolerance=self.tolerance,
        )
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of the rows of a matrix of the kind of the fit (dense or sparse), (n, p) float32."""
        check_is_fitted(self)
        X = self._validated(X, False)
        if self.kernel == "precomputed":
            return self._mapped(X)
        return self.basis_.project(_rows(X))

    def _mapped(self, values: np.ndarray) -> np.ndarray:
        """Coordinates for the kernel's values. Equal rows are computed once: a product of matrices may round them in different
        ways, and equal outputs would be no ties."""
        places: dict[bytes, int] = {}
        which = [places.setdefault(row.tobytes(), len(places)) for row in values]
        first = np.unique(which, return_index=True)[1]
        return (values[first] @ self.map_).astype(np.float32)[which]

    def _validated(self, X: Any, reset: bool) -> Any:
        X = _matrix(X)
        if self.kernel == "precomputed":
            return validate_data(self, X, dtype=np.float64, reset=reset)
        return validate_data(self, X, accept_sparse="csr", reset=reset)

    def _map(self, gram: np.ndarray, sketch: _sketches.Sketch) -> np.ndarray:
        """Returns Rᵀ U Λ^(−1/2), with R K Rᵀ = U Λ Uᵀ."""
        n = len(gram)
        if gram.shape != (n, n):
            raise ConfigError(f"X: shape {gram.shape}, expected a kernel matrix ({n}, {n}) of the training rows")
        if not np.allclose(gram, gram.T, rtol=1e-5, atol=1e-8 * np.abs(gram).max()):
            raise ConfigError("X: a matrix that is not symmetric, expected a kernel matrix of the training rows")
        if self.power is not None:
            raise ConfigError(f"power: {self.power!r}, allowed with kernel='precomputed': None")
        scores = None
        if isinstance(sketch, _sketches.Leverage):
            ridge = n * real(sketch.lambda_, "sketch_params['lambda_']") * np.eye(n)
            scores = np.linalg.solve(gram + ridge, gram).diagonal().clip(0).tolist()
        table = to_json(sketch.table(), "sketch", "kind")
        drawn = _dsokr.sketch_matrix(table, sketch.size, n, _seed(self.random_state), scores)
        sketched = drawn @ gram @ drawn.T
        values, vectors = np.linalg.eigh((sketched + sketched.T) / 2)
        largest = max(values[-1], -values[0])
        if not largest > 0 or values[0] < -1e-6 * largest:
            raise ConfigError(f"X: a matrix with the eigenvalue {values[0]}, expected a positive semi-definite kernel")
        kept = values > real(self.tolerance, "tolerance") * largest
        return drawn.T @ (vectors[:, kept] / np.sqrt(values[kept]))[:, ::-1]

    @property
    def _n_features_out(self) -> int:
        return self.map_.shape[1] if self.kernel == "precomputed" else self.basis_.rank

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


class _Machine(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """What the kernel machines share."""

    def _predictions(self, X: Any) -> np.ndarray:
        """Predictions of the machine, (n, p) float32."""
        check_is_fitted(self)
        X = validate_data(self, _matrix(X), accept_sparse="csr", reset=False)
        return self.machine_.predict(_rows(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class SketchedKernelRidge(_Machine):
    """Kernel ridge regression, of one number or a vector, in the span of sketched training inputs.

    It is the least of (1/n) Σ ‖h(xᵢ) − yᵢ‖² + ``alpha`` ‖h‖², without an intercept; scikit-learn's ``KernelRidge`` has
    n · ``alpha`` for its alpha. ``n_components`` is the size of the sketch, at most the number of training rows is used; with
    None there is no sketch and every training input is an anchor. Kernel, sketch and ``random_state`` are those of
    ``KernelSketch``, without "precomputed".
    """

    def __init__(
        self,
        kernel: str = "cosine",
        n_components: int | None = 100,
        alpha: float = 1e-3,
        *,
        gamma: float | None = None,
        kernel_params: Mapping[str, Any] | None = None,
        sketch: str = "subsampling",
        sketch_params: Mapping[str, Any] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.alpha = alpha
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.sketch = sketch
        self.sketch_params = sketch_params
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SketchedKernelRidge:
        """Fits on the rows of a dense or sparse matrix; ``y`` is (n,) or (n, p).

        With ``sample_weight`` the mean of squares is a weighted one: a pair of weight 2 counts as the pair twice, and one of
        weight 0 as if it were not there.
        """
        X, y = validate_data(self, _matrix(X), y, accept_sparse="csr", multi_output=True, y_numeric=True)
        if not isinstance(y, np.ndarray):
            raise ConfigError(f"y: {type(y).__name__}, expected a dense array")
        self._one = y.ndim == 1
        kept, weights = _kept(sample_weight, X)
        X, y = X[kept], y[kept]
        self.machine_ = _dsokr.KernelMachine.ridge(
            _training_rows(X),
            to_json(_kernel(self.kernel, self.gamma, self.kernel_params, X.shape[1]), "kernel"),
            np.ascontiguousarray(y.reshape(len(y), -1), np.float64),
            _alpha(self.alpha),
            _sized(self.n_components, X.shape[0], self.sketch, self.sketch_params, "sketch"),
            _seed(self.random_state),
            weights,
        )
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predictions, (n,) or (n, p) as ``y`` was: float64, with the precision of float32."""
        predictions = self._predictions(X).astype(np.float64)
        return predictions.ravel() if self._one else predictions


def _dense(rows: Any) -> np.ndarray:
    """Outputs as a dense array."""
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)


class IOKR(_Machine):
    """Input output kernel regression: predicts structured outputs, by kernel ridge regression in a feature space of them.

    Outputs ``y`` are rows of features: label sets, fingerprints, counts or numbers. h(x) is the least of
    (1/n) Σ ‖h(xᵢ) − ψ(yᵢ)‖² + ``alpha`` ‖h‖², and the prediction is the training output nearest to h(x).

    ``kernel`` compares inputs and ``output_kernel`` outputs; both are kernels of ``dsokr.Basis.fit`` by name, of width
    ``gamma`` and ``output_gamma`` where they have one. ``n_components`` is the size of the ``sketch`` of the outputs, at most the number of training rows is used; None is IOKR without a
    sketch of them. ``n_input_components`` is that of the ``input_sketch`` (default: none). ``random_state`` is that
    of ``KernelSketch``.

    After the fit ``candidates_`` are the training outputs as ``dsokr.Candidates``, with ids 0, 1, …, on which
    ``coordinates`` are ranked.
    """

    def __init__(
        self,
        kernel: str = "cosine",
        n_components: int | None = 300,
        alpha: float = 1e-3,
        *,
        gamma: float | None = None,
        kernel_params: Mapping[str, Any] | None = None,
        output_kernel: str = "linear",
        output_gamma: float | None = None,
        output_kernel_params: Mapping[str, Any] | None = None,
        sketch: str = "subsampling",
        sketch_params: Mapping[str, Any] | None = None,
        n_input_components: int | None = None,
        input_sketch: str = "subsampling",
        input_sketch_params: Mapping[str, Any] | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.alpha = alpha
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.output_kernel = output_kernel
        self.output_gamma = output_gamma
        self.output_kernel_params = output_kernel_params
        self.sketch = sketch
        self.sketch_params = sketch_params
        self.n_input_components = n_input_components
        self.input_sketch = input_sketch
        self.input_sketch_params = input_sketch_params
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> IOKR:
        """Fits on the rows of a dense or sparse matrix, and as many outputs: (n,), (n, d), sparse, or ``Rows``.

        ``sample_weight`` is that of ``SketchedKernelRidge.fit``.
        """
        X = _matrix(X)
        if isinstance(y, Rows):
            X = validate_data(self, X, accept_sparse="csr")
            if len(y) != X.shape[0]:
                raise ConfigError(f"y: {len(y)} rows, expected {X.shape[0]}")
        else:
            X, y = validate_data(self, X, y, accept_sparse="csr", multi_output=True)
            if y.dtype.kind not in "fiub":
                raise ConfigError(f"y: Unknown label type: dtype {y.dtype}, allowed: real numbers and bool")
        kept, weights = _kept(sample_weight, X)
        X = X[kept]
        self.outputs_ = y.select(kept.tolist()) if isinstance(y, Rows) else y[kept]
        n = X.shape[0]
        rows = self._output_rows()
        self.machine_ = _dsokr.KernelMachine.structured(
            _training_rows(X),
            to_json(_kernel(self.kernel, self.gamma, self.kernel_params, X.shape[1]), "kernel"),
            rows,
            to_json(
                _kernel(self.output_kernel, self.output_gamma, self.output_kernel_params, rows.shape[1]), "output_kernel"
            ),
            _sized(self.n_components, n, self.sketch, self.sketch_params, "sketch"),
            _alpha(self.alpha),
            _sized(self.n_input_components, n, self.input_sketch, self.input_sketch_params, "input_sketch"),
            _seed(self.random_state),
            weights,
        )
        self.candidates_ = self._candidates()
        return self

    def coordinates(self, X: Any) -> np.ndarray:
        """Returns h(x) of each row, (n, p) float32, which ``candidates_`` ranks."""
        return self._predictions(X)

    def predict(self, X: Any) -> Any:
        """Returns the training output nearest to h(x), of each row: rows of the kind that the fit was given."""
        coordinates = self.coordinates(X)
        best = self.candidates_.top_k(coordinates, 1)[0].ravel()
        return self.outputs_.select(best.tolist()) if isinstance(self.outputs_, Rows) else self.outputs_[best]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Returns how right the predictions are, 1 at best: of label sets, which are rows of several 0 and 1, the mean F1
        over the pairs (0 for wrong labels only), and of other outputs R², as scikit-learn has it for regressors."""
        predictions, right = (_dense(rows) for rows in (self.predict(X), y))
        if right.ndim == 2 and right.shape[1] > 1 and np.isin(right, (0, 1)).all() and np.isin(predictions, (0, 1)).all():
            # a pair without labels that is predicted so is right
            return float(f1_score(right, predictions, average="samples", zero_division=1.0, sample_weight=sample_weight))
        return float(r2_score(right.astype(np.float64), predictions.astype(np.float64), sample_weight=sample_weight))

    def _output_rows(self) -> Rows:
        outputs = self.outputs_
        return training_rows(outputs.reshape(-1, 1) if getattr(outputs, "ndim", 2) == 1 else outputs, "Y")

    def _candidates(self) -> Candidates:
        rows = self._output_rows()
        ids = [str(at) for at in range(len(rows))]
        return Candidates._of(self.machine_.candidates(rows, ids, [""] * len(rows), []))

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("candidates_", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "machine_"):
            self.candidates_ = self._candidates()
