#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package: sources and targets of every kind, tables and columns, settings, budgets, errors, warnings,
transforms, threads."""
import array
import gc
import gzip
import io
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import pybinding  # noqa: E402

if pybinding.interpreter_with("numpy, pandas"):  # else their tests skip
    pybinding.run_under("numpy, pandas")
pybinding.start()
import profconv  # noqa: E402

COLLAPSED = pybinding.COLLAPSED


def quiet(function, *arguments, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **keywords)


class Reading(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "a.folded")
        with open(self.path, "wb") as file:
            file.write(COLLAPSED)

    def test_every_kind_of_source_gives_the_same(self):
        want = profconv.read(self.path).dump()
        self.assertIn("compute", want)
        writable = bytearray(COLLAPSED)
        sources = {"bytes": COLLAPSED, "bytearray": writable, "memoryview": memoryview(COLLAPSED),
                   "array": array.array("B", COLLAPSED),
                   "slice": memoryview(b"x" + COLLAPSED)[1:], "BytesIO": io.BytesIO(COLLAPSED),
                   "gzip": gzip.compress(COLLAPSED),
                   "GzipFile": gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(COLLAPSED)))}
        for name, source in sources.items():
            self.assertEqual(profconv.read(source).dump(), want, name)
        with open(self.path, "rb") as file:
            self.assertEqual(profconv.read(file).dump(), want)
        with open(self.path, "rb", buffering=0) as file:
            self.assertEqual(profconv.read(file).dump(), want)
        writable.append(0)  # the buffer is let go of after the call

    def test_a_file_is_read_from_where_it_stands(self):
        file = io.BytesIO(b"#" * 100 + COLLAPSED)
        file.seek(100)
        self.assertEqual(profconv.read(file).total(), 18)

    def test_a_pipe(self):
        run = subprocess.Popen([sys.executable, "-c", f"import sys; sys.stdout.buffer.write({COLLAPSED!r})"],
                               stdout=subprocess.PIPE)
        self.assertEqual(profconv.read(run.stdout).total(), 18)
        run.stdout.close()
        run.wait()

    def test_wrong_sources(self):
        for source in (None, 3, object(), io.StringIO("main 1\n")):
            with self.assertRaises(TypeError):
                profconv.read(source)

    def test_a_missing_file(self):
        with self.assertRaises(profconv.InputOutputError) as caught:
            profconv.read(os.path.join(self.folder.name, "nothing"))
        self.assertEqual(caught.exception.errno, 2)
        self.assertIsInstance(caught.exception, FileNotFoundError)
        self.assertEqual(caught.exception.status, -4)
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((type(again), str(again), again.errno), (profconv.MissingFileError, str(caught.exception), 2))
        with self.assertRaises(FileNotFoundError):  # of an output, the folder
            profconv.convert(b"main;a 1\n", os.path.join(self.folder.name, "none", "a.pb.gz"))
        with self.assertRaises(profconv.InputOutputError) as caught:  # another error of the system
            profconv.read(os.path.join(__file__, "nothing"))
        self.assertNotIsInstance(caught.exception, FileNotFoundError)

    def test_a_source_that_raises(self):
        class Broken(io.RawIOBase):
            def readable(self):
                return True

            def read(self, size=-1):
                raise KeyError("no such thing")

        with self.assertRaises(profconv.Error) as caught:
            profconv.read(Broken(), format="collapsed")
        self.assertIsInstance(caught.exception.__cause__, KeyError)

        class Stopped(Broken):
            def read(self, size=-1):
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            profconv.read(Stopped(), format="collapsed")

    def test_formats(self):
        names = {f.name: f for f in profconv.formats()}
        self.assertTrue(names["pprof"].can_read and names["pprof"].can_write and names["pprof"].binary)
        self.assertIn("symbols", names["pprof"].keeps)
        self.assertIn("level", [s.name for s in names["pprof"].writer_settings])
        self.assertEqual(profconv.detect(COLLAPSED).name, "collapsed")
        self.assertIn("symbolize", profconv.passes())
        listed = subprocess.run([os.environ["PROFCONV"], "formats"], stdout=subprocess.PIPE, text=True,
                                check=True).stdout
        for name in names:
            self.assertIn(name, listed)


class Tables(unittest.TestCase):
    def setUp(self):
        self.profile = pybinding.synthetic(1)

    def test_rows_and_columns_agree(self):
        p = self.profile
        for name in ("functions", "mappings", "locations", "lines", "stacks", "label_table", "label_sets",
                     "sample_types"):
            table = p.table(name)
            self.assertEqual(len(table), len(list(table)), name)
            self.assertGreater(len(table), 0, name)
            for row in table:
                self.assertEqual(row, table[row.id])
            for column in table.columns:
                view = table[column]
                self.assertIsInstance(view, memoryview)
                self.assertEqual(len(view), table.ids.stop, (name, column))
                for row in table:
                    value = getattr(row, column)
                    number = view[row.id]
                    self.assertEqual(p.string(number) if isinstance(value, str) else number, value, (name, column))
            with self.assertRaises(KeyError):
                table["nothing"]
            with self.assertRaises(IndexError):
                table[table.ids.stop]

    def test_values(self):
        p = self.profile
        self.assertEqual(p.total("samples"), sum(p.values("samples")))
        self.assertEqual(p.total("samples"), sum(1 + k % 4 for k in range(40)))
        self.assertEqual(p.total(), p.total("cpu"))
        self.assertEqual(p.total(1), 10_000_000 * p.total(0))
        self.assertEqual([s.values for s in p.samples], list(zip(p.values(0), p.values(1))))
        self.assertEqual(p.samples[3], list(p.samples)[3])
        for wrong in ("nothing", 2, -1):
            with self.assertRaises(profconv.NotFoundError):
                p.values(wrong)

    def test_frames_and_labels(self):
        p = profconv.read(COLLAPSED)
        stacks = {";".join(f.name for f in reversed(p.frames(s.stack))): s.values[0] for s in p.samples}
        self.assertEqual(stacks, {"main;work;compute": 10, "main;work;sort": 5, "main;idle": 3})
        labels = {s.label_set: self.profile.labels(s.label_set) for s in self.profile.samples}
        self.assertEqual(labels[0], {})
        self.assertIn({"thread": "worker-1"}, labels.values())
        frame = self.profile.frames(self.profile.samples[0].stack)[0]
        self.assertTrue(frame.name.startswith("work_"))
        self.assertEqual((frame.mapping, frame.inlined), ("/usr/bin/server", False))
        self.assertRaises(IndexError, p.frames, 1000)

    def test_views_keep_the_profile_and_cannot_be_written(self):
        profile = pybinding.synthetic(2, 2000)
        values, addresses = profile.values(), profile.locations["address"]
        total, want = profile.total(), addresses.tolist()
        profile.close()
        del profile
        gc.collect()
        junk = [bytearray(4096) for _ in range(500)]
        self.assertEqual(sum(values), total)
        self.assertEqual(addresses.tolist(), want)
        self.assertTrue(values.readonly and addresses.readonly)
        self.assertRaises(TypeError, values.__setitem__, 0, 1)
        self.assertEqual(len(junk), 500)

    def test_columns_are_not_copied(self):
        a, b = self.profile.values(), self.profile.values()
        self.assertEqual(array_address(a), array_address(b))

    def test_closed(self):
        with pybinding.synthetic(3) as profile:
            self.assertGreater(len(profile.samples), 0)
        with self.assertRaises(ValueError):
            profile.total()
        self.assertIn("closed", repr(profile))

    def test_numpy(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("numpy is not installed")
        for view in (self.profile.values(), self.profile.locations["address"], self.profile.stacks["parent"]):
            column = numpy.asarray(view)
            self.assertEqual(column.tolist(), view.tolist())
            self.assertFalse(column.flags.owndata)
            self.assertFalse(column.flags.writeable)
        self.assertEqual(numpy.asarray(self.profile.values()).dtype, numpy.int64)
        self.assertEqual(numpy.asarray(self.profile.locations["address"]).dtype, numpy.uint64)

    def test_pandas(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = self.profile.to_pandas()
        self.assertEqual(int(frame["cpu"].sum()), self.profile.total("cpu"))
        self.assertEqual(len(frame), len(self.profile.samples))
        self.assertEqual(set(frame["thread"].dropna()), {"worker-1"})
        self.assertTrue(frame["stack"].str.contains("work_").all())
        self.assertEqual(list(self.profile.functions.to_pandas()["name"]), [f.name for f in self.profile.functions])


def array_address(view):
    import ctypes

    class Buffer(ctypes.Structure):  # the start of Py_buffer
        _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
                    ("rest", ctypes.c_char * 128)]

    buffer = Buffer()
    get, release = ctypes.pythonapi.PyObject_GetBuffer, ctypes.pythonapi.PyBuffer_Release
    assert get(ctypes.py_object(view), ctypes.byref(buffer), 0x18 | 0x4) == 0
    address = buffer.buf
    release(ctypes.byref(buffer))
    return address


class Writing(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.profile = pybinding.synthetic(1)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_every_kind_of_target_gets_the_same(self):
        want = self.profile.to_bytes("pprof")
        self.profile.write(self.path("a.pb.gz"))
        file = io.BytesIO()
        self.profile.write(file, "pprof")
        with open(self.path("b.pb.gz"), "wb") as named:
            self.profile.write(named)
        for path in ("a.pb.gz", "b.pb.gz"):
            with open(self.path(path), "rb") as result:
                self.assertEqual(result.read(), want, path)
        self.assertEqual(file.getvalue(), want)
        self.assertEqual(profconv.read(want).total(), self.profile.total())

    def test_a_target_that_raises(self):
        class Full(io.RawIOBase):
            def writable(self):
                return True

            def write(self, data):
                raise OSError(28, "No space left on device")

        with self.assertRaises(profconv.Error) as caught:
            self.profile.write(Full(), "pprof")
        self.assertIsInstance(caught.exception.__cause__, OSError)
        self.assertEqual(caught.exception.errno, 28)

    def test_settings_in_every_way(self):
        plain = self.profile.to_bytes("pprof", compress=False)
        self.assertNotEqual(plain[:2], b"\x1f\x8b")
        self.assertEqual(self.profile.to_bytes("pprof", settings={"pprof.compress": "no"}), plain)
        self.assertEqual(self.profile.to_bytes("pprof", pprof={"compress": False}), plain)
        self.assertEqual(self.profile.to_bytes("pprof", pprof__compress=False), plain)
        self.assertEqual(self.profile.to_bytes("pprof", **{"pprof.compress": False}), plain)
        self.assertEqual(gzip.decompress(self.profile.to_bytes("pprof", level=9)), plain)
        for wrong in ({"levle": 1}, {"level": "high"}, {"pprof.levle": 1}):
            with self.assertRaises(profconv.InvalidError):
                self.profile.to_bytes("pprof", **wrong)
        with self.assertRaises(profconv.NotFoundError):
            self.profile.to_bytes("nothing")
        with self.assertRaises(profconv.InvalidError):
            self.profile.write(self.path("a.unknown"))

    def test_lists(self):
        text = quiet(self.profile.to_bytes, "collapsed", filter={"focus": ["work_7", "work_18"]}).decode()
        self.assertTrue(text)
        self.assertTrue(all("work_7" in line or "work_18" in line for line in text.splitlines()), text)

    def test_the_command_writes_the_same(self):
        self.profile.write(self.path("a.pb.gz"))
        subprocess.run([os.environ["PROFCONV"], "convert", "-q", "-o", self.path("b.folded"), self.path("a.pb.gz")],
                       check=True,
                       stderr=subprocess.DEVNULL)
        quiet(profconv.convert, self.path("a.pb.gz"), self.path("c.folded"))
        with open(self.path("b.folded"), "rb") as b, open(self.path("c.folded"), "rb") as c:
            self.assertEqual(b.read(), c.read())
        self.assertEqual(quiet(profconv.convert, self.path("a.pb.gz"), to="collapsed"),
                         quiet(profconv.read(self.path("a.pb.gz")).to_bytes, "collapsed", prepare=True))

    def test_losses_are_warnings(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.profile.to_bytes("collapsed")
        lost = [w.message for w in caught if isinstance(w.message, profconv.LostWarning)]
        self.assertTrue(any("address" in w.cause for w in lost), [w.cause for w in lost])
        self.assertTrue(all(w.count > 0 and w.note.kind == "lost" for w in lost))
        self.assertTrue(all(w.filename == __file__ for w in caught))
        with warnings.catch_warnings():
            warnings.simplefilter("error", profconv.ProfconvWarning)
            with self.assertRaises(profconv.LostWarning):
                self.profile.to_bytes("collapsed")

    def test_passes(self):
        text = b"main:184:0\n 4: 534\n 5: 500\n"
        source = profconv.read(text, format="llvm-text")
        self.assertEqual(source.facets, ("source-counts",))
        stacks = quiet(source.to_bytes, "collapsed")  # it cannot do without the pass
        self.assertIn(b"main", stacks)
        with self.assertRaises(profconv.MissingFacetError):
            quiet(source.to_bytes, "collapsed", prepare=False)
        self.assertIn("stacks", quiet(source.run_pass, "expand").facets)
        self.assertEqual(source.facets, ("source-counts",))
        self.assertEqual([b.count for b in source.source_bodies], [534, 500])


class Errors(unittest.TestCase):
    def test_offset_and_format(self):
        data = pybinding.synthetic(1).to_bytes("pprof", compress=False)
        with self.assertRaises(profconv.FormatError) as caught:
            profconv.read(data[:200], format="pprof")
        error = caught.exception
        self.assertIsInstance(error, ValueError)
        self.assertEqual((error.status, error.format), (-5, "pprof"))
        self.assertLessEqual(error.offset, 200)
        self.assertIn(f"0x{error.offset:x}", error.message)
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), again.offset, str(again)), (type(error), error.offset, str(error)))

    def test_line(self):
        with self.assertRaises(profconv.FormatError) as caught:
            profconv.read(b"main:184:0\n 4: 534\n 5: bad count\n", format="llvm-text")
        self.assertEqual(caught.exception.line, 3)

    def test_unknown(self):
        with self.assertRaises(profconv.UnknownFormatError):
            profconv.read(b"\x00\x01\x02" * 100)
        with self.assertRaises(profconv.NotFoundError):
            profconv.read(COLLAPSED, format="nothing")

    def test_budgets(self):
        data = pybinding.synthetic(1, 5000).to_bytes("pprof")
        with self.assertRaises(profconv.LimitError):
            profconv.read(data, max_memory=1000)
        with self.assertRaises(profconv.LimitError):
            profconv.read(data, max_string=3)
        self.assertEqual(profconv.read(data, max_memory=64 << 20).total(), profconv.read(data).total())
        with self.assertRaises(profconv.LimitError):
            profconv.merge([data, data], max_memory=1000)
        with self.assertRaises(profconv.InvalidError):
            profconv.read(data, max_memory=-1)

    def test_damaged_input_warns(self):
        with open(os.path.join(pybinding.SOURCE, "tests", "data", "quickstart", "wordcount.data"), "rb") as file:
            data = file.read()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            profile = profconv.read(data[:len(data) * 3 // 4])
        self.assertTrue(any(isinstance(w.message, profconv.ProfconvWarning) for w in caught))
        self.assertTrue(any(n.kind == "warning" for n in profile.notes))
        self.assertEqual({w.message.cause for w in caught}, {n.cause for n in profile.notes if n.kind != "info"})

    def test_progress(self):
        data = pybinding.synthetic(1, 2000).to_bytes("pprof")
        stages = []
        profconv.convert(data, to="pprof", progress=lambda stage, done, total: stages.append(stage))
        self.assertIn("write", stages)
        with self.assertRaises(profconv.CallbackError):
            profconv.convert(data, to="pprof", progress=lambda *_: True)

        def broken(*_arguments):
            raise RuntimeError("in the callback")

        with self.assertRaises(profconv.CallbackError) as caught:
            profconv.convert(data, to="pprof", progress=broken)
        self.assertEqual(str(caught.exception.__cause__), "in the callback")


class Transforms(unittest.TestCase):
    def setUp(self):
        self.a, self.b = pybinding.synthetic(1), pybinding.synthetic(2)

    def test_merge(self):
        merged = profconv.merge([self.a, self.b.to_bytes("pprof")], weights=[1, 3])
        self.assertEqual(merged.total(), self.a.total() + 3 * self.b.total())
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, f"{i}.pb.gz") for i in range(3)]
            for i, path in enumerate(paths):
                pybinding.synthetic(i).write(path)
            want = subprocess.run([os.environ["PROFCONV"], "convert", "-q", "-t", "pprof", *paths], check=True,
                                  stdout=subprocess.PIPE).stdout
            self.assertEqual(profconv.merge(paths).to_bytes("pprof"), want)
        self.assertRaises(profconv.InvalidError, profconv.merge, [self.a], weights=[1, 2])
        self.assertRaises(profconv.InvalidError, profconv.merge, [self.a], weights=[0])

    def test_diff(self):
        before = profconv.read(b"main;a 1000\nmain;b 1000\n")
        after = profconv.read(b"main;a 2000\nmain;b 1000\nmain;c 500\n")
        diff = profconv.diff(before, after)
        rows = {row.name: row for row in diff}
        self.assertEqual((rows["a"].before_self, rows["a"].after_self, rows["a"].delta_self), (1000, 2000, 1000))
        self.assertEqual((rows["a"].verdict, rows["b"].verdict, rows["c"].verdict), ("up", "unchanged", "new"))
        self.assertEqual((diff.summary.total_before, diff.summary.total_after, diff.summary.delta), (2000, 3500, 1500))
        self.assertEqual(sum(diff.summary.rows.values()), len(diff))
        self.assertEqual(diff.profile().total(), 1500)
        self.assertRaises(profconv.InvalidError, profconv.diff, before, after, by="colour")
        self.assertRaises(profconv.NotFoundError, profconv.diff, before, after, sample_type="nothing")

    def test_diff_of_runs(self):
        runs = [b"".join(b"main;f%d %d\n" % (j, 100 + (i * 37 + j * 17) % 50 + (more if j == 0 else 0)) for j in range(6))
                for more in (0, 300) for i in range(4)]
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, f"{i}.folded") for i in range(8)]
            for path, text in zip(paths, runs):
                with open(path, "wb") as file:
                    file.write(text)
            for cut in (4, 7, 1):
                said = subprocess.run([os.environ["PROFCONV"], "diff", "--json", "--before", *paths[:cut], "--after",
                                       *paths[cut:]], check=True, stdout=subprocess.PIPE).stdout
                want = json.loads(said)
                # Paths, bytes, profiles; a side of one run with or without a list.
                mixed = [paths[0], runs[1], profconv.read(runs[2])] + paths[3:]
                diff = profconv.diff(mixed[:cut] if cut > 1 else mixed[0], iter(mixed[cut:]))
                for name in ("runs_before", "runs_after", "exposure_before", "exposure_after", "total_before",
                             "total_after", "delta"):
                    self.assertEqual(getattr(diff.summary, name), want[name], name)
                self.assertAlmostEqual(diff.summary.dispersion, want["dispersion"], 5)
                self.assertEqual([(r.name, r.delta_self, r.verdict) for r in diff],
                                 [(r["name"], r["delta_self"], r["class"]) for r in want["rows"]])
                self.assertEqual(diff.profile().total(), want["delta"])
            self.assertEqual({r.name for r in profconv.diff(paths[:4], paths[4:]) if r.verdict == "up"}, {"f0"})
        for sides in (([], runs[0]), (runs[:2], [])):
            with self.assertRaisesRegex(profconv.InvalidError, "side without a run"):
                profconv.diff(*sides)

    def test_diff_names_what_it_reads(self):
        data = os.path.join(pybinding.SOURCE, "tests", "data", "quickstart", "wordcount.data")
        program = os.path.join(os.path.dirname(data), "wordcount")
        diff = profconv.diff(data, data, symbolize={"binary": [program]}, event="cpu-clock")
        self.assertIn("count_words", {r.name for r in diff})
        with self.assertWarnsRegex(profconv.ProfconvWarning, "no file found; 75 addresses stay without names$") as caught:
            profconv.diff(data, data)
        self.assertEqual(caught.filename, __file__)

    def test_top_scale_split_filter(self):
        p = profconv.read(COLLAPSED)
        top = p.top()
        self.assertEqual([(r.name, r.self) for r in top.rows if r.self], [("compute", 10), ("sort", 5), ("idle", 3)])
        self.assertEqual({r.name: r.total for r in p.top(cumulative=True).rows}["work"], 15)
        self.assertEqual(top.total, 18)
        self.assertEqual(p.scale(3, 2).total(), 27)
        self.assertEqual(p.keep_top(3).total(), 18)
        self.assertEqual(quiet(p.filter, focus="work").total(), 15)
        self.assertEqual(p.total(), 18)
        parts = self.a.split(max_samples=7)
        self.assertTrue(len(parts) > 2 and all(len(part.samples) <= 7 for part in parts))
        self.assertEqual(profconv.merge(parts).total(), self.a.total())
        self.assertEqual(self.a.normalize(self.b.scale(2)).total(), 2 * self.b.total())

    def test_check(self):
        self.assertIn("llvm", profconv.consumers())
        result = profconv.check(profconv.read(COLLAPSED), "gcc")
        self.assertFalse(result.ok)
        self.assertTrue(result.reason)
        self.assertRaises(profconv.NotFoundError, profconv.check, self.a, "nothing")
        self.assertTrue(profconv.check(b"main:184:0\n 4: 534\n 5: 500\n", "llvm").notes)

    def test_pickle(self):
        for profile in (self.a, profconv.read(self.b.to_bytes("pprof")), profconv.read(b"main:184:0\n 4: 534\n")):
            again = pickle.loads(pickle.dumps(profile))
            self.assertEqual(again.dump(), profile.dump())
            self.assertEqual(again.verbatim, profile.verbatim)

    def test_pickle_every_fixture(self):
        tried = 0
        for path in pybinding.seeds():
            try:
                profile = quiet(profconv.read, path)
            except profconv.Error:
                continue
            tried += 1
            self.assertEqual(pickle.loads(pickle.dumps(profile)).dump(), profile.dump(), path)
        self.assertGreater(tried, 40)

    def test_builder_errors(self):
        with profconv.Builder() as b:
            b.stack(0, 77)
            self.assertRaises(profconv.InvalidError, b.check)
            self.assertRaises(profconv.InvalidError, b.freeze)
        self.assertRaises(profconv.InvalidError, profconv.Builder, max_nothing=3)
        self.assertRaises(profconv.InvalidError, profconv.Builder().mapping, "x", kind="nothing")


class Threads(unittest.TestCase):
    def test_many_threads_read_and_write(self):
        shared = pybinding.synthetic(1, 3000)
        data = shared.to_bytes("pprof")
        want, errors = shared.total(), []

        def work(number):
            try:
                for _ in range(5):
                    assert profconv.read(data).total() == want
                    assert sum(shared.values()) == want
                    assert shared.to_bytes("pprof") == data
                    profconv.register_reader(f"thread-{number}", lambda file, builder: None)
                    try:
                        profconv.read(b"x", format=f"thread-{number}")
                    finally:
                        profconv.unregister(f"thread-{number}")
                    try:
                        profconv.read(data[:50], format="pprof")
                    except profconv.FormatError as error:
                        assert error.__cause__ is None
            except BaseException as exc:
                errors.append(exc)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])

    def test_other_threads_run_meanwhile(self):
        """A source that waits for another thread would wait for ever if the call held the interpreter's lock."""
        ready, go = threading.Event(), threading.Event()

        class Slow(io.RawIOBase):
            sent = False

            def readable(self):
                return True

            def read(self, size=-1):
                ready.set()
                assert go.wait(60)
                data, self.sent = (b"" if self.sent else COLLAPSED), True
                return data

        def other():
            ready.wait(60)
            go.set()

        thread = threading.Thread(target=other)
        thread.start()
        self.assertEqual(profconv.read(Slow(), format="collapsed").total(), 18)
        thread.join()


