"""Training and trained models give what the command gives, to the last digit."""

import copy
import itertools
import json
import logging
import math
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import dsokr

if not hasattr(dsokr._dsokr, "Runs"):
    pytest.skip("built without the feature run", allow_module_level=True)

TEXTS = ["A carboxylic acid with a bromine atom on a benzene ring.", "a methyl ester of a steroid"]
SHORT = {"training.epochs": 3}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def config(folder):
    return dsokr.quickstart(folder)


@pytest.fixture(scope="module")
def lines():
    return []


@pytest.fixture(scope="module")
def model(folder, config, lines):
    return dsokr.train(config, set=SHORT, out=folder / "a", seed=1, callback=lines.append)


@pytest.fixture(scope="module")
def other(folder, config):
    return dsokr.train(config, set={"training.epochs": 1}, out=folder / "b")


def test_a_configuration_may_be_a_dict(config, model, tmp_path):
    tables = pytest.importorskip("tomllib").loads(Path(config).read_text())
    tables["name"] = "quickstart"
    data = Path(config).parent.parent / "datasets/quickstart"
    run = dsokr.train(tables, set=SHORT, out=tmp_path / "run", seed=1, data=_root(tmp_path, data))
    own, other = ({**it.metrics, "date": None} for it in (run, model))
    assert own == other
    with pytest.raises(dsokr.ConfigError, match="unknown field `colour`"):
        dsokr.train({**tables, "colour": 1}, out=tmp_path / "none")


def _root(folder, data):
    """A data root with the quickstart set, where a configuration without a file finds it."""
    root = folder / "data/datasets"
    root.mkdir(parents=True)
    (root / "quickstart").symlink_to(data)
    return root.parent


