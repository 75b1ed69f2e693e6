# SPDX-License-Identifier: MIT
"""The named tuples that calls return. Apart from the rest, and imported when the first one is made: a script that reads
a profile and takes a column needs none of them."""
from __future__ import annotations

from collections import namedtuple

Note = namedtuple("Note", "kind cause message count weight offset line")
Note.__doc__ = """What a conversion noted. kind: "info", "warning", "dropped" (samples that could not be used: count and
weight) or "lost" (what the target cannot hold); cause: a stable short key; offset and line: of the first one, or
None."""

Frame = namedtuple("Frame", "name file line column address mapping inlined location function")
Frame.__doc__ = """A frame of a stack. name: of the function, or None; mapping: the file, or None; inlined: into the
frame that follows."""

Info = namedtuple("Info",
                  "time_ns duration_ns period period_type period_unit default_sample_type drop_frames keep_frames "
                  "doc_url source_flags facets")
Info.__doc__ = "Facts about a profile as a whole."

Sample = namedtuple("Sample", "id stack label_set values")
Sample.__doc__ = "A row of the samples; values: one for each sample type."

Setting = namedtuple("Setting", "name type default choices help", defaults=("string", None, (), ""))
Setting.__doc__ = """A setting of a format or pass. type: "bool", "int", "float", "string", "enum" (one of `choices`) or
"list"."""

Format = namedtuple("Format",
                    "name description aliases suffixes can_read can_write produces needs keeps improves binary "
                    "labels reader_settings writer_settings")
Format.__doc__ = """A format. produces: facets that its reader gives; needs, keeps, improves: facets that its writer
cannot do without, can hold, and wants; labels: keys that it holds by default, or None for all."""

CheckResult = namedtuple("CheckResult", "ok reason notes")
CheckResult.__doc__ = """ok: the consumer will take the profile; reason: the first one why not, or None; notes: every
finding."""
