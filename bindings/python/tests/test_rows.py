"""Arrays as rows: copied once, or refused."""

import sys
import threading

import numpy as np
import pytest

import dsokr


def test_float32_in_c_order():
    array = np.random.default_rng(0).standard_normal((50, 7), np.float32)
    rows = dsokr.as_rows(array)
    assert rows.shape == (50, 7) and rows.kind == "dense" and len(rows) == 50
    assert repr(rows) == 'Rows(shape=(50, 7), kind="dense")'
    assert np.array_equal(rows.toarray(), array)
    assert np.array_equal(dsokr.as_rows(array[10:20]).toarray(), array[10:20])


def test_rows_are_what_they_were_made_of():
    """Arrays that are written to, resized or freed later change nothing."""
    array = np.full((1000, 10), 3.0, np.float32)
    rows = dsokr.as_rows(array)
    array[:] = 9.0
    assert (rows.toarray() == 3.0).all()
    array.resize((1, 100), refcheck=False)
    others = [np.full((1000, 10), 7.0, np.float32) for _ in range(10)]
    assert (rows.toarray() == 3.0).all() and len(others) == 10
    torch = pytest.importorskip("torch")
    tensor = torch.full((1000, 1000), 3.0)
    rows = dsokr.as_rows(tensor)
    tensor.untyped_storage().resize_(0)
    assert (rows.toarray() == 3.0).all()


def test_arrays_are_written_to_while_work_goes_on():
    """Predictions are copied before the lock is released: a thread that writes meanwhile changes no rank."""
    rng = np.random.default_rng(0)
    points, z = (rng.standard_normal((count, 32)).astype(np.float32) for count in (20_000, 2_000))
    pool, gold = dsokr.Candidates.from_points(points), rng.integers(0, 20_000, 2_000)
    expected = pool.rank(z, gold).ranks
    may_write, written = threading.Event(), threading.Event()

    def write():
        may_write.wait()
        z[:] = np.nan
        written.set()

    thread = threading.Thread(target=write)
    thread.start()
    # the lock is not taken away from this thread, so the other one goes on when the call releases it
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)
    try:
        may_write.set()
        found = pool.rank(z, gold).ranks
        was_written = written.is_set()
    finally:
        sys.setswitchinterval(interval)
    thread.join()
    assert was_written and np.array_equal(found, expected)


def test_masks_and_rounded_whole_numbers_are_refused():
    masked = np.ma.array(np.ones((3, 2)), mask=[[0, 0], [0, 1], [0, 0]])
    with pytest.raises(dsokr.ConfigError, match=r"1 masked values, the first at \(1, 1\)"):
        dsokr.as_rows(masked)
    unmasked = np.ma.array(np.ones((3, 2)), mask=False)
    assert np.array_equal(dsokr.as_rows(unmasked).toarray(), np.ones((3, 2)))
    with pytest.raises(dsokr.ConfigError, match=r"16777217 at \(0, 1\) is not a float32"):
        dsokr.as_rows(np.array([[2**24, 2**24 + 1]]))
    with pytest.raises(dsokr.ConfigError, match="9223372036854775807"):
        dsokr.as_rows(np.array([[2**63 - 1]]))
    # floats are rounded, as in NumPy, and even numbers up to 2²⁵ are not
    for array in (np.array([[2**24 + 1.0]]), np.array([[2**25, -(2**24)]])):
        assert np.array_equal(dsokr.as_rows(array).toarray(), array.astype(np.float32))


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int8, np.int64, np.uint8])
def test_other_dtypes_are_converted(dtype):
    array = np.random.default_rng(0).integers(0, 100, (20, 3)).astype(dtype)
    rows = dsokr.as_rows(array)
    assert np.array_equal(rows.toarray(), array.astype(np.float32))


def test_other_orders_are_converted():
    array = np.random.default_rng(0).standard_normal((20, 6)).astype(np.float32)
    for other in (np.asfortranarray(array), array[:, ::2], array[::-1], array.T):
        assert np.array_equal(dsokr.as_rows(other).toarray(), other)


def test_bool_is_packed():
    array = np.random.default_rng(0).random((30, 77)) < 0.3
    rows = dsokr.as_rows(array)
    assert rows.kind == "bit"
    assert np.array_equal(rows.toarray(), array.astype(np.float32))


