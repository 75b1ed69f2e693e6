#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Source files of a C++ program whose debug information is large: each file uses much of the standard library, with types of its own.

    python3 cxx_program.py COUNT DIR
"""
import os
import sys

UNIT = """
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
namespace unit%(n)d {
struct Key { int a; std::string b; bool operator<(const Key &o) const { return a < o.a || (a == o.a && b < o.b); } };
struct Row { Key key; std::vector<std::string> cells; std::variant<int, double, std::string> value; };
static std::map<Key, std::shared_ptr<Row>> table;
static std::unordered_map<std::string, std::function<int(const Row &)>> rules;
int work(int seed) {
    std::ostringstream text;
    for (int i = 0; i < 50; i++) {
        auto row = std::make_shared<Row>();
        row->key = Key{(seed * 31 + i) %% 17, std::to_string(i)};
        row->cells = {"a", std::to_string(seed), std::string(i, 'x')};
        row->value = i %% 3 ? std::variant<int, double, std::string>(i) : std::variant<int, double, std::string>(std::to_string(i));
        table[row->key] = row;
    }
    rules["%(n)d"] = [](const Row &r) { return (int)r.cells.size() + r.key.a; };
    int sum = 0;
    std::set<std::string> seen;
    for (auto &[key, row] : table) {
        sum += rules["%(n)d"](*row);
        seen.insert(key.b);
        std::sort(row->cells.begin(), row->cells.end(), [](const std::string &x, const std::string &y) { return x.size() < y.size(); });
        text << key.a << key.b;
    }
    std::regex pattern("([a-z]+)([0-9]{%(n)d})");
    return sum + (int)seen.size() + (std::regex_search(text.str(), pattern) ? 1 : 0);
}
}
"""


def main():
    count, folder = int(sys.argv[1]), sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    for n in range(count):
        with open(os.path.join(folder, "unit%d.cc" % n), "w") as out:
            out.write(UNIT % {"n": n})
    with open(os.path.join(folder, "main.cc"), "w") as out:
        out.write("".join("namespace unit%d { int work(int); }\n" % n for n in range(count)))
        out.write("int main(int argc, char **) {\n    int sum = 0;\n")
        out.write("".join("    sum += unit%d::work(argc);\n" % n for n in range(count)))
        out.write("    return sum & 1;\n}\n")


if __name__ == "__main__":
    main()
