"""Pairs as people hold them: matrices, frames, indicators, dictionaries, missing values."""

import importlib
import json
import logging
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import dsokr

if not hasattr(dsokr._dsokr, "Runs"):
    pytest.skip("built without the feature run", allow_module_level=True)

RNG = np.random.default_rng(0)
TEXTS = [f"{a} {b} {c}" for a in ("red", "green", "blue", "grey") for b in ("large", "small", "tiny") for c in ("box", "ball", "key", "cup", "pen")]
SMILES = ["C" * (1 + at % 20) + end for at, end in enumerate(("O", "N", "C(=O)O") * 20)]
X = RNG.standard_normal((60, 4)).round(3)


def written(model):
    """The pairs of a fit."""
    return [json.loads(line) for line in (model.path.parent / "pairs.jsonl").read_text().splitlines()]


def test_a_matrix_is_vectors(tmp_path):
    """Rows of numbers are compared as numbers: of a linear rule a model finds much more than the mean."""
    y = X @ [1.0, -2.0, 0.5, 0.0] + 3
    for at, inputs in enumerate((X, X.tolist(), list(X))):
        model = dsokr.fit(inputs, y, tmp_path / str(at), seed=0)
        assert model.config["data"]["inputs"]["numbers"] is True
        assert model.config["encoder"]["inputs"]["kind"] == "vectors"
        assert written(model)[3]["input"] == X[3].tolist()
    # quantiles .1, .5 and .9; the middle one follows the rule
    median = [hits.quantiles[0.5] for hits in model.search(X, k=1)]
    assert np.corrcoef(median, y)[0, 1] > 0.9
    assert model.encode(X[:2]).shape[0] == 2


def test_molecules_of_vectors(tmp_path):
    lengths = np.array([[len(smiles), smiles.count("O"), smiles.count("N") + 0.5] for smiles in SMILES])
    model = dsokr.fit(lengths, SMILES, tmp_path / "run")
    assert model.metrics["mrr"] > 3 * model.metrics["chance"]["mrr"]


@pytest.mark.parametrize("dtype", [float, np.float32, int, bool])
def test_indicators_are_label_sets(tmp_path, dtype):
    has = np.array([["red" in text, "box" in text, "tiny" in text] for text in TEXTS])
    model = dsokr.fit(TEXTS, has.astype(dtype), tmp_path / "run")
    labels = {label for pair in written(model) for label in pair["output"]}
    assert labels == {"label0", "label1", "label2"} and model.metrics["f1"] > 0.5
    chance = model.evaluate().chance
    assert "f1" in chance and chance == model.metrics["chance"]


@pytest.mark.parametrize("size", [2, 3, None])
def test_sets_of_whole_numbers_are_label_sets(tmp_path, size):
    """Whether the sets of a fit have one size, as vectors and rankings have, or several."""
    sets = [set(range(at % 3, at % 3 + (size or 1 + at % 4))) for at in range(60)]
    model = dsokr.fit(TEXTS, sets, tmp_path / "run")
    assert "f1" in model.metrics
    assert [pair["output"] for pair in written(model)] == [sorted(map(str, labels)) for labels in sets]


