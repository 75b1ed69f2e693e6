# SPDX-License-Identifier: MIT
"""Version 61 of the Firefox Profiler's processed format, as far as we write it: what must be there, and how to read stacks back."""

INT, NUMBER, BOOL, TEXT, NONE = "int", "number", "bool", "text", "none"


def is_a(value, *kinds):
    found = (NONE if value is None else BOOL if isinstance(value, bool) else INT if isinstance(value, int) else
             NUMBER if isinstance(value, float) else TEXT if isinstance(value, str) else "?")
    return found in kinds or (found == INT and NUMBER in kinds)


COLUMNS = {
    "stackTable": {"frame": (INT,), "prefix": (INT, NONE)},
    "frameTable": {"address": (INT,), "inlineDepth": (INT,), "category": (INT, NONE), "subcategory": (INT, NONE), "func": (INT,),
                   "nativeSymbol": (INT, NONE), "innerWindowID": (INT, NONE), "line": (INT, NONE), "column": (INT, NONE)},
    "funcTable": {"name": (INT,), "isJS": (BOOL,), "relevantForJS": (BOOL,), "resource": (INT,), "source": (INT, NONE),
                  "lineNumber": (INT, NONE), "columnNumber": (INT, NONE)},
    "resourceTable": {"lib": (INT, NONE), "name": (INT,), "host": (INT, NONE), "type": (INT,)},
    "nativeSymbols": {"libIndex": (INT,), "address": (INT,), "name": (INT,), "functionSize": (INT, NONE)},
    "sources": {"id": (TEXT, NONE), "filename": (INT,), "startLine": (INT,), "startColumn": (INT,), "sourceMapURL": (INT, NONE)},
}
SAMPLES = {"stack": (INT, NONE), "time": (NUMBER,), "weight": (NUMBER,)}
MARKERS = {"data": (), "name": (INT,), "startTime": (NUMBER, NONE), "endTime": (NUMBER, NONE), "phase": (INT,), "category": (INT,)}
META = {"version": (INT,), "preprocessedProfileVersion": (INT,), "product": (TEXT,), "interval": (NUMBER,), "startTime": (NUMBER,),
        "processType": (INT,), "stackwalk": (INT,), "symbolicated": (BOOL,), "importedFrom": (TEXT,)}
THREAD = {"name": (TEXT,), "processType": (TEXT,), "pid": (TEXT,), "tid": (INT, TEXT), "isMainThread": (BOOL,),
          "processStartupTime": (NUMBER,), "processShutdownTime": (NUMBER, NONE), "registerTime": (NUMBER,),
          "unregisterTime": (NUMBER, NONE)}
LIB = {"arch": (TEXT,), "name": (TEXT,), "path": (TEXT,), "debugName": (TEXT,), "debugPath": (TEXT,), "breakpadId": (TEXT,),
       "codeId": (TEXT, NONE)}
COLORS = {"transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown", "magenta", "red", "lightred", "darkgrey",
          "grey"}


def has(entry, shape, what, check):
    for key, kinds in shape.items():
        check(key in entry and is_a(entry[key], *kinds), f"{what}.{key}: {entry.get(key)!r}")


def table(entry, columns, what, check):
    length = entry.get("length")
    check(set(entry) - {"length", "weightType"} == set(columns), f"{what}: columns {sorted(entry)}")
    for name, kinds in columns.items():
        column = entry.get(name, [])
        check(len(column) == length, f"{what}.{name}: {len(column)} rows, not {length}")
        check(all(is_a(v, *kinds) for v in column), f"{what}.{name}: not all of {kinds}")


def within(column, rows, what, check, least=0):
    check(all(v is None or least <= v < rows for v in column), f"{what}: an index outside of 0 to {rows}")


def valid(profile, check):
    meta, shared, libs = profile["meta"], profile["shared"], profile["libs"]
    has(meta, META, "meta", check)
    check(meta["preprocessedProfileVersion"] == 61, "the version")
    check(meta["interval"] > 0 and meta["markerSchema"] == [], "interval and schema of markers")
    for c in meta["categories"]:
        check(c["color"] in COLORS and c["subcategories"][0] == "Other" and c["name"], f"category {c}")
    check(any(c["color"] == "grey" for c in meta["categories"]), "a grey category is the default")
    for lib in libs:
        has(lib, LIB, "lib", check)
    check(all(isinstance(s, str) for s in shared["stringArray"]) and len(set(shared["stringArray"])) == len(shared["stringArray"]),
          "strings, each once")
    for name, columns in COLUMNS.items():
        table(shared[name], columns, name, check)
    strings = len(shared["stringArray"])
    frames, funcs, stacks = shared["frameTable"], shared["funcTable"], shared["stackTable"]
    within(stacks["frame"], frames["length"], "stackTable.frame", check)
    check(all(p is None or 0 <= p < i for i, p in enumerate(stacks["prefix"])), "callers come before what they call")
    within(frames["func"], funcs["length"], "frameTable.func", check)
    within(frames["category"], len(meta["categories"]), "frameTable.category", check)
    within(funcs["name"], strings, "funcTable.name", check)
    within(funcs["source"], shared["sources"]["length"], "funcTable.source", check)
    within(funcs["resource"], shared["resourceTable"]["length"], "funcTable.resource", check, -1)
    within(shared["resourceTable"]["lib"], len(libs), "resourceTable.lib", check)
    within(shared["resourceTable"]["name"], strings, "resourceTable.name", check)
    within(shared["sources"]["filename"], strings, "sources.filename", check)
    pairs = list(zip(stacks["prefix"], stacks["frame"]))
    check(len(set(pairs)) == len(pairs), "stacks, each once")
    check(len(profile["threads"]) > 0, "threads")
    for thread in profile["threads"]:
        has(thread, THREAD, "thread", check)
        table(thread["samples"], SAMPLES, "samples", check)
        table(thread["markers"], MARKERS, "markers", check)
        check(thread["samples"]["weightType"] in ("samples", "tracing-ms", "bytes"), "weightType")
        within(thread["samples"]["stack"], stacks["length"], "samples.stack", check)
        times = thread["samples"]["time"]
        check(all(a <= b for a, b in zip(times, times[1:])), "samples in the order of time")
    check(all(0 <= i < len(profile["threads"]) for i in meta["initialSelectedThreads"]), "threads that are selected")


def stack(profile, index):
    """The frames of a stack, root first."""
    shared, out = profile["shared"], []
    strings, funcs, frames = shared["stringArray"], shared["funcTable"], shared["frameTable"]
    while index is not None:
        frame = shared["stackTable"]["frame"][index]
        func = frames["func"][frame]
        source, resource = funcs["source"][func], funcs["resource"][func]
        out.append({"name": strings[funcs["name"][func]], "category": frames["category"][frame], "line": frames["line"][frame],
                    "inlineDepth": frames["inlineDepth"][frame], "lineNumber": funcs["lineNumber"][func],
                    "source": strings[shared["sources"]["filename"][source]] if source is not None else None,
                    "resource": strings[shared["resourceTable"]["name"][resource]] if resource >= 0 else None})
        index = shared["stackTable"]["prefix"][index]
    return out[::-1]


def samples(profile, thread):
    """[(names root first, weight, time)] of a thread."""
    table = thread["samples"]
    return [(tuple(f["name"] for f in stack(profile, s)), w, t) for s, w, t in zip(table["stack"], table["weight"], table["time"])]
