"""Further columns of candidates, such as a price: shown with hits, kept in files, compared by filters."""

import pickle
from pathlib import Path

import numpy as np
import pytest

import dsokr
from dsokr._hits import CELLS


def test_columns_of_candidates_in_memory():
    points = np.eye(3, dtype=np.float32)
    prices = [9.5, None, 12]
    found = dsokr.Candidates.from_points(points, ["a", "b", "c"], columns={"price": prices, "maker": ["x", "y", "x"]})
    assert found.columns == {"price": ["9.5", "", "12"], "maker": ["x", "y", "x"]}
    assert pickle.loads(pickle.dumps(found)).columns == found.columns
    [hits] = found.search([[0.0, 1.0, 0.5]], k=2)
    assert hits == [("b", "", 1.0), ("c", "", 0.5)]
    assert hits[0].columns == {"price": "", "maker": "y"}
    assert hits[1].cells == {"id": "c", "label": "", "score": 0.5, "price": "12", "maker": "x"}
    again = pickle.loads(pickle.dumps(hits[1]))
    assert (again, again.cells) == (hits[1], hits[1].cells)
    assert "<th>price</th>" in hits._repr_html_() and "<td>12</td>" in hits._repr_html_()
    assert list(hits.to_pandas()["maker"]) == ["y", "x"]
    for name in ("id", "label", "score", "rank"):
        with pytest.raises(dsokr.ConfigError, match=f"columns\\['{name}'\\]: expected another name"):
            dsokr.Candidates.from_points(points, columns={name: ["a", "b", "c"]})
    with pytest.raises(dsokr.ConfigError, match="2 entries, expected 3"):
        dsokr.Candidates.from_points(points, columns={"price": [1, 2]})


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    if not hasattr(dsokr._dsokr, "Runs"):
        pytest.skip("built without the feature run")
    folder = tmp_path_factory.mktemp("columns")
    config = dsokr.quickstart(folder)
    table = Path(config).parent.parent / "datasets/quickstart/molecules.tsv"
    names, *lines = table.read_text().splitlines()
    rows = [f"{line}\t{at % 50}" for at, line in enumerate(lines)]
    table.write_text("\n".join([f"{names}\tprice", *rows]) + "\n")
    return dsokr.train(config, set={"training.epochs": 2, "output.columns": ["price"]}, out=folder / "run")


def test_columns_of_a_model(model):
    text = "A carboxylic acid with a bromine atom on a benzene ring."
    prices = dict(zip(model.candidates.ids, model.candidates.columns["price"]))
    hits = model.search(text, k=20)
    assert all(hit.columns == {"price": prices[hit.id]} for hit in hits)
    assert hits[0].cells["rank"] == 1 and hits[0].cells["price"] == prices[hits[0].id]
    assert set().union(*(hit.cells for hit in hits)) == {*CELLS, "price"}
    cheap = model.search(text, k=20, filter="price < 10 and mass < 400")
    assert cheap and all(float(hit.columns["price"]) < 10 for hit in cheap)
    ranks = {hit.score: hit.cells["rank"] for hit in model.search(text, k=2000)}
    assert all(hit.cells["rank"] == ranks[hit.score] for hit in cheap)
    with pytest.raises(dsokr.ConfigError, match="filter = \"pric < 10\", at position 1 \"pric\""):
        model.search(text, filter="pric < 10")
    with pytest.raises(dsokr.ConfigError, match="coverage"):
        model.search(text, coverage=0.9, filter="price < 10")
