"""Witness for lee1997: turns, sticks and break-aways of the single and the double pendulum, without a line of the
engine.

Every link by itself, in the plane (Newton and Euler about its centre of mass), joined by the forces in its pins:

    m1 a1 = F1 - F2 + m1 g      I1 p1'' = (P1 - c1) x F1 - (P2 - c1) x F2 + T1 - T2
    m2 a2 = F2 + m2 g           I2 p2'' = (P2 - c2) x F2 + T2
    sliding: T = -r mu_k sign(rate) |F|         stuck: rate' = 0 and |T| <= r mu_s |F|

Classical Runge-Kutta, h = 1 ms; an event ends a step, found by the secant method on its length. At an event all modes
of the joints at rest are tried, and the consistent one is taken. Prints `single` or `double`, the joint (0, 1), the new
mode (-1, 0, 1) and the time; then `rest` and the angle at the end. Standard library alone, about 3 s.
"""

from itertools import product
from math import cos, sin, sqrt, pi

G, MU_K, MU_S = 9.81, 0.4, 0.6


class Pendulum:
    def __init__(self, links):
        """Links: mass, distance of the centre of mass from the pin, inertia about it, radius of the pin, length."""
        self.links = links
        self.n = len(links)

    def kinematics(self, q, v, acc):
        """Accelerations of the centres of mass and positions of pins and centres, angles summed up."""
        phi = omega = alpha = x = y = 0.0
        ax = ay = 0.0
        out = []
        for (m, c, i, r, length), qk, vk, ak in zip(self.links, q, v, acc):
            phi, omega, alpha = phi + qk, omega + vk, alpha + ak
            s, k = sin(phi), cos(phi)
            at = lambda d: (ax + d * (alpha * k - omega * omega * s), ay + d * (alpha * s + omega * omega * k))
            out.append(((x, y), (x + c * s, y - c * k), at(c), alpha))
            (ax, ay), x, y = at(length), x + length * s, y - length * k
        return out

    def moments(self, q, v, acc):
        """The moment each pin has to carry about its axis for these accelerations, and the force through it."""
        kin = self.kinematics(q, v, acc)
        fx = fy = moment = 0.0
        out = [None] * self.n
        outer = None
        for k in reversed(range(self.n)):
            m, c, i, r, length = self.links[k]
            pin, centre, (ax, ay), alpha = kin[k]
            # about the centre of mass: I alpha = (pin - c) x F - (outer - c) x F_outer + T - T_outer
            gx, gy = m * ax + fx, m * ay + m * G + fy
            t = i * alpha + moment - ((pin[0] - centre[0]) * gy - (pin[1] - centre[1]) * gx)
            if outer:
                t += (outer[0] - centre[0]) * fy - (outer[1] - centre[1]) * fx
            fx, fy, moment, outer = gx, gy, t, pin
            out[k] = (t, sqrt(gx * gx + gy * gy))
        return out

    def solve(self, q, v, modes):
        """Accelerations with joints sliding (+-1) or stuck (0): Newton with differences, exact in the linear part."""
        free = [k for k in range(self.n) if modes[k]]
        acc = [0.0] * self.n

        def off(acc):
            carried = self.moments(q, v, acc)
            return [carried[k][0] + self.links[k][3] * MU_K * modes[k] * carried[k][1] for k in free]

        for _ in range(30):
            f = off(acc)
            if not free:
                break
            columns = []
            for k in free:
                d = 1e-4 * (1.0 + abs(acc[k]))
                up, down = list(acc), list(acc)
                up[k] += d
                down[k] -= d
                columns.append([(a - b) / (2.0 * d) for a, b in zip(off(up), off(down))])
            if len(free) == 1:
                step = [-f[0] / columns[0][0]]
            else:
                (a, c), (b, d) = columns
                det = a * d - b * c
                step = [-(d * f[0] - b * f[1]) / det, -(a * f[1] - c * f[0]) / det]
            for k, dk in zip(free, step):
                acc[k] += dk
            if max(map(abs, step)) < 1e-13 * (1.0 + max(map(abs, acc))):
                break
        return acc

    def step(self, q, v, modes, h):
        f = lambda q, v: self.solve(q, v, modes)
        add = lambda a, b, s: [x + s * y for x, y in zip(a, b)]
        a1 = f(q, v)
        q2, v2 = add(q, v, h / 2), add(v, a1, h / 2)
        a2 = f(q2, v2)
        q3, v3 = add(q, v2, h / 2), add(v, a2, h / 2)
        a3 = f(q3, v3)
        q4, v4 = add(q, v3, h), add(v, a3, h)
        a4 = f(q4, v4)
        new_q = [x + h / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip(q, v, v2, v3, v4)]
        new_v = [x + h / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip(v, a1, a2, a3, a4)]
        return new_q, new_v

    def margin(self, q, v, modes, k):
        """How far a joint is from its event: rate while it slides, what is left of stiction while it is stuck."""
        if modes[k]:
            return modes[k] * v[k]
        t, force = self.moments(q, v, self.solve(q, v, modes))[k]
        return self.links[k][3] * MU_S * force - abs(t)

    def choose(self, q, v, modes):
        """Modes of all joints at rest: the consistent choice, sticking first."""
        rest = [k for k in range(self.n) if v[k] == 0.0]
        for choice in product((0, 1, -1), repeat=len(rest)):
            new = list(modes)
            for k, mode in zip(rest, choice):
                new[k] = mode
            acc = self.solve(q, v, new)
            carried = self.moments(q, v, acc)
            fine = all(
                acc[k] * new[k] > 0.0
                if new[k]
                else abs(carried[k][0]) <= self.links[k][3] * MU_S * carried[k][1] * (1 + 1e-12)
                for k in rest
            )
            if fine:
                return new
        raise RuntimeError("no consistent modes")

    def run(self, q, end, name, h=1e-3):
        v, t = [0.0] * self.n, 0.0
        modes = self.choose(q, v, [0] * self.n)
        while t < end:
            if not any(modes):
                break
            take = min(h, end - t)
            new = self.step(q, v, modes, take)
            late = [k for k in range(self.n) if self.margin(*new, modes, k) < 0.0]
            if late:
                # the first of them
                best = None
                for k in late:
                    low, high, f_low, f_high = (
                        0.0,
                        take,
                        max(self.margin(q, v, modes, k), 0.0),
                        self.margin(*new, modes, k),
                    )
                    for _ in range(80):
                        middle = 0.5 * (low + high)
                        f = self.margin(*self.step(q, v, modes, middle), modes, k)
                        if f < 0.0:
                            high = middle
                        else:
                            low = middle
                        if high - low < 1e-14:
                            break
                    if best is None or high < best[0]:
                        best = (high, k)
                take, k = best
                q, v = self.step(q, v, modes, take)
                t += take
                was = list(modes)
                if modes[k]:
                    v[k] = 0.0
                    modes = self.choose(q, v, modes)
                else:
                    torque = self.moments(q, v, self.solve(q, v, modes))[k][0]
                    modes[k] = -1 if torque > 0.0 else 1
                for j in range(self.n):
                    if modes[j] != was[j]:
                        print(name, j, modes[j], "%.10f" % t)
                # a joint that starts again has its sign from the first step on
                if modes[k]:
                    q, v = self.step(q, v, modes, 1e-9)
                    t += 1e-9
            else:
                q, v = new
                t += take
        print(name, "rest", *("%.10f" % x for x in q))


if __name__ == "__main__":
    Pendulum([(1.0, 0.5, 1.0 / 12.0, 0.1, 1.0)]).run([pi / 2], 8.0, "single")
    Pendulum([(1.0, 0.5, 1.0 / 12.0, 0.08, 1.0), (0.5, 0.4, 0.5 * 0.64 / 12.0, 0.1, 0.8)]).run(
        [pi / 2, 0.5], 6.0, "double"
    )
