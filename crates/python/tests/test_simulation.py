"""Simulations: the same numbers as the library, views, setters, snapshots, errors."""

import _thread
import copy
import pickle
import threading
import time

import numpy as np
import pytest

import bristle

ARM = "scenes/arm_3dof.ron"


def test_a_stuck_block_has_velocity_zero() -> None:
    # closed form: half swings of 2 * 0.02 m less each, from 0.19 m: stops at 0.19 - 0.36 + ... below 0.02 m
    recording = bristle.Simulation("scenes/coulomb_oscillator.ron").run()
    assert recording.last("slide.velocity") == 0.0
    assert abs(recording.last("slide.position")) <= 0.02
    assert recording.events[-1].after == 0


def test_pendulum_keeps_its_energy_and_period() -> None:
    """A point mass on a massless rod swings with T = 4 K(sin(a/2)) sqrt(l/g), by the arithmetic-geometric mean."""
    text = """Scene(
        gravity: (0.0, -9.81, 0.0),
        links: [Link(name: "bob", mass: 1.0, center_of_mass: (0.0, -0.7, 0.0), inertia: Diagonal(0.0, 0.0, 0.0))],
        joints: [
            Joint(name: "hinge", parent: "world", child: "bob", kind: Revolute(axis: (0.0, 0.0, 1.0)), position: 1.2),
        ],
        solver: Solver(method: Dopri5, control: Error(rtol: 1e-11, atol: 1e-12)),
    )"""
    sim = bristle.Simulation(bristle.Scene.parse(text))
    a, g = 1.0, np.cos(0.6)
    for _ in range(6):
        a, g = (a + g) / 2, np.sqrt(a * g)
    period = 2 * np.pi / a * np.sqrt(0.7 / 9.81)
    sim.step(period)
    assert sim.position("hinge") == pytest.approx(1.2, abs=1e-8)
    assert abs(sim.energy().balance) < 1e-8


def test_arrays_are_views_that_stay_current() -> None:
    sim = bristle.Simulation(ARM)
    q, v, a, friction = sim.q, sim.v, sim.a, sim.friction_efforts
    before = q.copy()
    sim.step(0.1)
    assert (q != before).any() and q is sim.q and v is sim.v and a is sim.a and friction is sim.friction_efforts
    assert q[0] == sim.position(sim.position_names[0])
    with pytest.raises(ValueError, match="read-only"):
        q[0] = 1.0
    del sim
    assert np.isfinite(q).all()


def test_efforts_are_written_into_the_view() -> None:
    by_view, by_name, at_once = (bristle.Simulation(ARM) for _ in range(3))
    by_view.efforts[1] = 3.0
    by_name.set_effort(by_name.velocity_names[1], 3.0)
    at_once.efforts = [0.0, 3.0, 0.0]
    for sim in (by_view, by_name, at_once):
        sim.step(0.05)
    assert (by_view.q == by_name.q).all() and (by_view.q == at_once.q).all()
    assert (by_name.efforts == [0.0, 3.0, 0.0]).all()
    by_view.efforts[1] = np.nan
    with pytest.raises(bristle.RefusedError):
        by_view.step(0.05)
    by_view.efforts[1] = 3.0
    by_view.step(0.05)


