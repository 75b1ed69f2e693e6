/* SPDX-License-Identifier: MIT
 *
 * profconv/cxx/convert.hpp - the registry, conversions, and formats written in C++17. Include <profconv/profconv.hpp>.
 */
#ifndef PROFCONV_CXX_CONVERT_HPP
#define PROFCONV_CXX_CONVERT_HPP

#include <profconv/check.h>
#include <profconv/convert.h>
#include <profconv/cxx/builder.hpp>
#include <profconv/cxx/io.hpp>
#include <profconv/cxx/profile.hpp>
#include <profconv/plugin.h>

namespace profconv {

/** What a format is called and what it can do, for one written in C++. */
struct format_description {
    std::string name; /* lower case, digits, '-' */
    std::string description;
    std::vector<std::string> aliases;
    std::vector<std::string> suffixes;            /* ".tally" */
    const profconv_setting *settings = nullptr;   /* static data, ending with a NULL name */
    std::uint32_t produces = 0;                   /* readers: PROFCONV_FACET_* */
    std::uint32_t needs = 0, keeps = 0, improves = 0; /* writers */
    bool binary = false;
    std::optional<std::string> labels;            /* comma-separated keys the writer holds; nothing: all */
};

/** A reader. What its members throw arrives at the caller of the library as a profconv::error, or a profconv_error in C. */
class reader {
public:
    virtual ~reader() = default;
    virtual format_description describe() const = 0;
    /** 0 (no) to 100 (a magic number): are these first bytes of the format? `whole`: there are no others. */
    virtual int probe(bytes head, bool whole) {
        (void)head;
        (void)whole;
        return 0;
    }
    virtual void read(input_ref from, builder_ref into, options_ref settings) = 0;
};

class writer {
public:
    virtual ~writer() = default;
    virtual format_description describe() const = 0;
    virtual void write(profile_ref profile, output_ref to, options_ref settings, report_sink report) = 0;
};

/** A reader and a writer from functions. */
struct function_reader final : reader {
    using probe_function = std::function<int(bytes head, bool whole)>;
    using read_function = std::function<void(input_ref, builder_ref, options_ref)>;
    function_reader(format_description description, probe_function probe_it, read_function read_it)
        : description_(std::move(description)), probe_(std::move(probe_it)), read_(std::move(read_it)) {}
    format_description describe() const override { return description_; }
    int probe(bytes head, bool whole) override { return probe_ ? probe_(head, whole) : 0; }
    void read(input_ref from, builder_ref into, options_ref settings) override { read_(from, into, settings); }

private:
    format_description description_;
    probe_function probe_;
    read_function read_;
};

struct function_writer final : writer {
    using write_function = std::function<void(profile_ref, output_ref, options_ref, report_sink)>;
    function_writer(format_description description, write_function write_it)
        : description_(std::move(description)), write_(std::move(write_it)) {}
    format_description describe() const override { return description_; }
    void write(profile_ref profile, output_ref to, options_ref settings, report_sink report) override {
        write_(profile, to, settings, report);
    }

private:
    format_description description_;
    write_function write_;
};

namespace detail {

/* A description whose strings C may point to for as long as the registry lives, and the object itself. */
template <class Format> struct registered {
    explicit registered(std::shared_ptr<Format> f)
        : format(std::move(f)), description(format->describe()), aliases(list(description.aliases)),
          suffixes(list(description.suffixes)) {}
    static std::vector<const char *> list(const std::vector<std::string> &words) {
        std::vector<const char *> out;
        for (const std::string &word : words)
            out.push_back(word.c_str());
        out.push_back(nullptr);
        return out;
    }
    template <class Struct> Struct fill() const {
        auto s = sized<Struct>();
        s.name = description.name.c_str();
        s.aliases = aliases.data();
        s.suffixes = suffixes.data();
        s.description = description.description.c_str();
        s.settings = description.settings;
        return s;
    }
    std::shared_ptr<Format> format;
    format_description description;
    std::vector<const char *> aliases, suffixes;
};

struct format_at {
    const profconv_registry *p;
    profconv_format_info operator()(std::size_t index) const {
        profconv_format_info info = {};
        profconv_registry_format(p, index, &info);
        return info;
    }
};

} // namespace detail

/** The formats that are known. Set it up on one thread; then any number may use it. */
class registry {
public:
    explicit registry(const profconv_allocator *allocator = nullptr) {
        profconv_registry *p = nullptr;
        detail::check([&](profconv_error *e) { return profconv_registry_new(&p, allocator, e); });
        p_.reset(p);
    }
    /** Rows are the C interface's profconv_format_info. */
    detail::indexed<detail::format_at> formats() const { return {{p_.get()}, 0, profconv_registry_format_count(p_.get())}; }
    /** By name or alias; throws PROFCONV_E_NOT_FOUND. */
    profconv_format_info find(const std::string &name) const {
        profconv_format_info info = {};
        detail::check([&](profconv_error *e) {
            int status = profconv_registry_find(p_.get(), name.c_str(), &info);
            return status == PROFCONV_OK ? status
                                         : profconv_error_set(e, status, PROFCONV_NO_OFFSET, 0, "%s: no such format", name.c_str());
        });
        return info;
    }
    /** The writer for a file of this name; throws PROFCONV_E_NOT_FOUND. */
    profconv_format_info find_suffix(const std::string &path) const {
        profconv_format_info info = {};
        detail::check([&](profconv_error *e) {
            int status = profconv_registry_find_suffix(p_.get(), path.c_str(), &info);
            return status == PROFCONV_OK
                       ? status
                       : profconv_error_set(e, status, PROFCONV_NO_OFFSET, 0, "%s: no format is written to such names",
                                            path.c_str());
        });
        return info;
    }
    void add(std::shared_ptr<reader> format) {
        auto kept = std::make_shared<detail::registered<reader>>(std::move(format));
        auto s = kept->fill<profconv_reader>();
        s.produces = kept->description.produces;
        s.user = kept->format.get();
        s.probe = [](void *user, const std::uint8_t *head, std::size_t size, int whole) noexcept {
            int sure = 0;
            int status = detail::guard(nullptr, [&] {
                sure = static_cast<reader *>(user)->probe({reinterpret_cast<const char *>(head), size}, whole != 0);
            });
            return status == PROFCONV_OK ? sure : 0;
        };
        s.read = [](void *user, profconv_input *from, profconv_builder *into, const profconv_options *settings,
                    profconv_error *e) noexcept {
            return detail::guard(e, [&] { static_cast<reader *>(user)->read(from, into, settings); });
        };
        detail::check([&](profconv_error *e) { return profconv_registry_add_reader(p_.get(), &s, e); });
        p_.get_deleter().kept.push_back(std::move(kept));
    }
    void add(std::shared_ptr<writer> format) {
        auto kept = std::make_shared<detail::registered<writer>>(std::move(format));
        const format_description &d = kept->description;
        auto s = kept->fill<profconv_writer>();
        s.needs = d.needs;
        s.keeps = d.keeps;
        s.improves = d.improves;
        s.binary = d.binary;
        s.labels = d.labels ? d.labels->c_str() : nullptr;
        s.user = kept->format.get();
        s.write = [](void *user, const profconv_profile *profile, profconv_output *to, const profconv_options *settings,
                     profconv_report *report, profconv_error *e) noexcept {
            return detail::guard(e, [&] { static_cast<writer *>(user)->write(profile, to, settings, report); });
        };
        detail::check([&](profconv_error *e) { return profconv_registry_add_writer(p_.get(), &s, e); });
        p_.get_deleter().kept.push_back(std::move(kept));
    }
    const profconv_registry *get() const noexcept { return p_.get(); }

private:
    detail::handle<profconv_registry, profconv_registry_free> p_;
};

/** How a conversion runs. Empty means the default. */
struct conversion {
    std::string from; /* format of the input; empty: by content */
    std::string to;   /* format of the output */
    options_ref settings;
    const profconv_limits *limits = nullptr;
    const profconv_allocator *allocator = nullptr;
    /** Bytes of the source that are done, and all of them where that is known. False ends the conversion: PROFCONV_E_CALLBACK. */
    std::function<bool(std::string_view stage, std::uint64_t done, std::optional<std::uint64_t> total)> progress;
};

namespace detail {
/* The same in C, borrowed from `c`. */
inline profconv_convert_options c_options(const conversion &c) noexcept {
    auto o = sized<profconv_convert_options>();
    o.allocator = c.allocator;
    o.limits = c.limits;
    o.settings = c.settings.get();
    o.from = c.from.empty() ? nullptr : c.from.c_str();
    o.to = c.to.empty() ? nullptr : c.to.c_str();
    if (c.progress) {
        o.progress_user = const_cast<conversion *>(&c);
        o.progress = [](void *user, const char *stage, std::uint64_t done, std::uint64_t total) noexcept {
            bool more = false;
            int status = guard(nullptr, [&] {
                more = static_cast<const conversion *>(user)->progress(
                    view(stage), done, total == UINT64_MAX ? std::nullopt : std::optional<std::uint64_t>(total));
            });
            return status == PROFCONV_OK ? !more : status;
        };
    }
    return o;
}
} // namespace detail

inline profconv_format_info detect(const registry &formats, input_ref from) {
    profconv_format_info info = {};
    detail::check([&](profconv_error *e) { return profconv_detect(formats.get(), from.get(), &info, e); });
    return info;
}

inline profile read(const registry &formats, input_ref from, const conversion &how = {}) {
    profconv_profile *p = nullptr;
    auto o = detail::c_options(how);
    detail::check([&](profconv_error *e) { return profconv_read(formats.get(), from.get(), &o, &p, e); });
    return profile(p);
}

/** Adds what the target `how.to` needs, where passes can. */
inline profile prepare(const registry &formats, profile from, const conversion &how, report_sink report = {}) {
    profconv_profile *p = from.release();
    auto o = detail::c_options(how);
    try {
        detail::check([&](profconv_error *e) { return profconv_prepare(formats.get(), &p, &o, report.get(), e); });
    } catch (...) {
        profconv_profile_free(p);
        throw;
    }
    return profile(p);
}

/** Runs "symbolize", "attribute" or "expand". */
inline profile run_pass(const std::string &pass, profile from, const conversion &how = {}, report_sink report = {}) {
    profconv_profile *p = from.release();
    auto o = detail::c_options(how);
    try {
        detail::check([&](profconv_error *e) { return profconv_run_pass(pass.c_str(), &p, &o, report.get(), e); });
    } catch (...) {
        profconv_profile_free(p);
        throw;
    }
    return profile(p);
}

/** Writes and closes the output. */
inline void write(const registry &formats, profile_ref profile, output_ref to, const conversion &how,
                  report_sink report = {}) {
    auto o = detail::c_options(how);
    detail::check(
        [&](profconv_error *e) { return profconv_write(formats.get(), profile.get(), to.get(), &o, report.get(), e); });
}

/** Reads, merges, prepares, writes and closes. */
inline void convert(const registry &formats, const std::vector<profconv_convert_input> &inputs, output_ref to,
                    const conversion &how, report_sink report = {}) {
    auto o = detail::c_options(how);
    detail::check([&](profconv_error *e) {
        return profconv_convert(formats.get(), inputs.data(), inputs.size(), to.get(), &o, report.get(), e);
    });
}
inline void convert(const registry &formats, input_ref from, output_ref to, const conversion &how,
                    report_sink report = {}) {
    convert(formats, std::vector<profconv_convert_input>{{from.get(), 1}}, to, how, report);
}

/** Every table as canonical text. The output is left open. */
inline void dump(profile_ref profile, output_ref to) {
    detail::check([&](profconv_error *e) { return profconv_dump(profile.get(), to.get(), e); });
}

/** Whether a profile will work for "go-pgo", "llvm" or "gcc": throws PROFCONV_E_MISSING_FACET with the first reason. */
inline void check(profile_ref profile, const std::string &consumer, report_sink report = {}) {
    detail::check([&](profconv_error *e) { return profconv_check(profile.get(), consumer.c_str(), report.get(), e); });
}

} // namespace profconv

#endif