def test_lists_and_dlpack():
    assert np.array_equal(dsokr.as_rows([[1, 2], [3, 4]]).toarray(), [[1, 2], [3, 4]])

    class Tensor:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **arguments):
            return self.array.__dlpack__(**arguments)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    array = np.ones((4, 2), np.float32)
    assert np.array_equal(dsokr.as_rows(Tensor(array)).toarray(), array)


def test_tensors_that_numpy_has_no_form_for():
    """Tensors that require gradients, sparse ones, and those of bfloat16, which NumPy lacks, have the numbers that PyTorch prints."""
    torch = pytest.importorskip("torch")
    dense = torch.tensor([[0.5, 0.0], [0.0, -3.0], [1.25, 2.0]])
    same = [dense.clone().requires_grad_(), dense.bfloat16(), dense.bfloat16().requires_grad_(), dense.half()]
    same += [dense.to_sparse(), dense.to_sparse_csr(), dense.double().to_sparse()]
    for tensor in same:
        assert np.array_equal(dsokr.as_rows(tensor).toarray(), dense.numpy()), (tensor.dtype, tensor.layout)
    points = dsokr.Candidates.from_points(dense)
    for tensor in same:
        assert np.array_equal(points.rank(tensor, [0, 1, 2]).ranks, points.rank(dense, [0, 1, 2]).ranks)
        expected = dsokr.metrics.rank_scores(dense, [0, 1, 1]).ranks
        assert np.array_equal(dsokr.metrics.rank_scores(tensor, [0, 1, 1]).ranks, expected)


def test_scipy():
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.random.default_rng(0).integers(0, 3, (20, 30)) * (np.random.default_rng(1).random((20, 30)) < 0.2)
    for made in (sparse.csr_matrix(dense), sparse.csc_array(dense), sparse.coo_array(dense)):
        rows = dsokr.as_rows(made)
        assert rows.kind == "sparse" and np.array_equal(rows.toarray(), dense)
    doubled = sparse.csr_array((np.ones(2), ([0, 0], [1, 1])), shape=(1, 3))
    unsorted = sparse.csr_array((np.array([1.0, 2.0]), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    assert np.array_equal(dsokr.as_rows(doubled).toarray(), [[0, 2, 0]])
    assert np.array_equal(dsokr.as_rows(unsorted).toarray(), [[2, 0, 1]])
    assert unsorted.indices.tolist() == [2, 0]
    assert np.array_equal(dsokr.as_rows(dense).to_scipy().toarray(), dense)
    assert np.array_equal(dsokr.as_rows(dense > 0).to_scipy().toarray(), dense > 0)


def test_select():
    array = np.arange(12, dtype=np.float32).reshape(6, 2)
    assert np.array_equal(dsokr.as_rows(array).select([4, 0, 0]).toarray(), array[[4, 0, 0]])
    with pytest.raises(dsokr.ConfigError, match="rows: 6, allowed: 0 to 6"):
        dsokr.as_rows(array).select([6])
    with pytest.raises(dsokr.ConfigError):
        dsokr.as_rows(array).select([-1])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones(3, np.float32), r"Y: shape \(3,\)"),
        (np.ones((2, 3, 4), np.float32), "Y: shape"),
        (np.array([["a", "b"]]), "Y: texts, expected numbers: dsokr.molecules.features makes them of SMILES"),
        (["CCO", "CCN"], "Y: texts, expected numbers"),
        (np.ones((2, 2), complex), "Y: dtype complex128"),
        (np.array([[object()]]), "Y: dtype object"),
        ([[1.0], [1.0, 2.0]], "Y: "),
        (np.array([[0.0, np.nan]], np.float32), "Y: row 0, column 1: NaN"),
        (np.array([[0.0], [np.inf]]), "Y: row 1, column 0: inf"),
        (np.array([[1e300]]), "Y: numbers beyond the range of float32"),
        (np.ones((3, 0), np.float32), "Y: rows of width 0"),
        (None, "Y: NoneType, expected an array of numbers"),
        ((row for row in np.eye(3)), "Y: generator, expected an array of numbers"),
        ("text", "Y: texts, expected numbers"),
    ],
)
def test_refused(values, message):
    with pytest.raises(dsokr.ConfigError, match=message) as raised:
        dsokr.as_rows(values)
    assert isinstance(raised.value, ValueError) and isinstance(raised.value, dsokr.Error)


