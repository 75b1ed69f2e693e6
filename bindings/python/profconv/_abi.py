# SPDX-License-Identifier: MIT
"""The C interface as ctypes sees it: every constant, struct and function of include/profconv/*.h, and nothing else.

Made by tests/support/cheaders.py; tests/python/test_signatures.py compares it with the headers, and with the
sizes and offsets that the C compiler gives. Handles and bytes are addresses (c_void_p), text is c_char_p.
"""
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32,
                    c_uint64, c_void_p)

# ---- constants ----
SETTING_BOOL = 1
SETTING_INT = 2
SETTING_FLOAT = 3
SETTING_STRING = 4
SETTING_ENUM = 5
SETTING_LIST = 6
NOTE_INFO = 1
NOTE_WARNING = 2
NOTE_DROPPED = 3
NOTE_LOST = 4
MAPPING_UNKNOWN = 0
MAPPING_EXECUTABLE = 1
MAPPING_LIBRARY = 2
MAPPING_KERNEL = 3
MAPPING_MODULE = 4
MAPPING_VDSO = 5
MAPPING_JIT = 6
MAPPING_ANONYMOUS = 7
MAPPING_GUEST = 8
ROLE_VALUE = 0
ROLE_COUNT = 1
ROLE_WEIGHT = 2
TABLE_STRING = 0
TABLE_FUNCTION = 1
TABLE_MAPPING = 2
TABLE_LOCATION = 3
TABLE_LINE = 4
TABLE_STACK = 5
TABLE_LABEL = 6
TABLE_LABEL_SET = 7
TABLE_SAMPLE_TYPE = 8
TABLE_SAMPLE = 9
TABLE_BRANCH = 10
TABLE_RANGE = 11
TABLE_ADDRESS = 12
TABLE_SOURCE = 13
TABLE_CONTEXT = 14
TABLE_SOURCE_BODY = 15
TABLE_SOURCE_TARGET = 16
TABLE_SYMBOL = 17
TABLE_COMMENT = 18
TABLE_ATTRIBUTE = 19
TABLE_ENTRY = 20
TABLE_COUNT_ = 21
COLUMN_U32 = 1
COLUMN_I64 = 2
COLUMN_U64 = 3
BY_FUNCTION = 0
BY_LINE = 1
BY_FILE = 2
BY_MAPPING = 3
DIFF_RAW = 0
DIFF_PER_SECOND = 1
DIFF_PER_WORK = 2
DIFF_UNDETERMINED = 0
DIFF_UNCHANGED = 1
DIFF_UP = 2
DIFF_DOWN = 3
DIFF_NEW = 4
DIFF_GONE = 5
DIFF_CLASSES = 6
OK = 0
E_NOMEM = -1
E_LIMIT = -2
E_INVALID = -3
E_IO = -4
E_FORMAT = -5
E_UNSUPPORTED = -6
E_UNKNOWN_FORMAT = -7
E_EMPTY = -8
E_MISSING_FACET = -9
E_NOT_FOUND = -10
E_CALLBACK = -11
E_INTERNAL = -12
ON_LIMIT_FAIL = 0
ON_LIMIT_TRUNCATE = 1
FACET_SYMBOLS = 1
FACET_ADDRESSES = 2
FACET_LINES = 4
FACET_STACKS = 8
FACET_LABELS = 16
FACET_BRANCHES = 32
FACET_SOURCE_COUNTS = 64
FACET_ALL = 127
MAPPING_HAS_FUNCTIONS = 1
MAPPING_HAS_FILENAMES = 2
MAPPING_HAS_LINE_NUMBERS = 4
MAPPING_HAS_INLINE_FRAMES = 8
MAPPING_MAIN = 16
LOCATION_FOLDED = 1
LOCATION_KERNEL = 2
LOCATION_GUEST = 4
LOCATION_NO_SYMBOL = 8
SOURCE_CHECKSUM = 1
SOURCE_ATTRIBUTES = 2
SOURCE_MD5_NAME = 4
SOURCES_CONTEXT = 1
SOURCES_PREINLINED = 2
SOURCES_FS = 4
SOURCES_PROBES = 8
SOURCES_MD5 = 16
SOURCES_PARTIAL = 32
SOURCES_UNIQUE_SUFFIX = 64
FILTER_SAMPLES = 1
FILTER_FRAMES = 2
FILTER_ALL = 3
NO_OFFSET = 2**64 - 1


