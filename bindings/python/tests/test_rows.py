"""Arrays as rows: read in place, converted once, or refused."""

import numpy as np
import pytest

import dsokr


def test_float32_in_c_order_is_read_in_place():
    array = np.random.default_rng(0).standard_normal((50, 7), np.float32)
    rows = dsokr.as_rows(array)
    assert rows.address == array.ctypes.data
    assert rows.shape == (50, 7) and rows.kind == "dense" and len(rows) == 50
    assert repr(rows) == 'Rows(shape=(50, 7), kind="dense")'
    assert np.array_equal(rows.toarray(), array)
    # a slice of rows is in C order too
    assert dsokr.as_rows(array[10:20]).address == array[10:20].ctypes.data


def test_rows_keep_their_array_alive():
    rows = dsokr.as_rows(np.full((1000, 10), 3.0, np.float32))
    np.full((1000, 10), 9.0, np.float32)
    assert (rows.toarray() == 3.0).all()


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
    assert dsokr.as_rows(Tensor(array)).address == array.ctypes.data


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
        (np.array([["a", "b"]]), "Y: dtype <U1"),
        (np.ones((2, 2), complex), "Y: dtype complex128"),
        (np.array([[object()]]), "Y: dtype object"),
        ([[1.0], [1.0, 2.0]], "Y: "),
        (np.array([[0.0, np.nan]], np.float32), "Y: row 0, column 1: NaN"),
        (np.array([[0.0], [np.inf]]), "Y: row 1, column 0: inf"),
        (np.array([[1e300]]), "Y: numbers beyond the range of float32"),
        (np.ones((3, 0), np.float32), "Y: rows of width 0"),
        (None, "Y: dtype object"),
        ("text", "Y: dtype"),
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
