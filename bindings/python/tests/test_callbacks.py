"""Callbacks that look at a training and ask it for something."""

import numpy as np
import pytest

import dsokr

if not hasattr(dsokr, "train"):
    pytest.skip("built without the feature run", allow_module_level=True)

TRAINING = {"epochs": 3, "learning_rate": 2.5, "checkpoint_seconds": 3600}


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    return dsokr.quickstart(tmp_path_factory.mktemp("callbacks"))


def train(config, out, **options):
    return dsokr.train(config, set={"training": TRAINING}, out=out, seed=1, **options)


class Enough(Exception):
    pass


def test_a_step_stops_the_training(config, tmp_path):
    """It is complete as after an early stop: evaluated, with its last state, and nothing is left to resume."""
    seen = []

    def stop(event):
        seen.append((event.step, event.metrics))
        if event.step == 20:
            event.stop()

    model = train(config, tmp_path / "run", on_step=stop)
    assert seen == [(step, None) for step in range(1, 21)]
    assert [line["step"] for line in model.log] == [20] and model.log[0]["best"]
    assert model.metrics["mrr"] > 0
    again = train(config, tmp_path / "run", resume=True, on_step=lambda event: pytest.fail("a step"))
    assert np.array_equal(again.encode(["an ester"]), model.encode(["an ester"]))
    # with more epochs it goes on
    steps = []
    longer = {"training": TRAINING, "training.epochs": 4}
    dsokr.train(config, set=longer, out=tmp_path / "run", seed=1, resume=True, on_step=lambda event: steps.append(event.step))
    assert steps == list(range(21, 201))


def test_an_evaluation_stops_the_training(config, tmp_path):
    lines = []

    def stop(event):
        lines.append(dict(event))
        assert event.loss == event["loss"] and event.epoch == len(lines)
        if event.metrics["mrr"] > 0:
            event.stop()

    model = train(config, tmp_path / "run", callback=stop)
    assert len(lines) == 1 and model.log == lines


def test_evaluations_are_asked_for(config, tmp_path):
    model = train(config, tmp_path / "run", on_step=lambda event: event.evaluate() if event.step in (3, 7) else None)
    steps = [line["step"] for line in model.log]
    assert steps[:2] == [3, 7] and len(steps) == 5


def test_a_changed_rate_is_resumed_bit_for_bit(config, tmp_path):
    """It counts from the next step on, is part of the state, and is what the log shows."""

    def change(event):
        if event.step == 10:
            before = event.learning_rate
            event.scale_learning_rate(0.5)
            assert event.learning_rate == before / 2
        if event.step == 70:
            event.set_learning_rate(0.25)

    def break_off(event):
        change(event)
        if event.step == 80:
            raise Enough

    whole = train(config, tmp_path / "whole", on_step=change)
    rates = [line["learning_rate"] for line in whole.log]
    assert rates[1:] == [0.25, 0.25]
    with pytest.raises(Enough):
        train(config, tmp_path / "parts", on_step=break_off)
    resumed = train(config, tmp_path / "parts", resume=True)
    assert [line["loss"] for line in resumed.log] == [line["loss"] for line in whole.log]
    assert np.array_equal(resumed.encode(["an ester"]), whole.encode(["an ester"]))
    plain = train(config, tmp_path / "plain")
    assert plain.log[0]["learning_rate"] == 2 * rates[0]
    assert not np.array_equal(plain.encode(["an ester"]), whole.encode(["an ester"]))


def test_parameters_are_those_of_the_step(config, tmp_path):
    """A step of plain descent at a rate r moves them by r times the gradient: half of it at half the rate."""
    first, second, halved = [], [], []

    def keep(seen, factor):
        def on_step(event):
            seen.append(event.parameters())
            event.scale_learning_rate(factor if event.step == 1 else 1.0)
            if event.step == 2:
                event.stop()

        return on_step

    for seen, factor, name in ((first, 1.0, "first"), (second, 1.0, "second"), (halved, 0.5, "halved")):
        train(config, tmp_path / name, on_step=keep(seen, factor))
    assert len(first[0]) >= 2 and all(name.startswith("encoder.") for name in first[0])
    for name, before in first[0].items():
        after = first[1][name]
        assert before.dtype == np.float32 and np.array_equal(after, second[1][name])
        np.testing.assert_allclose(halved[1][name] - before, 0.5 * (after - before), atol=1e-6)
    assert any(not np.array_equal(first[0][name], first[1][name]) for name in first[0])


def test_an_event_is_acted_on_in_its_callback(config, tmp_path):
    events = []

    def keep(event):
        events.append(event)
        for number in (0.0, -1.0, float("nan"), float("inf")):
            with pytest.raises(dsokr.ConfigError, match="finite number above 0"):
                event.set_learning_rate(number)
            with pytest.raises(dsokr.ConfigError, match="finite number above 0"):
                event.scale_learning_rate(number)
        event.stop()

    train(config, tmp_path / "run", on_step=keep)
    for ask in (events[0].stop, events[0].evaluate, events[0].parameters, lambda: events[0].learning_rate):
        with pytest.raises(dsokr.ConfigError, match="within its callback"):
            ask()


def test_a_kernel_machine_has_no_steps(tmp_path):
    texts = [f"{a} {b} {c}" for a in ("red", "green", "blue") for b in ("large", "small") for c in ("box", "ball", "key", "cup")]
    asked = []

    def stop(event):
        assert event.step == 0 and "metrics" in event
        with pytest.raises(dsokr.ConfigError, match="within its callback"):
            event.stop()
        asked.append(event)

    dsokr.fit(texts, [text.split() for text in texts], tmp_path / "run", callback=stop, on_step=pytest.fail)
    assert len(asked) == 1
