/* SPDX-License-Identifier: MIT
 *
 * profconv/cxx/transform.hpp - merging, cutting, filtering, scaling and comparing in C++17. Include <profconv/profconv.hpp>.
 */
#ifndef PROFCONV_CXX_TRANSFORM_HPP
#define PROFCONV_CXX_TRANSFORM_HPP

#include <profconv/cxx/builder.hpp>
#include <profconv/transform.h>

namespace profconv {

inline void builder_ref::merge(profile_ref other, std::uint64_t weight) const {
    detail::check([&](profconv_error *e) { return profconv_merge(p_, other.get(), weight, e); });
}

/** What the settings of the scope "filter" leave of a profile. */
inline profile filter(profile from, options_ref settings, std::uint32_t stages = PROFCONV_FILTER_ALL) {
    profconv_profile *p = from.release();
    try {
        detail::check([&](profconv_error *e) { return profconv_filter(&p, settings.get(), stages, e); });
    } catch (...) {
        profconv_profile_free(p);
        throw;
    }
    return profile(p);
}

inline profile scale(profile_ref from, std::int64_t numerator, std::uint64_t denominator = 1) {
    profconv_profile *p = nullptr;
    detail::check([&](profconv_error *e) { return profconv_scale(from.get(), numerator, denominator, &p, e); });
    return profile(p);
}

inline profile normalize(profile_ref from, profile_ref base) {
    profconv_profile *p = nullptr;
    detail::check([&](profconv_error *e) { return profconv_normalize(from.get(), base.get(), &p, e); });
    return profile(p);
}

/** The `count` heaviest nodes of the tree of stacks, the rest as "[other]". */
inline profile keep_top(profile_ref from, std::uint32_t count) {
    profconv_profile *p = nullptr;
    detail::check([&](profconv_error *e) { return profconv_keep_top(from.get(), count, &p, e); });
    return profile(p);
}

/** Cuts a profile into parts of at most `max_samples` rows, and hands each to `part`. */
inline void split(profile_ref from, std::uint64_t max_samples,
                  const std::function<void(profile_ref part, std::uint64_t index)> &part) {
    auto o = detail::sized<profconv_split_options>();
    o.max_samples = max_samples;
    o.user = const_cast<void *>(static_cast<const void *>(&part));
    o.part = [](void *user, const profconv_profile *p, std::uint64_t index) noexcept {
        using taker = const std::function<void(profile_ref, std::uint64_t)>;
        return detail::guard(nullptr, [&] { (*static_cast<taker *>(user))(p, index); });
    };
    detail::check([&](profconv_error *e) { return profconv_split(from.get(), &o, e); });
}

namespace detail {
struct top_at {
    const profconv_top *p;
    profconv_top_row operator()(std::size_t index) const {
        profconv_top_row row = {};
        profconv_top_get(p, index, &row);
        return row;
    }
};
struct diff_at {
    const profconv_diff *p;
    profconv_diff_row operator()(std::size_t index) const {
        profconv_diff_row row = {};
        profconv_diff_get(p, index, &row);
        return row;
    }
};
} // namespace detail

/** Bytes of a C row as a view: `view(row.name)`. */
inline std::string_view view(profconv_string text) noexcept { return detail::view(text); }

/** What a profile spends most on. Rows are the C interface's. */
class top {
public:
    explicit top(profile_ref from, profconv_by by = PROFCONV_BY_FUNCTION, bool cumulative = false,
                 const std::string &sample_type = {}) {
        auto o = detail::sized<profconv_top_options>();
        o.sample_type = sample_type.empty() ? nullptr : sample_type.c_str();
        o.by = by;
        o.cumulative = cumulative;
        profconv_top *p = nullptr;
        detail::check([&](profconv_error *e) { return profconv_top_new(&p, from.get(), &o, e); });
        p_.reset(p);
    }
    detail::indexed<detail::top_at> rows() const { return {{p_.get()}, 0, profconv_top_count(p_.get())}; }
    std::int64_t total() const { return profconv_top_total(p_.get()); }

private:
    detail::handle<profconv_top, profconv_top_free> p_;
};

/** Two profiles compared. The struct's size is filled in here. */
class diff {
public:
    diff(profile_ref before, profile_ref after, profconv_diff_options how = {}) {
        how.struct_size = sizeof how;
        profconv_diff *p = nullptr;
        detail::check([&](profconv_error *e) { return profconv_diff_new(&p, before.get(), after.get(), &how, e); });
        p_.reset(p);
    }
    detail::indexed<detail::diff_at> rows() const { return {{p_.get()}, 0, profconv_diff_count(p_.get())}; }
    const profconv_diff_summary &summary() const { return *profconv_diff_get_summary(p_.get()); }
    report_ref report() const { return profconv_diff_get_report(p_.get()); }
    /** As pprof -diff_base has it; of the two profiles that were compared. */
    profconv::profile profile(profile_ref before, profile_ref after) const {
        profconv_profile *p = nullptr;
        detail::check(
            [&](profconv_error *e) { return profconv_diff_profile(p_.get(), before.get(), after.get(), &p, e); });
        return profconv::profile(p);
    }

private:
    detail::handle<profconv_diff, profconv_diff_free> p_;
};

} // namespace profconv

#endif
