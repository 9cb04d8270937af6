"""Fits and sensitivities: against closed forms and central differences."""

from typing import Any, Literal

import conftest
import numpy as np
import pytest

import bristle

AXIS = conftest.ROOT / "crates/bristle/examples/fit/axis.fit.ron"
SLIDE = """Scene(
    gravity: (0.0, 0.0, 0.0),
    links: [Link(name: "body", mass: 2.0)],
    joints: [Joint(name: "slide", parent: "world", child: "body", kind: Prismatic(axis: (1.0, 0.0, 0.0)),
        velocity: 3.0, friction: Coulomb(coulomb: 1.0))],
    duration: 1.0,
)"""
COULOMB = "joints.slide.friction.coulomb"


def braked(force: float = 4.0, noise: float = 0.0) -> dict[str, np.ndarray]:
    """A body of 2 kg at 3 m/s that a force slows down, until it stands."""
    t = np.linspace(0.0, 2.0, 101)
    a = force / 2.0
    moving = np.minimum(t, 3.0 / a)
    x = 3.0 * moving - 0.5 * a * moving**2
    return {"t": t, "x": x + noise * np.random.default_rng(1).standard_normal(t.size)}


def fit_of(table: Any, initial: Literal["Measured", "Estimated"] = "Measured") -> bristle.Fit:
    fit = bristle.Fit(bristle.Scene.parse(SLIDE))
    fit.log(table, compare={"slide.position": "x"}, initial=initial)
    fit.free(COULOMB, 1.0, (0.1, 20.0))
    return fit


def test_friction_of_a_braked_body_is_found() -> None:
    fitted = fit_of(braked()).solve()
    assert fitted[COULOMB] == pytest.approx(4.0, abs=1e-6)
    assert fitted.scene.to_ron() != SLIDE
    assert bristle.Simulation(fitted.scene).run(2.0).last("slide.velocity") == 0.0
    (errors,) = fitted.errors
    assert errors.channel == "slide.position" and errors.rms < 1e-6
    assert np.array_equal(errors.measured, braked()["x"]) and errors.simulated.shape == errors.t.shape


def test_deviation_follows_the_noise() -> None:
    # the first row has noise, too: the start is part of the fit
    small, large = (fit_of(braked(noise=noise), "Estimated").solve().parameters[0] for noise in (1e-4, 1e-2))
    assert abs(large.value - 4.0) < 4.0 * large.deviation
    assert large.white_deviation == pytest.approx(100.0 * small.white_deviation, rel=0.2)


def test_windows_find_the_same_friction() -> None:
    # windows begin with velocities from differences of positions: rows near to one another
    t = np.arange(0.0, 2.0, 1e-3)
    moving = np.minimum(t, 1.5)
    fitted = fit_of({"t": t, "x": 3.0 * moving - moving**2}).solve(windows=0.5)
    assert fitted[COULOMB] == pytest.approx(4.0, rel=1e-2) and fitted[COULOMB] != fit_of(braked()).solve()[COULOMB]
    for seconds in (0.0, -1.0, np.nan):
        with pytest.raises(bristle.RefusedError, match="windows"):
            fit_of(braked()).solve(windows=seconds)


def test_laws_are_compared_on_the_same_logs() -> None:
    law = "Stribeck(coulomb: 1.0, stiction: 1.0, stribeck_velocity: 0.1)"
    other = fit_of(braked()).with_scene(bristle.Scene.parse(SLIDE.replace("Coulomb(coulomb: 1.0)", law)))
    assert "Stribeck" in other.solve().scene.to_ron()
    # a parameter that the other scene does not have is left out
    damped = bristle.Scene.parse(SLIDE.replace("friction: Coulomb(coulomb: 1.0)", "damping: 1.0"))
    without = fit_of(braked()).with_scene(damped)
    without.free("joints.slide.damping", 1.0, (0.1, 20.0))
    assert list(without.solve().to_dict()) == ["joints.slide.damping"]


def test_logs_held_out_are_evaluated() -> None:
    fit = fit_of(braked())
    fit.log(braked(), compare={"slide.position": "x"}, hold_out=True)
    fitted = fit.solve()
    (held,) = fitted.hold_out_errors
    assert held.rms < 1e-6
    (other,) = fitted.evaluate(braked(force=8.0))
    assert other.rms > 0.1
    assert "slide.position" in fitted._repr_html_() and list(fitted.to_dict()) == [COULOMB]


def test_fit_file_gives_the_same_as_its_parts() -> None:
    fitted = bristle.Fit.load(AXIS).solve(starts=1)
    fit = bristle.Fit(AXIS.parent / "axis.ron")
    fit.log(
        AXIS.parent / "axis.csv",
        time="t_s",
        inputs={"joints.slide.drive.target": "reference_m"},
        compare={"slide.position": "position_m", "slide.drive": "force_N"},
        noise={"slide.position": 2e-5, "slide.drive": 0.2},
        initial="Scene",
    )
    fit.free("links.carriage.mass", 2.0, (0.2, 20.0))
    fit.free("joints.slide.damping", 1.0, (0.0, 50.0))
    fit.free(COULOMB, 1.0, (0.1, 50.0))
    fit.free("joints.slide.friction.stiction", 0.5, (0.0, 20.0), over="coulomb")
    by_hand = fit.solve()
    assert by_hand.to_dict() == fitted.to_dict()
    assert fitted[COULOMB] == pytest.approx(5.5, rel=0.02)
    assert fitted["links.carriage.mass"] == pytest.approx(3.2, rel=0.01)


