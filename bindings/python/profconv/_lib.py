# SPDX-License-Identifier: MIT
"""Finds and loads the shared library, and makes calls: status codes become exceptions, and exceptions of callbacks
travel through C as status codes and come out again as the cause of the error."""
from __future__ import annotations

import ctypes
import os

try:
    # threading's own, without importing threading, which takes time
    from _thread import _local as _ThreadLocal  # type: ignore[attr-defined]
except ImportError:
    from threading import local as _ThreadLocal

from . import _abi as abi
from ._errors import Error, error_of

VERSION = "0.1.0"  # of the package; the library's major and minor number must be the same


def _candidates():
    """(path, where it is from), in the order of preference."""
    chosen = os.environ.get("PROFCONV_LIBRARY")
    if chosen:
        yield chosen, "PROFCONV_LIBRARY"
        return
    here = os.path.dirname(os.path.abspath(__file__))
    checkout = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    for folder, where in ((here, "the package"), (os.path.join(checkout, "build"), "the build tree")):
        try:
            names = [name for name in os.listdir(folder) if name.startswith("libprofconv.so")]
        except OSError:
            continue
        for name in sorted(names, key=len):
            yield os.path.join(folder, name), where
    import ctypes.util  # late: it takes as long to import as all the rest

    found = ctypes.util.find_library("profconv")
    if found:
        yield found, "the system"


def _load():
    tried = []
    for path, where in _candidates():
        try:
            dll = ctypes.CDLL(path)
            dll.profconv_version.restype = ctypes.c_char_p
            version = dll.profconv_version().decode()
        except (OSError, AttributeError) as exc:
            tried.append(f"{path} ({where}): {exc}")
            continue
        if version.split(".")[:2] != VERSION.split(".")[:2]:
            tried.append(f"{path} ({where}): version {version}, but this package is for {VERSION}")
            continue
        return dll, path
    raise ImportError("libprofconv.so is not found: build it (cmake -B build && cmake --build build), install it, "
                      "or name it in PROFCONV_LIBRARY" + "".join("\n  tried " + line for line in tried))


class Library:
    """`lib.name` is the function profconv_name with its types, bound when it is first used."""

    def __init__(self):
        self._dll, self.path = _load()

    def __getattr__(self, name):
        function = self._bind("profconv_" + name)
        setattr(self, name, function)
        return function

    def _bind(self, name):
        try:
            result, arguments = abi.FUNCTIONS[name]
        except KeyError:
            raise AttributeError(name) from None
        function = self._dll[name]
        function.restype = result
        function.argtypes = [a for a in arguments if a is not ...]
        return function

    def by_address(self, name):
        """The function profconv_name with rows given by their address instead of by a pointer object."""
        result, arguments = abi.FUNCTIONS["profconv_" + name]
        function = self._dll["profconv_" + name]
        function.restype = result
        function.argtypes = [ctypes.c_void_p if isinstance(a, type) and issubclass(a,
                                                                                   ctypes._Pointer)
                             else a for a in arguments]
        return function


lib = Library()

# ---- calls ----

_thread = _ThreadLocal()


def _pending():
    """Exceptions of callbacks of the calls that are under way on this thread."""
    try:
        return _thread.pending
    except AttributeError:
        _thread.pending = []
        return _thread.pending


def call(function, *arguments):
    """Calls a function whose last parameter is the profconv_error. Raises what it, or a callback below it, says."""
    error = abi.Error()
    pending = _pending()
    mark = len(pending)
    status = function(*arguments, ctypes.byref(error))
    raised = pending[mark:]
    del pending[mark:]
    for exc in raised:
        if not isinstance(exc, Exception):  # KeyboardInterrupt, SystemExit: whatever C made of the failure
            raise exc
    if status != abi.OK:
        raise error_of(status, error) from (raised[0] if raised else None)


def failed(exc, error=None):
    """For callbacks: keeps an exception for `call` and returns the status that stands for it. Fills `error`, a
    pointer."""
    _pending().append(exc)
    status = exc.status if isinstance(exc, Error) and exc.status < 0 else abi.E_CALLBACK
    if error:
        row = error.contents
        row.status = status
        row.system_errno = (exc.errno or 0) if isinstance(exc, OSError) and isinstance(exc.errno, int) else 0
        row.offset = abi.NO_OFFSET
        row.line = 0
        if isinstance(exc, Error):
            row.offset = abi.NO_OFFSET if exc.offset is None else exc.offset
            row.line = exc.line or 0
            text = exc.message
        else:
            text = f"{type(exc).__name__}: {exc}" if str(exc) else type(exc).__name__
        row.format = b""
        row.message = text.replace("\n", " ").encode("utf-8", "replace")[:471]
    return status


def io_failed(exc):
    """The same for sources and sinks of bytes, which report a system error by its number."""
    status = failed(exc)
    if status == abi.E_CALLBACK and isinstance(exc, OSError) and isinstance(exc.errno, int) and exc.errno > 0:
        return exc.errno
    return status


class Handle:
    """Owns an object of the library, and keeps alive what it refers to."""

    __slots__ = ("ptr", "keep", "_free", "__weakref__")
    owned = True

    def __init__(self, ptr, free, keep=None):
        self.ptr = ptr
        self.keep = keep
        self._free = free

    def close(self):
        ptr, self.ptr = self.ptr, None
        if ptr is not None:
            self._free(ptr)
        self.keep = None

    def take(self):
        """Gives the object up to somebody who frees it."""
        ptr, self.ptr = self.ptr, None
        return ptr

    def __del__(self):
        self.close()


class Borrowed:
    """An object of the library that somebody else owns, while a callback runs."""

    __slots__ = ("ptr", "__weakref__")
    owned = False

    def __init__(self, ptr):
        self.ptr = ptr

    def close(self):
        self.ptr = None


def new(function, free, *arguments, keep=None):
    """Calls a constructor and owns what it makes."""
    out = ctypes.c_void_p()
    call(function, ctypes.byref(out), *arguments)
    return Handle(out.value, free, keep)


def text_of(string):
    """The bytes of a profconv_string."""
    return ctypes.string_at(string.data, string.size) if string.size else b""


def decode(data):
    """Bytes as text; what is no UTF-8 survives the way back through `encode`."""
    return data.decode("utf-8", "surrogateescape")


def encode(text):
    if isinstance(text, str):
        return text.encode("utf-8", "surrogateescape")
    return bytes(text)
