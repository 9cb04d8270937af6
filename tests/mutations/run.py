#!/usr/bin/env python3
"""Mutation testing: applies the faults of mutations.toml one at a time and asks whether a test fails.

    tests/mutations/run.py                 all mutations
    tests/mutations/run.py --only 'ledger' those whose name or room matches
    tests/mutations/run.py --list          the list, and whether each snippet is still found exactly once
    tests/mutations/run.py --readme        write the results so far into README.md

Works on a copy of HEAD in a scratch directory, with a target directory of its own (`target` in it, which may be a link
to one where dependencies are built already); never in the caller's tree. `--quick --unchecked` builds the tests of the
chosen rooms alone. All mutations that are an expression or a statement are built into one binary, `FIND` becoming `if
crate::mutation(7) { REPLACE } else { FIND }`, and the environment variable MUTATION_UNDER_TEST chooses one of them: a
mutation costs a run of the tests, not a build. Others (constants, snippets that overlap) get a build of their own.
First the tests named beside a mutation run, then those of its room, then all; the first failure ends it. Results are
kept in results.json and reused while neither the mutation nor its verdict `killed` has changed (--again runs them
anew).
"""

import argparse
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import threading
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RESULTS = HERE / "results.json"

# tests of a room, run before all others: executables as cargo names them, with filters
QUICK = {
    "modes": [("bristle", ["modes"]), ("physics", ["complementarity", "stick_slip", "couplings", "redundant"])],
    "transitions": [("physics", ["stick_slip", "couplings", "redundant", "every_tolerance"])],
    "events": [("physics", ["stick_slip", "motion", "couplings", "every_tolerance"])],
    "ledger": [("physics", ["energy", "analytic", "motion", "reaction_loads", "couplings"])],
    "constraints": [
        ("bristle", ["constraint"]),
        ("physics", ["couplings", "redundant", "armature_transfer", "every_tolerance"]),
    ],
    "unknowns": [("physics", ["motion", "couplings", "stick_slip", "analytic"])],
    "dynamics": [("physics", ["motion", "couplings", "reaction_loads", "stick_slip", "random_machines"])],
    "real_time": [("bristle", ["real_time"]), ("physics", ["real_time"])],
    "steppers": [("steppers", []), ("bristle_integrate", []), ("physics", ["analytic", "stick_slip"])],
    "stops": [("bristle", ["stops"]), ("stops", []), ("stops_random", []), ("stops_real_time", [])],
    "loops": [("bristle", ["loops"]), ("loops", []), ("physics", ["closed_loops"])],
    "servos": [("bristle", ["servo"]), ("physics", ["servos"])],
    "sensitivities": [("bristle", ["sensitivity"]), ("sensitivities", []), ("sensitivities_stops", [])],
    "packs": [("bristle", ["pack"]), ("physics", ["batch_packs"])],
}
# not `allocation` of integrate: reading the environment variable allocates
ALL = [
    ("physics", []),
    ("bristle", []),
    ("stops", []),
    ("stops_random", []),
    ("stops_real_time", []),
    ("loops", []),
    ("lossy_gear", []),
    ("transmitted", []),
    ("sensitivities", []),
    ("sensitivities_stops", []),
    ("steppers", []),
    ("bristle_integrate", []),
]
# chosen where no mutation is
NONE = 1_000_000

SWITCH = """
/// Whether mutation `number` is the one under test (tests/mutations).
#[doc(hidden)]
pub fn mutation(number: usize) -> bool {
    static CHOSEN: std::sync::LazyLock<usize> = std::sync::LazyLock::new(|| {
        std::env::var("MUTATION_UNDER_TEST").ok().and_then(|n| n.parse().ok()).unwrap_or(usize::MAX)
    });
    *CHOSEN == number
}
"""


