"""Environment steps per second of `bristle.gym.VectorEnv` beside MuJoCo's environments in Gymnasium's vector
environments.

    pip install '.[gym]' mujoco && python benches/python/environments.py

One machine in both: a double pendulum, two rods of 1 kg and 0.5 m, dry friction of 0.1 N·m in both joints, steps of 1
ms, a control period of 20 ms, an effort on each joint. Engines take turns, and the best rate of each counts.
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
    solver: Solver(method: RealTime, control: Constant(step: 1e-3)),
)"""
MODEL = """<mujoco>
  <compiler angle="radian"/><option timestep="0.001" integrator="implicitfast"/>
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


class Pendulum(MujocoEnv):
    """The pendulum as the environments of Gymnasium are written."""

    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array", "depth_array", "rgbd_tuple"], "render_fps": 50}

    def __init__(self, path: str) -> None:
        space = Box(-np.inf, np.inf, (4,), dtype=np.float64)
        super().__init__(path, 20, observation_space=space)
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


def rate(envs: Any, steps: int) -> float:
    envs.reset(seed=1)
    actions = [envs.action_space.sample() for _ in range(8)]
    envs.step(actions[0])
    start = time.perf_counter()
    for k in range(steps):
        envs.step(actions[k % 8])
    return envs.num_envs * steps / (time.perf_counter() - start)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "pendulum.xml")
        path.write_text(MODEL)
        scene = bristle.Scene.parse(SCENE)
        makers = [lambda: Pendulum(str(path))]

        def ours(n: int) -> VectorEnv:
            return VectorEnv(scene, n, dt=0.02, reward=lambda q, v, action: -(q[:, 0] ** 2), noise=0.1)

        candidates: dict[str, tuple[Any, int]] = {
            "MuJoCo, `SyncVectorEnv`, 16": (gymnasium.vector.SyncVectorEnv(makers * 16), 60),
            "MuJoCo, `AsyncVectorEnv`, 2": (gymnasium.vector.AsyncVectorEnv(makers * 2), 300),
            "MuJoCo, `AsyncVectorEnv`, 16": (gymnasium.vector.AsyncVectorEnv(makers * 16), 60),
            "bristle, `VectorEnv`, 16": (ours(16), 200),
            "bristle, `VectorEnv`, 256": (ours(256), 40),
            "bristle, `VectorEnv`, 2048": (ours(2048), 10),
        }
        rates = {name: 0.0 for name in candidates}
        for _ in range(5):
            for name, (envs, steps) in candidates.items():
                rates[name] = max(rates[name], rate(envs, steps))
        best = max(value for name, value in rates.items() if name.startswith("MuJoCo"))
        print("| environments | steps of an environment per second | of MuJoCo's best |\n|---|---|---|")
        for name, value in rates.items():
            print(f"| {name} | {value:,.0f} | {value / best:.2f} |")
        for envs, _ in candidates.values():
            envs.close()


if __name__ == "__main__":
    main()
