/* SPDX-License-Identifier: MIT
 *
 * LLVM's packing of a 32-bit DWARF discriminator: base discriminator, duplication factor and copy id, each of 1, 7
 * or 14 bits; or a pseudo-probe word, marked by three set low bits.
 */
#ifndef PFC_PGO_DISCRIMINATOR_H
#define PFC_PGO_DISCRIMINATOR_H

#include <stdint.h>

static inline int pfc_discriminator_is_probe(uint32_t d) { return (d & 7) == 7; }

/* One component from the low bits; *rest is what follows it. */
static inline uint32_t pfc_discriminator_component(uint32_t d, uint32_t *rest) {
    if (d & 1) {
        *rest = d >> 1;
        return 0;
    }
    uint32_t v = d >> 1;
    if (v & 0x20) {
        *rest = d >> 14;
        return ((v >> 1) & 0xfe0) | (v & 0x1f);
    }
    *rest = d >> 7;
    return v & 0x1f;
}

/* Of a probe word: the DWARF base discriminator embedded in it (bit 28 set), else the probe's id. */
static inline uint32_t pfc_discriminator_base(uint32_t d) {
    if (pfc_discriminator_is_probe(d))
        return d & (1u << 28) ? (d >> 16) & 7 : (d >> 3) & 0xffff;
    uint32_t rest;
    return pfc_discriminator_component(d, &rest);
}

/* How often the optimizer duplicated the code: at least 1. */
static inline uint32_t pfc_discriminator_duplication(uint32_t d) {
    uint32_t rest;
    if (pfc_discriminator_is_probe(d))
        return 1;
    pfc_discriminator_component(d, &rest);
    uint32_t factor = pfc_discriminator_component(rest, &rest);
    return factor ? factor : 1;
}

#endif
