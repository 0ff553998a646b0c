"""Bases against textbook NumPy."""

import pickle

import numpy as np
import pytest

import dsokr

EVERY = lambda n: dsokr.Subsampling(n)  # noqa: E731 - without replacement: all n rows


def cosine(y):
    unit = y / np.linalg.norm(y, axis=1, keepdims=True)
    return unit @ unit.T


def gaussian(y, gamma=0.3):
    squared = (y * y).sum(1)
    return np.exp(-gamma * (squared[:, None] + squared - 2 * y @ y.T))


def tanimoto(y):
    product, squared = y @ y.T, (y * y).sum(1)
    return product / (squared[:, None] + squared - product)


KERNELS = [
    ("linear", lambda y: y @ y.T),
    ("cosine", cosine),
    ("tanimoto", tanimoto),
    ({"name": "gaussian", "gamma": 0.3}, gaussian),
    ({"name": "gaussian-tanimoto", "gamma": 0.5}, lambda y: np.exp(-0.5 * (2 - 2 * tanimoto(y)))),
]


@pytest.fixture
def y():
    return np.random.default_rng(0).standard_normal((40, 6))


@pytest.mark.parametrize(("kernel", "gram"), KERNELS)
def test_kernel_matrix(y, kernel, gram):
    found = dsokr.kernel_matrix(y.astype(np.float32), kernel=kernel)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, gram(y), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dsokr.kernel_matrix(y[:5], y[30:], kernel), gram(y)[:5, 30:], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("kernel", "gram"), KERNELS)
def test_all_rows_give_the_exact_kernel(y, kernel, gram):
    basis = dsokr.Basis.fit(y, kernel, EVERY(40))
    coordinates, squared_norms, residuals = basis.projection(y)
    assert coordinates.dtype == np.float32 and coordinates.shape == (40, basis.rank)
    np.testing.assert_allclose(coordinates @ coordinates.T, gram(y), atol=2e-4)
    np.testing.assert_allclose(squared_norms, np.diag(gram(y)), rtol=1e-5)
    assert (residuals < 1e-3).all()
    # the eigenvalues of K, those above the tolerance
    expected = np.linalg.eigvalsh(gram(y))[::-1]
    np.testing.assert_allclose(basis.spectrum[:5], expected[:5], rtol=1e-4)


def test_nystrom_of_a_part_is_that_of_numpy(y):
    """A sub-sampling sketch of m rows gives the projection on their span, whatever the weights."""
    m = 12
    basis = dsokr.Basis.fit(y, {"name": "gaussian", "gamma": 0.3}, dsokr.Subsampling(m), seed=3)
    found = basis.project(y)
    gram = gaussian(y)
    # the rows that were picked are those that lie in the span
    picked = np.flatnonzero(basis.projection(y).residuals < 1e-5)
    assert len(picked) == m
    exact = gram[:, picked] @ np.linalg.solve(gram[np.ix_(picked, picked)], gram[picked])
    np.testing.assert_allclose(found @ found.T, exact, atol=1e-4)


@pytest.mark.parametrize(
    "sketch",
    [
        dsokr.Subsampling(30, replacement=True),
        dsokr.Leverage(30, pilot=40),
        dsokr.Gaussian(30),
        dsokr.SparsifiedRademacher(30, density=0.5),
        dsokr.SparsifiedGaussian(30, density=0.5),
        dsokr.Accumulation(30, terms=4),
        dsokr.CountSketch(30),
    ],
    ids=lambda sketch: sketch.kind,
)
def test_every_sketch_spans_a_space_of_six_dimensions(y, sketch):
    basis = dsokr.Basis.fit(y, "linear", sketch, seed=1)
    assert basis.rank == 6 and basis.sketch["size"] == 30 and basis.sketch["kind"] == sketch.kind
    coordinates = basis.project(y)
    np.testing.assert_allclose(coordinates @ coordinates.T, y @ y.T, atol=1e-3)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_tempering(y, power):
    """t(y) = Λ^(−α/2) Vᵀ (ψ(y) − μ), at unit length: inner products do not depend on the basis."""
    fitted = dsokr.Basis.fit(y, "linear", EVERY(40), power=power)
    centred = y - y.mean(0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(y))
    expected = centred @ vectors * values ** (-power / 2)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = fitted.project(y)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)
    assert fitted.is_normalised and fitted.tempering == {"power": power, "centred": True, "normalised": True}
    np.testing.assert_allclose(sorted(fitted.spectrum), values, rtol=1e-4)


