"""Targets and losses for loops of one's own: against those of the trainer, and against their formulas."""

import csv
import pickle

import numpy as np
import pytest

import dsokr

torch = pytest.importorskip("torch")

LOSSES = [
    "square",
    {"name": "huber", "kappa": 0.9},
    {"name": "epsilon-insensitive", "epsilon": 0.5},
    {"name": "epsilon-insensitive-square", "epsilon": 0.5},
    {"name": "contrastive", "temperature": 0.2},
    {"name": "softmax", "temperature": 0.2},
]


@pytest.mark.skipif(not hasattr(dsokr, "train"), reason="built without the feature run")
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_losses_are_those_of_the_trainer(tmp_path, loss):
    config = dsokr.quickstart(tmp_path)
    table = {"name": loss} if isinstance(loss, str) else loss
    changes = {"training.epochs": 1, "training.optimizer": "adam", "training.learning_rate": 1e-3, "training.loss": table}
    # the temperature stays, and all validation pairs are one batch
    changes |= {"training.groups": [{"parameters": "scale", "learning_rate": 0.0}] if "temperature" in table else []}
    changes |= {"training.batch": 200, "evaluation.split": "validation", "decoding": {}}
    model = dsokr.train(config, set=changes, out=tmp_path / "run", data=tmp_path)
    with open(tmp_path / "datasets/quickstart/validation.tsv", newline="") as file:
        gold, texts = zip(*list(csv.reader(file, delimiter="\t"))[1:], strict=True)
    coordinates = model.candidates.coordinates_of(gold)
    # k(y, y) = 1
    targets = dsokr.Targets.from_coordinates(coordinates, np.ones(len(gold)))
    found = model.basis.loss(torch.from_numpy(model.encode(texts)), targets, loss)
    assert float(found) == pytest.approx(model.log[-1]["validation_loss"], rel=2e-4)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    Y = (rng.random((30, 12)) < 0.4).astype(np.float32)
    Y[:, 0] = 1
    Y[7] = Y[3]
    psi = dsokr.Basis.fit(Y, "cosine", dsokr.Gaussian(8), seed=0)
    return psi, psi.targets(Y), Y


def test_targets_are_projections_and_batches_of_them(problem):
    psi, targets, Y = problem
    projection = psi.projection(Y)
    assert np.array_equal(targets.coordinates, projection.coordinates)
    assert np.array_equal(targets.residuals, projection.residuals)
    assert targets.outputs[3] == targets.outputs[7] and len(targets.distinct) == len(np.unique(Y, axis=0))
    assert np.array_equal(targets.distinct[targets.outputs], targets.coordinates)
    for index in (torch.tensor([4, 2]), [4, 2], np.array([4, 2])):
        assert np.array_equal(np.asarray(targets[index]), targets.coordinates[[4, 2]])
    assert len(targets[3:8]) == 5


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_gradients_are_differences(problem, loss):
    psi, targets, _ = problem
    batch = targets[[3, 5, 7, 11]]
    z = torch.from_numpy(np.random.default_rng(1).standard_normal((4, psi.rank))).requires_grad_()
    assert torch.autograd.gradcheck(lambda z: psi.loss(z, batch, loss), z, eps=1e-5, atol=1e-4)


def test_a_temperature_learns_and_equal_outputs_are_no_negatives(problem):
    psi, targets, _ = problem
    z = torch.from_numpy(np.random.default_rng(1).standard_normal((2, psi.rank)))
    scale = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
    psi.loss(z, targets[[3, 5]], {"name": "contrastive", "temperature": scale.exp()}).backward()
    assert scale.grad != 0
    # two pairs with one output have nothing to tell apart
    assert psi.loss(z, targets[[3, 7]], "contrastive").item() == 0


def test_a_loss_is_trained_after_it_was_measured(problem):
    """What the first call keeps, within inference mode, serves those with gradients too."""
    psi, targets, _ = problem
    z = torch.from_numpy(np.random.default_rng(1).standard_normal((len(targets), psi.rank)))
    with torch.inference_mode():
        measured = psi.loss(z, targets, "softmax")
    z.requires_grad_()
    trained = psi.loss(z, targets, "softmax")
    trained.backward()
    assert trained.item() == pytest.approx(measured.item()) and torch.isfinite(z.grad).all()


def test_targets_of_no_index(problem):
    """As an array of NumPy, no pairs are an empty part."""
    _, targets, _ = problem
    assert len(targets[[]]) == 0 and targets[[]].coordinates.shape == targets.coordinates[[]].shape