class Mutation:
    def __init__(self, number, entry):
        self.number = number
        self.name, self.room, self.file = entry["name"], entry["room"], entry["file"]
        self.find, self.replace, self.breaks = entry["find"], entry["replace"], entry["breaks"]
        self.within = entry.get("within", self.find)
        self.tests = entry.get("tests", [])
        self.is_source = entry.get("source", False)
        self.equivalent = entry.get("equivalent")

    def key(self):
        return [self.file, self.within, self.find, self.replace]

    def place(self, text):
        """Where the snippet stands, or what is wrong with it."""
        for what, snippet, inside in [("within", self.within, text), ("find", self.find, self.within)]:
            count = inside.count(snippet)
            if count != 1:
                return None, f"`{what}` occurs {count} times"
        start = text.index(self.within) + self.within.index(self.find)
        return (start, start + len(self.find)), None

    def switched(self):
        choice = f"crate::mutation({self.number})"
        if self.find.rstrip().endswith(";"):
            return f"if {choice} {{ {self.replace} }} else {{ {self.find} }}"
        return f"(if {choice} {{ {self.replace} }} else {{ {self.find} }})"


def load():
    entries = tomllib.loads((HERE / "mutations.toml").read_text())["mutation"]
    mutations = [Mutation(k, entry) for k, entry in enumerate(entries)]
    names = [m.name for m in mutations]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        sys.exit(f"names given twice: {sorted(twice)}")
    for m in mutations:
        if m.room not in QUICK:
            sys.exit(f"{m.name}: no room `{m.room}`")
    return mutations


class Scratch:
    def __init__(self, directory, jobs):
        self.tree, self.target, self.jobs = directory / "tree", directory / "target", jobs
        directory.mkdir(parents=True, exist_ok=True)
        git = lambda *args: subprocess.run(["git", *args], cwd=ROOT, check=True, capture_output=True).stdout
        self.commit = git("rev-parse", "HEAD").decode().strip()
        with tarfile.open(fileobj=io.BytesIO(git("archive", "HEAD"))) as archive:
            files = [member for member in archive.getmembers() if member.isfile()]
            self.files = {member.name: archive.extractfile(member).read() for member in files}

    def text(self, file):
        return self.files[file].decode()

    def write(self, changed):
        """Writes the files of HEAD with the changed ones. Files with the same content are not touched, so that cargo
        builds no more than necessary."""
        for file, content in {**self.files, **{file: text.encode() for file, text in changed.items()}}.items():
            path = self.tree / file
            if not path.exists() or path.read_bytes() != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        for path in self.tree.rglob("*.rs"):
            if str(path.relative_to(self.tree)) not in self.files:
                path.unlink()

    def build(self, names):
        """Executables by name, or the lines of the compiler. Only those with the `names` are built, if any."""
        command = ["cargo", "test", f"-j{self.jobs}", "-p", "bristle", "-p", "bristle-integrate"]
        if names:
            command += ["--lib"] if names & {"bristle", "bristle_integrate"} else []
            command += [f"--test={name}" for name in sorted(names - {"bristle", "bristle_integrate"})]
        else:
            command += ["--lib", "--tests"]
        command += ["--no-run", "--message-format=json"]
        env = {"CARGO_PROFILE_DEV_OPT_LEVEL": "1", "CARGO_PROFILE_DEV_DEBUG": "0", **os.environ}
        env["CARGO_TARGET_DIR"] = str(self.target)
        done = subprocess.run(command, cwd=self.tree, env=env, capture_output=True, text=True)
        executables, errors = {}, []
        for line in done.stdout.splitlines():
            message = json.loads(line)
            if message.get("executable") and message.get("profile", {}).get("test"):
                package = Path(message["manifest_path"]).parent
                executables.setdefault(message["target"]["name"], []).append((message["executable"], package))
            if message.get("reason") == "compiler-message" and message["message"]["level"] == "error":
                spans = [(s["file_name"], s["line_start"], s["line_end"]) for s in message["message"]["spans"]]
                errors.append((spans, message["message"]["rendered"]))
        if done.returncode != 0 and not errors:
            errors.append(([], done.stderr[-2000:]))
        return executables, errors


