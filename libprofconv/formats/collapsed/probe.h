/* SPDX-License-Identifier: MIT
 *
 * Telling folded text from other text by its first bytes.
 */
#ifndef PFC_COLLAPSED_PROBE_H
#define PFC_COLLAPSED_PROBE_H

#include <stddef.h>
#include <stdint.h>

int pfc_collapsed_probe(void *user, const uint8_t *head, size_t size, int whole);

#endif
