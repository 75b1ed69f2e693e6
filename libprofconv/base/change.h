/* SPDX-License-Identifier: MIT
 *
 * What a comparison hands to a viewer: a record a function, "52" and 16 hexadecimal digits, with commas between. The digits are
 * the classes (profconv_diff_class) of its self values and of its totals; the number is a hash of its name and file.
 */
#ifndef PFC_BASE_CHANGE_H
#define PFC_BASE_CHANGE_H

#include <profconv/base.h>

#include "libprofconv/base/hash.h"

enum { PFC_CHANGE_RECORD = 18 };

static inline uint64_t pfc_change_hash(profconv_string name, profconv_string file) {
    return pfc_hash_mix(pfc_hash_bytes(name.data, name.size), pfc_hash_bytes(file.data, file.size));
}

#endif
