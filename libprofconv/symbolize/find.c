/* SPDX-License-Identifier: MIT
 *
 * Where a binary, its debug file and its alternate debug file are looked for, and what makes one acceptable: the
 * build-id, which must agree where the recording has one, or the checksum of .gnu_debuglink. A file that disagrees is
 * never used.
 *
 * Order for the file that ran: files named by the user, the recorded path, perf's cache, debug directories by build-id,
 * then by path. Order for debug information: the file itself, files named by the user, debug directories and perf's
 * cache by build-id, .gnu_debuglink. There is no network access: libdwfl's standard look-up, which may ask debuginfod,
 * is not used.
 */
#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libprofconv/base/text.h"
#include "libprofconv/symbolize/image.h"

#define SYSTEM_DEBUG_DIR "/usr/lib/debug"

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Directory `index` that is laid out as /usr/lib/debug, in `buf`; NULL past the last one. */
static const char *debug_dir(const pfc_finder *finder, size_t index, pfc_buf *buf) {
    if (index < finder->debug_dir_count)
        return finder->debug_dirs[index];
    if (index > finder->debug_dir_count)
        return NULL;
    pfc_buf_clear(buf);
    pfc_buf_text(buf, finder->symfs ? finder->symfs : "");
    pfc_buf_text(buf, SYSTEM_DEBUG_DIR);
    return buf->failed ? NULL : buf->data;
}

static int offer(pfc_buf *path, int (*take)(void *user, const char *path), void *user) {
    return path->failed ? 0 : take(user, path->data);
}

int pfc_find_by_id(const pfc_finder *finder, pfc_mem *mem, const char *id, const char *suffix,
                   const char *const *cached, int (*take)(void *user, const char *path), void *user) {
    size_t length = strlen(id);
    if (length < 4 || strchr(id, '/') || strchr(id, '.'))
        return 0;
    pfc_buf path, dir_text;
    pfc_buf_init(&path, mem);
    pfc_buf_init(&dir_text, mem);
    int found = 0;
    const char *dir;
    for (size_t i = 0; !found && (dir = debug_dir(finder, i, &dir_text)); i++) {
        pfc_buf_clear(&path);
        pfc_buf_printf(&path, "%s/.build-id/%.2s/%s%s", dir, id, id + 2, suffix);
        found = offer(&path, take, user);
    }
    /* perf's cache: a directory with one file a kind since 4.6, before that the file itself. Older ones pad ids to 20
     * bytes. */
    size_t padded = length < 40 ? 40 - length : 0;
    for (size_t pad = 0; finder->buildid_dir && !found && pad <= padded; pad += padded ? padded : 1) {
        for (size_t i = 0; !found && cached[i]; i++) {
            pfc_buf_clear(&path);
            pfc_buf_printf(&path, "%s/.build-id/%.2s/%s%.*s/%s", finder->buildid_dir, id, id + 2, (int)pad,
                           "0000000000000000000000000000000000000000", cached[i]);
            found = offer(&path, take, user);
        }
        pfc_buf_clear(&path);
        pfc_buf_printf(&path, "%s/.build-id/%.2s/%s%.*s", finder->buildid_dir, id, id + 2, (int)pad,
                       "0000000000000000000000000000000000000000");
        found = found ? found : offer(&path, take, user);
    }
    pfc_buf_free(&path);
    pfc_buf_free(&dir_text);
    return found;
}

/* ---- debug files ---- */

typedef struct {
    pfc_mem *mem;
    const pfc_image *runtime;
    const char *id;   /* that an alternate file must have, with runtime NULL */
    int has_checksum; /* from .gnu_debuglink */
    uint32_t checksum;
    pfc_image *found;
    int failed; /* status for want of memory */
} debug_search;

/* CRC-32 as .gnu_debuglink has it (polynomial 0xedb88320, inverted before and after). 0, or -1. */
static int file_checksum(int fd, uint32_t *out) {
    uint32_t table[256];
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
        table[i] = c;
    }
    unsigned char bytes[16384];
    uint32_t crc = 0xffffffffu;
    off_t at = 0;
    for (;;) {
        ssize_t n = pread(fd, bytes, sizeof bytes, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        for (ssize_t i = 0; i < n; i++)
            crc = table[(crc ^ bytes[i]) & 0xff] ^ crc >> 8;
        at += n;
    }
    *out = ~crc;
    return 0;
}

