#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library's objects hold no writable data, and refer to nothing that a library must leave to its caller: standard
streams, the environment, the locale, exits, loading code. Memory comes from one file. Read from the objects with nm.
"""
import os
import re
import shutil
import subprocess
import sys

BUILD = os.environ.get("PROFCONV_BUILD", "")
OBJECTS = os.path.join(BUILD, "CMakeFiles", "profconv_objects.dir")

# .data.rel.ro is constant tables with pointers in them: written by the dynamic linker before the program runs, then read-only.
CONSTANT = re.compile(r"^\.(data\.rel\.ro|rodata|text|eh_frame|init_array|fini_array)")
WRITABLE = re.compile(r"^(\.(data|bss|tdata|tbss|tm_clone_table)|\*COM\*)")

FORBIDDEN = {
    # ending the process, or deciding how it ends
    "abort", "exit", "_exit", "_Exit", "quick_exit", "atexit", "raise", "kill", "signal", "sigaction", "__assert_fail", "err",
    "errx", "error",
    # the environment and the locale (and what depends on it)
    "getenv", "secure_getenv", "setenv", "putenv", "environ", "setlocale", "localeconv", "newlocale", "uselocale",
    "nl_langinfo", "strtod", "strtof", "strtold", "atof", "sscanf", "vsscanf", "fscanf", "scanf", "strcoll", "strftime",
    "strerror", "strerror_l", "perror", "isalpha", "isdigit", "isalnum", "isspace", "toupper", "tolower", "strcasecmp",
    "strncasecmp", "mbtowc", "mbstowcs", "__ctype_b_loc", "__ctype_tolower_loc", "__ctype_toupper_loc", "gettext", "dcgettext",
    # standard streams
    "stdin", "stdout", "stderr", "printf", "vprintf", "puts", "putchar", "getchar", "warn", "warnx", "syslog",
    # loading code, starting processes
    "dlopen", "dlsym", "system", "popen", "fork", "vfork", "execve", "execvp", "execl", "execlp", "posix_spawn", "posix_spawnp",
    # hidden state in libc
    "strtok", "localtime", "gmtime", "ctime", "asctime", "rand", "srand", "random", "srandom", "readdir_r", "getpwuid",
    "umask", "chdir", "tmpnam", "mktemp", "setrlimit",
}
MEMORY = {"malloc", "calloc", "realloc", "reallocarray", "free", "strdup", "strndup", "asprintf", "vasprintf", "getline",
          "getdelim", "posix_memalign", "aligned_alloc", "scandir", "realpath", "open_memstream"}
# Who may call them: the one file behind every allocation, and symbolize/ for what libelf and libiberty hand over to be freed,
# and for resolving a path into a buffer of its own.
MEMORY_HOMES = [("libprofconv/base/blocks.c.o", MEMORY), ("libprofconv/symbolize/", {"free", "realpath"})]


def plain(symbol):
    """The function behind glibc's names for it: __printf_chk, __isoc99_sscanf, open64@GLIBC, ..."""
    symbol = symbol.split("@")[0]
    match = re.match(r"^__(\w+)_chk$", symbol) or re.match(r"^__isoc\d+_(\w+)$", symbol)
    return match.group(1) if match else symbol


def symbols(paths):
    """For each object: (name, class, section) of each symbol."""
    out = subprocess.run(["nm", "-f", "sysv", *paths], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = {}
    for line in out.splitlines():
        heading = re.match(r"^(?:Undefined symbols|Symbols) from (.*):$", line)
        if heading:
            current = found.setdefault(heading.group(1), [])
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 7 and fields[0] != "Name":
            current.append((fields[0], fields[2], fields[6]))
    return found


def check(found, name):
    problems = []
    for symbol, kind, section in found:
        if kind == "U":
            function = plain(symbol)
            if function in FORBIDDEN:
                problems.append(f"{name}: refers to {symbol}")
            home = any(name.startswith(prefix) and function in names for prefix, names in MEMORY_HOMES)
            if function in MEMORY and not home:
                problems.append(f"{name}: refers to {symbol}; memory comes from pfc_mem")
        elif kind in "DdBbCSsGg" and not CONSTANT.match(section):
            if WRITABLE.match(section) or kind in "Cc":
                problems.append(f"{name}: writable data '{symbol}' in {section}")
    return problems


def main():
    if os.environ.get("PROFCONV_SANITIZED"):
        print("the sanitizers' own data is in the objects")
        return 77
    if not shutil.which("nm"):
        print("nm is not installed")
        return 77
    objects = []
    for folder, _, names in os.walk(OBJECTS):
        objects += [os.path.join(folder, name) for name in names if name.endswith(".o")]
    if len(objects) < 10:
        print(f"{len(objects)} objects in {OBJECTS}; the whole library was expected")
        return 1
    problems = []
    counted = 0
    owners = {}
    held = symbols(objects)
    if len(held) != len(objects):
        problems.append(f"nm told of {len(held)} objects, {len(objects)} are there")
    for path, found in sorted(held.items()):
        name = os.path.relpath(path, OBJECTS)
        problems += check(found, name)
        counted += len(found)
        for symbol, kind, _ in found:
            if kind in "TDBRV" and owners.setdefault(symbol, name) != name:
                problems.append(f"{symbol} is defined in {owners[symbol]} and in {name}")
    for text in problems:
        print(text)
    print(f"{len(objects)} objects, {counted} symbols, {len(problems)} problems")
    return 1 if problems or counted < 1000 else 0


if __name__ == "__main__":
    sys.exit(main())
