"""Sweeps on one machine: the table of the command, to the last bit."""

import csv
import pathlib
import subprocess

import numpy as np
import pytest

import bristle
from bristle import sweeps

pytest.importorskip("pyarrow")

SCENE = "scenes/double_pendulum_coulomb.ron"
LEVEL = "joints.elbow.friction.coulomb"


def test_rows_are_ends_of_runs() -> None:
    table = sweeps.table(SCENE, {LEVEL: np.array([0.1, 0.2]), "duration": [0.5]}, threads=2)
    for row in table.to_pylist():
        sim = bristle.Simulation(bristle.Scene.load(SCENE, set={LEVEL: row[LEVEL], "duration": 0.5}))
        recording = sim.run()
        assert row["error"] is None and all(row[name] == recording.last(name) for name in recording.names)


def test_refused_points_are_rows_with_a_reason() -> None:
    table = sweeps.table(SCENE, [{LEVEL: level, "duration": 0.1} for level in (0.1, -1.0, 0.3)])
    assert [error is None for error in table["error"].to_pylist()] == [True, False, True]
    assert "coulomb" in table["error"][1].as_py() and table["t"].to_pylist() == [0.1, None, 0.1]


def test_values_may_be_words() -> None:
    table = sweeps.table(SCENE, {"solver.method": ["Dopri5", "Radau5"], "duration": [0.1]})
    assert table["solver.method"].to_pylist() == ["Dopri5", "Radau5"] and table["error"].null_count == 2


def test_points_must_agree() -> None:
    with pytest.raises(bristle.RefusedError, match="point 1 has the paths b"):
        sweeps.points([{"a": 1}, {"b": 1}])
    with pytest.raises(bristle.RefusedError, match="no points"):
        sweeps.points({"a": []})


def test_the_command_makes_the_same_table(tmp_path: pathlib.Path) -> None:
    """To the last bit where command and module are of one profile; a release build rounds as a debug build does,
    too."""
    command = pathlib.Path("target/debug/bristle")
    if not command.exists():
        pytest.skip("the command is not built")
    out = tmp_path / "sweep.csv"
    ranges = [f"{LEVEL}=-0.1:0.3:5", "duration=0.5:1:2"]
    arguments = [text for one in ranges for text in ("--set", one)]
    done = subprocess.run([command, "sweep", SCENE, *arguments, "--out", out, "-q"])
    assert done.returncode == 1, "some points are refused"
    with open(out, newline="") as file:
        header, *lines = list(csv.reader(file))
    wanted = [dict(zip(header, line, strict=True)) for line in lines]
    values = {LEVEL: sorted({float(row[LEVEL]) for row in wanted}), "duration": [0.5, 1.0]}
    table = sweeps.table(SCENE, values)
    assert table.column_names == header
    for row, other in zip(table.to_pylist(), wanted, strict=True):
        assert {name: "" if value is None else value for name, value in row.items()} == {
            name: text if name == "error" or text == "" else float(text) for name, text in other.items()
        }
