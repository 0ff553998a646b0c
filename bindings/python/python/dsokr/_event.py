"""Steps and evaluations of a training, as callbacks see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from . import _dsokr


class Event(dict[str, Any]):
    """A step or an evaluation of a training: its numbers by name, and what a callback may ask of the training.

    An evaluation is a line of log.jsonl, with "metrics". What is asked for at a step or an evaluation of an encoder counts
    from there on, and a changed rate is part of checkpoints: ``resume`` goes on with it.
    """

    def __init__(self, numbers: dict[str, Any], control: _dsokr.Control) -> None:
        super().__init__(numbers)
        self._control = control

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        # a copy, or one for another process, holds the numbers alone
        return dict, (dict(self),)

    @property
    def step(self) -> int:
        """The number of steps done."""
        return self["step"]

    @property
    def epoch(self) -> float:
        """The number of epochs done, a fraction within an epoch."""
        return self["epoch"]

    @property
    def loss(self) -> float:
        """The loss of the step; of an evaluation the mean loss of the steps since the evaluation before."""
        return self["loss"]

    @property
    def metrics(self) -> dict[str, Any] | None:
        """The metrics of the validation split, or None at a step."""
        return self.get("metrics")

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next step."""
        return self._control.learning_rate

    def stop(self) -> None:
        """Ends the training here, as an early stop does: the model is evaluated, and the best one is the run's."""
        self._control.stop()

    def evaluate(self) -> None:
        """Asks for an evaluation after this step. It counts for ``training.patience`` as any other."""
        self._control.evaluate()

    def set_learning_rate(self, rate: float) -> None:
        """Sets the learning rate of all further steps, in the place of the schedule's."""
        self._control.set_learning_rate(float(rate))

    def scale_learning_rate(self, factor: float) -> None:
        """Multiplies the learning rate of all further steps."""
        self._control.scale_learning_rate(float(factor))

    def parameters(self) -> dict[str, np.ndarray]:
        """Copies of the model's parameters by name; at an evaluation those evaluated, averages where the training has them.

        Those of a module of PyTorch have its names behind ``encoder.module.``. A parameter of more than two dimensions is
        the matrix of its first one by all others.
        """
        return self._control.parameters()
