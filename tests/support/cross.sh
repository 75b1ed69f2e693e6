#!/bin/sh
# SPDX-License-Identifier: MIT
#
#   sh tests/support/cross.sh i386|s390x BUILD-DIRECTORY [cmake options]
#
# The unit tests, the tests of the formats and the fuzz seeds in 32 bits, or on a big-endian machine: cross-compiled, and run
# by the processor where it can, else by qemu. Exit status 77, with the reason, where the tools are not to be had.
#
# Nothing but the compiler and qemu is installed. The libraries of the other architecture are unpacked into a folder of
# the build, by an apt that has a state of its own there: dpkg learns of no other architecture, and nothing is changed.
set -eu

source=$(cd "$(dirname "$0")/../.." && pwd)
arch=${1:-}
build=${2:-}
case $arch in
i386) compiler=i686-linux-gnu-gcc package=gcc-i686-linux-gnu multiarch=i386-linux-gnu loader=lib/ld-linux.so.2 ;;
s390x) compiler=s390x-linux-gnu-gcc package=gcc-s390x-linux-gnu multiarch=s390x-linux-gnu loader=lib/ld64.so.1 ;;
*) build= ;;
esac
if [ -z "$build" ]; then
    echo "usage: sh tests/support/cross.sh i386|s390x BUILD-DIRECTORY [cmake options]" >&2
    exit 2
fi
shift 2
mkdir -p "$build"
build=$(cd "$build" && pwd)

skip() {
    echo "skipped: $*"
    exit 77
}

sh "$source/tests/support/deps.sh" want "$package" || skip "the cross compiler for $arch is not to be had"

# ---- the libraries ----

libraries="libc6-dev zlib1g-dev libelf-dev libdw-dev libzstd-dev libprotobuf-c-dev libiberty-dev libcmocka-dev"
root=$build/root

private_apt() {
    apt-get -q -y -o "APT::Architecture=$arch" -o "APT::Architectures=$arch" -o "Dir::State=$build/apt" \
        -o "Dir::State::status=$build/apt/status" -o "Dir::Cache=$build/apt" -o APT::Sandbox::User=root \
        -o APT::Install-Recommends=false -o Acquire::Retries=3 -o Debug::NoLocking=true "$@"
}

make_root() {
    [ "$(cat "$root/made-of" 2>/dev/null)" = "$libraries" ] && return 0
    rm -rf "$root" "$build/apt"
    mkdir -p "$root" "$build/apt/lists/partial" "$build/apt/archives/partial"
    : >"$build/apt/status"
    private_apt update >"$build/apt/log" 2>&1 || true # a source that lacks the architecture is no matter
    # shellcheck disable=SC2086
    private_apt install --download-only $libraries >>"$build/apt/log" 2>&1 || return 1
    for file in "$build"/apt/archives/*.deb; do
        dpkg-deb -x "$file" "$root" || return 1
    done
    rm -rf "$build/apt/archives" "$build/apt/lists"
    echo "$libraries" >"$root/made-of"
}

make_root || {
    tail -n 3 "$build/apt/log"
    skip "the libraries for $arch are not to be had"
}

# ---- who runs it ----

paths=$root/lib/$multiarch:$root/usr/lib/$multiarch
if "$root/$loader" --library-path "$paths" --version >/dev/null 2>&1; then
    runner="$root/$loader;--library-path;$paths"
else
    sh "$source/tests/support/deps.sh" want qemu-user-static || skip "this machine does not run $arch, and qemu is not to be had"
    runner="qemu-$arch-static;-L;$root"
fi
echo "$arch programs are run by ${runner%%;*}"

exec sh "$source/tests/support/build_and_test.sh" "$build" -DPROFCONV_WERROR=ON -DPROFCONV_INSTALL=OFF -DPROFCONV_CLI=OFF \
    "-DPROFCONV_TEST_FILTER=^(unit|formats|fuzz)[.]" -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O1 \
    "-DCMAKE_TOOLCHAIN_FILE=$source/tests/support/cross.cmake" "-DCROSS_ARCH=$arch" "-DCROSS_COMPILER=$compiler" \
    "-DCROSS_MULTIARCH=$multiarch" "-DCROSS_ROOT=$root" "-DCROSS_RUNNER=$runner" "$@"
