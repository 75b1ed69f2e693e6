/* SPDX-License-Identifier: MIT
 *
 * The C++ interface: every table through its range, errors as exceptions both ways, ownership. Built and run by test_cxx.py
 * against the shared library, with every compiler that is here.
 */
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include <profconv/profconv.hpp>

namespace {

int failures = 0;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

/* The status of what f throws, 0 when it does not. */
template <class F> int thrown(F &&f, std::string *message = nullptr) {
    try {
        f();
    } catch (const profconv::error &e) {
        if (message)
            *message = e.what();
        return e.status();
    }
    return 0;
}

/* An allocator that counts. */
struct heap {
    std::size_t live = 0;
    profconv_allocator c;
    heap() : c() {
        c.struct_size = sizeof c;
        c.user = this;
        c.resize = [](void *user, void *p, std::size_t old_size, std::size_t new_size) -> void * {
            auto *h = static_cast<heap *>(user);
            if (new_size == 0) {
                std::free(p);
                h->live -= old_size;
                return nullptr;
            }
            void *grown = std::realloc(p, new_size);
            if (grown)
                h->live = h->live - old_size + new_size;
            return grown;
        };
    }
};

/* main -> work (work.c:12, with square inlined into it at work.c:7) -> address 0x1234 of /bin/app. */
profconv::profile small(const profconv_allocator *allocator) {
    profconv::builder b(nullptr, allocator);
    CHECK(b.sample_type("samples", "count", PROFCONV_ROLE_COUNT) == 0);
    CHECK(b.sample_type("cpu", "nanoseconds", PROFCONV_ROLE_WEIGHT) == 1);
    profconv_mapping m = {};
    m.start = 0x1000;
    m.limit = 0x3000;
    m.file_offset = 0x1000;
    m.file = b.string("/bin/app");
    m.build_id = b.string("00ff");
    m.kind = PROFCONV_MAPPING_EXECUTABLE;
    profconv_id app = b.mapping(m);
    profconv_line lines[2] = {};
    lines[0].function = b.function("square", "work.c", 5);
    lines[0].line = 7;
    lines[1].function = b.function("work", "work.c", 10);
    lines[1].line = 12;
    lines[1].discriminator = 3;
    profconv_location at = {};
    at.mapping = app;
    at.address = 0x1200;
    profconv_id leaf = b.location(app, 0x1234);
    profconv_id both = b.location(at, lines, 2);
    profconv_id main = b.frame("main");
    profconv_id deep = b.stack_leaf_first({leaf, both, main});
    profconv_id flat = b.stack(0, main);
    profconv_id labels = b.label_set({b.label("thread", "worker"), b.label("bytes", 64, "bytes")});
    b.sample(deep, labels, {2, 2000});
    b.sample(flat, 5);
    b.sample(flat, 5000, 1);
    b.branch(leaf, both, 9, 1, 90);
    b.branch_range(both, leaf, 4);
    b.address(leaf, 6);
    profconv_source outer = {};
    outer.name = b.string("work");
    outer.total = 100;
    outer.head = 10;
    profconv_id top = b.source(outer);
    profconv_source inner = {};
    inner.name = b.string("square");
    inner.parent = top;
    inner.line = 2;
    inner.total = 40;
    b.source(inner);
    profconv_id body = b.source_body(top, 3, 1, 60);
    b.source_target(body, "puts", 7);
    b.symbol("work");
    b.comment("made by a test");
    b.attribute("hostname", "here");
    profconv_info info = b.info();
    info.duration_ns = 1000000000;
    b.info(info);
    b.report().add(PROFCONV_NOTE_WARNING, "test", "a warning", 2);
    return b.freeze();
}

void test_rows(const profconv::profile_ref p) {
    p.check();
    CHECK(p.sample_types().size() == 2);
    CHECK(p.sample_types()[1].name() == "cpu" && p.sample_types()[1].unit() == "nanoseconds");
    CHECK(p.default_sample_type().name() == "cpu");
    CHECK(p.find_sample_type("samples")->id() == 0 && !p.find_sample_type("none"));
    CHECK(p.sample_types()[0].total() == 7 && p.sample_types()[1].total() == 7000);
    CHECK(p.samples().size() == 2);

    std::int64_t sum = 0;
    std::set<std::string> seen;
    for (const profconv::sample &s : p.samples()) {
        sum += s.value(p.default_sample_type());
        std::string path;
        for (const profconv::location &l : s.stack()) {
            if (l.lines().empty())
                path += "?";
            for (const profconv::line &line : l.lines())
                path += std::string(line.function().name()) + ":" + std::to_string(line.number()) + ";";
        }
        seen.insert(path + " " + std::to_string(s.value(0u)) + " " + std::to_string(s.labels().size()));
    }
    CHECK(sum == 7000);
    CHECK(seen == (std::set<std::string>{"?square:7;work:12;main:0; 2 2", "main:0; 5 0"}));

    auto samples = p.samples();
    auto deep = std::find_if(samples.begin(), samples.end(), [](const profconv::sample &s) { return !s.labels().empty(); });
    CHECK(deep != samples.end());
    profconv::stack stack = deep->stack();
    CHECK(std::distance(stack.begin(), stack.end()) == 3);
    CHECK(stack.leaf().address() == 0x1234 && stack.leaf().mapping().file() == "/bin/app");
    CHECK(stack.leaf().mapping().build_id() == "00ff" && stack.leaf().mapping().kind() == PROFCONV_MAPPING_EXECUTABLE);
    CHECK(stack.parent().leaf().lines()[1].discriminator() == 3);
    CHECK(stack.parent().parent().parent().empty() && !stack.parent().parent().parent());
    CHECK(deep->labels().find("thread").string() == "worker");
    CHECK(deep->labels().find("bytes").is_number() && deep->labels().find("bytes").number() == 64);
    CHECK(!deep->labels().find("none") && deep->labels().find("none").key().empty());

    CHECK(p.functions().size() == 3 && p.mappings().size() == 1 && p.locations().size() == 3);
    std::map<std::string_view, std::int64_t> starts;
    for (const profconv::function &f : p.functions())
        starts[f.name()] = f.start_line();
    CHECK(starts == (std::map<std::string_view, std::int64_t>{{"main", 0}, {"square", 5}, {"work", 10}}));
    CHECK(p.branches().size() == 1 && p.branches()[0].count() == 9 && p.branches()[0].cycles() == 90);
    CHECK(p.branches()[0].from().address() == 0x1234 && p.branches()[0].to().address() == 0x1200);
    CHECK(p.branch_ranges().size() == 1 && p.branch_ranges()[0].last().address() == 0x1234);
    CHECK(p.addresses().size() == 1 && p.addresses()[0].count() == 6);
    CHECK(p.sources().size() == 2 && p.source_bodies().size() == 1 && p.source_targets().size() == 1);
    CHECK(p.source_targets()[0].name() == "puts" && p.source_targets()[0].body().source().name() == "work");
    for (const profconv::source &s : p.sources())
        CHECK(s.parent() ? s.name() == "square" && s.parent().head() == 10 : s.name() == "work");
    CHECK(p.symbols().size() == 1 && p.symbols()[0] == "work");
    CHECK(p.comments()[0] == "made by a test");
    CHECK(p.attributes().size() == 1 && p.attributes()[0].first == "hostname" && p.attribute("hostname") == "here");
    CHECK(p.info().duration_ns == 1000000000);
    CHECK(p.report().count(PROFCONV_NOTE_WARNING, "test") == 2);
    CHECK((p.facets() & PROFCONV_FACET_BRANCHES) && (p.facets() & PROFCONV_FACET_LABELS));

    auto values = p.column<std::int64_t>(PROFCONV_TABLE_SAMPLE, "value", 1);
    std::int64_t column_sum = 0;
    for (std::int64_t v : values)
        column_sum += v;
    CHECK(values.size() == 2 && column_sum == 7000);
    CHECK(thrown([&] { p.column<std::uint32_t>(PROFCONV_TABLE_SAMPLE, "value", 1); }) == PROFCONV_E_INVALID);
    CHECK(thrown([&] { p.column<std::uint32_t>(PROFCONV_TABLE_SAMPLE, "none"); }) == PROFCONV_E_NOT_FOUND);
}

void test_iterators(const profconv::profile_ref p) {
    auto all = p.functions();
    auto it = all.begin();
    CHECK(all.end() - it == 3 && it[2] == *(it + 2) && it < all.end() && !(it > all.end()));
    ++it;
    it += 2;
    CHECK(it == all.end());
    --it;
    CHECK((*it--).id() == 3 && it->id() == 2 && *it != *all.begin());
    CHECK(std::count_if(all.begin(), all.end(), [](const profconv::function &f) { return f.file() == "work.c"; }) == 2);
}

void test_moves(heap &h) {
    profconv::profile a = small(&h.c);
    profconv::profile b = std::move(a);
    CHECK(a.get() == nullptr && b.samples().size() == 2);
    a = std::move(b);
    CHECK(b.get() == nullptr && a.samples().size() == 2);
    a = small(&h.c);
    auto again = profconv::builder::thaw(std::move(a));
    again.sample(again.stack(0, again.frame("late")), 1);
    CHECK(again.freeze().samples().size() == 3);
}

void test_conversion(heap &h) {
    profconv::registry formats(&h.c);
    auto io = profconv::detail::sized<profconv_io_options>();
    io.allocator = &h.c;
    CHECK(formats.formats().size() > 3);
    CHECK(std::string_view(formats.find("folded").name) == "collapsed");
    CHECK(thrown([&] { formats.find("none"); }) == PROFCONV_E_NOT_FOUND);
    CHECK(std::string_view(formats.find_suffix("x.pb.gz").name) == "pprof");

    std::string text = "main;b 2\nmain;a 1\n";
    profconv::options settings(&h.c);
    settings.set("pprof.gzip=no").put("collapsed", "weight", "auto");
    CHECK(profconv::options_ref(settings).value("pprof", "gzip") == "no");
    CHECK(thrown([&] { settings.set("nonsense"); }) == PROFCONV_E_INVALID);
    profconv::conversion how;
    how.allocator = &h.c;
    how.to = "collapsed";
    std::size_t at = 0;
    auto in = profconv::input::from(
        [&](void *buffer, std::size_t size) { // a byte at a time
            std::size_t n = std::min<std::size_t>({size, text.size() - at, 1});
            std::copy_n(text.data() + at, n, static_cast<char *>(buffer));
            at += n;
            return n;
        },
        "letters", &io);
    std::string written;
    auto out = profconv::output::to([&](profconv::bytes data) { written += data; }, "string", &io);
    profconv::report report(&h.c);
    CHECK(std::string_view(profconv::detect(formats, in).name) == "collapsed");
    profconv::convert(formats, in, out, how, report);
    CHECK(written == "main;a 1\nmain;b 2\n");
    CHECK(report.count(PROFCONV_NOTE_DROPPED) == 0);

    auto memory = profconv::output::memory(&io);
    auto source = profconv::input::memory(text, &io);
    profconv::profile p = profconv::read(formats, source, how);
    p = profconv::prepare(formats, std::move(p), how);
    profconv::write(formats, p, memory, how);
    CHECK(memory.contents() == written);
    auto dumped = profconv::output::memory(&io);
    profconv::dump(p, dumped);
    dumped.close();
    CHECK(dumped.contents().find("main") != profconv::bytes::npos);

    profconv::builder sum(nullptr, &h.c);
    sum.merge(p, 3);
    sum.merge(p);
    profconv::profile merged = sum.freeze();
    CHECK(merged.sample_types()[0].total() == 12);
    CHECK(profconv::scale(merged, 1, 4).sample_types()[0].total() == 3);
    profconv::top top(merged);
    CHECK(top.total() == 12 && top.rows().size() == 3 && profconv::view(top.rows()[0].name) == "b");
    profconv::diff diff(p, merged);
    CHECK(diff.summary().delta == 9);
    CHECK(diff.profile(p, merged).samples().size() == 4);
    std::uint64_t parts = 0;
    profconv::split(merged, 1, [&](profconv::profile_ref part, std::uint64_t index) {
        CHECK(index == parts++ && part.samples().size() == 1);
    });
    CHECK(parts == 2);
    profconv::options focus(&h.c);
    focus.set("filter.focus=^a$");
    CHECK(profconv::filter(std::move(merged), focus).sample_types()[0].total() == 4);
}

void test_errors(heap &h) {
    profconv::registry formats(&h.c);
    std::string message;
    CHECK(thrown([] { profconv::input::open("/nonexistent/file"); }, &message) == PROFCONV_E_IO);
    CHECK(message.find("nonexistent") != std::string::npos);
    try {
        profconv::input::open("/nonexistent/file");
    } catch (const profconv::error &e) {
        CHECK(e.system_errno() == ENOENT && !e.offset() && !e.line());
    }
    auto binary = profconv::input::memory(std::string_view("\0\1\2\3\4\5\6\7", 8));
    CHECK(thrown([&] { profconv::read(formats, binary); }) == PROFCONV_E_UNKNOWN_FORMAT);

    /* Sources that throw: an errno, a status, anything. */
    auto read_from = [&](profconv::input::reader r) {
        profconv::conversion how;
        how.from = "collapsed";
        profconv::read(formats, profconv::input::from(std::move(r), "thrower"), how);
    };
    try {
        read_from([](void *, std::size_t) -> std::size_t { throw std::system_error(EPERM, std::generic_category()); });
        CHECK(false);
    } catch (const profconv::error &e) {
        CHECK(e.status() == PROFCONV_E_CALLBACK && e.system_errno() == EPERM);
    }
    CHECK(thrown([&] {
              read_from([](void *, std::size_t) -> std::size_t { throw profconv::error(PROFCONV_E_LIMIT, "enough"); });
          }) == PROFCONV_E_LIMIT);
    CHECK(thrown([&] { read_from([](void *, std::size_t) -> std::size_t { throw 1; }); }) == PROFCONV_E_CALLBACK);

    profconv::conversion how;
    how.from = "collapsed";
    how.to = "collapsed";
    how.progress = [](std::string_view, std::uint64_t, std::optional<std::uint64_t>) { return false; };
    std::string many;
    for (int i = 0; i < 200000; i++)
        many += "main;f" + std::to_string(i) + " 1\n";
    auto source = profconv::input::memory(many);
    CHECK(thrown([&] { profconv::read(formats, source, how); }) == PROFCONV_E_CALLBACK);
}

/* Formats from functions, whose names must outlive the call that registers them. */
void test_formats(heap &h) {
    auto alive = std::make_shared<int>(0);
    {
        profconv::registry formats(&h.c);
        {
            profconv::format_description d;
            d.name = std::string("count") + "er";
            d.suffixes = {".counter"};
            d.produces = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_STACKS;
            d.needs = d.keeps = PROFCONV_FACET_STACKS;
            formats.add(std::make_shared<profconv::function_reader>(
                d, [](profconv::bytes head, bool) { return head.substr(0, 5) == "COUNT" ? 90 : 0; },
                [alive](profconv::input_ref from, profconv::builder_ref into, profconv::options_ref) {
                    into.sample_type("n", "count");
                    while (auto line = from.next_line()) {
                        if (*line == "throw")
                            throw std::runtime_error("told to throw");
                        if (*line == "bad")
                            throw profconv::error(PROFCONV_E_FORMAT, "told to fail", 17, 3);
                        into.sample(into.stack(0, into.frame(*line)), 1);
                    }
                }));
            formats.add(std::make_shared<profconv::function_writer>(
                d, [alive](profconv::profile_ref p, profconv::output_ref to, profconv::options_ref, profconv::report_sink notes) {
                    to.write(std::to_string(p.samples().size()) + "\n");
                    notes.add(PROFCONV_NOTE_LOST, "names", "names of functions");
                }));
            CHECK(thrown([&] { formats.add(std::make_shared<profconv::function_reader>(d, nullptr, nullptr)); }) ==
                  PROFCONV_E_INVALID);
        }
        CHECK(alive.use_count() == 3);
        profconv::conversion how;
        how.to = formats.find_suffix("x.counter").name;
        auto good = profconv::input::memory("COUNT\nb\nb\n");
        auto out = profconv::output::memory();
        profconv::report report;
        profconv::convert(formats, good, out, how, report);
        CHECK(out.contents() == "2\n" && report.count(PROFCONV_NOTE_LOST, "names") == 1);
        std::string message;
        auto throws = profconv::input::memory("COUNT\nthrow\n");
        CHECK(thrown([&] { profconv::read(formats, throws); }, &message) == PROFCONV_E_CALLBACK);
        CHECK(message == "told to throw");
        try {
            profconv::read(formats, profconv::input::memory("COUNT\nbad\n"));
            CHECK(false);
        } catch (const profconv::error &e) {
            CHECK(e.status() == PROFCONV_E_FORMAT && e.offset() == 17 && e.line() == 3 && e.format() == "counter");
        }
    }
    CHECK(alive.use_count() == 1);
}

} // namespace

int main() {
    heap h;
    CHECK(profconv::version() == "0.1.0");
    try {
        profconv::profile p = small(&h.c);
        test_rows(p);
        test_iterators(p);
        test_moves(h);
        test_conversion(h);
        test_errors(h);
        test_formats(h);
    } catch (const std::exception &e) {
        std::printf("not expected: %s\n", e.what());
        failures++;
    }
    CHECK(h.live == 0);
    std::printf("%d failures\n", failures);
    return failures != 0;
}
