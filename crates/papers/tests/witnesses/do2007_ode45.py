"""Witness for do2007: what MATLAB's `ode45` does with the slider, by its published rule (Shampine, Reichelt 1997),
without a line of the engine.

Dormand-Prince 5(4); error in the largest component relative to max(|y|, AbsTol/RelTol); next step h/1.25
(tol/err)^(1/5), at most five times, none longer after a rejection; `Refine` output points to a step, on the
interpolant. Prints the number of output points at 1e-8 with Refine = 4 (the default), and half the peak-to-peak of y3,
in percent, within 0.05 of the fastest slip of the first cycle at 1e-4, 1e-6: at the ends of steps, and at all output
points. Standard library alone, about 5 s.
"""

from do2007_clock import END, rhs

A = [
    [1 / 5],
    [3 / 40, 9 / 40],
    [44 / 45, -56 / 15, 32 / 9],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
]
C = [1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1]
E = [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40]
DENSE = [
    [1, -183 / 64, 37 / 12, -145 / 128],
    [0, 0, 0, 0],
    [0, 1500 / 371, -1000 / 159, 1000 / 371],
    [0, -125 / 32, 125 / 12, -375 / 64],
    [0, 9477 / 3392, -729 / 106, 25515 / 6784],
    [0, -11 / 7, 11 / 3, -55 / 28],
    [0, 3 / 2, -4, 5 / 2],
]


def ode45(rtol, atol, refine, end=END):
    t, y, threshold, longest = 0.0, (0.0, 0.0, 0.0), atol / rtol, 0.1 * END
    f = [rhs(t, *y)]
    rate = max(abs(a) / max(abs(b), threshold) for a, b in zip(f[0], y)) / (0.8 * rtol**0.2)
    step = min(longest, 1.0 / rate) if rate > 0 else longest
    out = [(t, y, True)]
    while t < end:
        step, first = min(step, longest), True
        while True:
            h = end - t if 1.1 * step >= end - t else step
            f = f[:1]
            for row, c in zip(A, C):
                new = tuple(y[i] + h * sum(a * k[i] for a, k in zip(row, f)) for i in range(3))
                f.append(rhs(t + c * h, *new))
            error = h * max(
                abs(sum(e * k[i] for e, k in zip(E, f))) / max(abs(y[i]), abs(new[i]), threshold) for i in range(3)
            )
            if error <= rtol:
                break
            step = h * max(0.1, 0.8 * (rtol / error) ** 0.2) if first else 0.5 * h
            first = False
        for j in range(1, refine):
            s = j / refine
            b = [sum(d * s ** (n + 1) for n, d in enumerate(row)) for row in DENSE]
            out.append((t + s * h, tuple(y[i] + h * sum(bk * k[i] for bk, k in zip(b, f)) for i in range(3)), False))
        step = h
        if first:
            grow = 1.25 * (error / rtol) ** 0.2
            step = h / grow if grow > 0.2 else 5 * h
        t, y, f = (end if h == end - t else t + h), new, [f[6]]
        out.append((t, y, True))
    return out


if __name__ == "__main__":
    print("points", len(ode45(1e-8, 1e-8, 4)))
    loose = ode45(1e-4, 1e-6, 4, 16.0)
    fastest = max(loose, key=lambda point: point[1][1])[0]
    half = lambda ys: 50.0 * (max(ys) - min(ys))
    near = [point for point in loose if abs(point[0] - fastest) < 0.05]
    print("ringing %.4f %.4f at %.3f" % (half([p[1][2] for p in near if p[2]]), half([p[1][2] for p in near]), fastest))
