"""What the library offers beside the essentials is reached from Python: limits, drives, loops, stops, links, counts."""

import pickle

import numpy as np
import pytest

import bristle

ARM = "scenes/arm_3dof.ron"
PENDULUM = "scenes/double_pendulum_coulomb.ron"
PID = "Pid(kp: 50.0, kd: 5.0, target: Constant(0.5))"


def driven() -> bristle.Scene:
    return bristle.Scene.load(ARM, set={"joints.yaw.drive": PID})


def test_numbers_by_name_are_those_of_the_arrays() -> None:
    sim = bristle.Simulation("scenes/double_pendulum_lugre.ron")
    sim.step(0.3)
    for name, (_, k) in sim.coordinates.items():
        assert sim.acceleration(name) == sim.a[k]
    for k, name in enumerate(sim.contact_names):
        assert sim.load(name) == sim.loads[k] and sim.bristle(name) == tuple(sim.bristles[k])
    assert (sim.bristles[:, 0] != 0.0).any()
    assert sim.channel_names == sim.run(0.4).names


def test_effort_limits_act_on_drive_and_caller_together() -> None:
    scene = bristle.Scene.load(ARM, set={"joints.yaw.effort_limit": 3.0, "joints.yaw.drive": "Effort(Constant(2.0))"})
    sim, free = bristle.Simulation(scene), bristle.Simulation(ARM)
    assert sim.effort_limit("yaw") == 3.0 and sim.effort_limit("elbow") == np.inf
    sim.efforts[0] = 10.0
    assert sim.effort("yaw") == 3.0
    # as much as 3 N·m from a caller alone
    free.set_drive("yaw", "Effort(Constant(3.0))")
    sim.step(0.1)
    free.step(0.1)
    assert sim.q == pytest.approx(free.q, abs=1e-6) and sim.effort("yaw") == 3.0
    recording = sim.run(0.2)
    assert recording.last("yaw.effort") == 3.0


def test_drives_can_be_read_and_changed() -> None:
    sim = bristle.Simulation(driven())
    assert sim.drive_names == ["yaw"] and "kp: 50.0" in sim.drive("yaw")
    sim.set_drive("yaw", kp=80.0)
    other = bristle.Simulation(bristle.Scene.load(ARM, set={"joints.yaw.drive": PID.replace("50.0", "80.0")}))
    sim.set_drive("elbow", "Pull(stiffness: 5.0, target: Constant(0.1))")
    other.set_drive("elbow", "Pull(stiffness: 5.0, target: Constant(0.1))")
    again = pickle.loads(pickle.dumps(sim))
    for machine in (sim, other, again):
        machine.step(0.1)
    assert (sim.q == other.q).all() and (sim.q == again.q).all() and again.drive_names == ["yaw", "elbow"]
    assert "kp: 80.0" in sim.run(0.2).report()


@pytest.mark.parametrize(
    "joint, drive, parameters, message",
    [
        ("yaw", None, {"kp": np.nan}, "finite"),
        ("yaw", None, {"kb": 1.0}, "kb"),
        ("yaw", "Pid(kp: 1.0", {}, r"Scene.set:1:\d+(.|\n)*\^"),
        ("yaw", "Pid(kb: 1.0, target: Constant(0.0))", {}, r"unknown field `kb`(.|\n)*\^\^(.|\n)*did you mean `kp`"),
        ("shoulder", None, {"kp": 1.0}, "`shoulder` has no drive; those of yaw"),
        ("jaw", PID, {}, "jaw"),
        ("yaw", "Pull(stiffness: -1.0, target: Constant(0.0))", {}, "stiffness"),
    ],
)
def test_refused_drives_change_nothing(
    joint: str, drive: str | None, parameters: dict[str, float], message: str
) -> None:
    sim = bristle.Simulation(driven())
    sim.step(0.05)
    before, text = sim.snapshot(), sim.drive("yaw")
    with pytest.raises(bristle.RefusedError, match=message):
        sim.set_drive(joint, drive, **parameters)
    assert sim.snapshot() == before and sim.drive("yaw") == text and sim.drive_names == ["yaw"]


