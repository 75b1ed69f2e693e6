#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   sh make.sh RECORDER [DIRECTORY]
#
# Makes the program and its two recordings again, in a directory whose name is recorded (/opt/twoloads). RECORDER
# single-steps a program and writes last-branch records as perf.data; it must leave address randomization on, so that
# the program and its libraries lie elsewhere in each. The linker, lld, gives code addresses that are no file offsets;
# DWARF 4 and relocations are for tools that read nothing else or want them.
set -eu

recorder=$1
there=${2:-/opt/twoloads}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$there"
cp "$here/twoloads.c" "$there"
cd "$there"
gcc -O2 -g -gdwarf-4 -fPIE -pie -ffile-prefix-map="$there"=. -fuse-ld=lld -Wl,--emit-relocs,--build-id=sha1 \
    -o twoloads twoloads.c
"$recorder" -o first.data -c 397 -d 24 -- "$there/twoloads" 1
"$recorder" -o second.data -c 397 -d 24 -- "$there/twoloads" 2
cp twoloads first.data second.data "$here"
