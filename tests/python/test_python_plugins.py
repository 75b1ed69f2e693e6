#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A format written in Python: its reader and writer are detected, take settings, pass the round trip of every fixture
that has stacks, and fail with tracebacks that stay in Python."""
import gc
import io
import os
import sys
import unittest
import warnings
import weakref

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import pybinding  # noqa: E402

pybinding.start()
import profconv  # noqa: E402

MAGIC = b"tree profile 1\n"


def quote(text):
    return text.encode("utf-8", "surrogateescape").hex()


def unquote(word):
    return bytes.fromhex(word.decode())


def write_tree(profile, file, report, *, types, header):
    """Lines: "t name unit event period", "n parent name file line", "s node label-pairs values". Everything of stacks
    by name, line and labels; addresses are lost, and said by the library from `keeps`."""
    file.write(MAGIC)
    if header:
        file.write(f"# {header}\n".encode())
    chosen = [t for t in profile.sample_types if not types or t.name in types]
    for t in chosen:
        file.write(f"t {quote(t.name)} {quote(t.unit)} {quote(t.event)} {t.period} {t.role}\n".encode())
    nodes = {0: 0}
    parents, locations = profile.stacks["parent"], profile.stacks["location"]
    count = 0
    for stack in profile.stacks.ids:
        node = nodes[parents[stack]]
        for frame in reversed(profile.location_frames(locations[stack])):
            name = frame.name or f"0x{frame.address:x}"
            file.write(f"n {node} {quote(name)} {quote(frame.file or '')} {frame.line}\n".encode())
            count += 1
            node = count
        nodes[stack] = node
    for sample in profile.samples:
        labels = []
        for key, value in profile.labels(sample.label_set).items():
            for item in value if isinstance(value, list) else [value]:
                labels.append(f"{quote(key)}={item if isinstance(item, int) else '.' + quote(item)}")
        values = " ".join(str(sample.values[t.id]) for t in chosen)
        file.write(f"s {nodes[sample.stack]} {','.join(labels) or '-'} {values}\n".encode())
    if len(chosen) < len(profile.sample_types):
        report.note("lost", "tree-types", "sample types were not asked for",
                    count=len(profile.sample_types) - len(chosen))


def read_tree(file, builder, *, strict):
    if file.readline() != MAGIC:
        raise profconv.FormatError("no magic line", offset=0)
    nodes = [0]
    for number, line in enumerate(file, 2):
        kind, *words = line.split(b" ") if not line.startswith(b"#") else (b"#",)
        words = [w.rstrip(b"\n") for w in words]
        if kind == b"t":
            name, unit, event = map(unquote, words[:3])
            builder.sample_type(name, unit, event=event, period=int(words[3]), role=int(words[4]))
        elif kind == b"n":
            function = builder.function(unquote(words[1]), file=unquote(words[2]))
            nodes.append(builder.stack(nodes[int(words[0])], builder.location(lines=[(function, int(words[3]))])))
        elif kind == b"s":
            labels = []
            for pair in words[1].split(b",") if words[1] != b"-" else ():
                key, value = pair.split(b"=")
                labels.append(builder.label(unquote(key), unquote(value[1:]) if value.startswith(b".") else int(value)))
            builder.sample(nodes[int(words[0])], [int(w) for w in words[2:]],
                           builder.label_set(labels) if labels else 0)
        elif kind != b"#":
            if strict:
                raise profconv.FormatError(f"line {number}: kind {kind[:20]!r}, one of t, n, s expected", line=number)
            builder.note("warning", "tree-line", "a line of an unknown kind", line=number)
    builder.check()


def probe_tree(head, whole):
    return 100 if head.startswith(MAGIC) else 0


def register(registry=None):
    profconv.register_reader("tree", read_tree, probe=probe_tree, suffixes=[".tree"], aliases=["py-tree"],
                             description="a tree",
                             settings=[profconv.Setting("strict", "bool", True, (), "unknown lines are errors")],
                             produces=["symbols", "lines", "stacks", "labels"], registry=registry)
    profconv.register_writer("tree", write_tree, suffixes=[".tree"], aliases=["py-tree"], description="a tree",
                             settings=[("types", "list", None, (), "only these sample types"), ("header",)],
                             needs=["stacks"], keeps=["symbols", "lines", "stacks", "labels"], registry=registry)


def by_name(profile):
    """What the format keeps: values by names, lines and labels of stacks; addresses stand for names that are not
    there."""
    result = {}
    for sample in profile.samples:
        frames = tuple((f.name or f"0x{f.address:x}", f.file, f.line) for f in profile.frames(sample.stack))
        labels = tuple((k, tuple(v) if isinstance(v, list) else v) for k, v in profile.labels(sample.label_set).items())
        old = result.get((frames, labels), (0,) * len(sample.values))
        result[frames, labels] = tuple(map(sum, zip(old, sample.values)))
    return result


class Format(unittest.TestCase):
    def setUp(self):
        register()
        self.addCleanup(profconv.unregister, "tree")

    def test_round_trip_of_every_fixture(self):
        tried = 0
        for path in pybinding.seeds():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    profile = profconv.read(path, max_memory=64 << 20)
                except profconv.Error:
                    continue
                if "stacks" not in profile.facets:
                    with self.assertRaises(profconv.Error, msg=path):
                        profile.to_bytes("tree", prepare=False)
                    continue
                data = profile.to_bytes("tree")
                self.assertEqual(profconv.detect(data).name, "tree")
                back = profconv.read(data)
            tried += 1
            with self.subTest(path=path):
                self.assertEqual(by_name(back), by_name(profile))
                self.assertEqual([t[1:] for t in back.sample_types], [t[1:] for t in profile.sample_types])
                for i in range(len(profile.sample_types)):
                    self.assertEqual(back.total(i), profile.total(i))
                self.assertEqual(back.to_bytes("tree"), profconv.read(back.to_bytes("tree")).to_bytes("tree"))
                back.verify()
        self.assertGreater(tried, 25)

    def test_everywhere_a_format_goes(self):
        self.assertIn("tree", [f.name for f in profconv.formats()])
        row = {f.name: f for f in profconv.formats()}["tree"]
        self.assertEqual((row.can_read, row.can_write, row.needs, row.suffixes, row.aliases),
                         (True, True, ("stacks",), (".tree",), ("py-tree",)))
        data = profconv.convert(pybinding.COLLAPSED, to="py-tree")
        self.assertTrue(data.startswith(MAGIC))
        self.assertEqual(sorted(profconv.convert(data, to="collapsed").splitlines()),
                         sorted(pybinding.COLLAPSED.splitlines()))
        self.assertEqual(profconv.read(io.BytesIO(data)).total(), 18)
        merged = profconv.convert([data, data], to="collapsed")
        self.assertIn(b"main;work;compute 20\n", merged)

    def test_settings(self):
        profile = pybinding.synthetic(1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            data = profile.to_bytes("tree", types=["samples"], header="hello")
        self.assertIn(b"# hello\n", data)
        self.assertIn("tree-types", [w.message.cause for w in caught])
        self.assertEqual([t.name for t in profconv.read(data).sample_types], ["samples"])
        with self.assertRaises(profconv.InvalidError):
            profconv.read(data, strict="perhaps")

    def test_errors_name_the_place_and_chain(self):
        data = profconv.convert(pybinding.COLLAPSED, to="tree") + b"x y z\n"
        with self.assertRaises(profconv.FormatError) as caught:
            profconv.read(data)
        error = caught.exception
        self.assertEqual((error.format, error.status), ("tree", -5))
        self.assertEqual(error.line, data.count(b"\n"))
        cause = error.__cause__
        self.assertIsInstance(cause, profconv.FormatError)
        names = []
        trace = cause.__traceback__
        while trace:
            names.append(trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
        self.assertIn("read_tree", names)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            self.assertEqual(profconv.read(data, strict=False).total(), 18)
        self.assertEqual([w.message.cause for w in warned], ["tree-line"])

    def test_any_exception(self):
        with self.assertRaises(profconv.CallbackError) as caught:
            profconv.read(MAGIC + b"n 99 61 - 0\n")
        self.assertIsInstance(caught.exception.__cause__, (IndexError, ValueError))
        self.assertIn(type(caught.exception.__cause__).__name__, str(caught.exception))

    def test_builder_errors_are_the_error(self):
        def bad(file, builder):
            builder.stack(0, 12345)  # kept by the library; nobody looks

        profconv.register_reader("bad", bad)
        self.addCleanup(profconv.unregister, "bad")
        self.assertRaises(profconv.InvalidError, profconv.read, b"x", format="bad")


class Failing(unittest.TestCase):
    def with_reader(self, read, **keywords):
        registry = profconv.Registry()
        profconv.register_reader("mine", read, registry=registry, **keywords)
        return registry

    def test_interrupts_pass_through(self):
        for kind in (KeyboardInterrupt, SystemExit):
            def stop(file, builder):
                raise kind

            with self.assertRaises(kind):
                profconv.read(b"x", format="mine", registry=self.with_reader(stop))

    def test_a_writer_that_fails_leaves_nothing(self):
        def write(profile, file, report):
            file.write(b"half")
            raise RuntimeError("broken")

        registry = profconv.Registry()
        profconv.register_writer("mine", write, suffixes=[".mine"], registry=registry)
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.mine")
            with self.assertRaises(profconv.CallbackError) as caught:
                profconv.read(pybinding.COLLAPSED).write(path, registry=registry)
            self.assertEqual(os.listdir(folder), [])
        self.assertEqual(str(caught.exception.__cause__), "broken")
        self.assertEqual(caught.exception.format, "mine")

    def test_an_empty_result_is_an_error(self):
        registry = profconv.Registry()
        profconv.register_writer("mine", lambda profile, file, report: None, registry=registry)
        self.assertRaises(profconv.EmptyError, profconv.read(pybinding.COLLAPSED).to_bytes, "mine", registry=registry)

    def test_calls_within_callbacks(self):
        """A reader that uses the library itself; its inner failure is its own, and does not leak into the outer
        call."""
        def wrapped(file, builder):
            try:
                profconv.read(b"\x00\x00\x00", format="pprof")
            except profconv.Error:
                pass
            builder.merge(profconv.read(file.read()))

        self.assertEqual(profconv.read(pybinding.COLLAPSED, format="mine", registry=self.with_reader(wrapped)).total(),
                         18)

    def test_what_is_lent_is_gone_afterwards(self):
        kept = []

        def read(file, builder):
            kept.extend((file, builder))
            builder.merge(profconv.read(file.read()))

        profconv.read(pybinding.COLLAPSED, format="mine", registry=self.with_reader(read))
        self.assertRaises(ValueError, kept[0].read, 1)
        self.assertRaises(ValueError, kept[1].string, "x")

        views = []

        def write(profile, file, report):
            views.extend((profile, file, profile.values()))
            file.write(b"x")

        registry = profconv.Registry()
        profconv.register_writer("mine", write, registry=registry)
        with profconv.read(pybinding.COLLAPSED) as profile, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            profile.to_bytes("mine", registry=registry)
        gc.collect()
        self.assertRaises(ValueError, views[0].total)
        self.assertRaises(ValueError, views[1].write, b"x")
        self.assertEqual(sum(views[2]), 18)  # a copy

    def test_probes(self):
        calls = []

        def probe(head, whole):
            calls.append((bytes(head), whole))
            raise RuntimeError("a broken probe")

        registry = self.with_reader(lambda file, builder: None, probe=probe)
        hooked = []
        old, sys.unraisablehook = sys.unraisablehook, hooked.append
        try:
            self.assertEqual(registry.detect(pybinding.COLLAPSED).name, "collapsed")
        finally:
            sys.unraisablehook = old
        self.assertEqual(calls, [(pybinding.COLLAPSED, True)])
        self.assertEqual(str(hooked[0].exc_value), "a broken probe")

    def test_files(self):
        """Seeking, as far as the source has it."""
        def read(file, builder):
            assert file.peek(4)[:4] == b"main"
            file.seek(5)
            assert file.tell() == 5 and file.readline() == b"work;compute 10\n"
            file.seek(-2, os.SEEK_END)
            assert file.read() == b"3\n" and file.read() == b""
            file.seek(0)
            builder.merge(profconv.read(file.read()))

        self.assertEqual(profconv.read(pybinding.COLLAPSED, format="mine", registry=self.with_reader(read)).total(), 18)

    def test_registration_errors(self):
        with self.assertRaises(profconv.InvalidError):
            profconv.register_reader("pprof", lambda file, builder: None)
        with self.assertRaises(profconv.InvalidError):
            profconv.register_reader("mine", lambda file, builder: None, settings=[("Bad Name",)])
        with self.assertRaises(profconv.InvalidError):
            profconv.register_reader("mine", lambda file, builder: None, produces=["colours"])
        self.assertRaises(profconv.InvalidError, profconv.unregister, "mine")
        self.assertEqual(profconv.read(pybinding.COLLAPSED).total(), 18)  # the registry is as it was

    def test_a_registry_lets_go_of_its_callbacks(self):
        class Reader:
            def __call__(self, file, builder):
                builder.merge(profconv.read(file.read()))

        reader = Reader()
        gone = weakref.ref(reader)
        registry = self.with_reader(reader)
        del reader
        gc.collect()
        self.assertEqual(profconv.read(pybinding.COLLAPSED, format="mine", registry=registry).total(), 18)
        del registry
        gc.collect()
        self.assertIsNone(gone())


if __name__ == "__main__":
    unittest.main()
