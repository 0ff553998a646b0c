"""Estimators in scikit-learn's own checks, pipelines and searches."""

import numpy as np
import pytest

import dsokr

pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: E402
from sklearn.linear_model import Ridge  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

from dsokr.sklearn import KernelSketch  # noqa: E402


@parametrize_with_checks(
    [KernelSketch("linear"), KernelSketch("gaussian", kernel_params={"gamma": 0.1}, sketch="gaussian")]
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
        (KernelSketch(random_state=-1), "seed: -1"),
        (KernelSketch(power=7.0), "power = 7"),
    ],
)
def test_wrong_parameters(estimator, message):
    with pytest.raises(dsokr.ConfigError, match=message):
        estimator.fit(np.eye(5))
