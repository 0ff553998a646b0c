"""Targets for your own training loop, and the losses of the trainer as functions of PyTorch."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._errors import ConfigError
from ._rows import as_matrix, as_vector, real
from ._tables import Loss

_PARAMETERS = {
    "square": (),
    "huber": ("kappa",),
    "epsilon-insensitive": ("epsilon",),
    "epsilon-insensitive-square": ("epsilon",),
    "contrastive": ("temperature",),
    "softmax": ("temperature",),
}


class Targets:
    """What a model learns to predict for n outputs; ``targets[index]`` are those of some of them, such as a batch, and
    ``targets[5]`` a batch of one."""

    coordinates: np.ndarray
    """ψ̃(y), (n, p) float32."""
    residuals: np.ndarray
    """r(y), the squared distances of outputs from the span of the basis, which no prediction reaches: (n,) float64."""
    outputs: np.ndarray
    """The number of each pair's output among the distinct ones, (n,) int64."""
    distinct: np.ndarray
    """The coordinates of all distinct outputs that ``Basis.targets`` was given, (k, p) float32."""

    def __init__(self, coordinates: np.ndarray, residuals: np.ndarray, outputs: np.ndarray, distinct: np.ndarray) -> None:
        self.coordinates, self.residuals, self.outputs, self.distinct = coordinates, residuals, outputs, distinct
        self._tensors: dict[Any, Any] = {}

    @classmethod
    def from_coordinates(cls, coordinates: Any, squared_norms: Any = None) -> Targets:
        """The targets of outputs whose coordinates (n, p) were found without a ``Basis``, such as those of a kernel of your own by
        ``dsokr.sklearn.KernelSketch``. ``squared_norms`` are k(y, y), (n,); without them the residuals are 0. Outputs with equal
        coordinates are one.
        """
        # a copy: a later change of the array would not reach the distinct ones
        matrix = as_matrix(coordinates, "coordinates").copy()
        _check_finite(matrix, "coordinates")
        if squared_norms is None:
            return cls._of(matrix, np.zeros(len(matrix)))
        norms = as_vector(squared_norms, "squared_norms", np.float64)
        if len(norms) != len(matrix):
            raise ConfigError(f"squared_norms: {len(norms)}, expected {len(matrix)}, one for each row of coordinates")
        _check_finite(norms, "squared_norms")
        # a projection is no longer than what it projects, but for rounding
        return cls._of(matrix, (norms - np.square(matrix.astype(np.float64)).sum(1)).clip(0))

    @classmethod
    def _of(cls, coordinates: np.ndarray, residuals: np.ndarray) -> Targets:
        distinct, outputs = np.unique(coordinates, axis=0, return_inverse=True)
        return cls(coordinates, residuals, outputs.ravel().astype(np.int64), distinct)

    def loss(self, z: Any, loss: Loss = "square") -> Any:
        """Returns the mean loss of predictions ``z``, a tensor of PyTorch (b, p), for these targets: see ``Basis.loss``."""
        return _loss(z, self, loss)

    def __getitem__(self, index: Any) -> Targets:
        chosen = np.asarray(index) if not isinstance(index, slice) else index
        # an empty list is no index of floats
        chosen = chosen.astype(np.int64) if isinstance(chosen, np.ndarray) and not chosen.size else chosen
        if isinstance(chosen, np.ndarray):
            if chosen.ndim > 1:
                raise ConfigError(f"index: shape {chosen.shape}, expected a number, a slice, or a vector of places or bools")
            # a number is a batch of one
            chosen = np.atleast_1d(chosen)
        found = Targets(self.coordinates[chosen], self.residuals[chosen], self.outputs[chosen], self.distinct)
        # the distinct outputs are sent to a device once
        found._tensors = self._tensors
        return found

    def __len__(self) -> int:
        return len(self.coordinates)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.coordinates, dtype=dtype, copy=copy)

    def __getstate__(self) -> dict[str, Any]:
        # a different process makes its own tensors, and may lack the device of these
        return {**self.__dict__, "_tensors": {}}

    def __repr__(self) -> str:
        return f"Targets({len(self)} of dimension {self.distinct.shape[1]}, {len(self.distinct)} distinct outputs)"

    def _all_distinct(self, z: Any) -> Any:
        """Returns the distinct outputs at unit length, where predictions are."""
        import torch

        place = (z.device, z.dtype)
        if place not in self._tensors:
            # kept for later calls, which may ask for gradients where this one is an evaluation
            with torch.inference_mode(False), torch.no_grad():
                self._tensors[place] = _unit(_like(self.distinct, z))
        return self._tensors[place]