# ---- structs ----


class String(Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class Error(Structure):
    _fields_ = [("status", c_int), ("system_errno", c_int), ("offset", c_uint64), ("line", c_uint64),
                ("format", c_char * 32), ("message", c_char * 472)]


class Allocator(Structure):
    _fields_ = [("struct_size", c_size_t), ("resize", CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_size_t, c_size_t)),
                ("user", c_void_p)]


class Limits(Structure):
    _fields_ = [("struct_size", c_size_t), ("max_memory", c_uint64), ("max_inflated", c_uint64),
                ("max_inflate_ratio", c_uint32), ("max_depth", c_uint32), ("max_string", c_uint32),
                ("on_limit", c_uint32)]


class Setting(Structure):
    _fields_ = [("name", c_char_p), ("type", c_int), ("default_value", c_char_p), ("choices", c_char_p),
                ("help", c_char_p)]


class Note(Structure):
    _fields_ = [("kind", c_int), ("cause", c_char_p), ("message", c_char_p), ("count", c_uint64), ("weight", c_int64),
                ("offset", c_uint64), ("line", c_uint64)]


class FormatInfo(Structure):
    _fields_ = [("name", c_char_p), ("description", c_char_p), ("aliases", POINTER(c_char_p)),
                ("suffixes", POINTER(c_char_p)), ("reader_settings", POINTER(Setting)),
                ("writer_settings", POINTER(Setting)), ("can_read", c_uint32), ("can_write", c_uint32),
                ("produces", c_uint32), ("needs", c_uint32), ("keeps", c_uint32), ("improves", c_uint32),
                ("binary", c_uint32), ("labels", c_char_p)]


class ConvertOptions(Structure):
    _fields_ = [("struct_size", c_size_t), ("allocator", POINTER(Allocator)), ("limits", POINTER(Limits)),
                ("settings", c_void_p), ("from", c_char_p), ("to", c_char_p),
                ("progress", CFUNCTYPE(c_int, c_void_p, c_char_p, c_uint64, c_uint64)), ("progress_user", c_void_p),
                ("threads", c_uint32), ("reserved", c_uint32)]


class ConvertInput(Structure):
    _fields_ = [("input", c_void_p), ("weight", c_uint64)]


class MergeInput(Structure):
    _fields_ = [("input", c_void_p), ("weight", c_uint64), ("options", POINTER(ConvertOptions)),
                ("borrowed", c_uint32), ("reserved", c_uint32)]


class MergeSource(Structure):
    _fields_ = [("struct_size", c_size_t),
                ("open", CFUNCTYPE(c_int, c_void_p, c_uint64, POINTER(MergeInput), POINTER(Error))),
                ("accept", CFUNCTYPE(c_int, c_void_p, c_uint64, c_void_p)),
                ("done", CFUNCTYPE(c_int, c_void_p, c_uint64, c_int, POINTER(Error))), ("user", c_void_p)]


class IoOptions(Structure):
    _fields_ = [("struct_size", c_size_t), ("allocator", POINTER(Allocator)), ("limits", POINTER(Limits)),
                ("raw", c_int), ("reserved", c_int)]


class InputCallbacks(Structure):
    _fields_ = [("struct_size", c_size_t),
                ("read", CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, POINTER(c_size_t))),
                ("read_at", CFUNCTYPE(c_int, c_void_p, c_uint64, c_void_p, c_size_t, POINTER(c_size_t))),
                ("size", CFUNCTYPE(c_uint64, c_void_p)), ("close", CFUNCTYPE(None, c_void_p)), ("user", c_void_p)]


