/* SPDX-License-Identifier: MIT
 *
 * "Did you mean": the name that is fewest letters away from a mistyped one.
 */
#include <string.h>

#include "cli.h"

#define LONGEST 31

/* Letters to insert, leave out or exchange, or neighbours to swap. */
static size_t distance(const char *a, size_t a_size, const char *b) {
    size_t rows[3][LONGEST + 1], b_size = strlen(b);
    if (a_size > LONGEST || b_size > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= b_size; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_size; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            size_t least = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < least)
                least = above[j] + 1;
            if (row[j - 1] + 1 < least)
                least = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && two_above[j - 2] + 1 < least)
                least = two_above[j - 2] + 1;
            row[j] = least;
        }
    }
    return rows[a_size % 3][b_size];
}

void cli_guess_try(cli_guess *guess, const char *name) {
    size_t far = distance(guess->word, guess->size, name);
    if (far > 2 || far * 3 > guess->size || (guess->name && far >= guess->distance))
        return;
    guess->name = name;
    guess->distance = far;
}
