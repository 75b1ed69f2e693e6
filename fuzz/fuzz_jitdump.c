/* SPDX-License-Identifier: MIT
 *
 * jitdump files of any content, through a file as they are read: events, names, lines.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "libprofconv/base/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    FILE *file = tmpfile();
    pfc_jitdump *dump = NULL;
    if (!file)
        return 0;
    if (fwrite(data, 1, size, file) != size || fflush(file) != 0) {
        fclose(file);
        return 0;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(file));
    if (pfc_jitdump_reader.open(&dump, NULL, 64 << 20, NULL, path, NULL) == 0) {
        size_t count = 0;
        uint64_t sum = 0;
        const pfc_jit_event *events = pfc_jitdump_reader.events(dump, &count);
        for (size_t i = 0; i < count; i++) {
            profconv_string name = pfc_jitdump_reader.name(dump, events[i].code), from;
            for (size_t k = 0; k < name.size; k++)
                sum += (uint8_t)name.data[k];
            sum += pfc_jitdump_reader.line(dump, events[i].code, events[i].size / 2, &from);
            for (size_t k = 0; k < from.size; k++)
                sum += (uint8_t)from.data[k];
            if (i && events[i].time < events[i - 1].time)
                abort();
        }
        if (sum == UINT64_MAX)
            abort();
        pfc_jitdump_reader.close(dump);
    }
    fclose(file);
    return 0;
}
