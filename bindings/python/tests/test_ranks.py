"""Ranks, metrics, hubs and ensembles against NumPy."""

import numpy as np
import pytest

import dsokr
from dsokr.metrics import rank_scores


def expected_ranks(scores, gold):
    """(above, tied) by counting, and the mean rank of each group of ties by sorting."""
    own = scores[np.arange(len(scores)), gold][:, None]
    above, tied = (scores > own).sum(1), (scores == own).sum(1) - 1
    # argsort twice with ties averaged: the mean of the positions that equal scores take
    order = np.sort(-scores, axis=1)
    first = np.array([np.searchsorted(row, -value, "left") for row, value in zip(order, own[:, 0])])
    last = np.array([np.searchsorted(row, -value, "right") for row, value in zip(order, own[:, 0])])
    mean = (first + 1 + last) / 2
    return above, tied, mean


@pytest.fixture
def problem():
    """Whole numbers, so that scores are exact in any order of summation, with duplicates and ties."""
    rng = np.random.default_rng(0)
    points = rng.integers(-3, 4, (300, 5)).astype(np.float32)
    points[7] = points[3]
    z = rng.integers(-3, 4, (60, 5)).astype(np.float32)
    return points, z, rng.integers(0, 300, 60)


def test_ranks_are_those_of_sorting(problem):
    points, z, gold = problem
    pool = dsokr.Candidates.from_points(points)
    found = pool.rank(z, gold)
    above, tied, mean = expected_ranks(z @ points.T, gold)
    assert np.array_equal(found.above, above)
    assert np.array_equal(found.tied, tied) and (tied > 0).any()
    assert np.array_equal(found.ranks, mean)
    assert pool.duplicates == len(points) - len(np.unique(points, axis=0)) > 0
    assert len(pool) == 300 and pool.dim == 5


def test_constants(problem):
    points, z, gold = problem
    constants = -0.5 * (points * points).sum(1)
    found = dsokr.Candidates.from_points(points, constants=constants).rank(z, gold)
    above, tied, _ = expected_ranks(z @ points.T + constants, gold)
    assert np.array_equal(found.above, above) and np.array_equal(found.tied, tied)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_rank_scores(dtype):
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 20, (50, 80)).astype(dtype)
    gold = rng.integers(0, 80, 50)
    found = rank_scores(scores, gold)
    above, tied, mean = expected_ranks(scores, gold)
    assert np.array_equal(found.above, above) and np.array_equal(found.tied, tied)
    assert np.array_equal(found.ranks, mean)


def test_rank_scores_keeps_double_precision():
    assert rank_scores(np.array([[1.0, 1.0 + 1e-12]]), [0]).above == [1]
    assert rank_scores(np.array([[-np.inf, 0.0, np.inf]]), [1]).ranks == [2.0]


