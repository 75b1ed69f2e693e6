/* SPDX-License-Identifier: MIT
 *
 * 128-bit products by halves where the compiler has no such type, and the few statistics that comparing needs.
 */
#include "libprofconv/transform/number.h"

#include <math.h>

#if defined(__SIZEOF_INT128__)
__extension__ typedef unsigned __int128 wide;

int pfc_mul_div(uint64_t a, uint64_t b, uint64_t add, uint64_t d, uint64_t *quotient, uint64_t *remainder) {
    wide product = (wide)a * b + add;
    wide q = product / d;
    if (q > UINT64_MAX)
        return 1;
    *quotient = (uint64_t)q;
    *remainder = (uint64_t)(product % d);
    return 0;
}
#else
int pfc_mul_div(uint64_t a, uint64_t b, uint64_t add, uint64_t d, uint64_t *quotient, uint64_t *remainder) {
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t low = al * bl;
    uint64_t middle = ah * bl + (low >> 32);
    uint64_t middle2 = al * bh + (uint32_t)middle;
    uint64_t high = ah * bh + (middle >> 32) + (middle2 >> 32);
    low = middle2 << 32 | (uint32_t)low;
    low += add;
    high += low < add;
    if (high >= d)
        return 1;
    uint64_t q = 0;
    for (int i = 0; i < 64; i++) { /* high < d: the quotient has 64 bits */
        int top = (int)(high >> 63);
        high = high << 1 | low >> 63;
        low <<= 1;
        q <<= 1;
        if (top || high >= d) {
            high -= d;
            q |= 1;
        }
    }
    *quotient = q;
    *remainder = high;
    return 0;
}
#endif

/* |value| * numerator / denominator; the quotient is held at the end of the type. */
uint64_t pfc_scale_step(pfc_scaling *s, uint64_t value) {
    uint64_t quotient;
    if (pfc_mul_div(value, s->numerator, s->carry, s->denominator, &quotient, &s->carry)) {
        s->saturated++;
        s->carry = 0;
        return UINT64_MAX;
    }
    return quotient;
}

/* A value below zero takes from the carry: floor, not truncation, or sums of mixed signs would drift. */
int64_t pfc_scale_signed(pfc_scaling *s, int64_t value) {
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    int negative = value < 0;
    uint64_t q;
    if (!negative) {
        q = pfc_scale_step(s, size);
    } else {
        uint64_t carry = 0;
        if (pfc_mul_div(size, s->numerator, 0, s->denominator, &q, &carry)) {
            s->saturated++;
            q = UINT64_MAX;
        } else if (carry > s->carry) { /* -(q + carry/d) + old/d = -(q + 1) + (d + old - carry)/d */
            q += q != UINT64_MAX;
            s->carry = s->denominator - (carry - s->carry);
        } else {
            s->carry -= carry;
        }
    }
    negative ^= s->negative;
    if (q > (uint64_t)INT64_MAX + (negative ? 1u : 0u)) {
        s->saturated++;
        q = (uint64_t)INT64_MAX + (negative ? 1u : 0u);
    }
    return negative ? (int64_t)(0 - q) : (int64_t)q;
}

/* The sum of the probabilities of all outcomes that are no more likely than k. */
static double exact_test(unsigned k, unsigned n, double p) {
    double odds = log(p) - log1p(-p);
    double at[201];
    double sum = 0;
    at[0] = n * log1p(-p);
    for (unsigned i = 0; i < n; i++)
        at[i + 1] = at[i] + log((double)(n - i) / (double)(i + 1)) + odds;
    for (unsigned i = 0; i <= n; i++) {
        if (at[i] <= at[k] + 1e-7) /* equal ones differ by rounding */
            sum += exp(at[i]);
    }
    return sum < 1 ? sum : 1;
}

double pfc_binomial_test(uint64_t k, uint64_t n, double p) {
    if (n == 0 || k > n || !(p > 0) || !(p < 1))
        return 1;
    if (n <= 200)
        return exact_test((unsigned)k, (unsigned)n, p);
    double mean = (double)n * p;
    double away = fabs((double)k - mean) - 0.5;
    if (away <= 0)
        return 1;
    return erfc(away / sqrt(2 * mean * (1 - p)));
}

/* The continued fraction of the incomplete beta function, for x below (a + 1) / (a + b + 2), by Lentz's method. */
static double beta_fraction(double a, double b, double x) {
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m <= 300; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        for (int k = 0; k < 2; k++) {
            double step = k ? odd : even;
            d = 1 + step * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + step / c;
            c = fabs(c) < tiny ? tiny : c;
            value *= d * c;
        }
        if (fabs(d * c - 1) < 1e-14)
            break;
    }
    return value;
}

/* log(gamma(x)), x > 0, by Stirling's series above 10; lgamma would write a global. */
static double log_gamma(double x) {
    double shift = 0;
    for (; x < 10; x++)
        shift -= log(x);
    double r = 1 / x, r2 = r * r;
    return shift + (x - 0.5) * log(x) - x + 0.91893853320467274178 +
           r * (1.0 / 12 - r2 * (1.0 / 360 - r2 * (1.0 / 1260 - r2 * (1.0 / 1680 - r2 / 1188))));
}

double pfc_student_test(double t, double freedom) {
    t = fabs(t);
    if (!(freedom > 0))
        return 1;
    if (freedom > 1e6)
        return erfc(t / sqrt(2));
    double a = freedom / 2, b = 0.5, x = freedom / (freedom + t * t);
    if (x >= 1)
        return 1;
    double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    double p = x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
    return p < 0 ? 0 : p > 1 ? 1 : p;
}

void pfc_false_discovery(double *p, size_t count) {
    double least = 1;
    for (size_t i = count; i-- > 0;) {
        double adjusted = p[i] * (double)count / (double)(i + 1);
        least = adjusted < least ? adjusted : least;
        p[i] = least;
    }
}
