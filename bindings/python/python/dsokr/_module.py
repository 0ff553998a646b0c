"""Modules of PyTorch as encoders of the trainer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._errors import ConfigError


class Encoder:
    """A module of PyTorch as the encoder of a training: ``dsokr.train(config, encoder=Encoder(module))``.

    ``module`` is a ``torch.nn.Module``, or a function or class that makes one for a number of coordinates p. It maps a list of n
    texts, or with ``vectors`` a tensor (n, d), to a tensor (n, p), each row from its own input; the mean of the targets is
    added to it. Its parameters with ``requires_grad`` are one parameter of the trainer, so optimiser, schedule, losses,
    early stop, checkpoints and ``resume`` are the configuration's. Other parameters stay as they are and are not kept in
    the run, and modules with buffers, such as batch normalisation, are refused. Dropout is drawn from the seed and the
    step. It computes on the CPU. ``Model.load(path, encoder=…)`` takes the same module; the command does not read such runs.
    """

    def __init__(self, module: Any, *, vectors: bool = False) -> None:
        self.vectors = bool(vectors)
        self._module = module
        self._start = None if _is_factory(module) else _Opened(module, None).initial

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
    """A module with what the trainer asks of it."""

    def __init__(self, module: Any, p: int | None, initial: np.ndarray | None = None) -> None:
        if any(True for _ in module.buffers()):
            raise ConfigError("encoder: a module with buffers, which a run does not keep, such as batch normalisation")
        self._module, self._p = module, p
        self._parameters = [each for each in module.parameters() if each.requires_grad]
        if not self._parameters:
            raise ConfigError("encoder: a module without parameters that are trained")
        self.initial = self._flat(self._parameters) if initial is None else initial

    def forward(self, inputs: Any, parameters: np.ndarray, key: int | None) -> tuple[np.ndarray, Any]:
        """Coordinates (n, p), and what ``backward`` needs; a pass with a ``key`` is one of training."""
        import torch

        training = key is not None
        with torch.no_grad():
            torch.nn.utils.vector_to_parameters(torch.from_numpy(parameters), self._parameters)
        self._module.train(training)
        inputs = torch.from_numpy(inputs) if isinstance(inputs, np.ndarray) else inputs
        with torch.random.fork_rng(devices=[]), torch.set_grad_enabled(training):
            if training:
                torch.manual_seed(key)
            z = self._module(inputs)
        if tuple(z.shape) != (len(inputs), self._p):
            raise ConfigError(f"encoder: coordinates of shape {tuple(z.shape)}, expected ({len(inputs)}, {self._p})")
        return np.ascontiguousarray(z.detach().numpy(), np.float32), z

    def backward(self, z: Any, gradient: np.ndarray) -> np.ndarray:
        """The gradient of the parameters for that of the coordinates."""
        import torch

        found = torch.autograd.grad(z, self._parameters, torch.from_numpy(gradient).to(z.dtype), allow_unused=True)
        pairs = zip(found, self._parameters, strict=True)
        return self._flat([torch.zeros_like(own) if part is None else part for part, own in pairs])

    @staticmethod
    def _flat(tensors: list[Any]) -> np.ndarray:
        return np.concatenate([each.detach().numpy().ravel() for each in tensors]).astype(np.float32)


def as_encoder(encoder: Encoder | Callable[[int], Any] | Any | None) -> Encoder | None:
    """An encoder of the trainer from a module, or a function that makes one."""
    return encoder if encoder is None or isinstance(encoder, Encoder) else Encoder(encoder)
