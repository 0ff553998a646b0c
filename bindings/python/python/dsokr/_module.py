"""Modules of PyTorch as encoders of the trainer."""

from __future__ import annotations

import copy
import math
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ._errors import ConfigError

# Each pass fills its module with the values of its run, so that passes of one module exclude each other, also those of two
# models that were given the same module.
_LOCKS: weakref.WeakKeyDictionary[Any, threading.RLock] = weakref.WeakKeyDictionary()
_FIRST = threading.Lock()


def _lock_of(module: Any) -> threading.RLock:
    with _FIRST:
        return _LOCKS.setdefault(module, threading.RLock())


class Encoder:
    """A module of PyTorch as the encoder of a training: ``dsokr.train(config, encoder=Encoder(module))``.

    ``module`` is a ``torch.nn.Module``, or a function or class that makes one for a number of coordinates p. It maps a list of n
    texts, or with ``vectors`` a tensor (n, d), to a tensor (n, p), each row from its own input; the mean of the targets is
    added to it. Where ``vectors`` is None, it reads what the pairs of a fit, the configuration's own encoder or the run read.
    Optimiser, schedule, losses, early stop, checkpoints and ``resume`` are the configuration's.

    Its parameters are parameters of the trainer with their names behind ``encoder.module.``, which the patterns of
    ``training.groups`` find: ``{"parameters": "embedding", "learning_rate": 1e-4}``. Vectors are not decayed, and
    ``training.layer_decay`` counts layers that are numbered in names such as ``layers.0.weight``. Parameters without
    ``requires_grad`` stay as they are. They and the buffers of the module's ``state_dict``, such as the running statistics of
    batch normalisation, are kept in checkpoints and in the run. Numbers of the run are 32-bit floats.

    It computes on the device of its first parameter, to which vectors are moved, in the type of its first floating one; texts come
    as a list. Dropout is drawn from the seed and the step. ``Model.load(path, encoder=…)`` takes the same module; the command does not read such runs.
    """

    def __init__(self, module: Any, *, vectors: bool | None = None) -> None:
        self.vectors = None if vectors is None else bool(vectors)
        self._module = module
        # later trainings start from these values too
        self._start = None if _is_factory(module) else _Opened(module, None)

    def reading(self, vectors: bool) -> Encoder:
        """The encoder for inputs that are vectors, or texts, unless it says itself which it reads."""
        if self.vectors is not None:
            return self
        found = copy.copy(self)
        found.vectors = vectors
        return found

    def open(self, p: int, seed: int) -> _Opened:
        """The module for p coordinates, for the trainer."""
        import torch

        if self._start is not None:
            return _Opened(self._module, p, self._start)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return _Opened(self._module(p), p)


def _is_factory(module: Any) -> bool:
    if not isinstance(module, type) and hasattr(module, "parameters"):
        return False
    if not callable(module):
        raise ConfigError(f"encoder: {type(module).__name__}, expected a torch.nn.Module or a function that makes one")
    return True


