"""Steps of PyTorch's optimisers, learning rates of its schedules and its average of weights, as golden values.

usage: python optimizers.py [OUT]          (default: crates/train/tests/golden/optimizers.json)

The tests of crates/train make the same steps from the same weights and gradients (tests/suite/golden.rs).
"""

import json
import sys
from pathlib import Path

import torch
from torch.optim import SGD, Adam, AdamW, Muon
from torch.optim import lr_scheduler as schedules
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "crates/train/tests/golden/optimizers.json")
STEPS = 6


def numbers(shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator)


class Model(torch.nn.Module):
    """A wide matrix, a tall one and a vector."""

    def __init__(self):
        super().__init__()
        self.wide = torch.nn.Parameter(numbers((3, 5), 1))
        self.tall = torch.nn.Parameter(numbers((6, 2), 2))
        self.bias = torch.nn.Parameter(numbers((4,), 3))


def values(model):
    return {name: parameter.flatten().tolist() for name, parameter in model.named_parameters()}


def gradients(step):
    return {
        name: numbers(parameter.shape, 100 + 10 * step + at)
        for at, (name, parameter) in enumerate(Model().named_parameters())
    }


def stepped(optimizers, averages=None):
    """The weights after each step of the optimisers that a function makes for a model."""
    model = Model()
    made = optimizers(model)
    average = averages(model) if averages else None
    states = []
    for step in range(STEPS):
        for name, gradient in gradients(step).items():
            getattr(model, name).grad = gradient.clone()
        for optimizer in made:
            optimizer.step()
        if average is not None:
            average.update_parameters(model)
        states.append(values(average.module if average is not None else model))
    return states


def decayed(optimizer, **options):
    """Groups as recipes write them: matrices are decayed, vectors are not."""
    return lambda model: [
        optimizer(
            [
                {"params": [model.wide, model.tall], "weight_decay": 0.1},
                {"params": [model.bias], "weight_decay": 0.0},
            ],
            **options,
        )
    ]


def muon(model):
    return [
        Muon([model.wide, model.tall], lr=0.01, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
        AdamW([model.bias], lr=0.01, weight_decay=0.0),
    ]


def rates(schedule, steps=20):
    """The learning rates of the steps of a schedule."""
    optimizer = SGD([torch.nn.Parameter(torch.zeros(1))], lr=2.0)
    made = schedule(optimizer)
    found = []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        made.step()
    return found


def warmed(after):
    """4 steps of warm-up, from a quarter of the rate on, and a schedule behind them."""
    return lambda optimizer: schedules.SequentialLR(
        optimizer,
        [schedules.LinearLR(optimizer, 0.25, 1.0, total_iters=3), after(optimizer)],
        milestones=[4],
    )


def stable_and_decay(optimizer):
    """16 steps: the rate stays for 12, and falls in the last 4 to a tenth."""
    falling = schedules.LinearLR(optimizer, 1.0, 0.1, total_iters=4)
    stable = schedules.ConstantLR(optimizer, 1.0, total_iters=12)
    warm = schedules.LinearLR(optimizer, 0.25, 1.0, total_iters=3)
    return schedules.SequentialLR(optimizer, [warm, stable, falling], milestones=[4, 16])


SCORES = [1.0, 2.0, 1.5, 2.0, 1.9, 1.0, 2.5, 2.4, 2.4, 2.4, 2.4, 2.4, 2.4, 2.4, 2.4, 2.4, 2.4, 2.4, 2.4, 2.4]


def plateau():
    """The rates of 20 steps with an evaluation behind each."""
    optimizer = SGD([torch.nn.Parameter(torch.zeros(1))], lr=2.0)
    schedule = schedules.ReduceLROnPlateau(
        optimizer, mode="max", factor=0.5, patience=2, threshold=0.0, min_lr=0.3, eps=0.0
    )
    found = []
    for score in SCORES:
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step(score)
    return found


def main():
    ema = get_ema_multi_avg_fn(0.8)
    golden = {
        "start": values(Model()),
        "gradients": [
            {name: gradient.flatten().tolist() for name, gradient in gradients(step).items()}
            for step in range(STEPS)
        ],
        "optimizers": {
            "sgd": stepped(lambda model: [SGD(model.parameters(), lr=0.01)]),
            "momentum": stepped(lambda model: [SGD(model.parameters(), lr=0.01, momentum=0.9)]),
            "adam": stepped(lambda model: [Adam(model.parameters(), lr=0.01)]),
            "adamw": stepped(decayed(AdamW, lr=0.01)),
            "muon": stepped(muon),
        },
        "ema": stepped(
            decayed(AdamW, lr=0.01), lambda model: AveragedModel(model, multi_avg_fn=ema)
        ),
        "rates": {
            "cosine": rates(warmed(lambda o: schedules.CosineAnnealingLR(o, 16, eta_min=0.2))),
            "linear": rates(warmed(lambda o: schedules.LinearLR(o, 1.0, 0.1, total_iters=16))),
            "wsd": rates(stable_and_decay),
            "plateau": plateau(),
        },
        "scores": SCORES,
    }
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