def run_tests(executables, name, filters, number, timeout):
    """The first failing test, "timeout", or None."""
    for executable, package in executables.get(name, []):
        limits = lambda: resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        env = {**os.environ, "RUST_BACKTRACE": "0"}
        env.pop("MUTATION_UNDER_TEST", None)
        if number is not None:
            env["MUTATION_UNDER_TEST"] = str(number)
        process = subprocess.Popen(
            [executable, "--test-threads=2", *filters], cwd=package, env=env, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, start_new_session=True, preexec_fn=limits,
        )
        late = threading.Event()

        def stop():
            late.set()
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(timeout, stop)
        timer.start()
        failed = None
        for line in process.stdout:
            found = re.match(r"test (\S+)( - should panic)? \.\.\. FAILED", line)
            if found:
                failed = f"{name} {found[1]}"
                os.killpg(process.pid, signal.SIGKILL)
                break
        process.wait()
        timer.cancel()
        if failed is None and late.is_set():
            failed = f"{name}: timeout"
        if failed is None and process.returncode != 0:
            failed = f"{name}: ended with {process.returncode}"
        if failed:
            return failed
    return None


def judge(mutation, executables, number, timeout, quick_only):
    stages = []
    for test in mutation.tests:
        name, _, filters = test.partition(":")
        stages.append((name, [f for f in filters.split() if f]))
    stages += [("physics", ["caught_mutations"]), *QUICK[mutation.room]]
    if not quick_only:
        stages += ALL
    for name, filters in stages:
        failed = run_tests(executables, name, filters, number, timeout)
        if failed:
            return "killed", failed
    return "survived", "the quick subset only" if quick_only else ""


def in_layers(mutations, texts):
    """Groups whose snippets do not overlap; each of `source` is one of its own."""
    layers, alone = [], []
    for m in mutations:
        if m.is_source:
            alone.append([m])
            continue
        span = m.place(texts[m.file])[0]
        for layer in layers:
            others = [o.place(texts[o.file])[0] for o in layer if o.file == m.file]
            if all(span[1] <= start or end <= span[0] for start, end in others):
                layer.append(m)
                break
        else:
            layers.append([m])
    return layers, alone


def apply(scratch, layer):
    """Writes the mutated files."""
    changed = {}
    for m in sorted(layer, key=lambda m: m.place(scratch.text(m.file))[0], reverse=True):
        start, end = m.place(scratch.text(m.file))[0]
        text = changed.get(m.file, scratch.text(m.file))
        changed[m.file] = text[:start] + (m.replace if m.is_source else m.switched()) + text[end:]
    for crate in {m.file.split("/src/")[0] for m in layer if not m.is_source}:
        lib = f"{crate}/src/lib.rs"
        changed[lib] = changed.get(lib, scratch.text(lib)) + SWITCH
    scratch.write(changed)


def run(mutations, chosen, args):
    directory = Path(args.scratch)
    scratch = Scratch(directory, args.jobs)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    texts = {file: scratch.text(file) for file in {m.file for m in mutations} & set(scratch.files)}

    def note(m, verdict, by, seconds=0.0):
        results[m.name] = {"key": m.key(), "verdict": verdict, "by": by, "commit": scratch.commit[:10]}
        RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
        print(f"{verdict:15} {m.name:48} {by} ({seconds:.0f} s)", flush=True)

    # all of them are built, so that the binary is the same whatever is chosen
    found, wanted = [], set()
    for m in mutations:
        problem = m.place(texts[m.file])[1] if m.file in texts else "no such file"
        is_done = results.get(m.name, {}).get("key") == m.key() and results[m.name]["verdict"] == "killed"
        if problem:
            note(m, "not found", problem)
            continue
        found.append(m)
        if m in chosen and (args.again or not is_done):
            wanted.add(m)
    # a quick run builds the tests of its rooms alone
    needed = set()
    if args.quick and args.unchecked:
        named = {test.partition(":")[0] for m in wanted for test in m.tests}
        needed = {"physics"} | named | {name for m in wanted for name, _ in QUICK[m.room]}
    layers, alone = in_layers(found, texts)
    for layer in layers + alone:
        executables = None
        while wanted & set(layer):
            apply(scratch, layer)
            began = time.time()
            executables, errors = scratch.build(needed)
            print(f"built {len(layer)} mutation(s) in {time.time() - began:.0f} s", flush=True)
            if not errors:
                break
            # who stands where the compiler complains
            guilty = set()
            for spans, rendered in errors:
                for file, first, last in spans:
                    lines = (scratch.tree / file).read_text().splitlines()[max(0, first - 4) : last + 3]
                    guilty |= {m for m in layer if m.file == file and f"mutation({m.number})" in "\n".join(lines)}
                if args.verbose:
                    print(rendered)
            if not guilty and layer[0].is_source:
                guilty = set(layer)
            if not guilty:
                sys.exit("does not build, and not because of a mutation:\n" + "".join(text for _, text in errors))
            for m in guilty:
                note(m, "does not build", errors[0][1].splitlines()[0])
            layer = [m for m in layer if m not in guilty]
        if not wanted & set(layer):
            continue
        if not args.unchecked and not layer[0].is_source:
            for name, filters in ALL:
                failed = run_tests(executables, name, filters, NONE, args.timeout)
                if failed:
                    sys.exit(f"without any mutation: {failed}")
            print("without any mutation all tests pass", flush=True)
        for m in (m for m in layer if m in wanted):
            began = time.time()
            verdict, by = judge(m, executables, None if m.is_source else m.number, args.timeout, args.quick)
            note(m, verdict, by, time.time() - began)
    score(mutations, results)


