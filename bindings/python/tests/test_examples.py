"""The examples run, and what they train is far above chance."""

import importlib.util
import re
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


def test_ray_scores_a_table_of_molecules(tmp_path, monkeypatch, capsys):
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    if not hasattr(dsokr, "train"):
        pytest.skip("built without the feature run")
    monkeypatch.chdir(tmp_path)
    config = dsokr.quickstart(".").with_name("morgan.toml")
    config.write_text(MORGAN)
    model = dsokr.train(config, out="run")
    molecules = model.candidates.labels[:50]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["smiles", *molecules, "C1CC("]) + "\n")
    ray.init(num_cpus=2, include_dashboard=False)
    try:
        score = program(FOLDER.parents[1] / "examples" / "ray" / "score.py")
        score.main(tmp_path / "run", table, tmp_path / "scored", "An ester.")
    finally:
        ray.shutdown()
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("51 molecules in ")
    hits = [hit for hit in model.search("An ester.", k=len(model.candidates)) if hit.label in molecules]
    assert lines == ["An ester.", *(f"  {hit.score:.4f}  {hit.label}" for hit in hits[:5])]


def test_torch_tensors_are_read_in_place():
    torch = pytest.importorskip("torch")
    tensor = torch.ones(4, 3)
    assert np.array_equal(dsokr.as_rows(tensor).toarray(), tensor.numpy())
    assert np.array_equal(dsokr.as_rows(tensor.double()).toarray(), np.ones((4, 3)))
    with pytest.raises(dsokr.ConfigError, match="Y: .*grad"):
        dsokr.as_rows(torch.ones(2, 2, requires_grad=True))


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
