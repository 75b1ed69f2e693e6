/* SPDX-License-Identifier: MIT
 *
 * What the rest of the library may see of a bag of settings.
 */
#ifndef PFC_BASE_OPTIONS_H
#define PFC_BASE_OPTIONS_H

#include <profconv/base.h>

/* Assignment `index` in the order they were made (replaced ones included); 0 past the last. `options` may be NULL. For
 * finding scopes that no format has. */
int pfc_options_entry(const profconv_options *options, size_t index, const char **scope, const char **key,
                      const char **value);

/* The texts of values: nonzero when the whole text is one. */
int pfc_parse_bool(const char *text, int *value);
int pfc_parse_setting_int(const char *text, int64_t *value);
/* Decimal, with an optional sign, fraction and exponent; the point is '.' in every locale; finite. */
int pfc_parse_float(const char *text, double *value);

#endif
