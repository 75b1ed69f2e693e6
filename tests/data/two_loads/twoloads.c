/* SPDX-License-Identifier: MIT
 *
 * A small position-independent program whose code runs by way of loops, inlined and recursive calls, a table of
 * functions, a switch and libc's qsort, differently for each argument. make.sh builds and records it.
 */
#include <stdio.h>
#include <stdlib.h>

static unsigned state = 7;

static inline unsigned draw(void) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static int by_value(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return x < y ? -1 : x > y;
}

static inline int odd_steps(unsigned n) {
    int steps = 0;
    for (; n != 1; steps++)
        n = n & 1 ? 3 * n + 1 : n / 2;
    return steps;
}

__attribute__((noinline)) static int depth(int n) { return n < 2 ? 1 : 1 + depth(n / 2) + (n & 1 ? depth(n - 2) : 0); }

static int walk(int x) { return odd_steps((unsigned)x + 1); }
static int twice(int x) { return 2 * x; }
static int fold(int x) { return depth(x & 31); }

static int (*const ways[])(int) = {walk, twice, fold};

__attribute__((noinline)) static int sort_out(int x, int way) {
    switch (x % 6) {
    case 0:
        return ways[way](x);
    case 1:
        return odd_steps((unsigned)x);
    case 2:
        return -x;
    case 3:
        return x & 15;
    case 4:
        return ways[(way + 1) % 3](x);
    default:
        return x > 50 ? 1 : 2;
    }
}

int main(int argc, char **argv) {
    int way = argc > 1 ? atoi(argv[1]) % 3 : 0, count = 120 + 90 * way, values[400];
    long sum = 0;
    for (int i = 0; i < count; i++)
        values[i] = (int)(draw() % 300);
    qsort(values, (size_t)count, sizeof *values, by_value);
    for (int i = 0; i < count; i++)
        sum += sort_out(values[i], way);
    printf("%ld\n", sum);
    return 0;
}
