# SPDX-License-Identifier: MIT
"""The formats that are known: the built-in ones, and those that Python registered."""
from __future__ import annotations

import ctypes
import os
from _thread import allocate_lock

from . import _abi as abi
from ._errors import InvalidError
from ._lib import call, encode, lib, new

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._records import Format

FACETS = {name[len("FACET_"):].lower(): value for name, value in vars(abi).items()
          if name.startswith("FACET_") and name != "FACET_ALL"}
FACETS = {name.replace("_", "-"): value for name, value in FACETS.items()}
SETTING_TYPES = {"bool": abi.SETTING_BOOL, "int": abi.SETTING_INT, "float": abi.SETTING_FLOAT,
                 "string": abi.SETTING_STRING,
                 "enum": abi.SETTING_ENUM, "list": abi.SETTING_LIST}
_TYPE_NAMES = {number: name for name, number in SETTING_TYPES.items()}


def facet_names(bits) -> tuple:
    return tuple(name for name, bit in FACETS.items() if bits & bit)


def facet_bits(names) -> int:
    if isinstance(names, int):
        return names
    if isinstance(names, str):
        names = (names,)
    bits = 0
    for name in names:
        try:
            bits |= FACETS[name.replace("_", "-")]
        except KeyError:
            raise InvalidError(f"there is no facet {name!r}; there are {', '.join(FACETS)}") from None
    return bits


def _texts(array):
    result = []
    while array and array[len(result)] is not None:
        result.append(array[len(result)].decode())
    return tuple(result)


def _text(value):
    return None if value is None else value.decode("utf-8", "replace")


def settings_of(rows):
    from ._records import Setting

    result = []
    while rows and rows[len(result)].name is not None:
        row = rows[len(result)]
        result.append(Setting(row.name.decode(), _TYPE_NAMES.get(row.type, "string"), _text(row.default_value),
                              tuple(row.choices.decode().split("|")) if row.choices else (), _text(row.help) or ""))
    return tuple(result)


def format_of(row):
    from ._records import Format

    return Format(row.name.decode(), _text(row.description) or "", _texts(row.aliases), _texts(row.suffixes),
                  bool(row.can_read),
                  bool(row.can_write), facet_names(row.produces), facet_names(row.needs), facet_names(row.keeps),
                  facet_names(row.improves), bool(row.binary),
                  None if row.labels is None else tuple(k for k in row.labels.decode().split(",") if k),
                  settings_of(row.reader_settings), settings_of(row.writer_settings))


class Registry:
    """The built-in formats and those that are added. Adding makes a new table beside the one in use, so that other
    threads can go on reading and writing meanwhile."""

    def __init__(self):
        self._lock = allocate_lock()
        self._added = ()
        self._handle = self._make(())

    @staticmethod
    def _make(added):
        handle = new(lib.registry_new, lib.registry_free, None, keep=added)
        for plugin in added:
            call(plugin.add, handle.ptr, ctypes.byref(plugin.struct))
        return handle

    def add(self, plugin):
        with self._lock:
            added = self._added + (plugin,)
            self._handle = self._make(added)
            self._added = added

    def remove(self, name: str) -> None:
        """Takes the Python reader and writer of this name out again."""
        with self._lock:
            added = tuple(p for p in self._added if p.name != name)
            if len(added) == len(self._added):
                raise InvalidError(f"no format {name!r} was registered from Python")
            self._handle = self._make(added)
            self._added = added

    @property
    def handle(self):
        return self._handle

    def formats(self) -> tuple:
        handle = self._handle
        row = abi.FormatInfo()
        result = []
        for index in range(lib.registry_format_count(handle.ptr)):
            lib.registry_format(handle.ptr, index, ctypes.byref(row))
            result.append(format_of(row))
        return tuple(result)

    def find(self, name: str) -> Format | None:
        """The format of this name or alias."""
        handle = self._handle
        row = abi.FormatInfo()
        if lib.registry_find(handle.ptr, encode(name), ctypes.byref(row)) != abi.OK:
            return None
        return format_of(row)

    def find_suffix(self, path) -> Format | None:
        """The format that is written to a file of this name."""
        handle = self._handle
        row = abi.FormatInfo()
        if lib.registry_find_suffix(handle.ptr, os.fsencode(path), ctypes.byref(row)) != abi.OK:
            return None
        return format_of(row)

    def detect(self, source) -> Format:
        """The format of a path, bytes or a file, by its content."""
        from ._streams import open_input

        handle = self._handle
        row = abi.FormatInfo()
        source = open_input(source)
        try:
            call(lib.detect, handle.ptr, source.ptr, ctypes.byref(row))
            return format_of(row)
        finally:
            source.close()


_default = None
_default_lock = allocate_lock()


def default_registry() -> Registry:
    """The registry that calls use when none is given."""
    global _default
    if _default is None:
        with _default_lock:
            if _default is None:
                _default = Registry()
    return _default


def passes() -> dict:
    """The passes and other scopes of settings ("convert", "filter"), with their settings."""
    result: dict = {}
    rows = ctypes.POINTER(abi.Setting)()
    while True:
        name = lib.pass_name(len(result), ctypes.byref(rows))
        if name is None:
            return result
        result[name.decode()] = settings_of(rows)
