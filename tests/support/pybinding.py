# SPDX-License-Identifier: MIT
"""What the tests of the Python package share: where it and the library are, small inputs, and the interpreter to use."""
import glob
import os
import subprocess
import sys

SOURCE = os.environ.get("PROFCONV_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("PROFCONV_BUILD") or os.path.join(SOURCE, "build")
PACKAGE = os.path.join(SOURCE, "bindings", "python")


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def start():
    """Makes `import profconv` take the package of this tree and the library of this build."""
    library = os.path.join(BUILD, "libprofconv.so")
    if os.environ.get("PROFCONV_SANITIZED"):
        skip("a sanitized library cannot be loaded into python3 without its runtime")
    if not os.path.exists(library):
        skip(f"there is no shared library in {BUILD}")
    os.environ["PROFCONV_LIBRARY"] = library
    sys.path.insert(0, PACKAGE)


def interpreter_with(module):
    """A python3 that has `module`: this one, or Debian's, which has what apt installed. None without."""
    for path in (sys.executable, "/usr/bin/python3"):
        if os.path.exists(path) and subprocess.run([path, "-c", f"import {module}"], stdout=subprocess.DEVNULL,
                                                   stderr=subprocess.DEVNULL).returncode == 0:
            return path
    return None


def run_under(module):
    """Runs this test again under an interpreter that has `module`, when this one has not; skips when none has."""
    path = interpreter_with(module)
    if path is None:
        skip(f"no python3 here has the module {module}")
    if os.path.realpath(path) != os.path.realpath(sys.executable):
        os.execv(path, [path, *sys.argv])


def seeds(*formats):
    """The fixtures of these formats, or of all."""
    folders = formats or sorted(os.listdir(os.path.join(SOURCE, "fuzz", "seeds")))
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(SOURCE, "fuzz", "seeds", folder, "*"))):
            if os.path.isfile(path):
                yield path


COLLAPSED = b"main;work;compute 10\nmain;work;sort 5\nmain;idle 3\n"


def synthetic(number, stacks=40):
    """A pprof of its own, the same for the same number; neighbours share most of their functions."""
    import profconv

    with profconv.Builder() as b:
        b.set_info(time_ns=1_700_000_000_000_000_000 + number, duration_ns=1_000_000_000, period=10_000_000,
                   period_type="cpu", period_unit="nanoseconds")
        b.sample_type("samples", "count", role="count")
        b.sample_type("cpu", "nanoseconds", role="weight")
        binary = b.mapping("/usr/bin/server", start=0x400000, limit=0x800000, build_id="0123456789abcdef", kind="executable",
                           flags=profconv._abi.MAPPING_MAIN)
        root = 0
        for k in range(stacks):
            n = (number * 7 + k * 11) % 97
            function = b.function(f"work_{n}", file=f"src/part{n % 5}.c", start_line=10 * n)
            location = b.location(0x400000 + 16 * n, binary, [(function, 10 * n + 3)])
            if k % 8 == 0:
                root = b.stack(0, location)
            stack = b.stack(root, location)
            labels = b.label_set({"thread": f"worker-{number % 3}"}) if k % 2 else 0
            b.sample(stack, (1 + k % 4, (1 + k % 4) * 10_000_000), labels)
        return b.freeze()
