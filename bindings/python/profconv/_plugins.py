# SPDX-License-Identifier: MIT
"""Readers and writers written in Python, as the library sees them."""
from __future__ import annotations

import ctypes
import io
import re

from . import _abi as abi
from ._builder import Builder, add_note
from ._errors import InvalidError
from ._lib import Borrowed, encode, failed, lib
from ._profile import Profile
from ._records import Setting
from ._registry import SETTING_TYPES, default_registry, facet_bits
from ._streams import InputFile, OutputFile

_READER = dict(abi.Reader._fields_)
_WRITER = dict(abi.Writer._fields_)


def _texts(values):
    return (ctypes.c_char_p * (len(values) + 1))(*(encode(v) for v in values), None) if values else None


def _declare(settings):
    rows = (abi.Setting * (len(settings) + 1))()
    for row, setting in zip(rows, settings):
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", setting.name):
            raise InvalidError(f"setting {setting.name!r}: lower-case letters, digits and '-' are needed")
        if setting.type not in SETTING_TYPES:
            raise InvalidError(f"setting {setting.name}: type {setting.type!r} is not one of "
                               f"{', '.join(SETTING_TYPES)}")
        default = setting.default
        if isinstance(default, bool):
            default = "yes" if default else "no"
        row.name, row.type = encode(setting.name), SETTING_TYPES[setting.type]
        row.default_value = None if default is None else encode(str(default))
        row.choices = encode("|".join(setting.choices)) if setting.choices else None
        row.help = encode(setting.help)
    return rows


class _Plugin:
    """What both kinds share. The object holds everything that the registered struct points to."""

    def __init__(self, struct, name, aliases, suffixes, description, settings):
        self.name = name
        self.settings = tuple(Setting(*s) if isinstance(s, tuple) else Setting(s) for s in settings)
        self.scope = encode(name)
        self._aliases, self._suffixes, self._rows = _texts(aliases), _texts(suffixes), _declare(self.settings)
        self.struct = struct
        struct.struct_size = ctypes.sizeof(struct)
        struct.name = self.scope
        struct.description = encode(description)
        struct.settings = ctypes.cast(self._rows, ctypes.POINTER(abi.Setting))
        if self._aliases:
            struct.aliases = ctypes.cast(self._aliases, ctypes.POINTER(ctypes.c_char_p))
        if self._suffixes:
            struct.suffixes = ctypes.cast(self._suffixes, ctypes.POINTER(ctypes.c_char_p))

    def values(self, options):
        """The settings of this call, with defaults, by name with '_' for '-'."""
        result = {}
        for setting in self.settings:
            key = encode(setting.name)
            if setting.type == "list":
                value = []
                while True:
                    item = lib.options_item(options, self.scope, key, len(value))
                    if item is None:
                        break
                    value.append(item.decode("utf-8", "surrogateescape"))
            elif setting.type == "bool":
                value = bool(lib.options_bool(options, self.scope, self._rows, key))
            elif setting.type == "int":
                value = lib.options_int(options, self.scope, self._rows, key)
            elif setting.type == "float":
                value = lib.options_float(options, self.scope, self._rows, key)
            else:
                value = lib.options_string(options, self.scope, self._rows, key)
                value = None if value is None else value.decode("utf-8", "surrogateescape")
            result[setting.name.replace("-", "_")] = value
        return result


class ReaderPlugin(_Plugin):
    def __init__(self, name, read, *, probe, aliases, suffixes, description, settings, produces):
        super().__init__(abi.Reader(), name, aliases, suffixes, description, settings)
        self.add = lib.registry_add_reader
        self._read, self._probe = read, probe
        self.struct.produces = facet_bits(produces)
        self.struct.read = _READER["read"](self._on_read)
        if probe is not None:
            self.struct.probe = _READER["probe"](self._on_probe)

    def _on_probe(self, _user, head, size, whole):
        try:
            return max(0, min(100, int(self._probe(ctypes.string_at(head, size) if size else b"", bool(whole)))))
        except Exception as exc:  # a probe has no way to fail: it does not know the input, and Python says so
            import sys

            sys.unraisablehook(_Unraisable(exc, f"probe of format {self.name}", self._probe))
            return 0
        except BaseException as exc:
            failed(exc)
            return 0

    def _on_read(self, _user, source, builder, options, error):
        lent = [Borrowed(source), Borrowed(builder)]
        try:
            file = io.BufferedReader(InputFile(lent[0]), 1 << 16)
            self._read(file, Builder._borrow(lent[1]), **self.values(options))
            return abi.OK
        except BaseException as exc:  # must not cross C
            return failed(exc, error)
        finally:
            for item in lent:
                item.close()


