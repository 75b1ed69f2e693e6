/* SPDX-License-Identifier: MIT
 *
 * Families of processors: 32-bit code runs on machines that call themselves by the 64-bit name, so the two are one
 * family.
 */
#include "libprofconv/symbolize/architecture.h"

#include <elf.h>
#include <string.h>

#include "libprofconv/symbolize/image.h"

static const struct {
    uint16_t machine;   /* of the ELF header */
    const char *prefix; /* of the name that the kernel gives */
    const char *family;
} known[] = {
    {EM_X86_64, "x86", "x86"},    {EM_386, "i386", "x86"},        {EM_386, "i486", "x86"},
    {EM_386, "i586", "x86"},      {EM_386, "i686", "x86"},        {EM_AARCH64, "aarch64", "arm"},
    {EM_AARCH64, "arm64", "arm"}, {EM_ARM, "arm", "arm"},         {EM_RISCV, "riscv", "riscv"},
    {EM_PPC64, "ppc", "ppc"},     {EM_PPC, "ppc", "ppc"},         {EM_S390, "s390", "s390"},
    {EM_MIPS, "mips", "mips"},    {EM_SPARCV9, "sparc", "sparc"}, {258, "loongarch", "loongarch"},
};

const char *pfc_binary_architecture(const pfc_binary *binary) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].machine == binary->runtime->machine)
            return known[i].family;
    }
    return NULL;
}

const char *pfc_architecture_of(const char *machine) {
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strncmp(machine, known[i].prefix, strlen(known[i].prefix)) == 0)
            return known[i].family;
    }
    return NULL;
}