class OutputCallbacks(Structure):
    _fields_ = [("struct_size", c_size_t), ("write", CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)),
                ("close", CFUNCTYPE(c_int, c_void_p, c_int)), ("user", c_void_p)]


class Reader(Structure):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("aliases", POINTER(c_char_p)),
                ("suffixes", POINTER(c_char_p)), ("description", c_char_p), ("settings", POINTER(Setting)),
                ("produces", c_uint32), ("reserved", c_uint32),
                ("probe", CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_int)),
                ("read", CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_void_p, POINTER(Error))),
                ("user", c_void_p)]


class Writer(Structure):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("aliases", POINTER(c_char_p)),
                ("suffixes", POINTER(c_char_p)), ("description", c_char_p), ("settings", POINTER(Setting)),
                ("needs", c_uint32), ("keeps", c_uint32), ("improves", c_uint32), ("binary", c_uint32),
                ("labels", c_char_p),
                ("write", CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, POINTER(Error))),
                ("user", c_void_p), ("pass_settings", POINTER(c_char_p))]


class Mapping(Structure):
    _fields_ = [("start", c_uint64), ("limit", c_uint64), ("file_offset", c_uint64), ("reference_address", c_uint64),
                ("file", c_uint32), ("build_id", c_uint32), ("reference", c_uint32), ("kind", c_uint32),
                ("flags", c_uint32), ("pid", c_uint32)]


class Location(Structure):
    _fields_ = [("address", c_uint64), ("mapping", c_uint32), ("first_line", c_uint32), ("line_count", c_uint32),
                ("flags", c_uint32)]


class Line(Structure):
    _fields_ = [("line", c_int64), ("column", c_int64), ("function", c_uint32), ("discriminator", c_uint32)]


class Function(Structure):
    _fields_ = [("start_line", c_int64), ("name", c_uint32), ("linkage_name", c_uint32), ("file", c_uint32),
                ("reserved", c_uint32)]


class Stack(Structure):
    _fields_ = [("parent", c_uint32), ("location", c_uint32)]


class Label(Structure):
    _fields_ = [("number", c_int64), ("key", c_uint32), ("string", c_uint32), ("unit", c_uint32),
                ("numeric", c_uint32)]


class LabelSet(Structure):
    _fields_ = [("first", c_uint32), ("count", c_uint32)]


class SampleType(Structure):
    _fields_ = [("period", c_int64), ("name", c_uint32), ("unit", c_uint32), ("event", c_uint32), ("role", c_uint32)]


class Branch(Structure):
    _fields_ = [("count", c_uint64), ("mispredicted", c_uint64), ("cycles", c_uint64), ("from", c_uint32),
                ("to", c_uint32)]


class Range(Structure):
    _fields_ = [("count", c_uint64), ("begin", c_uint32), ("end", c_uint32)]


class Address(Structure):
    _fields_ = [("count", c_uint64), ("location", c_uint32), ("reserved", c_uint32)]


class Entry(Structure):
    _fields_ = [("address", c_uint64), ("size", c_uint64), ("mapping", c_uint32), ("name", c_uint32),
                ("ordinal", c_uint32), ("reserved", c_uint32)]


class Source(Structure):
    _fields_ = [("total", c_uint64), ("head", c_uint64), ("checksum", c_uint64), ("timestamp", c_uint64),
                ("name", c_uint32), ("parent", c_uint32), ("context", c_uint32), ("file", c_uint32),
                ("line", c_uint32), ("discriminator", c_uint32), ("attributes", c_uint32), ("flags", c_uint32)]


class Context(Structure):
    _fields_ = [("parent", c_uint32), ("name", c_uint32), ("line", c_uint32), ("discriminator", c_uint32)]


class SourceBody(Structure):
    _fields_ = [("count", c_uint64), ("source", c_uint32), ("line", c_uint32), ("discriminator", c_uint32),
                ("reserved", c_uint32)]


class SourceTarget(Structure):
    _fields_ = [("count", c_uint64), ("body", c_uint32), ("name", c_uint32)]


