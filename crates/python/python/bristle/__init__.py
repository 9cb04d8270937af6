"""Multibody dynamics in which joint friction is a first-class citizen.

>>> import bristle
>>> recording = bristle.Simulation("scenes/double_pendulum_coulomb.ron").run()
>>> picture = recording.plot("elbow.velocity", "elbow.friction")

A notebook shows `recording` as the interactive report and `picture` as curves. Effort is N·m or N, angles are
radians, z is up. Spatial vectors have the angular part first.
"""

from ._bristle import (
    Batch,
    Energy,
    Errors,
    Estimate,
    Event,
    Fit,
    Fitted,
    Linearization,
    Picture,
    Recording,
    Rollout,
    Scene,
    Sensitivities,
    Simulation,
    __version__,
)
from .errors import Error, Problem, RefusedError, SceneError, SimulationError

__all__ = [
    "Batch",
    "Energy",
    "Error",
    "Errors",
    "Estimate",
    "Event",
    "Fit",
    "Fitted",
    "Linearization",
    "Picture",
    "Problem",
    "Recording",
    "RefusedError",
    "Rollout",
    "Scene",
    "SceneError",
    "Sensitivities",
    "Simulation",
    "SimulationError",
    "__version__",
]
