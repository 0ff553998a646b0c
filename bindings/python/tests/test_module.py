"""Modules of PyTorch as encoders of the trainer."""

import os
import re
import subprocess
import sys
import textwrap
import threading

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


def test_the_offset_is_added_and_trained(config, folder, model):
    texts = ["A steroid with a ketone.", "A bromine atom on a benzene ring."]
    words = Words(len(model.offset))
    groups = [{"parameters": "encoder.offset", "learning_rate": 0.0}]
    frozen = {"training": TRAINING | {"epochs": 1, "groups": groups}}
    seen = []
    options = {"encoder": words, "on_step": lambda step: seen.append(step.parameters()["encoder.offset"])}
    of_frozen = dsokr.train(config, out=folder / "frozen", set=frozen, seed=1, **options)
    assert of_frozen.offset.shape == (len(words.head.bias),) and of_frozen.offset.dtype == np.float32
    assert all(np.array_equal(offset, of_frozen.offset) for offset in seen)
    z = of_frozen.encode(texts)
    # the module holds the values of the last pass
    with torch.no_grad():
        np.testing.assert_allclose(z, of_frozen.offset + words.eval()(texts).numpy(), atol=1e-5)
    assert not np.allclose(model.offset, of_frozen.offset, atol=1e-3)
    assert dsokr.demo().offset is None


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


class Torn(Words):
    """Counts its passes of training, and raises in one of them, or in its gradient."""

    def __init__(self, p, at=None, backward=False):
        super().__init__(p)
        self.at, self.backward, self.passes = at, backward, 0

    def forward(self, texts):
        z = super().forward(texts)
        if not self.training:
            return z
        self.passes += 1
        if self.passes != self.at:
            return z
        if not self.backward:
            raise RuntimeError("torn")
        z.register_hook(self.tear)
        return z

    def tear(self, gradient):
        raise RuntimeError("torn")


@pytest.mark.parametrize("backward", [False, True])
def test_an_exception_ends_the_training_at_its_step(config, folder, model, backward):
    """No further call of the module, and a checkpoint of the step before, from which the training goes on as it was."""
    torn = []

    def make(p):
        torn.append(Torn(p, 20, backward))
        return torn[-1]

    out = folder / f"torn-{backward}"
    with pytest.raises(RuntimeError, match="torn") as raised:
        train(config, make, out=out)
    assert torn[-1].passes == 20
    assert "resume=True" in str(raised.value.__cause__)
    resumed = train(config, out=out, resume=True)
    assert [line["loss"] for line in resumed.log] == [line["loss"] for line in model.log]
    assert np.array_equal(resumed.encode(["a steroid"]), model.encode(["a steroid"]))


def test_an_exception_belongs_to_its_call(config, folder):
    """Calls of other threads do not raise what a module of this thread has raised."""
    done = threading.Event()
    failures = []

    def calls():
        y = np.ones((50, 4), np.float32)
        while not done.is_set():
            try:
                dsokr.kernel_matrix(y)
            except BaseException as error:
                failures.append(error)

    thread = threading.Thread(target=calls)
    thread.start()
    try:
        for at in range(3):
            with pytest.raises(RuntimeError, match="the module's own"):
                train(config, Broken, out=folder / f"broken-{at}")
            with pytest.raises(RuntimeError, match="torn"):
                train(config, lambda p: Torn(p, 3), out=folder / f"third-{at}")
    finally:
        done.set()
        thread.join()
    assert failures == []