def test_counts_in_drives_stay_counts() -> None:
    servo = "Servo(kp: 10.0, kd: 1.0, difference: 2, period: 1e-3, target: Constant(0.3))"
    sim = bristle.Simulation(bristle.Scene.load(ARM, set={"joints.yaw.drive": servo}))
    sim.set_drive("yaw", difference=4)
    assert "difference: 4," in sim.drive("yaw")
    with pytest.raises(bristle.RefusedError):
        sim.set_drive("yaw", difference=1.5)


def test_laws_that_are_set_again_and_again_are_remembered_once() -> None:
    sim = bristle.Simulation(PENDULUM)
    sizes = []
    for k in range(3):
        sim.set_friction("elbow", coulomb=0.125 + 0.125 * k, stiction=0.5)
        sim.set_load("elbow", "Constant(2.0)")
        sizes.append(len(pickle.dumps(sim)))
    assert sizes[2] == pytest.approx(sizes[0], abs=16)
    again = pickle.loads(pickle.dumps(sim))
    assert again.load_law("elbow") == "Constant(2.0)" and "coulomb: 0.375" in again.friction_law("elbow")


def test_velocities_of_links_are_jacobians_times_velocities() -> None:
    sim = bristle.Simulation(ARM)
    sim.set_state([0.3, -0.4, 0.5], [0.2, -0.3, 0.4])
    for link in sim.link_names:
        point = [0.1, 0.2, -0.05]
        assert sim.link_velocity(link, point) == pytest.approx(sim.jacobian(link, point) @ sim.v, abs=1e-14)


def test_wrenches_in_world_axes_are_turned() -> None:
    one, other = bristle.Simulation(ARM), bristle.Simulation(ARM)
    for sim in (one, other):
        sim.set_state([0.3, -0.4, 0.5], [0.0, 0.0, 0.0])
    turn = one.pose("fore")[:3, :3]
    moment, force = np.array([0.1, -0.2, 0.3]), np.array([1.0, 2.0, 3.0])
    one.set_world_wrench("fore", moment, force)
    other.set_wrench("fore", turn.T @ moment, turn.T @ force)
    one.step(0.01)
    other.step(0.01)
    assert one.q == pytest.approx(other.q, abs=1e-12) and (one.v != 0.0).all()
    batch = bristle.Batch(ARM, 2)
    batch.set_state(np.tile([0.3, -0.4, 0.5], (2, 1)), np.zeros((2, 3)))
    batch.set_world_wrench("fore", [[*moment, *force]], copies=[1])
    batch.step(0.01)
    assert batch.q[1] == pytest.approx(one.q, abs=1e-12) and (batch.q[0] != batch.q[1]).all()


def test_freedom_of_machines_with_couplings_and_loops() -> None:
    loop = bristle.Simulation("scenes/four_bar.ron")
    assert loop.freedom == 1 < len(loop.v) and loop.reduced_mass_matrix().shape == (1, 1)
    assert loop.independent.tolist() == [int(loop.independent[0])]
    # kinetic energy of the motion that the closure allows
    loop.step(0.2)
    k = loop.independent
    assert loop.energy().kinetic == pytest.approx(0.5 * loop.v[k] @ loop.reduced_mass_matrix() @ loop.v[k], rel=1e-9)
    assert loop.scene.coupling_names and not bristle.Scene.load(PENDULUM).coupling_names
    arm = bristle.Simulation(ARM)
    assert arm.freedom == 3 and (arm.reduced_mass_matrix() == arm.mass_matrix()).all()


