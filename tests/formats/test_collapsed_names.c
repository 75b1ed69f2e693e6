/* SPDX-License-Identifier: MIT
 *
 * Clean-up of names, and the strict grammar of frames.
 */
#include "tests/formats/collapsed_help.h"

#include "libprofconv/formats/collapsed/names.h"

typedef struct tidy_case {
    const char *name;
    const char *args;      /* NULL: as named */
    const char *templates; /* NULL: as `args` */
} tidy_case;

static const tidy_case tidy_cases[] = {
    {"main", NULL, NULL},
    {"f(int, char const*)", "f", NULL},
    {"a::b<int>::c(std::vector<int>)", "a::b<int>::c", "a::b::c"},
    {"std::function<int (int, int)>::operator()(int, int) const", "std::function<int (int, int)>::operator()",
     "std::function::operator()"},
    {"void exec<void (*)()>(void (*)())", "void exec<void (*)()>", "void exec"},
    {"foo<(some_enum)0>::bar()", "foo<(some_enum)0>::bar", "foo::bar"},
    {"main::{lambda(int, int)#1}::operator()(int) const", "main::{lambda(int, int)#1}::operator()", NULL},
    {"f(int)::{lambda()#1}::operator()() const", "f::{lambda()#1}::operator()", NULL},
    {"A::f(int) const::{lambda()#2}::operator()() const", "A::f::{lambda()#2}::operator()", NULL},
    {"(anonymous namespace)::helper(char const*)", "(anonymous namespace)::helper", NULL},
    {"a::(anonymous namespace)::helper(char const*)", "a::(anonymous namespace)::helper", NULL},
    {"operator()(int)", "operator()", NULL},
    {"operator new(unsigned long)", "operator new", NULL},
    {"operator new[](unsigned long)", "operator new[]", NULL},
    {"operator delete(void*)", "operator delete", NULL},
    {"bool operator< <int>(A<int> const&, A<int> const&)", "bool operator< <int>", "bool operator<"},
    {"std::operator<<(std::ostream&, char)", "std::operator<<", NULL},
    {"std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)",
     "std::ostream& std::operator<< <std::char_traits<char> >", "std::ostream& std::operator<<"},
    {"P<T>::operator->() const", "P<T>::operator->", "P::operator->"},
    {"P<T>::operator->*(int)", "P<T>::operator->*", "P::operator->*"},
    {"A::operator[](unsigned long)", "A::operator[]", NULL},
    {"A::operator bool() const", "A::operator bool", NULL},
    {"bool A::operator()<int>(int)", "bool A::operator()<int>", "bool A::operator()"},
    {"A::operator,(B)", "A::operator,", NULL},
    {"my_operator(int)", "my_operator", NULL},
    {"operators(int)", "operators", NULL},
    {"decltype(auto) visit<F>(F&&)", "decltype(auto) visit<F>", "decltype(auto) visit"},
    {"decltype ((*(T*)(0)).begin()) std::begin<T>(T&)", "decltype ((*(T*)(0)).begin()) std::begin<T>",
     "decltype ((*(T*)(0)).begin()) std::begin"},
    {"void (*pick<int>(int))(char)", "void (*pick<int>(int))", NULL},
    {"net/http.(*Client).Do", NULL, NULL},
    {"main.(*T[go.shape.int]).Get", NULL, NULL},
    {"main.main.func1.2", NULL, NULL},
    {"-[NSString(Category) length]", NULL, NULL},
    {"(anonymous) native fetch.js:3", NULL, NULL},
    {"(program)", NULL, NULL},
    {"~(anonymous) app.js:1", "~(anonymous) app.js:1", NULL},
    {"core::ops::function::FnOnce::call_once{{vtable.shim}}", NULL, NULL},
    {"<alloc::vec::Vec<T> as core::ops::Drop>::drop", NULL, NULL},
    {"core::iter::collect::<Vec<_>>", NULL, "core::iter::collect"},
    {"<impl Fn(A) -> B for C>::call", NULL, NULL},
    {"_$LT$std..sync..Mutex$LT$T$GT$$u20$as$u20$Drop$GT$::drop::h0123456789abcdef",
     "<std::sync::Mutex<T> as Drop>::drop", NULL},
    {"alloc::vec::Vec$LT$T$C$$u20$A$GT$::push::hfedcba9876543210", "alloc::vec::Vec<T, A>::push",
     "alloc::vec::Vec::push"},
    {"core::fmt::write::h0123456789abcdef", "core::fmt::write", NULL},
    {"not_rust::h0123", NULL, NULL},
    {"costs$LT$only", NULL, NULL},
    {"main+0x1f", "main", NULL},
    {"+0x1f", NULL, NULL},
    {"a+0xz", NULL, NULL},
    {"Lorg/a/B;::run", "org/a/B;::run", NULL},
    {"Lock/free", NULL, NULL},
    {"cut(short", "cut", NULL},
    {"a<b", NULL, NULL},
    {"x > y", NULL, NULL},
    {"closing)", NULL, NULL},
};

