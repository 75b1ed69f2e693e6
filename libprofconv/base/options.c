/* SPDX-License-Identifier: MIT
 *
 * Settings: what was assigned, in order, and how texts become values. Whether a setting is a list is known only to its
 * declaration, so every assignment is kept; look-ups of single values take the last.
 */
#include "libprofconv/base/options.h"

#include <string.h>

#include "libprofconv/base/text.h"

typedef struct option_entry {
    char *text; /* scope NUL key NUL value NUL, one block of `size` bytes */
    size_t size;
    size_t key;
    size_t value;
} option_entry;

struct profconv_options {
    pfc_mem mem;
    PFC_VEC(option_entry) entries;
};

int profconv_options_new(profconv_options **out, const profconv_allocator *allocator, profconv_error *error) {
    *out = NULL;
    pfc_mem mem;
    pfc_mem_init(&mem, allocator, 0);
    profconv_options *options = (profconv_options *)pfc_alloc_zero(&mem, sizeof *options);
    if (!options)
        return pfc_mem_error(&mem, error);
    options->mem = mem;
    *out = options;
    return PROFCONV_OK;
}

void profconv_options_free(profconv_options *options) {
    if (!options)
        return;
    for (size_t i = 0; i < options->entries.count; i++)
        pfc_free(&options->mem, options->entries.data[i].text, options->entries.data[i].size);
    PFC_VEC_FREE(&options->mem, &options->entries);
    pfc_mem mem = options->mem;
    pfc_free(&mem, options, sizeof *options);
}

static int invalid_assignment(const char *text, profconv_error *error) {
    return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                              "setting \"%.200s\": \"format.key=value\" expected", text);
}

static int add_entry(profconv_options *options, const char *scope, size_t scope_size, const char *key, size_t key_size,
                     const char *value, profconv_error *error) {
    size_t value_size = strlen(value);
    size_t limit = SIZE_MAX / 4; /* three such parts cannot overflow */
    if (scope_size > limit || key_size > limit || value_size > limit)
        return profconv_error_set(error, PROFCONV_E_LIMIT, PROFCONV_NO_OFFSET, 0, "setting is too long");
    option_entry entry = {NULL, scope_size + key_size + value_size + 3, scope_size + 1, scope_size + key_size + 2};
    options->mem.failed = 0;
    entry.text = (char *)pfc_alloc(&options->mem, entry.size);
    if (!entry.text)
        return pfc_mem_error(&options->mem, error);
    memcpy(entry.text, scope, scope_size);
    entry.text[scope_size] = 0;
    memcpy(entry.text + entry.key, key, key_size);
    entry.text[entry.key + key_size] = 0;
    memcpy(entry.text + entry.value, value, value_size + 1);
    if (PFC_VEC_PUSH(&options->mem, &options->entries, entry)) {
        pfc_free(&options->mem, entry.text, entry.size);
        return pfc_mem_error(&options->mem, error);
    }
    return PROFCONV_OK;
}

int profconv_options_set(profconv_options *options, const char *assignment, profconv_error *error) {
    const char *equals = strchr(assignment, '=');
    const char *dot = equals ? (const char *)memchr(assignment, '.', (size_t)(equals - assignment)) : NULL;
    if (!dot || dot == assignment || dot + 1 == equals)
        return invalid_assignment(assignment, error);
    return add_entry(options, assignment, (size_t)(dot - assignment), dot + 1, (size_t)(equals - dot - 1), equals + 1,
                     error);
}

int profconv_options_put(profconv_options *options, const char *scope, const char *key, const char *value,
                         profconv_error *error) {
    if (!scope || !key || !value || !*scope || !*key)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0, "setting without a %s",
                                  !scope || !*scope ? "format"
                                  : !key || !*key   ? "key"
                                                    : "value");
    return add_entry(options, scope, strlen(scope), key, strlen(key), value, error);
}

static int entry_is(const option_entry *entry, const char *scope, const char *key) {
    return strcmp(entry->text, scope) == 0 && strcmp(entry->text + entry->key, key) == 0;
}