def test_frames(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": TEXTS, "red": [float("red" in text) for text in TEXTS]})
    frame["box"] = ["box" in text for text in TEXTS]
    model = dsokr.fit(frame[["text"]], frame[["red", "box"]], tmp_path / "labels")
    assert {label for pair in written(model) for label in pair["output"]} == {"red", "box"}
    model = dsokr.fit(frame["text"], pandas.DataFrame(X, columns=list("abcd")), tmp_path / "numbers")
    assert written(model)[5]["output"] == X[5].tolist() and "rrmse" in model.metrics
    polars = pytest.importorskip("polars")
    model = dsokr.fit(polars.DataFrame(dict(zip("abcd", X.T))), polars.Series(SMILES), tmp_path / "polars")
    assert written(model)[7] == {"input": X[7].tolist(), "output": SMILES[7]}
    arrow = pytest.importorskip("pyarrow")
    model = dsokr.fit(arrow.table(dict(zip("abcd", X.T))), arrow.array(SMILES), tmp_path / "arrow")
    assert written(model)[7] == {"input": X[7].tolist(), "output": SMILES[7]}


@pytest.mark.parametrize("kind", [str, object])
def test_a_column_of_texts_is_its_texts(tmp_path, kind):
    """As an array of one column, a frame of one column, or a list; also as queries."""
    colours = [text.split()[0] for text in TEXTS]
    given = [(TEXTS, colours), *(tuple(np.array(column, kind)[:, None] for column in (TEXTS, colours)),)]
    given += [tuple(columns) for columns in zip(*(frames({"a": column}) for column in (TEXTS, colours)), strict=True)]
    models = [dsokr.fit(*pair, tmp_path / str(at), seed=0, progress=False) for at, pair in enumerate(given)]
    for model in models:
        assert written(model) == written(models[0]) and "accuracy" in model.metrics
    queries = np.array(TEXTS[:3], kind)[:, None]
    assert np.array_equal(models[1].encode(queries), models[1].encode(TEXTS[:3]))


def test_score_reads_columns_of_texts(tmp_path):
    model = dsokr.fit(TEXTS, SMILES, tmp_path / "run", seed=0, progress=False)
    texts, molecules = (np.array(column[:3])[:, None] for column in (TEXTS, SMILES))
    assert np.array_equal(model.score(texts, molecules), model.score(TEXTS[:3], SMILES[:3]))


def test_tensors(tmp_path):
    torch = pytest.importorskip("torch")
    model = dsokr.fit(torch.tensor(X), torch.tensor([len(smiles) for smiles in SMILES]), tmp_path / "run")
    assert written(model)[1] == {"input": X[1].tolist(), "output": len(SMILES[1])}
    # quarters are exact in bfloat16
    quarters = torch.tensor((4 * X).round() / 4)
    for at, tensor in enumerate((quarters.bfloat16(), quarters.clone().requires_grad_(), quarters.to_sparse())):
        model = dsokr.fit(tensor, SMILES, tmp_path / str(at), seed=0, progress=False)
        assert written(model)[1] == {"input": quarters[1].tolist(), "output": SMILES[1]}
        assert np.array_equal(model.encode(tensor), model.encode(quarters))


def test_missing_values_are_left_out(tmp_path, caplog):
    pandas = pytest.importorskip("pandas")
    texts = pandas.Series([*TEXTS[:-2], None, float("nan")])
    smiles = pandas.Series([float("nan"), pandas.NA, *SMILES[2:]])
    with caplog.at_level(logging.WARNING, logger="dsokr"):
        model = dsokr.fit(texts, smiles, tmp_path / "run")
    assert written(model) == [{"input": text, "output": own} for text, own in zip(TEXTS[2:-2], SMILES[2:-2])]
    assert "4 of 60 pairs lack an input or an output and are left out, the first one at 0" in caplog.text


def test_outputs_that_say_nothing_are_left_out_with_a_warning(tmp_path, caplog):
    """Also where the program has not set the level of information."""
    with caplog.at_level(logging.WARNING, logger="dsokr"):
        model = dsokr.fit(TEXTS, ["NA", "US", "DE"] * 20, tmp_path / "run", progress=False)
    assert "20 of 60 pairs are left out" in caplog.text
    assert model.config["data"]["bad_rows"] == 20
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="dsokr"):
        dsokr.fit(TEXTS, ["FR", "US", "DE"] * 20, tmp_path / "whole", progress=False)
    assert "pairs are left out" not in caplog.text


def test_texts_of_whole_numbers_that_recur_are_names(tmp_path):
    """The texts "01" and "1" are two classes; texts of real numbers are numbers, as numbers are."""
    for at, outputs in enumerate((["1", "2", "3"], ["01", "1", "2"])):
        model = dsokr.fit(TEXTS, outputs * 20, tmp_path / str(at), progress=False)
        assert model.config["output"]["features"]["kind"] == "classes", outputs
        assert {hits[0].label for hits in model.search(TEXTS, k=1)} <= {*outputs}
    for at, outputs in enumerate((["0.53", "1.25", "2.5"], [1, 2, 3])):
        model = dsokr.fit(TEXTS, outputs * 20, tmp_path / f"numbers-{at}", progress=False)
        assert model.config["output"]["features"]["kind"] == "numbers", outputs