static int belongs(const debug_search *search, const pfc_image *image) {
    if (!search->runtime)
        return pfc_image_is(image, search->id);
    if (!image->has_debug_info && !image->has_symtab)
        return 0;
    if (search->runtime->build_id_count && image->build_id_count)
        return pfc_image_is(image, search->runtime->build_ids[0]);
    uint32_t checksum = 0;
    return search->has_checksum && file_checksum(image->fd, &checksum) == 0 && checksum == search->checksum;
}

static int take_debug(void *user, const char *path) {
    debug_search *search = user;
    pfc_image *image = NULL;
    int status = pfc_image_open(&image, search->mem, path, NULL);
    if (status == PROFCONV_E_NOMEM || status == PROFCONV_E_LIMIT)
        search->failed = status;
    if (status)
        return search->failed != 0;
    if (belongs(search, image)) {
        search->found = image;
        return 1;
    }
    pfc_image_close(image);
    return 0;
}

static int take_joined(debug_search *search, pfc_buf *path, const char *a, size_t a_size, const char *b,
                       const char *c) {
    pfc_buf_clear(path);
    pfc_buf_add(path, a, a_size);
    pfc_buf_text(path, b);
    pfc_buf_text(path, c);
    return offer(path, take_debug, search);
}

static int by_debuglink(debug_search *search, const pfc_finder *finder) {
    GElf_Word checksum = 0;
    const char *name = dwelf_elf_gnu_debuglink(search->runtime->elf, &checksum);
    if (!name || !*name || strchr(name, '/'))
        return 0;
    search->has_checksum = 1;
    search->checksum = checksum;
    const char *path = search->runtime->path;
    size_t dir_size = (size_t)(base_name(path) - path); /* with its slash */
    pfc_buf buf, dir_text;
    pfc_buf_init(&buf, search->mem);
    pfc_buf_init(&dir_text, search->mem);
    int done = 0;
    if (strcmp(base_name(path), name) != 0)
        done = take_joined(search, &buf, path, dir_size, name, "");
    done = done || take_joined(search, &buf, path, dir_size, ".debug/", name);
    const char *inside = path; /* the path as the machine of the recording knows it */
    size_t prefix = finder->symfs ? strlen(finder->symfs) : 0;
    if (prefix && strncmp(path, finder->symfs, prefix) == 0)
        inside += prefix;
    size_t inside_size = (size_t)(base_name(inside) - inside);
    const char *dir;
    for (size_t i = 0; !done && (dir = debug_dir(finder, i, &dir_text)); i++) {
        if (inside[0] == '/') {
            pfc_buf_clear(&buf);
            pfc_buf_text(&buf, dir);
            pfc_buf_add(&buf, inside, inside_size);
            pfc_buf_text(&buf, name);
            done = offer(&buf, take_debug, search);
        }
        done = done || take_joined(search, &buf, dir, strlen(dir), "/", name);
    }
    pfc_buf_free(&buf);
    pfc_buf_free(&dir_text);
    return done;
}

/* In debug directories by the file's own name, with and without ".debug", where the build-id confirms it. */
static int by_name(debug_search *search, const pfc_finder *finder) {
    const char *name = base_name(search->runtime->path);
    pfc_buf buf, dir_text;
    pfc_buf_init(&buf, search->mem);
    pfc_buf_init(&dir_text, search->mem);
    int done = 0;
    const char *dir;
    for (size_t i = 0; !done && (dir = debug_dir(finder, i, &dir_text)); i++)
        for (int suffix = 1; !done && suffix >= 0; suffix--) {
            pfc_buf_clear(&buf);
            pfc_buf_printf(&buf, "%s/%s%s", dir, name, suffix ? ".debug" : "");
            done = offer(&buf, take_debug, search);
            if (!done && search->runtime->path[0] == '/') {
                pfc_buf_clear(&buf);
                pfc_buf_printf(&buf, "%s%s%s", dir, search->runtime->path, suffix ? ".debug" : "");
                done = offer(&buf, take_debug, search);
            }
        }
    pfc_buf_free(&buf);
    pfc_buf_free(&dir_text);
    return done;
}

int pfc_find_debug(pfc_image **out, pfc_mem *mem, const pfc_image *runtime, const pfc_finder *finder) {
    static const char *const cached[] = {"debug", NULL};
    debug_search search = {.mem = mem, .runtime = runtime};
    int done = 0;
    for (size_t i = 0; !done && runtime->build_id_count && i < finder->binary_count; i++)
        if (strcmp(finder->binaries[i], runtime->path) != 0)
            done = take_debug(&search, finder->binaries[i]);
    if (!done && runtime->build_id_count)
        done = pfc_find_by_id(finder, mem, runtime->build_ids[0], ".debug", cached, take_debug, &search);
    if (!done)
        done = by_debuglink(&search, finder);
    if (!done && runtime->build_id_count)
        done = by_name(&search, finder);
    *out = search.found;
    return search.failed;
}

