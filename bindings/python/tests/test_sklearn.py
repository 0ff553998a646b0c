"""Estimators in scikit-learn's own checks, pipelines and searches."""

import pickle

import numpy as np
import pytest

import dsokr

pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.datasets import make_multilabel_classification  # noqa: E402
from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402
from sklearn.metrics import f1_score, r2_score  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.multiclass import OneVsRestClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from dsokr.sklearn import IOKR, KernelSketch, SketchedKernelRidge  # noqa: E402


def no_kernels(estimator):
    """Checks whose matrices are not positive semi-definite, so no kernel's."""
    if getattr(estimator, "kernel", None) != "precomputed":
        return {}
    reason = "the matrix is not positive semi-definite"
    return dict.fromkeys(["check_positive_only_tag_during_fit", "check_estimators_dtypes"], reason)


@parametrize_with_checks(
    [
        KernelSketch("linear"),
        KernelSketch("gaussian", kernel_params={"gamma": 0.1}, sketch="gaussian"),
        SketchedKernelRidge("gaussian", kernel_params={"gamma": 0.1}),
        SketchedKernelRidge("linear", None),
        KernelSketch("precomputed"),
        IOKR("gaussian", kernel_params={"gamma": 0.1}, alpha=1e-6),
        IOKR("gaussian", None, 1e-6, kernel_params={"gamma": 0.1}, n_input_components=50),
    ],
    expected_failed_checks=no_kernels,
)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_it_is_the_basis():
    x = np.random.default_rng(0).standard_normal((50, 6))
    found = KernelSketch("cosine", 20, sketch="gaussian", random_state=3, power=0.5).fit(x)
    basis = dsokr.Basis.fit(x, "cosine", dsokr.Gaussian(20), seed=3, power=0.5)
    assert np.array_equal(found.transform(x), basis.project(x))
    assert found.get_feature_names_out().tolist() == [f"kernelsketch{at}" for at in range(basis.rank)]


def test_all_rows_are_nystroem_with_all_rows():
    from sklearn.metrics.pairwise import rbf_kernel

    x = np.random.default_rng(0).standard_normal((40, 5))
    z = KernelSketch("gaussian", 100, kernel_params={"gamma": 0.2}).fit_transform(x)
    np.testing.assert_allclose(z @ z.T, rbf_kernel(x, gamma=0.2), atol=1e-4)


def test_pipelines_and_searches():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(["acid", "ring", "amine", "chain", "ester"], 6)) for _ in range(80)]
    lengths = np.array([text.count("acid") for text in texts], float)
    model = make_pipeline(TfidfVectorizer(), KernelSketch(n_components=20), Ridge())
    grid = {"kernelsketch__n_components": [2, 40], "ridge__alpha": [1e-3, 1e3]}
    search = GridSearchCV(model, grid, cv=3).fit(texts, lengths)
    assert search.best_params_ == {"kernelsketch__n_components": 40, "ridge__alpha": 1e-3}
    assert clone(model).fit(texts, lengths).score(texts, lengths) > 0.7


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (KernelSketch("euclid"), "kernel: "),
        (KernelSketch(n_components=0), "n_components: 0"),
        (KernelSketch(sketch="hash"), "sketch: 'hash', allowed: accumulation"),
        (KernelSketch(sketch="gaussian", sketch_params={"density": 1}), "sketch_params: .*density"),
        (KernelSketch(sketch="sparsified-gaussian"), "sketch_params: .*density"),
        (KernelSketch(random_state=-1), "random_state: -1"),
        (KernelSketch(power=7.0), "power = 7"),
    ],
)
def test_wrong_parameters(estimator, message):
    with pytest.raises(dsokr.ConfigError, match=message):
        estimator.fit(np.eye(5))


@pytest.fixture
def regression():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 5))
    return x, np.stack([np.sin(x[:, 0]), x[:, 1] * x[:, 2]], 1), rng.standard_normal((7, 5))


