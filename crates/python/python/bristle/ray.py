"""Sweeps beyond one machine, on Ray.

    import bristle.ray
    bristle.ray.sweep("scene.ron", {"joints.elbow.friction.coulomb": values}, out="sweep/")

Points are split into chunks of some seconds; each is a Ray task, tried again when its worker or its node dies. The
caller writes every chunk whole, as `part-000017.parquet`, by rename, so workers need no common disk. A sweep that is
started again skips the parts that are there. The table equals that of `bristle.sweeps.table` to the last bit: see
`bristle.sweeps`.

`pip install 'bristle[ray]'` brings Ray and pyarrow. Without `ray.init` a Ray of this machine is started.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import pathlib
import secrets
import time
from collections.abc import Callable
from os import PathLike
from typing import IO, TYPE_CHECKING, Any

import pyarrow.dataset
import pyarrow.parquet
import ray

from . import sweeps
from ._bristle import Scene, __version__, sweep_rows
from .errors import RefusedError

if TYPE_CHECKING:
    import pyarrow

__all__ = ["sweep"]

SETTINGS = "sweep.json"


def sweep(
    scene: Scene | str | PathLike[str],
    values: sweeps.Values,
    out: str | PathLike[str],
    *,
    chunk: int | None = None,
    seconds: float = 10.0,
    retries: int = 5,
    progress: Callable[[int, int], None] | None = None,
) -> pyarrow.dataset.Dataset:
    """Runs `scene` at all points of `values` on Ray, into the folder `out`; the parts as one dataset, in order.

    `values` is a grid, `{path: values}`, or a list of points. A chunk has `chunk` points, or as many as take about
    `seconds` each. A task whose worker dies is tried again up to `retries` times. `progress` is called with the
    number of points done and of all.
    """
    scene = scene if isinstance(scene, Scene) else Scene.load(scene)
    found = sweeps.points(values)
    folder = pathlib.Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    settings = _settings(folder, scene, found, chunk, seconds)
    size, names, columns = settings["chunk"], settings["channels"], settings["columns"]

    starts = range(0, len(found), size)
    paths = {start: folder / f"part-{k:06}.parquet" for k, start in enumerate(starts)}
    left = [start for start, path in paths.items() if not path.exists()]
    done = len(found) - sum(min(size, len(found) - start) for start in left)
    if left:
        if not ray.is_initialized():
            ray.init()
        task = ray.remote(num_cpus=1, max_retries=retries)(_rows).options(name="bristle.sweep")
        shared = ray.put(scene)
        # enough to keep every core busy, few enough to keep results from piling up
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
        ahead = 3 * max(1, int(resources.get("CPU", 1)))
        pending: dict[Any, int] = {}
        # After Ctrl-C or a failed write, the chunks under way end by themselves, or with the program. They are not
        # cancelled: Ray aborts the caller where a task is cancelled while its result arrives.
        while left or pending:
            while left and len(pending) < ahead:
                start = left.pop(0)
                pending[task.remote(shared, found[start : start + size], names, start, columns)] = start
            ready, _ = ray.wait(list(pending), num_returns=1)
            for reference in ready:
                start = pending.pop(reference)
                part = ray.get(reference)
                _write(paths[start], functools.partial(pyarrow.parquet.write_table, part))
                done += part.num_rows
                if progress is not None:
                    progress(done, len(found))
    return pyarrow.dataset.dataset([str(path) for path in paths.values()])


def _rows(
    scene: Scene, found: list[sweeps.Point], names: list[str], first: int, columns: dict[str, str]
) -> pyarrow.Table:
    return sweeps.rows(scene, found, names, first, 1, columns)


def _write(path: pathlib.Path, content: Callable[[IO[bytes]], object]) -> None:
    """A file that stands under its name only when it is complete."""
    # a new file: nothing of that name is followed or waited for
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial")
    try:
        with open(partial, "xb") as file:
            content(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _settings(
    folder: pathlib.Path, scene: Scene, found: list[sweeps.Point], chunk: int | None, seconds: float
) -> dict[str, Any]:
    """The settings of the sweep in this folder: those it was begun with, or new ones. Another sweep there is
    refused."""
    text = json.dumps([scene.to_ron(), found, __version__], sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    path = folder / SETTINGS
    if path.exists():
        settings: dict[str, Any] = json.loads(path.read_text())
        if settings["digest"] != digest:
            raise RefusedError(
                f"{path} is of another sweep: of another scene, other points or another version; name another folder, "
                "or delete this one"
            )
        if chunk not in (None, settings["chunk"]):
            size = settings["chunk"]
            raise RefusedError(f"{path} has chunks of {size} points; leave `chunk` out, or name another folder")
        return settings
    stray = sorted(folder.glob("part-*.parquet"))
    if stray:
        raise RefusedError(f"{stray[0]} is there without {path}: name an empty folder")
    names = sweeps.channels(scene, found)
    if chunk is None:
        chunk = _chunk(scene, found, names, seconds)
    if chunk < 1:
        raise RefusedError(f"`chunk` is {chunk}; it must be at least 1")
    settings = {
        "digest": digest, "points": len(found), "chunk": chunk, "channels": names, "columns": sweeps.kinds(found),
        "scene": scene.name, "bristle": __version__,
    }  # fmt: skip
    text = json.dumps(settings, indent=1) + "\n"
    _write(path, lambda file: file.write(text.encode()))
    return settings


def _chunk(scene: Scene, found: list[sweeps.Point], names: list[str], seconds: float) -> int:
    """Points that take so many seconds: the middle ones are timed, as many as fit into a second."""
    middle, n, start = len(found) // 2, 0, time.perf_counter()
    for point in found[middle : middle + 100]:
        sweep_rows(scene, [point], names)
        n += 1
        if time.perf_counter() - start > 1.0:
            break
    each = (time.perf_counter() - start) / max(n, 1)
    return max(1, min(len(found), int(seconds / each)))
