# SPDX-License-Identifier: MIT
"""Inputs and outputs: paths, bytes and file objects given to the library, and the library's inputs and outputs given to
formats written in Python, as file objects."""
from __future__ import annotations

import ctypes
import io
import os

from . import _abi as abi
from ._lib import call, io_failed, lib, new

_IN = dict(abi.InputCallbacks._fields_)
_OUT = dict(abi.OutputCallbacks._fields_)


def _io_options(limits):
    options = abi.IoOptions(struct_size=ctypes.sizeof(abi.IoOptions))
    if limits is not None:
        options.limits = ctypes.pointer(limits)
    return options


def open_input(source, limits=None):
    """A handle of a profconv_input over a path, bytes or a binary file object, which is read from where it stands."""
    options = _io_options(limits)
    if isinstance(source, (str, os.PathLike)):
        return new(lib.input_open_path, lib.input_free, os.fsencode(source), ctypes.byref(options))
    if isinstance(source, (bytes, bytearray, memoryview)) or not hasattr(source, "read"):
        return _open_bytes(source, options)
    return _open_file(source, options)


def _open_bytes(source, options):
    if not isinstance(source, bytes):
        try:
            view = memoryview(source).cast("B")
        except TypeError:
            raise TypeError(f"a path, bytes or a binary file is needed, not {type(source).__name__}") from None
        if view.readonly:
            source = bytes(view)  # ctypes borrows from writable memory only
        else:
            held = (ctypes.c_char * len(view)).from_buffer(view)
            return new(lib.input_open_memory, lib.input_free, ctypes.addressof(held) if len(view) else b"", len(view),
                       ctypes.byref(options), keep=(held, view))
    return new(lib.input_open_memory, lib.input_free, source, len(source), ctypes.byref(options), keep=source)


def _open_file(file, options):
    if isinstance(file, io.TextIOBase):
        raise TypeError("the file must be opened in binary mode")

    def fill(buffer, size, got):
        data = file.read(size)
        if data is None:
            raise BlockingIOError("the file has nothing to read yet, and would have to block")
        if len(data) > size:
            raise ValueError(f"read({size}) gave {len(data)} bytes")
        ctypes.memmove(buffer, bytes(data), len(data))
        got[0] = len(data)
        return 0

    def read(_user, buffer, size, got):
        try:
            return fill(buffer, size, got)
        except BaseException as exc:  # must not cross C
            return io_failed(exc)

    def read_at(_user, offset, buffer, size, got):
        try:
            file.seek(base + offset)
            return fill(buffer, size, got)
        except BaseException as exc:
            return io_failed(exc)

    callbacks = abi.InputCallbacks(struct_size=ctypes.sizeof(abi.InputCallbacks), read=_IN["read"](read))
    seekable = getattr(file, "seekable", None)
    if seekable is not None and seekable():
        base = file.tell()
        end = file.seek(0, os.SEEK_END)
        file.seek(base)
        callbacks.read_at = _IN["read_at"](read_at)
        callbacks.size = _IN["size"](lambda _user: max(end - base, 0))
    name = getattr(file, "name", None)
    name = os.fsencode(name) if isinstance(name, (str, bytes, os.PathLike)) else b"<file>"
    return new(lib.input_open_callbacks, lib.input_free, ctypes.byref(callbacks), name, ctypes.byref(options),
               keep=(callbacks, file))


def open_output(target, limits=None):
    """A handle of a profconv_output to a path, a binary file object, or, for None, to memory."""
    options = _io_options(limits)
    if target is None:
        return new(lib.output_open_memory, lib.output_free, ctypes.byref(options))
    if isinstance(target, (str, os.PathLike)):
        return new(lib.output_open_path, lib.output_free, os.fsencode(target), ctypes.byref(options))
    if isinstance(target, io.TextIOBase):
        raise TypeError("the file must be opened in binary mode")
    if not hasattr(target, "write"):
        raise TypeError(f"a path or a binary file is needed, not {type(target).__name__}")

    def write(_user, data, size):
        try:
            left = memoryview(ctypes.string_at(data, size))
            while left:
                count = target.write(left)
                left = left[len(left) if count is None else count:]
            return 0
        except BaseException as exc:  # must not cross C
            return io_failed(exc)

    callbacks = abi.OutputCallbacks(struct_size=ctypes.sizeof(abi.OutputCallbacks), write=_OUT["write"](write))
    name = getattr(target, "name", None)
    name = os.fsencode(name) if isinstance(name, (str, bytes, os.PathLike)) else b"<file>"
    return new(lib.output_open_callbacks, lib.output_free, ctypes.byref(callbacks), name, ctypes.byref(options),
               keep=(callbacks, target))


def output_bytes(output):
    """What a memory output holds after its close."""
    data = ctypes.c_void_p()
    size = ctypes.c_size_t()
    lib.output_bytes(output.ptr, ctypes.byref(data), ctypes.byref(size))
    return ctypes.string_at(data, size.value) if size.value else b""


# ---- what formats written in Python see ----


class InputFile(io.RawIOBase):
    """The input of a reader, as a file: forward, and with seek where the source has it. Wrapped in
    io.BufferedReader."""

    def __init__(self, borrowed):
        self._input = borrowed

    @property
    def name(self) -> str:
        return os.fsdecode(lib.input_name(self._pointer()))

    def _pointer(self):
        if self._input.ptr is None:
            raise ValueError("the input is gone: it lives as long as the call of the reader")
        return self._input.ptr

    def readable(self):
        return True

    def seekable(self):
        return bool(lib.input_can_seek(self._pointer()))

    def tell(self):
        return lib.input_offset(self._pointer())

    def seek(self, offset, whence=os.SEEK_SET):
        if whence == os.SEEK_CUR:
            offset += self.tell()
        elif whence == os.SEEK_END:
            size = lib.input_size(self._pointer())
            if size == abi.NO_OFFSET:
                raise io.UnsupportedOperation("the size is not known")
            offset += size
        call(lib.input_seek, self._pointer(), max(offset, 0))
        return self.tell()

    def readinto(self, buffer):
        pointer = self._pointer()
        view = memoryview(buffer).cast("B")
        if not view:
            return 0
        data = ctypes.c_void_p()
        got = ctypes.c_size_t()
        call(lib.input_window, pointer, 0, ctypes.byref(data), ctypes.byref(got))
        count = min(got.value, len(view))
        if count:
            view[:count] = ctypes.string_at(data.value, count)
            lib.input_consume(pointer, count)
        return count


class OutputFile(io.RawIOBase):
    """The output of a writer, as a file."""

    def __init__(self, borrowed):
        self._output = borrowed

    def _pointer(self):
        if self._output.ptr is None:
            raise ValueError("the output is gone: it lives as long as the call of the writer")
        return self._output.ptr

    def writable(self):
        return True

    def tell(self):
        return lib.output_offset(self._pointer())

    def gzip(self, level: int = 0) -> None:
        """From here on, bytes are compressed (1 to 9; 0: default). To be called before the first write."""
        call(lib.output_gzip, self._pointer(), level)

    def write(self, data):
        if isinstance(data, str):
            raise TypeError("bytes are needed, not str")
        data = bytes(data)
        call(lib.output_write, self._pointer(), data, len(data))
        return len(data)
