/* SPDX-License-Identifier: MIT
 *
 * profconv/cxx/builder.hpp - making a profile in C++17. Include <profconv/profconv.hpp>.
 */
#ifndef PROFCONV_CXX_BUILDER_HPP
#define PROFCONV_CXX_BUILDER_HPP

#include <profconv/builder.h>
#include <profconv/cxx/profile.hpp>

namespace profconv {

/**
 * A builder that somebody else holds: what a reader is given. Calls do not throw: errors are sticky, as in C, and
 * check() or freeze() throws the first. Ids are the C interface's.
 */
class builder_ref {
public:
    builder_ref(profconv_builder *p) noexcept : p_(p) {}
    profconv_builder *get() const noexcept { return p_; }

    void check() const {
        detail::check([&](profconv_error *e) { return profconv_builder_status(p_, e); });
    }
    report_sink report() const { return profconv_builder_report(p_); }
    const profconv_limits &limits() const { return *profconv_builder_limits(p_); }
    /** Keeps rows as they are given; only on an empty builder. */
    void verbatim() const {
        detail::check([&](profconv_error *) { return profconv_builder_verbatim(p_); });
    }

    profconv_id string(std::string_view text) const { return profconv_builder_string(p_, text.data(), text.size()); }
    profconv_id function(const profconv_function &row) const { return profconv_builder_function(p_, &row); }
    profconv_id function(std::string_view name, std::string_view file = {}, std::int64_t start_line = 0) const {
        profconv_function row = {};
        row.name = row.linkage_name = string(name);
        row.file = string(file);
        row.start_line = start_line;
        return function(row);
    }
    profconv_id mapping(const profconv_mapping &row) const { return profconv_builder_mapping(p_, &row); }
    profconv_id location(const profconv_location &row, const profconv_line *lines, std::uint32_t count) const {
        return profconv_builder_location(p_, &row, lines, count);
    }
    /** An address in a mapping, without a name. */
    profconv_id location(profconv_id mapping_id, std::uint64_t address, std::uint32_t flags = 0) const {
        return profconv_builder_address_location(p_, mapping_id, address, flags);
    }
    /** A frame of which only the function's name is known. */
    profconv_id frame(std::string_view name) const {
        profconv_location row = {};
        profconv_line line = {};
        line.function = function(name);
        return location(row, &line, 1);
    }
    /** The stack "`location_id` called from `parent`". */
    profconv_id stack(profconv_id parent, profconv_id location_id) const {
        return profconv_builder_stack(p_, parent, location_id);
    }
    profconv_id stack_leaf_first(const std::vector<profconv_id> &locations) const {
        return profconv_builder_stack_leaf_first(p_, locations.data(), locations.size());
    }
    profconv_id label(const profconv_label &row) const { return profconv_builder_label(p_, &row); }
    profconv_id label(std::string_view key, std::string_view value) const {
        profconv_label row = {};
        row.key = string(key);
        row.string = string(value);
        return label(row);
    }
    profconv_id label(std::string_view key, std::int64_t number, std::string_view unit) const {
        profconv_label row = {};
        row.key = string(key);
        row.number = number;
        row.unit = string(unit);
        row.numeric = 1;
        return label(row);
    }
    profconv_id label_set(const std::vector<profconv_id> &labels) const {
        return profconv_builder_label_set(p_, labels.data(), static_cast<std::uint32_t>(labels.size()));
    }
    /** Appends a column; returns its index. */
    std::uint32_t sample_type(const profconv_sample_type &row) const { return profconv_builder_sample_type(p_, &row); }
    std::uint32_t sample_type(std::string_view name, std::string_view unit,
                              profconv_value_role role = PROFCONV_ROLE_VALUE) const {
        profconv_sample_type row = {};
        row.name = string(name);
        row.unit = string(unit);
        row.role = role;
        return sample_type(row);
    }
    /** Adds to the columns from `first_type` on. */
    void sample(profconv_id stack_id, profconv_id labels, const std::vector<std::int64_t> &values,
                std::uint32_t first_type = 0) const {
        profconv_builder_sample(p_, stack_id, labels, first_type, values.data(), static_cast<std::uint32_t>(values.size()));
    }
    /** One value, without a vector. */
    void sample(profconv_id stack_id, std::int64_t value, std::uint32_t type = 0, profconv_id labels = 0) const {
        profconv_builder_sample(p_, stack_id, labels, type, &value, 1);
    }
    void branch(profconv_id from, profconv_id to, std::uint64_t count, std::uint64_t mispredicted = 0,
                std::uint64_t cycles = 0) const {
        profconv_builder_branch(p_, from, to, count, mispredicted, cycles);
    }
    void branch_range(profconv_id begin, profconv_id end, std::uint64_t count) const {
        profconv_builder_range(p_, begin, end, count);
    }
    void address(profconv_id location_id, std::uint64_t count) const { profconv_builder_address(p_, location_id, count); }
    void entry(const profconv_entry &row) const { profconv_builder_entry(p_, &row); }
    profconv_id context(const profconv_context &row) const { return profconv_builder_context(p_, &row); }
    profconv_id source(const profconv_source &row) const { return profconv_builder_source(p_, &row); }
    profconv_id source_body(profconv_id source_id, std::uint32_t line, std::uint32_t discriminator,
                            std::uint64_t count) const {
        return profconv_builder_source_body(p_, source_id, line, discriminator, count);
    }
    profconv_id source_target(profconv_id body, std::string_view name, std::uint64_t count) const {
        return profconv_builder_source_target(p_, body, string(name), count);
    }
    void symbol(std::string_view name) const { profconv_builder_symbol(p_, string(name)); }
    void comment(std::string_view text) const { profconv_builder_comment(p_, string(text)); }
    void attribute(const char *key, std::string_view value) const {
        profconv_builder_attribute(p_, key, value.data(), value.size());
    }
    profconv_info info() const {
        profconv_info out = {};
        profconv_builder_get_info(p_, &out);
        return out;
    }
    void info(const profconv_info &row) const { profconv_builder_set_info(p_, &row); }
    /** Adds `weight` times a profile, as profconv_merge has it. Throws. */
    void merge(profile_ref other, std::uint64_t weight = 1) const;

private:
    profconv_builder *p_;
};

class builder : public builder_ref {
public:
    explicit builder(const profconv_limits *limits = nullptr, const profconv_allocator *allocator = nullptr)
        : builder(make(limits, allocator)) {}
    builder(builder &&other) noexcept : builder_ref(other), owned_(std::move(other.owned_)) {
        static_cast<builder_ref &>(other) = builder_ref(nullptr);
    }
    builder &operator=(builder &&other) noexcept {
        builder moved(std::move(other));
        std::swap(static_cast<builder_ref &>(*this), static_cast<builder_ref &>(moved));
        std::swap(owned_, moved.owned_);
        return *this;
    }
    /** Goes on from a profile, without copying its tables. */
    static builder thaw(profile from) {
        profconv_builder *p = nullptr;
        profconv_profile *taken = from.release();
        try {
            detail::check([&](profconv_error *e) { return profconv_builder_thaw(&p, &taken, e); });
        } catch (...) {
            profconv_profile_free(taken);
            throw;
        }
        return builder(p);
    }
    /** The profile. The builder is of no use afterwards. */
    profile freeze() {
        profconv_profile *p = nullptr;
        detail::check([&](profconv_error *e) { return profconv_builder_freeze(get(), &p, e); });
        return profile(p);
    }

private:
    explicit builder(profconv_builder *p) noexcept : builder_ref(p), owned_(p) {}
    static profconv_builder *make(const profconv_limits *limits, const profconv_allocator *allocator) {
        profconv_builder *p = nullptr;
        detail::check([&](profconv_error *e) { return profconv_builder_new(&p, allocator, limits, e); });
        return p;
    }
    detail::handle<profconv_builder, profconv_builder_free> owned_;
};

} // namespace profconv

#endif
