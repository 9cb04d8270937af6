"""Scenes: reading, changing, saving, refusing."""

import copy
import pathlib
import pickle

import numpy as np
import pytest

import bristle


def test_values_by_path_reach_the_machine() -> None:
    scene = bristle.Scene.load("scenes/double_pendulum_coulomb.ron", set={"duration": 1})
    scene.set("joints.elbow.friction.coulomb", np.float64(0.125))
    scene.set("solver.method", "Radau5")
    scene.set("gravity", np.array([0.0, 0.0, -1.62]))
    assert scene.duration == 1.0 and scene.method == "Radau5" and scene.gravity == (0.0, 0.0, -1.62)
    assert "coulomb: 0.125" in bristle.Simulation(scene).friction_law("elbow")


def test_saved_scenes_read_back_equal(tmp_path: pathlib.Path) -> None:
    scene = bristle.Scene.load("scenes/gearbox_three_speed.ron", set={"duration": 0.1})
    scene.save(tmp_path / "again.ron")
    again = bristle.Scene.load(tmp_path / "again.ron")
    assert again == scene and again.to_ron() == scene.to_ron()
    scene.set("duration", 0.2)
    assert again != scene


def test_copies_are_independent_and_pickle() -> None:
    robot = bristle.Scene.load(
        "crates/bristle/examples/robot.urdf", friction="crates/bristle/examples/friction.ron", floating=True
    )
    others = [robot.copy(), copy.copy(robot), copy.deepcopy(robot), pickle.loads(pickle.dumps(robot))]
    robot.set("duration", 3.0)
    for other in others:
        assert other != robot
        other.set("duration", 3.0)
        assert other == robot


def test_refused_scenes_say_file_line_and_caret(tmp_path: pathlib.Path) -> None:
    text = pathlib.Path("scenes/double_pendulum.ron").read_text().replace("mass:", "mas:", 1)
    (tmp_path / "wrong.ron").write_text(text)
    with pytest.raises(bristle.SceneError) as caught:
        bristle.Scene.load(tmp_path / "wrong.ron")
    line = next(k for k, line in enumerate(text.splitlines(), 1) if "mas:" in line)
    assert f"wrong.ron:{line}:" in str(caught.value) and "^" in str(caught.value)
    assert caught.value.problems[0].line == line
    assert isinstance(caught.value, ValueError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.problems == caught.value.problems


def test_refused_values_change_nothing() -> None:
    scene = bristle.Scene.load("scenes/double_pendulum_coulomb.ron")
    before = scene.to_ron()
    with pytest.raises(bristle.SceneError, match=r"Scene.set:1:\d+(.|\n)*\^") as caught:
        scene.set("joints.elbow.friction.coulomb", -1.0)
    assert caught.value.problems[0].file == "Scene.set"
    with pytest.raises(bristle.RefusedError, match="a set is no value"):
        scene.set("duration", {1.0})
    assert scene.to_ron() == before


def test_missing_files_are_refused() -> None:
    with pytest.raises(bristle.SceneError, match="nowhere.ron"):
        bristle.Scene.load("nowhere.ron")
