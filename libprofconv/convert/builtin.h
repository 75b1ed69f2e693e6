/* SPDX-License-Identifier: MIT
 *
 * The one list of built-in formats. A format's folder exports `pfc_<name>_reader`, `pfc_<name>_writer` or both; adding it is
 * one line here. READER and WRITER are macros of the includer.
 */
/* clang-format off */
FORMAT(READER(perf_data)  NO_WRITER)
FORMAT(READER(pprof)      WRITER(pprof))
FORMAT(READER(collapsed)  WRITER(collapsed))
/* clang-format on */
