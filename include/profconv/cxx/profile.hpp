/* SPDX-License-Identifier: MIT
 *
 * profconv/cxx/profile.hpp - reading a profile in C++17: every table is a range of small views. Include <profconv/profconv.hpp>.
 *
 * A view is a pointer and a row number: copied freely, valid as long as the profile, and shared between threads as the
 * profile is. A view of row 0 ("none") is falsy; its members give empty strings and zeros. `row()` is the C struct.
 */
#ifndef PROFCONV_CXX_PROFILE_HPP
#define PROFCONV_CXX_PROFILE_HPP

#include <profconv/cxx/base.hpp>
#include <profconv/profile.h>

namespace profconv {

namespace detail {

/* What all views share. */
class row {
public:
    row() = default;
    row(const profconv_profile *p, profconv_id id) noexcept : p_(p), id_(id) {}
    profconv_id id() const noexcept { return id_; }
    explicit operator bool() const noexcept { return id_ != 0; }
    friend bool operator==(const row &a, const row &b) noexcept { return a.p_ == b.p_ && a.id_ == b.id_; }
    friend bool operator!=(const row &a, const row &b) noexcept { return !(a == b); }

protected:
    std::string_view text(profconv_id id) const { return view(profconv_profile_string(p_, id)); }
    const profconv_profile *p_ = nullptr;
    profconv_id id_ = 0;
};

template <class Row> struct row_at {
    const profconv_profile *p;
    Row operator()(std::size_t id) const { return Row(p, static_cast<profconv_id>(id)); }
};

} // namespace detail

/** The rows of a table, or some of them. */
template <class Row> using rows = detail::indexed<detail::row_at<Row>>;

class function : public detail::row {
public:
    using row::row;
    std::string_view name() const { return text(c().name); }
    std::string_view linkage_name() const { return text(c().linkage_name); }
    std::string_view file() const { return text(c().file); }
    std::int64_t start_line() const { return c().start_line; }
    const profconv_function &c() const { return *profconv_profile_function(p_, id_); }
};

class mapping : public detail::row {
public:
    using row::row;
    std::uint64_t start() const { return c().start; }
    std::uint64_t limit() const { return c().limit; }
    std::uint64_t file_offset() const { return c().file_offset; }
    std::string_view file() const { return text(c().file); }
    std::string_view build_id() const { return text(c().build_id); }
    profconv_mapping_kind kind() const { return static_cast<profconv_mapping_kind>(c().kind); }
    std::uint32_t flags() const { return c().flags; }
    std::uint32_t pid() const { return c().pid; }
    const profconv_mapping &c() const { return *profconv_profile_mapping(p_, id_); }
};

/** A line of a location: a function and a place in it. */
class line {
public:
    line() = default;
    line(const profconv_profile *p, profconv_id location, std::uint32_t index) noexcept
        : p_(p), location_(location), index_(index) {}
    profconv::function function() const { return {p_, c().function}; }
    std::int64_t number() const { return c().line; }
    std::int64_t column() const { return c().column; }
    std::uint32_t discriminator() const { return c().discriminator; }
    const profconv_line &c() const { return *profconv_profile_line(p_, location_, index_); }

private:
    const profconv_profile *p_ = nullptr;
    profconv_id location_ = 0;
    std::uint32_t index_ = 0;
};

namespace detail {
struct line_at {
    const profconv_profile *p;
    profconv_id location;
    line operator()(std::size_t index) const { return {p, location, static_cast<std::uint32_t>(index)}; }
};
} // namespace detail

class location : public detail::row {
public:
    using row::row;
    std::uint64_t address() const { return c().address; }
    profconv::mapping mapping() const { return {p_, c().mapping}; }
    std::uint32_t flags() const { return c().flags; }
    /** Innermost inlined frame first; empty where code has no name. */
    detail::indexed<detail::line_at> lines() const { return {{p_, id_}, 0, c().line_count}; }
    const profconv_location &c() const { return *profconv_profile_location(p_, id_); }
};

/** A call stack: a range of its locations, leaf first. */
class stack : public detail::row {
public:
    class iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using iterator_concept = std::forward_iterator_tag;
        using value_type = location;
        using difference_type = std::ptrdiff_t;
        using reference = location;
        struct pointer {
            location value;
            const location *operator->() const noexcept { return &value; }
        };
        iterator() = default;
        iterator(const profconv_profile *p, profconv_id id) noexcept : p_(p), id_(id) {}
        location operator*() const { return {p_, profconv_profile_stack(p_, id_)->location}; }
        pointer operator->() const { return {**this}; }
        iterator &operator++() {
            id_ = profconv_profile_stack(p_, id_)->parent;
            return *this;
        }
        iterator operator++(int) {
            iterator old = *this;
            ++*this;
            return old;
        }
        friend bool operator==(const iterator &a, const iterator &b) { return a.id_ == b.id_; }
        friend bool operator!=(const iterator &a, const iterator &b) { return a.id_ != b.id_; }

