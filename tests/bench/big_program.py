#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the C source of a large program: N functions with loops, branches, inlined helpers and calls of each other.

    big_program.py FUNCTIONS > big.c

Compiled with -g it stands for a large binary in benchmarks of source profiles and symbolization. The same N gives the same text.
"""
import random
import sys


def main():
    count = int(sys.argv[1])
    rng = random.Random(1)
    out = ["/* generated */", "typedef unsigned long u64;", "extern volatile u64 sink;"]
    for k in range(40):
        out.append("static inline __attribute__((always_inline)) u64 helper_%d(u64 x, u64 n) {" % k)
        out.append("    u64 r = x * %d + n;" % (2 * k + 3))
        out.append("    if (r & %d)" % (1 << k % 7))
        out.append("        r ^= x >> %d;" % (k % 13 + 1))
        out.append("    for (u64 i = 0; i < (n & 3); i++)")
        out.append("        r += %s;" % ("helper_%d(r, i)" % (k // 3) if k > 2 else "i * r"))
        out.append("    return r;\n}")
    for k in range(count):
        out.append("u64 function_%d(u64 x, int depth);" % k)
    for k in range(count):
        out.append("u64 function_%d(u64 x, int depth) {" % k)
        out.append("    u64 r = x + %d;" % k)
        out.append("    if (depth <= 0)\n        return r;")
        for _ in range(rng.randrange(2, 6)):
            kind = rng.randrange(4)
            callee = rng.randrange(count)
            if kind == 0:
                out.append("    r += helper_%d(r, x);" % rng.randrange(40))
            elif kind == 1:
                out.append("    if (r %% %d == 0)\n        r += function_%d(r, depth - 1);\n    else\n        r ^= helper_%d(x, r);"
                           % (rng.randrange(2, 9), callee, rng.randrange(40)))
            elif kind == 2:
                out.append("    for (u64 i = 0; i < r %% %d; i++) {\n        r += helper_%d(i, r);\n        sink += r;\n    }"
                           % (rng.randrange(2, 6), rng.randrange(40)))
            else:
                out.append("    switch (r %% 5) {\n    case 0: r += function_%d(x, depth - 2); break;\n    case 1: r -= 7; break;\n"
                           "    case 2: r = helper_%d(r, 3); break;\n    default: r++;\n    }" % (callee, rng.randrange(40)))
        out.append("    return r;\n}")
    out.append("volatile u64 sink;")
    out.append("int main(void) {\n    u64 r = 0;\n    for (u64 i = 0; i < 1000; i++)\n        r += function_0(i, 8);\n    return (int)(r & 1);\n}")
    print("\n".join(out))


if __name__ == "__main__":
    main()
