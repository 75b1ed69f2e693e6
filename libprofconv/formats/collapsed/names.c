/* SPDX-License-Identifier: MIT
 *
 * Clean-up of function names: argument lists, template arguments, clone and version suffixes, legacy Rust symbols, Java
 * class names. The scan knows operators first and then counts brackets, so that `operator()`, `operator->` and
 * `std::function<int (int)>` stay whole, which cutting at the first parenthesis does not achieve.
 */
#include "libprofconv/formats/collapsed/names.h"

#include <string.h>

typedef struct span {
    const char *data;
    size_t size;
} span;

static int is_digit(char c) { return c >= '0' && c <= '9'; }
static int is_word(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}
static int is_lower_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

static int starts(const span *s, size_t at, const char *text) {
    size_t n = strlen(text);
    return n <= s->size - at && memcmp(s->data + at, text, n) == 0;
}
static int ends(const span *s, const char *text) {
    size_t n = strlen(text);
    return n <= s->size && memcmp(s->data + s->size - n, text, n) == 0;
}

/* ---- operators and brackets ---- */

/* Length of "operator" and its symbol at `at`, or 0. Longest symbols first. */
static size_t operator_length(const span *s, size_t at) {
    static const char *const symbols[] = {
        "()", "[]", "<=>", "->*", "<<=", ">>=", "->", "<<", ">>", "<=", ">=", "==", "!=",
        "&&", "||", "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "^=", "&=", "|=", "<",
        ">",  "=",  "!",   "+",   "-",   "*",   "/",  "%",  "^",  "&",  "|",  "~",  ",",
    };
    static const size_t word = sizeof "operator" - 1;
    if (s->data[at] != 'o' || !starts(s, at, "operator") || (at > 0 && is_word(s->data[at - 1])))
        return 0;
    if (at + word == s->size || is_word(s->data[at + word]))
        return 0;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        if (starts(s, at + word, symbols[i]))
            return word + strlen(symbols[i]);
    }
    return word;
}

/* One past the bracket that closes the one at `at`, or 0 when none does. Kinds of brackets are not told apart. */
static size_t group_end(const span *s, size_t at) {
    size_t depth = 0;
    for (size_t i = at; i < s->size;) {
        size_t op = operator_length(s, i);
        char c = s->data[i];
        if (op > 0) {
            i += op;
            continue;
        }
        if (c == '<' || c == '(' || c == '[' || c == '{')
            depth++;
        else if (c == ')' || c == ']' || c == '}' || (c == '>' && (i == 0 || s->data[i - 1] != '-')))
            depth--;
        i++;
        if (depth == 0)
            return i;
    }
    return 0;
}

/* Where the name goes on after an argument list that ends at `at`, when it belongs to an enclosing function
 * ("f(int) const::{lambda()#1}"); 0 when it was the last one. */
static size_t nested_after(const span *s, size_t at) {
    static const char *const qualifiers[] = {" const", " volatile", " &&", " &", "&&", "&"};
    for (size_t i = 0; i < sizeof qualifiers / sizeof *qualifiers; i++) {
        if (starts(s, at, qualifiers[i]))
            at += strlen(qualifiers[i]);
    }
    return starts(s, at, "::") ? at : 0;
}

/* Nonzero for a parenthesis that is part of the name and not an argument list. */
static int belongs_to_name(const span *s, size_t at) {
    if (at == 0 || starts(s, at, "(anonymous") || s->data[at - 1] == '.') /* Go: pkg.(*Type).Method */
        return 1;
    if (s->data[at - 1] == ' ' && (starts(s, at, "(*") || starts(s, at, "(&")))
        return 1; /* returns a pointer to a function */
    span before = {s->data, at};
    before.size -= s->data[at - 1] == ' ';
    return ends(&before, "decltype") || ends(&before, "noexcept");
}