def score(mutations, results):
    verdicts = {m.name: results.get(m.name, {}).get("verdict", "not run") for m in mutations}
    counts = {v: list(verdicts.values()).count(v) for v in sorted(set(verdicts.values()))}
    equivalent = [m for m in mutations if m.equivalent and verdicts[m.name] == "survived"]
    killed, n = counts.get("killed", 0), counts.get("killed", 0) + counts.get("survived", 0) - len(equivalent)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    print(f"score: {killed} of {n}" + (f", {len(equivalent)} survivors are equivalent" if equivalent else ""))
    for m in mutations:
        if verdicts[m.name] in ("survived", "not found", "does not build"):
            print(f"  {verdicts[m.name]}: {m.name} ({m.file}): {m.equivalent or m.breaks}")


def entry(text):
    """An entry of a list in Markdown, wrapped at 120 columns."""
    return textwrap.fill(
        text, 120, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    ) + "\n"


def readme(mutations):
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    head = (HERE / "README.md").read_text().split("<!-- results -->")[0]
    lines = [head + "<!-- results -->\n"]
    of = lambda m: results.get(m.name, {})
    verdicts = [of(m).get("verdict", "not run") for m in mutations]
    kinds = ["killed", "survived", "does not build", "not found", "not run"]
    counts = [f"{verdicts.count(v)} {v}" for v in kinds if v in verdicts]
    lines.append(f"{len(mutations)} mutations: {', '.join(counts)}.\n")
    for room in QUICK:
        here = [m for m in mutations if m.room == room]
        lines.append(f"\n## {room}: {len(here)}\n\n")
        for m in here:
            by = of(m).get("by", "")
            verdict = of(m).get("verdict", "not run")
            because = f": {m.equivalent}" if m.equivalent else ""
            verdict = f"`{by}`" if verdict == "killed" else f"**{verdict}**{because}"
            lines.append(entry(f"{m.name} ({m.breaks}): {verdict}"))
    (HERE / "README.md").write_text("".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="mutations whose name or room matches this regular expression")
    parser.add_argument("--list", action="store_true", help="list, and check that snippets are found")
    parser.add_argument("--readme", action="store_true", help="write results into README.md")
    parser.add_argument("--quick", action="store_true", help="tests of the room only, not all of them")
    parser.add_argument("--again", action="store_true", help="also mutations that were killed before")
    parser.add_argument("--unchecked", action="store_true", help="do not first run all tests with no mutation chosen")
    parser.add_argument("--verbose", action="store_true", help="show the output of the compiler")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=900.0, help="of a test executable, s; beyond it: killed")
    parser.add_argument("--scratch", default=os.path.join(tempfile.gettempdir(), "bristle-mutations"))
    args = parser.parse_args()
    mutations = load()
    chosen = [m for m in mutations if not args.only or re.search(args.only, m.name) or re.search(args.only, m.room)]
    if args.list:
        missing = 0
        for m in chosen:
            path = ROOT / m.file
            problem = m.place(path.read_text())[1] if path.exists() else "no such file"
            missing += problem is not None
            print(f"{m.room:12} {m.name:48} {m.file}: {problem or m.breaks}")
        print(f"{len(chosen)} mutations, {missing} not found")
        sys.exit(1 if missing else 0)
    if args.readme:
        return readme(mutations)
    run(mutations, chosen, args)


if __name__ == "__main__":
    main()
