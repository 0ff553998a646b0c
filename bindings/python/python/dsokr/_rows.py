"""Arrays of any kind as rows of features."""

from __future__ import annotations

import copyreg
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
# not on first use, as NumPy does: a fork meanwhile would wait for ever for the lock of the import
import numpy.ma

from ._dsokr import Rows, check_rounding
from ._errors import ConfigError
from ._progress import LOGGER


def as_array(values: Any, name: str) -> np.ndarray:
    """Returns a NumPy array of numbers, without a copy where there is one already."""
    values = _detached(_unmasked(values, name))
    # Arrow exports columns of plain numbers only
    if not isinstance(values, np.ndarray) and hasattr(values, "__dlpack__") and not hasattr(values, "to_pylist"):
        try:
            values = np.from_dlpack(values)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            raise ConfigError(f"{name}: {error}") from error
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ConfigError(f"{name}: not an array of numbers: {error}") from error
    if array.dtype.kind == "O" and not array.ndim:
        # a generator, a set, a dictionary, None
        raise ConfigError(f"{name}: {type(values).__name__}, expected an array of numbers, or lists of them")
    if array.dtype.kind == "O":
        array = _unboxed(array, name)
    if array.dtype.kind in "UT":
        remedy = "dsokr.molecules.features makes them of SMILES, and astype(float) of texts of numbers"
        raise ConfigError(f"{name}: texts, expected numbers: {remedy}")
    if array.dtype.kind not in "fiub":
        raise ConfigError(f"{name}: dtype {array.dtype}, allowed: real numbers and bool")
    return array


def _unboxed(array: np.ndarray, name: str) -> np.ndarray:
    """Numbers that NumPy has as objects: those of columns that can lack one, such as Float64 of pandas, and lists of numbers in
    the cells of a column, such as embeddings."""
    for place, cell in np.ndenumerate(array):
        if is_missing(cell):
            at = ", ".join(map(str, place))
            raise ConfigError(f"{name}: a missing value at ({at}): fill it or leave out its row")
    cells = array.tolist()
    if array.ndim == 1 and any(isinstance(cell, (list, tuple, np.ndarray)) for cell in cells):
        cells = [np.asarray(cell) for cell in cells]
        shapes = {cell.shape for cell in cells}
        if len(shapes) > 1:
            raise ConfigError(f"{name}: lists of different lengths, expected as many numbers in each row")
    try:
        return np.array(cells)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name}: not an array of numbers: {error}") from error


def _detached(values: Any) -> Any:
    """Returns a tensor of PyTorch as NumPy reads it: without gradients, dense, and of a type that NumPy has. Other values
    as they are."""
    if not hasattr(values, "detach") or not hasattr(values, "is_floating_point"):
        return values
    values = values.detach()
    if str(values.layout) != "torch.strided":
        values = values.to_dense()
    if values.is_floating_point() and str(values.dtype) not in ("torch.float16", "torch.float32", "torch.float64"):
        # bfloat16, and floats of 8 bits; a float32 holds all of them
        values = values.float()
    return values


