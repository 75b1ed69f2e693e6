# SPDX-License-Identifier: MIT
"""CPU profiles: read any, look at its tables, write any other.

    import profconv

    with profconv.read("perf.data") as profile:
        print(profile.total(), profile.facets)
        profile.write("profile.pb.gz", prepare=True)

The package is a thin layer over libprofconv, through ctypes. Calls let other threads run meanwhile; distinct objects can be used
by distinct threads, and one Profile by any number of them.
"""
from __future__ import annotations

from ._api import (CheckResult, check, consumers, convert, detect, diff, formats, library_path, merge, read, version)
from ._builder import Builder
from ._errors import (CallbackError, DroppedWarning, EmptyError, Error, FormatError, InputOutputError, InternalError,
                      InvalidError, LimitError, LostWarning, MissingFacetError, NotFoundError, Note, OutOfMemory, ProfconvWarning,
                      UnknownFormatError, UnsupportedError)
from ._lib import VERSION as __version__
from ._plugins import register_reader, register_writer, unregister
from ._profile import Frame, Info, Profile
from ._registry import Format, Registry, Setting, passes

__all__ = [
    "Builder", "CallbackError", "CheckResult", "DroppedWarning", "EmptyError", "Error", "Format", "FormatError", "Frame", "Info",
    "InputOutputError", "InternalError", "InvalidError", "LimitError", "LostWarning", "MissingFacetError", "NotFoundError", "Note",
    "OutOfMemory", "ProfconvWarning", "Profile", "Registry", "Setting", "UnknownFormatError", "UnsupportedError", "check",
    "consumers", "convert", "detect", "diff", "formats", "library_path", "merge", "passes", "read", "register_reader",
    "register_writer", "unregister", "version", "__version__",
]
