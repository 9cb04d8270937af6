"""Sweeps on Ray: workers that die lose nothing, parts that are there are skipped, the table is that of one machine."""

import os
import pathlib
import signal
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

import bristle
from bristle import sweeps

ray = pytest.importorskip("ray")
import bristle.ray  # noqa: E402

SCENE = "scenes/double_pendulum_coulomb.ron"
VALUES = {"joints.elbow.friction.coulomb": [-0.1, *np.linspace(0.05, 0.34, 59)], "duration": [2.0]}


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


def workers() -> list[int]:
    """Processes of this cluster that are at work on a chunk, by their title."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes().startswith(b"ray::bristle.sweep"):
                found.append(int(folder.name))
        except OSError:
            pass
    return found


def test_a_killed_worker_loses_nothing(tmp_path: pathlib.Path) -> None:
    killed: list[int] = []

    def kill() -> None:
        deadline = time.monotonic() + 60.0
        while len(killed) < 2 and time.monotonic() < deadline:
            if len(list(tmp_path.glob("part-*.parquet"))) > len(killed):
                for pid in workers()[:1]:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
            time.sleep(0.01)

    killer = threading.Thread(target=kill)
    killer.start()
    seen: list[tuple[int, int]] = []
    dataset = bristle.ray.sweep(SCENE, VALUES, tmp_path, chunk=4, progress=lambda done, n: seen.append((done, n)))
    killer.join()
    assert killed, "no worker was at work when it should be killed"
    assert seen[-1] == (60, 60)
    assert dataset.to_table().equals(sweeps.table(SCENE, VALUES))
    assert not list(tmp_path.glob("*.partial"))


def test_a_sweep_goes_on_where_it_was(tmp_path: pathlib.Path) -> None:
    whole = bristle.ray.sweep(SCENE, VALUES, tmp_path, chunk=10).to_table()
    parts = sorted(tmp_path.glob("part-*.parquet"))
    assert len(parts) == 6 and whole["error"].null_count == 59
    kept = {path: path.stat().st_mtime_ns for path in parts[1:]}
    parts[0].unlink()
    again = bristle.ray.sweep(SCENE, VALUES, tmp_path)
    assert again.to_table().equals(whole)
    assert {path: path.stat().st_mtime_ns for path in parts[1:]} == kept


def test_a_sweep_that_is_ended_in_the_middle_goes_on(tmp_path: pathlib.Path) -> None:
    def end(done: int, n: int) -> None:
        if done >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bristle.ray.sweep(SCENE, VALUES, tmp_path, chunk=10, progress=end)
    assert len(list(tmp_path.glob("part-*.parquet"))) == 2
    # the half of a part that a killed caller leaves behind is no part
    (tmp_path / ".part-000003.parquet.1.partial").write_bytes(b"half")
    assert bristle.ray.sweep(SCENE, VALUES, tmp_path).to_table().equals(sweeps.table(SCENE, VALUES))


def test_a_folder_of_another_sweep_is_refused(tmp_path: pathlib.Path) -> None:
    few = {"duration": [0.1, 0.2]}
    bristle.ray.sweep(SCENE, few, tmp_path)
    with pytest.raises(bristle.RefusedError, match="another sweep"):
        bristle.ray.sweep(SCENE, {"duration": [0.1, 0.3]}, tmp_path)
    with pytest.raises(bristle.RefusedError, match="chunks of 2 points"):
        bristle.ray.sweep(SCENE, few, tmp_path, chunk=1)