    private:
        const profconv_profile *p_ = nullptr;
        profconv_id id_ = 0;
    };
    using const_iterator = iterator;

    using row::row;
    iterator begin() const { return {p_, id_}; }
    iterator end() const { return {p_, 0}; }
    bool empty() const noexcept { return id_ == 0; }
    stack parent() const { return {p_, c().parent}; }
    profconv::location leaf() const { return {p_, c().location}; }
    const profconv_stack &c() const { return *profconv_profile_stack(p_, id_); }
};

class label : public detail::row {
public:
    using row::row;
    std::string_view key() const { return text(c().key); }
    bool is_number() const { return c().numeric != 0; }
    std::string_view string() const { return text(c().string); }
    std::int64_t number() const { return c().number; }
    std::string_view unit() const { return text(c().unit); }
    const profconv_label &c() const { return *profconv_profile_label(p_, id_); }
};

namespace detail {
struct label_at {
    const profconv_profile *p;
    label operator()(std::size_t position) const {
        return {p, profconv_profile_label_item(p, static_cast<std::uint32_t>(position))};
    }
};
} // namespace detail

/** A range of labels, in the order of the source. */
class label_set : public detail::row {
public:
    using row::row;
    auto begin() const { return all().begin(); }
    auto end() const { return all().end(); }
    std::size_t size() const { return c().count; }
    bool empty() const { return c().count == 0; }
    /** The first label with this key; falsy when there is none. */
    label find(std::string_view key) const {
        for (const label &l : all()) {
            if (l.key() == key)
                return l;
        }
        return {p_, 0};
    }
    const profconv_label_set &c() const { return *profconv_profile_label_set(p_, id_); }

private:
    detail::indexed<detail::label_at> all() const { return {{p_}, c().first, std::size_t{c().first} + c().count}; }
};

/** Rows of these tables are counted from 0, and each is one: no truth value says otherwise. */
class sample_type : public detail::row {
public:
    using row::row;
    explicit operator bool() const = delete;
    std::string_view name() const { return text(c().name); }
    std::string_view unit() const { return text(c().unit); }
    std::string_view event() const { return text(c().event); }
    std::int64_t period() const { return c().period; }
    profconv_value_role role() const { return static_cast<profconv_value_role>(c().role); }
    /** Sum of the column, saturating. */
    std::int64_t total() const { return profconv_profile_total(p_, id_); }
    const profconv_sample_type &c() const { return *profconv_profile_sample_type(p_, id_); }
};

class sample : public detail::row {
public:
    using row::row;
    explicit operator bool() const = delete;
    profconv::stack stack() const { return {p_, profconv_profile_sample_stack(p_, id_)}; }
    label_set labels() const { return {p_, profconv_profile_sample_label_set(p_, id_)}; }
    std::int64_t value(std::uint32_t type) const { return profconv_profile_sample_value(p_, id_, type); }
    std::int64_t value(const sample_type &type) const { return value(type.id()); }
};

class branch : public detail::row {
public:
    using row::row;
    explicit operator bool() const = delete;
    location from() const { return {p_, c().from}; }
    location to() const { return {p_, c().to}; }
    std::uint64_t count() const { return c().count; }
    std::uint64_t mispredicted() const { return c().mispredicted; }
    std::uint64_t cycles() const { return c().cycles; }
    const profconv_branch &c() const { return *profconv_profile_branch(p_, id_); }
};

/** Code that ran linearly, both ends inclusive. */
class branch_range : public detail::row {
public:
    using row::row;
    explicit operator bool() const = delete;
    location first() const { return {p_, c().begin}; }
    location last() const { return {p_, c().end}; }
    std::uint64_t count() const { return c().count; }
    const profconv_range &c() const { return *profconv_profile_range(p_, id_); }
};

class address : public detail::row {
public:
    using row::row;
    explicit operator bool() const = delete;
    profconv::location location() const { return {p_, c().location}; }
    std::uint64_t count() const { return c().count; }
    const profconv_address &c() const { return *profconv_profile_address(p_, id_); }
};

