#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   sh tests/support/coverage.sh BUILD-DIRECTORY [--missing FOLDER] [-- ctest options]
#
# Builds with gcov's counters, runs the tests of the library in C and replays the seeds of the fuzz targets, and prints the
# share of lines that ran, by folder. --missing also names the lines of a folder's files that did not.
set -eu

source=$(cd "$(dirname "$0")/../.." && pwd)
build=$1
shift
missing=
if [ "${1:-}" = --missing ]; then
    missing=$2
    shift 2
fi
[ "${1:-}" = -- ] && shift
jobs=$(nproc 2>/dev/null || echo 2)
mkdir -p "$build"
cmake -S "$source" -B "$build" -G Ninja -DPROFCONV_COVERAGE=ON -DCMAKE_BUILD_TYPE=None >"$build/cmake.log" 2>&1 || {
    cat "$build/cmake.log"
    exit 1
}
cmake --build "$build" --parallel "$jobs" -- --quiet
find "$build" -name '*.gcda' -delete
status=0
if [ $# -gt 0 ]; then
    ctest --test-dir "$build" --parallel "$jobs" --output-on-failure "$@" >"$build/ctest.log" 2>&1 || status=$?
else
    ctest --test-dir "$build" --parallel "$jobs" --output-on-failure -R '^(unit|formats|matrix|fuzz)\.' \
        >"$build/ctest.log" 2>&1 || status=$?
fi
tail -n 4 "$build/ctest.log"
python3 "$source/tests/support/coverage.py" "$source" "$build" $missing
exit $status