def test_refused_sparse():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(dsokr.ConfigError, match="Y: row 0, column 0: NaN"):
        dsokr.as_rows(sparse.csr_array(np.array([[np.nan]])))
    with pytest.raises(dsokr.ConfigError, match="Y: dtype complex128"):
        dsokr.as_rows(sparse.csr_array(np.array([[1j]])))


def test_rows_are_indexed_as_arrays():
    dense = np.arange(12, dtype=np.float32).reshape(6, 2)
    rows = dsokr.as_rows(dense)
    for index in (slice(1, None, 2), [4, 0, -1], dense[:, 0] > 5, np.array([2, 2])):
        assert np.array_equal(rows[index].toarray(), dense[index])
    assert np.array_equal(rows[3].toarray(), dense[3:4])
    with pytest.raises(IndexError):
        rows[6]


def test_joined_rows():
    dense, bits = np.ones((3, 2), np.float32), np.eye(3, dtype=bool)
    assert np.array_equal(dsokr.join_rows([dense, bits]).toarray(), np.hstack([dense, bits]))
    with pytest.raises(dsokr.ConfigError, match="rows, expected equal"):
        dsokr.join_rows([dense, bits[:2]])
    with pytest.raises(dsokr.ConfigError, match="parts: none"):
        dsokr.join_rows([])


def test_rows_are_arrays_to_numpy():
    array = np.arange(6, dtype=np.float32).reshape(3, 2)
    for rows in (dsokr.as_rows(array), dsokr.as_rows(array > 2)):
        dense = rows.toarray()
        assert np.array_equal(np.asarray(rows), dense) and np.asarray(rows, float).dtype == float
        assert rows.dtype == np.float32 and [row.tolist() for row in rows] == dense.tolist()


def test_columns_of_frames_are_rows():
    pandas = pytest.importorskip("pandas")
    expected = np.array([[0.5, 1.0], [2.0, 3.0], [4.0, 5.5]], np.float32)
    frame = pandas.DataFrame({"a": expected[:, 0], "b": expected[:, 1]})
    same = [frame, frame.convert_dtypes(), frame.astype("Float64"), pandas.Series(expected.tolist()), pandas.Series(list(expected))]
    try:
        import pyarrow

        lists = pyarrow.array(expected.tolist())
        fixed = pyarrow.array(expected.tolist(), pyarrow.list_(pyarrow.float32(), 2))
        same += [lists, fixed, pyarrow.chunked_array([fixed[:2], fixed[2:]]), pyarrow.table({"a": expected[:, 0], "b": expected[:, 1]})]
        same.append(pandas.Series(pandas.arrays.ArrowExtensionArray(fixed)))
        same.append(frame.astype("double[pyarrow]"))
    except ImportError:
        pass
    try:
        import polars

        same += [polars.Series(expected.tolist()), polars.DataFrame({"a": expected[:, 0], "b": expected[:, 1]})]
        same.append(polars.Series(expected.tolist(), dtype=polars.Array(polars.Float32, 2)))
    except ImportError:
        pass
    for values in same:
        assert np.array_equal(dsokr.as_rows(values).toarray(), expected), type(values)
    assert dsokr.as_rows(pandas.DataFrame({"a": [True, False]}, dtype="boolean")).kind == "bit"


def test_columns_that_are_not_rows_are_refused():
    pandas = pytest.importorskip("pandas")
    for values, message in [
        (pandas.DataFrame({"a": [1.0, None], "b": [2.0, 3.0]}, dtype="Float64"), r"a missing value at \(1, 0\)"),
        (pandas.Series([[1.0, 2.0], [3.0]]), "lists of different lengths"),
        (pandas.Series([[1.0, 2.0], None]), r"a missing value at \(1\)"),
        (pandas.DataFrame({"a": ["x", "y"]}), "Y: texts, expected numbers"),
    ]:
        with pytest.raises(dsokr.ConfigError, match=message):
            dsokr.as_rows(values)


