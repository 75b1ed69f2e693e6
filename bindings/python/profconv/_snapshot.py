# SPDX-License-Identifier: MIT
"""A profile as plain Python bytes and back, every row and every id the same: for pickling, and for merging across
processes.

A snapshot is for the same version of this package on machines of the same byte order; it is no file format. Its rows
are the library's own structs. Restoring feeds them to a builder in the order of their ids, which so come out the same.
A snapshot is not checked for malice beyond what the builder checks; like every pickle, take it from those you trust.
"""
from __future__ import annotations

import ctypes
import sys
from array import array

from . import _abi as abi
from ._builder import Builder, add_note
from ._errors import InvalidError, notes_of
from ._lib import VERSION, lib, text_of
from ._tables import TABLES, raw_column

_MARK = ("profconv", VERSION, sys.byteorder)


def save(profile) -> dict:
    handle = profile._handle_or_raise()
    ptr = handle.ptr
    state = {"mark": _MARK, "verbatim": profile.verbatim}
    string = lib.profile_string
    strings = [text_of(string(ptr, i)) for i in range(1, lib.profile_rows(ptr, abi.TABLE_STRING))]
    state["string_sizes"] = array("I", map(len, strings)).tobytes()
    state["strings"] = b"".join(strings)
    for name, (table, struct, _first, _strings) in TABLES.items():
        column = raw_column(handle, table, struct._fields_[0][0])
        size = ctypes.sizeof(struct)
        if column.stride != size:
            raise InvalidError(f"rows of {name} have {column.stride} bytes, {size} expected")
        state[name] = ctypes.string_at(column.data, column.count * size) if column.count else b""
    state["label_items"] = _bytes(handle, abi.TABLE_LABEL_SET, "items")
    state["sample_stacks"] = _bytes(handle, abi.TABLE_SAMPLE, "stack")
    state["sample_label_sets"] = _bytes(handle, abi.TABLE_SAMPLE, "label_set")
    types = lib.profile_rows(ptr, abi.TABLE_SAMPLE_TYPE)
    state["values"] = [_bytes(handle, abi.TABLE_SAMPLE, "value", i) for i in range(types)]
    state["symbols"] = _bytes(handle, abi.TABLE_SYMBOL, "name")
    state["comments"] = _bytes(handle, abi.TABLE_COMMENT, "text")
    state["attributes"] = [(k.encode("utf-8", "surrogateescape"), v.encode("utf-8", "surrogateescape"))
                           for k, v in profile.attributes.items()]
    state["info"] = ctypes.string_at(lib.profile_info(ptr), ctypes.sizeof(abi.Info))
    state["notes"] = [tuple(note) for note in notes_of(lib, lib.profile_report(ptr))]
    return state


def _bytes(handle, table, name, index=0):
    """A column without gaps between its elements."""
    column = raw_column(handle, table, name, index)
    size = 4 if column.type == abi.COLUMN_U32 else 8
    if column.count and column.stride != size:
        raise InvalidError(f"elements of {name} are {column.stride} bytes apart, {size} expected")
    return ctypes.string_at(column.data, column.count * size) if column.count else b""


class _Rows:
    """Rows of one table in a block of bytes, reached by address."""

    def __init__(self, data, struct):
        self.block = ctypes.create_string_buffer(data, max(len(data), 1))
        self.base = ctypes.addressof(self.block)
        self.size = ctypes.sizeof(struct)
        self.count = len(data) // self.size

    def addresses(self, first):
        """A generator, so that who iterates holds the block."""
        yield from range(self.base + first * self.size, self.base + self.count * self.size, self.size)


def restore(state: dict, **limits):
    """The profile."""
    with restore_builder(state, **limits) as builder:
        return builder.freeze()


def restore_builder(state: dict, **limits) -> Builder:
    """A builder that holds the profile, to go on from."""
    if tuple(state["mark"]) != _MARK:
        raise InvalidError(f"a snapshot of {state['mark']}, but this is {_MARK}")
    builder = Builder(verbatim=state["verbatim"], **limits)
    try:
        for part in (_strings, _code, _samples, _sources, _rest):
            part(builder, state)
    except BaseException:
        builder.close()
        raise
    return builder


