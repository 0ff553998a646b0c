"""The exceptions of the package."""

from __future__ import annotations


class Error(Exception):
    """Everything that dsokr raises by itself is one."""


class ConfigError(Error, ValueError):
    """A wrong argument or configuration: the value found, and what is allowed."""


class FileError(Error, OSError):
    """A file that cannot be read or written, or does not hold what it must.

    ``filename`` is its path.
    """

    def __init__(self, filename: str, message: str) -> None:
        super().__init__(message)
        self.filename = filename

    def __str__(self) -> str:
        return str(self.args[-1])
