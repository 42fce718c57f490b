#!/usr/bin/env python3
"""Checks that the tests which documents and planted bugs name are part of the default test run.

usage: named_tests.py LISTING…

LISTING is the output of `cargo nextest list --message-format json`; a test is part of the run if it matches the filter of
one of them. The names stand in the tables of docs/guarantee.md and docs/security.md that have a column "test", in
backticks, and in the headers of tests/planted/*.patch.

A name is the test's path in its binary, or in a crate's library with the crate before it: `order::tests::x` or
`domain::order::tests::x`.
"""

import json
import re
import sys
from pathlib import Path

DOCUMENTS = ["docs/guarantee.md", "docs/security.md"]
PATCHES = "tests/planted/*.patch"


class Test:
    def __init__(self, suite, name):
        self.package = suite["package-name"]
        self.binary = suite["binary-name"]
        self.is_in_library = suite["kind"] == "lib"
        self.name = name
        # `seckill-domain` is used as `domain`.
        self.names = {name, f"{self.package.removeprefix('seckill-').replace('-', '_')}::{name}"}

    def is_in(self, choice):
        """Whether cargo's arguments (`--test it`, `-p seckill-engine --lib`) choose the test's binary."""
        words = choice.split()
        options = dict(zip(words, words[1:]))
        package = options.get("-p") or options.get("--package")
        if package not in (None, self.package):
            return False
        return self.is_in_library if "--lib" in words else options.get("--test") == self.binary


def tests_of(listing):
    for suite in json.loads(Path(listing).read_text())["rust-suites"].values():
        for name, case in suite["testcases"].items():
            if case["filter-match"]["status"] == "matches" and not case["ignored"]:
                yield Test(suite, name)


def cells(row):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def rows_of(document):
    """Line number and names of each row below a column "test"."""
    column = None
    for number, line in enumerate(Path(document).read_text().splitlines(), 1):
        if not line.startswith("|"):
            column = None
        elif column is None:
            heads = cells(line)
            column = heads.index("test") if "test" in heads else -1
        elif column >= 0 and not set(line) <= set("|-: "):
            named = cells(line)
            yield number, re.findall(r"`([^`]+)`", named[column] if column < len(named) else "")


def missing_in_documents(tests):
    known = set().union(*(test.names for test in tests))
    for document in DOCUMENTS:
        rows = list(rows_of(document))
        if not rows:
            yield f"{document}: no table has a column “test”"
        for number, names in rows:
            if not names:
                yield f"{document}:{number}: names no test"
            yield from (f"{document}:{number}: {name}" for name in names if name not in known)


def missing_in_patches(tests):
    for patch in sorted(Path().glob(PATCHES)):
        lines = patch.read_text().split("\ndiff ")[0].splitlines()
        header = dict(line.split(": ", 1) for line in lines if ": " in line)
        chosen = [test.name for test in tests if test.is_in(header["In"])]
        for exact, pattern in re.findall(r"test\((?:=([^)]+)|/(.*?)/)\)", header["Test"]):
            if not any(name == exact if exact else re.search(pattern, name) for name in chosen):
                yield f"{patch}: {exact or pattern}"


def main(listings):
    tests = [test for listing in listings for test in tests_of(listing)]
    missing = [*missing_in_documents(tests), *missing_in_patches(tests)]
    for line in missing:
        print(line)
    if missing:
        sys.exit(f"{len(missing)} names are no test of the default run")
    print(f"the default run has every test that {', '.join(DOCUMENTS)} and {PATCHES} name")


if __name__ == "__main__":
    main(sys.argv[1:])