def test_mechanics_satisfy_newton() -> None:
    """M a + c = tau, by two calls of inverse dynamics: M a = tau(a) - tau(0)."""
    sim = bristle.Simulation(ARM)
    sim.set_state([0.3, -0.4, 0.5], [0.0, 0.0, 0.0])
    a = np.array([0.7, -1.1, 0.4])
    tau, bias = sim.inverse_dynamics(a), sim.inverse_dynamics(np.zeros(3))
    # a joint at rest slides the way `a` points: friction is in the difference, with the sign of `a`
    friction = np.zeros(3)
    for name, (_, k) in sim.coordinates.items():
        if name in sim.contact_names:
            law = sim.friction_law(name)
            friction[k] = float(law.split("coulomb:")[1].split(",")[0].rstrip(")")) * np.sign(a[k])
    mass = sim.mass_matrix()
    assert np.allclose(mass, mass.T) and (np.linalg.eigvalsh(mass) > 0).all()
    if not sim.contact_names:
        assert np.allclose(mass @ a, tau - bias, rtol=1e-10)
    # angular and linear velocity of a point by its Jacobian, against differences of poses
    link = sim.link_names[-1]
    v = np.array([0.2, -0.3, 0.4])
    h = 1e-6
    poses = []
    for s in (-h, h):
        sim.set_state(np.array([0.3, -0.4, 0.5]) + s * v, v)
        sim.refresh()
        poses.append(sim.pose(link))
    sim.set_state([0.3, -0.4, 0.5], v)
    point = [0.1, 0.0, -0.05]
    rate = (poses[1] - poses[0]) @ np.array([*point, 1.0]) / (2 * h)
    assert np.allclose((sim.jacobian(link, point) @ v)[3:], rate[:3], atol=1e-8)


def test_linearization_predicts_small_motions() -> None:
    sim = bristle.Simulation("scenes/double_pendulum.ron")
    sim.set_state([0.1, -0.2], [0.0, 0.0])
    linear = sim.linearize()
    assert linear.a.shape == (4, 4) and linear.unknowns[0].endswith(".position")
    h = 1e-6
    rates = []
    for sign in (-1, 1):
        sim.set_state([0.1 + sign * h, -0.2], [0.0, 0.0])
        sim.refresh()
        rates.append(sim.a.copy())
    slope = (rates[1] - rates[0]) / (2 * h)
    column = linear.unknowns.index(sim.position_names[0] + ".position")
    rows = [linear.unknowns.index(name + ".velocity") for name in sim.velocity_names]
    assert np.allclose(linear.a[rows, column], slope, atol=1e-7 * np.abs(slope).max())


@pytest.mark.parametrize("path", ["scenes/double_pendulum_lugre.ron", "scenes/gearbox_three_speed.ron", ARM])
def test_snapshots_pickles_and_copies_go_on_bit_by_bit(path: str) -> None:
    sim = bristle.Simulation(path)
    sim.step(0.05)
    others = [sim.copy(), copy.deepcopy(sim), pickle.loads(pickle.dumps(sim))]
    state = sim.snapshot()
    sim.step(0.05)
    end = sim.q.copy()
    for other in others:
        other.step(0.05)
        assert (other.q == end).all() and other.time == sim.time
    sim.restore(state)
    sim.step(0.05)
    assert (sim.q == end).all()
    sim.reset()
    assert sim.time == 0.0


def test_pickles_keep_friction_of_another_kind() -> None:
    sim = bristle.Simulation("scenes/double_pendulum_coulomb.ron")
    sim.set_friction("elbow", "LuGre(sigma0: 1e3, sigma1: 1.0, coulomb: 0.2)")
    sim.set_friction("elbow", coulomb=0.25)
    sim.step(0.05)
    other = pickle.loads(pickle.dumps(sim))
    assert other.friction_law("elbow") == sim.friction_law("elbow")
    sim.step(0.05)
    other.step(0.05)
    assert (sim.q == other.q).all() and sim.bristle("elbow") == other.bristle("elbow")


def test_friction_parameters_by_name() -> None:
    sim = bristle.Simulation("scenes/double_pendulum_coulomb.ron")
    sim.set_friction("elbow", "Coulomb(coulomb: 0.2)")
    # stiction that was coulomb stays coulomb
    sim.set_friction("elbow", coulomb=0.3)
    assert "coulomb: 0.3" in sim.friction_law("elbow")
    with pytest.raises(bristle.RefusedError, match="colomb"):
        sim.set_friction("elbow", colomb=0.3)
    with pytest.raises(bristle.RefusedError, match="elbow"):
        sim.set_friction("ellbow", coulomb=0.3)


