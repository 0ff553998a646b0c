"""Modules of PyTorch as the encoder of ``dsokr.fit``: every kind of output at once, and beside a loop of plain PyTorch."""

import csv
import re
import zlib
from pathlib import Path

import numpy as np
import pytest

import dsokr

torch = pytest.importorskip("torch")
if not hasattr(dsokr, "fit"):
    pytest.skip("built without the feature run", allow_module_level=True)

QUICKSTART = Path(__file__).parents[3] / "datasets" / "quickstart"
BUCKETS = 1 << 12

TEXTS = [f"{a} {b} {c}" for a in ("red", "green", "blue", "grey") for b in ("large", "small", "tiny") for c in ("box", "ball", "key", "cup", "pen")]
SMILES = ["C" * (1 + at % 20) + end for at, end in enumerate(("O", "N", "C(=O)O") * 20)]
X = np.random.default_rng(0).standard_normal((60, 4)).round(3)


class Bag(torch.nn.Module):
    """A bag of hashed words and pairs of words."""

    def __init__(self, p, width=64):
        super().__init__()
        self.table = torch.nn.EmbeddingBag(BUCKETS, width)
        self.head = torch.nn.Linear(width, p)

    def forward(self, texts):
        grams = []
        for text in texts:
            words = re.findall(r"\w+", text.lower())
            pairs = [" ".join(pair) for pair in zip(words, words[1:])]
            grams.append([zlib.crc32(gram.encode()) % BUCKETS for gram in words + pairs] or [0])
        offsets = torch.tensor([0, *map(len, grams)]).cumsum(0)[:-1]
        return self.head(self.table(torch.tensor(sum(grams, [])), offsets))


OUTPUTS = {
    "smiles": (SMILES, "mrr"),
    "labels": ([text.split() for text in TEXTS], "f1"),
    "classes": ([text.split()[0] == "red" for text in TEXTS], "accuracy"),
    "numbers": ([float(len(text)) + 0.5 for text in TEXTS], "r2"),
    "vectors": (X, "rrmse"),
    "rankings": ([[1, 2, 3] if "red" in text else [3, 1, 2] for text in TEXTS], "kendall_tau"),
    "texts": ([" ".join(reversed(text.split())) + " it is" for text in TEXTS], "mrr"),
}


@pytest.mark.parametrize("kind", OUTPUTS)
def test_every_kind_of_output_is_fitted_at_once(tmp_path, kind):
    outputs, metric = OUTPUTS[kind]
    model = dsokr.fit(TEXTS, outputs, tmp_path / "run", encoder=Bag, seed=1, progress=False, set={"training.epochs": 2})
    assert metric in model.metrics and len(model.log) == 2
    assert model.config["encoder"] == {"kind": "module", "vectors": False}
    assert model.config["training"]["learning_rate"] == 1e-3 and model.config["training"]["optimizer"] == "adamw"
    assert "reranker" not in model.config.get("decoding", {})
    losses = [line["loss"] for line in model.log]
    assert losses[1] < losses[0]


def test_no_batch_has_one_pair(tmp_path):
    """Batch normalisation refuses one, whatever is left over of the training pairs."""

    def normalised(p):
        return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, p))

    for n in range(10, 16):
        changes = {"training.epochs": 2, "training.batch": 4}
        model = dsokr.fit(X[:n], X[:n, :2] + 0.1, tmp_path / str(n), encoder=normalised, progress=False, set=changes)
        assert model.encode(X[:n]).shape[0] == n


