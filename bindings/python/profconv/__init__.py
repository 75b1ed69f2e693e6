# SPDX-License-Identifier: MIT
"""CPU profiles: read any, look at its tables, write any other.

    import profconv

    with profconv.read("perf.data") as profile:
        print(profile.total(), profile.facets)
        profile.write("profile.pb.gz", prepare=True)

The package is a thin layer over libprofconv, through ctypes. Calls let other threads run meanwhile; distinct objects
can be used by distinct threads, and one Profile by any number of them.
"""
from __future__ import annotations

from ._api import check, consumers, convert, detect, diff, formats, library_path, merge, read, version
from ._errors import (CallbackError, DroppedWarning, EmptyError, Error, FormatError, InputOutputError, InternalError,
                      InvalidError, LimitError, LostWarning, MissingFacetError, MissingFileError, NotFoundError,
                      OutOfMemory, ProfconvWarning, UnknownFormatError, UnsupportedError)
from ._lib import VERSION as __version__
from ._profile import Profile
from ._registry import Registry, passes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._builder import Builder
    from ._plugins import register_reader, register_writer, unregister
    from ._records import CheckResult, Format, Frame, Info, Note, Setting

__all__ = [
    "Builder", "CallbackError", "CheckResult", "DroppedWarning", "EmptyError", "Error", "Format", "FormatError",
    "Frame", "Info", "InputOutputError", "InternalError", "InvalidError", "LimitError", "LostWarning",
    "MissingFacetError", "MissingFileError", "NotFoundError", "Note", "OutOfMemory", "ProfconvWarning", "Profile",
    "Registry", "Setting", "UnknownFormatError", "UnsupportedError", "check", "consumers", "convert", "detect",
    "diff", "formats", "library_path", "merge", "passes", "read", "register_reader", "register_writer",
    "unregister", "version", "__version__",
]

# What only some scripts need is imported when it is first asked for.
_LATE = {"Builder": "_builder", "register_reader": "_plugins", "register_writer": "_plugins", "unregister": "_plugins",
         "CheckResult": "_records", "Format": "_records", "Frame": "_records", "Info": "_records", "Note": "_records",
         "Setting": "_records"}

if not TYPE_CHECKING:  # with it, every name would be right for type checkers

    def __getattr__(name):
        if name not in _LATE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = globals()[name] = getattr(import_module("." + _LATE[name], __name__), name)
        return value


def __dir__():
    return sorted({*globals(), *_LATE})