def test_models_of_several_threads_raise_their_own(config, folder, model):
    """Threads that share a model get each its own exception, and the others their results."""

    class Picky(Words):
        def forward(self, texts):
            if any("refused" in text for text in texts):
                raise RuntimeError("picky")
            return super().forward(texts)

    picky = dsokr.Model.load(model.path, encoder=Picky)
    expected = picky.encode(["a steroid"])
    wrong = []

    def ask(refused):
        for _ in range(20):
            try:
                found = picky.encode(["refused"] if refused else ["a steroid"])
                if refused or not np.array_equal(found, expected):
                    wrong.append(found)
            except RuntimeError as error:
                if not refused or str(error) != "picky":
                    wrong.append(error)

    threads = [threading.Thread(target=ask, args=(refused,)) for refused in (False, True, False, True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_models_of_one_module_answer_at_once(tmp_path):
    """Two runs of the same module, each by its own values, whatever the other computes meanwhile."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((80, 5)), rng.standard_normal((80, 3))
    torch.manual_seed(0)
    inner = [torch.nn.Linear(400, 400), torch.nn.ReLU()]
    module = torch.nn.Sequential(torch.nn.Linear(5, 400), torch.nn.ReLU(), *inner, torch.nn.Linear(400, 3))
    changes = {"training.epochs": 2, "training.learning_rate": 0.05}
    models = [dsokr.fit(x, y, tmp_path / str(seed), encoder=module, seed=seed, progress=False, set=changes) for seed in (0, 1)]
    expected = [model.encode(x) for model in models]
    assert not np.array_equal(*expected)
    wrong = [0, 0]

    def ask(at):
        for _ in range(60):
            wrong[at] += not np.array_equal(models[at].encode(x), expected[at])

    threads = [threading.Thread(target=ask, args=(at,)) for at in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [0, 0]


ONE_THREAD = """
    import sys, threading
    import numpy as np, torch
    import dsokr

    y = np.random.default_rng(0).standard_normal((20, 4)).astype(np.float32)

    class Calls(torch.nn.Module):
        def __init__(self, p):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(2, p))

        def forward(self, texts):
            dsokr.kernel_matrix(y)
            lengths = [[1.0, len(text) / 100] for text in texts]
            return torch.tensor(lengths) @ self.weight

    config, folder = sys.argv[1:]

    def train(name):
        dsokr.train(config, set={"training": {"epochs": 1}}, out=f"{folder}/{name}", encoder=Calls,
                    callback=lambda line: dsokr.kernel_matrix(y))

    train("alone")
    model = dsokr.Model.load(f"{folder}/alone", encoder=Calls)
    assert model.encode(["a"]).shape[0] == 1
    threads = [threading.Thread(target=train, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("done")
"""


def test_python_within_a_call_makes_calls_with_one_thread(config, tmp_path):
    """A callback, a module, and two trainings at once: the only thread of a pool may not wait for a call that needs it."""
    command = [sys.executable, "-c", textwrap.dedent(ONE_THREAD), str(config), str(tmp_path)]
    environment = {**os.environ, "RAYON_NUM_THREADS": "1"}
    found = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert found.returncode == 0 and found.stdout.strip() == "done", found.stderr


def with_buffer(p, values, persistent=True):
    module = Words(p)
    module.register_buffer("extra", values, persistent=persistent)
    return module


def test_buffers_that_are_not_of_the_state_are_not_kept(config, tmp_path):
    mask = torch.tensor([0.0, -torch.inf])
    options = {"set": {"training": {"epochs": 1}}, "seed": 1}
    model = dsokr.train(config, out=tmp_path / "run", encoder=lambda p: with_buffer(p, mask, False), **options)
    plain = dsokr.train(config, out=tmp_path / "plain", encoder=Words, **options)
    assert np.array_equal(model.encode(["a steroid"]), plain.encode(["a steroid"]))


class Returning(Words):
    """What a function makes of the coordinates."""

    def __init__(self, p, function):
        super().__init__(p)
        self.function = function

    def forward(self, texts):
        return self.function(super().forward(texts))


@pytest.mark.parametrize(
    ("encoder", "error", "message"),
    [
        (Broken, RuntimeError, "the module's own"),
        (lambda p: with_buffer(p, torch.tensor([0.0, -torch.inf])), dsokr.ConfigError, "extra has numbers that are not finite"),
        (lambda p: with_buffer(p, torch.tensor([2**24 + 1])), dsokr.ConfigError, "extra has numbers that 32-bit floats"),
        (lambda p: torch.nn.LazyLinear(p), dsokr.ConfigError, "weight has no values yet"),
        (lambda p: Words(p).requires_grad_(False), dsokr.ConfigError, "without parameters"),
        (lambda p: Words(p + 1), dsokr.ConfigError, r"shape \(.*, 201\), expected \(.*, 200\)"),
        (lambda p: torch.nn.Identity(), dsokr.ConfigError, "without parameters"),
        (lambda p: Returning(p, lambda z: (z, None)), dsokr.ConfigError, r"the module returns tuple, expected a tensor \(.*, 200\)"),
        (lambda p: Returning(p, lambda z: None), dsokr.ConfigError, "the module returns NoneType"),
        (3, dsokr.ConfigError, "encoder: int"),
        (lambda p: None, dsokr.ConfigError, "encoder: the function returns NoneType, expected a torch.nn.Module"),
        (dsokr.Encoder(Words, vectors=True), dsokr.ConfigError, "vectors"),
    ],
)
def test_wrong_modules(config, tmp_path, encoder, error, message):
    with pytest.raises(error, match=message):
        train(config, encoder, out=tmp_path / "run")


def test_members_are_trained_one_after_another(config, tmp_path):
    """At the same time they would change the parameters of one module."""
    options = {"training": {**TRAINING, "epochs": 1}, "ensemble": {"seeds": 2, "parallel": 2}}
    with pytest.raises(dsokr.ConfigError, match="ensemble.parallel = 2: expected 1, for a module of PyTorch"):
        dsokr.train(config, set=options, out=tmp_path / "run", encoder=Words)
    assert not (tmp_path / "run").exists()
    options["ensemble"]["parallel"] = 1
    assert len(dsokr.train(config, set=options, out=tmp_path / "run", encoder=Words)) == 2


def test_a_run_needs_its_module(model):
    with pytest.raises(dsokr.ConfigError, match="encoder.*None"):
        dsokr.Model.load(model.path)