def test_metrics_are_expectations_over_ties():
    scores = np.array([[3, 2, 1, 0], [1, 1, 1, 0], [0, 1, 2, 3]], np.float32)
    found = rank_scores(scores, [0, 0, 0])  # rank 1; 1 to 3; 4
    metrics = found.metrics(k=(1, 2))
    third = (1 + 1 / 2 + 1 / 3) / 3
    assert found.reciprocals.tolist() == pytest.approx([1, third, 1 / 4])
    assert metrics["mrr"] == pytest.approx((1 + third + 1 / 4) / 3)
    assert metrics["hits@1"] == pytest.approx((1 + 1 / 3) / 3)
    assert metrics["hits@2"] == pytest.approx((1 + 2 / 3) / 3)
    assert (metrics["mean_rank"], metrics["median_rank"]) == (pytest.approx(7 / 3), 2.0)
    assert (metrics["queries"], metrics["candidates"], metrics["tied_queries"]) == (3, 4, 1)
    assert found.hits(2).tolist() == pytest.approx([1, 2 / 3, 0])
    chance = found.chance().metrics()
    assert chance["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert chance["mean_rank"] == 2.5


def test_intervals():
    rng = np.random.default_rng(2)
    found = rank_scores(rng.standard_normal((400, 10)), rng.integers(0, 10, 400))
    metrics = found.metrics(ci=0.95, resamples=2000)
    low, high = metrics["mrr_ci95"]
    assert low < metrics["mrr"] < high
    # the width of a normal interval
    assert high - low == pytest.approx(2 * 1.96 * found.reciprocals.std() / 20, rel=0.1)
    assert metrics["hits@5_ci95"][0] < metrics["hits@5"] < metrics["hits@5_ci95"][1]
    assert found.metrics(ci=0.95, seed=1)["mrr_ci95"] == found.metrics(ci=0.95, seed=1)["mrr_ci95"]


def test_comparison():
    rng = np.random.default_rng(3)
    scores = rng.standard_normal((200, 20))
    better = scores.copy()
    better[:, 0] += 1
    one, two = rank_scores(better, np.zeros(200, int)), rank_scores(scores, np.zeros(200, int))
    found = one.compare(two)
    assert found["queries"] == 200
    assert set(found) == {"queries", "mrr", "hits@1", "hits@5", "hits@10", "hits@20"}
    difference = one.reciprocals.mean() - two.reciprocals.mean()
    assert found["mrr"]["difference"] == pytest.approx(difference)
    assert found["mrr"]["ci95"][0] < difference < found["mrr"]["ci95"][1]
    assert found["mrr"]["first_better"] > 0.95
    with pytest.raises(dsokr.ConfigError, match="other: 10 ranks"):
        one.compare(rank_scores(scores[:10], np.zeros(10, int)))
    with pytest.raises(dsokr.ConfigError, match="other: dict"):
        one.compare({})


def test_candidates_of_a_basis():
    """Scores of a basis are those of its coordinates, with −½ k(c, c) unless the kernel is normalised."""
    rng = np.random.default_rng(4)
    y = rng.standard_normal((100, 8)).astype(np.float32)
    y[50] = y[10]
    gold = rng.integers(0, 100, 30)
    for kernel, normalised in (("cosine", True), ("linear", False)):
        basis = dsokr.Basis.fit(y, kernel, dsokr.Gaussian(20))
        pool = dsokr.Candidates(basis, y, ids=[f"c{at}" for at in range(100)], labels=range(100))
        coordinates, squared_norms, _ = basis.projection(y)
        constants = np.zeros(100) if normalised else -0.5 * squared_norms
        np.testing.assert_allclose(pool.constants, constants, atol=1e-5)
        z = coordinates[gold] + 0.3 * rng.standard_normal((30, basis.rank)).astype(np.float32)
        ids = [f"c{at}" for at in gold]
        above, _, _ = expected_ranks((z @ coordinates.T + constants).astype(np.float64), gold)
        found = pool.rank(z, ids)
        assert np.abs(found.above - above).max() <= 1  # rounding may part duplicates in NumPy
        assert pool.duplicates == 1 and (found.tied[(gold == 10) | (gold == 50)] == 1).all()
        np.testing.assert_array_equal(pool.coordinates_of(ids), coordinates[gold])
        perfect = pool.perfect_h(ids)
        assert np.array_equal(perfect.ranks, np.where((gold == 10) | (gold == 50), 1.5, 1.0))
        hits = pool.search(z, 3)
        scores = z @ coordinates.T + constants
        assert [hit[0].id for hit in hits] == [f"c{at}" for at in scores.argmax(1)] or pool.duplicates
        np.testing.assert_allclose([hit[0].score for hit in hits], scores.max(1), rtol=1e-4)
        assert hits[0][0].label == hits[0][0].id[1:]


def test_top_k(problem):
    points, z, _ = problem
    indices, scores = dsokr.Candidates.from_points(points).top_k(z, 20)
    expected = z @ points.T
    order = np.argsort(-expected, axis=1, kind="stable")[:, :20]
    assert np.array_equal(indices, order) and indices.dtype == np.int64
    assert np.array_equal(scores, np.take_along_axis(expected, order, 1)) and scores.dtype == np.float32


def test_coordinates_and_constants_give_the_scores(problem):
    points, z, _ = problem
    constants = np.linspace(-1, 1, len(points), dtype=np.float32)
    pool = dsokr.Candidates.from_points(points, constants=constants)
    assert np.array_equal(pool.coordinates, points) and pool.coordinates.dtype == np.float32
    scores = z @ pool.coordinates.T + pool.constants
    assert np.array_equal(np.sort(scores, axis=1)[:, ::-1][:, :5], pool.top_k(z, 5)[1])


def test_lists_of_candidates(problem):
    points, z, gold = problem
    rng = np.random.default_rng(5)
    lists = [np.unique(np.append(rng.integers(0, 300, 12), own)) for own in gold]
    pool = dsokr.Candidates.from_points(points)
    found = pool.rank(z, gold, lists=lists)
    assert np.array_equal(pool.rank(z, gold, lists=[set(own.tolist()) for own in lists]).ranks, found.ranks)
    for at, own in enumerate(lists):
        scores = z[at] @ points[own].T
        bar = z[at] @ points[gold[at]]
        assert (found.above[at], found.tied[at]) == ((scores > bar).sum(), (scores == bar).sum() - 1)


def test_missing_gold(problem):
    points, z, gold = problem
    pool = dsokr.Candidates.from_points(points)
    ids = [*gold[:-1], "nobody"]
    with pytest.raises(dsokr.ConfigError, match='gold: query "q59".*"nobody"'):
        pool.rank(z, ids, queries=[f"q{at}" for at in range(60)])
    found = pool.rank(z, ids, missing="rank-infinity")
    assert found.ranks[-1] == np.inf and found.above[-1] == -1 and found.tied[-1] == 0
    metrics = found.metrics()
    assert metrics["missing_gold"] == 1 and metrics["mean_rank"] == np.inf


def test_hubs(problem):
    points, z, gold = problem
    pool = dsokr.Candidates.from_points(points)
    corrected = pool.with_hubs(z, neighbours=5, weight=0.5)
    means = np.sort(z @ points.T, axis=0)[-5:].mean(0)
    np.testing.assert_allclose(corrected.constants, -0.5 * means, rtol=1e-6)
    assert (pool.constants == 0).all()


def test_ensembles(problem):
    points, z, gold = problem
    other = points[:, :3].copy()
    pools = [dsokr.Candidates.from_points(points), dsokr.Candidates.from_points(other)]
    members = [(pools[0], z), (pools[1], z[:, :3])]

    def standardised(scores):
        return (scores - scores.mean(1, keepdims=True)) / scores.std(1, keepdims=True)

    rule = {"name": "mean", "weights": [0.75, 0.25], "standardise": True}
    found = dsokr.rank_ensemble(members, gold, rule=rule)
    combined = 0.75 * standardised(z @ points.T) + 0.25 * standardised(z[:, :3] @ other.T)
    own = combined[np.arange(60), gold][:, None]
    near = np.abs(combined - own) < 1e-6
    assert (np.abs(found.above - ((combined > own) & ~near).sum(1)) <= near.sum(1)).all()
    alone = dsokr.rank_ensemble(members[:1], gold)
    assert np.array_equal(alone.ranks, pools[0].rank(z, gold).ranks)
    with pytest.raises(dsokr.ConfigError, match="standardise"):
        dsokr.rank_ensemble(members, gold)
    with pytest.raises(dsokr.ConfigError, match="sum to 2"):
        dsokr.rank_ensemble(members, gold, rule={"name": "rank", "weights": [1.0, 1.0]})
    with pytest.raises(dsokr.ConfigError, match="members: none"):
        dsokr.rank_ensemble([], gold)
    with pytest.raises(dsokr.ConfigError, match=r"members\[0\]"):
        dsokr.rank_ensemble([z], gold)
    with pytest.raises(dsokr.ConfigError, match="gold"):
        dsokr.rank_ensemble(members, gold[:5])
    with pytest.raises(dsokr.ConfigError, match="rule: .*median"):
        dsokr.rank_ensemble(members, gold, rule="median")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda pool, z, gold: pool.rank(z[:, :4], gold), r"Z: shape \(60, 4\), expected \(60, 5\)"),
        (lambda pool, z, gold: pool.rank(z[0], gold), "Z: shape"),
        (lambda pool, z, gold: pool.rank(z * np.nan, gold), "Z: query .*NaN"),
        (lambda pool, z, gold: pool.rank(z * 1e38, gold), "finite|beyond"),
        (lambda pool, z, gold: pool.rank(z, gold[:5]), "gold: 5 entries, expected 60"),
        (lambda pool, z, gold: pool.rank(z, "gold"), "gold: str"),
        (lambda pool, z, gold: pool.rank(z, 5), "gold: int"),
        (lambda pool, z, gold: pool.rank(z, {*gold.tolist()}), "gold: set, which has no order"),
        (lambda pool, z, gold: pool.rank(z, gold, queries=["a"]), "queries: 1 entries"),
        (lambda pool, z, gold: pool.rank(z, gold, missing="ignore"), "missing: 'ignore'"),
        (lambda pool, z, gold: pool.rank(z, gold, lists=[[0]] * 3), "3 candidate lists|lists"),
        (lambda pool, z, gold: pool.rank(z, gold, lists=[["x"]] * 60), 'lists: .*"x"'),
        (lambda pool, z, gold: pool.rank(z, gold, lists=[[]] * 60), "gold: .*not among its candidates"),
        (lambda pool, z, gold: pool.rank(z[:0], []).metrics(), "no queries"),
        (lambda pool, z, gold: pool.rank(z, gold).metrics(k=[0]), "k: 0"),
        (lambda pool, z, gold: pool.rank(z, gold).metrics(k=5), "k: 5, expected a list"),
        (lambda pool, z, gold: pool.rank(z, gold).metrics(ci=0.9), "ci: 0.9"),
        (lambda pool, z, gold: pool.rank(z, gold).metrics(ci=0.95, resamples=3), "3 bootstrap resamples"),
        (lambda pool, z, gold: pool.top_k(z, 0), "0"),
        (lambda pool, z, gold: pool.top_k(z, 301), "301"),
        (lambda pool, z, gold: pool.with_hubs(z, neighbours=61), "61 neighbours"),
        (lambda pool, z, gold: pool.with_hubs(z, weight=-1), "weight -1"),
        (lambda pool, z, gold: pool.with_hubs(z, weight=float("nan")), "weight: nan"),
        (lambda pool, z, gold: pool.coordinates_of(["none"]), 'ids: .*"none"'),
        (lambda pool, z, gold: dsokr.Candidates.from_points(z[:0]), "no candidates"),
        (lambda pool, z, gold: dsokr.Candidates.from_points(z[:, :0]), "dimension 0"),
        (lambda pool, z, gold: dsokr.Candidates.from_points(z, ids=[0] * 60), 'same id "0"'),
        (lambda pool, z, gold: dsokr.Candidates.from_points(z, ids=[1]), "ids: 1 entries"),
        (lambda pool, z, gold: dsokr.Candidates.from_points(z, labels=[1]), "labels: 1 entries"),
        (lambda pool, z, gold: dsokr.Candidates.from_points(z, labels=[b"C"] * 60), "labels: b.C. at 0 is bytes, .*decode it first"),
        (lambda pool, z, gold: dsokr.Candidates.from_points(z, constants=[1.0]), "constants: 1"),
        (lambda pool, z, gold: dsokr.Candidates.from_points(z, constants=z), "constants: shape"),
        (lambda pool, z, gold: dsokr.Candidates.from_points(z * np.inf), "points: row 0"),
        (lambda pool, z, gold: dsokr.Candidates("basis", z), "basis: str"),
        (lambda pool, z, gold: rank_scores(z, gold), "gold: .*allowed: 0 to 4"),
        (lambda pool, z, gold: rank_scores(z, gold[:3] % 5), "gold: 3 entries for 60 rows"),
        (lambda pool, z, gold: rank_scores(z, gold % 5 - 1), "gold: -1"),
        (lambda pool, z, gold: rank_scores(z, np.full(60, 2**63 + 1, np.uint64)), "gold: 9223372036854775809 at 0, allowed"),
        (lambda pool, z, gold: rank_scores(z, gold * 0.5), "gold: dtype float64"),
        (lambda pool, z, gold: rank_scores(z * np.nan, gold % 5), "scores: row 0, column 0: NaN"),
        (lambda pool, z, gold: rank_scores(z[:, :0], gold), "scores: 0 columns"),
        (lambda pool, z, gold: rank_scores(z[0], gold), "scores: shape"),
    ],
)
def test_wrong_arguments(problem, call, message):
    points, z, gold = problem
    with pytest.raises(dsokr.ConfigError, match=message):
        call(dsokr.Candidates.from_points(points), z, gold)