class _Unraisable:
    def __init__(self, exc, message, target):
        self.exc_type, self.exc_value, self.exc_traceback = type(exc), exc, exc.__traceback__
        self.err_msg, self.object = f"Exception ignored in {message}", target


class Report:
    """Where a writer notes what it cannot write."""

    def __init__(self, ptr):
        self._ptr = ptr

    def note(self, kind: str, cause: str, message: str, *, count: int = 1, weight: int = 0) -> None:
        """kind: "info", "warning", "dropped" or "lost"."""
        if self._ptr:
            add_note(self._ptr, kind, cause, message, count, weight)


class WriterPlugin(_Plugin):
    def __init__(self, name, write, *, aliases, suffixes, description, settings, needs, keeps, improves, binary,
                 labels):
        super().__init__(abi.Writer(), name, aliases, suffixes, description, settings)
        self.add = lib.registry_add_writer
        self._write = write
        self.struct.needs, self.struct.keeps = facet_bits(needs), facet_bits(keeps)
        self.struct.improves, self.struct.binary = facet_bits(improves), bool(binary)
        if labels is not None:
            self.struct.labels = encode(",".join(labels))
        self.struct.write = _WRITER["write"](self._on_write)

    def _on_write(self, _user, profile, output, options, report, error):
        lent = [Borrowed(profile), Borrowed(output)]
        try:
            file = OutputFile(lent[1])
            self._write(Profile(lent[0]), file, Report(report), **self.values(options))
            return abi.OK
        except BaseException as exc:  # must not cross C
            return failed(exc, error)
        finally:
            for item in lent:
                item.close()


def register_reader(name: str, read, *, probe=None, aliases=(), suffixes=(), description: str = "", settings=(),
                    produces=("symbols", "stacks"), registry=None) -> None:
    """Adds a format's reader.

    read      read(file, builder, **settings): `file` is a binary file (io.BufferedReader), `builder` a Builder. What it
              raises becomes the error of the call, with the exception as its cause; raise FormatError(message,
              offset=…) or line=… to say where. Both objects are gone after the call.
    probe     probe(head, whole) -> 0 (no) to 100 (a magic number); without it the format is never detected, only named
    settings  of Setting, tuples of its members, or names; handed to `read` as keywords, '-' being '_'
    produces  facets that it can fill
    """
    (registry or default_registry()).add(ReaderPlugin(name, read, probe=probe, aliases=tuple(aliases),
                                                      suffixes=tuple(suffixes),
                                                      description=description, settings=settings, produces=produces))


def register_writer(name: str, write, *, aliases=(), suffixes=(), description: str = "", settings=(), needs=(),
                    keeps=(),
                    improves=(), binary: bool = False, labels=None, registry=None) -> None:
    """Adds a format's writer.

    write   write(profile, file, report, **settings): the Profile is lent (columns are copies), `file` takes bytes and
            has gzip(level), report.note(kind, cause, message) says what could not be written
    needs, keeps, improves   facets that it cannot do without, can hold, and wants
    labels  keys that it holds by default; None: all
    """
    (registry or default_registry()).add(WriterPlugin(
        name, write, aliases=tuple(aliases), suffixes=tuple(suffixes), description=description, settings=settings,
        needs=needs,
        keeps=keeps, improves=improves, binary=binary, labels=labels))


def unregister(name: str, *, registry=None) -> None:
    """Takes a format that Python registered out again."""
    (registry or default_registry()).remove(name)
