"""Everything that a worker may be sent or may send back."""

import concurrent.futures
import copy
import functools
import multiprocessing
import pickle

import numpy as np
import pytest

import dsokr


def outputs():
    return np.random.default_rng(0).standard_normal((60, 8)).astype(np.float32)


def test_candidates():
    y = outputs()
    y[7] = y[3]
    basis = dsokr.Basis.fit(y, "linear", dsokr.Gaussian(6))
    pool = dsokr.Candidates(basis, y, ids=[f"c{at}" for at in range(60)], labels=range(60))
    z = basis.project(y)[::2]
    gold = [f"c{at}" for at in range(0, 60, 2)]
    for own in (pool, pool.with_hubs(z)):
        again = pickle.loads(pickle.dumps(own))
        assert (again.ids, again.labels, again.duplicates) == (own.ids, own.labels, 1)
        assert np.array_equal(again.constants, own.constants)
        assert np.array_equal(again.rank(z, gold).ranks, own.rank(z, gold).ranks)
        # whether kernels are normalised is kept: scores of others are not combined
        with pytest.raises(dsokr.ConfigError):
            dsokr.rank_ensemble([(again, z), (again, z)], gold, rule={"name": "mean", "standardise": False})


def test_ranks():
    scores = np.random.default_rng(0).standard_normal((30, 9)).round(1)
    ranks = dsokr.metrics.rank_scores(scores, np.zeros(30, int))
    again = pickle.loads(pickle.dumps(ranks))
    assert again.metrics(ci=0.95) == ranks.metrics(ci=0.95) and np.array_equal(again.tied, ranks.tied)
    pool = dsokr.Candidates.from_points(outputs())
    missing = pool.rank(outputs()[:2], [3, "none"], missing="rank-infinity")
    assert np.array_equal(pickle.loads(pickle.dumps(missing)).ranks, missing.ranks)


def test_graphs():
    networkx = pytest.importorskip("networkx")
    graphs = [dsokr.graphs.from_networkx(networkx.gnm_random_graph(8, 12, seed=seed)) for seed in range(6)]
    named = dsokr.graphs.Graph(["C", "O"], [(0, 1, "double")])
    for graph in [*graphs, named]:
        again = pickle.loads(pickle.dumps(graph))
        assert (again.labels, again.edges) == (graph.labels, graph.edges)
    kernel = dsokr.graphs.GraphKernel("weisfeiler-lehman")
    assert pickle.loads(pickle.dumps(kernel)).fit_transform(graphs).shape == kernel.fit_transform(graphs).shape
    again = pickle.loads(pickle.dumps(kernel))
    assert np.array_equal(again.transform([named]).toarray(), kernel.transform([named]).toarray())


def test_rows_and_bases():
    y = outputs()
    basis = dsokr.Basis.fit(y, "cosine", dsokr.Gaussian(6))
    assert np.array_equal(pickle.loads(pickle.dumps(basis)).project(y), basis.project(y))
    rows = dsokr.as_rows(y > 0)
    assert np.array_equal(pickle.loads(pickle.dumps(rows)).toarray(), rows.toarray())


def missing_file(path):
    return dsokr.Basis.load(path)


def damaged_file(path):
    with open(path, "w") as file:
        file.write("this is no basis")
    return dsokr.Basis.load(path)


def wrong_argument(_):
    return dsokr.Basis.fit(np.ones((3, 2)), "no-such-kernel")


@pytest.mark.parametrize(
    ("function", "error", "number"),
    [
        (missing_file, FileNotFoundError, 2),
        (damaged_file, dsokr.FileError, None),
        (wrong_argument, dsokr.ConfigError, None),
    ],
)
def test_errors_of_workers_come_back(tmp_path, function, error, number):
    """An exception that cannot be unpickled leaves its pool waiting for ever."""
    path = str(tmp_path / "basis")
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(error) as raised:
            pool.submit(function, path).result(timeout=120)
        assert isinstance(raised.value, dsokr.Error)
        if error is not dsokr.ConfigError:
            found = raised.value
            assert (found.filename, found.errno) == (path, number) and path in str(found)
            assert isinstance(found, dsokr.FileError) and isinstance(found, OSError)
        # the pool goes on
        assert pool.submit(len, "abc").result(timeout=120) == 3


def test_errors_of_a_pool_of_multiprocessing(tmp_path):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        with pytest.raises(FileNotFoundError, match="no such file"):
            pool.apply_async(missing_file, (str(tmp_path / "none"),)).get(timeout=120)


def test_files_that_do_not_exist(tmp_path):
    for call in (dsokr.Basis.load, getattr(dsokr, "Model", dsokr.Basis).load):
        with pytest.raises(FileNotFoundError) as raised:
            call(tmp_path / "none")
        assert isinstance(raised.value, dsokr.FileError) and raised.value.errno == 2
    y = outputs()
    with pytest.raises(FileNotFoundError):
        dsokr.Basis.fit(y, "cosine", dsokr.Gaussian(6)).save(tmp_path / "none" / "basis")


@pytest.mark.skipif(not hasattr(dsokr, "fit"), reason="built without the feature run")
def test_a_model_with_a_module(tmp_path):
    """The module goes with the model, as an instance or as what makes it."""
    torch = pytest.importorskip("torch")
    y = outputs()
    for name, encoder in (("instance", torch.nn.Linear(8, 8)), ("function", functools.partial(torch.nn.Linear, 8))):
        model = dsokr.fit(y, y, tmp_path / name, encoder=encoder, set={"training.epochs": 1}, progress=False)
        for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            assert np.array_equal(again.encode(y), model.encode(y))
    encoder = dsokr.Encoder(torch.nn.Linear(8, 8))
    again = pickle.loads(pickle.dumps(encoder))
    assert np.array_equal(again.open(8, 0).parameters[0][2], encoder.open(8, 0).parameters[0][2])
