/* SPDX-License-Identifier: MIT
 *
 * Which mappings of a profile are code of a given binary, and what to tell somebody when none is.
 */
#ifndef PFC_PGO_SELECT_H
#define PFC_PGO_SELECT_H

#include "libprofconv/model/model.h"
#include "libprofconv/symbolize/binary.h"

/* Marks in of_binary (one byte a mapping row, zeroed here) the mappings of `binary`: those with its build-id; else,
 * where the binary or the mapping has none, those of its file name, and a mapping without file and build-id. Returns
 * how many. */
size_t pfc_select_mappings(const pfc_model *model, const pfc_binary *binary, uint8_t *of_binary);

/* How much of the profile lies in each mapping (counts of records, else of samples), in weights[mapping row]. */
void pfc_mapping_weights(const pfc_model *model, uint64_t *weights);

/* Fails with PROFCONV_E_NOT_FOUND and the mappings of the profile with their build-ids and weights, those with names
 * like `path` first, then by weight. */
int pfc_select_failure(pfc_mem *mem, const pfc_model *model, const pfc_binary *binary, const char *path,
                       profconv_error *error);

#endif
