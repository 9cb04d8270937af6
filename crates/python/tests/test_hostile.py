"""What callers may get wrong is refused, and nothing has happened then."""

import _thread
import gc
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import bristle

ARM = "scenes/arm_3dof.ron"
PENDULUM = "scenes/double_pendulum_coulomb.ron"


def test_ctrl_c_ends_a_run() -> None:
    sim = bristle.Simulation(bristle.Scene.load("scenes/chain_10.ron", set={"duration": 1e6}))
    timer = threading.Timer(0.3, _thread.interrupt_main)
    start = time.perf_counter()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        sim.run()
    assert 0.0 < sim.time < 1e6 and time.perf_counter() - start < 30.0
    sim.step(1e-3)


@pytest.mark.parametrize(
    "call",
    [
        lambda batch: bristle.Batch(ARM, 10**7 + 1),
        lambda batch: bristle.Batch(ARM, -1),
        lambda batch: bristle.Batch(ARM, 2, threads=0),
        lambda batch: bristle.Batch(ARM, 2, threads=-1),
        lambda batch: batch.rollout(1e-3, -1),
        lambda batch: batch.rollout(1e-3, 2, np.zeros((3, 2, 3), dtype=complex)),
        lambda batch: batch.rollout(1e-3, 2, out=bristle.Batch(PENDULUM, 3).rollout(1e-3, 2)),
        lambda batch: setattr(batch, "efforts", np.zeros((3, 2))),
        lambda batch: setattr(batch, "efforts", 1j),
        lambda batch: batch.set_state([[1.0] * 3, [2.0] * 3, [np.nan] * 3], np.zeros((3, 3))),
        lambda batch: batch.set_state(np.zeros((2, 3)), [[0.0] * 3, [np.inf] * 3], copies=[2, 0]),
        lambda batch: batch.step(-1.0),
        lambda batch: batch.step(float("nan")),
        lambda batch: batch.rollout(1e-3, 10**15),
        lambda batch: batch.rollout(1e-3, 2, np.full((3, 2, 3), np.nan)),
        lambda batch: batch.rollout(1e-3, 2, "efforts"),
        lambda batch: batch.set_state(np.full((3, 3), np.nan), np.zeros((3, 3))),
        lambda batch: batch.set_state([[None]], np.zeros((3, 3))),
        lambda batch: batch.set_friction("elbow", "Coulomb(coulomb: 0.3"),
        lambda batch: batch.set_friction("nothing", coulomb=0.3),
        lambda batch: batch.reset(np.array([True])),
        lambda batch: batch.restore(0, b"no snapshot"),
        lambda batch: batch.restore(0, batch.snapshot(0)[:-1]),
        lambda batch: batch.restore(7, batch.snapshot(0)),
        lambda batch: batch.energy(3),
    ],
)
def test_refused_calls_of_a_batch_change_nothing(call: Callable[[bristle.Batch], object]) -> None:
    batch = bristle.Batch(ARM, 3)
    batch.step(1e-2)
    before = [batch.snapshot(k) for k in range(3)]
    with pytest.raises((ValueError, TypeError)):
        call(batch)
    assert [batch.snapshot(k) for k in range(3)] == before


@pytest.mark.parametrize(
    "call",
    [
        lambda sim: sim.step(-1.0),
        lambda sim: sim.step(float("inf")),
        lambda sim: sim.run(float("nan")),
        lambda sim: sim.set_state([np.inf, 0.0, 0.0], [0.0, 0.0, 0.0]),
        lambda sim: sim.set_joint("nothing", 0.0),
        lambda sim: sim.set_joint(sim.velocity_names[0], float("nan")),
        lambda sim: sim.set_friction(sim.velocity_names[0], "Coulomb(coulomb: -1.0)"),
        lambda sim: sim.restore(b""),
        lambda sim: sim.restore(bristle.Simulation(PENDULUM).snapshot()),
        lambda sim: sim.set_state([1j, 0.0, 0.0], [0.0, 0.0, 0.0]),
        lambda sim: sim.jacobian("nothing"),
        lambda sim: sim.inverse_dynamics([0.0]),
        lambda sim: sim.set_target(sim.velocity_names[0], float("nan")),
    ],
)
def test_refused_calls_of_a_simulation_change_nothing(call: Callable[[bristle.Simulation], object]) -> None:
    sim = bristle.Simulation(ARM)
    sim.step(1e-2)
    before = sim.snapshot()
    with pytest.raises(ValueError):
        call(sim)
    assert sim.snapshot() == before


def test_numbers_of_any_kind_and_layout_are_taken() -> None:
    batch = bristle.Batch(ARM, 2)
    efforts = np.arange(12).reshape(2, 3, 2)
    one = batch.rollout(1e-3, 2, efforts.transpose(0, 2, 1)).q.copy()
    batch.reset()
    other = batch.rollout(1e-3, 2, efforts.transpose(0, 2, 1).astype(float).copy()).q
    assert (one == other).all()
    assert batch.rollout(1e-3, 0).q.shape == (2, 0, 3)
    # no joint of this arm has friction
    assert batch.friction_efforts.shape == batch.loads.shape == batch.modes.shape == (2, 0)


def test_refused_friction_of_one_copy_changes_no_copy() -> None:
    batch = bristle.Batch(PENDULUM, 3)
    batch.step(1e-2)
    before = [batch.snapshot(k) for k in range(3)]
    for levels in ([0.1, 0.2, np.nan], [0.1, 0.2, -0.3], [0.1, 0.2]):
        with pytest.raises(bristle.RefusedError):
            batch.set_friction("elbow", coulomb=levels)
    assert [batch.snapshot(k) for k in range(3)] == before


def test_ctrl_c_ends_a_rollout() -> None:
    for settings in ({}, {"solver.method": "RealTime", "solver.control": "Constant(step: 1e-4)"}):
        batch = bristle.Batch(bristle.Scene.load(PENDULUM, set=settings), 100)
        # the time of a first one tells that the second is long
        batch.rollout(1e-2, 2)
        timer = threading.Timer(0.3, _thread.interrupt_main)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            batch.rollout(1e-2, 20_000)
        timer.join()
        # copies that had their turn are done; the others stay where they were, and all go on
        assert 0.0 <= batch.time.min() < 200.0 and np.isfinite(batch.q).all()
        before = batch.time
        batch.step(1e-2)
        assert batch.time == pytest.approx(before + 1e-2)


def test_arrays_outlive_the_batch() -> None:
    batch = bristle.Batch(PENDULUM, 5)
    rollout = batch.rollout(1e-3, 3)
    q, efforts, rolled = batch.q, batch.efforts, rollout.q
    last = rolled[:, -1].copy()
    del batch, rollout
    gc.collect()
    efforts[:] = 1.0
    assert (q == last).all() and (rolled[:, -1] == last).all()


def test_one_simulation_in_two_threads_is_refused_not_raced() -> None:
    sim = bristle.Simulation(bristle.Scene.load("scenes/chain_10.ron"))
    thread = threading.Thread(target=lambda: sim.run(2.0))
    thread.start()
    outcomes: set[type] = set()
    while thread.is_alive():
        try:
            outcomes.add(type(sim.time))
        except RuntimeError as error:
            outcomes.add(type(error))
    thread.join()
    assert outcomes <= {float, RuntimeError} and sim.time == 2.0
