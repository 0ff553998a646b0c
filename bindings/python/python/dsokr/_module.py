"""Modules of PyTorch as encoders of the trainer."""

from __future__ import annotations

import contextlib
import copy
import math
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ._errors import ConfigError
from ._progress import LOGGER

_Described: TypeAlias = tuple[str, list[int], np.ndarray, bool]
"""Name, shape and values of a tensor, and whether gradients reach it."""

# Each pass fills its module with the values of its run, so that passes of one module exclude each other, also those of two
# models that were given the same module.
_LOCKS: weakref.WeakKeyDictionary[Any, threading.RLock] = weakref.WeakKeyDictionary()
_FIRST = threading.Lock()


def _lock_of(module: Any) -> threading.RLock:
    # torch.compile returns another object, which fills the same parameters
    module = getattr(module, "_orig_mod", module)
    with _FIRST:
        return _LOCKS.setdefault(module, threading.RLock())


class Encoder:
    """A module of PyTorch as the encoder of a training: ``dsokr.train(config, encoder=Encoder(module))``.

    ``module`` is a ``torch.nn.Module``, or a function or class that makes one for a number of coordinates p. It maps a list of n
    texts, or with ``vectors`` a tensor (n, d), to a tensor (n, p), each row from its own input. Where ``vectors`` is None, it
    reads what the pairs of a fit, the configuration's own encoder or the run read. Optimiser, schedule, losses, early stop,
    checkpoints and ``resume`` are the configuration's.

    Coordinates are b + module(inputs). b, the ``offset`` of a ``Model``, begins as the mean of the targets and is trained as
    ``encoder.offset``: a last layer with a bias would have it twice. ``{"parameters": "encoder.offset", "learning_rate": 0.0}``
    in ``training.groups`` keeps it as it begins.

    Its parameters are parameters of the trainer with their names behind ``encoder.module.``, which the patterns of
    ``training.groups`` find: ``{"parameters": "embedding", "learning_rate": 1e-4}``. Vectors are not decayed, and
    ``training.layer_decay`` counts layers that are numbered in names such as ``layers.0.weight``. Parameters without
    ``requires_grad`` stay as they are. A warning names other parameters that no gradient has reached. All parameters and the buffers
    of the module's ``state_dict``, such as the running statistics of batch normalisation, are kept in checkpoints and in the run, also
    where ``forward`` assigns a buffer. A tensor that ``forward`` makes is refused, except for buffers with ``persistent=False``.
    Numbers of the run are 32-bit floats. ``torch.compile`` changes no name, and a run of a compiled module is read with the module
    itself.

    A module starts from the values that it holds when its ``Encoder`` is made, which are those of the last pass of a training or
    model that had it before; all trainings with one ``Encoder`` start from the same values.

    It computes on the device of its first parameter, to which vectors are moved, in the type of its first floating one; texts come
    as a list. Dropout is drawn from the seed and the step. ``Model.load(path, encoder=…)`` takes the same module; the command does not read such runs.
    """

    def __init__(self, module: Any, *, vectors: bool | None = None) -> None:
        self.vectors = None if vectors is None else bool(vectors)
        self._module = module
        # the parameters that a warning has named: trainings within one fit have the same ones
        self._named: set[str] = set()
        # later trainings start from these values too
        self._start = None if _is_factory(module) else _start_of(module)

    def reading(self, vectors: bool) -> Encoder:
        """Returns the encoder for inputs that are vectors, or texts, unless it says itself which it reads."""
        if self.vectors is not None:
            return self
        found = copy.copy(self)
        found.vectors = vectors
        return found

    def open(self, p: int, seed: int) -> _Opened:
        """Returns the module for p coordinates, for the trainer."""
        import torch

        if self._start is not None:
            return _Opened(self._module, p, self._start, self._named)
        is_gpu_used = torch.cuda.is_initialized()
        gpus = list(range(torch.cuda.device_count())) if is_gpu_used else []
        try:
            with torch.random.fork_rng(devices=gpus):
                # also for what the function makes on a GPU
                torch.manual_seed(seed)
                module = self._module(p)
                if not hasattr(module, "named_parameters"):
                    raise ConfigError(f"encoder: the function returns {type(module).__name__}, expected a torch.nn.Module")
        finally:
            if not is_gpu_used:
                # GPUs have no state to restore before their first use, but the seed of the caller
                torch.cuda.manual_seed_all(torch.initial_seed())
        return _Opened(module, p, _start_of(module), self._named)


