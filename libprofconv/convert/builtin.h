/* SPDX-License-Identifier: MIT
 *
 * The one list of built-in formats. A format's folder exports `pfc_<name>_reader`, `pfc_<name>_writer` or both; adding it is
 * one line here. READER and WRITER are macros of the includer.
 */
/* clang-format off */
FORMAT(READER(perf_data)  WRITER(perf_data))
FORMAT(READER(perf_script) NO_WRITER)
FORMAT(READER(pprof)      WRITER(pprof))
FORMAT(READER(gperftools) NO_WRITER)
FORMAT(READER(pprof_text) NO_WRITER)
FORMAT(READER(bpftrace)   NO_WRITER)
FORMAT(READER(collapsed)  WRITER(collapsed))
FORMAT(READER(autofdo_text)   WRITER(autofdo_text))
FORMAT(READER(profgen_raw)    WRITER(profgen_raw))
FORMAT(READER(bolt_fdata)     WRITER(bolt_fdata))
FORMAT(READER(llvm_text)      WRITER(llvm_text))
FORMAT(READER(llvm_binary)    WRITER(llvm_binary))
FORMAT(READER(llvm_extbinary) WRITER(llvm_extbinary))
FORMAT(READER(llvm_compact)   NO_WRITER)
FORMAT(READER(gcc_afdo)       WRITER(gcc_afdo))
FORMAT(READER(go_preprofile)  WRITER(go_preprofile))
FORMAT(NO_READER WRITER(flamegraph))
FORMAT(NO_READER WRITER(speedscope))
FORMAT(NO_READER WRITER(callgrind))
FORMAT(NO_READER WRITER(firefox))
/* clang-format on */
