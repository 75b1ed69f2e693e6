#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints one line for each test that was skipped: its name and the last thing it said. Takes ctest's JUnit file."""
import sys
import xml.etree.ElementTree as ET


def main(path):
    for case in ET.parse(path).getroot().iter("testcase"):
        if case.find("skipped") is None and case.get("status") not in ("notrun", "disabled"):
            continue
        said = (case.findtext("system-out") or "").strip().splitlines()
        print(f"skipped: {case.get('name')}: {said[-1] if said else 'no reason given'}")


if __name__ == "__main__":
    main(sys.argv[1])
