/* SPDX-License-Identifier: MIT
 *
 * profconv/cxx/io.hpp - inputs and outputs in C++17. Include <profconv/profconv.hpp>.
 */
#ifndef PROFCONV_CXX_IO_HPP
#define PROFCONV_CXX_IO_HPP

#include <profconv/cxx/base.hpp>
#include <profconv/io.h>

namespace profconv {

/** Bytes that are borrowed. */
using bytes = std::string_view;

/** An input that somebody else holds: what a reader is given. */
class input_ref {
public:
    input_ref(profconv_input *p) noexcept : p_(p) {}
    std::string_view name() const { return detail::view(profconv_input_name(p_)); }
    std::uint64_t offset() const { return profconv_input_offset(p_); }
    /** Size of the inflated bytes, where it is known. */
    std::optional<std::uint64_t> size() const {
        std::uint64_t n = profconv_input_size(p_);
        return n == UINT64_MAX ? std::nullopt : std::optional<std::uint64_t>(n);
    }
    /** At least `want` bytes at the present position, fewer only at the end; borrowed until the next call. */
    bytes window(std::size_t want) const {
        const std::uint8_t *data = nullptr;
        std::size_t got = 0;
        detail::check([&](profconv_error *e) { return profconv_input_window(p_, want, &data, &got, e); });
        return {reinterpret_cast<const char *>(data), got};
    }
    /** Moves over bytes of the last window. */
    void consume(std::size_t count) const { profconv_input_consume(p_, count); }
    /** Returns how far it got: less than `count` at the end. */
    std::uint64_t skip(std::uint64_t count) const {
        std::uint64_t skipped = 0;
        detail::check([&](profconv_error *e) { return profconv_input_skip(p_, count, &skipped, e); });
        return skipped;
    }
    bool can_seek() const { return profconv_input_can_seek(p_) != 0; }
    std::size_t read_at(std::uint64_t at, void *buffer, std::size_t size) const {
        std::size_t got = 0;
        detail::check([&](profconv_error *e) { return profconv_input_read_at(p_, at, buffer, size, &got, e); });
        return got;
    }
    void seek(std::uint64_t at) const {
        detail::check([&](profconv_error *e) { return profconv_input_seek(p_, at, e); });
    }
    /** The next line without its end, or nothing at the end of the input. For readers of text; lines up to 16 MiB. */
    std::optional<std::string> next_line() const {
        std::string line;
        for (;;) {
            bytes w = window(0);
            if (w.empty())
                return line.empty() ? std::nullopt : std::optional<std::string>(std::move(line));
            std::size_t end = w.find('\n');
            line.append(w.substr(0, end));
            consume(end == bytes::npos ? w.size() : end + 1);
            if (end != bytes::npos)
                return line;
            if (line.size() > (std::size_t{16} << 20))
                throw error(PROFCONV_E_LIMIT, "a line of more than 16 MiB", offset());
        }
    }
    profconv_input *get() const noexcept { return p_; }

private:
    profconv_input *p_;
};

/** Where bytes come from. gzip is inflated on the way. */
class input {
public:
    /** Fills up to `size` bytes and returns how many: 0 is the end. A profconv::error that it throws
     *  arrives with its status, a std::system_error as PROFCONV_E_CALLBACK with its errno, others as PROFCONV_E_CALLBACK. */
    using reader = std::function<std::size_t(void *buffer, std::size_t size)>;

