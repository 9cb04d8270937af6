//! The comparison as text: one table per pendulum, the paper's ratios beside ours.

use super::pendulum::{Measured, Pendulum, Way};
use std::fmt::Write;

/// Seconds the paper prints for its single and its double pendulum; it has neither the residual form nor longer chains.
pub fn paper(pendulum: &Pendulum, way: Way) -> Option<f64> {
    let [frictionless, crossings, implicit, jerk] = match pendulum.n_links() {
        1 => [1.76, 4.40, 58.00, 14.66],
        2 => [2.58, 13.74, 146.76, 38.84],
        _ => return None,
    };
    match way {
        Way::Frictionless => Some(frictionless),
        Way::Crossings => Some(crossings),
        Way::Implicit => Some(implicit),
        Way::Jerk => Some(jerk),
        Way::Residual => None,
    }
}

/// The table of one pendulum, in Markdown.
pub fn text(pendulum: &Pendulum, measured: &[Measured]) -> String {
    let error = measured.iter().map(|m| m.error).fold(0.0, f64::max);
    let mut text = format!(
        "{} pendulum, {} s, errors up to {error:.1e} rad\n\n| | stepper | rtol | error | steps | evaluations | sweeps \
         | substitutions | events | time, µs | ÷ frictionless | paper | ÷ crossings | paper \
         |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        pendulum.name, pendulum.duration
    );
    let time = |way: Way| measured.iter().find(|m| m.way == way).map(|m| m.time.as_secs_f64());
    for m in measured {
        let seconds = m.time.as_secs_f64();
        let ratio = |base: Way| time(base).map_or("–".into(), |base| format!("{:.2}", seconds / base));
        let printed = |base: Way| {
            let ratio = paper(pendulum, m.way).zip(paper(pendulum, base)).map(|(way, base)| way / base);
            ratio.map_or("–".into(), |ratio| format!("{ratio:.2}"))
        };
        let _ = writeln!(
            text,
            "| {} | {} | {:.1e} | {:.1e} | {} | {} | {} | {} | {} | {:.0} | {} | {} | {} | {} |",
            m.way.name(),
            m.way.method().name(),
            m.rtol,
            m.error,
            m.steps,
            m.evaluations,
            m.sweeps,
            m.substitutions,
            m.events,
            1e6 * seconds,
            ratio(Way::Frictionless),
            printed(Way::Frictionless),
            ratio(Way::Crossings),
            printed(Way::Crossings),
        );
    }
    text
}