def test_rows_are_arrays():
    array = np.arange(12, dtype=np.float32).reshape(4, 3)
    rows = dsokr.as_rows(array)
    assert np.array_equal(np.asarray(rows), array) and rows.dtype == np.float32
    assert [row.tolist() for row in rows] == array.tolist()


def test_lists_of_a_large_search_are_kept():
    points = np.random.default_rng(0).standard_normal((1000, 4)).astype(np.float32)
    pool = dsokr.Candidates.from_points(points, ids=range(1000), columns={"price": range(1000)})
    assert pool.search(points[:1], 1)[0][0].columns == {"price": pool.search(points[:1], 1)[0][0].id}
    assert pool._listed is pool._listed
    # a list that is changed is the caller's
    pool.ids.clear()
    pool.columns["price"].clear()
    assert len(pool.ids) == len(pool.columns["price"]) == 1000


def test_columns_that_32_bits_do_not_tell_apart_are_refused_in_fits():
    """Times in seconds since 1970 within ten minutes, beside a constant with the rounding of 64 bits."""
    constant = 1 + 2e-16 * (np.arange(200) % 2)
    times = np.column_stack([constant, 1.7e9 + 3 * np.arange(200.0)])
    fits = [
        lambda rows: dsokr.kernel_matrix(rows, kernel="linear"),
        lambda rows: dsokr.kernel_matrix(rows[:1], rows, kernel="linear"),
        lambda rows: dsokr.Basis.fit(rows, "linear", dsokr.Gaussian(2)),
        lambda rows: dsokr.leverage_scores(rows, "linear"),
    ]
    for fit in fits:
        with pytest.raises(dsokr.ConfigError, match="column 1 lie between 1700000000 and 1700000597, .*: subtract a constant"):
            fit(times)
        fit(times - [0, 1.7e9])
    scipy = pytest.importorskip("scipy.sparse")
    with pytest.raises(dsokr.ConfigError, match="column 1 lie between .*: subtract a constant"):
        dsokr.Basis.fit(scipy.csr_array(times), "linear", dsokr.Gaussian(2))
    dsokr.Basis.fit(scipy.csr_array(np.vstack([times, [0, 0]])), "linear", dsokr.Gaussian(2))
    psi = dsokr.Basis.fit(times.astype(np.float32), "linear", dsokr.Gaussian(2))
    # queries may be close to each other
    assert len(psi.project(times[:3])) == 3


def test_columns_of_which_32_bits_leave_nothing_are_a_warning_beside_others(caplog):
    """Ends of spectra, times within a minute and a constant with the rounding of a solver, beside a column that varies."""
    at = np.arange(200)
    noise = at * 37 % 100 / 100
    rows = np.column_stack([noise, 10.0 ** (-60 - at % 100), 1.7e9 + at % 60, 1 + 1e-10 * noise])
    scipy = pytest.importorskip("scipy.sparse")
    for array in [rows, scipy.csr_array(rows)]:
        caplog.clear()
        dsokr.kernel_matrix(array, kernel="linear")
        messages = [record.getMessage() for record in caplog.records]
        assert len(messages) == 2, messages
        assert "the numbers in column 2, in column 3 are one value or two in 32 bits: subtract a constant" in messages[0]
        assert "the numbers in column 1 are too small for 32 bits and count as zeros: multiply" in messages[1]
    with pytest.raises(dsokr.ConfigError, match="column 0 lie between .* too small for 32 bits: multiply .*; .* in column 1, in column 2 apart"):
        dsokr.kernel_matrix(rows[:, 1:], kernel="linear")


def test_label_sets_are_no_rows_of_the_hamming_kernel():
    labels = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]], bool)
    with pytest.raises(dsokr.Error, match="row 1: 1 ones where another row has 2; .* take tanimoto or cosine"):
        dsokr.kernel_matrix(labels, kernel="hamming")
    one_hot = np.array([[1, 0, 1, 0], [1, 0, 0, 1]], bool)
    assert np.allclose(dsokr.kernel_matrix(one_hot, kernel="hamming"), [[1, 0.5], [0.5, 1]])