static void check(const char *name, const char *expected, const pfc_name_rules *rules) {
    pfc_mem mem;
    pfc_buf out;
    pfc_mem_init(&mem, NULL, 0);
    pfc_buf_init(&out, &mem);
    pfc_buf_text(&out, "before ");
    pfc_collapsed_tidy(&out, name, strlen(name), rules);
    if (strcmp(out.data + 7, expected) != 0)
        fail_msg("%s:\n%s\n%s expected", name, out.data + 7, expected);
    pfc_buf_free(&out);
    assert_int_equal(mem.live, 0);
}

static void test_tidy(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof tidy_cases / sizeof *tidy_cases; i++) {
        const tidy_case *c = &tidy_cases[i];
        pfc_name_rules rules = {PFC_TIDY_NONE, 0, 0};
        check(c->name, c->name, &rules);
        rules.tidy = PFC_TIDY_ARGS;
        check(c->name, c->args ? c->args : c->name, &rules);
        rules.tidy = PFC_TIDY_TEMPLATES;
        check(c->name, c->templates ? c->templates : c->args ? c->args : c->name, &rules);
    }
    pfc_name_rules java = {PFC_TIDY_ARGS, 0, 1};
    check("Lorg/a/B;.run", "org/a/B;.run", &java);
    check("Interpreter", "Interpreter", &java);
    /* HotSpot's perf maps */
    check("double app.Work$Circle.area(int)", "app.Work$Circle.area", &java);
    check("byte[] java.util.Arrays.copyOf(byte[], int)", "java.util.Arrays.copyOf", &java);
    check("void java.lang.Object.<init>()", "java.lang.Object.<init>", &java);
    check("int Work$$Lambda$1/0x00007f0a30000400.applyAsInt(int)", "Work$$Lambda$1/0x00007f0a30000400.applyAsInt", &java);
    java.java = 0;
    check("double app.Shape.area(int)", "double app.Shape.area", &java);
    java.java = 1;
    check("StubRoutines (1)", "StubRoutines", &java);
    check("two words f(int)", "two words f", &java);
    check("int f(int)", "int f", &java);
    check(" a.b(int)", " a.b", &java);
    /* V8's */
    check("JS:*f /home/me (old)/x.js:1:2", "JS:*f /home/me (old)/x.js:1:2", &java);
    check("JS:^ /app/x.js:4:148", "JS:^ /app/x.js:4:148", &java);
    check("RegExp:(a|b)<c>", "RegExp:(a|b)<c>", &java);
    check("Outer::f(int)", "Outer::f", &java);
}

