#!/usr/bin/env python3
"""Counts of scipy's Radau (a translation of Hairer's RADAU5) on van der Pol and HIRES.

    pip install scipy numpy
    python3 scipy_radau.py [--slider]

Prints, for rtol = atol = 1e-4 … 1e-8 and an analytic Jacobian: accepted steps, calls of f, Jacobians, factorisations
(scipy counts the real and the complex one separately: half of its number is printed) and the error of the end values.
`tests/steppers/witness.rs` holds the table this printed and compares Radau5 with it.

With --slider the LuGre slider of Do, Ferri & Bauchau with restarts at v = 0: steps and largest friction-force error at
own step points.
"""

import sys
import warnings

import numpy as np
import scipy
from scipy.integrate import Radau
from scipy.optimize import brentq


class VanDerPol:
    name, t_end, y0 = "van der Pol", 2.0, [2.0, 0.0]
    reference = [1.706167732170469, -0.8928097010248125]
    eps = 1e-6

    def f(self, t, y):
        return np.array([y[1], ((1 - y[0] ** 2) * y[1] - y[0]) / self.eps])

    def jac(self, t, y):
        return np.array([[0.0, 1.0], [(-2 * y[0] * y[1] - 1) / self.eps, (1 - y[0] ** 2) / self.eps]])


class Hires:
    name, t_end, y0 = "HIRES", 321.8122, [1.0, 0, 0, 0, 0, 0, 0, 0.0057]
    reference = [
        7.371312573325668e-4, 1.442485726316185e-4, 5.888729740967575e-5, 1.175651343283149e-3,
        2.386356198831331e-3, 6.238968252742796e-3, 2.849998395185769e-3, 2.850001604814231e-3,
    ]  # fmt: skip

    def f(self, t, y):
        bind = 280 * y[5] * y[7]
        return np.array([
            -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007,
            1.71 * y[0] - 8.75 * y[1],
            -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4],
            8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
            -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6],
            -bind + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
            bind - 1.81 * y[6],
            -bind + 1.81 * y[6],
        ])  # fmt: skip

    def jac(self, t, y):
        a, b = 280 * y[7], 280 * y[5]
        j = np.zeros((8, 8))
        j[0, :3] = -1.71, 0.43, 8.32
        j[1, :2] = 1.71, -8.75
        j[2, 2:5] = -10.03, 0.43, 0.035
        j[3, 1:4] = 8.32, 1.71, -1.12
        j[4, 4:7] = -1.745, 0.43, 0.43
        j[5, 3:] = 0.69, 1.71, -0.43 - a, 0.69, -b
        j[6, 5:] = a, -1.81, b
        j[7, 5:] = -a, 1.81, -b
        return j


def counts(problem, tol):
    solver = Radau(problem.f, 0.0, problem.y0, problem.t_end, rtol=tol, atol=tol, jac=problem.jac)
    steps = 0
    while solver.status == "running":
        solver.step()
        steps += 1
    error = np.max(np.abs(solver.y / problem.reference - 1))
    return steps, solver.nfev, solver.njev, solver.nlu // 2, error


class Slider:
    """Scaled states; the sign of y2 is frozen between events."""

    alpha, gamma, epsilon, s1, s2 = 1e-3 * 2**0.5, 0.5, 2e-5, 1e5**0.5 * 1e-3, 4e-4
    pull, t_end = 0.1 * 2**0.5, 20 * 2**0.5
    sign = 1.0

    def parts(self, y):
        bump = self.gamma * np.exp(-(y[1] ** 2))
        return bump, 1 + bump

    def f(self, t, y):
        _, g = self.parts(y)
        d = y[1] - self.sign * y[1] * y[2] / g
        force = y[2] + self.s1 * d + self.s2 * y[1]
        return np.array([self.alpha * y[1], (self.pull * t - y[0] - force) / self.alpha, self.alpha / self.epsilon * d])

    def jac(self, t, y):
        bump, g = self.parts(y)
        d2 = 1 - self.sign * y[2] / g - self.sign * y[1] * y[2] * 2 * y[1] * bump / g**2
        d3 = -self.sign * y[1] / g
        a, e = self.alpha, self.alpha / self.epsilon
        return np.array([
            [0, a, 0],
            [-1 / a, -(self.s1 * d2 + self.s2) / a, -(1 + self.s1 * d3) / a],
            [0, e * d2, e * d3],
        ])  # fmt: skip

    def friction(self, y):
        _, g = self.parts(y)
        return y[2] + self.s1 * (y[1] - abs(y[1]) * y[2] / g) + self.s2 * y[1]

    def run(self, rtol, atol, dense=None):
        """Own step points (t, y); `dense` collects (t0, t1, interpolant)."""
        self.sign, t, y, points, nfev, kinks = 1.0, 0.0, np.zeros(3), [], 0, 0
        while t < self.t_end:
            solver = Radau(self.f, t, y, self.t_end, rtol=rtol, atol=atol, jac=self.jac)
            while solver.status == "running":
                y_old = solver.y
                solver.step()
                interpolant = solver.dense_output()
                if solver.y[1] * self.sign < 0 and y_old[1] * self.sign > 0:
                    # a real step to the root; the sign is that of the far side
                    root = brentq(lambda s: interpolant(s)[1], solver.t_old, solver.t, xtol=1e-15)
                    last = Radau(
                        self.f,
                        solver.t_old,
                        y_old,
                        root,
                        rtol=rtol,
                        atol=atol,
                        jac=self.jac,
                        first_step=root - solver.t_old,
                    )
                    while last.status == "running":
                        last.step()
                    t, y = root, last.y.copy()
                    if dense is not None:
                        dense.append((solver.t_old, t, interpolant))
                    nfev += solver.nfev + last.nfev
                    points.append((t, y))
                    kinks += 1
                    self.sign = np.sign(solver.y[1])
                    break
                if dense is not None:
                    dense.append((solver.t_old, solver.t, interpolant))
                points.append((solver.t, solver.y.copy()))
                t, y = solver.t, solver.y
            else:
                nfev += solver.nfev
        return points, nfev, kinks


def main():
    print(f"scipy {scipy.__version__}, numpy {np.__version__}")
    print(f"{'problem':<12} {'tol':>6} {'steps':>6} {'nfev':>6} {'njev':>5} {'nlu':>5} {'error':>9}")
    for problem in (VanDerPol(), Hires()):
        for tol in (1e-4, 1e-5, 1e-6, 1e-7, 1e-8):
            steps, nfev, njev, nlu, error = counts(problem, tol)
            print(f"{problem.name:<12} {tol:6.0e} {steps:6} {nfev:6} {njev:5} {nlu:5} {error:9.1e}")
    if "--slider" in sys.argv:
        warnings.simplefilter("ignore")
        slider = Slider()
        dense = []
        slider.run(3e-13, 1e-14, dense)
        starts = np.array([d[0] for d in dense])
        print(f"\nLuGre slider, v = 0 restarts; reference {len(dense)} steps")
        print(f"{'rtol':>6} {'steps':>6} {'nfev':>7} {'kinks':>5} {'max force error':>16}")
        for rtol in (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10):
            points, nfev, kinks = slider.run(rtol, rtol * 1e-2)
            worst = 0.0
            for t, y in points:
                piece = dense[max(0, np.searchsorted(starts, t, side="right") - 1)][2]
                worst = max(worst, abs(slider.friction(y) - slider.friction(piece(t))))
            print(f"{rtol:6.0e} {len(points):6} {nfev:7} {kinks:5} {worst:16.1e}")


if __name__ == "__main__":
    main()
