#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Installs what the project needs, with apt, where it is missing.
#
#   sh tests/support/deps.sh build   the compiler and the libraries that the library and the command are built from
#   sh tests/support/deps.sh all     those, what the tests need, and the peers that the tests compare with
#   sh tests/support/deps.sh want PACKAGE...   these, if that removes and upgrades nothing; else exit status 1
#
# Lacking a build or test package is an error that says what to install. Lacking a peer is a message: its tests skip.
set -u

mode=${1:-build}
case $mode in
build | all | want) ;;
*)
    echo "usage: sh tests/support/deps.sh build|all|want PACKAGE..." >&2
    exit 2
    ;;
esac

build_packages="gcc libc6-dev make cmake ninja-build pkg-config zlib1g-dev libelf-dev libdw-dev libzstd-dev
    libprotobuf-c-dev protobuf-c-compiler libiberty-dev"
test_packages="libcmocka-dev python3 g++ git binutils file libbz2-dev liblzma-dev"
peer_packages="gcc-11 gcc-aarch64-linux-gnu qemu-user-static libcapstone-dev clang-19 llvm-19 bolt-19 clang autofdo
    linux-perf chromium chromium-driver fonts-dejavu-core valgrind abigail-tools dpkg-dev lintian groff zsh fish dwz nodejs
    default-jdk-headless python3-distributed python3-numpy python3-pandas mypy"

say() { printf 'deps: %s\n' "$*"; }

installed() { dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }

missing() {
    for package in "$@"; do
        installed "$package" || printf '%s ' "$package"
    done
}

# The commands as root: plainly, through sudo, or not at all.
if [ "$(id -u)" -eq 0 ]; then
    root=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    root="sudo -n"
elif command -v sudo >/dev/null 2>&1 && [ -t 0 ]; then
    root="sudo"
else
    root="none"
fi

as_root() {
    if [ -n "$root" ]; then $root "$@"; else "$@"; fi
}

apt_get() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 \
        -o Dpkg::Use-Pty=0 "$@"
}

updated=0
update() {
    [ "$updated" -eq 1 ] && return 0
    updated=1
    apt_get update >/dev/null || say "apt-get update failed; going on with the lists that are there"
}

# install what... : all of it, or fails.
install() {
    update
    apt_get install --no-install-recommends "$@" >/dev/null
}

need() {
    want=$(missing "$@")
    [ -z "$want" ] && return 0
    if ! command -v apt-get >/dev/null 2>&1; then
        say "no apt-get here; these Debian packages (or their like) are needed: $want" >&2
        return 1
    fi
    if [ "$root" = none ]; then
        say "not root, and no sudo: install these packages first: $want" >&2
        return 1
    fi
    say "installing $want"
    # shellcheck disable=SC2086
    install $want || {
        say "apt-get could not install: $want" >&2
        return 1
    }
}

# A peer a time, so that one that is not there costs only itself.
want_peer() {
    installed "$1" && return 0
    if [ "$root" = none ] || ! command -v apt-get >/dev/null 2>&1; then
        say "$1 is not installed (not root, or no apt-get); tests that compare with it will skip"
        return 0
    fi
    update
    say "installing $1"
    install "$1" 2>/dev/null || say "$1 is not to be had; tests that compare with it will skip"
}

# All or nothing, and nothing else on the machine may change.
want_all() {
    want=$(missing "$@")
    [ -z "$want" ] && return 0
    if [ "$root" = none ] || ! command -v apt-get >/dev/null 2>&1; then
        say "not installed (not root, or no apt-get): $want"
        return 1
    fi
    update
    # shellcheck disable=SC2086
    plan=$(apt_get install --no-install-recommends -s $want 2>/dev/null) || {
        say "not to be had: $want"
        return 1
    }
    if printf '%s\n' "$plan" | grep -qE '^Remv |^Inst [^ ]+ \['; then
        say "would remove or upgrade other packages: $want"
        return 1
    fi
    say "installing $want"
    # shellcheck disable=SC2086
    install --no-remove $want 2>/dev/null || {
        say "not to be had: $want"
        return 1
    }
}

