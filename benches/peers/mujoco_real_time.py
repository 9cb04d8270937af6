"""Nanoseconds of a step with dry friction in every joint: `RealTime` beside MuJoCo's `implicitfast` and `Euler` with frictionloss.

    python -m venv venv && venv/bin/pip install mujoco numpy
    venv/bin/python benches/peers/mujoco_real_time.py

Both take 200 steps of 1 ms from the same state, in one call, on one thread; the least of several such rollouts counts.
"""

import json
import math
import pathlib
import subprocess
import time

import mujoco
import mujoco.rollout
import numpy as np

STEPS, FRICTION = 200, 0.2
MODELS = {m["name"]: m for m in json.loads((pathlib.Path(__file__).parent.parent / "models.json").read_text())}


def numbers(values):
    return " ".join(repr(float(value)) for value in values)


def mjcf(model, n, integrator):
    """The first n links of a model, repeated in a row if it has less."""
    links, joints = model["links"], model["joints"]
    children, bodies, names = {}, [], []
    for k in range(n):
        link, joint = links[k % len(links)], joints[k % len(links)]
        if k < len(links):
            parent = joint["parent"] if joint["parent"] in names else "world"
            offset = joint["xyz"]
        else:
            parent = f"b{k - 1}"
            offset = joints[1]["xyz"] if k % len(links) == 0 else joint["xyz"]
        name = link["name"] if k < len(links) else f"b{k}"
        names.append(name)
        xx, xy, xz, yy, yz, zz = link["inertia"]
        kind = "slide" if joint["type"] == "prismatic" else "hinge"
        head = (
            f'<body name="{name}" pos="{numbers(offset)}" euler="{numbers(joint["rpy"])}">'
            f'<joint name="j{k}" type="{kind}" axis="{numbers(joint["axis"])}" frictionloss="{FRICTION}"/>'
            f'<inertial mass="{link["mass"]!r}" pos="{numbers(link["com"])}"'
            f' fullinertia="{numbers([xx, yy, zz, xy, xz, yz])}"/>'
        )
        children.setdefault(parent, []).append(name)
        bodies.append((name, head))
    heads = dict(bodies)
    text, stack = "", [(name, False) for name in reversed(children.get("world", []))]
    while stack:
        name, is_done = stack.pop()
        if is_done:
            text += "</body>"
            continue
        text += heads[name]
        stack.append((name, True))
        stack.extend((child, False) for child in reversed(children.get(name, [])))
    option = f'<option timestep="0.001" integrator="{integrator}" gravity="0 0 -9.81"/>'
    compiler = '<compiler angle="radian" eulerseq="XYZ" balanceinertia="false"/>'
    return f"<mujoco>{compiler}{option}<worldbody>{text}</worldbody></mujoco>"


def measure(name, n, integrator):
    model = mujoco.MjModel.from_xml_string(mjcf(MODELS["chain128" if name.startswith("chain") else name], n, integrator))
    data = [mujoco.MjData(model)]
    initial = np.zeros((1, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    for k in range(n):
        at = model.jnt_qposadr[mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, f"j{k}")]
        initial[0, 1 + at] = math.sin(0.7 * (k + 1)) * 0.5
    least, spent, repeats = math.inf, 0.0, 0
    with mujoco.rollout.Rollout(nthread=1) as rollout:
        while spent < 1.0 or repeats < 3:
            clock = time.perf_counter()
            rollout.rollout(model, data, initial, nstep=STEPS)
            taken = time.perf_counter() - clock
            least, spent, repeats = min(least, taken), spent + taken, repeats + 1
    return 1e9 * least / STEPS


if __name__ == "__main__":
    command = ["cargo", "bench", "-q", "-p", "bristle", "--bench", "real_time"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    ours = json.loads(done.stdout.splitlines()[-1])
    print(f"| | joints | `RealTime`, ns | per joint | MuJoCo {mujoco.__version__} Euler | implicitfast | ours / implicitfast |")
    print("|---|---|---|---|---|---|---|")
    for name, step in ours.items():
        n = {"pend2": 2, "arm7": 7, "tree36": 36}.get(name) or int(name.removeprefix("chain"))
        euler, implicit = (measure(name, n, integrator) for integrator in ["Euler", "implicitfast"])
        print(f"| {name} | {n} | {step:,.0f} | {step / n:,.0f} | {euler:,.0f} | {implicit:,.0f} | {step / implicit:.2f} |")
