#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes page.h: the style sheet and the script of the flame graph's page as C strings, a line each, and their hashes for the
page's content security policy. Run it after a change to page/*; a test compares. With --check: status 1 where page.h is not current.
"""
import base64
import hashlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
HEAD = """/* SPDX-License-Identifier: MIT
 *
 * Made by embed.py from page/flame.css and page/flame.js: do not edit.
 */
#ifndef PFC_VIEWERS_PAGE_H
#define PFC_VIEWERS_PAGE_H

/* clang-format off */
"""


def array(name, data):
    lines = data.decode("utf-8").splitlines(keepends=True)
    out = [f"static const char *const {name}[] = {{"]
    for line in lines:
        text = "".join(
            {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}.get(c) or (c if 32 <= ord(c) < 127 and c != "?" else
             "".join(f"\\{b:03o}" for b in c.encode("utf-8"))) for c in line)
        out.append(f'    "{text}",')
    digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
    return "\n".join(out + ["};", f'static const char {name}_hash[] = "sha256-{digest}";', ""])


def main():
    parts = []
    for name in ("css", "js"):
        with open(os.path.join(HERE, "page", f"flame.{name}"), "rb") as file:
            parts.append(array(f"flame_{name}", file.read()))
    text = HEAD + "\n".join(parts) + "/* clang-format on */\n\n#endif\n"
    path = os.path.join(HERE, "page.h")
    if sys.argv[1:] == ["--check"]:
        with open(path) as file:
            return 0 if file.read() == text else 1
    with open(path, "w") as file:
        file.write(text)
    return 0


sys.exit(main())
