"""What a call from Python costs beside the same loop in Rust, in one process and one build.

    pip install . && python benches/python/calls.py

Loops alternate. Of steps the least time counts: other work on the machine only ever adds to it. Rollouts run on all
cores, so that their processor time counts, and of that the median: the clock would tell of the other work.
"""

import pathlib
import statistics
import time

import bristle
from bristle import _bristle

ROOT = pathlib.Path(__file__).resolve().parents[2]
REAL_TIME = {"solver.method": "RealTime", "solver.control": "Constant(step: 1e-3)"}


def steps(scene: bristle.Scene, n: int, rounds: int) -> tuple[float, float]:
    """Least seconds of a step of 1 ms: in Rust, from Python."""
    in_rust, from_python = [], []
    for _ in range(rounds):
        in_rust.append(_bristle._seconds_of_steps(scene, 1e-3, n) / n)
        sim = bristle.Simulation(scene)
        step = sim.step
        start = time.perf_counter()
        for _ in range(n):
            step(1e-3)
        from_python.append((time.perf_counter() - start) / n)
    return min(in_rust), min(from_python)


def rollouts(scene: bristle.Scene, copies: int, n: int, rounds: int) -> tuple[float, float]:
    """Median seconds of processor time of a step of one copy in a rollout: in Rust, from Python."""
    in_rust, from_python = [], []
    for _ in range(rounds):
        times = [time.process_time()]
        for m in (1, 9):  # eight rollouts, without the construction of the batch
            _bristle._seconds_of_rollouts(scene, copies, 1e-3, n, m)
            times.append(time.process_time())
        in_rust.append((times[2] - times[1] - (times[1] - times[0])) / 8)
        batch = bristle.Batch(scene, copies)
        rollout = batch.rollout(1e-3, n)
        start = time.process_time()
        for _ in range(8):
            rollout = batch.rollout(1e-3, n, out=rollout)
        from_python.append((time.process_time() - start) / 8)
    return statistics.median(in_rust) / (copies * n), statistics.median(from_python) / (copies * n)


if __name__ == "__main__":
    print("| | Rust, µs | Python, µs | ratio |\n|---|---|---|---|")
    for name in ("robot_arm_6dof", "arm_3dof", "double_pendulum_coulomb"):
        scene = bristle.Scene.load(ROOT / f"scenes/{name}.ron", set=REAL_TIME)
        for what, (rust, python) in {
            "`sim.step(1e-3)`": steps(scene, 500, 15),
            "`batch.rollout`, 256 copies, 100 steps": rollouts(scene, 256, 100, 12),
        }.items():
            print(f"| {name}, {what} | {1e6 * rust:.3f} | {1e6 * python:.3f} | {python / rust:.3f} |", flush=True)