def test_wrong_shapes_say_which_was_wanted() -> None:
    sim = bristle.Simulation(ARM)
    with pytest.raises(bristle.RefusedError, match=r"`q` has shape \(2,\); the shape wanted is \(3,\)"):
        sim.set_state([0.0, 0.0], [0.0, 0.0, 0.0])
    with pytest.raises(bristle.RefusedError, match=r"`efforts` has shape \(3, 1\); the shape wanted is \(3,\)"):
        sim.efforts = np.zeros((3, 1))
    with pytest.raises(bristle.RefusedError, match="there is no joint `elbwo`"):
        sim.position("elbwo")
    with pytest.raises(bristle.RefusedError, match=r"`moment` has shape \(2,\); the shape wanted is \(3,\)"):
        sim.set_wrench("fore", [0.0, 0.0], [0.0, 0.0, 1.0])
    with pytest.raises(bristle.RefusedError, match=r"`point` has shape \(1, 3\); the shape wanted is \(3,\)"):
        sim.jacobian("fore", [[0.0, 0.0, 0.0]])
    with pytest.raises(bristle.RefusedError, match="`q` is no array of real numbers"):
        sim.set_state([[1.0], [1.0, 2.0]], [0.0, 0.0, 0.0])


def test_wrong_laws_and_scenes_say_what_is_wanted() -> None:
    sim = bristle.Simulation(ARM)
    for machine in (sim, bristle.Batch(ARM, 2)):
        with pytest.raises(bristle.SceneError, match=r"Scene.set:1:\d+(.|\n)*\^(.|\n)*did you mean `Coulomb`"):
            machine.set_friction("yaw", "Coulmb(coulomb: 0.1)")
    with pytest.raises(bristle.RefusedError, match="`yaw` has no friction: give a whole law"):
        sim.set_friction("yaw", coulomb=0.1)
    with pytest.raises(TypeError, match="a `Scene` is wanted, or the name of its file, not 3"):
        bristle.Simulation(3)  # type: ignore[arg-type]


def test_failed_runs_keep_their_rows() -> None:
    scene = bristle.Scene.load("scenes/double_pendulum.ron")
    scene.update({"solver.method": "Euler", "solver.control": "Constant(step: 0.5)", "duration": 1e5})
    with pytest.raises(bristle.SimulationError, match="runs away|finite") as caught:
        bristle.Simulation(scene).run()
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.recording is not None and len(caught.value.recording) > 1


def test_other_threads_run_during_a_run() -> None:
    """Another thread counts and then ends the run: with the lock held it would never come to that."""
    sim = bristle.Simulation(bristle.Scene.load("scenes/chain_10.ron", set={"duration": 1e3}))
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        for _ in range(100):
            ticks += 1
            time.sleep(1e-4)
        _thread.interrupt_main()

    thread = threading.Thread(target=tick)
    with pytest.raises(KeyboardInterrupt):
        thread.start()
        sim.run()
    thread.join()
    assert ticks == 100 and 0.0 < sim.time < 1e3


def test_robots_have_friction_from_a_file() -> None:
    files = ("crates/bristle/examples/robot.urdf", "crates/bristle/examples/friction.ron")
    robot = bristle.Simulation.from_urdf(*files)
    assert robot.contact_names == ["shoulder", "elbow"] and "LuGre" in robot.friction_law("shoulder")
    assert robot.poses.shape == (len(robot.link_names), 4, 4) and len(robot.coordinates) == 2
    # its base has no mass: it cannot float, and the message says where
    with pytest.raises(bristle.SceneError, match=r"robot.urdf:2:15(.|\n)*\^"):
        bristle.Simulation.from_urdf(*files, floating=True)


def test_a_free_body_falls() -> None:
    scene = bristle.Scene.load("scenes/tumbling_body.ron", set={"gravity": (0.0, 0.0, -2.0)})
    sim = bristle.Simulation(scene)
    assert len(sim.q) == 7 and len(sim.v) == 6
    start = sim.poses[0, :3, 3] @ [0.0, 0.0, 1.0]
    other = bristle.Simulation(bristle.Scene.load("scenes/tumbling_body.ron", set={"gravity": (0.0, 0.0, 0.0)}))
    sim.step(0.5)
    other.step(0.5)
    # z = z0 + v t - g t²/2, the centre of mass being the origin of the link or not
    assert sim.q[2] - other.q[2] == pytest.approx(-0.25, rel=1e-6), start
