"""Steps per second and error of 1,024 double pendulums with joint friction: MuJoCo's own batch rollout beside `Batch`.

    python -m venv venv && venv/bin/pip install mujoco numpy
    venv/bin/python benches/peers/mujoco_rollout.py

Both take 1,000 steps of 1 ms on two threads; errors are against this library at rtol 1e-11, for every 64th pendulum.
"""

import json
import subprocess
import time

import mujoco
import mujoco.rollout
import numpy as np

LINK = '<inertial mass="1" pos="0 0 -0.25" diaginertia="0.02 0.02 0.001"/>'
JOINT = '<joint type="hinge" axis="0 1 0" frictionloss="0.1"/>'
MODEL = """<mujoco><option timestep="0.001" integrator="{}" gravity="0 0 -9.81"/><worldbody>
<body>{j}{l}<body pos="0 0 -0.5">{j}{l}</body></body></worldbody></mujoco>"""
N, STEPS = 1024, 1000

command = ["cargo", "bench", "-q", "-p", "bristle", "--bench", "rollout"]
ours = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
reference = np.array(ours["reference"])


def error(last):
    return np.abs(np.asarray(last)[::64] - reference).max()


print("| | steps per second | per second of processor time | largest error after 1 s, rad |")
print("|---|---|---|---|")
for what, rates in [("rollout", ours["rate"]), ("step", ours["stepped"])]:
    print(f"| bristle `Batch::{what}`, RealTime | {rates[0]:.3g} | {rates[1]:.3g} | {error(ours['last']):.1e} |")
for integrator in ["Euler", "implicitfast", "RK4"]:
    model = mujoco.MjModel.from_xml_string(MODEL.format(integrator, j=JOINT, l=LINK))
    data = [mujoco.MjData(model) for _ in range(2)]
    spec = mujoco.mjtState.mjSTATE_FULLPHYSICS
    initial = np.zeros((N, mujoco.mj_stateSize(model, spec)))
    initial[:, 1] = 0.5 + 0.5 * np.arange(N) / N
    initial[:, 2] = 0.2
    with mujoco.rollout.Rollout(nthread=2) as rollout:  # both sides keep the states of every step
        rollout.rollout(model, data, initial[:8], nstep=10)
        clock, processor = time.perf_counter(), time.process_time()
        states, _ = rollout.rollout(model, data, initial, nstep=STEPS)
        rate = N * STEPS / (time.perf_counter() - clock)
        rate_processor = N * STEPS / (time.process_time() - processor)
    print(f"| MuJoCo {mujoco.__version__}, {integrator} | {rate:.3g} | {rate_processor:.3g} | {error(states[:, -1, 1:3]):.1e} |")
