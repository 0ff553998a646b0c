"""The examples run, and what they train is far above chance."""

import importlib.util
import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest

import dsokr

FOLDER = Path(__file__).parents[1]
QUICKSTART = FOLDER.parents[1] / "datasets" / "quickstart"
MORGAN = """
[data]
folder = "datasets/quickstart"

[output]
table = "molecules.tsv"
label = "smiles"
features = { kind = "substructures", column = "smiles", count = { name = "morgan" } }
kernel = { name = "cosine" }

[encoder]
kind = "ngram-bag"
hidden = []

[training]
epochs = 1
"""


def program(path):
    """The module of a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pytorch_custom():
    pytest.importorskip("torch")
    for ranks in program(FOLDER / "examples" / "pytorch_custom.py").main(QUICKSTART):
        assert len(ranks) == 200 and ranks.metrics()["mrr"] > 0.2


def test_a_loop_of_ones_own(tmp_path, monkeypatch, capsys):
    """It trains a model far above chance in fewer than 50 lines, and the book has it word by word."""
    pytest.importorskip("torch")
    if not hasattr(dsokr, "quickstart"):
        pytest.skip("built without the feature run")
    path = FOLDER / "examples" / "pytorch_loop.py"
    page = FOLDER.parents[1] / "book" / "src" / "python.md"
    text = path.read_text()
    assert f"```python\n{text}```" in page.read_text() and len(text.splitlines()) <= 50
    monkeypatch.chdir(tmp_path)
    assert program(path).ranks.metrics()["mrr"] > 0.35


RERANKED = """
[decoding]
reranker = { candidates = 5, neighbours = 7, folds = 4, held_out_folds = 2 }
hubs = { weights = [0.5], neighbours = [3] }
"""


def scored(run, table, out, texts, kill=False):
    """The scores that two workers of Ray write for a table, by molecule; with ``kill`` one of them is killed on the way."""
    ray = pytest.importorskip("ray")
    score = program(FOLDER.parents[1] / "examples" / "ray" / "score.py")
    if kill:
        mark = Path(out).with_suffix(".killed")

        class Killed(score.Scorer):
            def __call__(self, batch):
                if not mark.exists():
                    mark.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                return super().__call__(batch)

        score.Scorer = Killed
    ray.init(num_cpus=3, include_dashboard=False)
    try:
        score.main(run, table, out, *texts)
        rows = ray.data.read_parquet(str(out)).take_all()
    finally:
        ray.shutdown()
    return {row["smiles"]: [row[f"score {at + 1}"] for at in range(len(texts))] for row in rows}


def test_ray_scores_a_table_of_molecules(tmp_path, monkeypatch):
    pytest.importorskip("ray.data")
    if not hasattr(dsokr, "train"):
        pytest.skip("built without the feature run")
    monkeypatch.chdir(tmp_path)
    config = dsokr.quickstart(".").with_name("morgan.toml")
    kernel_machine = 'kind = "kernel-machine"\ninputs = { kind = "ngrams", blocks = [{ kind = "words", min = 1, max = 2 }] }\nlambda = 0.001\n'
    training = MORGAN[: MORGAN.index('kind = "ngram-bag"')] + kernel_machine
    config.write_text(training + RERANKED)
    model = dsokr.train(config, out="run")
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["smiles", *model.candidates.labels[:50], "CCCCCCOC(=O)C", "C1CC("]) + "\n")
    texts = ["An ester.", "An acid."]
    scores = scored(tmp_path / "run", table, tmp_path / "scored", texts)
    assert len(scores) == 52 and np.isnan(scores.pop("C1CC(")).all()
    # the bits of one process, of which a killed one changes none
    for at, text in enumerate(texts):
        assert np.array_equal(model.score(text, list(scores)), [both[at] for both in scores.values()])
    again = scored(tmp_path / "run", table, tmp_path / "again", texts, kill=True)
    again.pop("C1CC(")
    assert again == scores
    assert model.score(texts, "CCO").tolist() == [model.score(text, ["CCO"])[0] for text in texts]
    assert model.score(texts[0], "CCO").shape == (1,)
    with pytest.raises(dsokr.ConfigError, match="molecules: None at 1"):
        model.score(texts, ["CCO", None])
    hits = model.search(texts[0], k=len(model.candidates))
    # a run keeps in 16 bits what the correction of new molecules for hubs is computed from
    assert all(hit.score == pytest.approx(scores[hit.label][0], abs=2**-11) for hit in hits if hit.label in scores)


def test_ray_scores_with_the_directory_of_an_ensemble(tmp_path, monkeypatch):
    pytest.importorskip("ray.data")
    if not hasattr(dsokr, "train"):
        pytest.skip("built without the feature run")
    monkeypatch.chdir(tmp_path)
    config = dsokr.quickstart(".").with_name("morgan.toml")
    config.write_text(MORGAN + "\n[ensemble]\nseeds = 2\n")
    both = dsokr.train(config, out="both")
    smiles = both.candidates.labels[:20]
    scorer = program(FOLDER.parents[1] / "examples" / "ray" / "score.py").Scorer("both", ["An ester."])
    assert np.array_equal(scorer({"smiles": np.array(smiles)})["score 1"], both.score("An ester.", smiles))


def test_torch_tensors_are_read_in_place():
    torch = pytest.importorskip("torch")
    tensor = torch.ones(4, 3)
    assert np.array_equal(dsokr.as_rows(tensor).toarray(), tensor.numpy())
    assert np.array_equal(dsokr.as_rows(tensor.double()).toarray(), np.ones((4, 3)))
    # what is made of it is no tensor, and has no gradient to lose
    assert np.array_equal(dsokr.as_rows(torch.ones(4, 3, requires_grad=True)).toarray(), np.ones((4, 3)))


PAGES = [FOLDER / "README.md", FOLDER.parents[1] / "book" / "src" / "python.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_programs_of_pages(page, tmp_path, monkeypatch):
    """The programs of a page run, one after the other."""
    monkeypatch.chdir(tmp_path)
    programs = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert len(programs) >= 2
    for program in programs:
        if "sklearn" in program:
            pytest.importorskip("sklearn")
        if "import torch" in program and importlib.util.find_spec("torch") is None:
            continue
        if hasattr(dsokr, "train") or "dsokr.train" not in program:
            exec(compile(program, page.name, "exec"), {})


def test_notebook(tmp_path):
    """Every cell runs, and molecules are drawn."""
    pytest.importorskip("pandas")
    pytest.importorskip("ipykernel")
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    if not hasattr(dsokr, "train"):
        pytest.skip("built without the feature run")
    notebook = nbformat.read(FOLDER / "examples" / "text_to_molecule.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "stored without outputs"
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    shown = [output["data"] for output in outputs if "data" in output]
    assert any("<svg" in data.get("text/html", "") for data in shown)
    assert any("image/svg+xml" in data for data in shown)
    assert any("95 % interval" in data.get("text/html", "") for data in shown)
    assert any("MRR" in output.get("text", "") for output in outputs)
