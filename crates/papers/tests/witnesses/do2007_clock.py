"""Witness for do2007: tables 2 and 3 of Do, Ferri, Bauchau (2007), without a line of the engine.

    y1' = a y2      y2' = (u - y1 - f)/a      e y3' = a (y2 - |y2| y3/g)
    f = y3 + s1 (y2 - |y2| y3/g) + s2 y2      g = 1 + c exp(-y2^2)      u = (K/F_c) 0.1 tau/w_n

Each variable-step row is run twice: with the clock that adds the step taken, and with one that adds the step just
chosen for the next (`step(y, h); h = rule(y); t += h`). The constant rows are run once. Errors are those of f against
classical Runge-Kutta at 1e-5, linear between its steps, at each row's own times; RMS by eq. (20), trapezoidal rule.

Prints one line for each row: name, clock, steps, max E, RMS. `--quick` takes the implicit rows and a baseline of 1e-4.
`--others` adds three other slips. Standard library alone. About 10 s (quick: 2 s).
"""

import sys
from math import exp, sqrt

ALPHA, GAMMA, EPS = 1e-3 * sqrt(2.0), 0.5, 2e-5
S1, S2 = sqrt(1e5) * 1e-3, 4e-4
RATE = 2.0 * 0.1 / sqrt(2.0)  # du/dtau
END = 20.0 * sqrt(2.0)


def g_of(y2):
    return 1.0 + GAMMA * exp(-y2 * y2)


def friction(y2, y3):
    return y3 + S1 * (y2 - abs(y2) * y3 / g_of(y2)) + S2 * y2


def rhs(t, y1, y2, y3):
    slip = y2 - abs(y2) * y3 / g_of(y2)
    return ALPHA * y2, (RATE * t - y1 - (y3 + S1 * slip + S2 * y2)) / ALPHA, ALPHA / EPS * slip


def rk4(t, y, h):
    y1, y2, y3 = y
    a1, a2, a3 = rhs(t, y1, y2, y3)
    k = 0.5 * h
    b1, b2, b3 = rhs(t + k, y1 + k * a1, y2 + k * a2, y3 + k * a3)
    c1, c2, c3 = rhs(t + k, y1 + k * b1, y2 + k * b2, y3 + k * b3)
    d1, d2, d3 = rhs(t + h, y1 + h * c1, y2 + h * c2, y3 + h * c3)
    k = h / 6.0
    return (
        y1 + k * (a1 + 2 * b1 + 2 * c1 + d1),
        y2 + k * (a2 + 2 * b2 + 2 * c2 + d2),
        y3 + k * (a3 + 2 * b3 + 2 * c3 + d3),
    )


def jacobian(y2, y3):
    g = g_of(y2)
    dg = -2.0 * GAMMA * y2 * exp(-y2 * y2)
    sign = (y2 > 0) - (y2 < 0)
    slip_2 = 1.0 - sign * y3 / g + abs(y2) * y3 * dg / (g * g)
    slip_3 = -abs(y2) / g
    return [
        [0.0, ALPHA, 0.0],
        [-1.0 / ALPHA, -(S1 * slip_2 + S2) / ALPHA, -(1.0 + S1 * slip_3) / ALPHA],
        [0.0, ALPHA / EPS * slip_2, ALPHA / EPS * slip_3],
    ]


def solve(matrix, b):
    n = len(b)
    a = [row[:] + [b[i]] for i, row in enumerate(matrix)]
    for k in range(n):
        p = max(range(k, n), key=lambda i: abs(a[i][k]))
        a[k], a[p] = a[p], a[k]
        for i in range(k + 1, n):
            f = a[i][k] / a[k][k]
            if f:
                for j in range(k, n + 1):
                    a[i][j] -= f * a[k][j]
    x = [0.0] * n
    for k in reversed(range(n)):
        x[k] = (a[k][n] - sum(a[k][j] * x[j] for j in range(k + 1, n))) / a[k][k]
    return x


RADAU = ((5.0 / 12.0, -1.0 / 12.0), (3.0 / 4.0, 1.0 / 4.0)), (1.0 / 3.0, 1.0)
TRAPEZOIDAL = ((0.0, 0.0), (0.5, 0.5)), (0.0, 1.0)