def command(*arguments):
    """The JSON that the command prints; skips where it is not there."""
    program = os.environ.get("DSOKR")
    if not program:
        pytest.skip("the environment variable DSOKR does not name the command")
    found = subprocess.run([program, "--quiet", *map(str, arguments)], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def test_the_callback_hears_the_log(model, lines):
    assert [line["epoch"] for line in lines] == [1, 2, 3]
    assert lines == model.log
    assert lines[-1]["metrics"]["mrr"] > 0.1 and {"loss", "learning_rate", "best"} <= lines[0].keys()


def test_pairs_are_fitted_in_one_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = []
    kinds = [("alcohol", "O"), ("amine", "N"), ("acid", "C(=O)O")]
    pairs = [(f"an {name} with {n} carbons", "C" * n + end) for n in range(1, 21) for name, end in kinds]
    texts, smiles = zip(*pairs, strict=True)
    model = dsokr.fit(texts, smiles, callback=lines.append)
    assert model.path == tmp_path / "runs/fit/run" and model.metrics["mrr"] > 2 * model.metrics["chance"]["mrr"]
    assert [hit.label for hit in model.search("an amine with 3 carbons", k=60)].count("CCCN") == 1
    # a kernel machine has one line
    assert len(lines) == 1 and lines[0]["metrics"]["mrr"] > 0
    labels = dsokr.fit(texts, [{name, str(n % 3)} for n in range(20) for name, _ in kinds])
    assert labels.path == tmp_path / "runs/fit-2/run" and labels.metrics["f1"] > 0
    numbers = dsokr.fit(np.array(texts), np.arange(60.0) % 20, tmp_path / "numbers", seed=3)
    assert numbers.config["seed"] == 3 and "pinball" in numbers.metrics
    with pytest.raises(dsokr.FileError, match="pairs.jsonl exists"):
        dsokr.fit(texts, smiles, tmp_path / "numbers")
    with pytest.raises(dsokr.ConfigError, match="outputs: 59, expected 60"):
        dsokr.fit(texts, smiles[1:])
    with pytest.raises(dsokr.ConfigError, match="at least 10"):
        dsokr.fit(texts[:5], smiles[:5])
    assert not Path("runs/fit-3").exists()


def test_an_evaluation_of_two_groups_has_its_metrics_in_a_table(tmp_path):
    """Without intervals, which need three."""
    rows = [(f"{('blue', 'red')[at // 4 % 2]} thing {at}", ("cold", "warm")[at // 4 % 2], f"g{at // 4}") for at in range(40)]
    lines = ["\t".join(row) for row in [("text", "name", "group"), *rows]]
    (tmp_path / "things.tsv").write_text("\n".join(lines) + "\n")
    splits = {"validation": 8, "test": 8, "group": "group"}
    words = {"kind": "words", "min": 1, "max": 1, "min_characters": 1, "min_texts": 1}
    tables = {
        "data": {"source": "pool", "folder": ".", "file": "things.tsv", "numbered": True, "inputs": {"column": "text"}, "splits": splits},
        "output": {"label": "name", "features": {"kind": "classes", "column": "name"}, "kernel": {"name": "linear"}},
        "sketch": {"full": True},
        "encoder": {
            "kind": "kernel-machine",
            "inputs": {"kind": "ngrams", "blocks": [words]},
            "kernel": {"name": "linear"},
            "solver": {"name": "closed-form"},
            "lambda": [1.0],
        },
        "evaluation": {"metric": "accuracy"},
    }
    evaluation = dsokr.train(tables, out=tmp_path / "run", data=tmp_path).evaluate("test")
    assert evaluation.intervals == {}
    row = f"<td>accuracy</td><td>{evaluation.metrics['accuracy']:.4f}</td><td></td><td>{evaluation.chance['accuracy']:.4f}</td>"
    assert row in evaluation._repr_html_()


def test_every_metric_is_in_every_place(tmp_path):
    pandas = pytest.importorskip("pandas")
    kinds = [("alcohol", "O"), ("amine", "N"), ("acid", "C(=O)O")]
    pairs = [(f"an {name} with {n} carbons", "C" * n + end, name, n) for n in range(1, 21) for name, end in kinds]
    texts, smiles, names, sizes = zip(*pairs, strict=True)
    labels = [{name, str(size % 3)} for name, size in zip(names, sizes, strict=True)]
    for kind, outputs in {"molecules": smiles, "labels": labels, "numbers": [float(size) for size in sizes]}.items():
        lines = []
        model = dsokr.fit(texts, outputs, tmp_path / kind, callback=lines.append)
        evaluation = model.evaluate("validation")
        compared = dsokr.compare({"once": evaluation, "again": evaluation}, resamples=100)
        all_names = [metric["metric"] for metric in compared.metrics]
        assert len(all_names) > 5, kind
        frame = evaluation.to_pandas()
        page = evaluation._repr_html_()
        tracker = Tracker()
        dsokr.log_to(tracker)(lines[-1])
        for name in all_names:
            value = evaluation.metrics[name]
            # draws that all have one value give no interval
            if name in evaluation.intervals:
                low, high = evaluation.intervals[name]
                assert low - 1e-9 <= value <= high + 1e-9, (kind, name)
            assert name in model.metrics and name in frame and f"<td>{name}</td>" in page, (kind, name)
            assert name in list(compared.to_pandas()["metric"]) and f"<td>{name}</td>" in compared._repr_html_(), name
            assert not pandas.isna(frame.loc["model", name]), (kind, name)
        for name, value in lines[-1]["metrics"].items():
            if name in all_names:
                assert tracker.logged[-1][1]["validation/" + name.replace("@", "_")] == value, (kind, name)


def test_demonstration(tmp_path):
    model = dsokr.demo()
    assert model.search("A steroid.", k=2)[0].label
    folder = model.path.parent
    assert folder.is_dir()
    del model
    assert not folder.exists()
    found = subprocess.run([sys.executable, "-m", "dsokr", "demo"], capture_output=True, text=True, cwd=tmp_path)
    assert found.returncode == 0 and len(found.stdout.splitlines()) == 6


class Tracker:
    """As wandb and trackio."""

    def __init__(self):
        self.logged = []

    def log(self, numbers, step):
        self.logged.append((step, numbers))


def test_trackers_hear_the_log(lines, model, tmp_path, monkeypatch):
    tracker = Tracker()
    for line in lines:
        dsokr.log_to(tracker)(line)
    steps = [step for step, _ in tracker.logged]
    last = tracker.logged[-1][1]
    assert steps == [line["step"] for line in lines] and last["loss"] == lines[-1]["loss"]
    # an evaluation within an epoch has no whole number of epochs
    dsokr.log_to(tracker)({**lines[-1], "step": 7, "epoch": 0.14})
    assert tracker.logged[-1][0] == 7 and all(isinstance(step, int) for step, _ in tracker.logged)
    # on_step has no metrics
    dsokr.log_to(tracker)({"step": 8, "epoch": 0.2, "loss": 0.5, "learning_rate": 0.1})
    assert tracker.logged[-1] == (8, {"step": 8, "epoch": 0.2, "loss": 0.5, "learning_rate": 0.1})
    assert last["validation/hits_10"] == lines[-1]["metrics"]["hits@10"]
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"file:{tmp_path}")
    mlflow.set_experiment("dsokr")
    with mlflow.start_run() as run:
        for line in lines:
            dsokr.log_to(mlflow)(line)
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "validation/mrr")
    assert [metric.value for metric in history] == [line["metrics"]["mrr"] for line in lines]


def test_settings_reach_the_run(model):
    assert model.config["training"]["epochs"] == 3 and model.config["seed"] == 1
    assert model.config["sketch"]["size"] == 200
    assert model.advice is not None


def test_the_evaluation_is_that_of_the_training(model):
    found = model.evaluate()
    whole = model.metrics
    assert found.metrics.items() <= whole.items()
    assert found.chance == whole["chance"] and found.intervals == whole["intervals"]
    assert found.metrics["mrr"] == found.ranks.metrics()["mrr"]
    assert len(found) == len(found.texts) == len(found.golds) == 200
    assert found.best[0].label and "MRR" in str(found)


def test_a_model_is_read_from_its_folder(model):
    again = dsokr.Model.load(str(model.path))
    assert np.array_equal(again.encode(TEXTS), model.encode(TEXTS))
    assert again.evaluate("validation").metrics == model.evaluate("validation").metrics
    assert again.evaluate("validation").metrics == model.log[-1]["metrics"] or not model.log[-1]["best"]
    copied = pickle.loads(pickle.dumps(model))
    assert copied.search(TEXTS[0]) == model.search(TEXTS[0])


def test_a_model_is_the_same_in_another_working_directory(model, tmp_path, monkeypatch):
    """The place of a run is that at the time of loading, also where another run lies at the same relative path."""
    monkeypatch.chdir(model.path.parent)
    loaded = dsokr.Model.load(model.path.name), dsokr.Ensemble.load([Path(model.path.name)], data="..")
    sent = [pickle.dumps(run) for run in loaded]
    (tmp_path / model.path.name).mkdir()
    monkeypatch.chdir(tmp_path)
    for run in (*loaded, *map(pickle.loads, sent), *map(copy.deepcopy, loaded)):
        assert run.search(TEXTS[0]) == model.search(TEXTS[0])
    assert loaded[0].path == model.path and loaded[1].paths == (model.path,)
    assert loaded[0].metrics == loaded[1].metrics == model.metrics
    assert loaded[0].basis.rank == model.basis.rank and loaded[0].log == model.log


def test_encode_search_and_rank(model):
    z = model.encode(TEXTS)
    assert z.shape == (2, model.basis.rank) and z.dtype == np.float32
    assert np.array_equal(model.encode(TEXTS[1]), z[1])
    found = model.search(TEXTS, k=4)
    assert found[0] == model.search(TEXTS[0], k=4) and len(found[1]) == 4
    assert found == model.candidates.search(model._inner.embed(TEXTS, True), k=4)
    assert [hit.score for hit in found[0]] == sorted((hit.score for hit in found[0]), reverse=True)
    evaluation = model.evaluate("test")
    assert np.array_equal(model.rank(evaluation.texts, evaluation.golds).ranks, evaluation.ranks.ranks)
    assert model.evaluate("test", coordinates=model.encode(evaluation.texts)).metrics == evaluation.metrics


def test_sets_of_candidates_hold_a_right_output(model):
    evaluation = model.evaluate("test")
    sets = model.search(evaluation.texts, coverage=0.8)
    # the others of candidates with equal features are under the id of the first
    held = sum(gold in {hit.id for hit in found} for gold, found in zip(evaluation.golds, sets))
    assert 0.7 * len(sets) < held and sum(map(len, sets)) < 100 * len(sets)
    assert model.search(evaluation.texts[0], coverage=0.8) == sets[0]
    calibration = model.calibration(0.8)
    assert (calibration["on"], calibration["queries"]) == ("validation", 200)
    assert "checkpoints" in calibration["caution"]
    with pytest.raises(dsokr.ConfigError, match="between 0 and 1"):
        model.search(TEXTS, coverage=1.5)
    with pytest.raises(dsokr.ConfigError, match="formula"):
        model.search(TEXTS, candidates="lists.jsonl")
    with pytest.raises(dsokr.ConfigError, match="does not read spectra"):
        model.search(TEXTS, coverage=0.8, candidates="mass:10")


def test_sets_of_candidates_of_an_ensemble(model, other):
    both = dsokr.Ensemble.load([model.path, other.path])
    sets = both.search(TEXTS, coverage=0.8)
    assert all(1 <= len(found) < 2000 for found in sets)
    assert both.calibration(0.8)["queries"] == 200


def test_mces_at_1(model, config, tmp_path):
    lines = (Path(config).parent.parent / "datasets/quickstart/test.tsv").read_text().splitlines()
    few = tmp_path / "few.tsv"
    few.write_text("\n".join(lines[:5]) + "\n")
    found = model.evaluate(queries=few, mces=True)
    assert found.metrics["mces"] >= 0 and model.evaluate(queries=few).metrics.get("mces") is None


def test_results_equal_the_commands(model, config, folder):
    trained = command(
        "train", config, "--out", folder / "command", "--set", "training.epochs=3", "--set", "seed=1", "--json"
    )
    volatile = {
        *("date", "version", "fingerprint", "seed"),
        *("measured_on", "right_outputs", "ranked_among", "measured_pairs", "trained_pairs", "tables"),
    }
    assert trained == {name: value for name, value in model.metrics.items() if name not in volatile}
    theirs = dsokr.Model.load(folder / "command")
    assert np.array_equal(theirs.encode(TEXTS), model.encode(TEXTS))
    for split in ("train", "validation", "test"):
        found = command("evaluate", model.path, "--split", split, "--json")
        evaluation = model.evaluate(split)
        assert found.pop("split") == split and found.pop("caution", None) == evaluation.caution
        assert found == evaluation.metrics
    found = command("search", model.path, TEXTS[0], "--top", "5", "--json")["candidates"]
    ours = model.search(TEXTS[0], k=5)
    assert [(hit["id"], hit["label"]) for hit in found] == [(hit.id, hit.label) for hit in ours]
    assert [np.float32(hit["score"]) for hit in found] == [np.float32(hit.score) for hit in ours]


def test_ensembles_equal_the_commands(model, other):
    ensemble = dsokr.Ensemble.load([model.path, other.path])
    found = command("evaluate", model.path, other.path, "--split", "validation", "--json")
    evaluation = ensemble.evaluate("validation")
    members = found.pop("members")
    assert found.pop("split") == "validation" and found.pop("caution") == evaluation.caution
    assert found == evaluation.metrics
    for member in members:
        assert evaluation.members[member.pop("run")] == member
    comparison = command("compare", model.path, other.path, "--split", "test", "--json")
    ours = dsokr.compare({str(run.path): run.evaluate("test") for run in (model, other)})
    assert comparison["metrics"] == ours.metrics


def test_ensembles(model, other):
    ensemble = dsokr.Ensemble.load([model.path, other.path])
    evaluation = ensemble.evaluate("validation")
    assert len(ensemble) == 2 and list(evaluation.members) == ensemble.names == [str(model.path), str(other.path)]
    assert evaluation.members[str(model.path)] == model.evaluate("validation").metrics
    assert ensemble.rule["name"] == "mean" and len(ensemble.search(TEXTS[0], k=3)) == 3
    fitted = dsokr.Ensemble.load([model.path, other.path], rule="rank", fit_weights=True)
    assert math.isclose(sum(fitted.rule["weights"]), 1.0)
    with pytest.raises(dsokr.ConfigError, match="metrics: 2 run directories"):
        ensemble.metrics
    # the coordinates of one member are none of the other's
    with pytest.raises(dsokr.ConfigError, match="coordinates = given, for 2 members"):
        ensemble.evaluate("validation", coordinates=np.ones((200, model.candidates.dim)))
    assert pickle.loads(pickle.dumps(fitted)).rule == fitted.rule


def test_members_whose_candidates_have_another_order(tmp_path):
    def train(name, molecules):
        data = tmp_path / "data" / name
        data.mkdir(parents=True)
        # each text has words of its own molecule
        texts = [f"{x}\tmolecule {x.lower()} of {len(x)} atoms" for x in sorted(molecules)]
        (data / "molecules.tsv").write_text("id\tsmiles\n" + "".join(f"{x}\t{x}\n" for x in molecules))
        for split, lines in [("train", texts[:16]), ("validation", texts[16:])]:
            (data / f"{split}.tsv").write_text("\n".join(["id\tdescription", *lines]) + "\n")
        config = tmp_path / f"{name}.toml"
        config.write_text(
            f"""
[data]
folder = "{name}"

[output]
table = "molecules.tsv"
label = "smiles"
features = {{ kind = "ngrams", column = "smiles", min = 1, max = 2 }}
kernel = {{ name = "cosine" }}

[sketch]
size = 8

[encoder]
kind = "kernel-machine"
inputs = {{ kind = "ngrams", blocks = [{{ kind = "words", min = 1, max = 1 }}] }}
lambda = 0.01
"""
        )
        return dsokr.train(config, out=tmp_path / f"run-{name}", data=tmp_path / "data")

    molecules = ["C" * n + end for n in range(1, 6) for end in "NOFS"]
    one, two = train("one", molecules), train("two", molecules[::-1])
    lists = tmp_path / "lists.jsonl"
    queries = sorted(molecules)[16:]
    line = lambda at, own: json.dumps({"query": own, "candidates": [own, *sorted(set(molecules[at : at + 9]) - {own})]})
    lists.write_text("".join(line(at, own) + "\n" for at, own in enumerate(queries)))
    found = dsokr.Ensemble.load([one.path, two.path]).evaluate("validation", candidates=lists)
    for model in [one, two]:
        assert found.members[str(model.path)] == model.evaluate("validation", candidates=lists).metrics


def test_chance_of_numbers_has_no_ranks(tmp_path):
    data = tmp_path / "data" / "flats"
    data.mkdir(parents=True)
    rows = [f"a{at}\t{'many' if at % 2 else 'few'} rooms\t{400 + 10 * at}" for at in range(16)]
    (data / "flats.tsv").write_text("\n".join(["id\tdescription\trent", *rows]) + "\n")
    config = tmp_path / "flats.toml"
    config.write_text(
        """
[data]
source = "pool"
folder = "flats"
file = "flats.tsv"
splits = { order = "file", train = 12, validation = 2, test = 2 }

[output]
features = { kind = "numbers", column = "rent" }
kernel = { name = "linear" }

[sketch]
full = true

[encoder]
kind = "kernel-machine"
inputs = { kind = "ngrams", blocks = [{ kind = "words", min = 1, max = 1 }] }
solver = { name = "lipschitz", sketch = { size = 12 }, loss = { name = "pinball", levels = [0.1, 0.5, 0.9] } }
lambda = 0.001

[evaluation]
metric = "pinball"
"""
    )
    model = dsokr.train(config, out=tmp_path / "run", data=tmp_path / "data")
    found = model.evaluate("validation")
    assert found.chance["numbers"] and "pinball" in str(found) and "MRR" not in str(found)


def test_an_onnx_file_returns_the_numbers_that_the_run_predicts(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    text = pytest.importorskip("sklearn.feature_extraction.text")
    program = os.environ.get("DSOKR")
    if not program:
        pytest.skip("the environment variable DSOKR does not name the command")
    draw = np.random.default_rng(0)
    words = ["old", "new", "small", "big", "hot", "blue"]
    texts = [" ".join(draw.choice(words, 3, replace=False)) for _ in range(90)]
    weights = {word: at + 1 for at, word in enumerate(words)}
    values = [sum(weights[word] for word in line.split()) for line in texts]
    rows = [f"r{at}\t{line}\t{values[at] - 8}\t{1000 - 7 * values[at]}" for at, line in enumerate(texts)]
    (tmp_path / "numbers.tsv").write_text("\n".join(["id\ttext\tfirst\tsecond", *rows]) + "\n")
    (tmp_path / "numbers.toml").write_text(
        """
[data]
source = "pool"
folder = "./"
file = "numbers.tsv"
inputs = { column = "text" }
splits = { validation = 10, test = 10, group = "repeats" }

[output]
features = { kind = "numbers", column = ["first", "second"] }
kernel = { name = "linear" }
scaling = "standard"

[sketch]
full = true

[encoder]
kind = "ngram-bag"
hidden = [8]
ngrams = [{ kind = "words", min = 1, max = 1 }]

[training]
epochs = 20
batch = 16
learning_rate = 0.02

[decoding]
search = "exact"

[evaluation]
metric = "r2"
"""
    )
    (tmp_path / "texts.txt").write_text("\n".join(texts) + "\n")

    def run(*arguments):
        found = subprocess.run([program, "--quiet", *arguments], cwd=tmp_path, capture_output=True, text=True)
        assert found.returncode == 0, found.stderr
        return found.stdout

    run("train", "numbers.toml", "--out", "run")
    run("export", "run", "--onnx", "--out", "exported")
    predicted = [json.loads(line) for line in run("predict", "run", "texts.txt", "--format", "jsonl").splitlines()]
    predicted = np.array([[float(number) for number in line["exact"]["label"].split()] for line in predicted])
    (block,) = json.loads((tmp_path / "exported/inputs/ngrams.json").read_text())["blocks"]
    weighted = text.TfidfVectorizer(vocabulary=block["terms"], sublinear_tf=True)
    weighted.idf_ = np.array(block["idf"])
    values = weighted.transform(texts).toarray().astype(np.float32)
    columns = np.tile(np.arange(values.shape[1]), (len(texts), 1))
    session = onnxruntime.InferenceSession(tmp_path / "exported/model.onnx")
    (numbers,) = session.run(["numbers"], {"columns": columns, "values": values})
    np.testing.assert_allclose(numbers, predicted, rtol=1e-6, atol=1e-4)


def test_the_directory_of_an_ensemble(folder, config):
    own = folder / "configs" / "ensemble.toml"
    text = config.read_text() + "\n[[ensemble.members]]\nname = 'a'\n[[ensemble.members]]\nname = 'b'\nseed = 1\n"
    own.write_text(text)
    lines = []
    ensemble = dsokr.train(own, set={"training.epochs": 1}, out=folder / "both", callback=lines.append)
    assert isinstance(ensemble, dsokr.Ensemble) and len(ensemble) == 2 and len(lines) == 2
    assert ensemble.evaluate().metrics.items() <= ensemble.metrics.items()
    with pytest.raises(dsokr.FileError, match="dsokr.Ensemble.load"):
        dsokr.Model.load(folder / "both")


def test_comparisons(model, other):
    a, b = model.evaluate("test"), other.evaluate("test")
    found = dsokr.compare({"long": a, "short": b}, resamples=100)
    mrr = next(metric for metric in found.metrics if metric["metric"] == "mrr")
    assert [run["value"] for run in mrr["runs"]] == [a.metrics["mrr"], b.metrics["mrr"]]
    assert mrr["runs"][1]["difference"]["difference"] == b.metrics["mrr"] - a.metrics["mrr"]
    assert "long" in str(found) and "<table>" in found._repr_html_()
    with pytest.raises(dsokr.ConfigError, match="at least two runs"):
        dsokr.compare({"long": a})
    with pytest.raises(dsokr.ConfigError, match="queries"):
        dsokr.compare({"long": a, "short": other.evaluate("validation")})
    sample = pickle.loads(pickle.dumps(other.evaluate("test", candidates="sample:5")))
    with pytest.raises(dsokr.ConfigError, match='short, ranked among the candidates "sample:5".* of long, "all"'):
        dsokr.compare({"long": a, "short": sample})
    dsokr.compare({"long": model.evaluate("test", candidates="sample:5"), "short": sample}, resamples=100)
    with pytest.raises(dsokr.ConfigError, match="expected a dsokr.Evaluation"):
        dsokr.compare({"long": a, "short": b.metrics})


def test_frames(model, other):
    pytest.importorskip("pandas")
    curve = model.learning_curve()
    assert list(curve["epoch"]) == [1, 2, 3] and curve["mrr"].iloc[-1] == model.log[-1]["metrics"]["mrr"]
    assert list(curve.columns)[:2] == ["step", "epoch"] and "metrics" not in curve
    frame = dsokr.Ensemble.load([model.path, other.path]).evaluate("validation").to_pandas()
    assert list(frame.index) == [str(model.path), str(other.path), "ensemble", "chance"]
    assert frame.loc[str(model.path), "mrr"] == model.evaluate("validation").metrics["mrr"]
    evaluation = model.evaluate("test")
    rows = evaluation.queries_to_pandas()
    assert len(rows) == 200 and math.isclose(rows["reciprocal_rank"].mean(), evaluation.metrics["mrr"])
    compared = dsokr.compare({"a": evaluation, "b": other.evaluate("test")}, resamples=100).to_pandas()
    assert set(compared["run"]) == {"a", "b"}


def test_notebooks_draw_molecules(model):
    hits = model.search(TEXTS[0], k=3)
    assert hits._repr_html_().count("<svg") == 3 and hits[0]._repr_svg_().startswith("<svg")
    plain = dsokr.Hits([dsokr.Hit("1", "<b>no molecule</b>", 1.0)])
    assert "<svg" not in plain._repr_html_() and "&lt;b&gt;" in plain._repr_html_()
    assert plain[0]._repr_svg_() is None
    doubted = dsokr.Hits(hits, cautions=["a <doubt>"])
    assert hits.cautions == [] and "<p>a &lt;doubt&gt;</p>" in doubted._repr_html_()
    assert "mrr" in model.evaluate()._repr_html_()


class Enough(Exception):
    pass


def test_a_stopped_training_is_resumed(model, config, folder):
    """Ctrl-C, and an exception of the callback, leave a run that goes on to the same result."""

    def interrupt(line):
        os.kill(os.getpid(), signal.SIGINT)

    def enough(line):
        raise Enough

    for name, callback, error in [("stopped", interrupt, KeyboardInterrupt), ("raised", enough, Enough)]:
        with pytest.raises(error) as raised:
            dsokr.train(config, set=SHORT, out=folder / name, seed=1, callback=callback)
        assert isinstance(raised.value.__cause__, dsokr.Error) and "resume=True" in str(raised.value.__cause__)
        assert (folder / name / "checkpoint").is_dir() and not (folder / name / "metrics.json").exists()
        resumed = dsokr.train(config, set=SHORT, out=folder / name, seed=1, resume=True)
        assert np.array_equal(resumed.encode(TEXTS), model.encode(TEXTS))
        assert resumed.evaluate().metrics == model.evaluate().metrics


def test_a_process_that_ends_leaves_a_run_that_can_be_resumed(model, config, folder):
    code = "import dsokr, os, sys; dsokr.train(sys.argv[1], set={'training.epochs': 3}, out=sys.argv[2], seed=1, "
    code += "callback=lambda line: line['epoch'] == 2 and os._exit(7))"
    found = subprocess.run([sys.executable, "-c", code, str(config), str(folder / "ended")])
    assert found.returncode == 7 and not [path for path in folder.iterdir() if path.name.endswith(".partial")]
    resumed = dsokr.train(config, set=SHORT, out=folder / "ended", seed=1, resume=True)
    assert np.array_equal(resumed.encode(TEXTS), model.encode(TEXTS))


def test_the_lock_is_released_while_training(config, folder):
    counted = []
    done = threading.Event()

    def count():
        while not done.wait(0.001):
            counted.append(None)

    thread = threading.Thread(target=count)
    thread.start()
    dsokr.train(config, set=SHORT, out=folder / "counted")
    done.set()
    thread.join()
    assert len(counted) > 50


def test_ctrl_c_without_a_callback(config, folder, interrupted):
    log = folder / "long" / "log.jsonl"
    # before the first step there is nothing to save
    with interrupted(1.0, when=lambda: log.exists() and log.stat().st_size > 0):
        dsokr.train(config, set={"training.epochs": 100_000}, out=folder / "long")
    assert list((folder / "long" / "checkpoint").iterdir())


DRAWN = """
[data]
source = "synthetic"
train = {train}
validation = 100
test = 100
unlabelled = 100
inputs = 20
outputs = 30
input_decay = 0.5
map = {{ kind = "low-rank", rank = 5 }}
noise = {{ variance = 0.01 }}
[output]
kernel = {{ name = "linear" }}
[sketch]
size = 10
[encoder]
kind = "kernel-machine"
lambda = {lambda_}
solver = {solver}
"""
LIPSCHITZ = """{ name = "lipschitz", sketch = { size = 500 }, loss = { name = "huber", kappa = 0.01 }, \
stop = { gap = 1e-15, steps = 100_000_000 } }"""


@pytest.mark.parametrize(
    ("rows", "lambda_", "solver"),
    [
        (4_000, [1e-3, 1e-4], '{ name = "closed-form" }'),
        (10_000, [1e-3, 1e-4], '{ name = "sketched", sketch = { size = 1500 } }'),
        (5_000, 1e-6, LIPSCHITZ),
    ],
)
def test_ctrl_c_ends_the_fit_of_a_kernel_machine(tmp_path, interrupted, rows, lambda_, solver):
    config = tmp_path / "drawn.toml"
    config.write_text(DRAWN.format(train=rows, lambda_=lambda_, solver=solver.replace("\\\n", "")))
    with interrupted(2.0):
        for at in itertools.count():
            dsokr.train(config, out=tmp_path / f"run-{at}")
    # no run is left under a temporary name, and one that has begun goes on
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    begun = [path for path in tmp_path.glob("run-*") if not (path / "metrics.json").exists()]
    if begun and "sketched" in solver:
        dsokr.train(config, out=begun[0], resume=True)


def test_warnings_are_records_of_logging(model, caplog):
    with caplog.at_level(logging.INFO, logger="dsokr"):
        model.encode(["qqqq zzzz", TEXTS[0]])
    (record,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert record.name == "dsokr"
    assert record.getMessage() == "texts without known tokens share one prediction unknown=1 texts=2"


def train_ensemble(config, out):
    dsokr.train(config, out=out)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_a_fork_after_members_trained_at_once(tmp_path):
    config = tmp_path / "at-once.toml"
    drawn = DRAWN.format(train=300, lambda_=1e-3, solver='{ name = "closed-form" }')
    config.write_text(drawn + "\n[ensemble]\nseeds = 2\nparallel = 2\n")
    train_ensemble(config, tmp_path / "parent")
    process = multiprocessing.get_context("fork").Process(target=train_ensemble, args=(config, tmp_path / "child"))
    process.start()
    process.join(120)
    assert process.exitcode == 0
    parent, child = (dsokr.Ensemble.load(tmp_path / name) for name in ("parent", "child"))
    assert parent.metrics["mrr"] == child.metrics["mrr"]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"config": "none.toml"}, dsokr.FileError, "none.toml: not found"),
        ({"set": {"training.epochs": -1}}, dsokr.ConfigError, "training.epochs"),
        ({"set": {"training.epoch": 1}}, dsokr.ConfigError, "with set: .*epoch"),
        ({"set": {"training.epochs": None}}, dsokr.ConfigError, r"set\['training.epochs'\]: None"),
        ({"set": {"": 1}}, dsokr.ConfigError, "set: "),
        ({"set": {"training.epochs": np.array([1, 2])}}, dsokr.ConfigError, "training.epochs"),
        ({"set": {"encoder.hidden": [10**12]}}, dsokr.ConfigError, "encoder.hidden.* or force=True"),
        ({"seed": -1}, dsokr.ConfigError, "seed: -1"),
        ({"device": "gpu"}, dsokr.ConfigError, "device: .*not a device"),
        ({"device": "cuda"}, dsokr.ConfigError, "device cuda: "),
        ({"out": "taken"}, dsokr.FileError, "taken exists: continue it with resume=True"),
        ({"data": "nowhere"}, dsokr.FileError, "nowhere"),
    ],
)
def test_wrong_trainings(config, folder, monkeypatch, change, error, message):
    monkeypatch.chdir(folder)
    (folder / "taken").mkdir(exist_ok=True)
    with pytest.raises(error, match=message):
        dsokr.train(**{"config": config, "out": "new", **change})
    assert not (folder / "new").exists()