def test_logs_may_be_data_frames_and_recordings() -> None:
    pandas = pytest.importorskip("pandas")
    table = braked()
    values = [fit_of(given).solve().to_dict() for given in (table, pandas.DataFrame(table))]
    assert values[0] == values[1]
    recording = bristle.Simulation(bristle.Scene.parse(SLIDE.replace("coulomb: 1.0", "coulomb: 5.0"))).run()
    fit = bristle.Fit(bristle.Scene.parse(SLIDE))
    fit.log(recording, time="t", compare={"slide.position": "slide.position"})
    fit.free(COULOMB, 1.0, (0.1, 20.0))
    assert fit.solve()[COULOMB] == pytest.approx(5.0, abs=1e-5)


def test_progress_can_end_a_fit() -> None:
    seen: list[int] = []

    def progress(start: int, starts: int, iteration: int, error: float) -> bool:
        seen.append(iteration)
        return False

    fitted = bristle.Fit.load(AXIS).solve(starts=1, progress=progress)
    assert fitted.is_stopped and seen

    def broken(*_: object) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        bristle.Fit.load(AXIS).solve(starts=1, progress=broken)


def test_refusals_name_what_is_wrong() -> None:
    fit = fit_of(braked())
    with pytest.raises(bristle.RefusedError, match="`y`"):
        fit.log(braked(), compare={"slide.position": "y"})
    with pytest.raises(bristle.RefusedError, match="column `x` has 3 values, `t` 2"):
        fit.log({"t": [0.0, 1.0], "x": [0.0, 1.0, 2.0]}, compare={"slide.position": "x"})
    with pytest.raises(bristle.RefusedError, match="not finite"):
        fit.log({"t": [0.0, 1.0], "x": [0.0, np.nan]}, compare={"slide.position": "x"})
    with pytest.raises(bristle.RefusedError, match="positive"):
        fit.log(braked(), compare={"slide.position": "x"}, noise={"slide.position": -1.0})
    with pytest.raises(bristle.RefusedError, match="method"):
        fit.solve(method="Guess")  # type: ignore[arg-type]
    with pytest.raises(bristle.RefusedError, match="give the name of a CSV file"):
        fit.log(3, compare={"slide.position": "x"})
    with pytest.raises(FileNotFoundError):
        bristle.Recording.load("nowhere.csv")
    known = fit_of(braked())
    known.prior(COULOMB, np.nan, 0.1)
    with pytest.raises(ValueError, match="prior"):
        known.solve()
    twice = fit_of(braked())
    twice.free(COULOMB, 2.0, (0.1, 20.0))
    with pytest.raises(ValueError, match="free twice"):
        twice.solve()
    fit.free("joints.slide.friction.level", 1.0, (0.0, 1.0))
    with pytest.raises(ValueError, match="level"):
        fit.solve()


def test_sensitivities_agree_with_differences_through_stick_and_slip() -> None:
    text = SLIDE.replace(
        "velocity: 3.0, friction: Coulomb(coulomb: 1.0)",
        "friction: Coulomb(coulomb: 1.0, stiction: 1.5), drive: Pull(stiffness: 20.0, target: Ramp(rate: 0.1))",
    ).replace("duration: 1.0", "duration: 6.0, solver: Solver(control: Error(rtol: 1e-12, atol: 1e-14))")
    scene = bristle.Scene.parse(text)
    stiction, channel = "joints.slide.friction.stiction", "slide.position"
    assert len(bristle.Simulation(scene).run().events) >= 4
    times = np.linspace(0.0, 6.0, 61)
    paths = [COULOMB, stiction, "links.body.mass"]
    curves = scene.sensitivities(paths, channels=[channel], times=times)
    assert curves.values.shape == (61, 1) and curves.derivatives.shape == (3, 61, 1)
    for path, value in zip(paths, (1.0, 1.5, 2.0), strict=True):
        width = 1e-5
        ends = []
        for sign in (1.0, -1.0):
            moved = bristle.Scene.parse(text, set={path: value + sign * width})
            ends.append(moved.sensitivities([], channels=[channel], times=times).channel(channel))
        difference = (ends[0] - ends[1]) / (2.0 * width)
        exact = curves.derivative(channel, path)
        assert np.abs(exact - difference).max() < 1e-5 * np.abs(exact).max()
    assert len(scene.sensitivities([COULOMB]).channels) > 1


def test_sensitivity_of_a_braked_body_has_a_closed_form() -> None:
    scene = bristle.Scene.parse(SLIDE.replace("coulomb: 1.0", "coulomb: 8.0"))
    times = np.array([0.0, 0.3, 0.6, 0.9])
    curves = scene.sensitivities([COULOMB], channels=["slide.position"], times=times)
    # dx/dF = −t²/(2 m) until it stands at m v/F, then −m v²/(2 F²)
    expected = np.where(times < 0.75, -(times**2) / 4.0, -2.0 * 9.0 / (2.0 * 64.0))
    assert curves.derivative("slide.position", COULOMB) == pytest.approx(expected, abs=1e-7)
    for wrong in ([1.0, 0.5], [np.nan], [-1.0]):
        with pytest.raises(bristle.RefusedError, match="increasing"):
            scene.sensitivities([COULOMB], times=wrong)
    with pytest.raises(bristle.RefusedError, match="parameter"):
        curves.derivative("slide.position", "gravity.0")
