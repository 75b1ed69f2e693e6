/* SPDX-License-Identifier: MIT
 *
 * plugin INPUT OUTPUT: a format of one's own, "tally", beside the built-in ones. A line of it is "COUNT ROOT/CALLEE/LEAF"; the first
 * line is "TALLY 1". Converts from it or, when the output's name ends with .tally, to it.
 */
#include <charconv>
#include <iostream>

#include <profconv/profconv.hpp>

namespace {

constexpr std::string_view magic = "TALLY 1\n";

profconv::format_description tally() {
    profconv::format_description d;
    d.name = "tally";
    d.description = "counts and paths";
    d.suffixes = {".tally"};
    d.produces = d.needs = d.keeps = PROFCONV_FACET_SYMBOLS | PROFCONV_FACET_STACKS;
    return d;
}

class tally_reader final : public profconv::reader {
public:
    profconv::format_description describe() const override { return tally(); }
    int probe(profconv::bytes head, bool) override { return head.substr(0, magic.size()) == magic ? 100 : 0; }
    void read(profconv::input_ref from, profconv::builder_ref into, profconv::options_ref) override {
        into.sample_type("samples", "count", PROFCONV_ROLE_COUNT);
        from.next_line();
        for (std::uint64_t number = 2; auto text = from.next_line(); number++) {
            std::string_view rest = *text;
            std::int64_t count = 0;
            auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), count);
            rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
            if (failed != std::errc() || rest.empty() || rest.front() != ' ')
                throw profconv::error(PROFCONV_E_FORMAT, "line " + std::to_string(number) + ": a count and a blank expected", {},
                                      number);
            profconv_id stack = 0;
            do {
                rest.remove_prefix(1);
                std::string_view name = rest.substr(0, rest.find('/'));
                stack = into.stack(stack, into.frame(name));
                rest.remove_prefix(name.size());
            } while (!rest.empty());
            into.sample(stack, count);
        }
        into.check();
    }
};

class tally_writer final : public profconv::writer {
public:
    profconv::format_description describe() const override { return tally(); }
    void write(profconv::profile_ref profile, profconv::output_ref to, profconv::options_ref,
               profconv::report_sink report) override {
        auto type = profile.default_sample_type();
        to.write(magic);
        for (const profconv::sample &sample : profile.samples()) {
            std::string path;
            for (const profconv::location &location : sample.stack()) // leaf first
                for (const profconv::line &line : location.lines())
                    path.insert(0, std::string(line.function().name()) + (path.empty() ? "\n" : "/"));
            if (path.empty())
                report.add(PROFCONV_NOTE_DROPPED, "no-stack", "samples without a stack", 1, sample.value(type));
            else
                to.write(std::to_string(sample.value(type)) + " " + path);
        }
    }
};

} // namespace

int main(int argc, char **argv) try {
    if (argc != 3)
        throw std::runtime_error("usage: plugin INPUT OUTPUT");
    profconv::registry formats;
    formats.add(std::make_shared<tally_reader>());
    formats.add(std::make_shared<tally_writer>());
    auto input = profconv::input::open(argv[1]);
    auto output = profconv::output::open(argv[2]);
    profconv::conversion how;
    how.to = formats.find_suffix(argv[2]).name;
    profconv::convert(formats, input, output, how);
    return 0;
} catch (const std::exception &e) {
    std::cerr << e.what() << '\n';
    return 1;
}
