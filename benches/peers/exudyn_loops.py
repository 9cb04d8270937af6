"""Closed loops of the multibody benchmark library in Exudyn, against the references: error and processor time.

    pip install exudyn numpy
    python exudyn_loops.py REFERENCE_FOLDER

Prints the rows of the table in benches/LOOPS.md: N-four-bar (N = 2), Andrews' squeezing mechanism, Bricard mechanism.
The plane mechanisms are made of `ObjectRigidBody2D` and `ObjectJointRevolute2D`, the Bricard mechanism of rigid bodies
and revolute joints in space. Newton with kept Jacobians (`useModifiedNewton`), default tolerances; singular Jacobians
are ignored where constraints are redundant or the mechanism passes a singular position.
"""

import sys
import time
import warnings

import exudyn as exu
import numpy as np
from exudyn.utilities import (
    Force,
    MarkerBodyPosition,
    MarkerBodyRigid,
    NodeRigidBody2D,
    ObjectConnectorSpringDamper,
    ObjectGround,
    ObjectJointRevolute2D,
    ObjectRigidBody2D,
    RigidBodyInertia,
    SensorBody,
    Torque,
)

warnings.filterwarnings("ignore")
FOLDER = sys.argv[1]
OUT = exu.OutputVariableType


def reference(file, columns):
    """Time and the named columns."""
    with open(f"{FOLDER}/{file}", encoding="utf-8") as lines:
        rows = [line.strip().split(",") for line in lines if not line.startswith("#")]
    index = [rows[0].index(name) for name in ["t", *columns]]
    return np.array([[float(row[k]) for k in index] for row in rows[1:]])


class Plane:
    """Bodies in the plane, joined at points that are given in the world."""

    def __init__(self):
        self.container = exu.SystemContainer()
        self.system = self.container.AddSystem()
        self.ground = self.system.AddObject(ObjectGround())
        self.frames = {}

    def body(self, mass, inertia, centre, angle, velocity=(0, 0), rate=0.0):
        """A body by its centre of mass."""
        node = NodeRigidBody2D(
            referenceCoordinates=[*centre, angle],
            initialCoordinates=[0, 0, 0],
            initialVelocities=[*velocity, rate],
        )
        node = self.system.AddNode(node)
        number = self.system.AddObject(ObjectRigidBody2D(physicsMass=mass, physicsInertia=inertia, nodeNumber=node))
        self.frames[number] = (np.array(centre), angle)
        return number

    def local(self, body, point):
        """A point of the world in body axes."""
        if body == self.ground:
            return [*point, 0.0]
        centre, angle = self.frames[body]
        cos, sin = np.cos(angle), np.sin(angle)
        x, y = np.array(point) - centre
        return [cos * x + sin * y, -sin * x + cos * y, 0.0]

    def rigid(self, body, point):
        """A marker with rotation."""
        return self.system.AddMarker(MarkerBodyRigid(bodyNumber=body, localPosition=self.local(body, point)))

    def position(self, body, point):
        """A marker of a point."""
        return self.system.AddMarker(MarkerBodyPosition(bodyNumber=body, localPosition=self.local(body, point)))

    def hinge(self, a, b, point):
        """A hinge at a point of the world."""
        self.system.AddObject(ObjectJointRevolute2D(markerNumbers=[self.rigid(a, point), self.rigid(b, point)]))

    def sensor(self, body, point, what):
        """A sensor that stores its values."""
        sensor = SensorBody(
            bodyNumber=body,
            localPosition=self.local(body, point),
            outputVariableType=what,
            storeInternal=True,
            writeToFile=False,
        )
        return self.system.AddSensor(sensor)


def n_four_bar():
    """Three cranks and two bars of 1 m and 1 kg."""
    m = Plane()
    cranks = [m.body(1, 1 / 12, [k, 0.5], np.pi / 2, [0.5, 0], -1) for k in range(3)]
    bars = [m.body(1, 1 / 12, [k + 0.5, 1], 0, [1, 0]) for k in range(2)]
    for body in cranks + bars:
        m.system.AddLoad(Force(markerNumber=m.position(body, m.frames[body][0]), loadVector=[0, -9.81, 0]))
    for k, crank in enumerate(cranks):
        m.hinge(m.ground, crank, [k, 0])
    for k, bar in enumerate(bars):
        m.hinge(cranks[k], bar, [k, 1])
        m.hinge(bar, cranks[k + 1], [k + 1, 1])
    tip = m.sensor(cranks[0], [0, 1], OUT.Position)
    return m, [tip], lambda data: data[0][:, 1:3], reference("A02_fourbar_N2.csv", ["B0x", "B0y"]), 10.0, True