int pfc_find_alt(pfc_image **out, pfc_mem *mem, pfc_image *image, const pfc_finder *finder) {
    static const char *const cached[] = {"debug", NULL};
    *out = NULL;
    Dwarf *dwarf = image->has_altlink ? pfc_image_dwarf(image) : NULL;
    if (mem->failed)
        return mem->failed;
    const char *name = NULL;
    const void *bytes = NULL;
    ssize_t size = dwarf ? dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &bytes) : 0;
    if (size <= 0 || size > 64 || !name)
        return 0;
    char id[PFC_BUILD_ID_TEXT];
    for (ssize_t i = 0; i < size; i++) {
        unsigned byte = ((const unsigned char *)bytes)[i];
        id[2 * i] = "0123456789abcdef"[byte >> 4];
        id[2 * i + 1] = "0123456789abcdef"[byte & 15];
    }
    id[2 * size] = 0;
    debug_search search = {.mem = mem, .id = id};
    pfc_buf buf;
    pfc_buf_init(&buf, mem);
    int done = 0;
    if (name[0] == '/') {
        done = take_joined(&search, &buf, finder->symfs ? finder->symfs : "", finder->symfs ? strlen(finder->symfs) : 0,
                           name, "");
    } else { /* relative to the real place of the file, which is often reached through .build-id/xx/yyy.debug */
        char real[PATH_MAX];
        const char *path = realpath(image->path, real) ? real : image->path;
        done = take_joined(&search, &buf, path, (size_t)(base_name(path) - path), name, "");
    }
    if (!done)
        done = pfc_find_by_id(finder, mem, id, ".debug", cached, take_debug, &search);
    for (size_t i = 0; !done && i < finder->debug_dir_count; i++)
        done = take_joined(&search, &buf, finder->debug_dirs[i], strlen(finder->debug_dirs[i]), "/.dwz/",
                           base_name(name)) ||
               take_joined(&search, &buf, finder->debug_dirs[i], strlen(finder->debug_dirs[i]), "/", base_name(name));
    pfc_buf_free(&buf);
    *out = search.found;
    return search.failed;
}

/* Units in a package are found by their ids, so a package of another build gives nothing, and wrong names never. */
int pfc_find_package(pfc_package **out, pfc_mem *mem, const pfc_image *runtime, const pfc_image *debug,
                     const pfc_finder *finder) {
    const pfc_image *const images[] = {runtime, debug};
    *out = NULL;
    pfc_buf path;
    pfc_buf_init(&path, mem);
    for (size_t i = 0; !*out && i < 2; i++)
        if (images[i]) {
            pfc_buf_clear(&path);
            pfc_buf_printf(&path, "%s.dwp", images[i]->path);
            *out = path.failed ? NULL : pfc_package_open(mem, path.data);
        }
    for (size_t i = 0; !*out && finder && i < finder->debug_dir_count; i++) {
        pfc_buf_clear(&path);
        pfc_buf_printf(&path, "%s/%s.dwp", finder->debug_dirs[i], base_name(runtime->path));
        *out = path.failed ? NULL : pfc_package_open(mem, path.data);
    }
    for (size_t i = 0; !*out && finder && i < finder->binary_count; i++)
        *out = pfc_package_open(mem, finder->binaries[i]);
    int failed = path.failed;
    pfc_buf_free(&path);
    return failed ? failed : mem->failed;
}

/* ---- the file that ran ---- */

typedef struct {
    pfc_mem *mem;
    const char *file; /* as recorded, without " (deleted)" */
    const char *id;   /* "" when unknown */
    pfc_find_result *result;
    int replaced; /* the recorded path was deleted, and no build-id tells whether what is there now is the same */
    int named;    /* a path that the user gave: silent when the name is another one */
    pfc_image *found;
    pfc_image *debug_only;
    int failed;
} runtime_search;

static void copy_cut(char *out, size_t size, const char *text) {
    size_t n = strlen(text);
    if (n >= size)
        n = size - 1;
    memcpy(out, text, n);
    out[n] = 0;
}

static int accept(runtime_search *search, const pfc_image *image) {
    int same_name = strcmp(base_name(image->path), base_name(search->file)) == 0;
    if (!*search->id) {
        if (search->named && !same_name)
            return 0;
        search->result->by_path = 1;
        return 1;
    }
    if (pfc_image_is(image, search->id))
        return 1;
    if ((!search->named || same_name) && search->result->mismatches++ == 0) {
        copy_cut(search->result->path, sizeof search->result->path, image->path);
        copy_cut(search->result->build_id, sizeof search->result->build_id,
                 image->build_id_count ? image->build_ids[0] : "");
    }
    return 0;
}

