"""Witness for acho2004, figure 4: the mass of the second-order stick-slip after 15 s, without a line of the engine.

    x'' = k (0.1 t - x) - F      s' = s0 (v - |v| s/g)      w' = v - (w^3/a - w)      F = s + (s1/s0) s' + s2 (v + b w)
    g = F_c + (F_s - F_c) exp(-(v/v_s)^2),  s = s0 z

Classical Runge-Kutta. The bristle relaxes with s0 |v|/g, up to 4e4 1/s, so steps are 20 us, and it starts with w = 0 at
an equilibrium that is unstable but exact: without a first motion of the spring w would stay there. Prints the position,
w and the friction force at 15 s, then the printed and the true bound on w for |v| <= 0.01. Standard library alone,
about 3 s.
"""

from math import exp, sqrt

S0, S1, S2, F_C, F_S, V_S, A, B = 1e5, sqrt(1e5), 0.4, 1.0, 1.5, 1e-3, 3.0, 1.0


def rates(t, x, v, s, w):
    g = F_C + (F_S - F_C) * exp(-((v / V_S) ** 2))
    slip = v - abs(v) * s / g
    friction = s + S1 * slip + S2 * (v + B * w)
    return v, 2.0 * (0.1 * t - x) - friction, S0 * slip, v - (w * w * w / A - w)


def run(end, h):
    x = v = s = w = 0.0
    n = round(end / h)
    k = 0.5 * h
    for i in range(n):
        t = i * h
        a = rates(t, x, v, s, w)
        b = rates(t + k, x + k * a[0], v + k * a[1], s + k * a[2], w + k * a[3])
        c = rates(t + k, x + k * b[0], v + k * b[1], s + k * b[2], w + k * b[3])
        d = rates(t + h, x + h * c[0], v + h * c[1], s + h * c[2], w + h * c[3])
        x += h / 6.0 * (a[0] + 2.0 * b[0] + 2.0 * c[0] + d[0])
        v += h / 6.0 * (a[1] + 2.0 * b[1] + 2.0 * c[1] + d[1])
        s += h / 6.0 * (a[2] + 2.0 * b[2] + 2.0 * c[2] + d[2])
        w += h / 6.0 * (a[3] + 2.0 * b[3] + 2.0 * c[3] + d[3])
    return x, w, 2.0 * (0.1 * end - x) - rates(end, x, v, s, w)[1]


def largest_root(b):
    low, high = sqrt(A), 10.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if middle**3 / A - middle < b else (low, middle)
    return high


if __name__ == "__main__":
    print("position %.12f w %.9f friction %.9f" % run(15.0, 2e-5))
    print("bounds %.9f %.9f" % ((0.01 * A) ** (1.0 / 3.0), largest_root(0.01)))