def _is_factory(module: Any) -> bool:
    if not isinstance(module, type) and hasattr(module, "parameters"):
        return False
    if not callable(module):
        raise ConfigError(f"encoder: {type(module).__name__}, expected a torch.nn.Module or a function that makes one")
    return True


class _Start(NamedTuple):
    """The parameters and buffers of a module as it is at first."""

    parameters: list[_Described]
    buffers: list[_Described]


def _start_of(module: Any) -> _Start:
    parameters, buffers = dict(module.named_parameters()), _kept_buffers(module)
    if not any(each.requires_grad for each in parameters.values()):
        raise ConfigError("encoder: a module without parameters that are trained")
    with _lock_of(module):
        return _Start(_described(parameters), _described(buffers))


def _kept_buffers(module: Any) -> dict[str, Any]:
    """Returns the buffers that the ``state_dict`` has."""
    kept = module.state_dict()
    return {name: each for name, each in module.named_buffers() if name in kept}


class _Pass(NamedTuple):
    """What ``backward`` needs of a pass of training: its coordinates, and the parameters that it read."""

    z: Any
    parameters: list[Any]


class _Opened:
    """A module with what the trainer asks of it.

    ``parameters`` and ``buffers`` are lists of name, shape, values and whether gradients reach them. A tensor of more than two
    dimensions has the shape of its first one by all others.
    """

    def __init__(self, module: Any, p: int, start: _Start, named: set[str]) -> None:
        self._module, self._p, self._named = module, p, named
        self.parameters, self.buffers = start
        # a module may put another tensor in the place of one, as `self.mean = 0.9 * self.mean + …` does: names stay
        self._parameter_names = _names_of(start.parameters, dict(module.named_parameters()))
        buffers = _kept_buffers(module)
        self._buffers = {name: buffers[name] for name in _names_of(start.buffers, buffers)}
        # the parameters that no gradient has reached so far; none before the first step
        self._unreached: set[str] | None = None
        # whether torch.autograd.grad has failed to find a gradient, which a backward pass through the whole graph may find
        self._is_whole_graph_needed = False

    def forward(
        self,
        inputs: Any,
        key: int | None,
        joined: list[int],
        values: np.ndarray,
        others: list[tuple[int, np.ndarray]],
        buffers: list[np.ndarray],
    ) -> tuple[np.ndarray, _Pass, list[np.ndarray]]:
        """Coordinates (n, p), what ``backward`` needs, and the buffers behind the pass; one with a ``key`` is of training.

        ``values`` has the parameters at the places ``joined``, one after the other; ``others`` has those at other places.
        """
        import torch

        with _lock_of(self._module):
            training = key is not None
            if not training:
                self._warn_of_unreached()
            parameters = self._present_parameters()
            chosen = [parameters[at] for at in joined]
            parts = torch.from_numpy(values).split([each.numel() for each in chosen])
            with torch.no_grad():
                for parameter, part in zip(chosen, parts, strict=True):
                    _fill(parameter, part)
                for at, array in others:
                    _fill(parameters[at], torch.from_numpy(array))
                for buffer, array in zip(self._own_buffers(), buffers, strict=True):
                    _fill(buffer, torch.from_numpy(array))
            self._module.train(training)
            device = parameters[0].device
            # one is trained, and complex ones are refused before
            dtype = next(each.dtype for each in parameters if each.is_floating_point())
            inputs = torch.from_numpy(inputs).to(device, dtype) if isinstance(inputs, np.ndarray) else inputs
            with _drawn_from(key, device), _tracked(parameters, joined), torch.set_grad_enabled(training):
                z = self._module(inputs)
            if not isinstance(z, torch.Tensor):
                raise ConfigError(f"encoder: the module returns {type(z).__name__}, expected a tensor ({len(inputs)}, {self._p})")
            if tuple(z.shape) != (len(inputs), self._p):
                raise ConfigError(f"encoder: coordinates of shape {tuple(z.shape)}, expected ({len(inputs)}, {self._p})")
            if training:
                # the pass may have made some
                self._present_parameters()
                self._check_buffers()
            # copies, since a later pass fills the buffers
            changed = [_array(each).ravel().copy() for each in self._present_buffers()] if training else []
            return _array(z).copy(), _Pass(z, parameters), changed

    def backward(self, graph: _Pass, gradient: np.ndarray, joined: list[int]) -> np.ndarray:
        """Returns the gradient of the parameters at some places, one after the other, for that of the coordinates."""
        import torch

        z, parameters = graph
        dz = torch.from_numpy(gradient).to(z.device, z.dtype)
        with _lock_of(self._module):
            with _tracked(parameters, joined):
                found = self._gradients(z, dz, [parameters[at] for at in joined], parameters)
            self._note_unreached(joined, found)
        parts = [torch.zeros_like(parameters[at]) if grad is None else grad for grad, at in zip(found, joined, strict=True)]
        # an nn.Embedding with sparse=True has a sparse one
        dense = [part if part.layout == torch.strided else part.to_dense() for part in parts]
        return np.concatenate([_array(part).ravel() for part in dense])

    def _gradients(self, z: Any, dz: Any, chosen: list[Any], parameters: list[Any]) -> list[Any]:
        """Returns the gradients of the parameters that are ``chosen``; None where there is none."""
        import torch

        self._is_whole_graph_needed |= _has_python_functions(z)
        if not self._is_whole_graph_needed:
            # This calls no hook of the caller that takes gradients, and changes no tensor outside the module. A parameter that
            # `forward` has frozen is a RuntimeError here. For any other error the backward pass below raises the same one.
            with contextlib.suppress(RuntimeError):
                found = torch.autograd.grad(z, chosen, dz, allow_unused=True, retain_graph=True)
                if all(gradient is not None for gradient in found):
                    return list(found)
            self._is_whole_graph_needed = True
        before = [each.grad for each in parameters]
        try:
            for each in parameters:
                each.grad = None
            torch.autograd.backward(z, dz)
            return [each.grad for each in chosen]
        finally:
            for each, grad in zip(parameters, before, strict=True):
                each.grad = grad

    def _present_parameters(self) -> list[Any]:
        """Returns the parameters that the module has now. Refuses one that no pass fills, and two that have become one."""
        present = _tensors(self._parameter_names, self._module.named_parameters(remove_duplicate=False), self.parameters)
        names: dict[int, str] = {}
        for parameter, (name, *_) in zip(present, self.parameters, strict=True):
            first = names.setdefault(id(parameter), name)
            if first != name:
                raise ConfigError(f"encoder: {first} and {name} are one parameter now: make a new dsokr.Encoder")
        for name, parameter in self._module.named_parameters():
            if id(parameter) not in names:
                remedy = "make it in __init__, and tie weights again behind load_state_dict(assign=True)"
                raise ConfigError(f"encoder: {_plain(name)} is a new parameter: {remedy}")
        return present

    def _check_buffers(self) -> None:
        """Refuses a buffer of the ``state_dict`` that the module did not have at first: no run keeps it."""
        new = [name for name, _ in self._module.named_buffers() if name not in self._buffers]
        # most modules have none, and a state_dict takes longer
        kept = _kept_buffers(self._module) if new else {}
        for name in new:
            if name in kept:
                remedy = "give it values in __init__; a buffer with persistent=False is not kept"
                raise ConfigError(f"encoder: forward has made the buffer {_plain(name)}: {remedy}")

    def _present_buffers(self) -> list[Any]:
        """Returns the buffers that the module has now."""
        remedy = "; a buffer with persistent=False is not kept"
        return _tensors(list(self._buffers), self._module.named_buffers(remove_duplicate=False), self.buffers, remedy)

    def _own_buffers(self) -> list[Any]:
        """Returns the buffers that the module has now, each in memory that may be filled: one that the module has assigned
        may be a view of a parameter."""
        import torch

        for (name, known), present in zip(self._buffers.items(), self._present_buffers(), strict=True):
            if present is not known:
                owner, _, attribute = name.rpartition(".")
                self._buffers[name] = torch.empty_like(present, requires_grad=False, memory_format=torch.contiguous_format)
                setattr(self._module.get_submodule(owner), attribute, self._buffers[name])
        return list(self._buffers.values())

    def _note_unreached(self, joined: list[int], gradients: list[Any]) -> None:
        """Notes the parameters that no gradient has reached so far."""
        without = {self.parameters[at][0] for at, gradient in zip(joined, gradients, strict=True) if gradient is None}
        self._unreached = without if self._unreached is None else self._unreached & without

    def _warn_of_unreached(self) -> None:
        """Warns, at the first evaluation behind a step, of parameters that are not trained and that no warning has named."""
        unreached = (self._unreached or set()) - self._named
        if not unreached:
            return
        self._named |= unreached
        names = [name for name, *_ in self.parameters if name in unreached]
        more = f" and {len(names) - 10} more" if len(names) > 10 else ""
        message = "encoder: no gradient has reached %s%s so far; set requires_grad = False where that is meant"
        LOGGER.warning(message, ", ".join(names[:10]), more)


