//! The parts of a report that stand still: energy ledger, solver statistics, warnings, the scene.

use super::Facts;
use crate::results::Results;
use crate::written;
use bristle::Scene;
use bristle_plot::format::grouped;
use std::fmt::Write;

/// Characters of a scene that are shown.
const MAX_SOURCE: usize = 60_000;
/// Rows of a table.
const MAX_ROWS: usize = 40;
/// Between thousands: a narrow space that does not break.
const APART: char = '\u{202f}';

/// Energies at the start and at the end, the largest error of their balance, and the heat of each joint.
pub fn ledger(scene: &Scene, results: &Results) -> String {
    let mut rows = String::new();
    let row = |rows: &mut String, name: &str, what: &str, values: &[f64]| {
        if let (Some(first), Some(last)) = (values.first(), values.last()) {
            let (name, change) = (escape(name), last - first);
            let cells = [*first, *last, change].map(|x| format!("<td>{}</td>", joules(x))).concat();
            let _ = writeln!(rows, "<tr><th>{name} <small>{}</small></th>{cells}</tr>", escape(what));
        }
    };
    for (name, what) in [
        ("kinetic", "of motion"),
        ("potential", "of height"),
        ("elastic", "of springs"),
        ("bristle", "of friction's bristles"),
        ("load", "put into bristles by changing loads"),
        ("input", "work of efforts, drives and wrenches"),
        ("dissipated", "heat of dampers and friction"),
        ("balance", "stored + heat − input − load − stored at the start"),
    ] {
        let values = results.channel(&format!("energy.{name}")).unwrap_or(&[]);
        if name == "balance" || values.iter().any(|x| *x != 0.0) {
            row(&mut rows, name, what, values);
        }
    }
    let heats: Vec<&String> =
        results.names.iter().filter(|name| name.ends_with(".dissipated") && !name.starts_with("energy.")).collect();
    for name in heats.iter().take(MAX_ROWS) {
        let owner = name.strip_suffix(".dissipated").unwrap_or(name);
        let kind = scene.couplings.iter().find(|coupling| coupling.name() == owner).map(|coupling| coupling.kind());
        let what = format!("heat of the {}", kind.map_or("joint", in_words));
        row(&mut rows, owner, &what, results.channel(name).unwrap_or(&[]));
    }
    if heats.len() > MAX_ROWS {
        let _ = writeln!(rows, "<tr><th>… and {} more</th></tr>", heats.len() - MAX_ROWS);
    }
    let balance = results.channel("energy.balance").unwrap_or(&[]);
    let worst = balance.iter().fold(0.0_f64, |worst, x| worst.max(x.abs()));
    format!(
        "<div class=\"scroll\"><table><thead><tr><th>J</th><td>start</td><td>end</td><td>change</td></tr></thead>\
         <tbody>\n{rows}</tbody></table></div>\n<p>The balance is off by {} J at worst.</p>",
        joules(worst)
    )
}

/// A kind of coupling as people say it.
fn in_words(kind: &'static str) -> &'static str {
    match kind {
        "Clutch" => "clutch",
        "Brake" => "brake",
        "OneWayClutch" => "one-way clutch",
        "SpringDamper" => "damper",
        kind => kind,
    }
}

/// How the run went.
pub fn statistics(facts: &Facts<'_>, span: f64) -> String {
    let (stats, seconds) = (facts.stats, facts.wall.as_secs_f64());
    let mut rows = vec![
        ("method", written(&facts.scene.method())),
        ("step control", written(&facts.scene.control())),
        ("formulation", written(&facts.scene.formulation)),
        ("wall time", format!("{seconds:.3} s, {:.0} × real time", span / seconds.max(1e-9))),
    ];
    for (name, n) in [
        ("steps", stats.n_accepted),
        ("steps rejected", stats.n_rejected),
        ("steps given up", stats.n_failed),
        ("evaluations of the motion", stats.n_rhs + stats.n_residual),
        ("Jacobians", stats.n_jacobian),
        ("factorisations", stats.n_factor),
        ("Newton iterations", stats.n_newton),
        ("events", stats.n_events),
        ("time events", stats.n_time_events),
        ("evaluations of events", stats.n_event_evaluations),
        ("steps shortened to an event", stats.n_landings),
    ] {
        if n > 0 || name == "steps" {
            rows.push((name, grouped(n, APART)));
        }
    }
    rows.push(("rows recorded", grouped(facts.results.len(), APART)));
    rows.push(("channels", grouped(facts.results.names.len(), APART)));
    let rows: String =
        rows.iter().map(|(name, value)| format!("<tr><th>{name}</th><td>{}</td></tr>\n", escape(value))).collect();
    format!("<div class=\"scroll\"><table><tbody>\n{rows}</tbody></table></div>")
}

/// Failure and warnings; empty without any.
pub fn warnings(facts: &Facts<'_>) -> String {
    let mut out = String::new();
    if let Some(failure) = facts.failure {
        let _ = writeln!(out, "{}", notice("failure", &format!("The run ended before its time: {failure}")));
    }
    for warning in facts.warnings.iter().take(MAX_ROWS) {
        let _ = writeln!(out, "{}", notice("warning", warning));
    }
    if facts.warnings.len() > MAX_ROWS {
        let _ = writeln!(out, "<p>… and {} warnings more.</p>", facts.warnings.len() - MAX_ROWS);
    }
    out
}

/// A message: its first line as running text, its place in the scene as it was set.
fn notice(class: &str, message: &str) -> String {
    let (first, rest) = message.split_once('\n').unwrap_or((message, ""));
    let rest = if rest.is_empty() { String::new() } else { format!("<pre>{}</pre>", escape(rest)) };
    format!("<div class=\"{class}\">{}{rest}</div>", escape(first))
}

/// The text of the scene.
pub fn source(facts: &Facts<'_>) -> String {
    let Some(text) = facts.scene.origin.text() else { return "<p>The scene was made in a program.</p>".into() };
    let mut out = String::new();
    if !facts.overrides.is_empty() {
        let list: Vec<String> = facts
            .overrides
            .iter()
            .map(|(path, value)| format!("<code>{}</code>", escape(&format!("{path}={value}"))))
            .collect();
        let _ = writeln!(out, "<p>With other values for this run: {}</p>", list.join(", "));
    }
    let end = text.char_indices().nth(MAX_SOURCE).map_or(text.len(), |(at, _)| at);
    let _ = write!(out, "<pre class=\"source\">{}</pre>", escape(&text[..end]));
    if end < text.len() {
        let _ = write!(out, "<p>The first {MAX_SOURCE} characters of {}.</p>", text.chars().count());
    }
    out
}

/// An energy with six digits.
fn joules(x: f64) -> String {
    let text = match x.abs() {
        0.0 => "0".to_owned(),
        size if (1e-3..1e6).contains(&size) => format!("{x:.6}"),
        _ => format!("{x:.3e}"),
    };
    text.replace('-', "−")
}

/// A text as it stands in HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!([0.0, -1.5, 2e-12, 3e9].map(joules), ["0", "−1.500000", "2.000e−12", "3.000e9"]);
    }
}
