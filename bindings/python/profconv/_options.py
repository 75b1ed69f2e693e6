# SPDX-License-Identifier: MIT
"""Keywords of calls: which are budgets, which are settings, and of which format."""
from __future__ import annotations

import ctypes
import os

from . import _abi as abi
from ._errors import InvalidError
from ._lib import call, encode, failed, lib, new

LIMITS = ("max_memory", "max_inflated", "max_inflate_ratio", "max_depth", "max_string", "on_limit")
ON_LIMIT = {"fail": abi.ON_LIMIT_FAIL, "truncate": abi.ON_LIMIT_TRUNCATE}


def make_limits(values):
    """A profconv_limits of the keywords that are budgets, which are taken out of `values`; None without any."""
    chosen = {name: values.pop(name) for name in LIMITS if name in values}
    if not any(chosen.values()):
        return None
    limits = abi.Limits(struct_size=ctypes.sizeof(abi.Limits))
    for name, value in chosen.items():
        if value is None:
            continue
        if name == "on_limit":
            if value not in ON_LIMIT:
                raise InvalidError(f"on_limit: {value!r}; there are: {', '.join(ON_LIMIT)}")
            value = ON_LIMIT[value]
        value = int(value)
        bits = 8 * getattr(abi.Limits, name).size
        if not 0 <= value < 1 << bits:
            raise InvalidError(f"{name}: {value} is not a number of {bits} bits")
        setattr(limits, name, value)
    return limits


def make_threads(values):
    """The keyword `threads`, taken out of `values`."""
    threads = values.pop("threads", None) or 0
    if not isinstance(threads, int) or not 0 <= threads < 1 << 32:
        raise InvalidError(f"threads: {threads!r} is not a number of threads")
    return threads


def value_text(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value if isinstance(value, (str, bytes)) else str(value)


def pairs(settings, keywords, scope_of):
    """(scope, key, value) of everything that was set. `scope_of(key)` gives the scope of a bare keyword."""
    for source in (settings or {}, keywords):
        for name, value in source.items():
            if isinstance(value, dict):
                scope = name.replace("_", "-")
                for key, item in value.items():
                    yield from _items(scope, key.replace("_", "-"), item)
            elif "." in name or "__" in name:
                scope, key = name.split("." if "." in name else "__", 1)
                yield from _items(scope.replace("_", "-"), key.replace("_", "-"), value)
            else:
                yield from _items(*scope_of(name), value)


def _items(scope, key, value):
    if value is None:
        return
    for item in value if isinstance(value, (list, tuple, set, frozenset)) else (value,):
        yield scope, key, value_text(item)


class Options:
    """A profconv_convert_options and what it points to, for one call."""

    def __init__(self, settings=None, keywords=None, *, source=None, target=None, progress=None, scope_of=None):
        keywords = dict(keywords or {})
        self.limits = make_limits(keywords)
        self.struct = abi.ConvertOptions(struct_size=ctypes.sizeof(abi.ConvertOptions), threads=make_threads(keywords))
        self.handle = None
        if self.limits is not None:
            self.struct.limits = ctypes.pointer(self.limits)
        rows = list(pairs(settings, keywords, scope_of or no_scope))
        if rows:
            self.handle = new(lib.options_new, lib.options_free, None)
            for scope, key, value in rows:
                call(lib.options_put, self.handle.ptr, encode(scope), encode(key), encode(value))
            self.struct.settings = self.handle.ptr
        if source:
            setattr(self.struct, "from", encode(source))
        if target:
            self.struct.to = encode(target)
        if progress is not None:
            self._progress = _progress(progress)
            self.struct.progress = self._progress

    @property
    def ref(self):
        return ctypes.byref(self.struct)

    @property
    def limits_ref(self):
        return ctypes.byref(self.limits) if self.limits is not None else None


def no_scope(name):
    raise InvalidError(f"{name}: not a budget, and the format that it is a setting of is not said; "
                       f'give it as {{"FORMAT.{name}": …}} in settings')


def _progress(function):
    def run(_user, stage, done, total):
        try:
            return 1 if function(stage.decode(), done, None if total == abi.NO_OFFSET else total) else 0
        except BaseException as exc:  # must not cross C
            failed(exc)
            return 1

    return dict(abi.ConvertOptions._fields_)["progress"](run)
