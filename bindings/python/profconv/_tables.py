# SPDX-License-Identifier: MIT
"""The tables of a profile: columns as memoryviews on the library's own memory, rows as named tuples."""
from __future__ import annotations

import ctypes

from . import _abi as abi
from ._lib import lib

_FORMATS = {abi.COLUMN_U32: ("I", 4), abi.COLUMN_I64: ("q", 8), abi.COLUMN_U64: ("Q", 8)}

# attribute: (table, row struct, first real row, members that are string ids)
TABLES = {
    "functions": (abi.TABLE_FUNCTION, abi.Function, 1, ("name", "linkage_name", "file")),
    "mappings": (abi.TABLE_MAPPING, abi.Mapping, 1, ("file", "build_id", "reference")),
    "locations": (abi.TABLE_LOCATION, abi.Location, 1, ()),
    "lines": (abi.TABLE_LINE, abi.Line, 1, ()),
    "stacks": (abi.TABLE_STACK, abi.Stack, 1, ()),
    "label_table": (abi.TABLE_LABEL, abi.Label, 1, ("key", "string", "unit")),
    "label_sets": (abi.TABLE_LABEL_SET, abi.LabelSet, 1, ()),
    "sample_types": (abi.TABLE_SAMPLE_TYPE, abi.SampleType, 0, ("name", "unit", "event")),
    "branches": (abi.TABLE_BRANCH, abi.Branch, 0, ()),
    "ranges": (abi.TABLE_RANGE, abi.Range, 0, ()),
    "addresses": (abi.TABLE_ADDRESS, abi.Address, 0, ()),
    "entries": (abi.TABLE_ENTRY, abi.Entry, 0, ("name",)),
    "sources": (abi.TABLE_SOURCE, abi.Source, 1, ("name", "file")),
    "contexts": (abi.TABLE_CONTEXT, abi.Context, 1, ("name",)),
    "source_bodies": (abi.TABLE_SOURCE_BODY, abi.SourceBody, 1, ()),
    "source_targets": (abi.TABLE_SOURCE_TARGET, abi.SourceTarget, 1, ("name",)),
}
# Python's keyword `from` cannot be an attribute of a named tuple.
_RENAMED = {"from": "from_location", "to": "to_location"}


_rows: dict = {}  # attribute: (columns, named tuple), made when first used


def _row_type(attribute):
    if attribute not in _rows:
        from collections import namedtuple

        struct = TABLES[attribute][1]
        members = tuple(name for name, *_ in struct._fields_ if name != "reserved")
        _rows[attribute] = members, namedtuple(struct.__name__, ["id"] + [_RENAMED.get(name, name) for name in members])
    return _rows[attribute]




def raw_column(handle, table, name, index=0):
    """The profconv_column, or KeyError."""
    column = abi.Column()
    if lib.profile_column(handle.ptr, table, name.encode(), index, ctypes.byref(column)) != abi.OK:
        raise KeyError(name)
    return column


def column_view(handle, table, name, index=0) -> memoryview:
    """A read-only memoryview of a column, without a copy; it keeps the profile alive. (Of a profile that is only lent,
    to a writer in Python, it is a copy.)"""
    column = raw_column(handle, table, name, index)
    code, size = _FORMATS[column.type]
    if column.count == 0:
        return memoryview(b"").cast(code)
    length = (column.count - 1) * column.stride + size
    if handle.owned:
        block = (ctypes.c_char * length).from_address(column.data)
        block.owner = handle  # the view holds the block, and the block the profile
        view = memoryview(block)
    else:
        view = memoryview(ctypes.string_at(column.data, length))
    view = view.cast("B").cast(code)
    return (view if column.stride == size else view[::column.stride // size]).toreadonly()


class Table:
    """A table of a profile.

    table["name"] is a column: a memoryview with one element for each row id, the none row 0 included where the table
    has one, so that ids are indexes. table[id] is a row, with its strings looked up; iterating gives all rows but the
    none row, and len() counts those. `ids` is their range.
    """

    def __init__(self, profile, attribute):
        self._profile = profile
        self._table, self._struct, self._first, self._strings = TABLES[attribute]
        self.columns, self._row = _row_type(attribute)
        self.name = attribute
        handle = profile._handle_or_raise()
        self._handle = handle
        self._rows = lib.profile_rows(handle.ptr, self._table)

    @property
    def ids(self) -> range:
        return range(min(self._first, self._rows), self._rows)

    def __len__(self):
        return len(self.ids)

    def __iter__(self):
        return map(self._get, self.ids)

    def __repr__(self):
        return f"<profconv table {self.name}: {len(self)} rows of {', '.join(self.columns)}>"

    def __getitem__(self, key):
        if isinstance(key, str):
            return column_view(self._handle, self._table, key)
        if not 0 <= key < self._rows:
            raise IndexError(f"{self.name}: there is no row {key}")
        return self._get(key)

    def _get(self, index):
        base = raw_column(self._handle, self._table, self.columns[0])
        row = self._struct.from_address(base.data + index * base.stride)
        string = self._profile.string
        values = [getattr(row, name) for name in self.columns]
        for i, name in enumerate(self.columns):
            if name in self._strings:
                values[i] = string(values[i])
        return self._row(index, *values)

    def to_pandas(self):
        """A pandas.DataFrame of the rows, indexed by id, strings looked up."""
        import pandas  # type: ignore[import]

        frame = pandas.DataFrame(list(self), columns=self._row._fields)
        return frame.set_index("id")


class SampleTable:
    """The samples: columns "stack", "label_set" and, by name or index of the sample type, `values(type)`."""

    columns = ("stack", "label_set")
    name = "samples"

    def __init__(self, profile):
        self._profile = profile
        self._handle = profile._handle_or_raise()
        self._rows = lib.profile_rows(self._handle.ptr, abi.TABLE_SAMPLE)
        self._types = lib.profile_rows(self._handle.ptr, abi.TABLE_SAMPLE_TYPE)

    @property
    def ids(self) -> range:
        return range(self._rows)

    def __len__(self):
        return self._rows

    def __repr__(self):
        return f"<profconv table samples: {self._rows} rows, {self._types} values each>"

    def __getitem__(self, key):
        if isinstance(key, str):
            return column_view(self._handle, abi.TABLE_SAMPLE, key)
        if not 0 <= key < self._rows:
            raise IndexError(f"samples: there is no row {key}")
        from ._records import Sample

        ptr = self._handle.ptr
        return Sample(key, lib.profile_sample_stack(ptr, key), lib.profile_sample_label_set(ptr, key),
                      tuple(lib.profile_sample_value(ptr, key, i) for i in range(self._types)))

    def __iter__(self):
        from ._records import Sample

        columns = [self.values(i) for i in range(self._types)]
        values = zip(*columns) if columns else iter([()] * self._rows)
        return map(Sample, range(self._rows), self["stack"], self["label_set"], values)

    def values(self, sample_type=None) -> memoryview:
        """The column of a sample type, by name, event or index; None: the default one."""
        index = self._profile.sample_type_index(sample_type)
        return column_view(self._handle, abi.TABLE_SAMPLE, "value", index)