    static input open(const std::string &path, const profconv_io_options *io = nullptr) {
        return make([&](profconv_input **p, profconv_error *e) { return profconv_input_open_path(p, path.c_str(), io, e); });
    }
    /** The bytes are borrowed for as long as the input lives. */
    static input memory(bytes data, const profconv_io_options *io = nullptr) {
        return make([&](profconv_input **p, profconv_error *e) {
            return profconv_input_open_memory(p, data.data(), data.size(), io, e);
        });
    }
    static input descriptor(int fd, const std::string &name, const profconv_io_options *io = nullptr) {
        return make([&](profconv_input **p, profconv_error *e) {
            return profconv_input_open_fd(p, fd, name.c_str(), io, e);
        });
    }
    static input from(reader read, const std::string &name, const profconv_io_options *io = nullptr) {
        auto state = std::make_shared<reader>(std::move(read));
        auto callbacks = detail::sized<profconv_input_callbacks>();
        callbacks.user = state.get();
        callbacks.read = [](void *user, void *buffer, std::size_t size, std::size_t *got) noexcept {
            return detail::guard_io([&] { *got = (*static_cast<reader *>(user))(buffer, size); });
        };
        input made = make([&](profconv_input **p, profconv_error *e) {
            return profconv_input_open_callbacks(p, &callbacks, name.c_str(), io, e);
        });
        made.p_.get_deleter().kept.push_back(std::move(state));
        return made;
    }
    /** Takes a handle of the C interface over. */
    explicit input(profconv_input *p) noexcept : p_(p) {}
    operator input_ref() const noexcept { return p_.get(); }
    input_ref ref() const noexcept { return p_.get(); }
    profconv_input *get() const noexcept { return p_.get(); }

private:
    template <class F> static input make(F &&open_it) {
        profconv_input *p = nullptr;
        detail::check([&](profconv_error *e) { return open_it(&p, e); });
        return input(p);
    }
    detail::handle<profconv_input, profconv_input_free> p_;
};

/** An output that somebody else holds: what a writer is given. */
class output_ref {
public:
    output_ref(profconv_output *p) noexcept : p_(p) {}
    const output_ref &write(bytes data) const {
        detail::check([&](profconv_error *e) { return profconv_output_write(p_, data.data(), data.size(), e); });
        return *this;
    }
    const output_ref &write(const void *data, std::size_t size) const {
        return write(bytes(static_cast<const char *>(data), size));
    }
    /** From here on the bytes are compressed; before the first write. 1 to 9, 0: the default. */
    void gzip(int level = 0) const {
        detail::check([&](profconv_error *e) { return profconv_output_gzip(p_, level, e); });
    }
    std::uint64_t offset() const { return profconv_output_offset(p_); }
    std::string_view name() const { return detail::view(profconv_output_name(p_)); }
    profconv_output *get() const noexcept { return p_; }

private:
    profconv_output *p_;
};

/** Where bytes go. Without a successful close() nothing appears at the target; profconv::write and convert close. */
class output {
public:
    /** Takes all of the bytes, or throws, as an input's reader. */
    using writer = std::function<void(bytes data)>;

    static output open(const std::string &path, const profconv_io_options *io = nullptr) {
        return make([&](profconv_output **p, profconv_error *e) {
            return profconv_output_open_path(p, path.c_str(), io, e);
        });
    }
    static output memory(const profconv_io_options *io = nullptr) {
        return make([&](profconv_output **p, profconv_error *e) { return profconv_output_open_memory(p, io, e); });
    }
    static output descriptor(int fd, const std::string &name, const profconv_io_options *io = nullptr) {
        return make([&](profconv_output **p, profconv_error *e) {
            return profconv_output_open_fd(p, fd, name.c_str(), io, e);
        });
    }
    static output to(writer write, const std::string &name, const profconv_io_options *io = nullptr) {
        auto state = std::make_shared<writer>(std::move(write));
        auto callbacks = detail::sized<profconv_output_callbacks>();
        callbacks.user = state.get();
        callbacks.write = [](void *user, const void *data, std::size_t size) noexcept {
            return detail::guard_io([&] { (*static_cast<writer *>(user))(bytes(static_cast<const char *>(data), size)); });
        };
        output made = make([&](profconv_output **p, profconv_error *e) {
            return profconv_output_open_callbacks(p, &callbacks, name.c_str(), io, e);
        });
        made.p_.get_deleter().kept.push_back(std::move(state));
        return made;
    }
    /** Takes a handle of the C interface over. */
    explicit output(profconv_output *p) noexcept : p_(p) {}
    operator output_ref() const noexcept { return p_.get(); }
    output_ref ref() const noexcept { return p_.get(); }
    void close() const {
        detail::check([&](profconv_error *e) { return profconv_output_close(p_.get(), e); });
    }
    /** What a memory output holds once it is closed; borrowed from the output. */
    bytes contents() const {
        const std::uint8_t *data = nullptr;
        std::size_t size = 0;
        detail::check([&](profconv_error *) { return profconv_output_bytes(p_.get(), &data, &size); });
        return {reinterpret_cast<const char *>(data), size};
    }
    profconv_output *get() const noexcept { return p_.get(); }

private:
    template <class F> static output make(F &&open_it) {
        profconv_output *p = nullptr;
        detail::check([&](profconv_error *e) { return open_it(&p, e); });
        return output(p);
    }
    detail::handle<profconv_output, profconv_output_free> p_;
};

} // namespace profconv

#endif