def _strings(builder, state):
    ptr, add, data, at = builder._ptr, lib.builder_string, state["strings"], 0
    for size in memoryview(state["string_sizes"]).cast("I"):
        add(ptr, data[at:at + size], size)
        at += size
    builder.check()


def _each(builder, state, table, first, function):
    """Calls profconv_builder_<function>(builder, row) for each row."""
    rows = _Rows(state[table], TABLES[table][1])
    add, ptr = lib.by_address("builder_" + function), builder._ptr
    for address in rows.addresses(first):
        add(ptr, address)
    builder.check()


def _code(builder, state):
    _each(builder, state, "functions", 1, "function")
    _each(builder, state, "mappings", 1, "mapping")
    ptr = builder._ptr
    locations, lines = _Rows(state["locations"], abi.Location), _Rows(state["lines"], abi.Line)
    add, plain = lib.by_address("builder_location"), lib.builder_address_location
    for address in locations.addresses(1):
        row = abi.Location.from_address(address)
        if row.line_count:
            add(ptr, address, lines.base + row.first_line * lines.size, row.line_count)
        else:
            plain(ptr, row.mapping, row.address, row.flags)
    add = lib.builder_stack
    stacks = memoryview(state["stacks"]).cast("I")
    for parent, location in zip(stacks[2::2], stacks[3::2]):
        add(ptr, parent, location)
    builder.check()


def _samples(builder, state):
    _each(builder, state, "label_table", 1, "label")
    ptr = builder._ptr
    items = ctypes.create_string_buffer(state["label_items"], max(len(state["label_items"]), 1))
    base, add = ctypes.addressof(items), lib.by_address("builder_label_set")
    sets = memoryview(state["label_sets"]).cast("I")
    for first, count in zip(sets[2::2], sets[3::2]):
        add(ptr, base + 4 * first, count)
    _each(builder, state, "sample_types", 0, "sample_type")
    types = len(state["values"])
    stacks, label_sets = memoryview(state["sample_stacks"]).cast("I"), memoryview(state["sample_label_sets"]).cast("I")
    rows = array("q", bytes(8 * types * len(stacks)))
    for i, values in enumerate(state["values"]):
        rows[i::types] = array("q", values)
    address, step, add = rows.buffer_info()[0], 8 * types, lib.by_address("builder_sample")
    for stack, label_set in zip(stacks, label_sets):
        add(ptr, stack, label_set, 0, address, types)
        address += step
    builder.check()


def _sources(builder, state):
    ptr = builder._ptr
    for table, struct, add in (("branches", abi.Branch, builder.branch), ("ranges", abi.Range, builder.range),
                               ("addresses", abi.Address, builder.address)):
        for address in _Rows(state[table], struct).addresses(0):
            row = struct.from_address(address)
            if struct is abi.Branch:
                add(getattr(row, "from"), row.to, row.count, row.mispredicted, row.cycles)
            elif struct is abi.Range:
                add(row.begin, row.end, row.count)
            else:
                add(row.location, row.count)
    _each(builder, state, "entries", 0, "entry")
    _each(builder, state, "contexts", 1, "context")
    _each(builder, state, "sources", 1, "source")
    for address in _Rows(state["source_bodies"], abi.SourceBody).addresses(1):
        row = abi.SourceBody.from_address(address)
        lib.builder_source_body(ptr, row.source, row.line, row.discriminator, row.count)
    for address in _Rows(state["source_targets"], abi.SourceTarget).addresses(1):
        row = abi.SourceTarget.from_address(address)
        lib.builder_source_target(ptr, row.body, row.name, row.count)
    for name in memoryview(state["symbols"]).cast("I"):
        lib.builder_symbol(ptr, name)
    builder.check()


def _rest(builder, state):
    ptr = builder._ptr
    for text in memoryview(state["comments"]).cast("I"):
        lib.builder_comment(ptr, text)
    for key, value in state["attributes"]:
        lib.builder_attribute(ptr, key, value, len(value))
    lib.builder_set_info(ptr, ctypes.byref(abi.Info.from_buffer_copy(state["info"])))
    report = lib.builder_report(ptr)
    for note in state["notes"]:
        add_note(report, *note)
