#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Everything, on a fresh Debian 12 or later: installs what is missing, builds with warnings as errors, runs all tests.
# PROFCONV_BUILD_DIR: where to build; default build/.
set -eu

source=$(cd "$(dirname "$0")/.." && pwd)
sh "$source/tests/support/deps.sh" all
exec sh "$source/tests/support/build_and_test.sh" "${PROFCONV_BUILD_DIR:-$source/build}" -DPROFCONV_WERROR=ON
