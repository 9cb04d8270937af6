"""Kernels beside Pinocchio's, from one run: installs `pin` into a folder of its own, builds the C++ timer, runs both.

    python3 benches/peers/pinocchio.py            needs a C++ compiler and Eigen (Debian: libeigen3-dev; clang if there)

Prints ns per call of each, and the ratio. Minimum over many repeats; the two programs take turns three times.
"""

import json
import math
import pathlib
import shutil
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACE = ROOT / "target" / "peers"
MACHINES = ["pend2", "arm7", "tree36", "chain8", "chain32", "chain128"]
KERNELS = ["aba", "rnea", "crba", "rnea_derivatives", "aba_derivatives"]


def prefix():
    """Headers and libraries of Pinocchio, as its wheel ships them."""
    env = PLACE / "env"
    if not env.exists():
        venv.create(env, with_pip=True)
        subprocess.run([env / "bin" / "pip", "install", "-q", "pin"], check=True)
    return next(env.glob("lib/python*/site-packages/cmeel.prefix"))


def rotation(roll, pitch, yaw):
    """Fixed-axis roll, pitch, yaw as a matrix by rows."""
    (a, b, c), (s, t, u) = [[f(x) for x in (roll, pitch, yaw)] for f in (math.cos, math.sin)]
    return [c * b, c * t * s - u * a, c * t * a + u * s, u * b, u * t * s + c * a, u * t * a - c * s, -t, b * s, b * a]


def described(machine):
    """A machine of models.json as the text the C++ timer reads: parents before children."""
    links = {link["name"]: link for link in machine["links"]}
    index, lines, left = {"world": 0}, [], list(machine["joints"])
    while left:
        joint = next(j for j in left if j["parent"] in index)
        left.remove(joint)
        link = links[joint["child"]]
        xx, xy, xz, yy, yz, zz = link["inertia"]
        index[joint["child"]] = len(index)
        numbers = [*joint["axis"], *joint["xyz"], *rotation(*joint["rpy"]), link["mass"], *link["com"],
                   xx, xy, xz, xy, yy, yz, xz, yz, zz]
        lines.append(f'{index[joint["parent"]]} {joint["type"][0]} ' + " ".join(repr(x) for x in numbers))
    path = PLACE / f'{machine["name"]}.txt'
    path.write_text("\n".join(lines) + "\n")
    return path


def build(place):
    """The C++ timer."""
    binary, source = PLACE / "pinocchio", ROOT / "benches" / "peers" / "pinocchio.cpp"
    if binary.exists() and binary.stat().st_mtime > source.stat().st_mtime:
        return binary
    compiler = shutil.which("clang++") or "g++"
    subprocess.run([compiler, "-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-w",
                    # as Pinocchio's own build has it: its list of joint types is longer than the default
                    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
                    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
                    "-I", place / "include",
                    "-I", "/usr/include/eigen3", source, "-o", binary,
                    "-L", place / "lib", f"-Wl,-rpath,{place / 'lib'}", "-lpinocchio_default"], check=True)
    return binary


def read(output, times):
    for line in output.splitlines():
        kernel, machine, ns = line.split()
        key = kernel.removesuffix("_world"), machine  # the better of Pinocchio's two conventions
        times[key] = min(float(ns), times.get(key, float("inf")))


def main():
    PLACE.mkdir(parents=True, exist_ok=True)
    place = prefix()
    machines = [m for m in json.loads((ROOT / "benches" / "models.json").read_text()) if m["name"] in MACHINES]
    files = [described(m) for m in machines]
    theirs_binary = build(place)
    listing = subprocess.run(["cargo", "bench", "--bench", "kernels", "--no-run", "--message-format=json"], cwd=ROOT,
                             check=True, capture_output=True, text=True).stdout
    messages = [json.loads(line) for line in listing.splitlines()]
    ours_binary = next(m["executable"] for m in messages if m.get("executable") and m["target"]["name"] == "kernels")
    ours, theirs = {}, {}
    for _ in range(3):
        run = lambda command: subprocess.run(command, check=True, capture_output=True, text=True).stdout
        read(run([theirs_binary, *files]), theirs)
        read(run([ours_binary, "--times", *KERNELS]), ours)
    print(f'{"kernel":18}{"machine":10}{"bristle":>10}{"Pinocchio":>11}{"ratio":>8}')
    for kernel in KERNELS:
        for machine in MACHINES:
            if (kernel, machine) in ours:
                a, b = ours[kernel, machine], theirs[kernel, machine]
                print(f"{kernel:18}{machine:10}{a:10.0f}{b:11.0f}{a / b:8.2f}")


if __name__ == "__main__":
    sys.exit(main())
