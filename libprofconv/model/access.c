/* SPDX-License-Identifier: MIT
 *
 * Facts about how a profile is made that authors of formats need and that belong to no table.
 */
#include "libprofconv/model/model.h"

const profconv_allocator *profconv_builder_allocator(const profconv_builder *builder) {
    return &builder->model.mem.allocator;
}

int profconv_profile_verbatim(const profconv_profile *profile) { return profile->model.verbatim; }

const profconv_allocator *profconv_profile_allocator(const profconv_profile *profile) {
    return &profile->model.mem.allocator;
}
