# SPDX-License-Identifier: MIT
"""Profile: a frozen profile, its tables, and what can be made of it."""
from __future__ import annotations

import ctypes

from . import _abi as abi
from ._errors import InvalidError, NotFoundError, notes_of, warn
from ._lib import Handle, call, decode, encode, lib, new, text_of
from ._options import Options
from ._registry import default_registry, facet_names
from ._streams import open_output, output_bytes
from ._tables import TABLES, SampleTable, Table

TYPE_CHECKING = False  # true for type checkers; importing typing costs time
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any, BinaryIO, Callable, Mapping, Union

    from ._records import Frame, Info

    Target = Union[str, "PathLike[str]", BinaryIO]
    Progress = Callable[[str, int, "int | None"], Any]

_INFO_STRINGS = frozenset("period_type period_unit default_sample_type drop_frames keep_frames doc_url".split())


def scope_of_format(registry, name, writing):
    """Which scope a bare keyword belongs to: the format's, when it has such a setting."""

    def scope_of(key):
        row = registry.find(name) if name else None
        if row is None:
            raise InvalidError(f"{key}: not a budget, and the format is not known; "
                               f"give it as {{'FORMAT.{key}': …}} in settings")
        dashed = key.replace("_", "-")
        settings = row.writer_settings if writing else row.reader_settings
        if not any(s.name == dashed for s in settings):
            raise InvalidError(f"{key}: neither a budget nor a setting of {row.name} "
                               f"({', '.join(s.name for s in settings)})")
        return row.name, dashed

    return scope_of


