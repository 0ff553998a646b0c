"""Tables of a configuration, as names or dicts."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from ._errors import ConfigError

Table: TypeAlias = str | Mapping[str, Any]
Kernel: TypeAlias = Literal["linear", "cosine", "tanimoto", "ngram", "kemeny", "hamming"] | Mapping[str, Any]
Rule: TypeAlias = Literal["mean", "max", "rank", "reciprocal-rank"] | Mapping[str, Any]
Loss: TypeAlias = Literal["square", "contrastive", "softmax"] | Mapping[str, Any]
Split: TypeAlias = Literal["train", "validation", "test"]
Missing: TypeAlias = Literal["error", "rank-infinity"]
Device: TypeAlias = Literal["cpu", "wgpu", "cuda", "cuda:0", "cuda:1", "cuda:2", "cuda:3", "cuda:4", "cuda:5", "cuda:6", "cuda:7"]


def to_json(value: Table, name: str, tag: str = "name") -> str:
    """Returns a table as JSON; a name is the table with that name and default parameters."""
    table = {tag: value} if isinstance(value, str) else value
    if not isinstance(table, Mapping):
        raise ConfigError(f"{name}: {type(value).__name__}, expected a name or a dict with the key {tag!r}")
    try:
        return json.dumps(dict(table), allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name}: {error}") from error


def _plain(value: Any) -> Any:
    """Returns a number or an array of NumPy or PyTorch as Python has it."""
    if not hasattr(value, "tolist"):
        raise TypeError(f"{value!r}, allowed: numbers, texts, bools, None, and lists and dicts of them")
    return value.tolist()


def to_toml(value: Any, name: str) -> str:
    """Returns a value of a configuration as TOML."""
    value = _plain(value) if hasattr(value, "tolist") else value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(to_toml(each, f"{name}[{at}]") for at, each in enumerate(value)) + "]"
    if isinstance(value, Mapping):
        pairs = (f"{json.dumps(str(key))} = {to_toml(each, f'{name}[{key!r}]')}" for key, each in value.items())
        return "{" + ", ".join(pairs) + "}"
    raise ConfigError(f"{name}: {value!r}, allowed: numbers, texts, bools, and lists and dicts of them")