def implicit(tableau, t, y, h, state, loose=False):
    """Two stages by Newton on K = (k1, k2). Full convergence from k = f(y) unless `loose`, which starts from the stages
    of the last step and stops when no component changes by more than a tenth: an iteration fitted to the print."""
    a, c = tableau
    if loose and state:
        k = list(state[0])
    else:
        k = list(rhs(t, *y)) * 2
    for _ in range(50):
        stages = [[y[i] + h * (a[s][0] * k[i] + a[s][1] * k[3 + i]) for i in range(3)] for s in (0, 1)]
        residual, rows = [], []
        for s in (0, 1):
            f, jac = rhs(t + c[s] * h, *stages[s]), jacobian(stages[s][1], stages[s][2])
            for i in range(3):
                residual.append(f[i] - k[3 * s + i])
                rows.append(
                    [(1.0 if p == s and i == j else 0.0) - h * a[s][p] * jac[i][j] for p in (0, 1) for j in range(3)]
                )
        d = solve(rows, residual)
        k = [x + dx for x, dx in zip(k, d)]
        if loose:
            if sqrt(sum(x * x for x in d)) <= 0.1 * sqrt(sum(x * x for x in k)):
                break
        elif max(abs(x) for x in d) <= 1e-10 * (1.0 + max(abs(x) for x in k)):
            break
    state[:] = [k]
    return tuple(y[i] + h * (a[1][0] * k[i] + a[1][1] * k[3 + i]) for i in range(3))


def time_constant(y):
    return EPS * g_of(y[1]) / (ALPHA * abs(y[1])) if y[1] else float("inf")


def run(method, rule, clock):
    """Times shown and friction at the ends of steps. Clocks: `correct`; `slipped` (the step just chosen); `label` and
    `input` (the slip in the times shown alone, or in u alone); `late` (the step before the one taken)."""
    t_u = t_shown = 0.0
    y, h = (0.0, 0.0, 0.0), rule((0.0, 0.0, 0.0))
    before = h
    ts, fs = [0.0], [0.0]
    while t_shown < END - 1e-12:
        taken = min(h, END - t_shown) if clock == "correct" else h
        y = method(t_u, y, taken)
        h = rule(y)
        t_u += {"correct": taken, "label": taken, "late": before}.get(clock, h)
        t_shown += {"correct": taken, "input": taken, "late": before}.get(clock, h)
        before = taken
        ts.append(t_shown)
        fs.append(friction(y[1], y[2]))
    return ts, fs


def errors(row, base):
    (ts, fs), (step, fine) = row, base
    es = []
    for t, f in zip(ts, fs):
        k = min(int(t / step), len(fine) - 2)
        x = min((t - k * step) / step, 1.0)
        es.append(abs(f - (fine[k] + x * (fine[k + 1] - fine[k]))))
    total = sum(0.5 * (a * a + b * b) * (u - v) for a, b, u, v in zip(es[1:], es, ts[1:], ts))
    return max(es), sqrt(total / (ts[-1] - ts[0]))


def main():
    quick = "--quick" in sys.argv
    step = 1e-4 if quick else 1e-5
    y, fine = (0.0, 0.0, 0.0), [0.0]
    for k in range(int(END / step) + 1):
        y = rk4(k * step, y, step)
        fine.append(friction(y[1], y[2]))
    base = (step, fine)
    radau = lambda t, y, h, state=[]: implicit(RADAU, t, y, h, state)
    by = lambda low, high, inside, outside: lambda y: inside if low(abs(y[1])) and abs(y[1]) < high else outside
    rows = [
        ("radau3_velocity", radau, by(lambda v: v > 0.1, 5.0, 0.01, 0.02)),
        ("radau3_time_constant", radau, lambda y: 0.01 if time_constant(y) < 0.1 else 0.05),
    ]
    if not quick:
        rows += [
            ("rk4_velocity", rk4, by(lambda v: v >= 0.1, 5.0, 1e-4, 1e-3)),
            ("rk4_time_constant", rk4, lambda y: min(1e-3, time_constant(y) / 3.0)),
        ]
    for name, method, rule in rows:
        others = ("label", "input", "late") if "--others" in sys.argv else ()
        for clock in ("correct", "slipped") + others:
            row = run(method, rule, clock)
            print(name, clock, len(row[0]) - 1, *("%.4g" % e for e in errors(row, base)))
    constant = [
        ("radau3_constant", radau, 1e-2),
        ("trapezoidal", lambda t, y, h, s=[]: implicit(TRAPEZOIDAL, t, y, h, s), 5e-3),
    ]
    constant.append(("radau3_constant_loose", lambda t, y, h, s=[]: implicit(RADAU, t, y, h, s, True), 1e-2))
    if not quick:
        constant.append(("rk4_constant", rk4, 1e-3))
    for name, method, h in constant:
        row = run(method, lambda y: h, "correct")
        print(name, "correct", len(row[0]) - 1, *("%.4g" % e for e in errors(row, base)))


if __name__ == "__main__":
    main()
