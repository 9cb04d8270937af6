"""Recordings: arrays without copies, tables of other libraries, files, pictures, reports."""

import pathlib
import pickle
import subprocess

import numpy as np
import pytest

import bristle


@pytest.fixture(scope="module")
def recording() -> bristle.Recording:
    root = pathlib.Path(__file__).resolve().parents[3]
    return bristle.Simulation(root / "scenes/double_pendulum_coulomb.ron").run(2.0)


def test_channels_are_arrays_without_copies(recording: bristle.Recording) -> None:
    t = recording["t"]
    assert not t.flags.owndata and not t.flags.writeable and id(t.base) == id(recording)
    assert np.shares_memory(t, recording.t) and len(t) == len(recording)
    assert np.array_equal(t, np.arange(201) / 100)
    assert dict(recording).keys() == set(recording.names) and "t" in recording
    with pytest.raises(KeyError, match="did you mean `elbow.velocity`"):
        recording["elbow.velocty"]


def test_tables_of_other_libraries_have_the_same_numbers(recording: bristle.Recording) -> None:
    frame = pytest.importorskip("pandas") and recording.to_pandas()
    table = pytest.importorskip("pyarrow") and recording.to_arrow()
    polar = pytest.importorskip("polars") and recording.to_polars()
    assert list(frame.columns) == table.column_names == polar.columns == recording.names
    for name in recording.names:
        assert (frame[name].to_numpy() == recording[name]).all()
        assert (table[name].to_numpy() == recording[name]).all()
        assert (polar[name].to_numpy() == recording[name]).all()


@pytest.mark.parametrize("extension", ["csv", "npz", "json"])
def test_files_read_back_bit_by_bit(recording: bristle.Recording, extension: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / f"out.{extension}"
    recording.save(path)
    again = bristle.Recording.load(path)
    assert again.names == recording.names
    assert all((again[name] == recording[name]).all() for name in recording.names)
    assert extension == "csv" or again.events == recording.events
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_pickles_have_channels_and_events(recording: bristle.Recording) -> None:
    again = pickle.loads(pickle.dumps(recording))
    assert again.events == recording.events and len(again.events) > 0
    assert all((again[name] == recording[name]).all() for name in recording.names)
    assert again._repr_html_().startswith("<svg")
    with pytest.raises(bristle.RefusedError, match="does not know its scene"):
        again.report()


def test_pictures_and_reports(recording: bristle.Recording, tmp_path: pathlib.Path) -> None:
    picture = recording.plot("*.velocity", start=0.5)
    assert picture.svg.startswith("<svg") and "velocity" in picture.svg
    picture.save(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    page = recording.report(tmp_path / "report.html")
    assert page == (tmp_path / "report.html").read_text() and page.startswith("<!")
    html = recording._repr_html_()
    assert html.startswith('<iframe srcdoc="&lt;!') and html.count('"') == 8
    for name in ("plot.gif", "plot"):
        with pytest.raises(bristle.RefusedError, match="svg or .png"):
            picture.save(tmp_path / name)
    with pytest.raises(OSError):
        picture.save(tmp_path / "nowhere" / "plot.svg")


def test_the_command_writes_the_same(recording: bristle.Recording, tmp_path: pathlib.Path) -> None:
    command = pathlib.Path("target/debug/bristle")
    if not command.exists():
        pytest.skip("the command is not built")
    picture, table = tmp_path / "plot.svg", tmp_path / "out.csv"
    scene = "scenes/double_pendulum_coulomb.ron"
    subprocess.run([command, "run", scene, "--until", "2", "--out", table, "--plot", picture, "-q"], check=True)
    again = bristle.Recording.load(table)
    # builds of other optimisation may round differently
    for name in recording.names:
        assert np.allclose(again[name], recording[name], rtol=1e-6, atol=1e-6)
    assert picture.read_text()[:200] == recording.plot().svg[:200]