const char *profconv_options_get(const profconv_options *options, const char *scope, const char *key) {
    for (size_t i = options ? options->entries.count : 0; i-- > 0;)
        if (entry_is(&options->entries.data[i], scope, key))
            return options->entries.data[i].text + options->entries.data[i].value;
    return NULL;
}

int profconv_options_has(const profconv_options *options, const char *scope, const char *key) {
    return profconv_options_get(options, scope, key) != NULL;
}

const char *profconv_options_item(const profconv_options *options, const char *scope, const char *key, size_t index) {
    for (size_t i = 0; options && i < options->entries.count; i++)
        if (entry_is(&options->entries.data[i], scope, key) && index-- == 0)
            return options->entries.data[i].text + options->entries.data[i].value;
    return NULL;
}

int pfc_options_entry(const profconv_options *options, size_t index, const char **scope, const char **key,
                      const char **value) {
    if (!options || index >= options->entries.count)
        return 0;
    const option_entry *entry = &options->entries.data[index];
    *scope = entry->text;
    *key = entry->text + entry->key;
    *value = entry->text + entry->value;
    return 1;
}

int pfc_parse_bool(const char *text, int *value) {
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0) {
            *value = (int)(i & 1);
            return 1;
        }
    return 0;
}

int pfc_parse_setting_int(const char *text, int64_t *value) {
    const char *end = text + strlen(text);
    int negative = *text == '-';
    const char *digits = text + negative;
    if (digits[0] != '0' || (digits[1] != 'x' && digits[1] != 'X'))
        return pfc_parse_i64(text, end, value) == end;
    uint64_t magnitude;
    if (pfc_parse_hex(digits + 2, end, &magnitude) != end || magnitude > (uint64_t)INT64_MAX + (unsigned)negative)
        return 0;
    *value = !negative ? (int64_t)magnitude : magnitude == 0 ? 0 : -(int64_t)(magnitude - 1) - 1;
    return 1;
}

/* 10^exponent, exact up to 22. */
static double power_of_ten(unsigned exponent) {
    double power = 1;
    for (; exponent; exponent--)
        power *= 10;
    return power;
}

int pfc_parse_float(const char *text, double *value) {
    const char *p = text;
    int negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    uint64_t mantissa = 0; /* of the first 19 digits; later ones only move the point */
    int64_t exponent = 0;
    size_t digits = 0;
    for (int fraction = 0; (*p >= '0' && *p <= '9') || (*p == '.' && !fraction); p++) {
        if (*p == '.') {
            fraction = 1;
            continue;
        }
        digits++;
        int taken = mantissa < 1000000000000000000u;
        if (taken)
            mantissa = mantissa * 10 + (unsigned)(*p - '0');
        exponent += (taken ? 0 : 1) - fraction;
    }
    if (digits == 0)
        return 0;
    if (*p == 'e' || *p == 'E') {
        int64_t written;
        p += p[1] == '+' && p[2] != '-' ? 2 : 1;
        p = pfc_parse_i64(p, p + strlen(p), &written);
        if (!p || written > 100000 || written < -100000)
            return 0;
        exponent += written;
    }
    if (*p)
        return 0;
    double result = (double)mantissa;
    for (; exponent > 0 && result > 0; exponent -= exponent > 22 ? 22 : exponent) {
        result *= power_of_ten(exponent > 22 ? 22 : (unsigned)exponent);
        if (result > 1.7976931348623157e308)
            return 0;
    }
    for (; exponent < 0 && result > 0; exponent += exponent < -22 ? 22 : -exponent)
        result /= power_of_ten(exponent < -22 ? 22 : (unsigned)-exponent);
    *value = negative ? -result : result;
    return 1;
}

/* Nonzero when text[0..size) is one of "a|b|c". */
static int among(const char *choices, const char *text, size_t size) {
    for (const char *p = choices; p;) {
        const char *bar = strchr(p, '|');
        size_t length = bar ? (size_t)(bar - p) : strlen(p);
        if (length == size && memcmp(p, text, size) == 0)
            return 1;
        p = bar ? bar + 1 : NULL;
    }
    return 0;
}

