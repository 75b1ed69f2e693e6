/* SPDX-License-Identifier: MIT
 *
 * What a conversion must keep: a profile beside what was read back of its writing, under what the writer says that it
 * keeps. Totals are conserved (sum in = sum out + reported drops), facets that should be kept are there or reported as
 * lost, those that are given up are named. Shared by the matrix of fixtures and the fuzz target of the round trip.
 */
#ifndef TESTS_SUPPORT_CONSERVE_H
#define TESTS_SUPPORT_CONSERVE_H

#include <profconv/profconv.h>

typedef struct test_conserved {
    const profconv_profile *in;
    const profconv_profile *back;
    const profconv_report *report; /* of writing */
    const profconv_format_info *writer;
    char message[512]; /* what is not conserved */
} test_conserved;

/* Nonzero when everything is. */
int test_conserve(test_conserved *c);

/* Whether the writer said that it left the stacks out, as for branch records that would count their samples twice. */
int test_left_stacks_out(const profconv_report *report);

/* Losses of counts that the writer names without weighing them; facets do not count, they change no total. */
int test_unweighed_loss(const profconv_report *report);

#endif
