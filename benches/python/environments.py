"""Environment steps per second of `bristle.gym.VectorEnv` beside MuJoCo in Gymnasium's vector environments.

    pip install '.[gym]' mujoco imageio && python benches/python/environments.py

One machine in both: a double pendulum, two rods of 1 kg and 0.5 m, dry friction of 0.1 N·m in both joints, an effort on
each joint. Steps are those of Gymnasium's InvertedDoublePendulum, five of 10 ms per control period, and 20 of 1 ms.
Engines take turns; the best of five rounds counts. Processor time is that of all threads of the process; workers of
`AsyncVectorEnv` are processes of their own and are not in it.
"""

import pathlib
import tempfile
import time
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.mujoco import MujocoEnv
from gymnasium.spaces import Box

import bristle
from bristle.gym import VectorEnv

SCENE = """Scene(
    links: [
        Link(name: "upper", mass: 1.0, center_of_mass: (0.0, 0.0, -0.25), inertia: Diagonal(0.02, 0.02, 0.001)),
        Link(name: "lower", mass: 1.0, center_of_mass: (0.0, 0.0, -0.25), inertia: Diagonal(0.02, 0.02, 0.001)),
    ],
    joints: [
        Joint(name: "shoulder", parent: "world", child: "upper", kind: Revolute(axis: (0.0, 1.0, 0.0)),
              friction: Coulomb(coulomb: 0.1)),
        Joint(name: "elbow", parent: "upper", child: "lower", kind: Revolute(axis: (0.0, 1.0, 0.0)),
              placement: Placement(translation: (0.0, 0.0, -0.5)), friction: Coulomb(coulomb: 0.1)),
    ],
    solver: Solver(method: RealTime),
)"""
MODEL = """<mujoco>
  <compiler angle="radian"/><option timestep="{step}" integrator="implicitfast"/>
  <worldbody><body name="upper">
    <joint name="shoulder" type="hinge" axis="0 1 0" frictionloss="0.1"/>
    <inertial pos="0 0 -0.25" mass="1" diaginertia="0.02 0.02 0.001"/>
    <body name="lower" pos="0 0 -0.5">
      <joint name="elbow" type="hinge" axis="0 1 0" frictionloss="0.1"/>
      <inertial pos="0 0 -0.25" mass="1" diaginertia="0.02 0.02 0.001"/>
    </body>
  </body></worldbody>
  <actuator><motor joint="shoulder"/><motor joint="elbow"/></actuator>
</mujoco>"""


RATES = {5: 20, 20: 50}
"""Frames per second by steps per control period."""


class Pendulum(MujocoEnv):
    """The pendulum as the environments of Gymnasium are written."""

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array", "depth_array", "rgbd_tuple"], "render_fps": 50}

    def __init__(self, path: str, substeps: int) -> None:
        self.metadata = {**self.metadata, "render_fps": RATES[substeps]}
        space = Box(-np.inf, np.inf, (4,), dtype=np.float64)
        super().__init__(path, substeps, observation_space=space)
        self.action_space = Box(-1.0, 1.0, (2,), dtype=np.float64)

    def _observe(self) -> np.ndarray[Any, Any]:
        return np.concatenate([self.data.qpos, self.data.qvel])

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.do_simulation(action, self.frame_skip)
        return self._observe(), -float(self.data.qpos[0] ** 2), False, False, {}

    def reset_model(self) -> Any:
        noise = self.np_random.uniform(-0.1, 0.1, 4)
        self.set_state(self.init_qpos + noise[:2], self.init_qvel + noise[2:])
        return self._observe()


def rate(envs: Any, steps: int) -> tuple[float, float]:
    """Steps of an environment per second on the clock, and per second of processor time."""
    envs.reset(seed=1)
    actions = [envs.action_space.sample() for _ in range(8)]
    envs.step(actions[0])
    start, processor = time.perf_counter(), time.process_time()
    for k in range(steps):
        envs.step(actions[k % 8])
    n = envs.num_envs * steps
    return n / (time.perf_counter() - start), n / (time.process_time() - processor)


def compare(folder: pathlib.Path, step: float, substeps: int) -> None:
    path = folder / f"pendulum_{substeps}.xml"
    path.write_text(MODEL.format(step=step))
    scene = bristle.Scene.parse(SCENE, set={"solver.control": f"Constant(step: {step})"})
    makers = [lambda: Pendulum(str(path), substeps)]

    def ours(n: int) -> VectorEnv:
        return VectorEnv(scene, n, dt=step * substeps, reward=lambda q, v, action: -(q[:, 0] ** 2), noise=0.1)

    candidates: dict[str, tuple[Any, int]] = {
        "MuJoCo, `SyncVectorEnv`, 16": (gymnasium.vector.SyncVectorEnv(makers * 16), 60),
        "MuJoCo, `AsyncVectorEnv`, 2": (gymnasium.vector.AsyncVectorEnv(makers * 2), 300),
        "bristle, `VectorEnv`, 16": (ours(16), 400),
        "bristle, `VectorEnv`, 256": (ours(256), 80),
        "bristle, `VectorEnv`, 1024": (ours(1024), 20),
    }
    rates = {name: (0.0, 0.0) for name in candidates}
    for _ in range(5):
        for name, (envs, steps) in candidates.items():
            clock, processor = rate(envs, steps)
            rates[name] = (max(rates[name][0], clock), max(rates[name][1], processor))
    best = max(clock for name, (clock, _) in rates.items() if name.startswith("MuJoCo"))
    serial = rates["MuJoCo, `SyncVectorEnv`, 16"][1]
    print(f"\n{substeps} steps of {1e3 * step:g} ms per control period:\n")
    print("| environments | per second | of MuJoCo's best | per second of processor time | of MuJoCo's |")
    print("|---|---|---|---|---|")
    for name, (clock, processor) in rates.items():
        own = ("–", "–") if "Async" in name else (f"{processor:,.0f}", f"{processor / serial:.1f}")
        print(f"| {name} | {clock:,.0f} | {clock / best:.1f} | {own[0]} | {own[1]} |", flush=True)
    for envs, _ in candidates.values():
        envs.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        compare(pathlib.Path(folder), 0.01, 5)
        compare(pathlib.Path(folder), 0.001, 20)
