/* SPDX-License-Identifier: MIT
 *
 * Which of many pairs of values differ by more than chance, from the two values alone. Under the same rate on both
 * sides, n samples of which b are after are binomial with 1/2; with continuity the normal law is on the careful side of
 * it also for few samples. Benjamini and Hochberg's rule then holds the share of false ones among those called changed
 * at 5 %.
 */
#include "libprofconv/formats/viewers/view.h"

/* Without libm: the square root by Newton, e^-x by squaring a short series of a small argument. */
static double root_of(double x) {
    double r = x > 1 ? x : 1;
    for (int i = 0; i < 80; i++)
        r = 0.5 * (r + x / r);
    return r;
}

static double exp_minus(double x) {
    if (x > 700)
        return 0;
    double small = x / 1024;
    double sum = 1 - small + small * small / 2 - small * small * small / 6 + small * small * small * small / 24;
    for (int i = 0; i < 10; i++)
        sum *= sum;
    return sum;
}

/* Two-sided: 2 Q(z), by the continued fraction of Mills' ratio. Below z = 1.5 nothing is ever called changed: 1. */
static double p_of(double z) {
    if (z < 1.5)
        return 1;
    double fraction = z;
    for (int k = 60; k > 0; k--)
        fraction = z + k / fraction;
    return 2 * exp_minus(z * z / 2) / (2.5066282746310002 * fraction);
}

static double p_value(int64_t before, int64_t after, int64_t grain) {
    double a = (double)before / (double)grain;
    double b = (double)after / (double)grain;
    double d = a > b ? a - b : b - a;
    if (a < 0 || b < 0 || a + b <= 0)
        return 1;
    return d > 1 ? p_of((d - 1) / root_of(a + b)) : 1;
}

int pfc_view_compare(pfc_mem *mem, const int64_t *before, const int64_t *after, size_t count, int64_t grain,
                     uint8_t *classes) {
    size_t rows = 0;
    size_t changed = 0;
    for (size_t i = 0; i < count; i++)
        classes[i] = before[i] == after[i] ? PFC_VIEW_SAME : PFC_VIEW_CHANGED;
    if (grain <= 0)
        return 0;
    pfc_key *keys = (pfc_key *)pfc_alloc(mem, (count + 1) * sizeof *keys);
    if (!keys)
        return mem->failed;
    for (size_t i = 0; i < count; i++) {
        if (before[i] == 0 && after[i] == 0)
            continue;
        pfc_key key = {(uint64_t)(p_value(before[i], after[i], grain) * 9e18), (uint32_t)i, (uint32_t)i};
        keys[rows++] = key;
        classes[i] = before[i] == after[i] ? PFC_VIEW_SAME : PFC_VIEW_UNSURE;
    }
    int status = pfc_sort_keys(mem, keys, rows);
    for (size_t i = 0; status == 0 && i < rows; i++) {
        if ((double)keys[i].key <= 0.05 * 9e18 * (double)(i + 1) / (double)rows)
            changed = i + 1;
    }
    for (size_t i = 0; status == 0 && i < changed; i++)
        classes[keys[i].id] = before[keys[i].id] == after[keys[i].id] ? PFC_VIEW_SAME : PFC_VIEW_CHANGED;
    pfc_free(mem, keys, (count + 1) * sizeof *keys);
    return status;
}