class Info(Structure):
    _fields_ = [("time_ns", c_int64), ("duration_ns", c_int64), ("period", c_int64), ("period_type", c_uint32),
                ("period_unit", c_uint32), ("default_sample_type", c_uint32), ("drop_frames", c_uint32),
                ("keep_frames", c_uint32), ("doc_url", c_uint32), ("source_flags", c_uint32), ("facets", c_uint32)]


class Column(Structure):
    _fields_ = [("data", c_void_p), ("count", c_size_t), ("stride", c_size_t), ("type", c_uint32),
                ("reserved", c_uint32)]


class SplitOptions(Structure):
    _fields_ = [("struct_size", c_size_t), ("max_samples", c_uint64), ("max_bytes", c_uint64),
                ("measure", CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(c_uint64))),
                ("part", CFUNCTYPE(c_int, c_void_p, c_void_p, c_uint64)), ("user", c_void_p)]


class TopOptions(Structure):
    _fields_ = [("struct_size", c_size_t), ("sample_type", c_char_p), ("by", c_uint32), ("cumulative", c_uint32)]


class TopRow(Structure):
    _fields_ = [("name", String), ("file", String), ("mapping", String), ("line", c_int64), ("self", c_int64),
                ("total", c_int64)]


class DiffOptions(Structure):
    _fields_ = [("struct_size", c_size_t), ("sample_type", c_char_p), ("by", c_uint32), ("mode", c_uint32),
                ("work_before", c_uint64), ("work_after", c_uint64), ("false_discovery", c_uint32),
                ("tolerance", c_uint32), ("runs_before", POINTER(c_void_p)), ("runs_after", POINTER(c_void_p)),
                ("run_count_before", c_uint64), ("run_count_after", c_uint64)]


class DiffRow(Structure):
    _fields_ = [("name", String), ("file", String), ("mapping", String), ("line", c_int64), ("before_self", c_int64),
                ("after_self", c_int64), ("before_total", c_int64), ("after_total", c_int64), ("delta_self", c_int64),
                ("delta_total", c_int64), ("before_count", c_uint64), ("after_count", c_uint64), ("change", c_double),
                ("share", c_double), ("p_value", c_double), ("q_value", c_double), ("detectable", c_double),
                ("diff_class", c_uint32), ("reserved", c_uint32)]


class DiffSummary(Structure):
    _fields_ = [("name", String), ("unit", String), ("mode", c_uint32), ("reserved", c_uint32),
                ("exposure_before", c_uint64), ("exposure_after", c_uint64), ("total_before", c_int64),
                ("total_after", c_int64), ("delta", c_int64), ("count_before", c_uint64), ("count_after", c_uint64),
                ("detectable", c_double), ("rows", c_uint64 * 6), ("runs_before", c_uint64), ("runs_after", c_uint64),
                ("dispersion", c_double)]


# ---- functions: (result, [arguments]); a last ... takes more ----

