/* SPDX-License-Identifier: MIT
 *
 * A line on the terminal for work that takes over a second, and a clean end on Ctrl-C: the library is told to stop at
 * the next tick and removes its half-written file. A second Ctrl-C ends the process at once.
 */
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int number) { interrupted = number; }

int cli_interrupted(void) { return (int)interrupted; }

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void cli_progress_start(cli_progress *progress, const cli_arguments *arguments) {
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action;
    memset(progress, 0, sizeof *progress);
    progress->shown = !arguments->quiet && isatty(STDERR_FILENO);
    progress->started = now();
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = (int)SA_RESETHAND;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction old;
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) /* nohup stays nohup */
            sigaction(signals[i], &action, NULL);
    }
}

int cli_progress_tick(void *user, const char *stage, uint64_t done, uint64_t total) {
    cli_progress *progress = (cli_progress *)user;
    if (interrupted)
        return 1;
    if (!progress->shown)
        return 0;
    int64_t time = now();
    if (time - progress->started < 1000 || time - progress->drawn < 100)
        return 0;
    progress->drawn = time;
    progress->visible = 1;
    if (total != UINT64_MAX && total > 0)
        fprintf(stderr, "\r%s %3d%%\033[K", stage, (int)(100.0 * (double)done / (double)total));
    else if (done > 0)
        fprintf(stderr, "\r%s %.1f MB\033[K", stage, (double)done / 1e6);
    else
        fprintf(stderr, "\r%s\033[K", stage);
    fflush(stderr);
    return 0;
}

void cli_progress_end(cli_progress *progress) {
    if (progress->visible)
        fputs("\r\033[K", stderr);
    progress->visible = 0;
}