@pytest.mark.parametrize("size", [None, 60])
def test_ridge_is_that_of_scikit_learn(regression, size):
    """Without a sketch, and with one that takes every row."""
    from sklearn.kernel_ridge import KernelRidge

    x, y, other = regression
    theirs = KernelRidge(kernel="rbf", gamma=0.2, alpha=60 * 1e-3).fit(x, y).predict(other)
    ours = SketchedKernelRidge("gaussian", size, 1e-3, gamma=0.2).fit(x, y).predict(other)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert ours.shape == (7, 2) and ours.dtype == np.float64


def test_ridge_with_a_linear_kernel(regression):
    x, y, other = regression
    ours = SketchedKernelRidge("linear", 5, 1e-2, sketch="gaussian").fit(x, y).predict(other)
    # five sketched inputs span all five dimensions, so it is ridge regression
    theirs = other @ np.linalg.solve(x.T @ x + 60 * 1e-2 * np.eye(5), x.T @ y)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_search_over_size_and_alpha(regression):
    x, y, _ = regression
    model = SketchedKernelRidge("gaussian", kernel_params={"gamma": 0.2})
    search = GridSearchCV(model, {"n_components": [2, 40], "alpha": [1e-3, 1e2]}, cv=3).fit(x, y)
    assert search.best_params_ == {"n_components": 40, "alpha": 1e-3}


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (SketchedKernelRidge(alpha=0.0), "alpha: 0.0, allowed"),
        (SketchedKernelRidge(alpha=float("nan")), "alpha: nan"),
        (SketchedKernelRidge(n_components=0), "n_components: 0"),
        (SketchedKernelRidge("euclid"), "kernel: "),
        (SketchedKernelRidge(sketch="leverage", sketch_params={"pilot": 0}), "pilot = 0"),
        (SketchedKernelRidge(random_state=1.5), "random_state: 1.5"),
    ],
)
def test_wrong_parameters_of_a_regression(estimator, message):
    with pytest.raises(dsokr.ConfigError, match=message):
        estimator.fit(np.eye(5), np.ones(5))


@pytest.mark.parametrize("sketch", ["subsampling", "gaussian", "count-sketch", "leverage"])
def test_a_precomputed_kernel_has_fewer_components_than_rows(sketch):
    from sklearn.metrics.pairwise import rbf_kernel

    rng = np.random.default_rng(0)
    x, other = rng.standard_normal((50, 3)), rng.standard_normal((9, 3))
    gram, values = rbf_kernel(x, gamma=0.2), rbf_kernel(other, x, gamma=0.2)
    parameters = {"lambda_": 1e-3, "pilot": 50} if sketch == "leverage" else None
    options = {"sketch": sketch, "sketch_params": parameters, "random_state": 2}
    found = KernelSketch("precomputed", 12, **options).fit(gram)
    z = found.transform(values)
    assert z.shape == (9, found.map_.shape[1]) and z.shape[1] <= 12 and z.dtype == np.float32
    # inner products are those of the basis of the same kernel and sketch, whatever the signs of its axes
    if sketch != "leverage":
        same = KernelSketch("gaussian", 12, kernel_params={"gamma": 0.2}, **options).fit(x).transform(other)
        np.testing.assert_allclose(z @ z.T, same @ same.T, atol=1e-4)
    whole = KernelSketch("precomputed", 50).fit(gram).transform(values)
    exact = np.abs(whole @ whole.T - rbf_kernel(other, gamma=0.2))
    assert exact.mean() < np.abs(z @ z.T - rbf_kernel(other, gamma=0.2)).mean()


def test_equal_rows_of_a_precomputed_kernel_are_one_point():
    """A product of matrices may round equal rows in different ways, by their places in its blocks."""
    from sklearn.metrics.pairwise import rbf_kernel

    gram = rbf_kernel(np.random.default_rng(0).standard_normal((400, 3)), gamma=0.2)
    found = KernelSketch("precomputed", 300, random_state=0).fit(gram)
    coordinates = found.transform(np.concatenate([gram[:3], gram, gram]))
    assert len(np.unique(coordinates, axis=0)) == 400
    assert np.array_equal(coordinates[3:403], coordinates[403:]) and np.array_equal(coordinates[:3], coordinates[3:6])
    np.testing.assert_allclose(coordinates[3:403], gram @ found.map_, atol=1e-5)


