"""Environments: Gymnasium's own checks, seeding, autoreset modes, randomised friction, learning."""

import pathlib
import sys
from typing import Any

import numpy as np
import pytest

import bristle

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.spaces import Box  # noqa: E402
from gymnasium.utils import env_checker  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

from bristle.gym import Env, VectorEnv  # noqa: E402

SCENE = pathlib.Path(__file__).parents[1] / "examples/pendulum.ron"
sys.path.insert(0, str(SCENE.parent))


def arguments(**others: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "dt": 0.02,
        "reward": lambda q, v, action: -np.abs(q[:, 0]),
        "noise": 0.1,
        "max_steps": 10,
        "limit": 0.5,
        "randomize": {"hinge.coulomb": (0.01, 0.1)},
    }
    return {**usual, **others}


def test_the_environment_passes_the_checks_of_gymnasium() -> None:
    env_checker.check_env(Env(SCENE, **arguments()), skip_render_check=True)
    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.wrappers.TimeLimit(Env(SCENE, **arguments()), 5))
    env.reset(seed=3)
    for _ in range(5):
        _, _, _, is_cut, info = env.step(env.action_space.sample())
    assert is_cut and info["episode"]["l"] == 5


def test_the_vector_environment_passes_the_same_checks() -> None:
    envs = VectorEnv(SCENE, 3, **arguments())
    assert isinstance(envs, gymnasium.vector.VectorEnv)
    for check in (
        env_checker.check_reset_seed_determinism,
        env_checker.check_reset_options,
        env_checker.check_reset_return_type,
    ):
        check(envs)
    # its checks of steps want one flag, not one per episode
    action, steps = envs.action_space.sample(), []
    for _ in range(2):
        envs.reset(seed=123)
        steps.append(envs.step(action))
    assert env_checker.data_equivalence(steps[0], steps[1], exact=True)
    assert not any(np.shares_memory(one, other) for one, other in zip(steps[0][:4], steps[1][:4], strict=True))
    observation, info = envs.reset(seed=1)
    assert observation in envs.observation_space and info == {}
    wrapped = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    wrapped.reset(seed=1)
    for _ in range(12):
        wrapped.step(wrapped.action_space.sample())


def test_an_episode_is_the_simulation() -> None:
    efforts = np.array([0.3, -0.2, 0.4, 0.0, 0.1])
    env = Env(SCENE, **arguments(noise=0.0, randomize=None))
    observation, _ = env.reset(seed=1)
    sim = bristle.Simulation(SCENE)
    assert (observation == [*sim.q, *sim.v]).all()
    for effort in efforts:
        observation, reward, is_over, is_cut, _ = env.step(np.array([effort]))
        sim.efforts[0] = effort
        sim.step(0.02)
        assert (observation == [*sim.q, *sim.v]).all() and reward == -abs(sim.q[0])
        assert not is_over and not is_cut


def test_seeds_decide_whatever_the_number_of_threads() -> None:
    runs = []
    for threads in (1, 2):
        envs = VectorEnv(SCENE, 8, **arguments(threads=threads))
        envs.reset(seed=7)
        envs.action_space.seed(5)
        runs.append([envs.step(envs.action_space.sample())[0] for _ in range(25)])
    assert np.array_equal(runs[0], runs[1])
    assert len(np.unique(runs[0][0][:, 0])) == 8


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_autoreset_modes(mode: AutoresetMode) -> None:
    """Only copy 0 falls; the others are cut off later."""
    envs = VectorEnv(
        SCENE,
        3,
        **arguments(
            autoreset_mode=mode,
            noise=0.0,
            randomize=None,
            max_steps=8,
            ends=lambda q, v: np.abs(q[:, 0]) > 0.02,
        ),
    )
    start, _ = envs.reset(seed=1)
    action = np.array([[0.5], [0.0], [0.0]])
    for step in range(1, 20):
        observation, reward, end, cut, info = envs.step(action)
        if end.any():
            break
    assert end.tolist() == [True, False, False] and 1 < step < 8 and not cut.any()
    if mode is AutoresetMode.SAME_STEP:
        assert (observation[0] == start[0]).all() and abs(info["final_obs"][0, 0]) > 0.02
    else:
        assert abs(observation[0, 0]) > 0.02
    if mode is AutoresetMode.DISABLED:
        with pytest.raises(bristle.RefusedError, match="reset them first"):
            envs.step(action)
        observation, _ = envs.reset(options={"reset_mask": np.array([True, False, False])})
        assert (observation[0] == start[0]).all()
        return
    observation, reward, end, cut, _ = envs.step(action)
    if mode is AutoresetMode.NEXT_STEP:
        assert (observation[0] == start[0]).all() and reward[0] == 0.0 and not end[0] and not cut[0]
    while not cut.any():
        observation, reward, end, cut, _ = envs.step(action)
    assert cut.tolist() == [False, True, True]