def test_vectors_are_read_without_being_named(tmp_path):
    model = dsokr.fit(X, SMILES, tmp_path / "run", encoder=lambda p: torch.nn.Linear(4, p), seed=1, progress=False)
    assert model.config["encoder"]["vectors"] and model.encode(X[:2]).shape[0] == 2
    # nor when the model is read again, or its training goes on
    linear = torch.nn.Linear(4, model.candidates.dim)
    for encoder in (linear, dsokr.Encoder(linear), dsokr.Encoder(linear, vectors=True)):
        assert np.array_equal(dsokr.Model.load(model.path, encoder=encoder).encode(X), model.encode(X))
        assert dsokr.Ensemble.load(model.path, encoder=encoder).search(X[:2], k=3) == model.search(X[:2], k=3)
    config = tmp_path / "run" / "pairs.toml"
    more = dsokr.train(config, out=model.path, resume=True, encoder=linear, seed=1, set={"training.epochs": 41})
    assert more.encode(X).shape == model.encode(X).shape
    with pytest.raises(dsokr.ConfigError, match="the module that was trained, which reads vectors"):
        dsokr.Model.load(model.path, encoder=dsokr.Encoder(linear, vectors=False))
    # of a configuration with an encoder of its own
    plain = dsokr.fit(X, SMILES, tmp_path / "plain", seed=1, progress=False)
    assert plain.config["encoder"]["kind"] != "module"
    other = dsokr.train(tmp_path / "plain" / "pairs.toml", out=tmp_path / "other", encoder=lambda p: torch.nn.Linear(4, p))
    assert other.config["encoder"]["vectors"]


class Broken(Bag):
    def forward(self, texts):
        raise RuntimeError("the module's own")


@pytest.mark.parametrize("encoder", [Broken, lambda p: Bag(p + 1), 3])
def test_a_module_that_fails_leaves_the_folder_free(tmp_path, encoder):
    folder = tmp_path / "run"
    with pytest.raises((RuntimeError, dsokr.ConfigError)):
        dsokr.fit(TEXTS, SMILES, folder, encoder=encoder, progress=False)
    assert not folder.exists()
    dsokr.fit(TEXTS, SMILES, folder, encoder=Bag, progress=False, set={"training.epochs": 1})


class Enough(Exception):
    pass


def test_a_state_to_go_on_from_is_kept(tmp_path):
    def end(event):
        if event.step == 3:
            raise Enough

    folder = tmp_path / "run"
    with pytest.raises(Enough):
        dsokr.fit(TEXTS, SMILES, folder, encoder=Bag, progress=False, on_step=end)
    with pytest.raises(dsokr.FileError, match="exists"):
        dsokr.fit(TEXTS, SMILES, folder, encoder=Bag, progress=False)
    steps = []
    dsokr.train(folder / "pairs.toml", out=folder / "run", resume=True, encoder=Bag, on_step=lambda event: steps.append(event.step))
    assert steps[0] == 4


def quickstart():
    """Texts and SMILES of the quickstart set."""

    def read(name):
        with open(QUICKSTART / f"{name}.tsv", newline="") as file:
            return list(csv.reader(file, delimiter="\t"))[1:]

    smiles = dict(read("molecules"))
    pairs = [(text, smiles[id]) for split in ("train", "validation", "test") for id, text in read(split)]
    return [text for text, _ in pairs], [smiles for _, smiles in pairs]


def pytorch(texts, smiles, train, test, epochs):
    """The mean reciprocal rank of a loop of plain PyTorch: a bag against fingerprints, by a contrastive loss."""
    Y = dsokr.molecules.features(smiles, kind="morgan", radius=2, bits=True).toarray()
    Y = torch.nn.functional.normalize(torch.from_numpy(Y))
    torch.manual_seed(0)
    module = Bag(Y.shape[1])
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
    for _ in range(epochs):
        for batch in torch.randperm(len(train)).split(32):
            rows = train[batch.numpy()]
            z = torch.nn.functional.normalize(module([texts[row] for row in rows]))
            loss = torch.nn.functional.cross_entropy(z @ Y[rows].T / 0.07, torch.arange(len(rows)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        z = torch.nn.functional.normalize(module([texts[row] for row in test]))
    return dsokr.metrics.rank_scores((z @ Y.T).numpy(), test).metrics()["mrr"]


def test_a_module_ranks_as_well_as_in_a_loop_of_plain_pytorch(tmp_path):
    """The same module, rate, and number of epochs, on as many pairs. After 40 epochs they are at .44 and .24; after 8 they are equal."""
    texts, smiles = quickstart()
    model = dsokr.fit(texts, smiles, tmp_path / "run", encoder=Bag, seed=1, progress=False, set={"training.epochs": 16})
    order = np.random.default_rng(0).permutation(len(texts))
    plain = pytorch(texts, smiles, order[:1600], order[1800:], epochs=16)
    assert model.metrics["mrr"] >= plain > 5 * model.metrics["chance"]["mrr"], plain
