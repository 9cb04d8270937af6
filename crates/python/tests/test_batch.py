"""Batches: every copy is the simulation it was made of, to the last bit; arrays are the library's memory."""

import numpy as np
import pytest

import bristle

SCENE = "scenes/double_pendulum_coulomb.ron"
ARM = "scenes/arm_3dof.ron"


def test_copies_equal_simulations_bit_by_bit() -> None:
    levels = np.linspace(0.05, 0.4, 5)
    batch = bristle.Batch(SCENE, 5, threads=2)
    batch.set_friction("elbow", coulomb=levels, stiction=1.5 * levels)
    sims = [bristle.Simulation(SCENE) for _ in levels]
    for sim, level in zip(sims, levels, strict=True):
        sim.set_friction("elbow", coulomb=level, stiction=1.5 * level)
    for _ in range(20):
        batch.step(0.02)
        for k, sim in enumerate(sims):
            sim.step(0.02)
            assert (batch.q[k] == sim.q).all() and (batch.v[k] == sim.v).all()
            assert (batch.friction_efforts[k] == sim.friction_efforts).all() and (batch.modes[k] == sim.modes).all()
            assert (batch.loads[k] == sim.loads).all() and batch.time[k] == sim.time
    assert len(np.unique(batch.q[:, 1])) == 5


def test_arrays_are_views_of_one_memory() -> None:
    batch = bristle.Batch(ARM, 7)
    q, efforts = batch.q, batch.efforts
    before = q.copy()
    efforts[3, 0] = 5.0
    batch.step(0.02)
    assert np.shares_memory(q, batch.q) and (q != before).any() and id(q.base) == id(batch)
    assert q[3, 0] > q[2, 0] and (q[2] == q[4]).all()
    with pytest.raises(ValueError, match="read-only"):
        q[0, 0] = 1.0
    batch.efforts = 0.0
    assert (efforts == 0.0).all()
    del batch
    assert np.isfinite(q).all()


def test_rollout_equals_steps() -> None:
    rng = np.random.default_rng(1)
    efforts = rng.normal(size=(4, 10, 3))
    rolled, stepped = bristle.Batch(ARM, 4), bristle.Batch(ARM, 4)
    rollout = rolled.rollout(5e-3, 10, efforts)
    assert rollout.q.shape == (4, 10, 3) and not rollout.q.flags.owndata
    for s in range(10):
        stepped.efforts = efforts[:, s]
        stepped.step(5e-3)
        assert (rollout.q[:, s] == stepped.q).all() and (rollout.v[:, s] == stepped.v).all()
    # the same memory again
    q = rollout.q
    last = q[:, -1].copy()
    again = rolled.rollout(5e-3, 10, efforts, out=rollout)
    assert again is rollout and np.shares_memory(again.q, q) and (q[:, -1] != last).any()
    with pytest.raises(bristle.RefusedError, match="`out` is of 4 copies and 10 steps"):
        rolled.rollout(5e-3, 11, out=rollout)


def test_targets_and_wrenches_act() -> None:
    scene = bristle.Scene.load(ARM)
    for joint in scene.joint_names:
        scene.set(f"joints.{joint}.drive", "Pid(kp: 50.0, ki: 0.0, kd: 5.0, target: Constant(0.0))")
    batch = bristle.Batch(scene, 3)
    assert batch.targets.shape == (3, 3) and np.isnan(batch.targets).all()
    single = bristle.Simulation(scene)
    single.set_target(scene.joint_names[0], 0.7)
    batch.targets[1, 0] = 0.7
    batch.wrenches[2, 0] = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    batch.step(0.05)
    single.step(0.05)
    assert (batch.q[1] == single.q).all() and (batch.q[0] != batch.q[1]).any() and (batch.q[0] != batch.q[2]).any()
    batch.reset([1])
    assert np.isnan(batch.targets[1]).all() and batch.time[1] == 0.0 and batch.time[0] == 0.05


def test_states_by_number_and_mask() -> None:
    batch = bristle.Batch(SCENE, 4)
    batch.set_state(np.ones((2, 2)), np.zeros((2, 2)), copies=[0, 2])
    assert (batch.q[[0, 2]] == 1.0).all() and (batch.q[1] != 1.0).any()
    batch.reset(np.array([True, False, False, False]))
    assert (batch.q[0] == batch.q[1]).all() and (batch.q[2] == 1.0).all()
    for copies in ([4], [-1]):
        with pytest.raises(bristle.RefusedError, match="there is no copy"):
            batch.reset(copies)


def test_wrong_shapes_say_which_was_wanted() -> None:
    batch = bristle.Batch(ARM, 4)
    with pytest.raises(bristle.RefusedError, match=r"`q` has shape \(3,\); the shape wanted is \(4, 3\)"):
        batch.set_state(np.zeros(3), np.zeros((4, 3)))
    with pytest.raises(bristle.RefusedError, match=r"`efforts` has shape \(4, 3\); the shape wanted is \(4, 2, 3\)"):
        batch.rollout(1e-3, 2, np.zeros((4, 3)))
    with pytest.raises(bristle.RefusedError, match="at least one copy"):
        bristle.Batch(ARM, 0)


def test_failed_copies_leave_the_others_alone() -> None:
    batch = bristle.Batch(ARM, 3)
    batch.efforts[1, 0] = np.inf
    with pytest.raises(bristle.RefusedError, match="copy 1"):
        batch.step(1e-2)
    assert batch.time.tolist() == [0.01, 0.0, 0.01] and list(batch.failures) == [1]
    batch.step(1e-2, check=False)
    batch.efforts[1, 0] = 0.0
    batch.step(1e-2)
    assert batch.failures == {}


def test_a_copy_as_a_simulation() -> None:
    batch = bristle.Batch(SCENE, 3)
    batch.set_friction("elbow", coulomb=[0.1, 0.2, 0.3], stiction=0.4)
    batch.step(0.1)
    sim = batch.simulation(2)
    assert (sim.q == batch.q[2]).all() and sim.friction_law("elbow") == batch.friction_law("elbow", 2)
    batch.step(0.1)
    sim.step(0.1)
    assert (sim.q == batch.q[2]).all()


def test_machines_without_drives_have_empty_targets() -> None:
    batch = bristle.Batch("scenes/double_pendulum.ron", 3)
    assert batch.targets.shape == (3, 0)
    batch.step(1e-3)
    batch.reset()
    assert batch.targets.shape == (3, 0)


def test_endless_rollouts_are_refused() -> None:
    batch = bristle.Batch("scenes/double_pendulum.ron", 3)
    for steps in (2**40, 2**62):
        with pytest.raises(bristle.RefusedError):
            batch.rollout(1e-3, steps)
