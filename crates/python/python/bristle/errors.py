"""Errors of bristle.

| class | raised when |
|---|---|
| `SceneError` | a scene or robot is refused: the message has file, line and a caret under the place |
| `RefusedError` | any other input is refused; nothing has happened then |
| `SimulationError` | a run or step failed; `recording` has the rows of a run so far |
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ._bristle import Recording


class Error(Exception):
    """Base of all errors of bristle."""


class RefusedError(Error, ValueError):
    """An input was refused, and nothing has happened."""


class Problem(NamedTuple):
    """One thing wrong with a scene."""

    file: str
    """The file, or `Scene.set`."""
    line: int | None
    """Line, from 1; `None` where there is no text to point at."""
    column: int | None
    """Column, from 1."""
    path: str
    """Path in the scene, such as `joints.elbow.friction.coulomb`."""
    reason: str
    """What is wrong."""
    help: str
    """What to write instead."""


class SceneError(RefusedError):
    """A scene was refused: all that is wrong with it, with file, line and a caret."""

    problems: list[Problem]

    def __init__(self, message: str, problems: Iterable[Iterable[Any]] = ()) -> None:
        super().__init__(message)
        self.problems = [Problem(*problem) for problem in problems]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.problems)


class SimulationError(Error, RuntimeError):
    """A run or step failed."""

    recording: Recording | None = None
    """The rows of a run so far."""
