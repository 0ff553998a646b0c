"""The lines of a training on standard error."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

LOGGER = logging.getLogger("dsokr")


@contextlib.contextmanager
def shown(progress: bool) -> Iterator[None]:
    """Prints the records of the logger ``dsokr`` meanwhile, unless the program has handlers for them."""
    if not progress or LOGGER.hasHandlers():
        yield
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    level = LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.setLevel(level)
        LOGGER.removeHandler(handler)