def test_stops_are_events_and_channels() -> None:
    recording = bristle.Simulation("scenes/pendulum_stop.ron").run()
    kinds = {event.kind for event in recording.events}
    assert "stop" in kinds and any(name.endswith(".stop") for name in recording.names)
    again = pickle.loads(pickle.dumps(recording))
    assert {event.kind for event in again.events} == kinds
    # the same in steps, to rounding: each output interval of the run ends one
    sim = bristle.Simulation("scenes/pendulum_stop.ron")
    stepped = []
    while sim.time < recording.t[-1] - 1e-9:
        sim.step(sim.scene.interval)
        stepped += sim.events
    assert [(event.joint, event.kind) for event in stepped] == [(event.joint, event.kind) for event in recording.events]
    assert [event.t for event in stepped] == pytest.approx([event.t for event in recording.events], abs=1e-6)


def test_counts_of_the_solver() -> None:
    sim = bristle.Simulation(PENDULUM)
    recording = sim.run(1.0)
    assert recording.stats == sim.stats and sim.stats["n_accepted"] > 10 and sim.stats["n_events"] > 0
    assert pickle.loads(pickle.dumps(recording)).stats is None and recording.scene == sim.scene


def test_copies_have_links_and_reactions_of_simulations() -> None:
    batch = bristle.Batch("scenes/double_pendulum_lugre.ron", 3)
    batch.set_state(np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]), np.ones((3, 2)))
    batch.step(0.05)
    assert batch.poses.shape == (3, 2, 4, 4) and batch.reactions.shape == (3, 2, 6)
    for k in range(3):
        sim = batch.simulation(k)
        sim.refresh()
        assert np.array_equal(batch.poses[k], sim.poses) and np.array_equal(batch.reactions[k], sim.reactions)
        velocities = [sim.link_velocity(link) for link in batch.link_names]
        assert np.array_equal(batch.link_velocities[k], velocities) and batch.reaction_names == sim.reaction_names
        assert np.array_equal(batch.jacobian(k, "lower"), sim.jacobian("lower"))
        assert np.array_equal(batch.bristles[k], sim.bristles) and (sim.bristles[:, 0] != 0.0).all()


def test_copies_have_drives_of_their_own() -> None:
    batch = bristle.Batch(driven(), 3)
    batch.set_drive("yaw", kp=[20.0, 40.0, 80.0])
    sims = [bristle.Simulation(driven()) for _ in range(3)]
    for sim, kp in zip(sims, (20.0, 40.0, 80.0), strict=True):
        sim.set_drive("yaw", kp=kp)
        sim.step(0.1)
    batch.step(0.1)
    assert np.array_equal(batch.q, [sim.q for sim in sims])
    before = [batch.snapshot(k) for k in range(3)]
    for arguments in ({"kp": [1.0, 2.0]}, {"kp": [1.0, 2.0, np.inf]}, {"drive": "Effort(Constant(1.0))"}):
        with pytest.raises(bristle.RefusedError):
            batch.set_drive("yaw", **arguments)
    assert [batch.snapshot(k) for k in range(3)] == before


def test_targets_are_kept_by_parameters_and_forgotten_by_drives() -> None:
    batch = bristle.Batch(driven(), 3)
    batch.targets[:] = 0.9
    batch.set_drive("yaw", kp=30.0, copies=[0])
    batch.set_drive("yaw", PID, copies=[1])
    batch.step(1e-3)
    assert [0.9 if "Constant(0.9)" in batch.drive("yaw", k) else 0.5 for k in range(3)] == [0.9, 0.5, 0.9]
    assert "kp: 30.0" in batch.drive("yaw", 0) and np.isnan(batch.targets[1, 0]) and batch.targets[0, 0] == 0.9


def test_numbers_of_a_scene_by_path() -> None:
    scene = driven()
    assert scene.number("joints.yaw.drive.kp") == 50.0
    scene.set("joints.yaw.drive.kp", 60)
    assert scene.number("joints.yaw.drive.kp") == 60.0
    with pytest.raises(bristle.SceneError, match="no number at `joints.yaw.drive.kq`"):
        scene.number("joints.yaw.drive.kq")
