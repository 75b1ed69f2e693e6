# SPDX-License-Identifier: MIT
"""Failures as exceptions, and notes of a conversion as warnings."""
from __future__ import annotations

from . import _abi as abi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._records import Note


class Error(Exception):
    """A call of the library failed.

    status   the negative PROFCONV_E_* number; format: the format that failed, or None
    offset   byte offset in the (inflated) input, or None; line: 1-based line of a text input, or None
    errno    of the failed system call, or None; message: what was found and what was expected
    """

    status = 0

    def __init__(self, message: str, *, status: int | None = None, offset: int | None = None, line: int | None = None,
                 format: str | None = None, errno: int | None = None):
        super().__init__(message)
        self.message = message
        if status is not None:
            self.status = status
        self.offset = offset
        self.line = line
        self.format = format
        self.errno = errno

    def __str__(self):
        return self.message

    def __reduce__(self):
        return _again, (type(self), self.message, self.status, self.offset, self.line, self.format, self.errno)


def _again(kind, message, status, offset, line, format, errno):
    return kind(message, status=status, offset=offset, line=line, format=format, errno=errno)


class OutOfMemory(Error, MemoryError):
    """The system is out of memory."""

    status = abi.E_NOMEM


class LimitError(Error):
    """A budget (max_memory, …) was reached; the message names it."""

    status = abi.E_LIMIT


class InvalidError(Error, ValueError):
    """An argument is not acceptable: an unknown setting, a bad value."""

    status = abi.E_INVALID


class InputOutputError(Error, OSError):  # type: ignore[misc]
    """The system refused a read, write, open or rename; see `errno`."""

    status = abi.E_IO


class FormatError(Error, ValueError):
    """The bytes are not a valid file of the format; `offset` or `line` says where."""

    status = abi.E_FORMAT


class UnsupportedError(Error):
    """Valid, but of a kind that is not supported."""

    status = abi.E_UNSUPPORTED


class UnknownFormatError(Error, ValueError):
    """No reader recognises the input. Name the format."""

    status = abi.E_UNKNOWN_FORMAT


class EmptyError(Error):
    """Nothing was left to write; the message names the cause."""

    status = abi.E_EMPTY


class MissingFacetError(Error):
    """The target needs what the source lacks and no pass can add."""

    status = abi.E_MISSING_FACET


class NotFoundError(Error, LookupError):
    """There is no format, setting or sample type of that name."""

    status = abi.E_NOT_FOUND


class CallbackError(Error):
    """A callback failed; what it raised is the cause (`__cause__`)."""

    status = abi.E_CALLBACK


class InternalError(Error):
    """A defect of the library. Please report it."""

    status = abi.E_INTERNAL


class MissingFileError(InputOutputError, FileNotFoundError):  # type: ignore[misc]
    """An input, or the folder of an output, is not there."""


_BY_STATUS = {kind.status: kind for kind in Error.__subclasses__()}


def error_of(status, error):
    """The exception for a status and the profconv_error that was filled for it."""
    said = error.status != 0
    message = error.message.decode("utf-8", "replace") if said else f"status {status}"
    kind = _BY_STATUS.get(status, Error)
    if said and status == abi.E_IO:
        from errno import ENOENT

        kind = MissingFileError if error.system_errno == ENOENT else kind
    return kind(
        message, status=status, offset=error.offset if said and error.offset != abi.NO_OFFSET else None,
        line=error.line if said and error.line else None,
        format=error.format.decode() if said and error.format else None,
        errno=error.system_errno if said and error.system_errno else None)


# ---- notes ----

_KINDS = {abi.NOTE_INFO: "info", abi.NOTE_WARNING: "warning", abi.NOTE_DROPPED: "dropped", abi.NOTE_LOST: "lost"}
KIND_NUMBERS = {name: number for number, name in _KINDS.items()}


class ProfconvWarning(UserWarning):
    """A note as a warning, with its `cause`, `count`, `weight`, and the whole `note`."""

    def __init__(self, note: Note):
        import re

        said = note.count <= 1 or str(note.count) in re.findall(r"\d+", note.message)
        super().__init__(note.message if said else f"{note.message} ({note.count} times)")
        self.note = note
        self.cause = note.cause
        self.count = note.count
        self.weight = note.weight

    def __reduce__(self):
        return type(self), (self.note,)


class DroppedWarning(ProfconvWarning):
    """Samples or records could not be used."""


class LostWarning(ProfconvWarning):
    """The target cannot hold something that the source has."""


_WARNINGS = {"warning": ProfconvWarning, "dropped": DroppedWarning, "lost": LostWarning}


def notes_of(lib, report):
    """The rows of a report, by its address."""
    count, overflow = lib.report_count(report), lib.report_overflow(report)
    if not count and not overflow:
        return ()
    import ctypes

    from ._records import Note

    notes = []
    row = abi.Note()
    for index in range(count):
        lib.report_get(report, index, ctypes.byref(row))
        notes.append(Note(_KINDS.get(row.kind, "info"), row.cause.decode("utf-8", "replace"),
                          row.message.decode("utf-8", "replace"), row.count, row.weight,
                          row.offset if row.offset != abi.NO_OFFSET else None, row.line or None))
    if overflow:
        notes.append(Note("warning", "notes-not-stored", "notes were lost for want of memory", overflow, 0, None, None))
    return tuple(notes)


def warn(notes, stacklevel):
    """Issues what is more than information. `stacklevel` counts from the caller of this function."""
    for note in notes:
        kind = _WARNINGS.get(note.kind)
        if kind is not None:
            import warnings

            warnings.warn(kind(note), stacklevel=stacklevel + 1)