def test_wrong_models(model, folder):
    with pytest.raises(dsokr.FileError, match="nothing: not found") as raised:
        dsokr.Model.load(folder / "nothing")
    assert isinstance(raised.value, OSError)
    with pytest.raises(dsokr.FileError, match="config.toml"):
        dsokr.Model.load(folder)
    with pytest.raises(dsokr.ConfigError, match="paths: none"):
        dsokr.Ensemble.load([])
    for queries in ("", [" "], np.ones((2, 3))):
        with pytest.raises(dsokr.ConfigError):
            model.encode(queries)
    with pytest.raises(dsokr.ConfigError, match="top 0 candidates"):
        model.search(TEXTS[0], k=0)
    assert model.search(TEXTS[0], k=100_000) == model.search(TEXTS[0], k=2000)
    with pytest.raises(dsokr.ConfigError, match='split = "tran"'):
        model.evaluate("tran")
    with pytest.raises(dsokr.ConfigError, match="split: given with queries"):
        model.evaluate("test", queries="q.tsv")
    with pytest.raises(dsokr.FileError, match="q.tsv"):
        model.evaluate(queries=folder / "q.tsv")
    with pytest.raises(dsokr.ConfigError, match="coordinates"):
        model.evaluate(coordinates=np.ones((3, 3)))
    for call, message in [
        (lambda: model.search("a\udc80", k=1), r"queries: the text at 0 holds '\\udc80' at its position 1, a surrogate"),
        (lambda: model.encode([TEXTS[0], "a\udc80"]), "queries: the text at 1 holds .*, a surrogate"),
        (lambda: model.score("a\udc80", ["CCO"]), "texts: the text at 0 holds .*, a surrogate"),
        (lambda: model.score([TEXTS[0]], "C\udc80"), "molecules: the text at 0 holds .*, a surrogate"),
        (lambda: model.search(TEXTS[0], coverage="x"), "coverage: 'x', expected a number"),
        (lambda: model.calibration("x"), "coverage: 'x', expected a number"),
        (lambda: model.evaluate(least_candidates="x"), "least_candidates: 'x', expected a whole number"),
        (lambda: model.evaluate(queries=[TEXTS[0]]), "queries: list, expected the path of a table"),
        (lambda: dsokr.compare([model]), "evaluations: list, expected a dict"),
    ]:
        with pytest.raises(dsokr.ConfigError, match=message):
            call()
    assert model.search([]) == [] and model.encode([]).shape == (0, model.candidates.dim)