static int check_value(const char *scope, const profconv_setting *setting, const char *value, profconv_error *error) {
    int flag;
    int64_t integer;
    double real;
    const char *expected = NULL;
    switch (setting->type) {
    case PROFCONV_SETTING_BOOL:
        expected = pfc_parse_bool(value, &flag) ? NULL : "yes or no";
        break;
    case PROFCONV_SETTING_INT:
        expected = pfc_parse_setting_int(value, &integer) ? NULL : "an integer of 64 bits";
        break;
    case PROFCONV_SETTING_FLOAT:
        expected = pfc_parse_float(value, &real) ? NULL : "a decimal number";
        break;
    case PROFCONV_SETTING_ENUM:
        if (!among(setting->choices, value, strlen(value)))
            return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                      "setting %s.%s: \"%.100s\" given, one of %s expected", scope, setting->name,
                                      value, setting->choices ? setting->choices : "(nothing)");
        break;
    case PROFCONV_SETTING_STRING:
    case PROFCONV_SETTING_LIST:
        break;
    }
    if (expected)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "setting %s.%s: \"%.100s\" given, %s expected", scope, setting->name, value,
                                  expected);
    return PROFCONV_OK;
}

static const profconv_setting *find_setting(const profconv_setting *declared, const char *key) {
    for (; declared && declared->name; declared++)
        if (strcmp(declared->name, key) == 0)
            return declared;
    return NULL;
}

static int unknown_setting(const char *scope, const char *key, const profconv_setting *declared,
                           profconv_error *error) {
    char names[320];
    size_t used = 0;
    for (; declared && declared->name; declared++) {
        size_t length = strlen(declared->name);
        if (used + length + 8 > sizeof names) {
            memcpy(names + used, ", ...", 5);
            used += 5;
            break;
        }
        if (used) {
            memcpy(names + used, ", ", 2);
            used += 2;
        }
        memcpy(names + used, declared->name, length);
        used += length;
    }
    names[used] = 0;
    if (!used)
        return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                                  "unknown setting %s.%.60s: %s has no settings", scope, key, scope);
    return profconv_error_set(error, PROFCONV_E_INVALID, PROFCONV_NO_OFFSET, 0,
                              "unknown setting %s.%.60s: there are %s", scope, key, names);
}

int profconv_options_check(const profconv_options *options, const char *scope, const profconv_setting *declared,
                           profconv_error *error) {
    for (size_t i = 0; options && i < options->entries.count; i++) {
        const option_entry *entry = &options->entries.data[i];
        if (strcmp(entry->text, scope) != 0)
            continue;
        const char *key = entry->text + entry->key, *value = entry->text + entry->value;
        const profconv_setting *setting = find_setting(declared, key);
        if (!setting)
            return unknown_setting(scope, key, declared, error);
        /* A replaced value is as if it had never been given. */
        if (setting->type != PROFCONV_SETTING_LIST && profconv_options_get(options, scope, key) != value)
            continue;
        int status = check_value(scope, setting, value, error);
        if (status)
            return status;
    }
    return PROFCONV_OK;
}

const char *profconv_options_string(const profconv_options *options, const char *scope,
                                    const profconv_setting *declared, const char *key) {
    const char *value = profconv_options_get(options, scope, key);
    if (value)
        return value;
    const profconv_setting *setting = find_setting(declared, key);
    return setting ? setting->default_value : NULL;
}

int profconv_options_bool(const profconv_options *options, const char *scope, const profconv_setting *declared,
                          const char *key) {
    const char *text = profconv_options_string(options, scope, declared, key);
    int value;
    return text && pfc_parse_bool(text, &value) ? value : 0;
}

int64_t profconv_options_int(const profconv_options *options, const char *scope, const profconv_setting *declared,
                             const char *key) {
    const char *text = profconv_options_string(options, scope, declared, key);
    int64_t value;
    return text && pfc_parse_setting_int(text, &value) ? value : 0;
}

double profconv_options_float(const profconv_options *options, const char *scope, const profconv_setting *declared,
                              const char *key) {
    const char *text = profconv_options_string(options, scope, declared, key);
    double value;
    return text && pfc_parse_float(text, &value) ? value : 0;
}
