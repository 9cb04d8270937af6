"""Gymnasium environments on `Batch`: thousands of copies of one machine in one process.

>>> import numpy as np
>>> from bristle.gym import VectorEnv
>>> envs = VectorEnv(
...     "scenes/double_pendulum_coulomb.ron",
...     num_envs=64,
...     dt=0.02,
...     reward=lambda q, v, action: -(q[:, 0] ** 2) - 0.01 * action[:, 0] ** 2,
...     limit=5.0,
...     noise=0.05,
...     randomize={"elbow.coulomb": (0.1, 0.3)},
...     max_steps=100,
... )
>>> observations, infos = envs.reset(seed=1)
>>> observations.shape
(64, 4)
>>> observations, rewards, terminations, truncations, infos = envs.step(envs.action_space.sample())

Rewards, ends and observations are functions of whole arrays: `q` is `(n, n_q)`, `v` is `(n, n_v)`, `action` is
`(n, n_actions)`. The machine is stepped by the Rust library, on all cores; nothing numerical happens here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from ._bristle import Batch, Scene, Simulation
from .errors import RefusedError

__all__ = ["Env", "VectorEnv"]

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Machine: TypeAlias = "Simulation | Scene | str | PathLike[str]"

Reward: TypeAlias = Callable[[Floats, Floats, Floats], npt.ArrayLike]
"""From `q`, `v` and `action` after a step to `(n,)`."""
Ends: TypeAlias = Callable[[Floats, Floats], npt.ArrayLike]
"""From `q` and `v` to `(n,)` of bool: where an episode is over."""
Observe: TypeAlias = Callable[[Floats, Floats], npt.ArrayLike]
"""From `q` and `v` to `(n, k)`."""
Start: TypeAlias = Callable[[np.random.Generator, Floats, Floats], tuple[npt.ArrayLike, npt.ArrayLike]]
"""From a generator and the states `q`, `v` of the scene, `(m, …)`, to those in which `m` episodes begin."""
Draw: TypeAlias = Callable[[np.random.Generator, int], Mapping[str, npt.ArrayLike]]
Randomize: TypeAlias = Mapping[str, tuple[float, float]] | Draw
"""Friction parameters, `"elbow.coulomb"`, by range (uniform) or by a function of a generator and a number of
episodes."""


class VectorEnv(gymnasium.vector.VectorEnv[Floats, Floats, npt.NDArray[Any]]):
    """Many episodes of one machine at once.

    `machine` is a simulation, a scene or the file of one; `dt` is the control period, s; `reward` is a function of
    arrays.

    - `action`: `"effort"` on `joints`, N·m or N, or `"target"` of their drives. `limit` bounds it, one number or one
      per joint: actions beyond it are clipped, as the bounds of `action_space` say. If left out it is the
      `effort_limit` of a joint that has one, and 1.0 elsewhere. `joints` are all revolute and prismatic ones if left
      out, or for targets those with a drive.
    - `observe`: positions beside velocities if left out.
    - `ends`: never if left out. An episode is cut off after `max_steps`.
    - `noise`: positions and velocities of the scene plus uniform noise of this half width begin an episode;
      `start(generator, q, v)` gives the states in which m episodes begin from those of the scene, `(m, …)`. Couplings
      allow `start` only.
    - `randomize`: friction parameters drawn anew for every episode.
    - `autoreset_mode`: as in Gymnasium, `NEXT_STEP`, `SAME_STEP` or `DISABLED` (then `reset(options={"reset_mask":
      …})`).

    A copy whose simulation fails ends its episode with reward 0 and `infos["error"]`. All randomness follows from the
    seed of `reset`, whatever the number of threads. Each copy draws `noise` and ranges of `randomize` from a generator
    of its own, so that its episodes do not depend on those beside it, to the last bit; functions (`start`, `randomize`)
    share one.
    """

    metadata: dict[str, Any]

    def __init__(
        self,
        machine: Machine,
        num_envs: int = 1,
        *,
        dt: float,
        reward: Reward,
        action: Literal["effort", "target"] = "effort",
        joints: Sequence[str] | None = None,
        limit: npt.ArrayLike | None = None,
        observe: Observe | None = None,
        ends: Ends | None = None,
        max_steps: int | None = None,
        noise: float = 0.0,
        start: Start | None = None,
        randomize: Randomize | None = None,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        threads: int | None = None,
    ) -> None:
        for name, value, is_valid, wanted in (
            ("dt", dt, np.isfinite(dt) and dt > 0.0, "positive and finite"),
            ("noise", noise, np.isfinite(noise) and noise >= 0.0, "0 or more and finite"),
            ("max_steps", max_steps, max_steps is None or max_steps >= 1, "at least 1, or None"),
        ):
            if not is_valid:
                raise RefusedError(f"`{name}` is {value}; it must be {wanted}")
        sim = machine if isinstance(machine, Simulation) else Simulation(machine)
        self.batch = Batch(sim, num_envs, threads=threads)
        self.dt = dt
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": AutoresetMode(autoreset_mode), "render_modes": []}
        self.render_mode = None
        self._mode = AutoresetMode(autoreset_mode)
        self._reward, self._ends, self._start, self._randomize = reward, ends, start, randomize
        # views of the library's memory, which show every later state
        self._q, self._v = self.batch.q, self.batch.v
        self._observe = observe
        self._max_steps, self._noise = max_steps, noise

        # where actions go
        coordinates = sim.coordinates
        self._is_target = action == "target"
        if action == "effort":
            joints = list(coordinates) if joints is None else joints
            places = {name: k for name, (_, k) in coordinates.items()}
        elif action == "target":
            joints = self.batch.drive_names if joints is None else joints
            places = {name: k for k, name in enumerate(self.batch.drive_names)}
        else:
            raise RefusedError(f"`action` is {action!r}; it must be 'effort' or 'target'")
        if isinstance(joints, str) or len(set(joints)) != len(joints):
            raise RefusedError(f"`joints` is {joints!r}; it must be a list of different names")
        unknown = [name for name in joints if name not in places]
        if unknown or not joints:
            known = ", ".join(places) or "none"
            raise RefusedError(f"there is no {action} of joint {unknown or 'at all'}; there is {known}")
        self._places = [places[name] for name in joints]
        if limit is None:
            limits = [sim.effort_limit(name) for name in joints]
            limit = [1.0 if self._is_target or np.isinf(own) else own for own in limits]
        self._bound = _spread("limit", limit, len(joints))
        if not (self._bound >= 0.0).all():
            raise RefusedError(f"`limit` is {limit!r}; it must be 0 or more")
        self.single_action_space = Box(-self._bound, self._bound, dtype=np.float64)
        self.action_space = batch_space(self.single_action_space, num_envs)

        # where episodes begin
        self._q0, self._v0 = self._q[0].copy(), self._v[0].copy()
        width = np.shape(self._observation())
        if len(width) != 2 or width[0] != num_envs:
            raise RefusedError(f"`observe` gives shape {width}; the shape wanted is ({num_envs}, k)")
        self.single_observation_space = Box(-np.inf, np.inf, (width[1],), dtype=np.float64)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._steps = np.zeros(num_envs, dtype=np.int64)
        self._over = np.zeros(num_envs, dtype=np.bool_)
        self._streams: list[np.random.Generator] = []
        if randomize is not None and not callable(randomize):
            self._check(randomize)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begins all episodes, or those of `options["reset_mask"]`."""
        super().reset(seed=seed)
        mask = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, dtype=np.bool_)))
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            given = f"{mask.dtype} and shape {mask.shape}"
            raise RefusedError(f"`reset_mask` has dtype {given}; bool and shape ({self.num_envs},) are wanted")
        if seed is not None:
            self._streams = []
        self._begin(mask)
        return self._observation(), {}

    def step(
        self, actions: Floats
    ) -> tuple[Floats, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Acts for one control period in every episode."""
        is_over = np.count_nonzero(self._over) > 0
        if is_over and self._mode is AutoresetMode.DISABLED:
            raise RefusedError(f"episodes {np.flatnonzero(self._over)} are over: reset them first")
        fresh = self._over.copy() if is_over and self._mode is AutoresetMode.NEXT_STEP else None
        actions, has_failed = self.batch._act(actions, self._places, self._bound, self.dt, self._is_target)
        self._steps += 1

        infos: dict[str, Any] = {}
        rewards = _spread("reward", self._reward(self._q, self._v, actions), self.num_envs)
        ends = np.zeros(self.num_envs, dtype=np.bool_)
        if self._ends is not None:
            ends = _spread("ends", self._ends(self._q, self._v), self.num_envs, np.bool_)
        if has_failed:
            failures = self.batch.failures
            failed = list(failures)
            ends[failed], rewards[failed] = True, 0.0
            infos["error"] = np.array([failures.get(k) for k in range(self.num_envs)], dtype=object)
            infos["_error"] = np.isin(np.arange(self.num_envs), failed)
        if self._max_steps is None:
            cut = np.zeros(self.num_envs, dtype=np.bool_)
        else:
            cut = self._steps >= self._max_steps

        # episodes that ended in the step before begin with this one
        if fresh is not None:
            self._begin(fresh)
            rewards[fresh], ends[fresh], cut[fresh] = 0.0, False, False
        self._over = ends | cut
        if self._mode is AutoresetMode.SAME_STEP and np.count_nonzero(self._over) > 0:
            over = self._over.copy()
            infos["final_obs"], infos["_final_obs"] = self._observation(), over
            self._begin(over)
        return self._observation(), rewards, ends, cut, infos

    def close_extras(self, **kwargs: Any) -> None:
        """There is nothing to close."""

    def _observation(self) -> Floats:
        if self._observe is None:
            return np.concatenate((self._q, self._v), axis=1)
        return np.array(self._observe(self._q, self._v), dtype=np.float64)

    def _begin(self, mask: Flags) -> None:
        """Begins episodes: states and friction of the scene, noise, drawn parameters."""
        m = int(np.count_nonzero(mask))
        if m == 0:
            return
        self.batch.reset(mask)
        q, v = np.tile(self._q0, (m, 1)), np.tile(self._v0, (m, 1))
        if self._start is not None:
            given = self._start(self.np_random, q, v)
            self.batch.set_state(given[0], given[1], mask)
        elif self._noise > 0.0:
            n_q = q.shape[1]
            noise = self._uniform(mask, -self._noise, self._noise, n_q + v.shape[1])
            self.batch.set_state(q + noise[:, :n_q], v + noise[:, n_q:], mask)
        self._draw(mask, m)
        self._steps[mask], self._over[mask] = 0, False

    def _uniform(self, mask: Flags, low: float, high: float, k: int) -> Floats:
        """k numbers for each copy, from its own generator."""
        if not self._streams:
            self._streams = self.np_random.spawn(self.num_envs)
        return np.array([self._streams[copy].uniform(low, high, k) for copy in np.flatnonzero(mask)])

    def _check(self, randomize: Mapping[str, tuple[float, float]]) -> None:
        """Refuses ranges that no law would take, before any episode."""
        start = self.batch.snapshot(0)
        for name, bounds in randomize.items():
            contact, _, parameter = name.rpartition(".")
            if not contact:
                raise RefusedError(f"`randomize` has {name!r}; write 'JOINT.PARAMETER', such as 'elbow.coulomb'")
            if np.shape(bounds) != (2,) or not bounds[0] <= bounds[1]:
                raise RefusedError(f"`randomize` of {name!r} is {bounds!r}; it must be a pair (low, high)")
            self.batch.friction_law(contact)
        # ends of ranges that only go together, such as coulomb and stiction, are tried together
        for end in (0, 1):
            of: dict[str, dict[str, Any]] = {}
            for name, bounds in randomize.items():
                contact, _, parameter = name.rpartition(".")
                of.setdefault(contact, {})[parameter] = bounds[end]
            for contact, parameters in of.items():
                self.batch.set_friction(contact, copies=[0], **parameters)
        self.batch.restore(0, start)

    def _draw(self, mask: Flags, m: int) -> None:
        if self._randomize is None:
            return
        if callable(self._randomize):
            drawn = dict(self._randomize(self.np_random, m))
        else:
            drawn = {name: self._uniform(mask, low, high, 1)[:, 0] for name, (low, high) in self._randomize.items()}
        of: dict[str, dict[str, Any]] = {}
        for name, values in drawn.items():
            contact, _, parameter = name.rpartition(".")
            of.setdefault(contact, {})[parameter] = values
        for contact, parameters in of.items():
            self.batch.set_friction(contact, copies=mask, **parameters)


def _spread(what: str, values: npt.ArrayLike, n: int, dtype: Any = np.float64) -> npt.NDArray[Any]:
    """One number for all, or one each, as an array of its own."""
    array = np.array(values, dtype=dtype)
    if array.shape == (n,):
        return array
    if array.shape != ():
        raise RefusedError(f"`{what}` has shape {array.shape}; the shape wanted is () or ({n},)")
    return np.full(n, array)


class Env(gymnasium.Env[Floats, Floats]):
    """One episode of a machine: a `VectorEnv` of one copy, with the same arguments. Functions get arrays of one row.

    >>> from gymnasium.utils.env_checker import check_env
    >>> from bristle.gym import Env
    >>> env = Env("scenes/single_pendulum.ron", dt=0.02, reward=lambda q, v, action: -q[:, 0] ** 2, max_steps=200)
    >>> check_env(env, skip_render_check=True)
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, machine: Machine, **arguments: Any) -> None:
        self.vector = VectorEnv(machine, 1, **{"threads": 1, **arguments, "autoreset_mode": AutoresetMode.DISABLED})
        self.observation_space = self.vector.single_observation_space
        self.action_space = self.vector.single_action_space
        self.render_mode = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Begins an episode."""
        super().reset(seed=seed)
        # one generator: the wrappers of Gymnasium look at that of the environment
        self.vector._np_random = self.np_random
        if seed is not None:
            self.vector._streams = []
        observation, info = self.vector.reset()
        return observation[0], info

    def step(self, action: Floats) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Acts for one control period."""
        observation, reward, end, cut, infos = self.vector.step(np.asarray(action)[None])
        info = {name: value[0] for name, value in infos.items() if not name.startswith("_")}
        return observation[0], float(reward[0]), bool(end[0]), bool(cut[0]), info