def _has_python_functions(z: Any) -> bool:
    """Returns whether a function written in Python, such as that of reentrant checkpointing, which computes a block again
    and finds the gradients of its parameters in a backward pass of its own, has a part in a tensor."""
    import torch

    seen: set[Any] = set()
    left = [z.grad_fn]
    while left:
        node = left.pop()
        if node is None or node in seen:
            continue
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            return True
        seen.add(node)
        left += [before for before, _ in node.next_functions]
    return False


def _plain(name: str) -> str:
    """Returns the name of a tensor in a module that is not compiled: torch.compile puts the module behind ``_orig_mod``."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")


def _names_of(described: list[_Described], tensors: dict[str, Any]) -> list[str]:
    """Returns the names that a module has for its tensors, in the order in which they are described."""
    names = {_plain(name): name for name in tensors}
    known = [shown for shown, *_ in described]
    if names.keys() != set(known):
        changed = ", ".join(sorted(names.keys() ^ set(known)))
        raise ConfigError(f"encoder: the module has other tensors than when its dsokr.Encoder was made ({changed}): make a new one")
    return [names[shown] for shown in known]


def _tensors(names: list[str], tensors: Iterable[tuple[str, Any]], described: list[_Described], remedy: str = "") -> list[Any]:
    """Returns the tensors that a module has now by these names, of the numbers of values that they had. ``remedy`` ends
    what an error says."""
    present = dict(tensors)
    found = []
    for name, (shown, _, values, _) in zip(names, described, strict=True):
        tensor = present.get(name)
        if tensor is None:
            raise ConfigError(f"encoder: {shown} is no longer a tensor of the module, expected {values.size} numbers{remedy}")
        if tensor.numel() != values.size:
            raise ConfigError(f"encoder: {shown} has {tensor.numel()} numbers now, expected {values.size} as before{remedy}")
        found.append(tensor)
    return found


@contextlib.contextmanager
def _drawn_from(key: int | None, device: Any) -> Iterator[None]:
    """Keeps the caller's random numbers, of the CPU and of all GPUs, as they are; with a key, the CPU and ``device`` draw from
    it meanwhile."""
    import torch

    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        if key is not None:
            # torch.manual_seed would seed all GPUs
            torch.default_generator.manual_seed(key)
            if device.type == "cuda":
                with torch.cuda.device(device):
                    torch.cuda.manual_seed(key)
            elif device.type != "cpu":
                torch.get_device_module(device).manual_seed(key)
        yield


@contextlib.contextmanager
def _tracked(parameters: list[Any], places: list[int]) -> Iterator[None]:
    """Has gradients reach the parameters at some places alone meanwhile: a rate of 0 takes others out of the backward pass, which
    computes checkpointed blocks again. Without places there is no backward pass."""
    chosen = set(places or range(len(parameters)))
    others = [each for at, each in enumerate(parameters) if each.requires_grad and at not in chosen]
    try:
        for each in others:
            each.requires_grad_(False)
        yield
    finally:
        for each in others:
            each.requires_grad_(True)


def _array(tensor: Any) -> np.ndarray:
    """Returns a tensor of any device and type as 32-bit floats, which may share its memory."""
    import torch

    return tensor.detach().to("cpu", torch.float32).contiguous().numpy()


def _fill(tensor: Any, values: Any) -> None:
    """Sets a tensor of any device and type from a vector."""
    values = values if tensor.is_floating_point() else values.round()
    tensor.copy_(values.view(tensor.shape))


def _described(tensors: dict[str, Any]) -> list[_Described]:
    """Describes each tensor, under the name that it has in a module that is not compiled."""
    import torch

    found: list[_Described] = []
    known: set[str] = set()
    for name, tensor in tensors.items():
        name = _plain(name)
        if name in known:
            raise ConfigError(f"encoder: two tensors with the name {name}, apart from _orig_mod of torch.compile: give one a different name")
        known.add(name)
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
    """Returns an encoder of the trainer from a module, or a function that makes one, which reads texts or ``vectors``."""
    if encoder is None:
        return None
    encoder = encoder if isinstance(encoder, Encoder) else Encoder(encoder)
    return encoder.reading(vectors()) if encoder.vectors is None else encoder
