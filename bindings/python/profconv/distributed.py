# SPDX-License-Identifier: MIT
"""Merging the profiles of a fleet, on one machine or, with Dask, on many.

    from distributed import Client
    import profconv.distributed

    result = profconv.distributed.merge(paths, client=Client("scheduler:8786"))
    result.profile.write("fleet.pb.gz")

Inputs are cut into runs of neighbours. A task reads and merges one run; further tasks merge the results of neighbouring
tasks until one is left. Merging in the order of the inputs is associative, and what travels between tasks is a snapshot
of every row, so the profile that comes out is the one that merging them one after the other makes, row by row.

A worker holds the sum of a run and one input, or a few sums; `max_memory` bounds them. A task whose worker dies is run
again by Dask. An input that cannot be read is tried again, then skipped and reported.
"""
from __future__ import annotations

import os
import time
import urllib.error
import urllib.parse
import urllib.request
import warnings
from collections import namedtuple

from ._api import _read, _weights
from ._builder import Builder
from ._errors import EmptyError, Error, InputOutputError, InvalidError, warn
from ._options import LIMITS
from ._registry import default_registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Mapping

Skipped = namedtuple("Skipped", "index input reason attempts")
Skipped.__doc__ = "An input that could not be read: its place in the list, its name, why, and how often it was tried."

Merged = namedtuple("Merged", "profile skipped count")
Merged.__doc__ = "The profile, the inputs that were skipped (a tuple of Skipped), and how many went in."


class SkippedWarning(UserWarning):
    """Inputs of a merge were skipped; `skipped` has them."""

    def __init__(self, skipped):
        first = skipped[0]
        super().__init__(f"{len(skipped)} inputs were skipped; the first one is {first.input}: {first.reason}")
        self.skipped = skipped


class Job:
    """What every task of one merge needs to know. Dask takes lists and tuples apart to look for results of other tasks,
    so inputs travel inside of objects."""

    def __init__(self, format, settings, keywords, retries, delay, on_error):
        self.format = format
        self.settings = settings
        self.keywords = keywords
        self.limits = {k: v for k, v in keywords.items() if k in LIMITS}
        self.retries = retries
        self.delay = delay
        self.on_error = on_error


class Run:
    """Inputs that are neighbours: (index, name, weight) each."""

    def __init__(self, inputs):
        self.inputs = inputs


class Partial:
    """A merged run: a snapshot (None when nothing could be read), what was skipped, how many inputs it has."""

    def __init__(self, state, skipped, count):
        self.state = state
        self.skipped = skipped
        self.count = count

    def __sizeof__(self):
        """For Dask, which decides by size what to keep in memory and where to run."""
        if self.state is None:
            return 1000
        sizes = (sum(map(len, v)) if k == "values" else len(v)
                 for k, v in self.state.items() if isinstance(v, (bytes, list)))
        return 1000 + sum(sizes)


# ---- one input ----


class _Closing:
    def __init__(self, source, close):
        self.source = source
        self.close = close


def open_source(name):
    """What `read` takes, for a path or URL: file, http and https by Python itself, others (s3, gs, …) by fsspec where
    it is installed."""
    parts = urllib.parse.urlsplit(name) if "://" in name else None
    if parts is None:
        return _Closing(name, lambda: None)
    if parts.scheme == "file":
        return _Closing(urllib.request.url2pathname(parts.path), lambda: None)
    if parts.scheme in ("http", "https"):
        response = urllib.request.urlopen(name, timeout=60)
        return _Closing(_Whole(response), response.close)
    try:
        import fsspec  # type: ignore[import]
    except ImportError:
        raise InvalidError(f"{name}: fsspec is needed for URLs of the kind {parts.scheme}") from None
    file = fsspec.open(name, "rb").open()
    return _Closing(file, file.close)


class _Whole:
    """A response that says when it was cut off, where http.client takes the end of the connection for the end of the
    body."""

    def __init__(self, response):
        self.name = response.geturl()
        self._response = response
        length = response.headers.get("Content-Length")
        self._left = int(length) if length is not None else None

    def read(self, size):
        data = self._response.read(size)
        if self._left is not None:
            self._left -= len(data)
            if not data and self._left > 0 and size > 0:
                raise ConnectionError(f"the connection ended {self._left} bytes before the end")
        return data


def _passing(exc):
    """Whether trying again may help: trouble of files and networks, not of what is in them."""
    if isinstance(exc, urllib.error.HTTPError):
        return exc.code >= 500 or exc.code in (408, 429)
    if isinstance(exc, Error):
        return isinstance(exc, InputOutputError) or (exc.__cause__ is not None and _passing(exc.__cause__))
    return isinstance(exc, OSError)


def _read_input(job, name, builder):
    keywords = dict(job.keywords)
    if keywords.get("max_memory"):
        keywords["max_memory"] = max(1, keywords["max_memory"] - builder.memory[0])
    opened = open_source(name)
    try:
        return _read(opened.source, job.format, None, default_registry(), None, job.settings, keywords)
    finally:
        opened.close()


