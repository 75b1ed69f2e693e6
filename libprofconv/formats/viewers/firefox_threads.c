/* SPDX-License-Identifier: MIT
 *
 * A Firefox profile around the tables: what is said of the whole, and the threads with their samples.
 */
#include <string.h>

#include "libprofconv/formats/viewers/firefox.h"

static void add_fact(firefox *w, const char *key, const char *attribute) {
    profconv_string value = profconv_profile_find_attribute(w->v.profile, attribute);
    if (value.size == 0)
        return;
    pfc_buf_text(&w->v.out.buf, key);
    pfc_view_json(&w->v.out.buf, value.data, value.size);
}

static void add_meta(firefox *w, const char *title, uint32_t selected) {
    pfc_buf *out = &w->v.out.buf;
    profconv_string command = profconv_profile_find_attribute(w->v.profile, "command-line");
    if (!title)
        title = command.size ? command.data : "profile";
    pfc_buf_printf(out, "{\"meta\":{\"version\":27,\"preprocessedProfileVersion\":%d,\n\"product\":", FIREFOX_VERSION);
    pfc_view_json(out, title, strlen(title));
    pfc_buf_text(out, ",\"importedFrom\":\"libprofconv ");
    pfc_buf_text(out, profconv_version());
    pfc_buf_text(out, "\",\"interval\":");
    pfc_firefox_decimal(out, w->interval, 6);
    pfc_buf_text(out, ",\"startTime\":");
    pfc_firefox_decimal(out, profconv_profile_info(w->v.profile)->time_ns, 6);
    add_fact(w, ",\"arguments\":", "command-line");
    add_fact(w, ",\"oscpu\":", "os-release");
    add_fact(w, ",\"abi\":", "arch");
    add_fact(w, ",\"CPUName\":", "cpu");
    pfc_buf_text(out,
                 ",\n\"processType\":0,\"stackwalk\":1,\"symbolicated\":true,\"symbolicationNotSupported\":true,"
                 "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,\"keepProfileThreadOrder\":true,\n"
                 "\"initialSelectedThreads\":[");
    pfc_buf_u64(out, selected);
    pfc_buf_text(out, "],\"markerSchema\":[],\n\"categories\":");
    pfc_firefox_categories(out);
    pfc_buf_text(out, "},\n");
}

static void add_text(firefox *w, uint32_t text) {
    profconv_string s = pfc_view_string(&w->v.frames, text);
    pfc_view_json(&w->v.out.buf, s.data, s.size);
}

/* "name", or "thread 12", or what the whole is called. */
static void add_thread_name(firefox *w, const uint32_t *cells) {
    pfc_buf *out = &w->v.out.buf;
    profconv_string tid = pfc_view_string(&w->v.frames, cells[THREAD_TID]);
    if (cells[THREAD_NAME]) {
        add_text(w, cells[THREAD_NAME]);
        return;
    }
    pfc_buf name;
    pfc_buf_init(&name, &w->v.mem);
    pfc_buf_text(&name, tid.size ? "thread " : w->thread_count > 1 ? "[no thread]" : "all threads");
    pfc_buf_add(&name, tid.data, tid.size);
    if (name.failed)
        out->failed = name.failed;
    else
        pfc_view_json(out, name.data, name.size);
    pfc_buf_free(&name);
}

/* Threads of a process are beside each other: the name of that which has the process's number. */
static uint32_t process_name(firefox *w, uint32_t index) {
    uint32_t pid = pfc_view_row(&w->threads, w->order[index])[THREAD_PID];
    if (index >= w->group_end) {
        w->group_name = 0;
        for (w->group_end = index; w->group_end < w->thread_count; w->group_end++) {
            const uint32_t *cells = pfc_view_row(&w->threads, w->order[w->group_end]);
            if (cells[THREAD_PID] != pid)
                break;
            if (pid && cells[THREAD_TID] == pid && !w->group_name)
                w->group_name = cells[THREAD_NAME];
        }
    }
    return w->group_name;
}

/* As a number, where it is one that JavaScript has. */
static void add_tid(firefox *w, uint32_t text, uint32_t index) {
    profconv_string s = pfc_view_string(&w->v.frames, text);
    int64_t number;
    if (s.size == 0)
        pfc_buf_u64(&w->v.out.buf, index);
    else if (s.size < 16 && pfc_parse_i64(s.data, s.data + s.size, &number) == s.data + s.size)
        pfc_buf_i64(&w->v.out.buf, number);
    else
        pfc_view_json(&w->v.out.buf, s.data, s.size);
}

static uint64_t size_of(int64_t value) { return value < 0 ? 0 - (uint64_t)value : (uint64_t)value; }

