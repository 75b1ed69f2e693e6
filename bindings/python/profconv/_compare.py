# SPDX-License-Identifier: MIT
"""Tables of functions, comparisons, and parts."""
from __future__ import annotations

import ctypes
from collections import namedtuple

from . import _abi as abi
from ._errors import InvalidError, notes_of
from ._lib import Handle, call, decode, encode, failed, lib, new, text_of
from ._profile import Profile

BY = {name[len("BY_"):].lower(): value for name, value in vars(abi).items() if name.startswith("BY_")}
MODES = {"raw": abi.DIFF_RAW, "per-second": abi.DIFF_PER_SECOND, "per-work": abi.DIFF_PER_WORK}
_MODE_NAMES = {number: name for name, number in MODES.items()}

TopRow = namedtuple("TopRow", "name file mapping line self total")
Top = namedtuple("Top", "rows total name unit")
Top.__doc__ = "The rows, the sum of the column, and its name and unit."
_DIFF_MEMBERS = [name for name, *_ in abi.DiffRow._fields_ if name not in ("diff_class", "reserved")]
DiffRow = namedtuple("DiffRow", _DIFF_MEMBERS + ["verdict"])  # type: ignore[misc]
DiffRow.__doc__ = """A row of a comparison. verdict: "undetermined", "unchanged", "up", "down", "new" or "gone"; the
other members are as in profconv_diff_row."""
_SUMMARY_MEMBERS = [name for name, *_ in abi.DiffSummary._fields_ if name not in ("reserved",)]
DiffSummary = namedtuple("DiffSummary", _SUMMARY_MEMBERS)  # type: ignore[misc]


def choose(name, value, choices):
    try:
        return choices[value.replace("_", "-")]
    except (KeyError, AttributeError):
        raise InvalidError(f"{name}: {value!r} is not one of {', '.join(choices)}") from None


def _plain(value):
    return decode(text_of(value)) if isinstance(value, abi.String) else value


def top(profile, sample_type, by, cumulative):
    options = abi.TopOptions(struct_size=ctypes.sizeof(abi.TopOptions), by=choose("by", by, BY),
                             cumulative=bool(cumulative))
    if sample_type is not None:
        options.sample_type = encode(sample_type)
    table = new(lib.top_new, lib.top_free, profile._ptr, ctypes.byref(options), keep=profile._handle)
    try:
        row = abi.TopRow()
        rows = []
        for index in range(lib.top_count(table.ptr)):
            lib.top_get(table.ptr, index, ctypes.byref(row))
            rows.append(TopRow(*(_plain(getattr(row, name)) for name in TopRow._fields)))
        name, unit = abi.String(), abi.String()
        lib.top_type(table.ptr, ctypes.byref(name), ctypes.byref(unit))
        return Top(rows, lib.top_total(table.ptr), _plain(name), _plain(unit))
    finally:
        table.close()


class Diff:
    """A comparison of two profiles: rows by the size of their change, a summary, and notes."""

    def __init__(self, handle, before, after):
        self._handle = handle
        self._before = before
        self._after = after
        summary = lib.diff_get_summary(handle.ptr).contents
        values = {name: _plain(getattr(summary, name)) for name in _SUMMARY_MEMBERS}
        values["mode"] = _MODE_NAMES.get(values["mode"], "raw")
        values["rows"] = {class_name(i): count for i, count in enumerate(values["rows"])}
        self.summary = DiffSummary(**values)
        self.notes = notes_of(lib, lib.diff_get_report(handle.ptr))

    def __len__(self):
        return lib.diff_count(self._handle.ptr)

    def __getitem__(self, index: int) -> DiffRow:
        row = abi.DiffRow()
        if not 0 <= index < len(self):
            raise IndexError(f"there is no row {index}")
        lib.diff_get(self._handle.ptr, index, ctypes.byref(row))
        values = [_plain(getattr(row, name)) for name in _DIFF_MEMBERS]
        return DiffRow(*values, class_name(row.diff_class))  # type: ignore[call-arg]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    @property
    def rows(self) -> list:
        return list(self)

    def __repr__(self):
        about = self.summary
        return f"<profconv.Diff of {about.name}: {about.total_before} to {about.total_after}, {len(self)} rows>"

    def profile(self) -> Profile:
        """The comparison as one profile, as `pprof -diff_base` has it."""
        out = ctypes.c_void_p()
        call(lib.diff_profile, self._handle.ptr, self._before._ptr, self._after._ptr, ctypes.byref(out))
        return Profile(Handle(out.value, lib.profile_free))

    def to_pandas(self):
        import pandas  # type: ignore[import]

        return pandas.DataFrame(list(self), columns=DiffRow._fields)


def class_name(number):
    name = lib.diff_class_name(number)
    return name.decode() if name else str(number)


def split(profile, max_samples):
    """A part lives as long as its callback, so each is copied."""
    from ._lib import Borrowed

    parts = []

    def take(_user, part, _index):
        try:
            parts.append(Profile(Borrowed(part))._copy())
            return 0
        except BaseException as exc:  # must not cross C
            return failed(exc)

    callback = dict(abi.SplitOptions._fields_)["part"](take)
    options = abi.SplitOptions(struct_size=ctypes.sizeof(abi.SplitOptions), max_samples=max_samples, part=callback)
    call(lib.split, profile._ptr, ctypes.byref(options))
    return parts
