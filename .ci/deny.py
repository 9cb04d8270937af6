#!/usr/bin/env python3
"""Licences, duplicate versions and sources of all dependencies against deny.toml.

Stands in for `cargo deny check licenses bans sources` where that is not installed. Advisories need its database.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys
import tomllib

PLATFORMS = ["x86_64-unknown-linux-gnu", "aarch64-apple-darwin", "x86_64-pc-windows-msvc"]
root = pathlib.Path(__file__).parent.parent
rules = tomllib.loads((root / "deny.toml").read_text())


def cargo(*arguments):
    command = ["cargo", *arguments, "--locked", "--all-features"]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


# the tree: metadata also lists dependencies that no feature or platform switches on
targets = [option for platform in PLATFORMS for option in ("--target", platform)]
tree = cargo("tree", "--workspace", *targets, "--edges", "all", "--prefix", "none", "--format", "{p}")
used = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
metadata = json.loads(cargo("metadata", "--format-version", "1"))
packages = [package for package in metadata["packages"] if (package["name"], f"v{package['version']}") in used]
problems = []

# an SPDX expression holds if its terms, replaced by whether they are allowed, are true
allowed = set(rules["licenses"]["allow"])
for package in packages:
    expression = (package["license"] or "").replace("/", " OR ")
    terms = re.findall(r"\(|\)|[^\s()]+ WITH [^\s()]+|[^\s()]+", expression)
    logic = {"OR": "or", "AND": "and", "(": "(", ")": ")"}
    meaning = " ".join(logic.get(term, str(term in allowed)) for term in terms)
    if not meaning or not eval(meaning, {"__builtins__": {}}):
        problems.append(f"{package['name']} {package['version']}: licence `{expression}`")

# one version of each, but for those named
skipped = {entry["crate"].split("@")[0] for entry in rules["bans"].get("skip", [])}
versions = collections.defaultdict(set)
for package in packages:
    versions[package["name"]].add(package["version"])
for name, found in sorted(versions.items()):
    if len(found) > 1 and name not in skipped:
        problems.append(f"{name}: versions {', '.join(sorted(found))}")
problems += [f"{name}: skipped in deny.toml, and there is one version" for name in skipped if len(versions[name]) < 2]

# our own, or from one registry: cargo's default, as Cargo.lock has it, unless deny.toml names others
sources = [package["source"] for package in packages if package["source"] is not None]
default = {max(set(sources), key=sources.count)} if sources else set()
registries = {f"registry+{url}" for url in rules["sources"].get("allow-registry", [])} or default
for package in packages:
    if package["source"] is not None and package["source"] not in registries:
        problems.append(f"{package['name']}: from {package['source']}")

print(f"{len(packages)} packages: licences, versions and sources, {len(problems)} problems")
print("\n".join(problems))
sys.exit(bool(problems))