static int take_runtime(void *user, const char *path) {
    runtime_search *search = user;
    pfc_image *image = NULL;
    int status = pfc_image_open(&image, search->mem, path, NULL);
    if (status == PROFCONV_E_NOMEM || status == PROFCONV_E_LIMIT)
        search->failed = status;
    if (status == PROFCONV_E_FORMAT) {
        const char *dot = strrchr(path, '.');
        search->result->compressed |=
            dot && (strcmp(dot, ".xz") == 0 || strcmp(dot, ".gz") == 0 || strcmp(dot, ".zst") == 0);
    }
    if (status)
        return search->failed != 0;
    if (!accept(search, image)) {
        pfc_image_close(image);
    } else if (!image->debug_only) {
        search->found = image;
        return 1;
    } else if (!search->debug_only) {
        search->debug_only = image; /* good, and better with the file that ran */
    } else {
        pfc_image_close(image);
    }
    return 0;
}

static int take_recorded(runtime_search *search, const pfc_finder *finder) {
    if (search->file[0] != '/' || search->replaced)
        return 0;
    pfc_buf path;
    pfc_buf_init(&path, search->mem);
    pfc_buf_text(&path, finder->symfs ? finder->symfs : "");
    pfc_buf_text(&path, search->file);
    int done = offer(&path, take_runtime, search);
    pfc_buf_free(&path);
    return done;
}

/* In debug directories under the recorded path, and flat under its last part. */
static int take_named(runtime_search *search, const pfc_finder *finder) {
    pfc_buf path;
    pfc_buf_init(&path, search->mem);
    int done = 0;
    for (size_t i = 0; !done && i < finder->debug_dir_count; i++)
        for (int form = 0; !done && form < 4; form++) {
            const char *name = form & 1 ? base_name(search->file) : search->file;
            if (!(form & 1) && name[0] != '/')
                continue;
            pfc_buf_clear(&path);
            pfc_buf_printf(&path, "%s/%s%s", finder->debug_dirs[i], name[0] == '/' ? name + 1 : name,
                           form & 2 ? ".debug" : "");
            done = offer(&path, take_runtime, search);
        }
    pfc_buf_free(&path);
    return done;
}

static void search_runtime(runtime_search *search, const pfc_finder *finder) {
    static const char *const cached[] = {"elf", "vdso", "debug", NULL};
    search->named = 1;
    for (size_t i = 0; i < finder->binary_count; i++)
        if (take_runtime(search, finder->binaries[i]))
            return;
    search->named = 0;
    if (take_recorded(search, finder))
        return;
    if (*search->id && (pfc_find_by_id(finder, search->mem, search->id, "", cached, take_runtime, search) ||
                        pfc_find_by_id(finder, search->mem, search->id, ".debug", cached, take_runtime, search)))
        return;
    (void)take_named(search, finder);
}

int pfc_binary_find(pfc_binary **out, pfc_mem *mem, const char *file, const char *build_id, const pfc_finder *finder,
                    pfc_find_result *result, profconv_error *error) {
    static const char deleted[] = " (deleted)";
    *out = NULL;
    memset(result, 0, sizeof *result);
    size_t size = strlen(file);
    size_t cut =
        size > sizeof deleted - 1 && strcmp(file + size - (sizeof deleted - 1), deleted) == 0 ? sizeof deleted - 1 : 0;
    char *name = pfc_strdup(mem, file, size - cut);
    if (!name)
        return pfc_mem_error(mem, error);
    runtime_search search = {.mem = mem, .file = name, .id = build_id ? build_id : "", .result = result};
    search.replaced = cut && !*search.id;
    search_runtime(&search, finder);
    pfc_image *image = search.found ? search.found : search.debug_only;
    pfc_image *debug = search.found && !search.found->has_debug_info ? search.debug_only : NULL;
    if (search.debug_only && search.debug_only != image && search.debug_only != debug)
        pfc_image_close(search.debug_only);
    pfc_free(mem, name, size - cut + 1);
    if (search.failed) {
        pfc_image_close(image);
        pfc_image_close(debug);
        return pfc_mem_error(mem, error);
    }
    if (!image)
        return profconv_error_set(error, PROFCONV_E_NOT_FOUND, PROFCONV_NO_OFFSET, 0, "%s: no file found", file);
    return pfc_binary_from_images(out, image, debug, finder, error);
}
