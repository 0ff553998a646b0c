"""Pairs of inputs and outputs as people hold them, in the form of a table.

Lists, arrays, tensors, columns and frames of pandas, polars and Arrow mean here what they mean there: a matrix is vectors, a
matrix of 0 and 1 label sets, and None, NaN and NA are missing values.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ._errors import ConfigError
from ._dsokr import Rows
from ._rows import as_array, is_missing, listed, texts

Cell = str | bool | int | float | list[str] | list[int] | list[float] | None


class Columns(NamedTuple):
    """The columns of inputs that are numbers by name."""

    names: list[str]
    is_dense: bool
    """Whether each input has all of them, as a row of a frame has. What a dictionary lacks is 0."""


def paired(inputs: Any, outputs: Any) -> tuple[list[Cell], list[Cell], Columns | None]:
    """Returns the cells of both columns, as many in each; where both are dictionaries, by their keys. The last are the
    columns of the numbers of each input, where a frame or dictionaries name them."""
    mappings = [isinstance(values, Mapping) for values in (inputs, outputs)]
    if all(mappings):
        unpaired = [key for key in outputs if key not in inputs] + [key for key in inputs if key not in outputs]
        if unpaired:
            raise ConfigError(f"outputs: {unpaired[0]!r} is a key of only one of inputs and outputs, expected the same keys")
        inputs, outputs = list(inputs.values()), [outputs[key] for key in inputs]
    elif any(mappings):
        name = "inputs" if mappings[0] else "outputs"
        raise ConfigError(f"{name}: a dictionary, expected a list, or dictionaries for both with the same keys")
    (read, columns), wanted = _input_cells(inputs), _output_cells(outputs)
    if len(read) != len(wanted):
        raise ConfigError(f"outputs: {len(wanted)}, expected {len(read)}, one for each input")
    if columns is not None:
        columns = Columns(listed(columns.names, "inputs: names"), columns.is_dense)
    return read, wanted, columns


def lines(read: list[Cell], wanted: list[Cell]) -> Iterable[str]:
    """Returns the lines of a table with the columns input and output, without the pairs that lack either."""
    for text, output in zip(read, wanted, strict=True):
        if text is not None and output is not None:
            yield json.dumps({"input": text, "output": output}, ensure_ascii=False, allow_nan=False) + "\n"


def _input_cells(values: Any) -> tuple[list[Cell], Columns | None]:
    """Texts as they are, and numbers as vectors; and the columns of the numbers, where they have names."""
    columns = frame_columns(values)
    if columns is not None:
        if len(columns) == 1:
            return _input_cells(only_column(columns))
        return _matrix_cells(_numeric(columns, "inputs"), "inputs"), Columns(list(columns), True)
    column = text_column(values)
    if column is not None:
        return _input_cells(column)
    matrix = _matrix(values, "inputs")
    if matrix is not None:
        return _matrix_cells(matrix, "inputs"), None
    cells = [_plain(cell) for cell in listed(values, "inputs")]
    if any(isinstance(cell, Mapping) for cell in cells):
        numbers, names = _of_dictionaries(cells, "inputs")
        return _matrix_cells(numbers, "inputs"), Columns(names, False)
    read = [_input_cell(cell, at) for at, cell in enumerate(cells)]
    are_rows = {isinstance(cell, list) for cell in read if cell is not None}
    if len(are_rows) > 1:
        raise ConfigError("inputs: texts and numbers, expected one kind of input")
    if True in are_rows:
        _shared_width(read, "inputs")
    return read, None


def query_frame(columns: dict[str, list[Any]], fitted: Columns | None) -> np.ndarray:
    """Returns the numbers of a frame of queries, in the order of the columns that the model was fitted on, where it knows
    these."""
    numbers = _numeric(columns, "queries")
    if fitted is None:
        return numbers
    _refuse_lacking(columns, fitted.names)
    _refuse_unknown(columns, fitted.names)
    places = {name: at for at, name in enumerate(columns)}
    return numbers[:, [places[name] for name in fitted.names]]


def query_dictionaries(cells: list[Any], fitted: Columns | None) -> np.ndarray:
    """Returns the numbers of dictionaries as queries, in the order of the names that the model was fitted on. A name that a
    row lacks is 0 there, or refused where the model was fitted on a frame."""
    if fitted is None:
        raise ConfigError("queries: dictionaries, and the model was fitted on inputs without names: expected what it was fitted on")
    numbers, names = _of_dictionaries(cells, "queries")
    _refuse_unknown(names, fitted.names)
    if fitted.is_dense:
        for at, cell in enumerate(cells):
            _refuse_lacking({str(key) for key in cell}, fitted.names, f" at {at}")
    ordered = np.zeros((len(cells), len(fitted.names)))
    places = {name: at for at, name in enumerate(fitted.names)}
    ordered[:, [places[name] for name in names]] = numbers
    return ordered


def _refuse_lacking(names: Collection[str], fitted: list[str], where: str = "") -> None:
    lacking = next((name for name in fitted if name not in names), None)
    if lacking is not None:
        raise ConfigError(f"queries: no column {lacking!r}{where}, expected the columns that the model was fitted on: {_list(fitted)}")


def _refuse_unknown(names: Iterable[str], fitted: list[str]) -> None:
    known = {*fitted}
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise ConfigError(f"queries: {unknown!r} is none of the columns that the model was fitted on: {_list(fitted)}")


def _list(names: list[str]) -> str:
    """Returns the first names of a list, and how many there are more."""
    more = len(names) - 10
    return ", ".join(names[:10]) + (f" and {more} more" if more > 0 else "")


def _plain(cell: Any) -> Any:
    """Returns a number, or a list of numbers, of NumPy or PyTorch as one of Python."""
    return cell.tolist() if hasattr(cell, "tolist") else cell


def _input_cell(cell: Any, at: int) -> Cell:
    if is_missing(cell):
        return None
    if isinstance(cell, str):
        return cell if cell.strip() else None
    if isinstance(cell, (bool, int, float)):
        return [_finite(float(cell), "inputs", at)]
    if isinstance(cell, (list, tuple)) and _are_numbers(cell):
        return None if any(map(is_missing, cell)) else [_finite(float(value), "inputs", at) for value in cell]
    raise ConfigError(f"inputs: {type(cell).__name__} at {at}, expected a text, a number, or rows of a matrix")


def _output_cells(values: Any) -> list[Cell]:
    """Returns SMILES, texts, numbers, rankings and vectors as they are, and label sets by the names of their labels."""
    columns = frame_columns(values)
    if columns is not None:
        if len(columns) == 1:
            return _output_cells(only_column(columns))
        return _several(_numeric(columns, "outputs"), list(columns))
    column = text_column(values)
    if column is not None:
        return _output_cells(column)
    if hasattr(values, "tocsr"):
        values = values.toarray()
    matrix = _matrix(values, "outputs")
    if matrix is not None:
        return _several(matrix, [f"label{column}" for column in range(matrix.shape[1])])
    cells = [_labels_or_plain(cell, at) for at, cell in enumerate(listed(values, "outputs"))]
    if any(isinstance(cell, Mapping) for cell in cells):
        return _several(*_of_dictionaries(cells, "outputs"))
    width = _width(cells)
    if width is not None:
        rows = [[math.nan] * width if is_missing(cell) else cell for cell in cells]
        return _several(np.array(rows, np.float64), [f"label{column}" for column in range(width)])
    return [_output_cell(cell, at) for at, cell in enumerate(cells)]


def _labels_or_plain(cell: Any, at: int) -> Any:
    """Returns the names of the labels of a set, where numbers are names too; other cells as numbers of Python."""
    if isinstance(cell, (set, frozenset)):
        return sorted(texts(list(cell), f"outputs[{at}]"))
    return _plain(cell)


def _width(cells: list[Any]) -> int | None:
    """Returns the number of numbers in each of several lists; none of other values."""
    lists = [cell for cell in cells if not is_missing(cell)]
    if not any(lists) or not all(isinstance(cell, (list, tuple)) and _are_numbers(cell) for cell in lists):
        return None
    return _shared_width(cells, "outputs", "; label sets are sets, or lists of texts")


def _shared_width(cells: list[Any], name: str, remedy: str = "") -> int:
    """Returns the number of numbers in each of several lists, of which some may be missing; an error for the first list
    that has another length than most."""
    lengths = {at: len(cell) for at, cell in enumerate(cells) if not is_missing(cell)}
    ((width, _),) = Counter(lengths.values()).most_common(1)
    for at, length in lengths.items():
        if length != width:
            raise ConfigError(f"{name}: {length} numbers at {at}, expected {width} as in most rows{remedy}")
    return width


def _are_numbers(parts: Iterable[Any]) -> bool:
    return all(isinstance(part, (bool, int, float)) or is_missing(part) for part in parts)


def _output_cell(cell: Any, at: int) -> Cell:
    if isinstance(cell, (list, tuple)):
        parts = [_plain(part) for part in cell]
        if all(isinstance(part, str) for part in parts):
            return listed(parts, f"outputs[{at}]")
        if all(isinstance(part, (int, float)) and not isinstance(part, bool) for part in parts):
            return [part if isinstance(part, int) else _finite(part, "outputs", at) for part in parts]
        raise ConfigError(f"outputs: {cell!r} at {at}, expected a list of texts or of numbers")
    if is_missing(cell) or isinstance(cell, str) and not cell.strip():
        return None
    if isinstance(cell, float):
        return _finite(cell, "outputs", at)
    if isinstance(cell, (str, bool, int)):
        return cell
    raise ConfigError(f"outputs: {type(cell).__name__} at {at}, expected a text, a number, or a list of these")


def _several(matrix: np.ndarray, names: list[str]) -> list[Cell]:
    """Returns the label sets of a matrix of 0 and 1, a number of a single column, rankings, and else several numbers a row."""
    names = listed(names, "outputs: names")
    missing = np.isnan(matrix).any(1)
    filled = matrix[~missing]
    if matrix.shape[1] == 1:
        cells: list[Cell] = [_finite(value, "outputs", at) for at, (value,) in enumerate(np.where(missing[:, None], 0, matrix).tolist())]
    elif np.isin(filled, (0, 1)).all():
        cells = [[name for name, has in zip(names, row, strict=True) if has == 1] for row in matrix.tolist()]
    elif (np.sort(filled, 1) == np.arange(1, matrix.shape[1] + 1)).all():
        cells = [[int(rank) for rank in row] for row in np.where(missing[:, None], 0, matrix).tolist()]
    else:
        cells = _matrix_cells(np.where(missing[:, None], 0, matrix), "outputs")
    return [None if lacks else cell for lacks, cell in zip(missing, cells, strict=True)]


def _matrix_cells(matrix: np.ndarray, name: str) -> list[Cell]:
    """Rows of a matrix as lists of floats; none for a row with a missing number."""
    infinite = np.argwhere(np.isinf(matrix))
    if len(infinite):
        row, column = infinite[0]
        raise ConfigError(f"{name}: row {row}, column {column}: {matrix[row, column]} is not a finite number")
    return [None if any(value != value for value in row) else row for row in matrix.tolist()]


def _finite(value: float, name: str, at: int) -> float:
    if math.isinf(value):
        raise ConfigError(f"{name}: {value} at {at}, expected a finite number")
    return value


def _matrix(values: Any, name: str) -> np.ndarray | None:
    """Rows of numbers as a matrix of float64; none of values of another form."""
    if isinstance(values, Rows):
        return values.toarray().astype(np.float64)
    if hasattr(values, "tocsr"):
        return as_array(values.toarray(), name).astype(np.float64)
    if isinstance(values, np.ma.MaskedArray):
        values = values.astype(np.float64).filled(np.nan) if values.dtype.kind in "fiub" else values
    if not hasattr(values, "ndim") and not hasattr(values, "__dlpack__"):
        if not (isinstance(values, (list, tuple)) and values and all(_is_vector(value) for value in values)):
            return None
    elif getattr(values, "ndim", 2) == 1:
        return None
    try:
        array = as_array(values, name)
    except ConfigError:
        # texts, and lists of different lengths
        return None
    if array.ndim != 2:
        raise ConfigError(f"{name}: shape {tuple(array.shape)}, expected one value for each pair, or a matrix")
    return array.astype(np.float64)


def _is_vector(value: Any) -> bool:
    """Returns whether a value is a row of numbers, by itself: a list may be a ranking or a list of labels too."""
    return getattr(value, "ndim", None) == 1 and getattr(getattr(value, "dtype", None), "kind", "f") in "fiub"


def frame_columns(values: Any) -> dict[str, list[Any]] | None:
    """Returns the columns of a frame of pandas, polars or Arrow by name; none of anything else."""
    if not hasattr(values, "columns"):
        return None
    names = list(getattr(values, "column_names", None) or values.columns)
    # 1 and "1" are one name where the columns are kept
    repeated, count = Counter(map(str, names)).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise ConfigError(f"a frame with two columns {repeated!r}, expected different names")
    try:
        return {str(name): listed(values[name], str(name)) for name in names}
    except (TypeError, KeyError):
        return None


def only_column(columns: dict[str, list[Any]]) -> list[Any]:
    """Returns the values of the single column of a frame."""
    (column,) = columns.values()
    return column


def text_column(values: Any) -> Any:
    """Returns the only column of an array of texts with two dimensions, as a frame with one column is its values; none of
    anything else."""
    kind = getattr(getattr(values, "dtype", None), "kind", None)
    if kind not in ("U", "T", "O") or values.ndim != 2 or values.shape[1] != 1:
        return None
    column = values[:, 0]
    return column if any(isinstance(cell, str) for cell in column) else None


def _numeric(columns: dict[str, list[Any]], name: str) -> np.ndarray:
    """Columns of numbers as a matrix, with NaN where a number is missing."""
    matrix = []
    for column, values in columns.items():
        numbers = [math.nan if is_missing(value) else value for value in values]
        wrong = next((value for value in numbers if not isinstance(value, (bool, int, float))), None)
        if wrong is not None:
            message = f"{name}: column {column!r} of {len(columns)} holds {wrong!r}, expected numbers, or a single column"
            raise ConfigError(message)
        matrix.append(np.array(numbers, np.float64))
    return np.column_stack(matrix)


def _of_dictionaries(cells: list[Any], name: str) -> tuple[np.ndarray, list[str]]:
    """Numbers by name: a matrix with a column for each name, and the names. A name that a row lacks is 0 there."""
    names: dict[str, int] = {}
    for at, cell in enumerate(cells):
        if not is_missing(cell) and not isinstance(cell, Mapping):
            raise ConfigError(f"{name}: {type(cell).__name__} at {at} among dictionaries, expected a dictionary")
        own = [str(key) for key in cell] if isinstance(cell, Mapping) else []
        for key in own:
            names.setdefault(key, len(names))
        # 1 and "1" are one name
        if len({*own}) < len(own):
            repeated = next(key for key, count in Counter(own).items() if count > 1)
            raise ConfigError(f"{name}: a dictionary at {at} with two keys {repeated!r} as texts, expected different names")
    matrix = np.zeros((len(cells), len(names)))
    for at, cell in enumerate(cells):
        if is_missing(cell):
            matrix[at] = math.nan
            continue
        for key, value in cell.items():
            value = value.tolist() if hasattr(value, "tolist") else value
            if not is_missing(value) and not isinstance(value, (bool, int, float)):
                raise ConfigError(f"{name}: {key!r} at {at} is {value!r}, expected a number: 1 and 0 are labels")
            matrix[at, names[str(key)]] = math.nan if is_missing(value) else value
    return matrix, list(names)
