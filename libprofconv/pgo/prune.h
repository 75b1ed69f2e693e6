/* SPDX-License-Identifier: MIT
 *
 * Taking functions out of the source tables of a builder.
 */
#ifndef PFC_PGO_PRUNE_H
#define PFC_PGO_PRUNE_H

#include "libprofconv/model/model.h"

/* Drops the top-level functions from row `first` on whose total is not above `threshold`, with all below them; *pruned
 * is how many. 0 or a status. */
int pfc_prune_sources(profconv_builder *builder, profconv_id first, uint64_t threshold, uint64_t *pruned);

#endif