def _add(job, builder, run, skipped):
    """Merges the inputs of a run into the builder; returns how many. Memory: the builder's and one input's."""
    count = 0
    for index, name, weight in run.inputs:
        attempts = 0
        while True:
            attempts += 1
            try:
                profile = _read_input(job, name, builder)
                break
            except (Error, OSError) as exc:
                if attempts <= job.retries and _passing(exc):
                    time.sleep(job.delay * 2 ** (attempts - 1))
                    continue
                if job.on_error == "raise":
                    raise
                skipped.append(Skipped(index, name, f"{type(exc).__name__}: {exc}", attempts))
                profile = None
                break
        if profile is None:
            continue
        with profile:
            builder.merge(profile, weight)
        count += 1
    return count


# ---- tasks ----


def _leaf(job, run):
    from ._snapshot import save

    skipped: list = []
    with Builder(**job.limits) as builder:
        count = _add(job, builder, run, skipped)
        if count == 0:
            return Partial(None, skipped, 0)
        with builder.freeze() as profile:
            return Partial(save(profile), skipped, count)


def _node(job, partials):
    """Merges neighbours, in order."""
    from ._snapshot import restore, restore_builder, save

    skipped = [s for p in partials for s in p.skipped]
    filled = [p for p in partials if p.state is not None]
    if len(filled) < 2:
        return Partial(filled[0].state if filled else None, skipped, sum(p.count for p in filled))
    with restore_builder(filled[0].state, **job.limits) as builder:
        for partial in filled[1:]:
            with restore(partial.state) as profile:
                builder.merge(profile)
        with builder.freeze() as profile:
            return Partial(save(profile), skipped, sum(p.count for p in filled))


def _graph(job, runs, fan_in, token):
    """A Dask graph, {key: (function, arguments)}, and the key of its result."""
    graph = {}
    level = []
    for i, run in enumerate(runs):
        key = f"profconv-read-{token}-{i}"
        graph[key] = (_leaf, job, run)
        level.append(key)
    depth = 0
    while len(level) > 1:
        depth += 1
        above = []
        for i in range(0, len(level), fan_in):
            key = f"profconv-merge-{token}-{depth}-{i // fan_in}"
            graph[key] = (_node, job, level[i:i + fan_in])
            above.append(key)
        level = above
    return graph, level[0]


# ---- the whole ----


def merge(inputs: Iterable[str | os.PathLike], *, client=None, weights: Iterable[int] | None = None,
          format: str | None = None,
          batch: int | None = None, fan_in: int = 4, retries: int = 2, delay: float = 0.5, on_error: str = "skip",
          settings: Mapping[str, Any] | None = None, **keywords: Any) -> Merged:
    """Merges profiles at paths or URLs, in their order.

    client    a distributed.Client, a cluster (LocalCluster, …), or the address of a scheduler; None: in this process.
              Workers need this package, and paths that mean the same to them
    weights   whole numbers, one for each input
    batch     inputs of one task; by default so many that each thread of the workers gets about four tasks, at most 64
    fan_in    results that one further task merges
    retries   how often an input is tried again when a file or a network failed, after `delay` seconds, then twice
              that, …; how often Dask runs a failed task again
    on_error  "skip": what cannot be read is left out, in `skipped` and in a SkippedWarning; "raise"
    settings, keywords   of reading, as for `profconv.read`; max_memory bounds what a task holds in the library

    Raises EmptyError when no input could be read.
    """
    names = [os.fspath(name) for name in inputs]
    if not names:
        raise InvalidError("no input to merge")
    if on_error not in ("skip", "raise"):
        raise InvalidError(f"on_error: {on_error!r} is neither skip nor raise")
    if fan_in < 2 or (batch is not None and batch < 1):
        raise InvalidError("fan_in must be 2 or more, and batch 1 or more")
    rows = list(zip(range(len(names)), names, _weights(weights, len(names))))
    job = Job(format, dict(settings or {}), keywords, retries, delay, on_error)
    merged = _local(job, rows) if client is None else _on_dask(job, rows, client, batch, fan_in)
    if merged.skipped:
        warnings.warn(SkippedWarning(merged.skipped), stacklevel=2)
    warn(merged.profile.notes, 2)
    return merged


def _nothing(skipped):
    first = skipped[0]
    return EmptyError(f"none of {len(skipped)} inputs could be read; the first one is {first.input}: {first.reason}")


def _local(job, rows):
    skipped: list = []
    with Builder(**job.limits) as builder:
        count = _add(job, builder, Run(rows), skipped)
        if count == 0:
            raise _nothing(skipped)
        return Merged(builder.freeze(), tuple(skipped), count)


def _on_dask(job, rows, client, batch, fan_in):
    try:
        from distributed import Client
    except ImportError:
        raise ImportError("profconv.distributed needs Dask for a client (Debian: python3-distributed)") from None
    from ._snapshot import restore

    own = None if isinstance(client, Client) else Client(client)
    client = own or client
    try:
        if batch is None:
            client.wait_for_workers(1)
            threads = sum(client.nthreads().values()) or 1
            batch = max(1, min(64, -(-len(rows) // (4 * threads))))
        runs = [Run(rows[i:i + batch]) for i in range(0, len(rows), batch)]
        graph, key = _graph(job, runs, fan_in, os.urandom(8).hex())
        partial = client.get(graph, key, retries=job.retries)
    finally:
        if own is not None:
            own.close()
    skipped = tuple(sorted(partial.skipped))
    if partial.state is None:
        raise _nothing(skipped)
    return Merged(restore(partial.state), skipped, partial.count)