class entry : public detail::row {
public:
    using row::row;
    explicit operator bool() const = delete;
    profconv::mapping mapping() const { return {p_, c().mapping}; }
    std::string_view name() const { return text(c().name); }
    std::uint64_t address() const { return c().address; }
    std::uint64_t size() const { return c().size; }
    std::uint32_t ordinal() const { return c().ordinal; }
    const profconv_entry &c() const { return *profconv_profile_entry(p_, id_); }
};

class context : public detail::row {
public:
    using row::row;
    context parent() const { return {p_, c().parent}; }
    std::string_view name() const { return text(c().name); }
    std::uint32_t line() const { return c().line; }
    std::uint32_t discriminator() const { return c().discriminator; }
    const profconv_context &c() const { return *profconv_profile_context(p_, id_); }
};

class source : public detail::row {
public:
    using row::row;
    source parent() const { return {p_, c().parent}; }
    profconv::context context() const { return {p_, c().context}; }
    std::string_view name() const { return text(c().name); }
    std::string_view file() const { return text(c().file); }
    std::uint32_t line() const { return c().line; }
    std::uint32_t discriminator() const { return c().discriminator; }
    std::uint64_t total() const { return c().total; }
    std::uint64_t head() const { return c().head; }
    const profconv_source &c() const { return *profconv_profile_source(p_, id_); }
};

class source_body : public detail::row {
public:
    using row::row;
    profconv::source source() const { return {p_, c().source}; }
    std::uint32_t line() const { return c().line; }
    std::uint32_t discriminator() const { return c().discriminator; }
    std::uint64_t count() const { return c().count; }
    const profconv_source_body &c() const { return *profconv_profile_source_body(p_, id_); }
};

class source_target : public detail::row {
public:
    using row::row;
    source_body body() const { return {p_, c().body}; }
    std::string_view name() const { return text(c().name); }
    std::uint64_t count() const { return c().count; }
    const profconv_source_target &c() const { return *profconv_profile_source_target(p_, id_); }
};

namespace detail {
struct symbol_at {
    const profconv_profile *p;
    std::string_view operator()(std::size_t i) const {
        return view(profconv_profile_string(p, profconv_profile_symbol(p, static_cast<std::uint32_t>(i))));
    }
};
struct comment_at {
    const profconv_profile *p;
    std::string_view operator()(std::size_t i) const {
        return view(profconv_profile_string(p, profconv_profile_comment(p, static_cast<std::uint32_t>(i))));
    }
};
struct attribute_at {
    const profconv_profile *p;
    std::pair<std::string_view, std::string_view> operator()(std::size_t i) const {
        profconv_string key = {"", 0}, value = {"", 0};
        if (profconv_profile_attribute(p, static_cast<std::uint32_t>(i), &key, &value) != PROFCONV_OK)
            return {};
        return {view(key), view(value)};
    }
};
template <class T> struct cell_at {
    const char *data;
    std::size_t stride;
    T operator()(std::size_t i) const { return *reinterpret_cast<const T *>(data + i * stride); }
};
template <class T> constexpr std::uint32_t column_type() {
    static_assert(std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint64_t>,
                  "a column is of uint32_t, int64_t or uint64_t");
    return std::is_same_v<T, std::uint32_t>  ? std::uint32_t{PROFCONV_COLUMN_U32}
           : std::is_same_v<T, std::int64_t> ? std::uint32_t{PROFCONV_COLUMN_I64}
                                             : std::uint32_t{PROFCONV_COLUMN_U64};
}
} // namespace detail

/** A profile that somebody else holds: what a writer is given. Everything about reading one is here. */
class profile_ref {
public:
    profile_ref(const profconv_profile *p) noexcept : p_(p) {}
    const profconv_profile *get() const noexcept { return p_; }

    const profconv_info &info() const { return *profconv_profile_info(p_); }
    /** PROFCONV_FACET_* bits. */
    std::uint32_t facets() const { return profconv_profile_facets(p_); }
    std::string_view string(profconv_id id) const { return detail::view(profconv_profile_string(p_, id)); }
    std::string_view attribute(const char *key) const { return detail::view(profconv_profile_find_attribute(p_, key)); }
    report_ref report() const { return profconv_profile_report(p_); }