FUNCTIONS = {
    "profconv_version": (c_char_p, []),
    "profconv_status_string": (c_char_p, [c_int]),
    "profconv_error_set": (c_int, [POINTER(Error), c_int, c_uint64, c_uint64, c_char_p, ...]),
    "profconv_options_new": (c_int, [POINTER(c_void_p), POINTER(Allocator), POINTER(Error)]),
    "profconv_options_free": (None, [c_void_p]),
    "profconv_options_set": (c_int, [c_void_p, c_char_p, POINTER(Error)]),
    "profconv_options_put": (c_int, [c_void_p, c_char_p, c_char_p, c_char_p, POINTER(Error)]),
    "profconv_options_has": (c_int, [c_void_p, c_char_p, c_char_p]),
    "profconv_options_get": (c_char_p, [c_void_p, c_char_p, c_char_p]),
    "profconv_options_item": (c_char_p, [c_void_p, c_char_p, c_char_p, c_size_t]),
    "profconv_options_check": (c_int, [c_void_p, c_char_p, POINTER(Setting), POINTER(Error)]),
    "profconv_options_bool": (c_int, [c_void_p, c_char_p, POINTER(Setting), c_char_p]),
    "profconv_options_int": (c_int64, [c_void_p, c_char_p, POINTER(Setting), c_char_p]),
    "profconv_options_float": (c_double, [c_void_p, c_char_p, POINTER(Setting), c_char_p]),
    "profconv_options_string": (c_char_p, [c_void_p, c_char_p, POINTER(Setting), c_char_p]),
    "profconv_report_new": (c_int, [POINTER(c_void_p), POINTER(Allocator), POINTER(Error)]),
    "profconv_report_free": (None, [c_void_p]),
    "profconv_report_add": (None, [c_void_p, c_int, c_char_p, c_uint64, c_int64, c_uint64, c_uint64, c_char_p, ...]),
    "profconv_report_count": (c_size_t, [c_void_p]),
    "profconv_report_get": (c_int, [c_void_p, c_size_t, POINTER(Note)]),
    "profconv_report_overflow": (c_uint64, [c_void_p]),
    "profconv_builder_new": (c_int, [POINTER(c_void_p), POINTER(Allocator), POINTER(Limits), POINTER(Error)]),
    "profconv_builder_free": (None, [c_void_p]),
    "profconv_builder_verbatim": (c_int, [c_void_p]),
    "profconv_builder_status": (c_int, [c_void_p, POINTER(Error)]),
    "profconv_builder_report": (c_void_p, [c_void_p]),
    "profconv_builder_limits": (POINTER(Limits), [c_void_p]),
    "profconv_builder_allocator": (POINTER(Allocator), [c_void_p]),
    "profconv_builder_memory": (None, [c_void_p, POINTER(c_uint64), POINTER(c_uint64)]),
    "profconv_builder_string": (c_uint32, [c_void_p, c_void_p, c_size_t]),
    "profconv_builder_cstring": (c_uint32, [c_void_p, c_char_p]),
    "profconv_builder_get_string": (String, [c_void_p, c_uint32]),
    "profconv_builder_function": (c_uint32, [c_void_p, POINTER(Function)]),
    "profconv_builder_mapping": (c_uint32, [c_void_p, POINTER(Mapping)]),
    "profconv_builder_mapping_replace": (None, [c_void_p, c_uint32, POINTER(Mapping)]),
    "profconv_builder_get_mapping": (None, [c_void_p, c_uint32, POINTER(Mapping)]),
    "profconv_builder_location": (c_uint32, [c_void_p, POINTER(Location), POINTER(Line), c_uint32]),
    "profconv_builder_address_location": (c_uint32, [c_void_p, c_uint32, c_uint64, c_uint32]),
    "profconv_builder_stack": (c_uint32, [c_void_p, c_uint32, c_uint32]),
    "profconv_builder_stack_leaf_first": (c_uint32, [c_void_p, POINTER(c_uint32), c_size_t]),
    "profconv_builder_label": (c_uint32, [c_void_p, POINTER(Label)]),
    "profconv_builder_label_set": (c_uint32, [c_void_p, POINTER(c_uint32), c_uint32]),
    "profconv_builder_sample_type": (c_uint32, [c_void_p, POINTER(SampleType)]),
    "profconv_builder_sample_type_replace": (None, [c_void_p, c_uint32, POINTER(SampleType)]),
    "profconv_builder_sample_type_count": (c_uint32, [c_void_p]),
    "profconv_builder_sample": (None, [c_void_p, c_uint32, c_uint32, c_uint32, POINTER(c_int64), c_uint32]),
    "profconv_builder_branch": (None, [c_void_p, c_uint32, c_uint32, c_uint64, c_uint64, c_uint64]),
    "profconv_builder_range": (None, [c_void_p, c_uint32, c_uint32, c_uint64]),
    "profconv_builder_address": (None, [c_void_p, c_uint32, c_uint64]),
    "profconv_builder_entry": (None, [c_void_p, POINTER(Entry)]),
    "profconv_builder_context": (c_uint32, [c_void_p, POINTER(Context)]),
    "profconv_builder_source": (c_uint32, [c_void_p, POINTER(Source)]),
    "profconv_builder_source_body": (c_uint32, [c_void_p, c_uint32, c_uint32, c_uint32, c_uint64]),
    "profconv_builder_source_target": (c_uint32, [c_void_p, c_uint32, c_uint32, c_uint64]),
    "profconv_builder_symbol": (None, [c_void_p, c_uint32]),
    "profconv_builder_set_info": (None, [c_void_p, POINTER(Info)]),
    "profconv_builder_get_info": (None, [c_void_p, POINTER(Info)]),
    "profconv_builder_comment": (None, [c_void_p, c_uint32]),
    "profconv_builder_attribute": (None, [c_void_p, c_char_p, c_void_p, c_size_t]),
    "profconv_builder_freeze": (c_int, [c_void_p, POINTER(c_void_p), POINTER(Error)]),
    "profconv_builder_thaw": (c_int, [POINTER(c_void_p), POINTER(c_void_p), POINTER(Error)]),
    "profconv_check_consumer": (c_char_p, [c_size_t]),
    "profconv_check": (c_int, [c_void_p, c_char_p, c_void_p, POINTER(Error)]),
    "profconv_registry_new": (c_int, [POINTER(c_void_p), POINTER(Allocator), POINTER(Error)]),
    "profconv_registry_free": (None, [c_void_p]),
    "profconv_registry_format_count": (c_size_t, [c_void_p]),
    "profconv_registry_format": (c_int, [c_void_p, c_size_t, POINTER(FormatInfo)]),
    "profconv_registry_find": (c_int, [c_void_p, c_char_p, POINTER(FormatInfo)]),
    "profconv_registry_find_suffix": (c_int, [c_void_p, c_char_p, POINTER(FormatInfo)]),
    "profconv_pass_name": (c_char_p, [c_size_t, POINTER(POINTER(Setting))]),
    "profconv_detect": (c_int, [c_void_p, c_void_p, POINTER(FormatInfo), POINTER(Error)]),
    "profconv_probe": (c_int, [c_void_p, c_void_p, c_char_p, POINTER(c_int), POINTER(Error)]),
    "profconv_read": (c_int, [c_void_p, c_void_p, POINTER(ConvertOptions), POINTER(c_void_p), POINTER(Error)]),
    "profconv_prepare": (c_int, [c_void_p, POINTER(c_void_p), POINTER(ConvertOptions), c_void_p, POINTER(Error)]),
    "profconv_run_pass": (c_int, [c_char_p, POINTER(c_void_p), POINTER(ConvertOptions), c_void_p, POINTER(Error)]),
    "profconv_write": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(ConvertOptions), c_void_p, POINTER(Error)]),
    "profconv_convert": (c_int, [c_void_p, POINTER(ConvertInput), c_size_t, c_void_p, POINTER(ConvertOptions),
                                 c_void_p, POINTER(Error)]),
    "profconv_merge_inputs": (c_int, [c_void_p, c_void_p, POINTER(ConvertOptions), POINTER(MergeSource),
                                      POINTER(Error)]),
    "profconv_dump": (c_int, [c_void_p, c_void_p, POINTER(Error)]),
    "profconv_input_open_path": (c_int, [POINTER(c_void_p), c_char_p, POINTER(IoOptions), POINTER(Error)]),
    "profconv_input_open_fd": (c_int, [POINTER(c_void_p), c_int, c_char_p, POINTER(IoOptions), POINTER(Error)]),
    "profconv_input_open_memory": (c_int, [POINTER(c_void_p), c_void_p, c_size_t, POINTER(IoOptions),
                                           POINTER(Error)]),
    "profconv_input_open_callbacks": (c_int, [POINTER(c_void_p), POINTER(InputCallbacks), c_char_p,
                                              POINTER(IoOptions), POINTER(Error)]),
    "profconv_input_free": (None, [c_void_p]),
    "profconv_input_name": (c_char_p, [c_void_p]),
    "profconv_input_path": (c_char_p, [c_void_p]),
    "profconv_input_is_directory": (c_int, [c_void_p]),
    "profconv_input_open_part": (c_int, [c_void_p, c_char_p, POINTER(c_void_p), POINTER(Error)]),
    "profconv_input_offset": (c_uint64, [c_void_p]),
    "profconv_input_size": (c_uint64, [c_void_p]),
    "profconv_input_progress": (None, [c_void_p, POINTER(c_uint64), POINTER(c_uint64)]),
    "profconv_input_window": (c_int, [c_void_p, c_size_t, POINTER(c_void_p), POINTER(c_size_t), POINTER(Error)]),
    "profconv_input_consume": (None, [c_void_p, c_size_t]),
    "profconv_input_skip": (c_int, [c_void_p, c_uint64, POINTER(c_uint64), POINTER(Error)]),
    "profconv_input_can_seek": (c_int, [c_void_p]),
    "profconv_input_read_at": (c_int, [c_void_p, c_uint64, c_void_p, c_size_t, POINTER(c_size_t), POINTER(Error)]),
    "profconv_input_seek": (c_int, [c_void_p, c_uint64, POINTER(Error)]),
    "profconv_output_open_path": (c_int, [POINTER(c_void_p), c_char_p, POINTER(IoOptions), POINTER(Error)]),
    "profconv_output_open_fd": (c_int, [POINTER(c_void_p), c_int, c_char_p, POINTER(IoOptions), POINTER(Error)]),
    "profconv_output_open_memory": (c_int, [POINTER(c_void_p), POINTER(IoOptions), POINTER(Error)]),
    "profconv_output_open_callbacks": (c_int, [POINTER(c_void_p), POINTER(OutputCallbacks), c_char_p,
                                               POINTER(IoOptions), POINTER(Error)]),
    "profconv_output_write": (c_int, [c_void_p, c_void_p, c_size_t, POINTER(Error)]),
    "profconv_output_gzip": (c_int, [c_void_p, c_int, POINTER(Error)]),
    "profconv_output_offset": (c_uint64, [c_void_p]),
    "profconv_output_name": (c_char_p, [c_void_p]),
    "profconv_output_close": (c_int, [c_void_p, POINTER(Error)]),
    "profconv_output_bytes": (c_int, [c_void_p, POINTER(c_void_p), POINTER(c_size_t)]),
    "profconv_output_free": (None, [c_void_p]),
    "profconv_registry_add_reader": (c_int, [c_void_p, POINTER(Reader), POINTER(Error)]),
    "profconv_registry_add_writer": (c_int, [c_void_p, POINTER(Writer), POINTER(Error)]),
    "profconv_facet_name": (c_char_p, [c_uint32]),
    "profconv_profile_rows": (c_uint32, [c_void_p, c_int]),
    "profconv_profile_info": (POINTER(Info), [c_void_p]),
    "profconv_profile_facets": (c_uint32, [c_void_p]),
    "profconv_profile_verbatim": (c_int, [c_void_p]),
    "profconv_profile_allocator": (POINTER(Allocator), [c_void_p]),
    "profconv_profile_string": (String, [c_void_p, c_uint32]),
    "profconv_profile_function": (POINTER(Function), [c_void_p, c_uint32]),
    "profconv_profile_mapping": (POINTER(Mapping), [c_void_p, c_uint32]),
    "profconv_profile_location": (POINTER(Location), [c_void_p, c_uint32]),
    "profconv_profile_line": (POINTER(Line), [c_void_p, c_uint32, c_uint32]),
    "profconv_profile_stack": (POINTER(Stack), [c_void_p, c_uint32]),
    "profconv_profile_label": (POINTER(Label), [c_void_p, c_uint32]),
    "profconv_profile_label_set": (POINTER(LabelSet), [c_void_p, c_uint32]),
    "profconv_profile_label_item": (c_uint32, [c_void_p, c_uint32]),
    "profconv_profile_find_label": (POINTER(Label), [c_void_p, c_uint32, c_char_p]),
    "profconv_profile_sample_type": (POINTER(SampleType), [c_void_p, c_uint32]),
    "profconv_profile_default_sample_type": (c_uint32, [c_void_p]),
    "profconv_profile_sample_stack": (c_uint32, [c_void_p, c_uint32]),
    "profconv_profile_sample_label_set": (c_uint32, [c_void_p, c_uint32]),
    "profconv_profile_sample_value": (c_int64, [c_void_p, c_uint32, c_uint32]),
    "profconv_profile_total": (c_int64, [c_void_p, c_uint32]),
    "profconv_profile_branch": (POINTER(Branch), [c_void_p, c_uint32]),
    "profconv_profile_range": (POINTER(Range), [c_void_p, c_uint32]),
    "profconv_profile_address": (POINTER(Address), [c_void_p, c_uint32]),
    "profconv_profile_entry": (POINTER(Entry), [c_void_p, c_uint32]),
    "profconv_profile_source": (POINTER(Source), [c_void_p, c_uint32]),
    "profconv_profile_context": (POINTER(Context), [c_void_p, c_uint32]),
    "profconv_profile_source_body": (POINTER(SourceBody), [c_void_p, c_uint32]),
    "profconv_profile_source_target": (POINTER(SourceTarget), [c_void_p, c_uint32]),
    "profconv_profile_symbol": (c_uint32, [c_void_p, c_uint32]),
    "profconv_profile_comment": (c_uint32, [c_void_p, c_uint32]),
    "profconv_profile_attribute": (c_int, [c_void_p, c_uint32, POINTER(String), POINTER(String)]),
    "profconv_profile_find_attribute": (String, [c_void_p, c_char_p]),
    "profconv_profile_report": (c_void_p, [c_void_p]),
    "profconv_profile_column": (c_int, [c_void_p, c_int, c_char_p, c_uint32, POINTER(Column)]),
    "profconv_profile_check": (c_int, [c_void_p, POINTER(Error)]),
    "profconv_profile_free": (None, [c_void_p]),
    "profconv_merge": (c_int, [c_void_p, c_void_p, c_uint64, POINTER(Error)]),
    "profconv_split": (c_int, [c_void_p, POINTER(SplitOptions), POINTER(Error)]),
    "profconv_filter_settings": (POINTER(Setting), []),
    "profconv_filter_wanted": (c_int, [c_void_p, c_uint32]),
    "profconv_filter": (c_int, [POINTER(c_void_p), c_void_p, c_uint32, POINTER(Error)]),
    "profconv_scale": (c_int, [c_void_p, c_int64, c_uint64, POINTER(c_void_p), POINTER(Error)]),
    "profconv_normalize": (c_int, [c_void_p, c_void_p, POINTER(c_void_p), POINTER(Error)]),
    "profconv_keep_top": (c_int, [c_void_p, c_uint32, POINTER(c_void_p), POINTER(Error)]),
    "profconv_top_new": (c_int, [POINTER(c_void_p), c_void_p, POINTER(TopOptions), POINTER(Error)]),
    "profconv_top_free": (None, [c_void_p]),
    "profconv_top_count": (c_size_t, [c_void_p]),
    "profconv_top_get": (c_int, [c_void_p, c_size_t, POINTER(TopRow)]),
    "profconv_top_total": (c_int64, [c_void_p]),
    "profconv_top_type": (None, [c_void_p, POINTER(String), POINTER(String)]),
    "profconv_diff_class_name": (c_char_p, [c_uint32]),
    "profconv_diff_new": (c_int, [POINTER(c_void_p), c_void_p, c_void_p, POINTER(DiffOptions), POINTER(Error)]),
    "profconv_diff_free": (None, [c_void_p]),
    "profconv_diff_count": (c_size_t, [c_void_p]),
    "profconv_diff_get": (c_int, [c_void_p, c_size_t, POINTER(DiffRow)]),
    "profconv_diff_get_summary": (POINTER(DiffSummary), [c_void_p]),
    "profconv_diff_get_report": (c_void_p, [c_void_p]),
    "profconv_diff_settings": (c_int, [c_void_p, c_void_p, POINTER(Error)]),
    "profconv_diff_profile": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(c_void_p), POINTER(Error)]),
}
