"""Tables of many runs: one scene, many values. One row per point, with every channel at the end of its run.

>>> import bristle.sweeps
>>> values = {"joints.elbow.friction.coulomb": [0.1, 0.2, -0.3], "duration": [0.1, 0.2]}
>>> table = bristle.sweeps.table("scenes/double_pendulum_coulomb.ron", values)
>>> table["point"].to_pylist()
[0, 1, 2, 3, 4, 5]
>>> table["t"].to_pylist()
[0.1, 0.2, 0.1, 0.2, None, None]
>>> table["error"][4].as_py()
'`coulomb` is -0.3; it must be 0 or more'

A point that is refused or fails is a row with `error`. Rows are made by the code of `bristle sweep`: they are the
same to the last bit on one thread, on many, and on Ray (`bristle.ray.sweep`).
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ._bristle import Scene, sweep_channels, sweep_rows
from .errors import RefusedError

if TYPE_CHECKING:
    import pyarrow

__all__ = ["grid", "points", "table"]

Point: TypeAlias = dict[str, Any]
Values: TypeAlias = Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Any]]
"""Values by path, which make a grid, or a list of points, each from paths to values."""

MAX_TRIED = 1000
"""Points looked at, at most, for one that can be run."""


def grid(values: Mapping[str, Iterable[Any]]) -> list[Point]:
    """All combinations; the last path runs fastest, as in `bristle sweep`.

    >>> import bristle.sweeps
    >>> bristle.sweeps.grid({"a": [1, 2], "b": [3, 4]})
    [{'a': 1, 'b': 3}, {'a': 1, 'b': 4}, {'a': 2, 'b': 3}, {'a': 2, 'b': 4}]
    """
    return [dict(zip(values, point, strict=True)) for point in itertools.product(*values.values())]


def points(values: Values) -> list[Point]:
    """The points of a grid, or those of a list, which have the same paths."""
    found = grid(values) if isinstance(values, Mapping) else [dict(point) for point in values]
    if not found:
        raise RefusedError("there are no points: give at least one value for every path")
    for k, point in enumerate(found):
        if point.keys() != found[0].keys():
            own, first = ", ".join(point), ", ".join(found[0])
            raise RefusedError(f"point {k} has the paths {own}; those of point 0 are {first}")
    return [{path: _plain(value) for path, value in point.items()} for point in found]


def table(scene: Scene | str | PathLike[str], values: Values, *, threads: int | None = None) -> pyarrow.Table:
    """The table on this machine, in memory, on all cores or so many `threads`. Needs pyarrow."""
    scene = scene if isinstance(scene, Scene) else Scene.load(scene)
    found = points(values)
    names = channels(scene, found)
    return rows(scene, found, names, 0, threads or os.cpu_count() or 1, kinds(found))


def channels(scene: Scene, found: list[Point]) -> list[str]:
    """Names of the channels: all that the first, the last and the middle point have between them, or else those of any
    point that can be run, or of the scene itself."""
    last, n = len(found) - 1, min(len(found), MAX_TRIED)
    names = sweep_channels(scene, [found[k] for k in (0, last, len(found) // 2)])
    for k in (j * last // max(n - 1, 1) for j in range(n)):
        if names:
            break
        names = sweep_channels(scene, [found[k]])
    return names or sweep_channels(scene, [{}])


def kinds(found: list[Point]) -> dict[str, str]:
    """Columns of the paths: `float64` where all values are numbers, `string` elsewhere."""
    is_number = {path: all(isinstance(point[path], (int, float)) for point in found) for path in found[0]}
    return {path: "float64" if number else "string" for path, number in is_number.items()}


def rows(
    scene: Scene, found: list[Point], names: list[str], first: int, threads: int, columns: dict[str, str]
) -> pyarrow.Table:
    """The rows of some points; the first of them has the number `first`."""
    import pyarrow as pa

    values, errors = sweep_rows(scene, found, names, threads=threads)
    arrays: dict[str, Any] = {"point": pa.array(range(first, first + len(found)), pa.int64())}
    for path, kind in columns.items():
        given = [point[path] for point in found]
        if kind == "string":
            given = [value if isinstance(value, str) else repr(value) for value in given]
        arrays[path] = pa.array(given, pa.float64() if kind == "float64" else pa.string())
    for k, name in enumerate(names):
        column = np.ascontiguousarray(values[:, k])
        arrays[name] = pa.array(column, pa.float64(), mask=np.isnan(column))
    arrays["error"] = pa.array(errors, pa.string())
    return pa.table(arrays)


def _plain(value: Any) -> Any:
    """Numbers of NumPy as those of Python."""
    return value.item() if isinstance(value, np.generic) else value
