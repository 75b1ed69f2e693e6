#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   sh tests/support/valgrind.sh BUILD-DIRECTORY [program ...]
#
# Runs built tests under valgrind: no error, nothing lost. By default the unit tests in C, the sweeps and faults over all
# formats with a few points of each, and the seeds of all fuzz targets. 77 where there is no valgrind.
set -u

build=$1
shift
command -v valgrind >/dev/null 2>&1 || {
    echo "valgrind is not installed"
    exit 77
}
source=$(cd "$(dirname "$0")/../.." && pwd)
PROFCONV_SAMPLED=1
PROFCONV_SOURCE=$source
PROFCONV_BUILD=$build
export PROFCONV_SAMPLED PROFCONV_SOURCE PROFCONV_BUILD

if [ $# -eq 0 ]; then
    set -- "$build"/test_unit_* "$build"/test_matrix_sweeps "$build"/test_matrix_faults "$build"/fuzz_*
fi
failed=0 count=0
for program in "$@"; do
    [ -x "$program" ] && [ -f "$program" ] || continue
    name=$(basename "$program")
    inputs=
    seeds=$source/fuzz/seeds
    case $name in
    fuzz_round_trip) inputs="$seeds/pprof/full.pb $seeds/perf-data/basic.file $seeds/autofdo-text/plain.txt $seeds/llvm-text/plain.prof" ;;
    fuzz_*) inputs=$seeds/$(echo "${name#fuzz_}" | tr _ -) ;;
    esac
    count=$((count + 1))
    log=$build/valgrind-$name.log
    # Exit status 99 is valgrind's own; a test that skips (77) has nothing to say.
    (cd "$build" && valgrind -q --leak-check=full --show-leak-kinds=definite,indirect,possible \
        --errors-for-leak-kinds=definite,indirect,possible --error-exitcode=99 "$program" $inputs >"$log" 2>&1)
    status=$?
    if [ $status -ne 0 ] && [ $status -ne 77 ]; then
        failed=$((failed + 1))
        echo "valgrind: $name: exit status $status"
        grep -E '^==|FAILED|Error' "$log" | head -n 30
    fi
done
echo "valgrind: $count programs, $failed failed"
[ $failed -eq 0 ] && [ $count -gt 0 ]
