#!/usr/bin/env python3
"""Licences, duplicate versions and sources of all dependencies against deny.toml, from `cargo metadata`.

Stands in for `cargo deny check licenses bans sources` where that is not installed. Advisories need its database.
"""

import collections
import json
import pathlib
import re
import subprocess
import sys
import tomllib

root = pathlib.Path(__file__).parent.parent
rules = tomllib.loads((root / "deny.toml").read_text())
command = ["cargo", "metadata", "--format-version", "1", "--locked"]
packages = json.loads(subprocess.run(command, cwd=root, check=True, capture_output=True).stdout)["packages"]
problems = []

# an SPDX expression holds if its terms, replaced by whether they are allowed, are true
allowed = set(rules["licenses"]["allow"])
for package in packages:
    expression = (package["license"] or "").replace("/", " OR ")
    terms = re.findall(r"\(|\)|[^\s()]+", expression)
    logic = {"OR": "or", "AND": "and", "(": "(", ")": ")"}
    meaning = " ".join(logic.get(term, str(term in allowed)) for term in terms)
    if not meaning or not eval(meaning, {"__builtins__": {}}):
        problems.append(f"{package['name']} {package['version']}: licence `{expression}`")

# one version of each, but for those named
skipped = {entry["crate"] for entry in rules["bans"]["skip"]}
versions = collections.defaultdict(set)
for package in packages:
    versions[package["name"]].add(package["version"])
for name, found in sorted(versions.items()):
    if len(found) > 1 and name not in skipped:
        problems.append(f"{name}: versions {', '.join(sorted(found))}")
problems += [f"{name}: skipped in deny.toml, and there is one version" for name in skipped if len(versions[name]) < 2]

# our own, or from the registry
registries = {f"registry+{url}" for url in rules["sources"]["allow-registry"]}
for package in packages:
    if package["source"] is not None and package["source"] not in registries:
        problems.append(f"{package['name']}: from {package['source']}")

print(f"{len(packages)} packages: licences, versions and sources, {len(problems)} problems")
print("\n".join(problems))
sys.exit(bool(problems))
