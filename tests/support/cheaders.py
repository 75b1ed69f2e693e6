#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the public headers declare: constants, structs and functions, each type spelled the way ctypes spells it.

Understands the plain style of include/profconv/*.h, and raises ValueError for what it does not understand, so that nothing is
passed over.

    cheaders.py include > bindings/python/profconv/_abi.py
"""
import glob
import os
import re

SCALARS = {
    "int": "c_int", "unsigned": "c_uint", "char": "c_char", "double": "c_double", "size_t": "c_size_t",
    "int64_t": "c_int64", "uint64_t": "c_uint64", "uint32_t": "c_uint32", "int32_t": "c_int32", "uint8_t": "c_uint8",
    "profconv_id": "c_uint32",
}


class Headers:
    def __init__(self, folder):
        self.constants = {}   # name: value
        self.structs = {}     # name: [(member, type)]
        self.functions = {}   # name: (result, [types], variadic)
        self.enums = set()
        self.opaque = set()
        text = ""
        for path in sorted(glob.glob(os.path.join(folder, "profconv", "*.h"))):
            with open(path, encoding="utf-8") as file:
                text += file.read() + "\n"
        self._parse(self._strip(text))

    def _strip(self, text):
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        text = re.sub(r"//[^\n]*", "", text)
        for name, value in re.findall(r"^#define (PROFCONV_VERSION_\w+) (\d+)$", text, flags=re.M):
            self.constants[name] = int(value)
        text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", "", text, flags=re.M)
        text = re.sub(r"PROFCONV_PRINTF\([^)]*\)", "", text)
        return re.sub(r'extern "C" \{', "", text)

    def _parse(self, text):
        for name in re.findall(r"typedef struct (\w+) \1;", text):
            self.opaque.add(name)
        for _tag, body, name in re.findall(r"typedef enum (\w+) \{(.*?)\}\s*(\w+);", text, flags=re.S):
            self.enums.add(name)
            self._enum(body)
        for body in re.findall(r"\benum \{(.*?)\};", text, flags=re.S):
            self._enum(body)
        structs = re.findall(r"typedef struct (\w+) \{(.*?)\}\s*\1;", text, flags=re.S)
        self.opaque -= {name for name, _ in structs}
        self._known = [name for name, _ in structs]
        for name, body in structs:
            self.structs[name] = [self._member(m) for m in self._statements(body)]
        # Counted bytes, which may hold a NUL: an address, not text.
        self.structs["profconv_string"] = [(m, "c_void_p" if m == "data" else t) for m, t in self.structs["profconv_string"]]
        for declaration in re.findall(r"PROFCONV_API\b(.*?);", text, flags=re.S):
            self._function(" ".join(declaration.split()))

    @staticmethod
    def _statements(body):
        return [" ".join(s.split()) for s in body.split(";") if s.strip()]

    def _enum(self, body):
        value = -1
        for item in (i.strip() for i in body.split(",")):
            if not item:
                continue
            name, _, expression = (part.strip() for part in item.partition("="))
            if expression:
                if not re.fullmatch(r"[-\d\w\s()<|+]+", expression):
                    raise ValueError(f"cannot read the value of {name}: {expression}")
                value = eval(expression, {"__builtins__": {}}, dict(self.constants))  # digits, names and operators only
            else:
                value += 1
            self.constants[name] = value

    def _member(self, text):
        pointer = re.fullmatch(r"(.+?)\(\*(\w+)\)\((.*)\)", text)
        if pointer:
            result, name, parameters = pointer.groups()
            return name, self._callback(result.strip(), parameters)
        array = re.fullmatch(r"(.+?)\b(\w+)\[(\w+)\]", text)
        if array:
            kind, name, count = array.groups()
            return name, f"{self.type(kind.strip())} * {self.constants.get(count, count)}"
        kind, name = re.fullmatch(r"(.*[\s*])(\w+)", text).groups()
        return name, self.type(kind.strip())

    def _callback(self, result, parameters):
        types = [self.type(result)] + self._parameters(parameters)[0]
        return f"CFUNCTYPE({', '.join(types)})"

    def _parameters(self, text):
        types = []
        variadic = False
        for part in self._split(text):
            if part == "void":
                continue
            if part == "...":
                variadic = True
                continue
            pointer = re.fullmatch(r"(.+?)\(\*(\w+)\)\((.*)\)", part)
            if pointer:
                types.append(self._callback(pointer.group(1).strip(), pointer.group(3)))
                continue
            kind, _name = re.fullmatch(r"(.*[\s*])(\w+)", part).groups()
            types.append(self.type(kind.strip()))
        return types, variadic

    @staticmethod
    def _split(text):
        depth, start, parts = 0, 0, []
        for i, c in enumerate(text + ","):
            depth += (c == "(") - (c == ")")
            if c == "," and depth == 0:
                parts.append(text[start:i].strip())
                start = i + 1
        return [p for p in parts if p]

    def _function(self, text):
        match = re.fullmatch(r"(.*[\s*])(profconv_\w+)\((.*)\)", text)
        if not match:
            raise ValueError(f"cannot read the declaration: {text}")
        result, name, parameters = match.groups()
        types, variadic = self._parameters(parameters)
        self.functions[name] = (self.type(result.strip()), types, variadic)

    def type(self, text):
        """The ctypes spelling. Bytes and handles are addresses (c_void_p), text is c_char_p, rows are POINTER(row)."""
        stars = text.count("*")
        base = " ".join(w for w in text.replace("*", " ").split() if w not in ("const", "struct"))
        if base == "void":
            return {0: "None", 1: "c_void_p", 2: "POINTER(c_void_p)"}[stars]
        if base == "char" and stars:
            return {1: "c_char_p", 2: "POINTER(c_char_p)"}[stars]
        if base == "uint8_t" and stars:
            return {1: "c_void_p", 2: "POINTER(c_void_p)"}[stars]
        if base in self.opaque:
            return {1: "c_void_p", 2: "POINTER(c_void_p)"}[stars]
        if base in self.enums:
            plain = "c_int"
        elif base in SCALARS:
            plain = SCALARS[base]
        elif base in self._known:
            plain = class_name(base)
        else:
            raise ValueError(f"unknown type: {text}")
        for _ in range(stars):
            plain = f"POINTER({plain})"
        return plain


def class_name(struct):
    return struct[len("profconv_"):].title().replace("_", "")


# ---- bindings/python/profconv/_abi.py, made from the headers ----

INTRODUCTION = '''# SPDX-License-Identifier: MIT
"""The C interface as ctypes sees it: every constant, struct and function of include/profconv/*.h, and nothing else.

Made by tests/support/cheaders.py; tests/python/test_signatures.py compares it with the headers, and with the
sizes and offsets that the C compiler gives. Handles and bytes are addresses (c_void_p), text is c_char_p.
"""
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32,
                    c_uint64, c_void_p)
'''


def filled(prefix, items, end, width=118):
    lines, line = [], prefix
    for i, item in enumerate(items):
        item += ", " if i < len(items) - 1 else end
        if len(line) + len(item.rstrip()) > width:
            lines.append(line.rstrip())
            line = " " * len(prefix)
        line += item
    return "\n".join(lines + [line.rstrip()]) + "\n"


def module_text(headers):
    out = [INTRODUCTION, "\n# ---- constants ----\n"]
    out += [f"{name[len('PROFCONV_'):]} = {value}\n" for name, value in headers.constants.items() if "_VERSION_" not in name]
    out += ["NO_OFFSET = 2**64 - 1\n", "\n\n# ---- structs ----\n"]
    done = set()

    def emit(name):
        """A struct, after those that it refers to."""
        if name in done:
            return
        done.add(name)
        for _, kind in headers.structs[name]:
            for other in headers.structs:
                if re.search(rf"\b{class_name(other)}\b", kind):
                    emit(other)
        out.append(f"\n\nclass {class_name(name)}(Structure):\n")
        out.append(filled("    _fields_ = [", [f'("{m}", {t})' for m, t in headers.structs[name]], "]"))

    for name in headers.structs:
        emit(name)
    out.append('\n\n# ---- functions: (result, [arguments]); a last ... takes more ----\n\nFUNCTIONS = {\n')
    for name, (result, types, variadic) in headers.functions.items():
        items = types + (["..."] if variadic else [])
        start = f'    "{name}": ({result}, ['
        out.append(filled(start, items, "]),") if items else start + "]),\n")
    out.append("}\n")
    return "".join(out)


if __name__ == "__main__":
    import sys

    sys.stdout.write(module_text(Headers(sys.argv[1])))
