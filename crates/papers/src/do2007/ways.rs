//! The rows of tables 2 and 3 as printed, and rows of our own.

use super::super::Effort;

/// Printed values of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Print {
    pub steps: f64,
    pub max: f64,
    pub rms: f64,
    /// Percent of the baseline's time.
    pub time: f64,
}

/// Table of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Explicit,
    Implicit,
    Ours,
}

/// A method for the slider.
pub struct Way {
    pub name: &'static str,
    pub label: &'static str,
    pub method: &'static str,
    pub control: String,
    pub place: Place,
    pub print: Option<Print>,
    /// Its name in a picture.
    pub point: &'static str,
}

/// Text beside the point of a row.
fn point_name(name: &'static str) -> &'static str {
    match name {
        "rk4_time_constant" => "RK4 T_c",
        "rk4_velocity" => "RK4 velocity",
        "rk4_constant" => "RK4",
        "ode45" => "ode45",
        "trapezoidal" => "trapezoidal",
        "radau3_constant" => "Radau-IIA",
        "radau3_velocity" => "Radau-IIA velocity",
        "radau3_time_constant" => "Radau-IIA T_c",
        "radau5_constant" => "h = 10⁻²",
        "real_time" => "RealTime",
        // by tolerance
        name => name.trim_start_matches("radau5_"),
    }
}

/// All rows.
pub fn ways(effort: Effort) -> Vec<Way> {
    use Place::{Explicit, Implicit, Ours};
    let print = |steps, max, rms, time| Some(Print { steps, max, rms, time });
    let way = |name, label, method, control: &str, place, print| Way {
        name,
        label,
        method,
        control: control.to_owned(),
        place,
        print,
        point: point_name(name),
    };
    let mut ways = vec![
        way(
            "rk4_time_constant",
            "Runge–Kutta (time constant)",
            "Rk4",
            "TimeConstant(max: 1e-3, fraction: 0.3333333333333333)",
            Explicit,
            print(4.020e5, 0.103, 1.50e-3, 14.8),
        ),
        way(
            "ode45",
            "ode45, 1e-8 (ours: `Dopri5`)",
            "Dopri5",
            "Error(rtol: 1e-8, atol: 1e-8)",
            Explicit,
            print(1.476e5, 1.68e-4, 1.89e-7, 3.62),
        ),
        way(
            "rk4_velocity",
            "Runge–Kutta (velocity)",
            "Rk4",
            "Velocity(inside: 1e-4, outside: 1e-3, range: (0.1, 5.0))",
            Explicit,
            print(3.170e4, 0.320, 5.71e-3, 1.17),
        ),
        way(
            "rk4_constant",
            "Runge–Kutta (constant)",
            "Rk4",
            "Constant(step: 1e-3)",
            Explicit,
            print(2.829e4, 3.98e-4, 5.17e-6, 1.14),
        ),
        way(
            "trapezoidal",
            "Trapezoidal",
            "Trapezoidal",
            "Constant(step: 5e-3)",
            Implicit,
            print(5.658e3, 0.150, 3.37e-3, 2.25),
        ),
        way(
            "radau3_constant",
            "Radau-IIA (constant)",
            "Radau3",
            "Constant(step: 1e-2)",
            Implicit,
            print(2.830e3, 9.33e-2, 2.11e-3, 1.08),
        ),
        way(
            "radau3_velocity",
            "Radau-IIA (velocity)",
            "Radau3",
            "Velocity(inside: 1e-2, outside: 2e-2, range: (0.1, 5.0))",
            Implicit,
            print(1.436e3, 0.497, 2.63e-2, 0.56),
        ),
        way(
            "radau3_time_constant",
            "Radau-IIA (time constant)",
            "Radau3",
            "TimeConstantSwitch(threshold: 0.1, below: 1e-2, above: 5e-2)",
            Implicit,
            print(1.216e3, 0.490, 3.24e-2, 0.47),
        ),
    ];
    let ours: &[(&str, &str, &str, &str)] = &[
        ("radau5_1e-3", "`Radau5`, rtol 1e-3", "Radau5", "Error(rtol: 1e-3, atol: 1e-3)"),
        ("radau5_1e-4", "`Radau5`, rtol 1e-4", "Radau5", "Error(rtol: 1e-4, atol: 1e-4)"),
        ("radau5_1e-5", "`Radau5`, rtol 1e-5", "Radau5", "Error(rtol: 1e-5, atol: 1e-5)"),
        ("radau5_1e-6", "`Radau5`, rtol 1e-6", "Radau5", "Error(rtol: 1e-6, atol: 1e-6)"),
        ("radau5_1e-7", "`Radau5`, rtol 1e-7", "Radau5", "Error(rtol: 1e-7, atol: 1e-7)"),
        ("radau5_1e-8", "`Radau5`, rtol 1e-8", "Radau5", "Error(rtol: 1e-8, atol: 1e-8)"),
        ("radau5_1e-9", "`Radau5`, rtol 1e-9", "Radau5", "Error(rtol: 1e-9, atol: 1e-9)"),
        ("radau5_constant", "`Radau5`, h = 1e-2", "Radau5", "Constant(step: 1e-2)"),
        ("real_time", "`RealTime`, h = 1e-2", "RealTime", "Constant(step: 1e-2)"),
    ];
    let shown = if effort == Effort::Full { ours } else { &ours[1..5] };
    ways.extend(shown.iter().map(|&(name, label, method, control)| way(name, label, method, control, Ours, None)));
    ways
}
