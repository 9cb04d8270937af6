"""Rollouts of three machines beside MuJoCo's own, in one run: 1,024 copies, steps of 1 ms, two threads.

    pip install . mujoco && python benches/python/rollouts.py

Machines are a double pendulum with dry friction, an arm of seven joints with LuGre friction, and a tree of 36 joints
(six legs of six) with dry friction. Scene and MJCF are written from one list of joints, and the first column checks
that: the largest difference of an angle after 0.1 s without friction, against MuJoCo's RK4. MuJoCo has no LuGre law;
its arm has `frictionloss` of the same level. Both sides keep the states of every step. Engines take turns, and the best
of the rounds counts; processor time is that of all threads.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import mujoco
import mujoco.rollout
import numpy as np

import bristle

N, STEP = 1024, 1e-3


class Joint(NamedTuple):
    parent: int
    """Number of the joint before it; -1 is the world."""
    axis: tuple[float, float, float]
    offset: tuple[float, float, float]
    mass: float
    center: tuple[float, float, float]
    inertia: tuple[float, float, float]
    armature: float
    friction: float


X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
PENDULUM = [Joint(k - 1, Y, (0, 0, -0.5 * k), 1.0, (0, 0, -0.25), (0.02, 0.02, 0.001), 0.0, 0.1) for k in range(2)]
ARM = [
    Joint(k - 1, (Z, Y)[k % 2], (0, 0, 0.2), 4.0 - 0.5 * k, (0.02, 0.01, 0.1), (0.02, 0.02, 0.008), 0.1, 3.0 - 0.4 * k)
    for k in range(7)
]
LEGS = [
    Joint(
        6 * leg + k - 1 if k else -1,
        (X, Y, Z)[k % 3],
        (0, 0, -0.2) if k else (0.3 * np.cos(leg), 0.3 * np.sin(leg), 0),
        1.0,
        (0, 0, -0.1),
        (0.005, 0.005, 0.001),
        0.01,
        0.2,
    )
    for leg in range(6)
    for k in range(6)
]
LAWS: dict[str, Callable[[float], str]] = {
    "none": lambda level: "None",
    "dry": lambda level: f"Coulomb(coulomb: {level})",
    "LuGre": lambda level: (
        f"LuGre(sigma0: {1e4 * level}, sigma1: {20 * level}, sigma2: {0.1 * level}, coulomb: {level}, "
        f"stiction: {1.3 * level}, stribeck_velocity: 0.05)"
    ),
}


def scene(joints: list[Joint], law: str) -> bristle.Scene:
    def numbers(values: tuple[float, ...]) -> str:
        return ", ".join(repr(float(value)) for value in values)

    links = "\n".join(
        f'Link(name: "link {k}", mass: {j.mass}, center_of_mass: ({numbers(j.center)}), '
        f"inertia: Diagonal({numbers(j.inertia)})),"
        for k, j in enumerate(joints)
    )

    def joint(k: int, j: Joint) -> str:
        friction = "" if law == "none" else f"friction: {LAWS[law](j.friction)}"
        parent = "world" if j.parent < 0 else f"link {j.parent}"
        return (
            f'Joint(name: "joint {k}", parent: "{parent}", child: "link {k}", '
            f"kind: Revolute(axis: ({numbers(j.axis)})), "
            f"placement: Placement(translation: ({numbers(j.offset)})), armature: {j.armature}, {friction}),"
        )

    rows = "\n".join(joint(k, j) for k, j in enumerate(joints))
    solver = f"Solver(method: RealTime, control: Constant(step: {STEP}))"
    return bristle.Scene.parse(f"Scene(links: [{links}], joints: [{rows}], solver: {solver}, duration: 1.0)")


def model(joints: list[Joint], has_friction: bool, integrator: str) -> mujoco.MjModel:
    def numbers(values: tuple[float, ...]) -> str:
        return " ".join(repr(float(value)) for value in values)

    def body(k: int) -> str:
        j = joints[k]
        inner = "".join(body(i) for i, other in enumerate(joints) if other.parent == k)
        loss = j.friction if has_friction else 0.0
        return (
            f'<body pos="{numbers(j.offset)}"><joint type="hinge" axis="{numbers(j.axis)}" armature="{j.armature}" '
            f'frictionloss="{loss}"/><inertial mass="{j.mass}" pos="{numbers(j.center)}" '
            f'diaginertia="{numbers(j.inertia)}"/>{inner}</body>'
        )

    bodies = "".join(body(k) for k, j in enumerate(joints) if j.parent < 0)
    option = f'<option timestep="{STEP}" integrator="{integrator}" gravity="0 0 -9.81"/>'
    return mujoco.MjModel.from_xml_string(f"<mujoco>{option}<worldbody>{bodies}</worldbody></mujoco>")


def starts(n_joints: int) -> np.ndarray:
    """Positions of the copies."""
    return np.random.default_rng(1).uniform(0.2, 0.8, (N, n_joints))


class Ours:
    def __init__(self, joints: list[Joint], law: str, threads: int = 2) -> None:
        self.batch = bristle.Batch(scene(joints, law), N, threads=threads)
        self.q, self.out = starts(len(joints)), {}

    def run(self, steps: int) -> tuple[float, float, np.ndarray]:
        self.batch.reset()
        self.batch.set_state(self.q, np.zeros_like(self.q))
        self.batch.rollout(STEP, 2)
        clock, processor = time.perf_counter(), time.process_time()
        self.out[steps] = self.batch.rollout(STEP, steps, out=self.out.get(steps))
        return time.perf_counter() - clock, time.process_time() - processor, self.batch.q.copy()


class Theirs:
    def __init__(self, joints: list[Joint], has_friction: bool, integrator: str, threads: int = 2) -> None:
        self.model = model(joints, has_friction, integrator)
        self.data = [mujoco.MjData(self.model) for _ in range(threads)]
        self.rollout = mujoco.rollout.Rollout(nthread=threads)
        size = mujoco.mj_stateSize(self.model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        self.initial = np.zeros((N, size))
        self.initial[:, 1 : 1 + len(joints)] = starts(len(joints))
        self.n = len(joints)

    def run(self, steps: int) -> tuple[float, float, np.ndarray]:
        # their rollout begins at the given states; ours has gone two steps before
        self.rollout.rollout(self.model, self.data, self.initial[:8], nstep=2)
        clock, processor = time.perf_counter(), time.process_time()
        states, _ = self.rollout.rollout(self.model, self.data, self.initial, nstep=steps)
        return time.perf_counter() - clock, time.process_time() - processor, states[:, -1, 1 : 1 + self.n]


def difference(joints: list[Joint]) -> float:
    """Of an angle after 0.1 s without friction, for 16 copies."""
    sim = bristle.Scene.parse(scene(joints, "none").to_ron())
    sim.update({"solver.method": "Dopri5", "solver.control": "Error(rtol: 1e-10, atol: 1e-12)"})
    batch = bristle.Batch(sim, 16)
    q = starts(len(joints))[:16]
    batch.set_state(q, np.zeros_like(q))
    batch.step(0.1)
    return float(np.abs(Theirs(joints, False, "RK4").run(100)[2][:16] - batch.q).max())


if __name__ == "__main__":
    print(
        "| machine | models differ by, rad | ours, steps per second (of processor time) | MuJoCo, Euler | MuJoCo, "
        "implicitfast | times the faster, clock | processor time |\n|---|---|---|---|---|---|---|"
    )
    for name, joints, law, steps in (
        ("double pendulum, dry", PENDULUM, "dry", 500),
        ("seven-joint arm, LuGre", ARM, "LuGre", 200),
        ("36 joints, dry", LEGS, "dry", 50),
    ):
        engines: list[Ours | Theirs] = [Ours(joints, law)]
        engines += [Theirs(joints, True, integrator) for integrator in ("Euler", "implicitfast")]
        best = np.full((3, 2), np.inf)
        for _ in range(4):
            for k, engine in enumerate(engines):
                best[k] = np.minimum(best[k], engine.run(steps)[:2])
        rates = N * steps / best
        ours, *theirs = (f"{clock:.3g} ({processor:.3g})" for clock, processor in rates)
        clock, processor = rates[0] / rates[1:].max(axis=0)
        cells = [f"{difference(joints):.0e}", ours, *theirs, f"{clock:.1f}", f"{processor:.1f}"]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