def test_a_file_of_queries(model, folder, config):
    queries = config.parents[1] / "datasets" / "quickstart" / "test.tsv"
    found = model.evaluate(queries=queries)
    assert found.metrics == model.evaluate("test").metrics and found.caution is None
    learned = model.evaluate(queries=queries.with_name("train.tsv"))
    assert "queries have inputs of training pairs" in learned.caution
    assert pickle.loads(pickle.dumps(learned)).caution == learned.caution


def test_a_right_output_that_is_no_candidate(model, config, tmp_path):
    lines = (config.parents[1] / "datasets" / "quickstart" / "test.tsv").read_text().splitlines()
    queries = tmp_path / "queries.tsv"
    queries.write_text("\n".join([*lines[:4], f"nobody\t{TEXTS[1]}"]) + "\n")
    with pytest.raises(dsokr.ConfigError, match="nobody"):
        model.evaluate(queries=queries)
    found = model.evaluate(queries=queries, missing_gold="rank-infinity")
    assert len(found) == 4 and found.metrics["missing_gold"] == 1
    assert found.ranks.ranks[3] == np.inf and np.isfinite(found.ranks.ranks[:3]).all()
    assert found.metrics["mrr"] == pytest.approx(found.ranks.reciprocals[:3].sum() / 4)
    with pytest.raises(dsokr.ConfigError, match='missing_gold: .*other'):
        model.evaluate(queries=queries, missing_gold="other")


def work(path, config, out, queue):
    trained = dsokr.train(config, set=SHORT, out=out, seed=1)
    queue.put((dsokr.Model.load(path).encode(TEXTS), trained.encode(TEXTS)))


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_other_processes(model, config, folder, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=work, args=(model.path, config, folder / method, queue))
    process.start()
    found = queue.get(timeout=120)
    process.join(60)
    assert process.exitcode == 0 and all(np.array_equal(each, model.encode(TEXTS)) for each in found)


def test_threads_of_the_caller(model):
    found = [None] * 4

    def run(at):
        found[at] = model.encode(TEXTS)

    threads = [threading.Thread(target=run, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(each, model.encode(TEXTS)) for each in found)