    rows<profconv::sample_type> sample_types() const { return from_0<profconv::sample_type>(PROFCONV_TABLE_SAMPLE_TYPE); }
    rows<profconv::sample> samples() const { return from_0<profconv::sample>(PROFCONV_TABLE_SAMPLE); }
    rows<profconv::branch> branches() const { return from_0<profconv::branch>(PROFCONV_TABLE_BRANCH); }
    rows<profconv::branch_range> branch_ranges() const { return from_0<profconv::branch_range>(PROFCONV_TABLE_RANGE); }
    rows<profconv::address> addresses() const { return from_0<profconv::address>(PROFCONV_TABLE_ADDRESS); }
    rows<profconv::entry> entries() const { return from_0<profconv::entry>(PROFCONV_TABLE_ENTRY); }
    /** Without row 0, as the following. */
    rows<profconv::function> functions() const { return from_1<profconv::function>(PROFCONV_TABLE_FUNCTION); }
    rows<profconv::mapping> mappings() const { return from_1<profconv::mapping>(PROFCONV_TABLE_MAPPING); }
    rows<profconv::location> locations() const { return from_1<profconv::location>(PROFCONV_TABLE_LOCATION); }
    /** Nodes of the tree, parents first; not every one is a sample's. */
    rows<profconv::stack> stacks() const { return from_1<profconv::stack>(PROFCONV_TABLE_STACK); }
    rows<profconv::label> labels() const { return from_1<profconv::label>(PROFCONV_TABLE_LABEL); }
    rows<profconv::label_set> label_sets() const { return from_1<profconv::label_set>(PROFCONV_TABLE_LABEL_SET); }
    rows<profconv::source> sources() const { return from_1<profconv::source>(PROFCONV_TABLE_SOURCE); }
    rows<profconv::context> contexts() const { return from_1<profconv::context>(PROFCONV_TABLE_CONTEXT); }
    rows<profconv::source_body> source_bodies() const { return from_1<profconv::source_body>(PROFCONV_TABLE_SOURCE_BODY); }
    rows<profconv::source_target> source_targets() const {
        return from_1<profconv::source_target>(PROFCONV_TABLE_SOURCE_TARGET);
    }
    detail::indexed<detail::symbol_at> symbols() const { return {{p_}, 0, count(PROFCONV_TABLE_SYMBOL)}; }
    detail::indexed<detail::comment_at> comments() const { return {{p_}, 0, count(PROFCONV_TABLE_COMMENT)}; }
    /** Pairs of key and value. */
    detail::indexed<detail::attribute_at> attributes() const { return {{p_}, 0, count(PROFCONV_TABLE_ATTRIBUTE)}; }

    profconv::sample_type default_sample_type() const { return {p_, profconv_profile_default_sample_type(p_)}; }
    /** The first sample type of this name, if there is one. */
    std::optional<profconv::sample_type> find_sample_type(std::string_view name) const {
        for (const profconv::sample_type &type : sample_types()) {
            if (type.name() == name)
                return type;
        }
        return {};
    }

    /** A column as the C interface has it, without a call for each row. T is uint32_t, int64_t or uint64_t. */
    template <class T>
    detail::indexed<detail::cell_at<T>> column(profconv_table table, const char *name, std::uint32_t index = 0) const {
        profconv_column c = {};
        detail::check([&](profconv_error *) { return profconv_profile_column(p_, table, name, index, &c); });
        if (c.type != detail::column_type<T>())
            throw error(PROFCONV_E_INVALID, std::string("the column ") + name + " is of another type");
        return {{static_cast<const char *>(c.data), c.stride}, 0, c.count};
    }

    /** Throws when an invariant does not hold. */
    void check() const {
        detail::check([&](profconv_error *e) { return profconv_profile_check(p_, e); });
    }

private:
    std::size_t count(profconv_table table) const { return profconv_profile_rows(p_, table); }
    template <class Row> rows<Row> from_0(profconv_table table) const { return {{p_}, 0, count(table)}; }
    template <class Row> rows<Row> from_1(profconv_table table) const { return {{p_}, 1, count(table)}; }
    const profconv_profile *p_;
};

/** A profile. It never changes; any number of threads may read it. */
class profile : public profile_ref {
public:
    /** Takes a handle of the C interface over. */
    explicit profile(profconv_profile *p) noexcept : profile_ref(p), owned_(p) {}
    profile(profile &&other) noexcept : profile_ref(other), owned_(std::move(other.owned_)) {
        static_cast<profile_ref &>(other) = profile_ref(nullptr);
    }
    profile &operator=(profile &&other) noexcept {
        profile moved(std::move(other));
        std::swap(static_cast<profile_ref &>(*this), static_cast<profile_ref &>(moved));
        std::swap(owned_, moved.owned_);
        return *this;
    }
    /** Gives the handle up, for the C interface; the object is empty then. */
    profconv_profile *release() noexcept {
        static_cast<profile_ref &>(*this) = profile_ref(nullptr);
        return owned_.release();
    }

private:
    detail::handle<profconv_profile, profconv_profile_free> owned_;
};

} // namespace profconv

#endif