class Profile:
    """A profile. It never changes; any number of threads may read it at once.

    Use it in a `with` block to free its memory at a known moment; else it goes with its last reference. Columns that
    were taken keep the memory until they are gone.
    """

    def __init__(self, handle, notes=None):
        self._handle = handle
        self._notes = notes

    # ---- life ----

    def _handle_or_raise(self):
        if self._handle is None or self._handle.ptr is None:
            raise ValueError("the profile is closed")
        return self._handle

    @property
    def _ptr(self):
        return self._handle_or_raise().ptr

    def close(self) -> None:
        """Lets go of the profile."""
        self._handle = None

    def __enter__(self) -> Profile:
        return self

    def __exit__(self, *_exc) -> None:
        self.close()

    def __repr__(self):
        if self._handle is None or self._handle.ptr is None:
            return "<profconv.Profile, closed>"
        types = ", ".join(f"{t.name}/{t.unit}" for t in self.sample_types)
        return f"<profconv.Profile: {len(self.samples)} samples ({types}), {', '.join(self.facets)}>"

    def __reduce__(self):
        from ._snapshot import restore, save

        return restore, (save(self),)

    # ---- facts ----

    @property
    def facets(self) -> tuple[str, ...]:
        """What the profile holds: "symbols", "addresses", "lines", "stacks", "labels", "branches", "source-counts"."""
        return facet_names(lib.profile_facets(self._ptr))

    @property
    def notes(self) -> tuple:
        """What the reader and the passes noted."""
        if self._notes is None:
            self._notes = notes_of(lib, lib.profile_report(self._ptr))
        return self._notes

    @property
    def info(self) -> Info:
        """Facts about the profile as a whole: times, the period, the default sample type, …"""
        from ._records import Info

        row = lib.profile_info(self._ptr).contents
        values = [self.string(getattr(row, f)) if f in _INFO_STRINGS else getattr(row, f) for f in Info._fields]
        values[-1] = facet_names(row.facets)
        return Info(*values)

    @property
    def verbatim(self) -> bool:
        """Whether the rows are those of a source whose order and duplicates were kept."""
        return bool(lib.profile_verbatim(self._ptr))

    @property
    def attributes(self) -> dict[str, str]:
        """Facts about the recording: "hostname", "arch", …"""
        ptr = self._ptr
        key, value = abi.String(), abi.String()
        result = {}
        for index in range(lib.profile_rows(ptr, abi.TABLE_ATTRIBUTE)):
            lib.profile_attribute(ptr, index, ctypes.byref(key), ctypes.byref(value))
            result[decode(text_of(key))] = decode(text_of(value))
        return result

    @property
    def comments(self) -> list[str]:
        ptr = self._ptr
        return [self.string(lib.profile_comment(ptr, i)) for i in range(lib.profile_rows(ptr, abi.TABLE_COMMENT))]

    @property
    def symbols(self) -> list[str]:
        """Symbols known to the profiled binary (LLVM's symbol list)."""
        ptr = self._ptr
        return [self.string(lib.profile_symbol(ptr, i)) for i in range(lib.profile_rows(ptr, abi.TABLE_SYMBOL))]

    def string(self, id: int) -> str:
        """A string of the string table. Bytes that are no UTF-8 come as surrogates (errors="surrogateescape")."""
        return decode(text_of(lib.profile_string(self._ptr, id))) if id else ""

    def string_bytes(self, id: int) -> bytes:
        return text_of(lib.profile_string(self._ptr, id))

    @property
    def strings(self) -> list[str]:
        """The whole string table; indexes are ids."""
        ptr, string = self._ptr, lib.profile_string
        return [decode(text_of(string(ptr, i))) for i in range(lib.profile_rows(ptr, abi.TABLE_STRING))]

    # ---- tables ----

    def table(self, name: str) -> Table | SampleTable:
        """A table by its name: "functions", "samples", …"""
        return SampleTable(self) if name == "samples" else Table(self, name)

    functions = property(lambda self: Table(self, "functions"))
    mappings = property(lambda self: Table(self, "mappings"))
    locations = property(lambda self: Table(self, "locations"))
    lines = property(lambda self: Table(self, "lines"))
    stacks = property(lambda self: Table(self, "stacks"), doc="The prefix tree: parent stack and location of each.")
    label_table = property(lambda self: Table(self, "label_table"))
    label_sets = property(lambda self: Table(self, "label_sets"))
    sample_types = property(lambda self: Table(self, "sample_types"))
    samples = property(SampleTable)
    branches = property(lambda self: Table(self, "branches"))
    ranges = property(lambda self: Table(self, "ranges"))
    addresses = property(lambda self: Table(self, "addresses"))
    entries = property(lambda self: Table(self, "entries"),
                       doc="Functions around branch records: where their code begins.")
    sources = property(lambda self: Table(self, "sources"),
                       doc="Source counts: functions, and those inlined into them.")
    contexts = property(lambda self: Table(self, "contexts"))
    source_bodies = property(lambda self: Table(self, "source_bodies"))
    source_targets = property(lambda self: Table(self, "source_targets"))

    def sample_type_index(self, sample_type: str | int | None = None) -> int:
        """Index of a sample type by name, event or index; None: the one to show by default."""
        if sample_type is None:
            return lib.profile_default_sample_type(self._ptr)
        count = lib.profile_rows(self._ptr, abi.TABLE_SAMPLE_TYPE)
        if isinstance(sample_type, int):
            if 0 <= sample_type < count:
                return sample_type
            raise NotFoundError(f"there is no sample type {sample_type}; there are {count}")
        rows = [lib.profile_sample_type(self._ptr, i).contents for i in range(count)]
        for names in ([self.string(row.name) for row in rows], [self.string(row.event) for row in rows]):
            if sample_type in names:
                return names.index(sample_type)
        raise NotFoundError(f"there is no sample type {sample_type!r}; there are "
                            f"{', '.join(self.string(row.name) for row in rows) or 'none'}")

    def values(self, sample_type: str | int | None = None) -> memoryview:
        """A column of values, one for each sample: a read-only memoryview of int64, without a copy."""
        return self.samples.values(sample_type)

    def total(self, sample_type: str | int | None = None) -> int:
        """Sum of a column."""
        return lib.profile_total(self._ptr, self.sample_type_index(sample_type))

    def frames(self, stack: int) -> list[Frame]:
        """The frames of a stack, leaf first, inlined functions before those that they are inlined into."""
        ptr = self._ptr
        if not 0 <= stack < lib.profile_rows(ptr, abi.TABLE_STACK):
            raise IndexError(f"there is no stack {stack}")
        result = []
        while stack:
            node = lib.profile_stack(ptr, stack).contents
            result += self.location_frames(node.location)
            stack = node.parent
        return result

    def location_frames(self, id: int) -> list[Frame]:
        """The frames of a location, innermost first."""
        from ._records import Frame

        ptr = self._ptr
        row = lib.profile_location(ptr, id).contents
        mapping = self.string(lib.profile_mapping(ptr, row.mapping).contents.file) or None if row.mapping else None
        if row.line_count == 0:
            return [Frame(None, None, 0, 0, row.address, mapping, False, id, 0)]
        frames = []
        for i in range(row.line_count):
            line = lib.profile_line(ptr, id, i).contents
            function = lib.profile_function(ptr, line.function).contents
            frames.append(Frame(self.string(function.name) or None, self.string(function.file) or None, line.line,
                                line.column,
                                row.address, mapping, i + 1 < row.line_count, id, line.function))
        return frames

    def labels(self, label_set: int) -> dict[str, Any]:
        """The labels of a set: text, or numbers. A key that comes several times has a list."""
        ptr = self._ptr
        row = lib.profile_label_set(ptr, label_set).contents
        result: dict = {}
        for i in range(row.count):
            label = lib.profile_label(ptr, lib.profile_label_item(ptr, row.first + i)).contents
            key = self.string(label.key)
            value = label.number if label.numeric else self.string(label.string)
            if key not in result:
                result[key] = value
            elif isinstance(result[key], list):
                result[key].append(value)
            else:
                result[key] = [result[key], value]
        return result

    def to_pandas(self):
        """A pandas.DataFrame of the samples: "stack" (names from the root on, joined by ';'), a column for each sample
        type and for each label key."""
        import pandas  # type: ignore[import]

        names: dict = {}

        def stack_name(stack):
            if stack not in names:
                names[stack] = ";".join(f.name or f"0x{f.address:x}" for f in reversed(self.frames(stack)))
            return names[stack]

        samples = self.samples
        columns = {"stack": [stack_name(s) for s in samples["stack"]]}
        for row in self.sample_types:
            name = row.name if row.name not in columns else f"{row.name}/{row.event or row.unit}/{row.id}"
            columns[name] = pandas.array(samples.values(row.id).tolist(), dtype="int64")
        sets: dict = {}
        rows = [sets[s] if s in sets else sets.setdefault(s, self.labels(s)) for s in samples["label_set"]]
        for key in dict.fromkeys(key for labels in sets.values() for key in labels):
            columns[key if key not in columns else f"label:{key}"] = [labels.get(key) for labels in rows]
        return pandas.DataFrame(columns)

    # ---- writing ----

    def write(self, target: Target, format: str | None = None, *, prepare: bool | None = None, registry=None,
              progress: Progress | None = None, settings: Mapping[str, Any] | None = None, **keywords: Any) -> tuple:
        """Writes the profile to a path or a binary file, which appears whole or not at all. Returns the notes of
        writing, and issues them as warnings.

        format    by default what the suffix of the path says
        prepare   whether passes (names for addresses, source counts, …) and filters of frames run before: True: those
                  that the format needs or is better with, as `profconv convert` does; False: none; None: only if it
                  cannot do without
        settings  {"pprof.level": 6}; a keyword is a setting of the format (level=6) or a dict of one (pprof={"level":
                  6})
        """
        registry = registry or default_registry()
        if format is None:
            found = None
            path = getattr(target, "name", None) if hasattr(target, "write") else target
            if isinstance(path, (str, bytes)) or hasattr(path, "__fspath__"):
                found = registry.find_suffix(path)
            if found is None:
                raise InvalidError(f"{target!r}: no format is known for this name; name it (format=…)")
            format = found.name
        return self._write(target, format, prepare, registry, progress, settings, keywords)[0]

    def to_bytes(self, format: str, *, prepare: bool | None = None, registry=None, progress: Progress | None = None,
                 settings: Mapping[str, Any] | None = None, **keywords: Any) -> bytes:
        """The same as bytes."""
        return self._write(None, format, prepare, registry or default_registry(), progress, settings, keywords)[1]

    def _write(self, target, format, prepare, registry, progress, settings, keywords):
        handle, formats = self._handle_or_raise(), registry.handle
        options = Options(settings, keywords, target=format, progress=progress,
                          scope_of=scope_of_format(registry, format, True))
        notes: tuple = ()
        if self._wants_passes(registry, format, prepare, options):
            prepared, notes = self._copy()._passes(lib.prepare, formats.ptr, options)
            handle = prepared._handle
        report = new(lib.report_new, lib.report_free, None)
        output = open_output(target, options.limits)
        try:
            call(lib.write, formats.ptr, handle.ptr, output.ptr, options.ref, report.ptr)
            data = output_bytes(output) if target is None else None
            notes += notes_of(lib, report.ptr)
        finally:
            output.close()
            report.close()
        warn(notes, 3)
        return notes, data

    def _wants_passes(self, registry, format, prepare, options):
        if prepare is not None:
            return prepare
        row = abi.FormatInfo()
        handle = registry.handle
        if lib.registry_find(handle.ptr, encode(format), ctypes.byref(row)) != abi.OK:
            return False  # profconv_write says what there is
        if options.handle is not None and lib.filter_wanted(options.handle.ptr, abi.FILTER_FRAMES):
            return True
        return bool(row.needs & ~lib.profile_facets(self._ptr))

    def dump(self) -> str:
        """Every table as text, one row a line."""
        output = open_output(None)
        try:
            call(lib.dump, self._ptr, output.ptr)
            call(lib.output_close, output.ptr)
            return decode(output_bytes(output))
        finally:
            output.close()

    # ---- other profiles made of this one ----

    def _copy(self):
        from ._builder import Builder
        from ._snapshot import restore, save

        if self.verbatim:
            return restore(save(self))
        with Builder() as builder:
            builder.merge(self)
            return builder.freeze()

    def _passes(self, function, first, options):
        """Runs a function that takes a profile over and puts another in its place. Returns the profile and the new
        notes."""
        report = new(lib.report_new, lib.report_free, None)
        ptr = ctypes.c_void_p(self._handle.take())
        try:
            call(function, first, ctypes.byref(ptr), options.ref, report.ptr)
            return Profile(Handle(ptr.value, lib.profile_free)), notes_of(lib, report.ptr)
        except BaseException:
            lib.profile_free(ptr)
            raise
        finally:
            report.close()

    def prepare(self, format: str, *, registry=None, progress: Progress | None = None,
                settings: Mapping[str, Any] | None = None, **keywords: Any) -> Profile:
        """A new profile with the facets that a format needs and is better with: symbolized, attributed to source lines,
        …"""
        registry = registry or default_registry()
        formats = registry.handle
        options = Options(settings, keywords, target=format, progress=progress,
                          scope_of=scope_of_format(registry, format, True))
        profile, notes = self._copy()._passes(lib.prepare, formats.ptr, options)
        warn(notes, 2)
        return profile

    def run_pass(self, name: str, *, progress: Progress | None = None, settings: Mapping[str, Any] | None = None,
                 **keywords: Any) -> Profile:
        """A new profile after one pass ("symbolize", "attribute", "expand"); keywords are its settings."""
        options = Options(settings, keywords, progress=progress, scope_of=lambda key: (name, key.replace("_", "-")))
        profile, notes = self._copy()._passes(lib.run_pass, encode(name), options)
        warn(notes, 2)
        return profile

    def filter(self, *, stages: int = abi.FILTER_ALL, settings: Mapping[str, Any] | None = None,
               **keywords: Any) -> Profile:
        """A new profile of what the filters leave; keywords are settings of the scope "filter": focus="main", pid=12,
        …"""
        options = Options(settings, keywords, scope_of=lambda key: ("filter", key.replace("_", "-")))
        copy = self._copy()
        ptr = ctypes.c_void_p(copy._handle.take())
        try:
            call(lib.filter, ctypes.byref(ptr), options.handle.ptr if options.handle else None, stages)
        except BaseException:
            lib.profile_free(ptr)
            raise
        return Profile(Handle(ptr.value, lib.profile_free))

    def _made(self, function, *arguments):
        out = ctypes.c_void_p()
        call(function, self._ptr, *arguments, ctypes.byref(out))
        return Profile(Handle(out.value, lib.profile_free))

    def scale(self, numerator: int, denominator: int = 1) -> Profile:
        """A new profile with every value times numerator / denominator, in whole numbers whose sums are exact."""
        return self._made(lib.scale, numerator, denominator)

    def normalize(self, base: Profile) -> Profile:
        """A new profile with each sample type scaled to the sum that it has in `base`."""
        return self._made(lib.normalize, base._ptr)

    def keep_top(self, count: int) -> Profile:
        """A new profile with the `count` heaviest nodes of the tree of stacks; the rest becomes "[other]"."""
        return self._made(lib.keep_top, count)

    def top(self, *, sample_type: str | None = None, by: str = "function", cumulative: bool = False):
        """The table of the heaviest functions (by="function", "line", "file" or "mapping")."""
        from ._compare import top

        return top(self, sample_type, by, cumulative)

    def split(self, *, max_samples: int) -> list[Profile]:
        """Parts of at most so many rows each, which give the profile again when they are merged."""
        from ._compare import split

        return split(self, max_samples)

    def verify(self) -> None:
        """Checks every invariant of the model; raises InternalError with the first violation."""
        call(lib.profile_check, self._ptr)


assert set(TABLES) <= set(vars(Profile))
