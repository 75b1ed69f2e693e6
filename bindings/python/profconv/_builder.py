# SPDX-License-Identifier: MIT
"""Builder: making a profile from Python."""
from __future__ import annotations

import ctypes

from . import _abi as abi
from ._errors import KIND_NUMBERS, InvalidError
from ._lib import Handle, call, encode, lib, new
from ._options import make_limits

KINDS = {name[len("MAPPING_"):].lower(): value for name, value in vars(abi).items()
         if name.startswith("MAPPING_") and not name.startswith("MAPPING_HAS_") and name != "MAPPING_MAIN"}
ROLES = {name[len("ROLE_"):].lower(): value for name, value in vars(abi).items() if name.startswith("ROLE_")}


class Builder:
    """Makes a profile. Equal rows get one id and equal samples add up, so memory grows with what is distinct.

    Text arguments may be str, bytes, or, from `string`, an id. Every method that makes a row returns its id; 0 means
    none. The first failure is kept by the library and raised by `check` and `freeze`. One thread at a time.
    """

    def __init__(self, *, verbatim: bool = False, **limits):
        limits = dict(limits)
        self._limits = make_limits(limits)
        if limits:
            raise InvalidError(f"{', '.join(limits)}: no such budget")
        self._handle = new(lib.builder_new, lib.builder_free, None,
                           ctypes.byref(self._limits) if self._limits else None)
        if verbatim and lib.builder_verbatim(self._handle.ptr) != abi.OK:
            self.check()

    @classmethod
    def _borrow(cls, handle):
        self = cls.__new__(cls)
        self._handle = handle
        self._limits = None
        return self

    @property
    def _ptr(self):
        if self._handle.ptr is None:
            raise ValueError("the builder is closed")
        return self._handle.ptr

    def close(self) -> None:
        self._handle.close()

    def __enter__(self) -> Builder:
        return self

    def __exit__(self, *_exc) -> None:
        self.close()

    def check(self) -> None:
        """Raises the first failure, if there was one."""
        call(lib.builder_status, self._ptr)

    @property
    def memory(self) -> tuple[int, int]:
        """Bytes that are held now, and the most so far."""
        live, peak = ctypes.c_uint64(), ctypes.c_uint64()
        lib.builder_memory(self._ptr, ctypes.byref(live), ctypes.byref(peak))
        return live.value, peak.value

    # ---- code ----

    def string(self, text) -> int:
        """Interns text or bytes."""
        if isinstance(text, int):
            return text
        data = encode(text)
        return lib.builder_string(self._ptr, data, len(data))

    def function(self, name, *, linkage_name=None, file=0, start_line: int = 0) -> int:
        name = self.string(name)
        row = abi.Function(start_line=start_line, name=name, file=self.string(file),
                           linkage_name=name if linkage_name is None else self.string(linkage_name))
        return lib.builder_function(self._ptr, row)

    def mapping(self, file=0, *, start: int = 0, limit: int = 0, file_offset: int = 0, build_id=0,
                kind: str | int = "unknown",
                flags: int = 0, pid: int = 0, reference=0, reference_address: int = 0) -> int:
        if isinstance(kind, str):
            kind = _choose("kind", kind, KINDS)
        return lib.builder_mapping(self._ptr, abi.Mapping(
            start=start, limit=limit, file_offset=file_offset, reference_address=reference_address,
            file=self.string(file),
            build_id=self.string(build_id), reference=self.string(reference), kind=kind, flags=flags, pid=pid))

    def location(self, address: int = 0, mapping: int = 0, lines=(), flags: int = 0) -> int:
        """A place in the code. lines: (function, line, column, discriminator), shorter tuples and bare function ids
        too; the innermost inlined frame first."""
        lines = [(item,) if isinstance(item, int) else tuple(item) for item in lines]
        if not lines:
            return lib.builder_address_location(self._ptr, mapping, address, flags)
        array = (abi.Line * len(lines))()
        for row, item in zip(array, lines):
            function, line, column, discriminator = item + (0,) * (4 - len(item))
            row.function, row.line, row.column, row.discriminator = function, line, column, discriminator
        return lib.builder_location(self._ptr, abi.Location(address=address, mapping=mapping, flags=flags), array,
                                    len(lines))

    def stack(self, parent: int, location: int) -> int:
        """The stack "location called from parent"; parent 0: location is the root."""
        return lib.builder_stack(self._ptr, parent, location)

    def stack_leaf_first(self, locations) -> int:
        array = (ctypes.c_uint32 * len(locations))(*locations)
        return lib.builder_stack_leaf_first(self._ptr, array, len(array))

    # ---- samples ----

    def label(self, key, value, unit=0) -> int:
        """A label with a text (str, bytes) or a number (int)."""
        if isinstance(value, int):
            row = abi.Label(key=self.string(key), number=value, numeric=1, unit=self.string(unit))
        else:
            row = abi.Label(key=self.string(key), string=self.string(value))
        return lib.builder_label(self._ptr, row)

    def label_set(self, labels) -> int:
        """A set of label ids, or of a dict of key: value."""
        if hasattr(labels, "items"):
            labels = [self.label(key, value) for key, value in labels.items()]
        array = (ctypes.c_uint32 * len(labels))(*labels)
        return lib.builder_label_set(self._ptr, array, len(array))

    def sample_type(self, name, unit, *, event=0, period: int = 0, role: str | int = "value") -> int:
        """Appends a column; returns its index, from 0."""
        if isinstance(role, str):
            role = _choose("role", role, ROLES)
        index = lib.builder_sample_type(self._ptr, abi.SampleType(period=period, name=self.string(name),
                                                                  unit=self.string(unit),
                                                                  event=self.string(event), role=role))
        if index == 2**32 - 1:
            self.check()
        return index

    def sample(self, stack: int, values, label_set: int = 0, first_type: int = 0) -> None:
        """Adds values (a number, or one for each column) to the sample of this stack and label set."""
        if isinstance(values, int):
            values = (values,)
        lib.builder_sample(self._ptr, stack, label_set, first_type, (ctypes.c_int64 * len(values))(*values),
                           len(values))

    # ---- branch records and source counts ----

    def branch(self, from_location: int, to_location: int, count: int, mispredicted: int = 0, cycles: int = 0) -> None:
        lib.builder_branch(self._ptr, from_location, to_location, count, mispredicted, cycles)

    def range(self, begin: int, end: int, count: int) -> None:
        lib.builder_range(self._ptr, begin, end, count)

    def address(self, location: int, count: int) -> None:
        lib.builder_address(self._ptr, location, count)

    def entry(self, name, address: int, *, size: int = 0, mapping: int = 0, ordinal: int = 0) -> None:
        """Where a function's code begins. ordinal 0: a global symbol; else the how-manieth local one of its name."""
        lib.builder_entry(self._ptr, abi.Entry(address=address, size=size, mapping=mapping, name=self.string(name),
                                               ordinal=ordinal))

    def context(self, parent: int, name, line: int = 0, discriminator: int = 0) -> int:
        return lib.builder_context(self._ptr, abi.Context(parent=parent, name=self.string(name), line=line,
                                                          discriminator=discriminator))

    def source(self, name, *, parent: int = 0, context: int = 0, line: int = 0, discriminator: int = 0, total: int = 0,
               head: int = 0, checksum: int | None = None, attributes: int | None = None, file=0, timestamp: int = 0,
               flags: int = 0) -> int:
        """A function in a source profile; parent 0: top level, else inlined at (line, discriminator) of the parent."""
        flags |= abi.SOURCE_CHECKSUM if checksum is not None else 0
        flags |= abi.SOURCE_ATTRIBUTES if attributes is not None else 0
        return lib.builder_source(self._ptr, abi.Source(
            total=total, head=head, checksum=checksum or 0, timestamp=timestamp, name=self.string(name), parent=parent,
            context=context, file=self.string(file), line=line, discriminator=discriminator, attributes=attributes or 0,
            flags=flags))

    def source_body(self, source: int, line: int, count: int, discriminator: int = 0) -> int:
        return lib.builder_source_body(self._ptr, source, line, discriminator, count)

    def source_target(self, body: int, name, count: int) -> int:
        return lib.builder_source_target(self._ptr, body, self.string(name), count)

    def symbol(self, name) -> None:
        lib.builder_symbol(self._ptr, self.string(name))

    # ---- the whole ----

    def set_info(self, **members) -> None:
        """time_ns, duration_ns, period, period_type, period_unit, default_sample_type, drop_frames, keep_frames,
        doc_url, source_flags; what is not given stays."""
        row = abi.Info()
        lib.builder_get_info(self._ptr, ctypes.byref(row))
        kinds = dict(abi.Info._fields_)
        for name, value in members.items():
            if name not in kinds or name == "facets":
                raise InvalidError(f"{name}: there is no such fact")
            setattr(row, name, self.string(value) if isinstance(value, (str, bytes)) else value)
        lib.builder_set_info(self._ptr, ctypes.byref(row))

    def comment(self, text) -> None:
        lib.builder_comment(self._ptr, self.string(text))

    def attribute(self, key: str, value) -> None:
        data = encode(value)
        lib.builder_attribute(self._ptr, encode(key), data, len(data))

    def note(self, kind: str, cause: str, message: str, *, count: int = 1, weight: int = 0, offset: int | None = None,
             line: int | None = None) -> None:
        """Adds to the report: kind "info", "warning", "dropped" or "lost"."""
        add_note(lib.builder_report(self._ptr), kind, cause, message, count, weight, offset, line)

    def merge(self, profile, weight: int = 1) -> None:
        """Adds everything in a profile, `weight` times."""
        call(lib.merge, self._ptr, profile._ptr, weight)

    def freeze(self):
        """The profile; the builder is used up."""
        from ._profile import Profile

        out = ctypes.c_void_p()
        call(lib.builder_freeze, self._ptr, ctypes.byref(out))
        profile = Profile(Handle(out.value, lib.profile_free))
        self.close()
        return profile


def _choose(name, value, choices):
    try:
        return choices[value]
    except KeyError:
        raise InvalidError(f"{name}: {value!r} is not one of {', '.join(choices)}") from None


def add_note(report, kind, cause, message, count=1, weight=0, offset=None, line=None):
    """A row of a report, by its address."""
    number = _choose("kind", kind, KIND_NUMBERS)
    # The function takes a format and more arguments, which ctypes passes by their Python types.
    lib.report_add(report, number, encode(cause), count, weight, abi.NO_OFFSET if offset is None else offset, line or 0,
                   b"%s",
                   ctypes.c_char_p(encode(message)))