def _unmasked(values: Any, name: str) -> Any:
    """Returns the data of an array whose mask hides nothing; a mask says that there is no number, which nothing here can
    use."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if np.ma.is_masked(values):
        place = ", ".join(str(int(at)) for at in np.argwhere(np.ma.getmaskarray(values))[0])
        remedy = "fill them (numpy.ma.filled) or leave out their rows"
        raise ConfigError(f"{name}: {np.ma.count_masked(values)} masked values, the first at ({place}): {remedy}")
    return values.data


def as_matrix(values: Any, name: str, dtype: Any = np.float32) -> np.ndarray:
    """Returns a matrix in C order, which is the argument itself where it has that order and dtype."""
    array = as_array(values, name)
    if array.ndim != 2:
        raise ConfigError(f"{name}: shape {array.shape}, expected a matrix (rows, columns)")
    return _converted(array, name, dtype)


def as_vector(values: Any, name: str, dtype: Any) -> np.ndarray:
    """Returns a contiguous vector of a dtype."""
    array = as_array(values, name)
    if array.ndim != 1:
        raise ConfigError(f"{name}: shape {array.shape}, expected a vector")
    if np.dtype(dtype).kind == "i" and array.dtype.kind not in "iu" and array.size:
        raise ConfigError(f"{name}: dtype {array.dtype}, allowed: whole numbers")
    if np.dtype(dtype).kind == "i" and array.dtype.kind == "u" and array.size:
        most = np.iinfo(dtype).max
        at = int(array.argmax())
        if int(array[at]) > most:
            raise ConfigError(f"{name}: {array[at]} at {at}, allowed: whole numbers up to {most}")
    return _converted(array, name, dtype)


def _converted(array: np.ndarray, name: str, dtype: Any) -> np.ndarray:
    with np.errstate(over="ignore"):
        converted = np.require(array, dtype=dtype, requirements=["C", "A"])
    if converted.dtype.kind == "f" and converted.itemsize < array.dtype.itemsize:
        lost = np.isinf(converted)
        if lost.any() and not np.isinf(array[lost]).all():
            raise ConfigError(f"{name}: numbers beyond the range of {converted.dtype}")
    if converted.dtype.kind == "f" and array.dtype.kind in "iu":
        _check_whole(array, converted, name)
    return converted


def _check_whole(array: np.ndarray, converted: np.ndarray, name: str) -> None:
    """Refuses whole numbers, such as ids, that a float rounds: two of them could become one."""
    exact = 2 ** (np.finfo(converted.dtype).nmant + 1)
    if not array.size or -exact <= int(array.min()) and int(array.max()) <= exact:
        return
    # what was rounded beyond the range of the type wraps, and is unequal too
    with np.errstate(invalid="ignore"):
        rounded = np.argwhere(converted.astype(array.dtype) != array)
    if len(rounded):
        at = tuple(int(place) for place in rounded[0])
        message = f"{int(array[at])} at {at} is not a {converted.dtype}, which holds whole numbers up to {exact}"
        raise ConfigError(f"{name}: {message}; scale them, or pass floats if rounding is meant")


def as_rows(values: Any, name: str = "Y") -> Rows:
    """Rows from what the functions of this package take.

    - ``Rows``: themselves.
    - A matrix of numbers, as NumPy or by DLPack: copied once, as float32. Whole numbers that a float32 rounds are refused. Tensors
      of PyTorch may require gradients, be sparse, or hold bfloat16.
    - A matrix of bool: packed into bits.
    - A sparse matrix or array of SciPy: its non-zeros are copied.
    """
    return _rows(values, name, False)


def training_rows(values: Any, name: str = "Y") -> Rows:
    """Rows on which something is fitted: columns whose numbers 32 bits do not tell apart are refused."""
    return _rows(values, name, True)


def _rows(values: Any, name: str, is_training: bool) -> Rows:
    if isinstance(values, Rows):
        return values
    if hasattr(values, "tocsr"):
        return _sparse(values, name, is_training)
    array = as_array(values, name)
    if array.ndim != 2:
        raise ConfigError(f"{name}: shape {array.shape}, expected a matrix (rows, columns)")
    if array.dtype == np.bool_:
        return Rows.bits(np.packbits(array, axis=1).ravel(), array.shape[1], name)
    converted = _converted(array, name, np.float32)
    if is_training:
        _check_rounding(array, range(array.shape[1]), name)
    return Rows.dense(converted, name)


def _check_rounding(array: np.ndarray, columns: Sequence[int], name: str, others: bool = False) -> None:
    """Refuses columns that a float32 does not tell apart, and warns of those of which it leaves nothing where columns, or ``others``
    beside them, vary. ``array`` has the numbers of ``columns`` of the argument ``name``."""
    # whole numbers that a float32 rounds are refused before
    if array.dtype.kind != "f" or array.dtype.itemsize <= 4 or not array.size:
        return
    # NaN and infinities are refused as rows
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.zeros(array.shape[1], array.dtype)
        step = max(1, 2**18 // array.shape[1])
        for start in range(0, len(array), step):
            block = array[start : start + step]
            np.maximum(error, np.abs(block - block.astype(np.float32)).max(axis=0), out=error)
        extremes = np.stack([array.min(axis=0), array.max(axis=0), error], axis=1)
        extremes = np.ascontiguousarray(extremes, np.float64)
    for warning in check_rounding(extremes, np.array(columns, np.int64), len(array), others, name):
        LOGGER.warning(f"{name}: {warning}")


def _sparse(values: Any, name: str, is_training: bool) -> Rows:
    if values.dtype.kind not in "fiub":
        raise ConfigError(f"{name}: dtype {values.dtype}, allowed: real numbers and bool")
    csr = values.tocsr()
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    offsets, columns = (np.ascontiguousarray(part, np.int64) for part in (csr.indptr, csr.indices))
    if is_training and len(offsets) > 1:
        # a column with zeros reaches from zero to its numbers; one without is in the first row too
        first = columns[offsets[0] : offsets[1]]
        present, counts = np.unique(columns[np.isin(columns, first)], return_counts=True)
        numbers = [int(column) for column in present[counts == csr.shape[0]]]
        if numbers:
            full = np.column_stack([csr.data[columns == column] for column in numbers])
            _check_rounding(full, numbers, name, len(numbers) < csr.shape[1])
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
    """Returns several matrices side by side, as sparse rows: the rows of ``dsokr.Basis.sum``."""
    rows = [as_rows(part, f"parts[{at}]") for at, part in enumerate(parts)]
    if not rows:
        raise ConfigError("parts: none, at least 1 is needed")
    return Rows.joined(rows)


def listed(values: Any, name: str, of: str = "texts or numbers") -> list[Any]:
    """Returns the values of a list, an array, a tensor or a column of a frame as objects of Python; None where there is
    none. Those of a dictionary are its keys. A set has no order, and is refused."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise ConfigError(f"{name}: {type(values).__name__}, expected a list of {of}")
    if isinstance(values, (set, frozenset)):
        raise ConfigError(f"{name}: {type(values).__name__}, which has no order: expected a list of {of}")
    values = _detached(values)
    method = next((method for method in ("tolist", "to_list", "to_pylist") if hasattr(values, method)), None)
    if method is None:
        found = [value.tolist() if hasattr(value, "tolist") else value for value in values]
    else:
        found = getattr(values, method)()
        # of an array without dimensions
        found = found if isinstance(found, list) else [found]
    for at, value in enumerate(found):
        if isinstance(value, str) and not value.isascii():
            _refuse_surrogates(value, name, at)
    return found


