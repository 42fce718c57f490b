#!/usr/bin/env python3
"""Checks licences, sources and banned crates of all dependencies against deny.toml, from `cargo metadata` alone.

cargo-deny says more (duplicates, advisories), but building it takes longer than all tests.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent.parent
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"


def is_allowed(expression, allowed):
    """Whether an SPDX expression can be met with allowed licences alone. `/` is how old crates write OR."""
    # An exception (`WITH …`) only grants more than its licence does.
    words = re.findall(r"\(|\)|[^\s()]+", re.sub(r"\bWITH\s+\S+", "", expression).replace("/", " OR "))
    values = [word.lower() if word in ("(", ")", "AND", "OR") else str(word in allowed) for word in words]
    return eval(" ".join(values))


def main():
    rules = tomllib.loads((REPO / "deny.toml").read_text())
    platforms = [word for target in rules["graph"]["targets"] for word in ("--filter-platform", target)]
    command = ["cargo", "metadata", "--format-version", "1", "--locked", *platforms]
    packages = json.loads(subprocess.run(command, cwd=REPO, check=True, capture_output=True).stdout)["packages"]
    findings = []
    for package in packages:
        name = f"{package['name']} {package['version']}"
        if package["source"] is None:
            continue
        if package["source"] != CRATES_IO:
            findings.append(f"{name} comes from {package['source']}")
        if package["name"] in rules["bans"]["deny"]:
            findings.append(f"{name} is banned")
        if not is_allowed(package["license"] or "none", rules["licenses"]["allow"]):
            findings.append(f"{name} has the licence {package['license']}")
    for finding in findings:
        print(f"{finding} (deny.toml)")
    print(f"{len(packages)} crates checked")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
