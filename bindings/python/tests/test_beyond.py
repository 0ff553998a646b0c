"""Searches beyond the candidates give what the command gives, of a model, an ensemble and a reranker."""

import json
import os
import pickle
import subprocess

import numpy as np
import pytest

import dsokr

if not hasattr(dsokr._dsokr, "Runs"):
    pytest.skip("built without the feature run", allow_module_level=True)

TEXT = "FCCCCC#N"
CONFIG = """
[data]
folder = "chains"
source = "pool"
file = "molecules.smi"
splits = { validation = 15, test = 12 }
inputs = { column = "smiles" }

[output]
label = "smiles"
only_training = true
features = { kind = "molecules", column = "smiles", graph = { name = "weisfeiler-lehman", iterations = 2, edge_labels = true } }
kernel = { name = "cosine" }

[sketch]
size = 80
method = { kind = "subsampling" }

[encoder]
kind = "kernel-machine"
inputs = { kind = "ngrams", blocks = [{ kind = "characters", min = 1, max = 3, lowercase = false }] }
kernel = { name = "cosine" }
lambda = 1e-3

[evaluation]
metric = "ged"
split = "test"
missing_gold = "rank-infinity"
"""
RERANKER = {"decoding.reranker": {"candidates": 30, "neighbours": 7, "folds": 4, "held_out_folds": 4}}


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    folder = tmp_path_factory.mktemp("beyond")
    (folder / "data" / "chains").mkdir(parents=True)
    heads, tails = ("C", "N", "O", "C=C", "C#C"), ("C", "N", "O", "F", "C=O", "C#N")
    chains = [head + "C" * n + tail for head in heads for n in range(1, 6) for tail in tails]
    (folder / "data" / "chains" / "molecules.smi").write_text("\n".join(chains))
    (folder / "chains.toml").write_text(CONFIG)

    def train(name, **options):
        return dsokr.train(folder / "chains.toml", out=folder / name, data=folder / "data", **options).path

    return train


@pytest.fixture(scope="module")
def paths(train):
    return [train("one"), train("two", set={"sketch.size": 60})]


def command(*arguments):
    program = os.environ.get("DSOKR")
    return program and json.loads(subprocess.check_output([program, "--quiet", *map(str, arguments)], text=True))


def check(load):
    """Scores are those of candidates, and what is found is what the command finds."""
    # one evaluation is the first candidate
    first = load(beyond={"starts": 1, "evaluations": 1}).search(TEXT)
    (known,) = first.beyond
    assert known["in_table"] and known["evaluated"] == 1
    assert known["nearest"] == first[0].id and known["score"] == pytest.approx(first[0].score, abs=1e-5)
    model = load(beyond=True)
    hits = model.search(TEXT, k=4)
    scores = [found["score"] for found in hits.beyond]
    assert len(hits.beyond) == 4 and scores == sorted(scores, reverse=True)
    assert pickle.loads(pickle.dumps(model)).search([TEXT], k=4)[0].beyond == hits.beyond
    assert load().search(TEXT).beyond == []
    return model, hits


def test_a_model(paths):
    model, hits = check(lambda **options: dsokr.Model.load(paths[0], **options))
    ids = {hit.label: hit.id for hit in model.search(TEXT, k=50)}
    assert all((found["label"] in ids) <= found["in_table"] for found in hits.beyond)
    assert hits._repr_html_().count("<td>new</td>") == 4 and hits._repr_html_().count("<svg") == 8
    metrics = model.evaluate().metrics
    assert metrics["beyond"]["ged_bonds"] < metrics["ged_bonds"] and metrics["beyond"]["outside"] > 0
    found = command("search", paths[0], TEXT, "--top", "4", "--json", "--beyond")
    assert not found or found["beyond"] == hits.beyond
    for settings, says in [({"beam": 0}, "decoding.beyond.beam"), ({"width": 3}, "width"), (3, "beyond")]:
        with pytest.raises(dsokr.ConfigError, match=says):
            dsokr.Model.load(paths[0], beyond=settings)


def test_an_ensemble(paths):
    model, hits = check(lambda **options: dsokr.Ensemble.load(paths, **options))
    metrics = model.evaluate().metrics
    assert metrics["beyond"]["ged_bonds"] < metrics["ged_bonds"]
    with pytest.raises(dsokr.Error, match="above all of these tie"):
        dsokr.Ensemble.load(paths, rule="rank", beyond=True).search(TEXT)


@pytest.fixture(scope="module")
def reranked(train):
    return train("reranker", set=RERANKER)


def test_ranks_are_those_of_the_reranker(reranked):
    model = dsokr.Model.load(reranked)
    evaluation = model.evaluate("train")
    texts, golds = evaluation.texts, evaluation.golds
    assert np.array_equal(model.rank(texts, golds).ranks, evaluation.ranks.ranks)
    plain = model.candidates.rank(model._inner.embed(texts, True), golds)
    assert not np.array_equal(plain.ranks, evaluation.ranks.ranks)


def test_a_reranker(reranked):
    path = reranked
    _, hits = check(lambda **options: dsokr.Model.load(path, **options))
    found = command("search", path, TEXT, "--top", "4", "--json", "--beyond")
    assert not found or found["beyond"] == hits.beyond
