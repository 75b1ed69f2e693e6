#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   sh bindings/cli/quickstart.sh [RECORDING]
#
# From a fresh Debian 12 to a converted profile: installs what the build needs (with apt, only what is missing), builds
# the command into build/, converts RECORDING (or the shipped one, tests/data/quickstart) to profile.pb.gz and
# profile.folded in the current directory, and prints the five functions that took the most time.
set -eu

source=$(cd "$(dirname "$0")/../.." && pwd)
build=${PROFCONV_BUILD_DIR:-$source/build}
data=$source/tests/data/quickstart
profconv=$build/bindings/cli/profconv

say() { printf '%s\n' "quickstart: $*"; }
die() {
    printf '%s\n' "quickstart: $*" >&2
    exit 1
}

case ${1:-} in
-h | --help)
    sed -n '4,9s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
-*)
    printf '%s\n' "usage: sh bindings/cli/quickstart.sh [RECORDING]" >&2
    exit 2
    ;;
esac
recording=${1:-$data/wordcount.data}
[ -e "$recording" ] || die "$recording: no such file"
[ -r "$recording" ] || die "$recording: cannot be read"
[ -w . ] || die "the current directory cannot be written to; profile.pb.gz and profile.folded go there"

sh "$source/tests/support/deps.sh" build || die "packages are missing, see above"

# A build directory that is there keeps its options.
if [ ! -f "$build/CMakeCache.txt" ]; then
    mkdir -p "$build" || die "$build cannot be made; set PROFCONV_BUILD_DIR"
    cmake -S "$source" -B "$build" -G Ninja -DPROFCONV_TESTS=OFF >"$build/cmake.log" 2>&1 || {
        cat "$build/cmake.log" >&2
        die "configuring failed"
    }
fi
say "building (a minute or two; the log is $build/quickstart.log)"
cmake --build "$build" --target profconv >"$build/quickstart.log" 2>&1 || {
    tail -n 30 "$build/quickstart.log" >&2
    die "building failed; all of it is in $build/quickstart.log"
}

# The shipped recording's program lies beside it; a recording of your own finds its programs where they were recorded.
set --
[ "$recording" = "$data/wordcount.data" ] && set -- --binary "$data/wordcount"

say "converting $recording"
"$profconv" convert -q "$@" -o profile.pb.gz "$recording"
"$profconv" convert -q "$@" -o profile.folded "$recording"
say "wrote profile.pb.gz (go tool pprof, speedscope, ...) and profile.folded (flame graphs)"

say "the command is $profconv"
say "the five hottest functions, by their own time:"
awk '{
    count = $NF
    sub(/ [0-9]+$/, "")
    n = split($0, frames, ";")
    own[frames[n]] += count
    all += count
}
END {
    for (name in own)
        printf "%.0f\t%6.2f%%  %s\n", own[name], 100 * own[name] / all, name
}' profile.folded | sort -k1,1nr -k2 | head -n 5 | cut -f 2-