def _refuse_surrogates(value: str, name: str, at: int) -> None:
    """Refuses a text that is no Unicode: a part of it was read as bytes, or cut within a character."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        remedy = "read the text with its own encoding, or replace the character"
        message = f"{value[error.start]!r} at its position {error.start}, a surrogate, which no text in UTF-8 has: {remedy}"
        raise ConfigError(f"{name}: the text at {at} holds {message}") from None


def is_missing(value: Any) -> bool:
    """Returns whether a value says that there is none: None, NaN, and the missing values of pandas."""
    return value is None or isinstance(value, float) and value != value or type(value).__name__ in ("NAType", "NaTType")


def texts(values: Any, name: str, length: int | None = None) -> list[str]:
    """Returns a list of ids or labels. Numbers are texts as they are printed, whole ones without a point: a column of a
    frame has floats where it lacks some, and tensors of floats are of whole numbers too."""
    found = []
    for at, value in enumerate(listed(values, name)):
        if is_missing(value):
            raise ConfigError(f"{name}: {value!r} at {at}, expected a text or a number: leave out this row")
        if isinstance(value, (list, tuple, set, dict)):
            raise ConfigError(f"{name}: {type(value).__name__} at {at}, expected a text or a number")
        if isinstance(value, bytes):
            raise ConfigError(f"{name}: {value!r} at {at} is bytes, expected a text or a number: decode it first")
        found.append(str(int(value) if isinstance(value, float) and value.is_integer() else value))
    if length is not None and len(found) != length:
        raise ConfigError(f"{name}: {len(found)} entries, expected {length}")
    return found


def smiles_list(values: Any) -> list[str]:
    """Returns a list of SMILES."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise ConfigError(f"smiles: {type(values).__name__}, expected a list of texts")
    found = listed(values, "smiles", "texts")
    for at, value in enumerate(found):
        if not isinstance(value, str):
            what = f"{value!r}, a missing value," if is_missing(value) else type(value).__name__
            raise ConfigError(f"smiles: {what} at {at}, expected a text")
    return found


def whole(value: Any, name: str, least: int, most: int = 2**63 - 1) -> int:
    """Returns a whole number within its range."""
    try:
        number = int(value.__index__())
    except (AttributeError, TypeError):
        raise ConfigError(f"{name}: {value!r}, expected a whole number") from None
    if not least <= number <= most:
        raise ConfigError(f"{name}: {number}, allowed: {least} to {most}")
    return number


def real(value: Any, name: str) -> float:
    """Returns a finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ConfigError(f"{name}: {value!r}, expected a number") from None
    if not np.isfinite(number):
        raise ConfigError(f"{name}: {number}, expected a finite number")
    return number
