#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package's view of the C interface is that of the headers: constants, structs (names, order, types),
functions; and what the compiler makes of the structs (sizes, offsets) and constants (values)."""
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import cheaders  # noqa: E402
import pybinding  # noqa: E402

sys.path.insert(0, os.path.join(pybinding.PACKAGE, "profconv"))
import _abi as abi  # noqa: E402  without the package: no library is needed

INCLUDE = os.path.join(pybinding.SOURCE, "include")
problems = []


def check(ok, text):
    if not ok:
        problems.append(text)


def resolve(spelling):
    """The ctypes type that a spelling of cheaders means; its classes are those of _abi."""
    names = {name: getattr(ctypes, name) for name in ("CFUNCTYPE", "POINTER")}
    names.update({name: getattr(ctypes, name) for name in dir(ctypes) if name.startswith("c_")})
    names.update(vars(abi))
    return eval(spelling, names)


def same(a, b):
    """ctypes makes array and function types once for each shape, so equal ones are identical."""
    return a is b


def constants(headers):
    have = {name: value for name, value in vars(abi).items() if name.isupper() and isinstance(value, int)}
    want = {name[len("PROFCONV_"):]: value for name, value in headers.constants.items() if "_VERSION_" not in name}
    want["NO_OFFSET"] = 2**64 - 1
    for name in sorted(set(have) | set(want)):
        check(have.get(name) == want.get(name),
              f"constant {name}: {have.get(name)} here, {want.get(name)} in the headers")


def structs(headers):
    have = {name for name, value in vars(abi).items() if isinstance(value, type) and
            issubclass(value, ctypes.Structure) and
            value is not ctypes.Structure}
    want = {cheaders.class_name(name) for name in headers.structs}
    check(have == want, f"structs: only here {sorted(have - want)}, only in the headers {sorted(want - have)}")
    for name, members in headers.structs.items():
        struct = getattr(abi, cheaders.class_name(name), None)
        if struct is None:
            continue
        fields = [(m, t) for m, t, *_ in struct._fields_]
        check([m for m, _ in fields] == [m for m, _ in members],
              f"{name}: members {[m for m, _ in fields]} here, {[m for m, _ in members]} in the header")
        for (member, have_type), (_, spelling) in zip(fields, members):
            check(same(have_type, resolve(spelling)), f"{name}.{member}: {have_type} here, {spelling} in the header")


def functions(headers):
    have, want = set(abi.FUNCTIONS), set(headers.functions)
    check(have == want, f"functions: only here {sorted(have - want)}, only in the headers {sorted(want - have)}")
    for name in sorted(have & want):
        result, arguments, variadic = headers.functions[name]
        have_result, have_arguments = abi.FUNCTIONS[name]
        check(same(have_result, resolve(result)), f"{name}: result {have_result} here, {result} in the header")
        check((have_arguments[-1:] == [...]) == variadic, f"{name}: '...' differs")
        plain = [a for a in have_arguments if a is not ...]
        check(len(plain) == len(arguments) and all(same(a, resolve(b)) for a, b in zip(plain, arguments)),
              f"{name}: {plain} here, {arguments} in the header")


def layout(headers):
    """What the compiler says, without the parser of this test but for the names."""
    compiler = shutil.which(os.environ.get("PROFCONV_CC", "cc")) or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        print("no C compiler: sizes and offsets are not compared")
        return 0
    lines = ["#include <stddef.h>", "#include <stdio.h>", "#include <profconv/profconv.h>",
             "#include <profconv/plugin.h>",
             "int main(void) {"]
    want = {}
    for name, members in headers.structs.items():
        struct = getattr(abi, cheaders.class_name(name))
        want[name] = ctypes.sizeof(struct)
        lines.append(f'    printf("{name} %zu\\n", sizeof({name}));')
        for member, *_ in struct._fields_:
            field = getattr(struct, member)
            want[f"{name}.{member}"] = (field.offset, field.size)
            lines.append(f'    printf("{name}.{member} %zu %zu\\n", offsetof({name}, {member}), '
                         f'sizeof((({name} *)0)->{member}));')
    for name in headers.constants:
        if "_VERSION_" not in name:
            want[name] = getattr(abi, name[len("PROFCONV_"):])
            lines.append(f'    printf("{name} %lld\\n", (long long){name});')
    lines += ["    return 0;", "}"]
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "layout.c"), os.path.join(folder, "layout")
        with open(source, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        subprocess.run([compiler, "-std=c11", "-I", INCLUDE, "-o", program, source], check=True)
        output = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in output.splitlines():
        name, *numbers = line.split()
        have = want.pop(name)
        numbers = tuple(map(int, numbers))
        check(numbers == (have if isinstance(have, tuple) else (have,)),
              f"{name}: {have} here, {numbers} for the compiler")
    check(not want, f"the compiler said nothing about {sorted(want)}")
    return len(output.splitlines())


def drift_is_seen():
    """The comparison itself: a header with one more member, another type, another value and another argument."""
    text = {"int a; uint32_t b;": [("a", "c_int"), ("b", "c_uint32")], "uint32_t a;": [("a", "c_uint32")]}
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "profconv"))
        for body, members in text.items():
            with open(os.path.join(folder, "profconv", "x.h"), "w", encoding="utf-8") as file:
                file.write("typedef struct profconv_string { const char *data; size_t size; } profconv_string;\n"
                           f"typedef struct profconv_x {{ {body} }} profconv_x;\n"
                            f"enum {{ PROFCONV_ONE = 1 << 3, PROFCONV_TWO }};\n"
                           "PROFCONV_API int profconv_f(const profconv_x *x, void (*g)(void *user, size_t n), ...);\n")
            headers = cheaders.Headers(folder)
            assert headers.structs["profconv_x"] == members, headers.structs
            assert headers.constants == {"PROFCONV_ONE": 8, "PROFCONV_TWO": 9}
            assert headers.functions["profconv_f"] == ("c_int", ["POINTER(X)", "CFUNCTYPE(None, c_void_p, c_size_t)"],
                                                       True)


def main():
    headers = cheaders.Headers(INCLUDE)
    drift_is_seen()
    constants(headers)
    structs(headers)
    functions(headers)
    compared = layout(headers) if not problems else 0
    for problem in problems:
        print(problem)
    print(f"{len(headers.functions)} functions, {len(headers.structs)} structs, {len(headers.constants)} constants, "
          f"{compared} facts of the compiler, {len(problems)} problems")
    return 1 if problems or len(headers.functions) < 150 or len(headers.structs) < 30 else 0


if __name__ == "__main__":
    sys.exit(main())