def test_tempering_without_centre(y):
    whitened = dsokr.Basis.fit(y, "linear", EVERY(40), power=1.0, centred=False, normalised=False).project(y)
    np.testing.assert_allclose(whitened.T @ whitened / 40, np.eye(6), atol=1e-4)


def test_leverage_scores(y):
    gram = cosine(y)
    exact = np.diag(gram @ np.linalg.inv(gram + 40 * 0.01 * np.eye(40)))
    for pilot in (40, 200):
        np.testing.assert_allclose(dsokr.leverage_scores(y, lambda_=0.01, pilot=pilot), exact, atol=1e-4)


def test_bits_and_sparse_rows_give_the_same(y):
    sparse = pytest.importorskip("scipy.sparse")
    bits = np.random.default_rng(0).random((40, 50)) < 0.3
    forms = [bits, bits.astype(np.float32), sparse.csr_array(bits.astype(np.float32))]
    found = [dsokr.Basis.fit(form, "tanimoto", EVERY(40)).project(form) for form in forms]
    for other in found[1:]:
        np.testing.assert_allclose(found[0] @ found[0].T, other @ other.T, atol=1e-5)


def test_seeds(y):
    one, same, other = (dsokr.Basis.fit(y, "linear", dsokr.Gaussian(3), seed=seed).project(y) for seed in (1, 1, 2))
    assert np.array_equal(one, same) and not np.array_equal(one, other)


def test_files_and_pickles(y, tmp_path):
    basis = dsokr.Basis.fit(y, {"name": "gaussian", "gamma": 0.5}, dsokr.Gaussian(10), power=0.5, seed=4)
    basis.save(tmp_path / "basis")
    for other in (dsokr.Basis.load(tmp_path / "basis"), pickle.loads(pickle.dumps(basis))):
        assert np.array_equal(other.project(y), basis.project(y))
        assert other.kernel == {"name": "gaussian", "gamma": 0.5}
        assert other.sketch == {"kind": "gaussian", "size": 10, "seed": 4} == basis.sketch
        assert repr(other) == repr(basis)


def test_files_are_os_errors(tmp_path, y):
    with pytest.raises(dsokr.FileError, match="nothing") as raised:
        dsokr.Basis.load(tmp_path / "nothing")
    assert isinstance(raised.value, OSError) and isinstance(raised.value, dsokr.Error)
    assert raised.value.filename == str(tmp_path / "nothing")
    (tmp_path / "damaged").write_bytes(b"not a basis at all")
    with pytest.raises(OSError, match="damaged"):
        dsokr.Basis.load(tmp_path / "damaged")
    with pytest.raises(OSError):
        dsokr.Basis.fit(y, "linear", EVERY(40)).save(tmp_path / "no" / "folder")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel": "euclid"}, "kernel: .*euclid"),
        ({"kernel": {"name": "gaussian"}}, "kernel: .*gamma"),
        ({"kernel": {"name": "gaussian", "gamma": -1.0}}, "kernel gaussian: gamma = -1"),
        ({"kernel": {"name": "gaussian", "gamma": float("nan")}}, "kernel: "),
        ({"kernel": {"name": "cosine", "gamma": 1.0}}, "kernel: .*gamma"),
        ({"kernel": 3}, "kernel: int"),
        ({"kernel": {"name": object()}}, "kernel: "),
        ({"kernel": "precomputed"}, r"kernel: 'precomputed', .*KernelSketch\('precomputed'\) reads the matrix"),
        ({"kernel": lambda a, b: 1.0}, r"kernel: <function .*KernelSketch\('precomputed'\) reads the matrix"),
        ({"kernel": "hamming"}, "hamming"),
        ({"sketch": 200}, "sketch: 200"),
        ({"sketch": dsokr.Gaussian(0)}, "sketch: size = 0: expected 1..=40"),
        ({"sketch": dsokr.Gaussian(41)}, "sketch: size = 41"),
        ({"sketch": dsokr.Gaussian(-1)}, "sketch.size: -1"),
        ({"sketch": dsokr.Gaussian(2.5)}, "sketch.size: 2.5"),
        ({"sketch": dsokr.SparsifiedGaussian(5, density=2.0)}, "density = 2"),
        ({"sketch": dsokr.Leverage(5, pilot=0)}, "pilot = 0"),
        ({"power": 2.0}, "power = 2"),
        ({"power": float("inf")}, "power: inf"),
        ({"power": "half"}, "power: 'half'"),
        ({"seed": -1}, "seed: -1"),
        ({"seed": 2**64}, "seed: 18446744073709551616"),
        ({"tolerance": 0.0}, "tolerance = 0"),
        ({"tolerance": float("nan")}, "tolerance: nan"),
    ],
)
def test_wrong_arguments(y, arguments, message):
    arguments = {"kernel": "linear", "sketch": dsokr.Gaussian(5), **arguments}
    with pytest.raises(dsokr.ConfigError, match=message):
        dsokr.Basis.fit(y, **arguments)


