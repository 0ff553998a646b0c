"""Tables of a configuration, as names or dicts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ._errors import ConfigError

Table = str | Mapping[str, Any]


def to_json(value: Table, name: str, tag: str = "name") -> str:
    """A table as JSON; a name alone is the table with that name and default parameters."""
    table = {tag: value} if isinstance(value, str) else value
    if not isinstance(table, Mapping):
        raise ConfigError(f"{name}: {type(value).__name__}, expected a name or a dict with the key {tag!r}")
    try:
        return json.dumps(dict(table), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name}: {error}") from error


def from_json(text: str) -> Any:
    """The dict of a table, or the name of what has none."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
