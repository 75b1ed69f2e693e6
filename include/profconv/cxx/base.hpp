/* SPDX-License-Identifier: MIT
 *
 * profconv/cxx/base.hpp - errors, handles, settings and reports in C++17. Include <profconv/profconv.hpp>.
 */
#ifndef PROFCONV_CXX_BASE_HPP
#define PROFCONV_CXX_BASE_HPP

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <profconv/base.h>

namespace profconv {

/** What every function here throws when the library says no: the profconv_error of the C interface. */
class error : public std::runtime_error {
public:
    explicit error(const profconv_error &detail)
        : std::runtime_error(detail.message[0] ? detail.message : profconv_status_string(detail.status)), detail_(detail) {}
    /** For callbacks and formats that are written in C++: throw one, and the caller of the library gets it. */
    explicit error(int status, const std::string &message, std::optional<std::uint64_t> offset = {}, std::uint64_t line = 0)
        : std::runtime_error(message), detail_() {
        profconv_error_set(&detail_, status, offset ? *offset : PROFCONV_NO_OFFSET, line, "%s", message.c_str());
    }

    /** PROFCONV_E_*. */
    int status() const noexcept { return detail_.status; }
    /** The errno of the system call that failed, or 0. */
    int system_errno() const noexcept { return detail_.system_errno; }
    /** Byte offset in the inflated input. */
    std::optional<std::uint64_t> offset() const noexcept {
        return detail_.offset == PROFCONV_NO_OFFSET ? std::nullopt : std::optional<std::uint64_t>(detail_.offset);
    }
    /** Line of a text input, from 1. */
    std::optional<std::uint64_t> line() const noexcept {
        return detail_.line == 0 ? std::nullopt : std::optional<std::uint64_t>(detail_.line);
    }
    /** The format that failed, or "". */
    std::string_view format() const noexcept { return detail_.format; }
    const profconv_error &detail() const noexcept { return detail_; }

private:
    profconv_error detail_;
};

inline std::string_view version() noexcept { return profconv_version(); }

namespace detail {

/* Calls f(&error) and throws what it reports. */
template <class F> void check(F &&f) {
    profconv_error e = {};
    int status = std::forward<F>(f)(&e);
    if (status == PROFCONV_OK)
        return;
    if (e.status == PROFCONV_OK) // not every failing path has words
        profconv_error_set(&e, status, PROFCONV_NO_OFFSET, 0, "%s", profconv_status_string(status));
    throw error(e);
}

/* Runs f where C calls C++: no exception may pass through the library. Returns 0, or a status with `out` filled. */
template <class F> int guard(profconv_error *out, F &&f) noexcept {
    try {
        std::forward<F>(f)();
        return PROFCONV_OK;
    } catch (const error &e) {
        if (out)
            *out = e.detail();
        return e.status();
    } catch (const std::bad_alloc &) {
        return profconv_error_set(out, PROFCONV_E_NOMEM, PROFCONV_NO_OFFSET, 0, "out of memory");
    } catch (const std::exception &e) {
        return profconv_error_set(out, PROFCONV_E_CALLBACK, PROFCONV_NO_OFFSET, 0, "%s", e.what());
    } catch (...) {
        return profconv_error_set(out, PROFCONV_E_CALLBACK, PROFCONV_NO_OFFSET, 0, "an exception of unknown type");
    }
}

/* The same for sources and sinks of bytes, which have a number to say what happened: a status, or an errno. */
template <class F> int guard_io(F &&f) noexcept {
    try {
        std::forward<F>(f)();
        return PROFCONV_OK;
    } catch (const error &e) {
        return e.status();
    } catch (const std::system_error &e) {
        return e.code().value() > 0 ? e.code().value() : PROFCONV_E_CALLBACK;
    } catch (const std::bad_alloc &) {
        return PROFCONV_E_NOMEM;
    } catch (...) {
        return PROFCONV_E_CALLBACK;
    }
}

/* Frees a handle, then what its callbacks refer to: a unique_ptr calls its deleter before it drops it. */
template <auto Free> struct deleter {
    std::vector<std::shared_ptr<void>> kept;
    template <class T> void operator()(T *p) const noexcept { Free(p); }
};
template <class T, auto Free> using handle = std::unique_ptr<T, deleter<Free>>;

inline std::string_view view(profconv_string s) noexcept { return {s.data, s.size}; }
inline std::string_view view(const char *s) noexcept { return s ? std::string_view(s) : std::string_view(); }

template <class T> T sized() noexcept {
    T value = {};
    value.struct_size = sizeof value;
    return value;
}

/* `count` things that are made when they are looked at: get(index). */
template <class Get> class indexed {
public:
    using value_type = decltype(std::declval<const Get &>()(std::size_t{}));

    class iterator {
    public:
        using iterator_category = std::input_iterator_tag; // C++17: what * gives is no reference
        using iterator_concept = std::random_access_iterator_tag;
        using value_type = typename indexed::value_type;
        using difference_type = std::ptrdiff_t;
        using reference = value_type;
        struct pointer {
            value_type value;
            const value_type *operator->() const noexcept { return &value; }
        };

        iterator() = default;
        iterator(const Get &get, std::size_t at) : get_(get), at_(at) {}
        reference operator*() const { return (*get_)(at_); }
        pointer operator->() const { return {**this}; }
        reference operator[](difference_type n) const { return *(*this + n); }
        iterator &operator++() { return *this += 1; }
        iterator &operator--() { return *this -= 1; }
        iterator operator++(int) {
            iterator old = *this;
            ++*this;
            return old;
        }
        iterator operator--(int) {
            iterator old = *this;
            --*this;
            return old;
        }
        iterator &operator+=(difference_type n) {
            at_ = static_cast<std::size_t>(static_cast<difference_type>(at_) + n);
            return *this;
        }
        iterator &operator-=(difference_type n) { return *this += -n; }
        friend iterator operator+(iterator i, difference_type n) { return i += n; }
        friend iterator operator+(difference_type n, iterator i) { return i += n; }
        friend iterator operator-(iterator i, difference_type n) { return i -= n; }
        friend difference_type operator-(const iterator &a, const iterator &b) {
            return static_cast<difference_type>(a.at_) - static_cast<difference_type>(b.at_);
        }
        friend bool operator==(const iterator &a, const iterator &b) { return a.at_ == b.at_; }
        friend bool operator!=(const iterator &a, const iterator &b) { return a.at_ != b.at_; }
        friend bool operator<(const iterator &a, const iterator &b) { return a.at_ < b.at_; }
        friend bool operator>(const iterator &a, const iterator &b) { return a.at_ > b.at_; }
        friend bool operator<=(const iterator &a, const iterator &b) { return a.at_ <= b.at_; }
        friend bool operator>=(const iterator &a, const iterator &b) { return a.at_ >= b.at_; }

    private:
        std::optional<Get> get_;
        std::size_t at_ = 0;
    };
    using const_iterator = iterator;

    indexed(const Get &get, std::size_t first, std::size_t last) : get_(get), first_(first), last_(last < first ? first : last) {}
    iterator begin() const { return {get_, first_}; }
    iterator end() const { return {get_, last_}; }
    std::size_t size() const noexcept { return last_ - first_; }
    bool empty() const noexcept { return first_ == last_; }
    value_type operator[](std::size_t n) const { return get_(first_ + n); }

private:
    Get get_;
    std::size_t first_, last_;
};

} // namespace detail

/** Settings that somebody else holds: what a reader or writer is given. */
class options_ref {
public:
    options_ref(const profconv_options *p = nullptr) noexcept : p_(p) {}
    const profconv_options *get() const noexcept { return p_; }
    bool has(const char *scope, const char *key) const { return profconv_options_has(p_, scope, key) != 0; }
    /** The last value that was set, or "". */
    std::string_view value(const char *scope, const char *key) const {
        return detail::view(profconv_options_get(p_, scope, key));
    }
    std::vector<std::string_view> values(const char *scope, const char *key) const {
        std::vector<std::string_view> all;
        for (const char *item; (item = profconv_options_item(p_, scope, key, all.size())) != nullptr;)
            all.push_back(item);
        return all;
    }
    bool boolean(const char *scope, const profconv_setting *declared, const char *key) const {
        return profconv_options_bool(p_, scope, declared, key) != 0;
    }
    std::int64_t integer(const char *scope, const profconv_setting *declared, const char *key) const {
        return profconv_options_int(p_, scope, declared, key);
    }
    double real(const char *scope, const profconv_setting *declared, const char *key) const {
        return profconv_options_float(p_, scope, declared, key);
    }
    std::string_view text(const char *scope, const profconv_setting *declared, const char *key) const {
        return detail::view(profconv_options_string(p_, scope, declared, key));
    }

private:
    const profconv_options *p_;
};

/** Settings of formats and passes: `options{"perf-data.event=cycles", "symbolize.inline=no"}`. */
class options {
public:
    explicit options(const profconv_allocator *allocator = nullptr) {
        profconv_options *p = nullptr;
        detail::check([&](profconv_error *e) { return profconv_options_new(&p, allocator, e); });
        p_.reset(p);
    }
    options(std::initializer_list<const char *> assignments) : options() {
        for (const char *assignment : assignments)
            set(assignment);
    }
    options &set(const std::string &assignment) {
        detail::check([&](profconv_error *e) { return profconv_options_set(p_.get(), assignment.c_str(), e); });
        return *this;
    }
    options &put(const std::string &scope, const std::string &key, const std::string &value) {
        detail::check([&](profconv_error *e) {
            return profconv_options_put(p_.get(), scope.c_str(), key.c_str(), value.c_str(), e);
        });
        return *this;
    }
    operator options_ref() const noexcept { return p_.get(); }
    profconv_options *get() const noexcept { return p_.get(); }

private:
    detail::handle<profconv_options, profconv_options_free> p_;
};

/** A row of a report. Views live until the report changes. */
struct note {
    profconv_note_kind kind;
    std::string_view cause;
    std::string_view message;
    std::uint64_t count;
    std::int64_t weight;
    std::optional<std::uint64_t> offset;
    std::optional<std::uint64_t> line;
};

namespace detail {
struct note_at {
    const profconv_report *p;
    note operator()(std::size_t index) const {
        profconv_note n = {};
        if (profconv_report_get(p, index, &n) != PROFCONV_OK)
            return {PROFCONV_NOTE_INFO, {}, {}, 0, 0, {}, {}};
        note out = {n.kind, view(n.cause), view(n.message), n.count, n.weight, {}, {}};
        if (n.offset != PROFCONV_NO_OFFSET)
            out.offset = n.offset;
        if (n.line != 0)
            out.line = n.line;
        return out;
    }
};
} // namespace detail

/** What was lost and what was warned about, in an object that somebody else holds. It may be none at all. */
class report_ref {
public:
    report_ref(const profconv_report *p = nullptr) noexcept : p_(p) {}
    detail::indexed<detail::note_at> notes() const { return {{p_}, 0, p_ ? profconv_report_count(p_) : 0}; }
    /** Sum of the counts of every note of this kind, or of this kind and cause. */
    std::uint64_t count(profconv_note_kind kind, std::string_view cause = {}) const {
        std::uint64_t sum = 0;
        for (const note &n : notes())
            sum += n.kind == kind && (cause.empty() || n.cause == cause) ? n.count : 0;
        return sum;
    }
    std::uint64_t overflow() const { return p_ ? profconv_report_overflow(p_) : 0; }
    const profconv_report *get() const noexcept { return p_; }

private:
    const profconv_report *p_;
};

/** A report that can be added to: what a writer is given, or the one in a builder. It may be none; then adding does nothing. */
class report_sink : public report_ref {
public:
    report_sink(profconv_report *p = nullptr) noexcept : report_ref(p), p_(p) {}
    void add(profconv_note_kind kind, const char *cause, const std::string &message, std::uint64_t count = 1,
             std::int64_t weight = 0, std::optional<std::uint64_t> offset = {}, std::uint64_t line = 0) const {
        profconv_report_add(p_, kind, cause, count, weight, offset ? *offset : PROFCONV_NO_OFFSET, line, "%s",
                            message.c_str());
    }
    profconv_report *get() const noexcept { return p_; }

private:
    profconv_report *p_;
};

class report {
public:
    explicit report(const profconv_allocator *allocator = nullptr) {
        profconv_report *p = nullptr;
        detail::check([&](profconv_error *e) { return profconv_report_new(&p, allocator, e); });
        p_.reset(p);
    }
    report_sink sink() const noexcept { return p_.get(); }
    detail::indexed<detail::note_at> notes() const { return sink().notes(); }
    std::uint64_t count(profconv_note_kind kind, std::string_view cause = {}) const { return sink().count(kind, cause); }
    operator report_sink() const noexcept { return p_.get(); }
    profconv_report *get() const noexcept { return p_.get(); }

private:
    detail::handle<profconv_report, profconv_report_free> p_;
};

} // namespace profconv

#endif