static void cut_arguments(pfc_buf *out, const span *s, int templates) {
    size_t start = out->size;
    for (size_t i = 0; i < s->size;) {
        char c = s->data[i];
        size_t op = operator_length(s, i);
        int opens = c == '<' || c == '(' || c == '[' || c == '{';
        if (op > 0 || !opens) {
            pfc_buf_add(out, s->data + i, op ? op : 1);
            i += op ? op : 1;
            continue;
        }
        size_t end = group_end(s, i);
        if (c == '(' && !belongs_to_name(s, i)) {
            i = end ? nested_after(s, end) : 0;
            if (i == 0)
                return;
            continue;
        }
        if (end == 0) {
            pfc_buf_add(out, s->data + i, s->size - i);
            return;
        }
        if (c == '<' && templates && out->size > start) {
            if (out->size - start > 2 && out->data[out->size - 1] == ':') { /* Rust: name::<T> */
                out->size -= 2;
                out->data[out->size] = '\0';
            }
        } else {
            pfc_buf_add(out, s->data + i, end - i);
        }
        i = end;
    }
}

/* ---- ends of names ---- */

/* perf script's "+0x1f", which text-born names can carry. */
static void cut_offset(span *s) {
    size_t i = s->size;
    while (i > 0 && is_lower_hex(s->data[i - 1]))
        i--;
    if (i < s->size && i > 3 && memcmp(s->data + i - 3, "+0x", 3) == 0)
        s->size = i - 3;
}

static int is_clone_word(const char *p, size_t n) {
    static const char *const words[] = {"constprop", "isra",       "part",   "cold", "llvm",
                                        "lto_priv",  "localalias", "__uniq", "warm", "hot"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i]) == n && memcmp(words[i], p, n) == 0)
            return 1;
    }
    return 0;
}

/* Start of the last ".word" in s[0, size), or size. */
static size_t last_component(const span *s, size_t size) {
    size_t i = size;
    while (i > 0 && is_word(s->data[i - 1]))
        i--;
    return i > 1 && i < size && s->data[i - 1] == '.' ? i - 1 : size;
}

static int cut_one_suffix(span *s) {
    if (ends(s, "]")) { /* "f(int) [clone .constprop.0]", as demanglers write it */
        for (size_t i = s->size - 1; i-- > 1;) {
            if (s->data[i] == '[') {
                if (!starts(s, i, "[clone .") || s->data[i - 1] != ' ')
                    return 0;
                s->size = i - 1;
                return 1;
            }
        }
        return 0;
    }
    size_t dot = last_component(s, s->size);
    if (dot < s->size) {
        size_t digits = dot + 1;
        while (digits < s->size && is_digit(s->data[digits]))
            digits++;
        size_t end = s->size;
        if (digits == s->size) { /* ".word.123" */
            end = dot;
            dot = last_component(s, end);
        }
        if (dot < end && is_clone_word(s->data + dot + 1, end - dot - 1)) {
            s->size = dot;
            return 1;
        }
    }
    size_t i = s->size;
    while (i > 0 && (is_word(s->data[i - 1]) || s->data[i - 1] == '.'))
        i--;
    if (i < 2 || i == s->size || s->data[i - 1] != '@')
        return 0;
    i -= s->data[i - 2] == '@' ? 2 : 1;
    if (i == 0)
        return 0;
    s->size = i;
    return 1;
}

/* ---- legacy Rust symbols ---- */

static int has_rust_hash(const span *s) {
    if (s->size <= 19 || memcmp(s->data + s->size - 19, "::h", 3) != 0)
        return 0;
    for (size_t i = s->size - 16; i < s->size; i++) {
        if (!is_lower_hex(s->data[i]))
            return 0;
    }
    return 1;
}

/* A "$XX$" escape at `at`: appends what it stands for and returns its length, or 0. */
static size_t rust_escape(pfc_buf *out, const span *s, size_t at) {
    static const char *const escapes[][2] = {{"$SP$", "@"}, {"$BP$", "*"}, {"$RF$", "&"}, {"$LT$", "<"},
                                             {"$GT$", ">"}, {"$LP$", "("}, {"$RP$", ")"}, {"$C$", ","}};
    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
        if (starts(s, at, escapes[i][0])) {
            pfc_buf_text(out, escapes[i][1]);
            return strlen(escapes[i][0]);
        }
    }
    uint64_t code = 0;
    const char *end = s->data + s->size;
    if (!starts(s, at, "$u"))
        return 0;
    const char *p = pfc_parse_hex(s->data + at + 2, end, &code);
    if (!p || p == end || *p != '$' || code < 0x20 || code > 0x7e) /* only ASCII is escaped so */
        return 0;
    pfc_buf_char(out, (char)code);
    return (size_t)(p + 1 - (s->data + at));
}

