#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""10,000 cycles of reading, looking, writing, failing and freeing leave the memory of the process where it was."""
import gc
import io
import os
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import pybinding  # noqa: E402

pybinding.start()
import profconv  # noqa: E402

CYCLES = 10_000
PART = 1_000
MOST = 1 << 20  # bytes the process may grow by in the last nine parts: 100 bytes a cycle would be seen


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def cycle(i, data, registry):
    profile = profconv.read(data if i % 2 else io.BytesIO(data))
    values = profile.values("cpu")
    total = sum(values)
    if i % 3 == 0:
        profile.close()  # the column keeps the memory
    assert sum(values) == total
    del profile, values
    if i % 10 == 0:
        try:
            profconv.read(data[:100], format="pprof")
        except profconv.FormatError:
            pass
        profconv.read(profconv.read(data).to_bytes("mine", registry=registry), format="mine", registry=registry)
    if i % 50 == 0:
        profconv.unregister("mine", registry=registry)
        register(registry)
    if i % 100 == 0:
        profile = profconv.merge([data, data])
        profile.top()
        profconv.diff(profile, profile)
        profile.scale(2).to_bytes("pprof", level=1)
        try:
            profconv.read(b"x", format="failing", registry=registry)
        except profconv.CallbackError:
            pass


def register(registry):
    def read(file, builder):
        builder.merge(profconv.read(file.read()))

    def write(profile, file, report):
        assert sum(profile.values("cpu"))
        file.write(profile.to_bytes("pprof"))

    profconv.register_reader("mine", read, registry=registry)
    profconv.register_writer("mine", write, keeps=("symbols", "addresses", "lines", "stacks", "labels"),
                             registry=registry)


def main():
    if not os.path.exists("/proc/self/statm"):
        pybinding.skip("no /proc/self/statm")
    warnings.simplefilter("ignore")
    data = pybinding.synthetic(1).to_bytes("pprof", compress=False)
    registry = profconv.Registry()
    register(registry)

    def failing(file, builder):
        raise RuntimeError("always")

    profconv.register_reader("failing", failing, registry=registry)
    marks = []
    for i in range(CYCLES):
        cycle(i, data, registry)
        if (i + 1) % PART == 0:
            gc.collect()
            marks.append(resident())
    grown = marks[-1] - marks[0]
    print(f"{CYCLES} cycles; after each {PART}: {', '.join(str(m >> 10) for m in marks)} KiB; grown by {grown} bytes")
    return 1 if grown > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