def test_one_target_is_a_batch(problem):
    """As the items of a dataset are asked for; an index of more dimensions chooses no batch."""
    psi, targets, _ = problem
    z = torch.from_numpy(np.random.default_rng(1).standard_normal((1, psi.rank)))
    for index in (5, np.int64(5), torch.tensor(5), -25):
        assert len(targets[index]) == 1 and "1 of dimension 8" in repr(targets[index])
        for loss in LOSSES:
            assert psi.loss(z, targets[index], loss) == psi.loss(z, targets[5:6], loss)
    assert [len(target) for target in targets] == [1] * 30
    with pytest.raises(dsokr.ConfigError, match=r"index: shape \(2, 2\), expected a number, a slice, or a vector"):
        targets[np.zeros((2, 2), int)]
    with pytest.raises(IndexError):
        targets[30]


def test_wrong_losses(problem):
    psi, targets, _ = problem
    z = torch.zeros(2, psi.rank)
    for arguments, message in [
        ((z, targets[:2], "cubic"), "loss: 'cubic', allowed: 'square'"),
        ((z, targets[:2], {"name": "huber"}), "loss: 'kappa' is missing"),
        ((z, targets[:2], {"name": "square", "kappa": 1}), "loss: 'kappa' is no parameter"),
        ((z, targets[:3], "square"), r"z: shape \(2, 8\), expected \(3, 8\)"),
        ((z.numpy(), targets[:2], "square"), "z: ndarray, expected a tensor"),
        ((z, targets.coordinates[:2], "square"), "targets: ndarray, expected those of Basis.targets"),
    ]:
        with pytest.raises(dsokr.ConfigError, match=message):
            psi.loss(*arguments)


def test_epsilon_is_0_and_above(problem):
    psi, targets, _ = problem
    z = torch.from_numpy(np.random.default_rng(2).standard_normal((len(targets), psi.rank)))
    squared = np.square(z.numpy() - targets.coordinates).sum(1) + targets.residuals
    found = psi.loss(z, targets, {"name": "epsilon-insensitive", "epsilon": 0})
    assert float(found) == pytest.approx(np.sqrt(squared).mean(), rel=1e-6)
    for table in ({"name": "epsilon-insensitive", "epsilon": -0.5}, {"name": "huber", "kappa": 0}):
        with pytest.raises(dsokr.ConfigError, match="loss: (epsilon|kappa) = .*, allowed: numbers"):
            psi.loss(z, targets, table)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_predictions_of_16_bits_are_measured_in_32(problem, loss):
    """Those of a module in half precision, and of products under autocast: as the same numbers in 32 bits."""
    psi, targets, _ = problem
    rounded = torch.from_numpy(np.random.default_rng(3).standard_normal((len(targets), psi.rank))).bfloat16()
    expected = psi.loss(rounded.float(), targets, loss)
    assert torch.equal(psi.loss(rounded, targets, loss), expected)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(psi.loss(rounded.float(), targets, loss), expected)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_predictions_of_16_bits_that_are_right_have_gradients(loss):
    """Distance 0 and length 0 are no NaN, which the least distance of 32 bits rounds to in 16."""
    targets = dsokr.Targets.from_coordinates(np.eye(3))
    right = torch.eye(3, dtype=torch.float16, requires_grad=True)
    targets.loss(right, loss).backward()
    assert right.grad.isfinite().all()
    assert targets.loss(torch.zeros(3, 3, dtype=torch.float16), loss).isfinite()


def test_targets_of_coordinates_are_those_of_the_basis(problem):
    psi, targets, Y = problem
    projection = psi.projection(Y)
    found = dsokr.Targets.from_coordinates(torch.from_numpy(projection.coordinates), projection.squared_norms)
    assert np.array_equal(found.coordinates, targets.coordinates) and np.array_equal(found.outputs, targets.outputs)
    assert found.residuals == pytest.approx(targets.residuals, abs=1e-6)
    assert not dsokr.Targets.from_coordinates(projection.coordinates).residuals.any()
    for arguments, message in [
        ((projection.coordinates[0],), r"coordinates: shape \(8,\), expected a matrix"),
        ((np.full((2, 3), np.nan),), "coordinates: nan at 0, 0, expected finite numbers"),
        ((np.eye(2), [1.0]), "squared_norms: 1, expected 2, one for each row"),
        ((np.eye(2), [1.0, np.inf]), "squared_norms: inf at 1, expected finite numbers"),
    ]:
        with pytest.raises(dsokr.ConfigError, match=message):
            dsokr.Targets.from_coordinates(*arguments)


def test_targets_for_a_worker_hold_no_tensors(problem):
    """Their device may be one that the worker lacks."""
    psi, targets, _ = problem
    psi.loss(torch.zeros(len(targets), psi.rank), targets, "softmax")
    assert targets._tensors
    found = pickle.loads(pickle.dumps(targets))
    assert not found._tensors and np.array_equal(found.distinct, targets.distinct)
    assert psi.loss(torch.ones(2, psi.rank), found[:2], "softmax") == psi.loss(torch.ones(2, psi.rank), targets[:2], "softmax")
