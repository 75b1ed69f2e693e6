/* SPDX-License-Identifier: MIT
 *
 * How sure it is that text comes from perf script: by its first lines that mean something.
 */
#include <profconv/plugin.h>

#include <string.h>

#include "libprofconv/formats/perf-script/text.h"

int ps_probe(void *user, const uint8_t *head, size_t size, int whole);

enum { LINES_MOST = 400, SURE = 85, LIKELY = 70 };

int ps_probe(void *user, const uint8_t *head, size_t size, int whole) {
    (void)user;
    const char *p = (const char *)head, *end = p + size;
    int facts = 0, headers = 0;
    for (unsigned n = 0; p < end && n < LINES_MOST; n++) {
        const char *lf = (const char *)memchr(p, '\n', (size_t)(end - p));
        if (!lf && !whole && n > 0)
            break; /* cut by the end of what is shown */
        ps_text line = {p, (size_t)((lf ? lf : end) - p)};
        p = lf ? lf + 1 : end;
        if (line.size > 0 && line.data[line.size - 1] == '\r')
            line.size--;
        if (memchr(line.data, 0, line.size))
            return 0;
        ps_header header;
        if (line.size == 0)
            continue;
        if (ps_text_starts(line, "# perf version :") || ps_text_starts(line, "# captured on"))
            facts = 1;
        else if (line.data[0] != '\t' && line.data[0] != '#' && ps_parse_header(line, &header) &&
                 header.event.size > 0) {
            if (header.has_time)
                return SURE;
            headers = 1;
        } else if (headers) {
            ps_frame frame;
            if (ps_parse_frame(line, &frame) && (frame.has_dso || ps_is_blank(line.data[0])))
                return SURE;
            headers = 0;
        } else if (ps_text_find(line, "PERF_RECORD_MMAP") || ps_find_branches(line) != SIZE_MAX)
            return SURE;
    }
    return facts ? LIKELY : 0;
}
