# SPDX-License-Identifier: MIT
"""The functions of the package: read, convert, merge, diff, check, formats."""
from __future__ import annotations

import ctypes
import os

from . import _abi as abi
from ._errors import InvalidError, MissingFacetError, notes_of, warn
from ._lib import Handle, call, encode, lib, new
from ._options import LIMITS, Options
from ._profile import Profile, scope_of_format
from ._registry import default_registry
from ._streams import open_input, open_output, output_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Callable, Iterable, Mapping, Sequence, Union

    from ._records import CheckResult

    Source = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, BinaryIO]
    Progress = Callable[[str, int, "int | None"], Any]


def version() -> str:
    """Version of the library that is loaded."""
    return lib.version().decode()


def library_path() -> str:
    """Where the library was found."""
    return lib.path


def formats(registry=None) -> tuple:
    """The formats that are known, as Format tuples."""
    return (registry or default_registry()).formats()


def detect(source: Source, registry=None):
    """The format of an input, by its content."""
    return (registry or default_registry()).detect(source)


def _read(source, format, to, registry, progress, settings, keywords):
    formats = registry.handle
    limits = Options(None, {k: v for k, v in keywords.items() if k in LIMITS}).limits
    opened = open_input(source, limits)
    try:
        name = format

        def scope_of(key):
            nonlocal name
            if name is None:
                row = abi.FormatInfo()
                call(lib.detect, formats.ptr, opened.ptr, ctypes.byref(row))
                name = row.name.decode()
            return scope_of_format(registry, name, False)(key)

        options = Options(settings, keywords, source=format, target=to, progress=progress, scope_of=scope_of)
        out = ctypes.c_void_p()
        call(lib.read, formats.ptr, opened.ptr, options.ref, ctypes.byref(out))
        return Profile(Handle(out.value, lib.profile_free))
    finally:
        opened.close()


def read(source: Source, format: str | None = None, *, to: str | None = None, registry=None,
         progress: Progress | None = None,
         settings: Mapping[str, Any] | None = None, **keywords: Any) -> Profile:
    """Reads a profile from a path, bytes, or a binary file. What the reader noted is in `notes`, and issued as
    warnings.

    format    of the input; by default its content says
    to        a format that it will be written in: chooses the labels that readers of recordings make
    settings  {"perf-data.event": ["cycles"]}; a keyword is a budget (max_memory, max_inflated, max_inflate_ratio,
              max_depth, max_string, on_limit), a setting of the format (event="cycles"), or a dict of one
              (perf_data={"event": "cycles"})
    progress  called as progress(stage, done, total or None) now and then; a true result cancels
    """
    profile = _read(source, format, to, registry or default_registry(), progress, settings, keywords)
    warn(profile.notes, 2)
    return profile


def _weights(weights, count):
    weights = [1] * count if weights is None else list(weights)
    if len(weights) != count:
        raise InvalidError(f"{len(weights)} weights for {count} inputs")
    if any(not isinstance(w, int) or w < 1 for w in weights):
        raise InvalidError("weights are whole numbers above 0")
    return weights


def _as_list(source):
    if isinstance(source, (str, os.PathLike, bytes, bytearray, memoryview)) or hasattr(source, "read"):
        return [source]
    return list(source)


def convert(source: Source | Sequence[Source], target=None, *, to: str | None = None, format: str | None = None,
            weights: Iterable[int] | None = None, registry=None, progress: Progress | None = None,
            settings: Mapping[str, Any] | None = None, **keywords: Any):
    """Reads one input or several (which are merged), runs the passes that the target needs or is better with, and
    writes: the same as `profconv convert`.

    target    a path or a binary file: the notes are returned. None: the bytes are returned
    to        format of the output; by default what the suffix of the path says
    format    of the inputs; by default their content says
    settings  and keywords as for `read` and `Profile.write`; a bare keyword is a budget or a setting of the output's
              format
    """
    registry = registry or default_registry()
    formats = registry.handle
    if to is None:
        found = registry.find_suffix(target) if isinstance(target, (str, os.PathLike)) else None
        if found is None:
            raise InvalidError(f"{target!r}: no format is known for this name; name it (to=…)")
        to = found.name
    sources = _as_list(source)
    options = Options(settings, keywords, source=format, target=to, progress=progress,
                      scope_of=scope_of_format(registry, to, True))
    inputs = (abi.ConvertInput * max(len(sources), 1))()
    opened = []
    report = new(lib.report_new, lib.report_free, None)
    output = None
    try:
        for row, item, weight in zip(inputs, sources, _weights(weights, len(sources))):
            opened.append(open_input(item, options.limits))
            row.input, row.weight = opened[-1].ptr, weight
        output = open_output(target, options.limits)
        call(lib.convert, formats.ptr, inputs, len(sources), output.ptr, options.ref, report.ptr)
        result = output_bytes(output) if target is None else None
        notes = notes_of(lib, report.ptr)
    finally:
        for item in opened:
            item.close()
        if output is not None:
            output.close()
        report.close()
    warn(notes, 2)
    return notes if target is not None else result


