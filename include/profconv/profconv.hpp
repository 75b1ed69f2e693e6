/* SPDX-License-Identifier: MIT
 *
 * profconv/profconv.hpp - the library in C++17. Header only: link what a C program links.
 *
 *     profconv::registry formats;
 *     auto in = profconv::input::open("perf.data");
 *     auto out = profconv::output::open("profile.pb.gz");
 *     profconv::convert(formats, in, out, {"", "pprof"});
 *
 *  - Errors are exceptions. Whatever the library refuses throws profconv::error, a std::runtime_error with the status,
 *    the offset or line and the format. What C++ itself runs out of throws as ever (std::bad_alloc). Exceptions rather
 *    than return values, because a conversion is a chain of steps of which any may fail, and the first failure ends it.
 *  - The inverse: exceptions never pass through the library. What a reader, writer or callback written in C++ throws
 *    is caught, becomes a profconv_error, and is thrown again as profconv::error on the other side.
 *  - Owners (registry, input, output, options, report, builder, profile) free what they hold and can be moved, not copied. The
 *    classes named *_ref borrow, and have the members; owners convert to them.
 *  - Tables are ranges of small views, to be passed by value. Strings are string_views into the profile: bytes that live as
 *    long as it does.
 *  - Threads: as base.h says. No state of its own is added.
 */
#ifndef PROFCONV_HPP
#define PROFCONV_HPP

#include <profconv/cxx/base.hpp>
#include <profconv/cxx/builder.hpp>
#include <profconv/cxx/convert.hpp>
#include <profconv/cxx/io.hpp>
#include <profconv/cxx/profile.hpp>
#include <profconv/cxx/transform.hpp>

#endif
