/* SPDX-License-Identifier: MIT
 *
 * convert INPUT OUTPUT: any profile to any other; the output's format follows from its suffix.
 */
#include <exception>
#include <iostream>

#include <profconv/profconv.hpp>

int main(int argc, char **argv) try {
    if (argc != 3)
        throw std::runtime_error("usage: convert INPUT OUTPUT");
    profconv::registry formats;
    profconv::conversion how;
    profconv::report report;
    auto input = profconv::input::open(argv[1]);
    auto output = profconv::output::open(argv[2]);
    how.to = formats.find_suffix(argv[2]).name;
    profconv::convert(formats, input, output, how, report);
    for (const profconv::note &note : report.notes())
        std::cerr << note.message << '\n';
    return 0;
} catch (const std::exception &e) {
    std::cerr << e.what() << '\n';
    return 1;
}