def test_parameters_may_be_numbers_of_numpy(y):
    """In tables of kernels, sketches, rules and features, as elsewhere."""
    for kind in (np.float32, np.float64, np.array):
        kernel = {"name": "gaussian", "gamma": kind(0.25)}
        assert np.array_equal(dsokr.kernel_matrix(y, kernel=kernel), dsokr.kernel_matrix(y, kernel={"name": "gaussian", "gamma": 0.25}))
    for plain, other in [
        (dsokr.Leverage(10, pilot=30), dsokr.Leverage(10, pilot=np.int64(30))),
        (dsokr.SparsifiedGaussian(10, density=0.5), dsokr.SparsifiedGaussian(10, density=np.float32(0.5))),
    ]:
        bases = [dsokr.Basis.fit(y, sketch=sketch, seed=0) for sketch in (plain, other)]
        assert np.array_equal(*(basis.project(y) for basis in bases))
    smiles = ["CCO", "c1ccccc1O"]
    expected = dsokr.molecules.features(smiles, radius=2).toarray()
    assert np.array_equal(dsokr.molecules.features(smiles, radius=np.int64(2)).toarray(), expected)
    pool = dsokr.Candidates.from_points(y)
    found = []
    for weights in ([0.25, 0.75], np.array([0.25, 0.75])):
        rule = {"name": "mean", "weights": weights, "standardise": True}
        found.append(dsokr.rank_ensemble([(pool, y[:9]), (pool, y[1:10])], range(9), rule=rule).ranks)
    assert np.array_equal(*found)
    with pytest.raises(dsokr.ConfigError, match=r"kernel: .*object.*, allowed: numbers, texts"):
        dsokr.kernel_matrix(y, kernel={"name": "gaussian", "gamma": object()})


def test_wrong_rows(y):
    basis = dsokr.Basis.fit(y, "linear", dsokr.Gaussian(5))
    with pytest.raises(dsokr.ConfigError, match="Y: rows of width 5 where width 6 is needed"):
        basis.project(y[:, :5])
    with pytest.raises(dsokr.ConfigError, match="Y: bit rows where dense rows are needed"):
        basis.project(y > 0)
    with pytest.raises(dsokr.ConfigError, match="Y: no rows"):
        dsokr.Basis.fit(y[:0], "linear", dsokr.Gaussian(5))
    with pytest.raises(dsokr.Error, match="are all rows zero"):
        dsokr.Basis.fit(np.zeros_like(y), "linear", dsokr.Gaussian(5))
    with pytest.raises(dsokr.Error, match="overflow"):
        dsokr.Basis.fit(np.full((40, 6), 3e38), "linear", dsokr.Gaussian(5))
    with pytest.raises(dsokr.Error, match="do not vary"):
        dsokr.Basis.fit(np.ones((40, 6)), "linear", dsokr.Gaussian(5), power=0.5)
    with pytest.raises(dsokr.ConfigError, match="Y: row 0: column .*ngram"):
        import scipy.sparse as sparse

        dsokr.Basis.fit(sparse.csr_array(-np.ones((4, 2))), "ngram", dsokr.Gaussian(2))


def test_rows_of_an_array_that_is_written_to_stay_what_they_were(y):
    array = y.astype(np.float32)
    rows = dsokr.as_rows(array)
    expected = dsokr.Basis.fit(rows, "linear", dsokr.Gaussian(5)).project(rows)
    array[3, 2] = np.nan
    assert np.array_equal(dsokr.Basis.fit(rows, "linear", dsokr.Gaussian(5)).project(rows), expected)
    with pytest.raises(dsokr.ConfigError, match="row 3, column 2: NaN"):
        dsokr.Basis.fit(array, "linear", dsokr.Gaussian(5))


@pytest.mark.parametrize(
    "sketch", [dsokr.Gaussian(5), dsokr.Subsampling(5), dsokr.CountSketch(5), dsokr.Leverage(5)]
)
def test_a_number_that_is_not_finite_is_named_by_its_row(y, sketch):
    array = np.repeat(y, 60, axis=0).astype(np.float32)  # more than one block
    basis = dsokr.Basis.fit(array, "linear", sketch)
    array[-2, 3] = np.inf
    place = f"Y: row {len(array) - 2}, column 3: inf"
    with pytest.raises(dsokr.ConfigError, match=place):
        dsokr.Basis.fit(array, "linear", sketch)
    with pytest.raises(dsokr.ConfigError, match=place):
        basis.project(array)


