"""Arrays of any kind as rows of features."""

from __future__ import annotations

import copyreg
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ._dsokr import Rows
from ._errors import ConfigError


def as_array(values: Any, name: str) -> np.ndarray:
    """A NumPy array of numbers, without a copy where there is one already."""
    if not isinstance(values, np.ndarray) and hasattr(values, "__dlpack__"):
        try:
            values = np.from_dlpack(values)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise ConfigError(f"{name}: {error}") from error
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(f"{name}: not an array of numbers: {error}") from error
    if array.dtype.kind not in "fiub":
        raise ConfigError(f"{name}: dtype {array.dtype}, allowed: real numbers and bool")
    return array


def as_matrix(values: Any, name: str, dtype: Any = np.float32) -> np.ndarray:
    """A matrix in C order, which is the argument itself where it has that order and dtype."""
    array = as_array(values, name)
    if array.ndim != 2:
        raise ConfigError(f"{name}: shape {array.shape}, expected a matrix (rows, columns)")
    return _converted(array, name, dtype)


def as_vector(values: Any, name: str, dtype: Any) -> np.ndarray:
    """A contiguous vector of a dtype."""
    array = as_array(values, name)
    if array.ndim != 1:
        raise ConfigError(f"{name}: shape {array.shape}, expected a vector")
    if np.dtype(dtype).kind == "i" and array.dtype.kind not in "iu" and array.size:
        raise ConfigError(f"{name}: dtype {array.dtype}, allowed: whole numbers")
    return _converted(array, name, dtype)


def _converted(array: np.ndarray, name: str, dtype: Any) -> np.ndarray:
    with np.errstate(over="ignore"):
        converted = np.require(array, dtype=dtype, requirements=["C", "A"])
    if converted.dtype.kind == "f" and converted.itemsize < array.dtype.itemsize:
        lost = np.isinf(converted)
        if lost.any() and not np.isinf(array[lost]).all():
            raise ConfigError(f"{name}: numbers beyond the range of {converted.dtype}")
    return converted


def as_rows(values: Any, name: str = "Y") -> Rows:
    """Rows from what the functions of this package take.

    - ``Rows``: themselves.
    - A matrix of float32 in C order, as NumPy or by DLPack: read in place. Do not write to it while it is in use.
    - Other matrices of numbers: converted to float32 once.
    - A matrix of bool: packed into bits.
    - A sparse matrix or array of SciPy: its non-zeros are copied.
    """
    rows = rows_to_read(values, name)
    rows.check(name)
    return rows


def rows_to_read(values: Any, name: str = "Y") -> Rows:
    """``as_rows`` for work that reads every row, which finds a NaN itself."""
    if isinstance(values, Rows):
        return values
    if hasattr(values, "tocsr"):
        return _sparse(values, name)
    array = as_array(values, name)
    if array.ndim != 2:
        raise ConfigError(f"{name}: shape {array.shape}, expected a matrix (rows, columns)")
    if array.dtype == np.bool_:
        return Rows.bits(np.packbits(array, axis=1).ravel(), array.shape[1], name)
    return Rows.dense(_converted(array, name, np.float32), name)


def _sparse(values: Any, name: str) -> Rows:
    if values.dtype.kind not in "fiub":
        raise ConfigError(f"{name}: dtype {values.dtype}, allowed: real numbers and bool")
    csr = values.tocsr()
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    offsets, columns = (np.ascontiguousarray(part, np.int64) for part in (csr.indptr, csr.indices))
    return Rows.sparse(csr.shape[1], offsets, columns, _converted(csr.data, name, np.float32), name)


def _pickled(rows: Rows) -> tuple[Any, ...]:
    if rows.kind == "sparse":
        return Rows.sparse, (rows.shape[1], *rows.csr(), "Y")
    array = rows.toarray()
    if rows.kind == "bit":
        return Rows.bits, (np.packbits(array != 0, axis=1).ravel(), array.shape[1], "Y")
    return Rows.dense, (array, "Y")


copyreg.pickle(Rows, _pickled)


def join_rows(parts: Iterable[Any]) -> Rows:
    """Several matrices side by side, as sparse rows: the rows of ``dsokr.Basis.sum``."""
    rows = [as_rows(part, f"parts[{at}]") for at, part in enumerate(parts)]
    if not rows:
        raise ConfigError("parts: none, at least 1 is needed")
    return Rows.joined(rows)


def texts(values: Any, name: str, length: int | None = None) -> list[str]:
    """A list of ids or labels, numbers as they are printed."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise ConfigError(f"{name}: {type(values).__name__}, expected a list of texts or numbers")
    found = [str(value) for value in values]
    if length is not None and len(found) != length:
        raise ConfigError(f"{name}: {len(found)} entries, expected {length}")
    return found


def smiles_list(values: Any) -> list[str]:
    """A list of SMILES."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise ConfigError(f"smiles: {type(values).__name__}, expected a list of texts")
    found: Sequence[Any] = list(values)
    for at, value in enumerate(found):
        if not isinstance(value, str):
            raise ConfigError(f"smiles: {type(value).__name__} at {at}, expected a text")
    return list(found)


def whole(value: Any, name: str, least: int, most: int = 2**63 - 1) -> int:
    """A whole number within its range."""
    try:
        number = int(value.__index__())
    except (AttributeError, TypeError):
        raise ConfigError(f"{name}: {value!r}, expected a whole number") from None
    if not least <= number <= most:
        raise ConfigError(f"{name}: {number}, allowed: {least} to {most}")
    return number


def real(value: Any, name: str) -> float:
    """A finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ConfigError(f"{name}: {value!r}, expected a number") from None
    if not np.isfinite(number):
        raise ConfigError(f"{name}: {number}, expected a finite number")
    return number