/* Times of samples without any: behind each other. In nanoseconds, as far as they fit. */
static void add_times(firefox *w, size_t from, size_t to, firefox_unit unit) {
    static const int64_t scale[] = {1, 1000, 1000000, 1000000000};
    pfc_buf *out = &w->v.out.buf;
    int is_time = strcmp(unit.type, "tracing-ms") == 0;
    int64_t grain = pfc_view_column_grain(&w->v.columns, w->v.columns.shown), now = 0;
    int full = 0;
    for (size_t i = from; i < to; i++) {
        const firefox_sample *row = &w->samples.data[i];
        uint64_t size = size_of(row->value), step;
        if (i > from)
            pfc_buf_char(out, ',');
        pfc_firefox_decimal(out, w->timed ? row->time : now, 6);
        uint64_t each = is_time ? (uint64_t)scale[(6 - unit.decimals) / 3] : (uint64_t)w->interval;
        uint64_t pieces = is_time ? size : grain > 0 && size >= (uint64_t)grain ? size / (uint64_t)grain : 1;
        step = pieces > (uint64_t)INT64_MAX / each ? (uint64_t)INT64_MAX : pieces * each;
        now = pfc_add_sat_i64(now, (int64_t)step, &full);
        pfc_view_flush(&w->v.out, 0);
    }
}

static void add_thread(firefox *w, uint32_t index, size_t from, size_t to) {
    const uint32_t *cells = pfc_view_row(&w->threads, w->order[index]);
    firefox_unit unit = pfc_firefox_unit(w);
    pfc_buf *out = &w->v.out.buf;
    uint32_t process = process_name(w, index);
    int main = cells[THREAD_PID] ? cells[THREAD_PID] == cells[THREAD_TID] : w->thread_count == 1;
    pfc_buf_text(out, index ? ",\n{\"name\":" : "{\"name\":");
    add_thread_name(w, cells);
    pfc_buf_text(out, ",\"processType\":\"default\"");
    if (process) {
        pfc_buf_text(out, ",\"processName\":");
        add_text(w, process);
    }
    pfc_buf_text(out, ",\"pid\":");
    if (cells[THREAD_PID])
        add_text(w, cells[THREAD_PID]);
    else
        pfc_buf_text(out, "\"0\"");
    pfc_buf_text(out, ",\"tid\":");
    add_tid(w, cells[THREAD_TID], index);
    pfc_buf_text(out, main ? ",\"isMainThread\":true" : ",\"isMainThread\":false");
    pfc_buf_text(
        out, ",\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
             "\"pausedRanges\":[],\n\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],"
             "\"category\":[],\"length\":0},\n\"samples\":{\"stack\":[");
    for (size_t i = from; i < to; i++) {
        if (i > from)
            pfc_buf_char(out, ',');
        pfc_buf_u64(out, w->samples.data[i].stack - 1);
        pfc_view_flush(&w->v.out, 0);
    }
    pfc_buf_text(out, "],\n\"time\":[");
    add_times(w, from, to, unit);
    pfc_buf_text(out, "],\n\"weight\":[");
    for (size_t i = from; i < to; i++) {
        if (i > from)
            pfc_buf_char(out, ',');
        pfc_firefox_decimal(out, w->samples.data[i].value, unit.decimals);
        pfc_view_flush(&w->v.out, 0);
    }
    pfc_buf_printf(out, "],\n\"weightType\":\"%s\",\"length\":%llu}}", unit.type, (unsigned long long)(to - from));
}

/* The heaviest thread is selected when the file is opened. */
static uint32_t heaviest(const firefox *w) {
    uint64_t most = 0;
    uint32_t found = 0;
    for (size_t i = 0; i < w->samples.count;) {
        uint64_t sum = 0;
        uint32_t thread = w->samples.data[i].thread;
        for (; i < w->samples.count && w->samples.data[i].thread == thread; i++)
            sum = pfc_add_sat(sum, size_of(w->samples.data[i].value));
        if (sum > most) {
            most = sum;
            found = thread;
        }
    }
    return found;
}

void pfc_firefox_file(firefox *w, const char *title) {
    add_meta(w, title, heaviest(w));
    pfc_firefox_tables(w);
    pfc_buf_text(&w->v.out.buf, "\"pages\":[],\"threads\":[\n");
    for (size_t from = 0, to; from < w->samples.count; from = to) {
        for (to = from; to < w->samples.count && w->samples.data[to].thread == w->samples.data[from].thread;)
            to++;
        add_thread(w, w->samples.data[from].thread, from, to);
    }
    pfc_buf_text(&w->v.out.buf, "\n]}\n");
}