def test_no_rows_are_projected_to_none(y):
    assert dsokr.Basis.fit(y, "linear", dsokr.Gaussian(5)).project(y[:0]).shape == (0, 5)


def test_defaults(y):
    basis = dsokr.Basis.fit(y)
    assert basis.sketch["size"] == 40 and basis.kernel == {"name": "cosine"}
    assert np.isclose(np.linalg.norm(basis.project(y), axis=1), 1, atol=1e-4).all()


def test_a_sum_of_kernels(y):
    first, second = y[:, :4], y[:, 4:] > 0
    bases = [dsokr.Basis.fit(first, "cosine", EVERY(40)), dsokr.Basis.fit(second, "tanimoto", EVERY(40))]
    both = dsokr.join_rows([first, second])
    found = dsokr.Basis.sum(bases, [first, second], (3, 1), size=40).project(both)
    gram = 0.75 * dsokr.kernel_matrix(first, kernel="cosine") + 0.25 * dsokr.kernel_matrix(second, kernel="tanimoto")
    np.testing.assert_allclose(found @ found.T, gram, atol=1e-3)
    with pytest.raises(dsokr.ConfigError, match="weights: 1, expected 2"):
        dsokr.Basis.sum(bases, [first, second], [1], size=40)
    with pytest.raises(dsokr.ConfigError, match="weight"):
        dsokr.Basis.sum(bases, [first, second], [1, -1], size=40)


def test_a_kernel_matrix_that_no_memory_holds_is_an_error():
    rows = dsokr.as_rows(np.ones((5_000_000, 1), bool))
    with pytest.raises(dsokr.Error, match="a kernel matrix of 5000000 by 5000000 numbers: more memory"):
        dsokr.kernel_matrix(rows)


def test_version():
    assert dsokr.__version__.count(".") == 2


@pytest.mark.parametrize("scale", [1.0, 1e-12])
def test_perfect_predictions_are_first_or_their_outputs_are_refused(scale):
    """Under the linear kernel scores in 32 bits lose the digits that tell outputs far from zero apart."""
    noise = np.random.default_rng(0).standard_normal((500, 8))
    for offset in (0, 300, 3000, 10_000):
        y = ((offset + noise) * scale).astype(np.float32)
        psi = dsokr.Basis.fit(y, "linear", dsokr.Gaussian(100))
        if offset > 300:
            with pytest.raises(dsokr.ConfigError, match=f"a mean that is {offset // 1000}.* times as far from zero"):
                dsokr.Candidates(psi, y)
            psi = dsokr.Basis.fit(y, "linear", dsokr.Gaussian(100), centred=True)
        pool = dsokr.Candidates(psi, y)
        assert pool.rank(psi.project(y), gold=range(500)).metrics(k=(1,))["mrr"] == 1.0
    psi = dsokr.Basis.fit((noise * 1e-25).astype(np.float32), "linear", dsokr.Gaussian(100))
    with pytest.raises(dsokr.ConfigError, match="a mean squared length of .*scale them"):
        dsokr.Candidates(psi, (noise * 1e-25).astype(np.float32))


def test_near_duplicates_are_candidates_of_a_basis_near_zero():
    y = np.random.default_rng(0).standard_normal((200, 4)).astype(np.float32)
    psi = dsokr.Basis.fit(y, "linear", dsokr.Gaussian(50))
    alike = np.array([1, 2, 3, 4], np.float32) + 1e-3 * np.arange(5, dtype=np.float32)[:, None] * np.float32([1, 0, 0, 0])
    assert len(dsokr.Candidates(psi, alike)) == 5
    with pytest.raises(dsokr.ConfigError, match="times as far from zero"):
        dsokr.Candidates(psi, alike + np.float32(3000))


def test_variance_that_is_lost_far_from_zero_is_refused():
    y = (1e5 + np.random.default_rng(0).standard_normal((500, 8))).astype(np.float32)
    for arguments in ({"power": 0.5}, {"centred": True}):
        with pytest.raises(dsokr.Error, match="keeps .* % of the variance .*: subtract the mean of each column"):
            dsokr.Basis.fit(y, "linear", dsokr.Gaussian(100), **arguments)
    psi = dsokr.Basis.fit(y - np.float32(1e5), "linear", dsokr.Gaussian(100), power=0.5)
    assert psi.rank == 8