class _Opened:
    """A module with what the trainer asks of it.

    ``parameters`` and ``buffers`` are lists of name, shape, values and whether gradients reach them. A tensor of more than two
    dimensions has the shape of its first one by all others.
    """

    def __init__(self, module: Any, p: int | None, start: _Opened | None = None) -> None:
        self._module, self._p = module, p
        kept = module.state_dict()
        self._lock = _lock_of(module)
        parameters = dict(module.named_parameters())
        buffers = {name: each for name, each in module.named_buffers() if name in kept}
        self._parameters, self._buffers = list(parameters.values()), list(buffers.values())
        if not any(each.requires_grad for each in self._parameters):
            raise ConfigError("encoder: a module without parameters that are trained")
        self._device = self._parameters[0].device
        with self._lock:
            self.parameters = _described(parameters) if start is None else start.parameters
            self.buffers = _described(buffers) if start is None else start.buffers
        # one is trained, and complex ones are refused above
        self._dtype = next(each.dtype for each in self._parameters if each.is_floating_point())

    def forward(
        self,
        inputs: Any,
        key: int | None,
        joined: list[int],
        values: np.ndarray,
        others: list[tuple[int, np.ndarray]],
        buffers: list[np.ndarray],
    ) -> tuple[np.ndarray, Any, list[np.ndarray]]:
        """Coordinates (n, p), what ``backward`` needs, and the buffers behind the pass; one with a ``key`` is of training.

        ``values`` has the parameters at the places ``joined``, one after the other; ``others`` has those at other places.
        """
        import torch

        with self._lock:
            training = key is not None
            chosen = [self._parameters[at] for at in joined]
            parts = torch.from_numpy(values).split([each.numel() for each in chosen])
            with torch.no_grad():
                for parameter, part in zip(chosen, parts, strict=True):
                    _fill(parameter, part)
                for at, array in others:
                    _fill(self._parameters[at], torch.from_numpy(array))
                for buffer, array in zip(self._buffers, buffers, strict=True):
                    _fill(buffer, torch.from_numpy(array))
            self._module.train(training)
            inputs = torch.from_numpy(inputs).to(self._device, self._dtype) if isinstance(inputs, np.ndarray) else inputs
            drawn = [self._device] if self._device.type == "cuda" else []
            with torch.random.fork_rng(devices=drawn), torch.set_grad_enabled(training):
                if training:
                    torch.manual_seed(key)
                z = self._module(inputs)
            if not isinstance(z, torch.Tensor):
                raise ConfigError(f"encoder: the module returns {type(z).__name__}, expected a tensor ({len(inputs)}, {self._p})")
            if tuple(z.shape) != (len(inputs), self._p):
                raise ConfigError(f"encoder: coordinates of shape {tuple(z.shape)}, expected ({len(inputs)}, {self._p})")
            # copies, since a later pass fills the buffers
            changed = [_array(each).ravel().copy() for each in self._buffers] if training else []
            return _array(z).copy(), z, changed

    def backward(self, z: Any, gradient: np.ndarray, joined: list[int]) -> np.ndarray:
        """The gradient of the parameters at some places, one after the other, for that of the coordinates."""
        import torch

        chosen = [self._parameters[at] for at in joined]
        dz = torch.from_numpy(gradient).to(z.device, z.dtype)
        found = torch.autograd.grad(z, chosen, dz, allow_unused=True)
        pairs = zip(found, chosen, strict=True)
        return np.concatenate([_array(torch.zeros_like(own) if part is None else part).ravel() for part, own in pairs])


def _array(tensor: Any) -> np.ndarray:
    """A tensor of any device and type as 32-bit floats, which may share its memory."""
    import torch

    return tensor.detach().to("cpu", torch.float32).contiguous().numpy()


def _fill(tensor: Any, values: Any) -> None:
    """Sets a tensor of any device and type from a vector."""
    values = values if tensor.is_floating_point() else values.round()
    tensor.copy_(values.view(tensor.shape))


def _described(tensors: dict[str, Any]) -> list[tuple[str, list[int], np.ndarray, bool]]:
    """Name, shape, values, and whether gradients reach it, of each tensor."""
    import torch

    found = []
    for name, tensor in tensors.items():
        if torch.nn.parameter.is_lazy(tensor):
            raise ConfigError(f"encoder: {name} has no values yet: call the module once before")
        if tensor.is_complex():
            raise ConfigError(f"encoder: {name} has complex numbers, expected real ones")
        # a training changes the tensor in place
        values = _array(tensor).copy()
        if not np.isfinite(values).all():
            raise ConfigError(f"encoder: {name} has numbers that are not finite; a buffer with persistent=False is not kept")
        if not tensor.is_floating_point() and not torch.equal(torch.from_numpy(values).to(tensor), tensor.detach()):
            raise ConfigError(f"encoder: {name} has numbers that 32-bit floats do not hold; a buffer with persistent=False is not kept")
        shape = list(tensor.shape) or [1]
        shape = shape if len(shape) < 3 else [shape[0], math.prod(shape[1:])]
        found.append((name, shape, values.ravel(), bool(tensor.requires_grad)))
    return found


def as_encoder(encoder: Encoder | Callable[[int], Any] | Any | None, vectors: Callable[[], bool]) -> Encoder | None:
    """An encoder of the trainer from a module, or a function that makes one, which reads texts or ``vectors``."""
    if encoder is None:
        return None
    encoder = encoder if isinstance(encoder, Encoder) else Encoder(encoder)
    return encoder.reading(vectors()) if encoder.vectors is None else encoder
