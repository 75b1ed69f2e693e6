/* SPDX-License-Identifier: MIT
 *
 * Products that need more than 64 bits, and the tails of distributions.
 */
#ifndef PFC_TRANSFORM_NUMBER_H
#define PFC_TRANSFORM_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* (a * b + add) / d, d > 0 and add < d, with the remainder. Nonzero (and nothing written) when the quotient needs more than
 * 64 bits. */
int pfc_mul_div(uint64_t a, uint64_t b, uint64_t add, uint64_t d, uint64_t *quotient, uint64_t *remainder);

/* A column that is being scaled: what rounding took from one value the next ones get. */
typedef struct pfc_scaling {
    uint64_t numerator;
    uint64_t denominator;
    int negative; /* the sign of the results is turned */
    uint64_t carry; /* below the denominator */
    uint64_t saturated; /* results that were held at the end of their type */
} pfc_scaling;
uint64_t pfc_scale_step(pfc_scaling *scaling, uint64_t value);
int64_t pfc_scale_signed(pfc_scaling *scaling, int64_t value);

/* How likely a split of n samples at least as unlikely as `k` here and n - k there is, when each is here with
 * probability p: two-sided, exact up to 200 samples, by the normal distribution with continuity correction above. */
double pfc_binomial_test(uint64_t k, uint64_t n, double p);

/* Two-sided: how likely Student's t with `freedom` degrees (> 0; INFINITY: the normal distribution) is as far out as `t`. */
double pfc_student_test(double t, double freedom);

/* Benjamini and Hochberg: adjusted values of the `count` ascending p-values, in place. */
void pfc_false_discovery(double *p, size_t count);

#endif
