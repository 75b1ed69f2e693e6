#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Merging neighbours and then the results is merging one after the other, byte for byte: for every shape of the tree,
every kind of input, and for the shell form of bindings/python/README.md. Without Dask: tests/python/test_distributed.py
has that."""
import glob
import os
import pickle
import re
import subprocess
import sys
import tempfile
import unittest
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import pybinding  # noqa: E402

pybinding.start()
import profconv  # noqa: E402
import profconv.distributed as fleet  # noqa: E402



def tree(paths, batch, fan_in, weights=None):
    """As the tasks do it, results pickled between them."""
    job = fleet.Job(None, {}, {}, 0, 0, "skip")
    rows = list(zip(range(len(paths)), paths, weights or [1] * len(paths)))
    graph, last = fleet._graph(job, [fleet.Run(rows[i:i + batch]) for i in range(0, len(rows), batch)], fan_in, "t")
    done = {}
    for key, (function, *arguments) in graph.items():  # in the order of their needs
        arguments = [[done[k] for k in a] if isinstance(a, list) else a for a in arguments]
        done[key] = pickle.loads(pickle.dumps(function(*arguments)))
    return profconv._snapshot.restore(done[last].state), done[last].skipped


def corpus():
    folder = os.environ.get("PROFCONV_CORPUS") or os.path.join(pybinding.SOURCE, "..", "shared", "corpus")
    return sorted(p for p in glob.glob(os.path.join(folder, "**", "*"), recursive=True)
                  if os.path.isfile(p) and os.path.getsize(p) < 1 << 20)


def readable(paths):
    """(path, format) of the inputs that can be read."""
    for path in paths:
        try:
            with profconv.read(path) as profile:
                kind = profconv.detect(path).name
                if len(profile.samples) < 5000:
                    yield path, kind
        except profconv.Error:
            pass


def plain(profile):
    """Every row. How many additions saturated depends on which ones there were; what they came to does not."""
    return re.sub(r'count=\d+ (weight=0 message="sums that do not fit)', r"\1", profile.dump())


class Associative(unittest.TestCase):
    def same(self, paths, batch, fan_in, weights=None):
        want = profconv.merge(paths, weights=weights)
        got, skipped = tree(paths, batch, fan_in, weights)
        self.assertEqual(skipped, [])
        self.assertEqual(plain(got), plain(want))
        try:
            data = want.to_bytes("pprof")
        except profconv.Error:
            return 0
        self.assertEqual(got.to_bytes("pprof"), data)
        return 1

    def test_shapes(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, f"{i:02}.pb.gz") for i in range(23)]
            for i, path in enumerate(paths):
                pybinding.synthetic(i).write(path)
            for batch, fan_in in ((1, 2), (1, 4), (2, 3), (5, 2), (7, 7), (23, 2), (100, 2)):
                with self.subTest(batch=batch, fan_in=fan_in):
                    self.assertEqual(self.same(paths, batch, fan_in), 1)
                    self.same(paths[::-1], batch, fan_in, weights=list(range(1, 24)))

    def test_fixtures_of_every_format(self):
        """Twice in a row, so that much unites; kinds that cannot be merged with each other apart."""
        by_kind = {}
        for path, kind in readable(list(pybinding.seeds()) + corpus()):
            by_kind.setdefault(kind, []).append(path)
        compared = 0
        for kind, paths in by_kind.items():
            paths = mergeable(paths) * 2
            if len(paths) < 3:
                continue
            with self.subTest(kind=kind):
                for batch, fan_in in ((1, 2), (3, 2), (2, 5)):
                    self.same(paths, batch, fan_in)
                compared += 1
        self.assertGreaterEqual(compared, 5)

    def test_formats_mixed(self):
        paths = [p for p, kind in readable(pybinding.seeds("pprof", "collapsed"))]
        self.assertGreater(len(paths), 20)
        self.assertEqual(self.same(mergeable(paths), 3, 2), 1)


def mergeable(paths):
    """Leaves out what refuses to be merged with those before (probes and lines, …), and inputs that do not know their
    event among others that do: their columns join that of the first event met, which another shape of the tree may
    choose differently."""
    chosen, total = [], None
    events = {path: [bool(t.event) for t in profconv.read(path).sample_types] for path in paths}
    some = any(any(known) for known in events.values())
    for path in paths:
        try:
            if some and not all(events[path]):
                continue
            total = profconv.merge(([total] if total else []) + [path])
            chosen.append(path)
        except profconv.Error:
            pass
    return chosen


class Skipping(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.paths = [os.path.join(self.folder.name, f"{i}.pb.gz") for i in range(9)]
        for i, path in enumerate(self.paths):
            pybinding.synthetic(i).write(path)

    def test_what_cannot_be_read_is_reported(self):
        with open(self.paths[2], "wb") as file:
            file.write(b"\x00\x01 no profile")
        os.unlink(self.paths[5])
        good = [p for i, p in enumerate(self.paths) if i not in (2, 5)]
        want = profconv.merge(good).dump()
        result = fleet.merge(self.paths, retries=1, delay=0.01)
        self.assertEqual(result.profile.dump(), want)
        self.assertEqual([(s.index, s.input, s.attempts) for s in result.skipped],
                         [(2, self.paths[2], 1), (5, self.paths[5], 2)])
        self.assertEqual(result.count, 7)
        for batch in (1, 2, 9):
            got, skipped = tree(self.paths, batch, 2)
            self.assertEqual(got.dump(), want)
            self.assertEqual([s.index for s in skipped], [2, 5])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fleet.merge(self.paths, retries=0)
        self.assertTrue(any(isinstance(w.message, fleet.SkippedWarning) and len(w.message.skipped) == 2
                            for w in caught))
        with self.assertRaises(profconv.Error):
            fleet.merge(self.paths, retries=0, on_error="raise")
        with self.assertRaises(profconv.EmptyError):
            fleet.merge([self.paths[5]], retries=0)

    def test_budget(self):
        with self.assertRaises(profconv.LimitError):
            fleet.merge(self.paths, max_memory=20000, on_error="raise")
        self.assertEqual(fleet.merge(self.paths, max_memory=8 << 20).count, 9)


class Shell(unittest.TestCase):
    def test_the_form_in_the_readme(self):
        with open(os.path.join(pybinding.PACKAGE, "README.md"), encoding="utf-8") as file:
            text = file.read()
        form = re.search(r"<!-- tested: shell merge -->\n```sh\n(.*?)```", text, re.S).group(1)
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "profiles"))
            for i in range(250):
                pybinding.synthetic(i).write(os.path.join(folder, "profiles", f"{i:03} x.pb.gz"))
            bin_folder = os.path.join(folder, "bin")
            os.mkdir(bin_folder)
            os.symlink(os.environ["PROFCONV"], os.path.join(bin_folder, "profconv"))
            env = dict(os.environ, PATH=bin_folder + os.pathsep + os.environ["PATH"])
            subprocess.run(["bash", "-e", "-c", form], cwd=folder, env=env, check=True)
            with open(os.path.join(folder, "all.pb.gz"), "rb") as file:
                data = file.read()
            paths = sorted(glob.glob(os.path.join(folder, "profiles", "*.pb.gz")))
            self.assertEqual(len(paths), 250)
            self.assertEqual(data, profconv.merge(paths).to_bytes("pprof"))
            self.assertEqual(profconv.read(data).total(), 250 * profconv.read(paths[0]).total())


if __name__ == "__main__":
    unittest.main(warnings="ignore")
