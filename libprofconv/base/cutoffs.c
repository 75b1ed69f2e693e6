/* SPDX-License-Identifier: MIT
 *
 * Walks counts from the largest down until each of sixteen shares of the sum is reached. Equal counts come together.
 */
#include "libprofconv/base/cutoffs.h"

static const uint32_t shares[PFC_CUTOFFS] = {10000,  100000, 200000, 300000, 400000, 500000, 600000, 700000,
                                             800000, 900000, 950000, 990000, 999000, 999900, 999990, 999999};

/* floor(total * share / 1000000) without a 128-bit product: share < 1000000, so neither part overflows. */
static uint64_t share_of(uint64_t total, uint32_t share) {
    return total / 1000000 * share + total % 1000000 * share / 1000000;
}

uint64_t pfc_cutoffs(const uint64_t *counts, size_t n, pfc_cutoff out[PFC_CUTOFFS]) {
    uint64_t total = 0, sum = 0, count = 0;
    size_t left = n;
    uint32_t seen = 0;
    for (size_t i = 0; i < n; i++)
        total += counts[i];
    for (unsigned i = 0; i < PFC_CUTOFFS; i++) {
        uint64_t desired = share_of(total, shares[i]);
        while (sum < desired && left > 0) {
            count = counts[left - 1];
            uint32_t frequency = 0;
            for (; left > 0 && counts[left - 1] == count; left--)
                frequency++;
            sum += count * frequency;
            seen += frequency;
        }
        out[i].share = shares[i];
        out[i].counts = seen;
        out[i].min = count;
    }
    return total;
}
