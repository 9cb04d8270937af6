"""Witness for aberger2002: why no explicit step was stable, without a line of the engine.

Bristles that slip at a constant rate w, table 6: s' = s0 (w - w s/g). Its eigenvalue is -s0 w/g. Sliding sits at s = g,
where the right-hand side is exactly 0 in floating point, so classical Runge-Kutta stays there at any step, until s is
moved by one unit in the last place. Then the deviation grows or shrinks by R(h s0 w/g) a step, R(z) = 1 - z + z^2/2 -
z^3/6 + z^4/24, |R| < 1 below 2.785.

Prints for slips of 1.27 and 127 rad/s and a ladder of steps: slip, step, h s0 w/g, the deviation after 400 steps
without and with one ulp. Standard library alone, at once.
"""

from math import isfinite, nextafter

S0, G = 1e5, 0.5


def rk4(s, w, h):
    f = lambda s: S0 * (w - w * s / G)
    a = f(s)
    b = f(s + 0.5 * h * a)
    c = f(s + 0.5 * h * b)
    d = f(s + h * c)
    return s + h / 6.0 * (a + 2.0 * b + 2.0 * c + d)


def deviation(w, h, s):
    for _ in range(400):
        s = rk4(s, w, h)
        if not isfinite(s):
            return float("inf")
    return abs(s - G)


if __name__ == "__main__":
    for w in (1.27, 127.0):
        for h in (250e-6, 50e-6, 20e-6, 10e-6, 5e-6, 1e-7):
            plain, kicked = deviation(w, h, G), deviation(w, h, nextafter(G, 1.0))
            print("%g %g %.3g %.3g %.3g" % (w, h, h * S0 * w / G, plain, kicked))