def test_friction_is_drawn_anew_for_every_episode() -> None:
    envs = VectorEnv(SCENE, 50, **arguments(max_steps=3))
    seen = []
    for _ in range(2):
        envs.reset(seed=None)
        laws = [envs.batch.friction_law("hinge", k) for k in range(50)]
        seen.append([float(law.split("coulomb:")[1].split(",")[0]) for law in laws])
    levels = np.array(seen)
    assert (levels >= 0.01).all() and (levels <= 0.1).all() and levels.std() > 0.01
    assert (levels[0] != levels[1]).all()


def test_targets_of_drives() -> None:
    scene = bristle.Scene.load(SCENE)
    scene.set("joints.hinge.drive", "Pid(kp: 40.0, ki: 0.0, kd: 4.0, target: Constant(0.0))")
    envs = VectorEnv(scene, 2, **arguments(action="target", max_steps=None, noise=0.0))
    envs.reset(seed=1)
    for _ in range(100):
        observation, *_ = envs.step(np.array([[0.3], [-0.3]]))
    # the controller gives way to gravity and friction: 0.5 · 9.81 · 0.4 · sin(0.3)/40 + 0.15/40
    assert observation[:, 0] == pytest.approx([0.3, -0.3], abs=0.03)
    assert envs.batch.drive_names == ["hinge"]


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"dt": 0.0}, "`dt` is 0.0"),
        ({"dt": np.nan}, "`dt` is nan"),
        ({"noise": -1.0}, "`noise` is -1.0"),
        ({"max_steps": 0}, "`max_steps` is 0"),
        ({"limit": [1.0, 2.0]}, r"`limit` has shape \(2,\)"),
        ({"limit": -1.0}, "`limit` is -1.0"),
        ({"joints": "hinge"}, "list of different names"),
        ({"joints": ["hinge", "hinge"]}, "list of different names"),
        ({"randomize": {"hinge": (0.0, 0.1)}}, "JOINT.PARAMETER"),
        ({"randomize": {"hing.coulomb": (0.0, 0.1)}}, "hing"),
        ({"randomize": {"hinge.colomb": (0.0, 0.1)}}, "colomb"),
        ({"randomize": {"hinge.coulomb": (0.1, 0.0)}}, "pair"),
        ({"randomize": {"hinge.coulomb": 0.1}}, "pair"),
        ({"randomize": {"hinge.coulomb": (-0.1, 0.1)}}, "0 or more"),
    ],
)
def test_wrong_arguments_are_refused_before_any_episode(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(bristle.RefusedError, match=message):
        VectorEnv(SCENE, 2, **arguments(**wrong))


def test_actions_are_bounded_by_the_largest_effort_of_a_joint() -> None:
    scene = bristle.Scene.load(SCENE, set={"joints.hinge.effort_limit": 0.7})
    for machine, bound in ((scene, 0.7), (SCENE, 1.0)):
        envs = VectorEnv(machine, 2, **arguments(limit=None))
        assert envs.single_action_space == Box(-bound, bound, (1,), np.float64)
    envs = VectorEnv(SCENE, 2, **arguments(reward=lambda q, v, action: action[:, 0]))
    envs.reset(seed=1)
    rewards = envs.step(np.array([[9.0], [-0.25]]))[1]
    assert rewards.tolist() == [0.5, -0.25] and envs.batch.efforts.tolist() == [[0.5], [-0.25]]
    # whole numbers and lists are actions, too
    assert envs.step([[1], [0]])[1].tolist() == [0.5, 0.0]  # type: ignore[arg-type]


def test_functions_of_arrays_have_their_shapes() -> None:
    for name, function in {"reward": lambda q, v, a: np.zeros((2, 1)), "ends": lambda q, v: np.zeros(3)}.items():
        envs = VectorEnv(SCENE, 2, **arguments(**{name: function}))
        envs.reset(seed=1)
        with pytest.raises(bristle.RefusedError, match=rf"`{name}` has shape .*; the shape wanted is \(\) or \(2,\)"):
            envs.step(np.zeros((2, 1)))
    envs = VectorEnv(SCENE, 2, **arguments(reward=lambda q, v, a: 1.0))
    for mask in ([True], [0, 1]):
        with pytest.raises(bristle.RefusedError, match="reset_mask"):
            envs.reset(seed=1, options={"reset_mask": mask})
    envs.reset(seed=1)
    assert envs.step(np.zeros((2, 1)))[1].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_episodes_are_those_of_gymnasiums_own_vector_environment(mode: AutoresetMode) -> None:
    """Single environments step to rounding like those of a batch, which steps several copies at once."""
    usual = arguments(noise=0.0, randomize=None, max_steps=7, ends=lambda q, v: np.abs(q[:, 0]) > 0.02)
    theirs = gymnasium.vector.SyncVectorEnv([lambda: Env(SCENE, **usual)] * 3, autoreset_mode=mode)
    ours = VectorEnv(SCENE, 3, **usual, autoreset_mode=mode)
    rng = np.random.default_rng(1)
    theirs.reset(seed=1)
    ours.reset(seed=1)
    n_over = 0
    for _ in range(60):
        actions = rng.uniform(-0.5, 0.5, (3, 1))
        one, other = theirs.step(actions), ours.step(actions)
        for x, y in zip(one[:4], other[:4], strict=True):
            assert x == pytest.approx(y, abs=1e-12)
        over = one[2] | one[3]
        n_over += over.sum()
        if mode is AutoresetMode.SAME_STEP and over.any():
            assert (one[4]["_final_obs"] == other[4]["_final_obs"]).all()
            last = np.stack(list(one[4]["final_obs"][over]))
            assert last == pytest.approx(other[4]["final_obs"][over], abs=1e-12)
        if mode is AutoresetMode.DISABLED and over.any():
            theirs.reset(options={"reset_mask": over})
            ours.reset(options={"reset_mask": over})
    assert n_over > 20


def test_an_episode_does_not_depend_on_those_beside_it() -> None:
    """Copies that begin again at other times, or sit in another place, have the same bits."""
    usual = arguments(noise=0.0, randomize=None, max_steps=None, autoreset_mode=AutoresetMode.DISABLED)
    efforts = 0.3 * np.sin(np.arange(30.0))
    alike, mixed = VectorEnv(SCENE, 2, **usual), VectorEnv(SCENE, 5, **usual)
    alike.reset(seed=1)
    mixed.reset(seed=1)
    wanted = [alike.step(np.full((2, 1), effort))[0][0] for effort in efforts]
    began = np.zeros(5, dtype=int)
    for step in range(40):
        masks = {3: [True, False, False, False, False], 7: [False, True, True, False, False]}
        if step in masks:
            mask = np.array(masks[step])
            mixed.reset(options={"reset_mask": mask})
            began[mask] = step
        age = step - began
        observations = mixed.step(efforts[np.minimum(age, 29)][:, None])[0]
        for k in range(5):
            assert age[k] >= 30 or (observations[k] == wanted[age[k]]).all(), (step, k)


def test_refusals() -> None:
    with pytest.raises(bristle.RefusedError, match="hing"):
        VectorEnv(SCENE, 2, **arguments(joints=["hing"]))
    with pytest.raises(bristle.RefusedError, match=r"the shape wanted is \(2, 1\)"):
        envs = VectorEnv(SCENE, 2, **arguments())
        envs.reset(seed=1)
        envs.step(np.zeros((3, 1)))


def test_a_failed_simulation_ends_its_episode() -> None:
    envs = VectorEnv(SCENE, 2, **arguments(limit=np.inf, noise=0.0, max_steps=None))
    envs.reset(seed=1)
    _, reward, end, _, info = envs.step(np.array([[np.nan], [0.0]]))
    assert end.tolist() == [True, False] and info["error"][0] and info["error"][1] is None
    observation, _, end, _, info = envs.step(np.zeros((2, 1)))
    assert not end.any() and "error" not in info and np.isfinite(observation).all()


def test_a_policy_learns_to_balance() -> None:
    import balance

    assert balance.balanced(np.zeros(4), 50) < 0.4
    assert balance.balanced(balance.learn(6, is_told=False), 50) > 0.8


def test_episodes_do_not_depend_on_those_beside_them() -> None:
    def first(n: int, others: float) -> list[np.ndarray]:
        envs = VectorEnv(
            SCENE,
            n,
            dt=0.02,
            reward=lambda q, v, action: -q[:, 0] ** 2,
            ends=lambda q, v: np.abs(q[:, 0]) > 0.5,
            limit=5.0,
            noise=0.1,
            randomize={"hinge.coulomb": (0.02, 0.15)},
            max_steps=20,
        )
        observations = [envs.reset(seed=3)[0][0].copy()]
        for _ in range(60):
            actions = np.full((n, 1), others)
            actions[0] = 1.0
            observations.append(envs.step(actions)[0][0].copy())
        return observations

    assert np.array_equal(first(2, 0.0), first(5, 4.0))