static void decode_rust(pfc_buf *out, const span *s) {
    for (size_t i = 0; i < s->size;) {
        size_t escape = s->data[i] == '$' ? rust_escape(out, s, i) : 0;
        if (escape > 0) {
            i += escape;
        } else if (starts(s, i, "..")) {
            pfc_buf_text(out, "::");
            i += 2;
        } else if (s->data[i] == '_' && starts(s, i, "_$") &&
                   (i == 0 || s->data[i - 1] == ':' || s->data[i - 1] == '.')) {
            i++; /* an identifier cannot start with an escape, so '_' was put before it */
        } else {
            pfc_buf_char(out, s->data[i++]);
        }
    }
}

/* ---- names of code made at run time ---- */

/* "JS:*f /app/x.js:1:2", "RegExp:(a|b)": V8 says what kind of code it is; parentheses behind that are no argument list. */
static int is_tagged(const span *s) {
    size_t i = 0;
    while (i < s->size && ((s->data[i] >= 'A' && s->data[i] <= 'Z') || (s->data[i] >= 'a' && s->data[i] <= 'z')))
        i++;
    return i > 1 && s->data[0] <= 'Z' && i + 1 < s->size && s->data[i] == ':' && s->data[i + 1] != ':';
}

/* "double app.Shape.area(int)", as HotSpot writes methods into perf maps: without the type in front. */
static void cut_return_type(span *s) {
    size_t open = 0, blank = 0;
    int dot = 0;
    while (open < s->size && s->data[open] != '(')
        open++;
    if (open == s->size || s->data[s->size - 1] != ')')
        return;
    for (size_t i = 0; i < open; i++) {
        char c = s->data[i];
        int type = is_word(c) || c == '$' || c == '.' || (unsigned char)c >= 0x80;
        if (c == ' ' && !blank && i > 0)
            blank = i;
        else if (!type && !(blank ? c == '<' || c == '>' || c == '/' || c == '-' : c == '[' || c == ']'))
            return;
        else if (c == '.' && blank && i > blank + 1)
            dot = 1;
    }
    if (!blank || !dot)
        return;
    s->data += blank + 1;
    s->size -= blank + 1;
}

/* ---- all rules ---- */

void pfc_collapsed_tidy(pfc_buf *out, const char *name, size_t size, const pfc_name_rules *rules) {
    span s = {name, size};
    size_t start = out->size;
    pfc_buf rust;
    pfc_buf_init(&rust, out->mem);
    if (rules->tidy != PFC_TIDY_NONE) {
        cut_offset(&s);
        if (has_rust_hash(&s)) {
            s.size -= 19;
            decode_rust(&rust, &s);
            if (rust.failed)
                out->failed = rust.failed;
            s.data = rust.data ? rust.data : "";
            s.size = rust.size;
        }
    }
    while (rules->strip_suffixes && cut_one_suffix(&s)) {
    }
    int class_name = rules->tidy != PFC_TIDY_NONE && s.size > 1 && s.data[0] == 'L' && memchr(s.data, '/', s.size);
    if (class_name && !rules->java) {
        class_name = 0;
        for (size_t i = 0; i + 3 <= s.size && !class_name; i++)
            class_name = memcmp(s.data + i, ";::", 3) == 0;
    }
    if (class_name) {
        s.data++;
        s.size--;
    }
    int tagged = rules->java && is_tagged(&s);
    if (rules->java && rules->tidy != PFC_TIDY_NONE && !tagged)
        cut_return_type(&s);
    if (rules->tidy == PFC_TIDY_NONE || tagged)
        pfc_buf_add(out, s.data, s.size);
    else
        cut_arguments(out, &s, rules->tidy == PFC_TIDY_TEMPLATES);
    while (!out->failed && out->size > start && out->data[out->size - 1] == ' ')
        out->data[--out->size] = '\0';
    if (out->size == start)
        pfc_buf_add(out, name, size);
    pfc_buf_free(&rust);
}
