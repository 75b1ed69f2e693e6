/* SPDX-License-Identifier: MIT
 *
 * LLVM's packed discriminators and the suffixes of function names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "libprofconv/pgo/discriminator.h"
#include "libprofconv/pgo/names.h"

/* LLVM's encoder of a component, by the format: a 1 for zero; else 0, five low bits, and a bit that says whether seven
 * more follow. */
static uint32_t encode(uint32_t value, unsigned *bits) {
    if (value == 0) {
        *bits = 1;
        return 1;
    }
    if (value < 32) {
        *bits = 7;
        return value << 1;
    }
    *bits = 14;
    return ((value & 0x1f) << 1) | 0x40 | ((value & 0xfe0) << 2);
}

static void test_components(void **state) {
    (void)state;
    static const uint32_t values[] = {0, 1, 2, 3, 15, 31, 32, 33, 64, 100, 511, 1000, 4095};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
            unsigned base_bits, factor_bits;
            uint32_t base = encode(values[i], &base_bits);
            uint32_t factor = encode(values[k], &factor_bits);
            uint32_t word = base | factor << base_bits;
            /* Copy id 1 behind them, where there is room: it must not be taken for a part of either. */
            if (base_bits + factor_bits + 7 <= 32)
                word |= 2u << (base_bits + factor_bits);
            if (pfc_discriminator_is_probe(word))
                continue; /* base 0, factor 0 and copy id 0 or a factor that looks so: LLVM never makes such a word */
            assert_int_equal(pfc_discriminator_base(word), values[i]);
            assert_int_equal(pfc_discriminator_duplication(word), values[k] ? values[k] : 1);
        }
    }
    assert_int_equal(pfc_discriminator_base(0), 0);
    assert_int_equal(pfc_discriminator_duplication(0), 1);
    /* Base discriminator 2 alone is 4 in the debug information of clang. */
    assert_int_equal(pfc_discriminator_base(4), 2);
    assert_int_equal(pfc_discriminator_duplication(4), 1);
}

static void test_probes(void **state) {
    (void)state;
    uint32_t plain = 7u | 1234u << 3 | 100u << 19 | 2u << 26;
    assert_true(pfc_discriminator_is_probe(plain));
    assert_int_equal(pfc_discriminator_base(plain), 1234);
    assert_int_equal(pfc_discriminator_duplication(plain), 1);
    uint32_t mixed = 7u | 77u << 3 | 5u << 16 | 1u << 28;
    assert_int_equal(pfc_discriminator_base(mixed), 5);
    assert_false(pfc_discriminator_is_probe(3));
}

static void check_name(pfc_suffix_policy policy, const char *name, const char *want) {
    char out[64];
    size_t size = pfc_strip_suffixes(policy, name, strlen(name), out);
    assert_int_equal(size, strlen(want));
    assert_memory_equal(out, want, size);
}

static void test_suffixes(void **state) {
    (void)state;
    check_name(PFC_SUFFIX_SELECTED, "foo", "foo");
    check_name(PFC_SUFFIX_SELECTED, "foo.cold", "foo");
    check_name(PFC_SUFFIX_SELECTED, "foo.llvm.123", "foo");
    check_name(PFC_SUFFIX_SELECTED, "foo.llvm.123.cold", "foo");
    check_name(PFC_SUFFIX_SELECTED, "foo.__part.2", "foo");
    check_name(PFC_SUFFIX_SELECTED, "foo.isra.0", "foo.isra.0"); /* listed by the tool, but never matched */
    check_name(PFC_SUFFIX_SELECTED, "foo.part.0", "foo.part.0");
    check_name(PFC_SUFFIX_SELECTED, "foo.resume", "foo.resume");
    check_name(PFC_SUFFIX_SELECTED, "foo.cold.1", "foo.1");
    check_name(PFC_SUFFIX_SELECTED, "a.llvm.1.llvm.2", "a.llvm.1"); /* the last one only */
    check_name(PFC_SUFFIX_SELECTED, "", "");
    check_name(PFC_SUFFIX_ALL, "foo.isra.0.cold", "foo");
    check_name(PFC_SUFFIX_ALL, ".hidden.x", ".hidden.x");
    check_name(PFC_SUFFIX_ALL, "x", "x");
    check_name(PFC_SUFFIX_ALL, "", "");
    check_name(PFC_SUFFIX_NONE, "foo.llvm.123.cold", "foo.llvm.123.cold");
    assert_true(pfc_is_split_part("foo.cold") && pfc_is_split_part("foo.cold.1") && pfc_is_split_part("foo.__part.7"));
    assert_false(pfc_is_split_part("foo") || pfc_is_split_part("cold") || pfc_is_split_part("foo.part.0"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_components), cmocka_unit_test(test_probes),
                                       cmocka_unit_test(test_suffixes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