def andrews():
    """Seven bodies, after the test set for initial value problems."""
    m = Plane()

    def along(angle):
        return np.array([np.cos(angle), np.sin(angle)])

    def across(angle):
        return np.array([np.sin(angle), -np.cos(angle)])

    beta, theta, gamma, phi = -0.0617138900142764, 0.0, 0.455279819163070, 0.222668390165886
    delta, omega, epsilon = 0.487364979543843, -0.222668390165886, 1.23054744454982
    a, b, c = np.array([-0.06934, -0.00227]), np.array([-0.03635, 0.03273]), np.array([0.014, 0.072])
    f = 0.007 * along(beta)
    e = f - 0.028 * along(beta + theta)
    g, h = a + 0.04 * along(delta), a + 0.04 * across(epsilon)
    d = b + 0.02 * along(gamma) + 0.018 * across(gamma)
    centres = [
        0.00092 * along(beta),
        f - 0.0115 * along(beta + theta),
        b + 0.01043 * along(gamma) + 0.01874 * across(gamma),
        g + (0.02 - 0.01421) * across(phi + delta),
        a + 0.02308 * along(delta) + 0.00916 * across(delta),
        h + (0.02 - 0.01421) * along(omega + epsilon),
        a + 0.01228 * across(epsilon) + 0.00449 * along(epsilon),
    ]
    angles = [beta, beta + theta, gamma, phi + delta, delta, omega + epsilon, epsilon]
    masses = [0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498]
    inertias = [2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5]
    k = [m.body(*of) for of in zip(masses, inertias, centres, angles)]
    for one, other, point in [
        (m.ground, k[0], [0, 0]),
        (k[0], k[1], f),
        (m.ground, k[2], b),
        (k[1], k[2], e),
        (k[1], k[3], e),
        (k[1], k[5], e),
        (k[3], k[4], g),
        (k[5], k[6], h),
        (m.ground, k[4], a),
        (m.ground, k[6], a),
    ]:
        m.hinge(one, other, point)
    ends = [m.position(m.ground, c), m.position(k[2], d)]
    spring = ObjectConnectorSpringDamper(markerNumbers=ends, stiffness=4530, damping=0, referenceLength=0.07785)
    m.system.AddObject(spring)
    m.system.AddLoad(Torque(markerNumber=m.rigid(k[0], [0, 0]), loadVector=[0, 0, 0.033]))
    sensors = [m.sensor(body, centre, OUT.Rotation) for body, centre in zip(k, centres)]

    def angles_of(data):
        # sensors count from the start
        r = [column[:, -1] + angle for column, angle in zip(data, angles)]
        return np.array([r[0], r[1] - r[0], r[2], r[3] - r[4], r[4], r[5] - r[6], r[6]]).T

    names = ["beta", "theta", "gamma", "phi", "delta", "omega", "epsilon"]
    return m, sensors, angles_of, reference("A03_andrews.csv", names), 0.03, False


def bricard():
    """Five rods on six hinges; one of thirty constraints is redundant."""
    m = Plane()
    p = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], float)
    axes = [[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]
    rods = []
    for k in range(5):
        inertia = np.full(3, 1.01 / 12)
        inertia[np.argmax(abs(p[k + 1] - p[k]))] = 0.02 / 12
        rod = m.system.CreateRigidBody(
            inertia=RigidBodyInertia(mass=1, inertiaTensor=np.diag(inertia)),
            referencePosition=list((p[k] + p[k + 1]) / 2),
            gravity=[0, -9.81, 0],
            returnDict=True,
        )
        rods.append(rod["bodyNumber"])
    chain = [m.ground, *rods, m.ground]
    for k, axis in enumerate(axes):
        bodies = [chain[k], chain[k + 1]]
        m.system.CreateRevoluteJoint(bodyNumbers=bodies, position=list(p[k]), axis=axis, useGlobalFrame=True)
    tip = SensorBody(
        bodyNumber=rods[2],
        localPosition=[0, 0, 0.5],
        outputVariableType=OUT.Position,
        storeInternal=True,
        writeToFile=False,
    )
    tip = m.system.AddSensor(tip)
    columns = reference("A04_bricard_square0.1.csv", ["P3x", "P3y", "P3z"])
    return m, [tip], lambda data: data[0][:, 1:4], columns, 10.0, True


def run(make, solver, step):
    """Error against the reference, Newton iterations, and processor time."""
    model, sensors, quantities, rows, end, is_singular = make()
    model.system.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(end / step)
    settings.timeIntegration.endTime = end
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.8
    settings.timeIntegration.verboseMode = 0
    settings.solutionSettings.writeSolutionToFile = False
    settings.solutionSettings.sensorsWritePeriod = rows[1, 0] - rows[0, 0]
    if is_singular:
        settings.linearSolverSettings.ignoreSingularJacobian = True
        settings.linearSolverType = exu.LinearSolverType.EigenDense
    began = time.process_time()
    try:
        model.system.SolveDynamic(settings, solverType=getattr(exu.DynamicSolverType, solver))
    except Exception:  # whatever the solver raises
        return "fails"
    used = time.process_time() - began
    data = [np.array(model.system.GetSensorStoredData(sensor)) for sensor in sensors]
    t, found = data[0][:, 0], quantities(data)
    worst, n_compared = 0.0, 0
    for row in rows:
        k = np.searchsorted(t, row[0] - 1e-9 * end)
        if k < len(t) and abs(t[k] - row[0]) < 1e-9 * end:
            worst, n_compared = max(worst, abs(found[k] - row[1:]).max()), n_compared + 1
    if n_compared < len(rows):
        return f"{n_compared} of {len(rows)} rows"
    iterations = model.system.sys["dynamicSolver"].it.newtonStepsCount
    return f"{iterations:,} | {worst:.1e} | {used:.2f} s"


for name, make, steps in [
    ("N-four-bar, N = 2, 10 s", n_four_bar, [1e-2, 1e-3, 2e-4]),
    ("Andrews, 30 ms", andrews, [1e-4, 1e-5, 1e-6]),
    ("Bricard, 10 s", bricard, [1e-2, 1e-3, 2e-4]),
]:
    for solver in ["GeneralizedAlpha", "TrapezoidalIndex2"]:
        for step in steps:
            print(f"| {name} | {solver}, h {step:g} s | {run(make, solver, step)} |", flush=True)