def merge(sources: Iterable[Profile | Source], *, weights: Iterable[int] | None = None, format: str | None = None,
          registry=None, settings: Mapping[str, Any] | None = None, **keywords: Any) -> Profile:
    """One profile of many: profiles, paths, bytes, files. Inputs are read one at a time, so memory holds the sum and
    one of them. See profconv.distributed for many machines."""
    from ._builder import Builder

    registry = registry or default_registry()
    sources = list(sources)
    limits = {k: v for k, v in keywords.items() if k in LIMITS}
    with Builder(**limits) as builder:
        for source, weight in zip(sources, _weights(weights, len(sources))):
            if isinstance(source, Profile):
                builder.merge(source, weight)
                continue
            with _read(source, format, None, registry, None, settings, keywords) as profile:
                builder.merge(profile, weight)
        profile = builder.freeze()
    warn(profile.notes, 2)
    return profile


def _side(side, by, registry, settings, keywords):
    """The runs of a side as profiles, and their sum. What has to be read also gets names where it lacks them."""
    from ._builder import Builder

    runs = []
    for run in [side] if isinstance(side, Profile) else _as_list(side):
        if not isinstance(run, Profile):
            target = "pprof" if by in ("line", "file") else "collapsed"
            run = _read(run, None, target, registry, None, settings, keywords)
            notes = run.notes
            # A bare setting is one of the reader.
            others = {key: value for key, value in keywords.items() if key in LIMITS or isinstance(value, dict)}
            run, more = run._passes(lib.prepare, registry.handle.ptr, Options(settings, others, target=target))
            warn(notes + more, 3)
        runs.append(run)
    if not runs:
        raise InvalidError("a side without a run")
    if len(runs) == 1:
        return runs, runs[0]
    with Builder() as builder:
        for run in runs:
            builder.merge(run)
        return runs, builder.freeze()


def diff(before: Profile | Source | Iterable[Profile | Source], after: Profile | Source | Iterable[Profile | Source], *,
         sample_type: str | None = None, by: str = "function", mode: str = "raw", work_before: int = 0,
         work_after: int = 0, false_discovery: float = 0.05, tolerance: float = 0.05, registry=None,
         settings: Mapping[str, Any] | None = None, **keywords: Any):
    """Compares two profiles, or several runs of each side, as `profconv diff` does.

    before, after   a profile or something to read, or a list of such: the runs of a side. Then one run stands against
           one, and what varies from run to run by more than chance makes a change less sure; the summary's
           `dispersion` says by how much. What is read here gets names where it lacks them; a Profile is taken as it is
    by     "function", "line", "file" or "mapping"
    mode   "raw", "per-second" (by the durations), or "per-work" with work_before and work_after, which are the work of
           all runs of a side together
    false_discovery, tolerance   shares, as in profconv_diff_options; their resolution is a thousandth (0: the default)
    settings  and keywords as for `read`, of what is read and named here: symbolize={"binary": ["app"]}
    """
    from ._compare import BY, MODES, Diff, choose

    registry = registry or default_registry()
    by_number = choose("by", by, BY)
    runs_before, sum_before = _side(before, by, registry, settings, keywords)
    runs_after, sum_after = _side(after, by, registry, settings, keywords)
    options = abi.DiffOptions(struct_size=ctypes.sizeof(abi.DiffOptions), by=by_number,
                              mode=choose("mode", mode, MODES),
                              work_before=work_before, work_after=work_after,
                              false_discovery=round(false_discovery * 1000),
                              tolerance=round(tolerance * 1000))
    if sample_type is not None:
        options.sample_type = encode(sample_type)
    if len(runs_before) > 1 or len(runs_after) > 1:
        options.runs_before = (ctypes.c_void_p * len(runs_before))(*[run._ptr for run in runs_before])
        options.runs_after = (ctypes.c_void_p * len(runs_after))(*[run._ptr for run in runs_after])
        options.run_count_before, options.run_count_after = len(runs_before), len(runs_after)
    handle = new(lib.diff_new, lib.diff_free, sum_before._ptr, sum_after._ptr, ctypes.byref(options),
                 keep=(sum_before._handle, sum_after._handle))
    return Diff(handle, sum_before, sum_after)


def check(profile: Profile | Source, consumer: str) -> CheckResult:
    """Whether a profile will work for a consumer: see `consumers`. A failure to look is an exception, a finding is
    not."""
    from ._records import CheckResult

    if not isinstance(profile, Profile):
        profile = read(profile)
    report = new(lib.report_new, lib.report_free, None)
    try:
        reason = None
        try:
            call(lib.check, profile._ptr, encode(consumer), report.ptr)
        except MissingFacetError as exc:
            reason = exc.message
        return CheckResult(reason is None, reason, notes_of(lib, report.ptr))
    finally:
        report.close()


def consumers() -> list[str]:
    """What `check` knows: "go-pgo", "llvm", "gcc", …"""
    result: list = []
    while True:
        name = lib.check_consumer(len(result))
        if name is None:
            return result
        result.append(name.decode())