# ---- Go 1.21 or later, which Debian 12 has in its backports only ----

go_is_new() {
    version=$(go env GOVERSION 2>/dev/null | sed -n 's/^go1\.\([0-9][0-9]*\).*/\1/p')
    [ -n "$version" ] && [ "$version" -ge 21 ]
}

go_candidate_is_new() {
    version=$(apt-cache policy golang-go 2>/dev/null | sed -n 's/^  Candidate: [0-9]*:1\.\([0-9][0-9]*\).*/\1/p')
    [ -n "$version" ] && [ "$version" -ge 21 ]
}

# Prints a backports entry made from the machine's own entry for this release: the same place, keys and options.
backports_from_deb822() {
    awk -v suite="$1" '
        function flush() {
            if (!done && found && uris != "") {
                printf "Types: deb\nURIs: %s\nSuites: %s-backports\nComponents: main\n%s", uris, suite, rest
                done = 1
            }
            uris = ""; rest = ""; found = 0; key = ""
        }
        /^#/ { next }
        /^[ \t]*$/ { flush(); next }
        /^[ \t]/ { if (key == "signed-by") rest = rest $0 "\n"; next }
        {
            key = tolower($1); sub(/:.*/, "", key)
            value = $0; sub(/^[^:]*:[ \t]*/, "", value)
            if (key == "uris") { split(value, parts, " "); uris = parts[1] }
            else if (key == "suites") {
                n = split(value, parts, " ")
                for (i = 1; i <= n; i++) if (parts[i] == suite) found = 1
            }
            else if (key == "signed-by" || key == "trusted") rest = rest $0 "\n"
        }
        END { flush() }' "$2"
}

backports_from_list() {
    awk -v suite="$1" '
        $1 == "deb" {
            line = $0; options = ""
            if (match(line, /\[[^]]*\]/)) { options = substr(line, RSTART, RLENGTH) " "; sub(/\[[^]]*\]/, "", line) }
            n = split(line, parts, " ")
            if (n >= 3 && parts[3] == suite) { printf "deb %s%s %s-backports main\n", options, parts[2], suite; exit }
        }' "$2"
}

add_backports() {
    codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    id=$(. /etc/os-release && printf '%s' "${ID:-}")
    [ "$id" = debian ] && [ -n "$codename" ] || return 1
    for file in /etc/apt/sources.list.d/*.sources /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -r "$file" ] || continue
        case $file in
        *.sources)
            entry=$(backports_from_deb822 "$codename" "$file")
            target=/etc/apt/sources.list.d/profconv-backports.sources
            ;;
        *)
            entry=$(backports_from_list "$codename" "$file")
            target=/etc/apt/sources.list.d/profconv-backports.list
            ;;
        esac
        [ -n "$entry" ] || continue
        printf '%s\n' "$entry" | as_root tee "$target" >/dev/null || return 1
        if apt_get update >/dev/null 2>&1 && go_backport_is_there "$codename"; then
            return 0
        fi
        as_root rm -f "$target"
        apt_get update >/dev/null 2>&1
    done
    return 1
}

go_backport_is_there() {
    apt-cache madison golang-go 2>/dev/null | grep -q "$1-backports"
}

want_go() {
    go_is_new && return 0
    if [ "$root" = none ] || ! command -v apt-get >/dev/null 2>&1; then
        say "Go 1.21 or later is not installed; tests that compare with it will skip"
        return 0
    fi
    update
    codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    if go_candidate_is_new; then
        say "installing golang-go"
        install golang-go 2>/dev/null
    elif go_backport_is_there "$codename" || add_backports; then
        say "installing golang-go from $codename-backports"
        install -t "$codename-backports" golang-go 2>/dev/null
    fi
    go_is_new || say "Go 1.21 or later is not to be had; tests that compare with it will skip"
}

if [ "$mode" = want ]; then
    shift
    want_all "$@"
    exit
fi
# shellcheck disable=SC2086
if [ "$mode" = build ]; then
    need $build_packages
    exit
fi
# shellcheck disable=SC2086
need $build_packages $test_packages || exit 1
for peer in $peer_packages; do
    want_peer "$peer"
done
want_go
exit 0
