"""The exceptions of the package."""

from __future__ import annotations

import errno as numbers
from typing import Any


class Error(Exception):
    """Everything that dsokr raises by itself is one."""


class ConfigError(Error, ValueError):
    """A wrong argument or configuration: the value found, and what is allowed."""


class FileError(Error, OSError):
    """A file that cannot be read or written, or does not hold what it must.

    ``filename`` is its path, and ``errno`` the number of the operating system's error; None where the content is wrong. One
    about a file that does not exist is a ``FileNotFoundError`` too.
    """

    def __init__(self, message: str, filename: str | None = None, errno: int | None = None) -> None:
        super().__init__(message)
        self.strerror = message
        self.filename = filename
        self.errno = errno

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.filename, self.errno)


class MissingFileError(FileError, FileNotFoundError):
    """A file that does not exist."""


def file_error(message: str, filename: str | None, errno: int | None) -> FileError:
    """Returns the exception for the number of an operating system's error."""
    kind = MissingFileError if errno == numbers.ENOENT else FileError
    return kind(message, filename, errno)