static void test_suffixes(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"f.constprop.0", "f"},
        {"f.isra.0.constprop.1", "f"},
        {"f.part.12.cold", "f"},
        {"f.cold.3", "f"},
        {"f.llvm.1234567890123456789", "f"},
        {"f.lto_priv.0", "f"},
        {"f.__uniq.123.llvm.4", "f"},
        {"f(int) [clone .constprop.0] [clone .cold]", "f(int)"},
        {"malloc@plt", "malloc"},
        {"fopen@@GLIBC_2.2.5", "fopen"},
        {"memcpy@GLIBC_2.14", "memcpy"},
        {"main.func1", "main.func1"},
        {"main.1", "main.1"},
        {".cold", ".cold"},
        {"@plt", "@plt"},
        {"a.b.0", "a.b.0"},
        {"x[3]", "x[3]"},
    };
    pfc_name_rules rules = {PFC_TIDY_NONE, 1, 0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(cases[i][0], cases[i][1], &rules);
    rules.strip_suffixes = 0;
    check("f.constprop.0", "f.constprop.0", &rules);
}

static void test_grammar(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t size;
        int underscores;
        const char *expected;
    } cases[] = {
        {"plain", 5, 0, "plain"},
        {"a;b", 3, 0, "a:b"},
        {"", 0, 0, "[unknown]"},
        {"  ", 2, 0, "[unknown]"},
        {"\n\t", 2, 0, "[unknown]"},
        {"  a b  ", 7, 0, "a b"},
        {"a\n\r\tb", 5, 0, "a b"},
        {"a\0b", 3, 0, "a b"},
        {"a\x7f", 2, 0, "a"},
        {"a\xc2\x85 b", 5, 0, "a  b"},
        {"a\xe2\x80\xa8\xe2\x80\xa9z", 8, 0, "a z"},
        {"f\xc3\xa9", 3, 0, "f\xc3\xa9"},
        {"f\xff\xfe", 3, 0, "f\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe2\x82", 2, 0, "\xef\xbf\xbd"},                             /* cut */
        {"\xc0\xaf", 2, 0, "\xef\xbf\xbd\xef\xbf\xbd"},                 /* overlong */
        {"\xed\xa0\x80", 3, 0, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* surrogate */
        {"\xf4\x90\x80\x80", 4, 0, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf0\x9f\x98\x80", 4, 0, "\xf0\x9f\x98\x80"},
        {"\xef\xbb\xbf"
         "a",
         4, 0, "a"},
        {"# a", 3, 0, "#_a"},
        {"#a", 2, 0, "#a"},
        {" my prog ", 9, 1, "my_prog"},
        {"a  b", 4, 1, "a__b"},
        {"_a_", 3, 1, "_a_"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pfc_mem mem;
        pfc_buf out;
        pfc_mem_init(&mem, NULL, 0);
        pfc_buf_init(&out, &mem);
        pfc_collapsed_text(&out, cases[i].text, cases[i].size, cases[i].underscores);
        if (strcmp(out.data, cases[i].expected) != 0)
            fail_msg("case %zu: \"%s\", \"%s\" expected", i, out.data, cases[i].expected);
        pfc_buf_free(&out);
    }
}

static void test_numbers_at_the_end(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int blank; /* -1: none */
    } cases[] = {
        {"Thread 12", 6}, {"f 1.5", 1},  {"f 1.", 1}, {"f 12 10", 4},  {"f12", -1},  {"12", -1},
        {"f .5", 1},      {"f 1.x", -1}, {"f", -1},   {"f 1.2.3", -1}, {"f -3", 1},
        {"f +3", 1},      {"f 1e3", 1},  {"f 1e", -1}, {"f 2.5E-1", 1}, {"f 1,2,3", -1}, {"f 0x10", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t blank = 99;
        int found = pfc_collapsed_ends_in_number(cases[i].text, strlen(cases[i].text), &blank);
        if (found != (cases[i].blank >= 0) || (found && blank != (size_t)cases[i].blank))
            fail_msg("%s: %d at %zu", cases[i].text, found, blank);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tidy),
        cmocka_unit_test(test_suffixes),
        cmocka_unit_test(test_grammar),
        cmocka_unit_test(test_numbers_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