def test_dictionaries(tmp_path):
    sets = [{"red": int("red" in text), "box": "box" in text} for text in TEXTS]
    model = dsokr.fit(TEXTS, sets, tmp_path / "labels")
    assert {label for pair in written(model) for label in pair["output"]} == {"red", "box"}
    by_key = dsokr.fit(dict(enumerate(TEXTS)), dict(reversed(list(enumerate(SMILES)))), tmp_path / "keys")
    assert written(by_key)[9] == {"input": TEXTS[9], "output": SMILES[9]}
    rows = [dict(zip("abcd", row.tolist())) for row in X]
    assert written(dsokr.fit(rows, SMILES, tmp_path / "rows"))[2]["input"] == X[2].tolist()


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        (TEXTS, SMILES[1:], "outputs: 59, expected 60"),
        (TEXTS, [*SMILES[:-1], float("inf")], "outputs: inf at 59"),
        (np.where(X > 2, np.inf, X), SMILES, "inputs: row .*inf is not a finite number"),
        ([[1.0, 2.0], [1.0]] * 30, SMILES, "inputs: 1 numbers at 1, expected 2"),
        ([*TEXTS[:-1], 1.0], SMILES, "inputs: texts and numbers"),
        (TEXTS, [[0, 1, 1]] * 50 + [[1, 0]] + [[1, 0, 0]] * 9, "outputs: 2 numbers at 50, expected 3"),
        (TEXTS, [*X[:7].tolist(), None, [0.5, 1.5], *X[9:].tolist()], "outputs: 2 numbers at 8, expected 4"),
        (TEXTS, [[1, 2, 3], [2, 1]] + [[3, 2, 1]] * 58, "outputs: 2 numbers at 1, expected 3 .* label sets"),
        (TEXTS, [{1, None}] * 60, r"outputs\[0\]: None"),
        (dict(enumerate(TEXTS)), SMILES, "inputs: a dictionary"),
        ({"a": "b"}, {"c": "C"}, "is a key of only one"),
        (TEXTS, np.zeros((60, 2, 2)), "outputs: shape"),
        ([{1: 0.5, "1": 2.5}] * 60, SMILES, "inputs: a dictionary at 0 with two keys '1'"),
        (TEXTS, [{1: 1, 2: 0}] * 7 + [{1: 0, "1": 1}] * 53, "outputs: a dictionary at 7 with two keys '1'"),
        ([{"a\udc80": 0.5}] * 60, SMILES, "inputs: names: the text at 0 holds .*, a surrogate"),
        (TEXTS, [{"a\udc80": 1, "b": 0}] * 60, "outputs: names: the text at 0 holds .*, a surrogate"),
        (set(TEXTS), SMILES, "inputs: set, which has no order"),
        (TEXTS, frozenset(SMILES), "outputs: frozenset, which has no order"),
        ([*TEXTS[:-1], "a\udc80"], SMILES, "inputs: the text at 59 holds .*, a surrogate"),
        (TEXTS, [*SMILES[:-1], "a\udc80"], "outputs: the text at 59 holds .*, a surrogate"),
        (TEXTS, [["red", "a\udc80"]] * 60, r"outputs\[0\]: the text at 1 holds .*, a surrogate"),
        ([], [], "inputs and outputs: no pairs, expected at least 10"),
        (TEXTS, [None] * 60, "inputs and outputs: 60 pairs, of which none has an input and an output"),
        ("abc", SMILES, "inputs: str"),
        (TEXTS, [object()] * 60, "outputs: object at 0"),
    ],
)
def test_wrong_pairs(tmp_path, inputs, outputs, message):
    with pytest.raises(dsokr.ConfigError, match=message):
        dsokr.fit(inputs, outputs, tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_columns_with_one_name_are_refused(tmp_path):
    """A number and its text are one name."""
    pandas = pytest.importorskip("pandas")
    for names in ([1, "1"], ["a", "a"]):
        frame = pandas.DataFrame(X[:, :2], columns=names)
        for inputs, outputs in ((frame, SMILES), (TEXTS, frame)):
            with pytest.raises(dsokr.ConfigError, match=f"two columns '{names[1]}'"):
                dsokr.fit(inputs, outputs, tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_a_mistyped_option_leaves_nothing_in_the_way(tmp_path):
    wrong = [{"seeed": 1}, {"set": {"encoder.lamda": 1.0}}, {"seed": -1}, {"device": "gpu"}, {"encoder": 3}]
    for options in wrong:
        with pytest.raises((TypeError, dsokr.ConfigError)):
            dsokr.fit(TEXTS, SMILES, tmp_path / "run", **options)
        assert list(tmp_path.iterdir()) == [], options
    # and nothing that was there is removed
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes").write_text("mine")
    with pytest.raises(dsokr.ConfigError):
        dsokr.fit(TEXTS, SMILES, tmp_path / "run", set={"encoder.lamda": 1.0})
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["notes"]
    assert dsokr.fit(TEXTS, SMILES, tmp_path / "run").metrics["mrr"] > 0
    with pytest.raises(dsokr.FileError, match="pairs.jsonl exists") as raised:
        dsokr.fit(TEXTS, SMILES, tmp_path / "run")
    assert raised.value.errno == 17


def test_fits_of_several_threads_have_a_folder_each(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with ThreadPoolExecutor(4) as executor:
        models = list(executor.map(lambda seed: dsokr.fit(TEXTS, SMILES, seed=seed, progress=False), range(4)))
    assert sorted(model.path.parent.name for model in models) == ["fit", "fit-2", "fit-3", "fit-4"]
    # one that is refused leaves none behind
    with pytest.raises(dsokr.ConfigError):
        dsokr.fit(TEXTS, SMILES, set={"encoder.lamda": 1.0})
    assert len(list((tmp_path / "runs").iterdir())) == 4


def test_the_log_of_a_kernel_machine(tmp_path):
    heard = []
    model = dsokr.fit(TEXTS, SMILES, tmp_path / "run", callback=heard.append)
    assert model.log == heard and len(heard) == 1
    assert heard[0]["step"] == 0 and heard[0]["metrics"]["mrr"] == model.evaluate("validation").metrics["mrr"]
    pytest.importorskip("pandas")
    assert model.learning_curve()["mrr"].tolist() == [heard[0]["metrics"]["mrr"]]


def test_progress_is_shown(tmp_path):
    code = "import dsokr, json, sys; dsokr.fit(*json.loads(sys.argv[1]), sys.argv[2], progress=sys.argv[3] == 'yes')"

    def errors(progress):
        arguments = [json.dumps([TEXTS, SMILES]), tmp_path / progress, progress]
        found = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=120)
        assert found.returncode == 0 and found.stdout == "", found.stderr
        return found.stderr

    assert "MRR" in errors("yes") and errors("no") == ""


def test_queries_without_a_text(tmp_path):
    model = dsokr.fit(TEXTS, SMILES, tmp_path / "run")
    for queries in (["a", None], np.array(["a", np.nan], object)):
        with pytest.raises(dsokr.ConfigError, match="queries: .* at 1, expected a text"):
            model.encode(queries)
    for queries in (tuple(TEXTS[:2]), np.array(TEXTS[:2]), iter(TEXTS[:2])):
        assert np.array_equal(model.encode(queries), model.encode(TEXTS[:2]))
    pandas = pytest.importorskip("pandas")
    assert np.array_equal(model.encode(pandas.Series(TEXTS[:2])), model.encode(TEXTS[:2]))
    assert Path(model.path).exists()


def frames(columns):
    """A frame with these columns of each library that is there."""
    found = [pytest.importorskip("pandas").DataFrame(columns)]
    for library, name in [("polars", "DataFrame"), ("pyarrow", "table")]:
        try:
            found.append(getattr(importlib.import_module(library), name)(columns))
        except ImportError:
            pass
    return found


def test_queries_are_what_inputs_are(tmp_path):
    """Frames and columns that a fit takes are queries too; the keys of a dictionary are none."""
    model = dsokr.fit(TEXTS, SMILES, tmp_path / "texts")
    for frame in frames({"text": TEXTS[:3]}):
        assert np.array_equal(model.encode(frame), model.encode(TEXTS[:3])), type(frame)
        assert model.search(frame, k=2) == model.search(TEXTS[:3], k=2)
    for ask in (model.encode, model.search):
        with pytest.raises(dsokr.ConfigError, match="queries: dict, expected a list of texts, or rows of numbers"):
            ask({"CHEBI:1": TEXTS[0]})
    with pytest.raises(dsokr.ConfigError, match="texts: dict"):
        model.score({"CHEBI:1": TEXTS[0]}, "CCO")
    model = dsokr.fit(X, SMILES, tmp_path / "vectors")
    for frame in frames(dict(zip("abcd", X[:3].T))):
        assert np.array_equal(model.encode(frame), model.encode(X[:3])), type(frame)
    numbers = X[:3, 0]
    model = dsokr.fit(X[:, 0], SMILES, tmp_path / "numbers")
    expected = model.encode(numbers[:, None])
    for queries in [numbers, numbers.tolist(), *frames({"a": numbers})]:
        assert np.array_equal(model.encode(queries), expected), type(queries)


def test_numbers_of_queries_are_found_by_the_names_of_their_columns(tmp_path):
    """As scikit-learn does, other names are refused; the order may be another."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:, :2], columns=["logP", "mass"])
    y = X[:, 0] - 3 * X[:, 1]
    model = dsokr.fit(frame, y, tmp_path / "fit", seed=0, progress=False)
    expected = model.encode(frame)
    moved = tmp_path / "moved"
    shutil.copytree(model.path, moved)
    for each in (model, dsokr.Model.load(moved), dsokr.Ensemble.load(model.path), pickle.loads(pickle.dumps(model))):
        right, turned = (each.search(queries, k=1) for queries in (frame, frame[["mass", "logP"]]))
        assert [hits.quantiles for hits in right] == [hits.quantiles for hits in turned]
    rows = frame.to_dict("records")
    for queries in [frame[["mass", "logP"]], X[:, :2], rows, *frames({"mass": X[:, 1], "logP": X[:, 0]})]:
        assert np.array_equal(model.encode(queries), expected), type(queries)
    for queries, message in [
        (frame.rename(columns={"mass": "a"}), "queries: no column 'mass', expected the columns that the model was fitted on: logP, mass"),
        (frame.assign(extra=1.0), "queries: 'extra' is none of the columns that the model was fitted on: logP, mass"),
        (pandas.DataFrame(X[:, :2], columns=["a", "a"]), "two columns 'a'"),
        ([{"mass": 1.0, "charge": 2.0}], "queries: 'charge' is none of the columns"),
        ([rows[0], {"mass": 1.0}], "queries: no column 'logP' at 1, expected the columns that the model was fitted on: logP, mass"),
        ([{"logP": 1.0, "mass": None}], "queries: row 0, column 1"),
    ]:
        with pytest.raises(dsokr.ConfigError, match=message):
            model.encode(queries)
    # a training that goes on, or starts again, keeps them
    again = dsokr.train(tmp_path / "fit" / "pairs.toml", out=tmp_path / "again")
    assert np.array_equal(again.encode(frame[["mass", "logP"]]), again.encode(frame))
    by_name = dsokr.fit(rows, y, tmp_path / "rows", seed=0, progress=False)
    assert np.array_equal(by_name.encode(frame[["mass", "logP"]]), expected)
    # what a dictionary lacks is 0, as in a fit on dictionaries
    assert np.array_equal(by_name.encode([{"mass": 0.5}]), by_name.encode([[0.0, 0.5]]))
    with pytest.raises(dsokr.ConfigError, match="queries: no column 'logP' at 0"):
        dsokr.Ensemble.load([by_name.path, model.path]).search([{"mass": 0.5}])
    turned = dsokr.fit(frame[["mass", "logP"]], y, tmp_path / "turned", seed=0, progress=False)
    both = dsokr.Ensemble.load([model.path, turned.path])
    with pytest.raises(dsokr.ConfigError, match="members were fitted on different columns"):
        both.search(frame)
    plain = dsokr.fit(X[:, :2], y, tmp_path / "plain", seed=0, progress=False)
    assert np.array_equal(plain.encode(frame), expected)
    with pytest.raises(dsokr.ConfigError, match="fitted on inputs without names"):
        plain.encode(rows)
