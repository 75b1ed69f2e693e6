#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   sh tests/support/build_and_test.sh BUILD-DIRECTORY [cmake options]
#
# Configures, builds, runs all tests, names what was skipped and why, and ends with ctest's closing line. What is shared by
# tests/run.sh and the sanitizer stage of CI.
set -eu

source=$(cd "$(dirname "$0")/../.." && pwd)
build=$1
shift
jobs=$(nproc 2>/dev/null || echo 2)
mkdir -p "$build"

cmake -S "$source" -B "$build" -G Ninja -DPROFCONV_TESTS=ON "$@" >"$build/cmake.log" 2>&1 || {
    cat "$build/cmake.log"
    exit 1
}
cmake --build "$build" --parallel "$jobs" -- --quiet

status=0
ctest --test-dir "$build" --parallel "$jobs" --output-on-failure --output-junit tests.xml \
    --output-log "$build/ctest.log" || status=$?
python3 "$source/tests/support/skipped.py" "$build/tests.xml"
grep -E '^[0-9]+% tests passed' "$build/ctest.log" | tail -n 1
exit "$status"