def _check_finite(array: np.ndarray, name: str) -> None:
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        at = tuple(int(place) for place in wrong[0])
        raise ConfigError(f"{name}: {array[at]} at {', '.join(map(str, at))}, expected finite numbers")


def _loss(z: Any, targets: Targets, loss: Loss) -> Any:
    table = {"name": loss} if isinstance(loss, str) else dict(loss)
    name = table.pop("name", None)
    if name not in _PARAMETERS:
        raise ConfigError(f"loss: {name!r}, allowed: {', '.join(map(repr, _PARAMETERS))}")
    unknown = table.keys() - set(_PARAMETERS[name])
    if unknown:
        raise ConfigError(f"loss: {sorted(unknown)[0]!r} is no parameter of {name!r}, which has {_PARAMETERS[name] or 'none'}")
    if not hasattr(z, "backward"):
        raise ConfigError(f"z: {type(z).__name__}, expected a tensor of PyTorch")
    shape = (len(targets), targets.distinct.shape[1])
    if tuple(z.shape) != shape:
        raise ConfigError(f"z: shape {tuple(z.shape)}, expected {shape}, a row for each target")
    with _without_autocast(z):
        return _measured(name, _in_32_bits(z), targets, table)


def _without_autocast(z: Any) -> Any:
    """A context in which products keep the type of their factors: autocast computes them in 16 bits."""
    import torch

    kind = z.device.type
    return torch.autocast(kind, enabled=False) if torch.amp.is_autocast_available(kind) else contextlib.nullcontext()


def _in_32_bits(z: Any) -> Any:
    """Predictions of at least 32 bits: 16 round cosines to two or three digits, and the least distance to 0."""
    import torch

    return z.float() if z.dtype in (torch.float16, torch.bfloat16) else z


def _measured(name: str, z: Any, targets: Targets, table: Mapping[str, Any]) -> Any:
    """The mean loss with this name and the other parameters of its ``table``."""
    if name in ("contrastive", "softmax"):
        return _cross_entropy(name, z, targets, table.get("temperature", 0.07))
    squared = (z - _like(targets.coordinates, z)).square().sum(1) + _like(targets.residuals, z)
    if name == "square":
        return squared.mean()
    root = squared.clamp(min=1e-12).sqrt()
    if name == "huber":
        kappa = _parameter(table, "kappa")
        inner = root.clamp(max=kappa)
        return (inner * (root - inner / 2)).mean()
    excess = (root - _parameter(table, "epsilon")).clamp(min=0)
    return (excess if name == "epsilon-insensitive" else excess.square()).mean()


def _cross_entropy(name: str, z: Any, targets: Targets, temperature: Any) -> Any:
    """The mean cross-entropy of finding each output by its prediction, among all distinct outputs, or among those of the batch and
    also each prediction by its output."""
    import torch
    from torch.nn.functional import cross_entropy

    if not hasattr(temperature, "backward") and not real(temperature, "loss['temperature']") > 0:
        raise ConfigError(f"loss: temperature {temperature}, allowed: numbers above 0, or a tensor")
    outputs = torch.as_tensor(targets.outputs, device=z.device)
    if name == "softmax":
        return cross_entropy(_unit(z) @ targets._all_distinct(z).T / temperature, outputs)
    scores = _unit(z) @ _unit(_like(targets.coordinates, z)).T / temperature
    # pairs with the same output are no negatives of each other
    repeated = (outputs[:, None] == outputs[None, :]).fill_diagonal_(False)
    scores = scores.masked_fill(repeated, -torch.inf)
    right = torch.arange(len(targets), device=z.device)
    return (cross_entropy(scores, right) + cross_entropy(scores.T, right)) / 2


def _parameter(table: Mapping[str, Any], name: str) -> float:
    if name not in table:
        raise ConfigError(f"loss: {name!r} is missing")
    value = real(table[name], f"loss[{name!r}]")
    # with ε = 0 it is the ℓ1 loss; κ = 0 would leave nothing
    allowed = "numbers from 0" if name == "epsilon" else "numbers above 0"
    if value < 0 or value == 0 and name != "epsilon":
        raise ConfigError(f"loss: {name} = {value}, allowed: {allowed}")
    return value


def _like(values: np.ndarray, z: Any) -> Any:
    import torch

    return torch.as_tensor(values, dtype=z.dtype, device=z.device)


def _unit(rows: Any) -> Any:
    return rows / rows.square().sum(1, keepdim=True).clamp(min=1e-12).sqrt()
