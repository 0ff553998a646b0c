"""Modules of PyTorch as encoders of the trainer."""

import re

import numpy as np
import pytest

import dsokr

torch = pytest.importorskip("torch")
if not hasattr(dsokr, "train"):
    pytest.skip("built without the feature run", allow_module_level=True)

TRAINING = {"epochs": 3, "learning_rate": 0.02}


class Words(torch.nn.Module):
    """The mean of word vectors, dropout, and a linear layer."""

    def __init__(self, p):
        super().__init__()
        self.table = torch.nn.EmbeddingBag(4096, 64, mode="mean")
        self.head = torch.nn.Linear(64, p)

    def forward(self, texts):
        words = [[hash_of(word) for word in re.findall(r"\w+", text.lower())] or [0] for text in texts]
        offsets = np.cumsum([0, *map(len, words)])[:-1]
        means = self.table(torch.tensor(sum(words, [])), torch.tensor(offsets))
        return self.head(torch.nn.functional.dropout(means, 0.1, self.training))


def hash_of(word):
    return int.from_bytes(word.encode()[-8:], "big") % 4093


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("modules")


@pytest.fixture(scope="module")
def config(folder):
    return dsokr.quickstart(folder)


def train(config, encoder=Words, **options):
    return dsokr.train(config, set={"training": TRAINING}, seed=1, encoder=encoder, **options)


@pytest.fixture(scope="module")
def model(config, folder):
    return train(config, out=folder / "run")


def test_it_trains_and_answers(model):
    assert model.metrics["mrr"] > 20 * model.metrics["chance"]["mrr"]
    losses = [line["loss"] for line in model.log]
    assert losses == sorted(losses, reverse=True)
    texts = ["A steroid with a ketone.", "A bromine atom on a benzene ring."]
    np.testing.assert_allclose(model.encode(texts)[1], model.encode(texts[1]), rtol=1e-4, atol=1e-5)
    assert len(model.search(texts[0], k=3)) == 3
    again = dsokr.Model.load(model.path, encoder=Words)
    assert np.array_equal(again.encode(texts), model.encode(texts))
    assert again.evaluate("validation").metrics == model.evaluate("validation").metrics


def test_a_stopped_training_is_resumed(config, folder, model):
    class Enough(Exception):
        pass

    def enough(line):
        raise Enough

    with pytest.raises(Enough):
        train(config, out=folder / "stopped", callback=enough)
    resumed = train(config, out=folder / "stopped", resume=True)
    assert resumed.metrics["mrr"] == model.metrics["mrr"]
    assert np.array_equal(resumed.encode(["a steroid"]), model.encode(["a steroid"]))


class Numbers(torch.nn.Module):
    """A linear map of the numbers in a text, which starts at zero."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(3, 1))

    def forward(self, texts):
        return torch.tensor([[float(x) for x in text.split()] for text in texts]) @ self.weight


def test_the_step_follows_the_gradient(tmp_path):
    """A step of plain gradient descent on all pairs, from zero, is along Σ xᵢ (yᵢ − ȳ)."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 3)).round(3)
    y = (x @ [1.0, -2.0, 0.5] + 3).round(3)
    lines = [" ".join(map(str, row)) + f"\t{own}" for row, own in zip(x, y, strict=True)]
    (tmp_path / "pairs.tsv").write_text("\n".join(["text\ty", *lines]) + "\n")
    splits = {"order": "file", "train": 32, "validation": 4, "test": 4}
    tables = {
        "data": {"source": "pool", "folder": ".", "file": "pairs.tsv", "numbered": True, "splits": splits, "inputs": {"column": "text"}},
        "output": {"features": {"kind": "numbers", "column": "y"}, "kernel": {"name": "linear"}},
        "sketch": {"full": True},
        "encoder": {"kind": "ngram-bag"},
        "training": {"epochs": 1, "batch": 32, "optimizer": "sgd", "learning_rate": 0.1, "weight_decay": 0.0, "clip": 0.0, "warmup": 0},
        "evaluation": {"metric": "squared_error"},
    }  # fmt: skip
    module = Numbers()
    model = dsokr.train(tables, out=tmp_path / "run", data=tmp_path, encoder=module)
    step = np.concatenate([model.encode(" ".join(map(str, row))) for row in np.eye(3)]) - model.encode("0 0 0")
    expected = x[:32].T @ (y[:32] - y[:32].mean())
    assert step @ expected / np.linalg.norm(step) / np.linalg.norm(expected) > 0.9999
    # the module has the weights of the run
    np.testing.assert_allclose(module.weight.detach().numpy().ravel(), step, atol=1e-5)


class Broken(Words):
    def forward(self, texts):
        raise RuntimeError("the module's own")


@pytest.mark.parametrize(
    ("encoder", "error", "message"),
    [
        (Broken, RuntimeError, "the module's own"),
        (lambda p: torch.nn.BatchNorm1d(p), dsokr.ConfigError, "buffers"),
        (lambda p: Words(p + 1), dsokr.ConfigError, r"shape \(.*, 201\), expected \(.*, 200\)"),
        (lambda p: torch.nn.Identity(), dsokr.ConfigError, "without parameters"),
        (3, dsokr.ConfigError, "encoder: int"),
        (dsokr.Encoder(Words, vectors=True), dsokr.ConfigError, "vectors"),
    ],
)
def test_wrong_modules(config, tmp_path, encoder, error, message):
    with pytest.raises(error, match=message):
        train(config, encoder, out=tmp_path / "run")


def test_a_run_needs_its_module(model):
    with pytest.raises(dsokr.ConfigError, match="encoder.*None"):
        dsokr.Model.load(model.path)