class Importing(unittest.TestCase):
    def test_reading_a_column_imports_little(self):
        """Starting is most of what a short script costs, so what reading does not need is imported late."""
        script = ("import ctypes, os, sys; before = set(sys.modules); import profconv; "
                  "profconv.read(sys.stdin.buffer.read()).values('samples'); "
                  "print(*sorted(m for m in set(sys.modules) - before if not m.startswith('profconv')))")
        done = subprocess.run([sys.executable, "-S", "-c", script], input=COLLAPSED, stdout=subprocess.PIPE, check=True,
                              env=dict(os.environ, PYTHONPATH=pybinding.PACKAGE))
        self.assertEqual(done.stdout.decode().split(), ["__future__"])

    def test_every_name_is_there(self):
        for name in profconv.__all__:
            self.assertIn(name, dir(profconv))
            self.assertIs(getattr(profconv, name), getattr(profconv, name), name)
        with self.assertRaisesRegex(AttributeError, "no attribute 'Bilder'"):
            profconv.Bilder


class Finding(unittest.TestCase):
    def test_no_library(self):
        run = subprocess.run([sys.executable, "-c", "import profconv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True,
                             env=dict(os.environ, PYTHONPATH=pybinding.PACKAGE, PROFCONV_LIBRARY="/nowhere/lib.so"))
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("/nowhere/lib.so (PROFCONV_LIBRARY)", run.stderr)

    def test_build_tree_of_a_checkout(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "bindings"))
            os.makedirs(os.path.join(folder, "build"))
            os.symlink(pybinding.PACKAGE, os.path.join(folder, "bindings", "python"))
            os.symlink(os.environ["PROFCONV_LIBRARY"], os.path.join(folder, "build", "libprofconv.so.0"))
            env = dict(os.environ, PYTHONPATH=os.path.join(folder, "bindings", "python"))
            del env["PROFCONV_LIBRARY"]
            out = subprocess.run([sys.executable, "-c", "import profconv; print(profconv.library_path())"], check=True,
                                 env=env,
                                 stdout=subprocess.PIPE, text=True).stdout
            self.assertEqual(out.strip(), os.path.join(folder, "build", "libprofconv.so.0"))


if __name__ == "__main__":
    unittest.main()