@pytest.mark.parametrize(
    ("gram", "message"),
    [
        (np.ones((3, 4)), r"X: shape \(3, 4\)"),
        (np.triu(np.ones((4, 4))), "not symmetric"),
        (-np.eye(4), "eigenvalue -1"),
        (np.zeros((4, 4)), "eigenvalue 0"),
    ],
)
def test_wrong_precomputed_kernels(gram, message):
    with pytest.raises(dsokr.ConfigError, match=message):
        KernelSketch("precomputed").fit(gram)
    with pytest.raises(dsokr.ConfigError, match="power: 0.5"):
        KernelSketch("precomputed", power=0.5).fit(np.eye(4))


@pytest.fixture
def labelled():
    """Label sets that follow from the inputs."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((120, 6))
    return x, (x[:, :4] > 0.3)


@pytest.mark.parametrize("form", [np.asarray, "sparse", dsokr.as_rows])
@pytest.mark.parametrize("sizes", [(40, None), (None, 60)])
def test_structured_outputs(labelled, form, sizes):
    from scipy.sparse import csr_array

    x, y = labelled
    given = csr_array(y.astype(np.float32)) if form == "sparse" else form(y)
    training = given.select(list(range(100))) if form is dsokr.as_rows else given[:100]
    model = IOKR(
        "gaussian",
        sizes[0],
        1e-4,
        kernel_params={"gamma": 0.1},
        output_kernel="gaussian",
        output_kernel_params={"gamma": 0.5},
        n_input_components=sizes[1],
    )
    found = model.fit(x[:100], training).predict(x[100:])
    found = found.toarray() if hasattr(found, "toarray") else found
    assert found.shape == (20, 4) and (found == y[100:]).mean() > 0.8
    ranks = model.candidates_.rank(model.coordinates(x[:100]), range(100))
    assert ranks.metrics()["mrr"] > 0.1
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.coordinates(x), model.coordinates(x))
    assert np.array_equal(again.candidates_.constants, model.candidates_.constants)


@pytest.mark.parametrize("output_kernel", ["tanimoto", "cosine"])
@pytest.mark.parametrize("size", [None, 200])
def test_empty_label_sets(output_kernel, size):
    """Two empty sets are equal, so that the empty set is not nearest to every prediction."""
    x, y = make_multilabel_classification(1500, n_features=50, n_classes=10, n_labels=3, random_state=0)
    peer = OneVsRestClassifier(LogisticRegression(max_iter=1000)).fit(x[:1200], y[:1200])
    model = IOKR("cosine", size, 1e-3, output_kernel=output_kernel).fit(x[:1200], y[:1200])
    found = model.predict(x[1200:])
    assert (y[:1200].sum(1) == 0).any() and (found.sum(1) == 0).mean() < 0.1

    def f1(predicted):
        return f1_score(y[1200:], predicted, average="samples", zero_division=1)

    assert f1(found) > f1(peer.predict(x[1200:]))


def test_search_over_size_and_alpha_of_iokr(labelled):
    x, y = labelled
    model = IOKR("gaussian", kernel_params={"gamma": 0.1}, output_kernel="cosine")
    search = GridSearchCV(model, {"n_components": [1, 60], "alpha": [1e-4, 1e3]}, cv=3).fit(x, y.astype(float))
    assert search.best_params_ == {"n_components": 60, "alpha": 1e-4}


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (IOKR(alpha=-1), "alpha: -1"),
        (IOKR(n_components=0), "n_components: 0"),
        (IOKR(n_input_components=0), "n_input_components: 0"),
        (IOKR(output_kernel="euclid"), "output_kernel: "),
        (IOKR(n_input_components=3, input_sketch="hash"), "input_sketch: 'hash'"),
    ],
)
def test_wrong_parameters_of_iokr(estimator, message):
    with pytest.raises(dsokr.ConfigError, match=message):
        estimator.fit(np.eye(5), np.eye(5))


ARFF = """@relation labels
{attributes}
@data
{rows}
"""

CONFIG = """
[data]
source = "multi-label"
folder = "sets"
file = "sets.arff"
labels = 4
splits = {{ order = "file", train = 80, validation = 20 }}
[output]
label = "labels"
only_training = true
features = {{ kind = "labels", column = "labels" }}
kernel = {{ name = "gaussian", gamma = 0.5 }}
[sketch]
{sketch}
[encoder]
kind = "kernel-machine"
inputs = {{ kind = "vectors", scaling = "none" }}
kernel = {{ name = "gaussian", gamma = 0.1 }}
lambda = 1e-4
[evaluation]
metric = "f1"
missing_gold = "rank-infinity"
"""


@pytest.mark.parametrize("size", [12, None])
def test_predictions_equal_those_of_a_run(labelled, tmp_path, size):
    """The same regression by a configuration, which the command reads."""
    if not hasattr(dsokr, "train"):
        pytest.skip("built without the feature run")
    x, y = labelled
    x = x.astype(np.float32)
    (tmp_path / "sets").mkdir()
    names = [f"@attribute x{at} numeric" for at in range(6)] + [f"@attribute l{at} {{0,1}}" for at in range(4)]
    rows = [",".join([*map(repr, map(float, a)), *map(str, map(int, b))]) for a, b in zip(x, y, strict=True)]
    text = ARFF.format(attributes="\n".join(names), rows="\n".join(rows))
    (tmp_path / "sets" / "sets.arff").write_text(text)
    sketch = "full = true" if size is None else f"size = {size}"
    (tmp_path / "sets.toml").write_text(CONFIG.format(sketch=sketch))
    run = dsokr.train(tmp_path / "sets.toml", out=tmp_path / "run", data=tmp_path)
    model = IOKR(
        "gaussian",
        size,
        1e-4,
        kernel_params={"gamma": 0.1},
        output_kernel="gaussian",
        output_kernel_params={"gamma": 0.5},
        sketch="gaussian",
        random_state=0,
    ).fit(x[:80], y[:80])
    validation = x[80:100]
    assert np.array_equal(model.coordinates(validation), run.encode(validation))
    sets = [" ".join(f"l{at}" for at in np.flatnonzero(row)) for row in model.predict(validation)]
    assert sets == [hit.label for hit in run.evaluate("validation").best]


def test_random_states_are_those_of_scikit_learn(labelled):
    x, _ = labelled

    def drawn(random_state):
        return KernelSketch("gaussian", 5, gamma=0.1, random_state=random_state).fit_transform(x)

    assert np.array_equal(drawn(3), drawn(3)) and not np.array_equal(drawn(3), drawn(4))
    assert np.array_equal(drawn(np.random.RandomState(3)), drawn(np.random.RandomState(3)))
    # one generator gives other numbers each time, and by None the global one draws
    shared = np.random.RandomState(3)
    assert not np.array_equal(drawn(shared), drawn(shared))
    np.random.seed(5)
    first, second = drawn(None), drawn(None)
    np.random.seed(5)
    assert np.array_equal(drawn(None), first) and not np.array_equal(first, second)


def test_rbf_is_the_kernel_of_scikit_learn(regression):
    from sklearn.kernel_ridge import KernelRidge

    x, y, other = regression
    for gamma in (None, 0.3):
        found = SketchedKernelRidge("rbf", None, 1e-3, gamma=gamma).fit(x, y).predict(other)
        expected = KernelRidge(alpha=1e-3 * len(x), kernel="rbf", gamma=gamma).fit(x, y).predict(other)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_sample_weights_are_those_of_scikit_learn(regression):
    from sklearn.kernel_ridge import KernelRidge

    x, y, other = regression
    weights = np.random.default_rng(0).integers(0, 4, len(x)).astype(float)
    found = SketchedKernelRidge("rbf", None, 1e-3).fit(x, y, sample_weight=weights).predict(other)
    exact = KernelRidge(alpha=1e-3 * weights.sum(), kernel="rbf").fit(x, y, sample_weight=weights)
    np.testing.assert_allclose(found, exact.predict(other), rtol=1e-3, atol=1e-4)
    # a weight is a number of copies
    repeated = np.repeat(np.arange(len(x)), weights.astype(int))
    copies = SketchedKernelRidge("rbf", None, 1e-3).fit(x[repeated], y[repeated]).predict(other)
    np.testing.assert_allclose(found, copies, rtol=1e-3, atol=1e-4)
    with pytest.raises(dsokr.ConfigError, match="sample_weight: -1"):
        SketchedKernelRidge().fit(x, y, sample_weight=-np.ones(len(x)))


def test_rows_are_inputs_and_scores_are_read(labelled):
    x, y = labelled
    bits, sparse = dsokr.as_rows(x > 0), dsokr.join_rows([dsokr.as_rows(x > 0)])
    assert (bits.kind, sparse.kind) == ("bit", "sparse")
    model = IOKR("rbf", None, 1e-4, output_kernel="tanimoto")
    dense = model.fit(x > 0, y).predict(x > 0)
    for rows in (bits, sparse):
        assert np.array_equal(model.fit(rows, y).predict(rows), dense)
        assert KernelSketch("cosine", 4, random_state=0).fit_transform(rows).shape[0] == len(x)
    half = np.arange(0, len(x), 2)
    weighted = model.fit(x, y, sample_weight=np.isin(np.arange(len(x)), half))
    assert np.array_equal(weighted.predict(x), IOKR("rbf", None, 1e-4, output_kernel="tanimoto").fit(x[half], y[half]).predict(x))
    # the score of label sets is F1, and of numbers R²
    found = model.fit(x, y).predict(x)
    assert model.score(x, y) == pytest.approx(f1_score(y, found, average="samples", zero_division=1.0))
    assert model.score(x, dsokr.as_rows(y)) == model.score(x, y) > 0.9
    numbers = IOKR("rbf", None, 1e-6).fit(x, x[:, 0])
    assert numbers.score(x, x[:, 0]) > 0.9
    # a single column is numbers, also of 0 and 1
    for column in (y[:, :1], y[:, :1].astype(float), y[:, 0].astype(float)):
        one = model.fit(x, column)
        right, predicted = (np.asarray(values, float) for values in (column, one.predict(x)))
        assert one.score(x, column) == pytest.approx(r2_score(right, predicted))


@pytest.mark.parametrize("kind", [KernelSketch, SketchedKernelRidge, IOKR])
def test_whole_numbers_are_not_rounded(kind):
    """Numbers that a float32 does not hold are refused, and other types mean the same as floats."""
    from scipy.sparse import csr_array

    large, y = np.array([[2**24 + 1, 0], [1, 1], [0, 3]]), [0.5, 1.5, 4.0]
    small = large % 5
    estimator = kind(random_state=0)
    ask = getattr(estimator, "transform" if kind is KernelSketch else "predict")
    for form in (np.asarray, csr_array):
        with pytest.raises(dsokr.ConfigError, match="X: 16777217 at .* is not a float32"):
            estimator.fit(form(large), y)
        estimator.fit(form(small), y)
        with pytest.raises(dsokr.ConfigError, match="X: 16777217 at .* is not a float32"):
            ask(form(large))
    for dtype in (bool, np.int8, np.float16):
        x = small.astype(dtype)
        estimator.fit(x.astype(np.float32), y)
        expected = ask(x.astype(np.float32))
        estimator.fit(x, y)
        assert np.array_equal(ask(x), expected), dtype


def test_times_that_32_bits_do_not_tell_apart_are_refused():
    times = 1.7e9 + 3 * np.arange(200.0)
    y = np.sin(np.arange(200) / 20)
    machines = [
        lambda x: SketchedKernelRidge("rbf", None, 1e-6, gamma=1e-3).fit(x[:, None], y),
        lambda x: IOKR("rbf", None, 1e-6, gamma=1e-3).fit(x[:, None], y),
        lambda x: IOKR("rbf", None, 1e-6).fit(y[:, None], x),
        lambda x: KernelSketch("rbf", 20, gamma=1e-3).fit(x[:, None]),
    ]
    for fit in machines:
        with pytest.raises(dsokr.ConfigError, match="column 0 lie between .*: subtract a constant"):
            fit(times)
        fit(times - times[0])
