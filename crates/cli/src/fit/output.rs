//! Results of a fit: the scene, a table, a page, a summary.

use crate::target;
use anyhow::Result;
use bristle::fit::{ChannelError, Fitted};
use bristle_plot::chart::{Panel, Style, grid};
use bristle_plot::{escape, svg};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

/// Scene, table and page; why those that could not be written were not.
pub fn write(fitted: &Fitted, names: &[PathBuf; 3]) -> Result<Vec<anyhow::Error>> {
    let texts = [fitted.scene().to_ron()?, rows(fitted), html(fitted)];
    let written =
        names.iter().zip(&texts).map(|(name, text)| target::write(name, |out| Ok(out.write_all(text.as_bytes())?)));
    Ok(written.filter_map(Result::err).collect())
}

/// Values and deviations.
fn rows(fitted: &Fitted) -> String {
    let mut text = "path,value,deviation,white_deviation,start,low,high,is_identifiable\n".to_owned();
    for p in fitted.parameters() {
        let finite = |x: f64| if x.is_finite() { format!("{x:?}") } else { String::new() };
        let _ = writeln!(
            text,
            "{},{:?},{},{},{:?},{},{},{}",
            cell(&p.path),
            p.value,
            finite(p.deviation),
            finite(p.white_deviation),
            p.start,
            finite(p.bounds.0),
            finite(p.bounds.1),
            p.is_identifiable
        );
    }
    text
}

/// Digits that a deviation allows for.
fn value(value: f64, deviation: f64) -> (String, String) {
    if !deviation.is_finite() || deviation <= 0.0 {
        return (format!("{value:.6}"), "?".into());
    }
    let digits = (1.0 - deviation.log10().floor()).clamp(0.0, 12.0) as usize;
    (format!("{value:.digits$}"), format!("{deviation:.digits$}"))
}

/// An error relative to a measurement, which is none where the measurement is zero.
pub fn percent(x: f64, digits: usize) -> String {
    if x.is_finite() { format!("{x:.digits$}") } else { "–".into() }
}

/// A cell of a table: names may have commas and quotation marks.
fn cell(text: &str) -> String {
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

fn errors(title: &str, errors: &[ChannelError], text: &mut String) {
    for error in errors {
        let filtered = error.filtered.map_or(String::new(), |x| format!("  ({} % in its band)", percent(x, 3)));
        let ChannelError { file, channel, rms, relative, .. } = error;
        let relative = percent(*relative, 4);
        let _ = writeln!(text, "  {title:<9} {channel:<24} {relative:>9} %   rms {rms:.6e}{filtered}   {file}");
    }
}

/// The summary on the screen; without warnings that were `said` before.
pub fn summary(fitted: &Fitted, names: &[PathBuf; 3], wall: Duration, said: &[String]) -> String {
    let mut text = String::new();
    let (samples, effective) = fitted.samples();
    let width = fitted.parameters().iter().map(|p| p.path.len()).max().unwrap_or(0);
    for p in fitted.parameters() {
        let (number, deviation) = value(p.value, p.deviation);
        let (_, white) = value(p.value, p.white_deviation);
        let over = p.over.as_ref().map_or("", |over| over.rsplit('.').next().unwrap_or(""));
        let over = if over.is_empty() { String::new() } else { format!("   (over `{over}`)") };
        let _ = writeln!(text, "  {:<width$}  {number} ± {deviation}   (white-noise formula: ± {white}){over}", p.path);
    }
    let _ = writeln!(text, "  effective samples {effective:.0} of {samples}");
    for warning in fitted.warnings().iter().filter(|warning| !said.contains(warning)) {
        let _ = writeln!(text, "warning: {warning}");
    }
    errors("train", fitted.errors(), &mut text);
    errors("hold-out", fitted.hold_out_errors(), &mut text);
    let weak = fitted.identifiability();
    if let (Some(largest), Some(smallest)) = (weak.singular_values.first(), weak.singular_values.last()) {
        let direction =
            weak.weakest.iter().take(3).map(|(path, x)| format!("{path} {x:+.2}")).collect::<Vec<_>>().join(", ");
        let change = weak
            .largest_change
            .as_ref()
            .map_or(String::new(), |(channel, x)| format!("; 10 % along it change {channel} by {x:.3e} at most"));
        let _ =
            writeln!(text, "  singular values {largest:.3e} … {smallest:.3e}; weakest direction {direction}{change}");
    }
    let n = fitted.outcomes().len();
    let n_failed = fitted.outcomes().iter().filter(|outcome| outcome.failure.is_some()).count();
    let iterations: usize = fitted.outcomes().iter().map(|outcome| outcome.iterations).sum();
    let _ = writeln!(
        text,
        "  starts {} of {n} reached this minimum, {n_failed} {}; {iterations} iterations",
        fitted.n_same(),
        if fitted.is_stopped() { "were not run or failed" } else { "failed" }
    );
    if fitted.is_stopped() {
        let _ = writeln!(text, "stopped: these are the best values so far");
    }
    let files = names.iter().map(|name| name.display().to_string()).collect::<Vec<_>>().join(", ");
    let _ = write!(text, "  {:.2} s; {files}", wall.as_secs_f64());
    text
}

/// The result as one JSON object.
pub fn json(fitted: &Fitted, wall: Duration) -> Result<String> {
    let finite = |x: f64| x.is_finite().then_some(x);
    let parameters: Vec<_> = fitted
        .parameters()
        .iter()
        .map(|p| {
            serde_json::json!({ "path": p.path, "value": p.value, "deviation": finite(p.deviation),
                "white_deviation": finite(p.white_deviation), "start": p.start, "is_identifiable": p.is_identifiable })
        })
        .collect();
    let list = |errors: &[ChannelError]| -> Vec<serde_json::Value> {
        let one = |e: &ChannelError| {
            serde_json::json!({ "file": e.file, "channel": e.channel, "rms": e.rms, "relative": finite(e.relative),
                "filtered": e.filtered.and_then(finite) })
        };
        errors.iter().map(one).collect()
    };
    let weak = fitted.identifiability();
    let object = serde_json::json!({
        "parameters": parameters,
        "train": list(fitted.errors()),
        "hold_out": list(fitted.hold_out_errors()),
        "samples": fitted.samples().0,
        "effective_samples": fitted.samples().1,
        "starts": fitted.outcomes().len(),
        "same_minimum": fitted.n_same(),
        "singular_values": weak.singular_values,
        "weakest": weak.weakest,
        "warnings": fitted.warnings(),
        "stopped": fitted.is_stopped(),
        "wall_s": wall.as_secs_f64(),
    });
    Ok(serde_json::to_string(&object)? + "\n")
}

/// Measured against simulated, residuals, and the table.
fn html(fitted: &Fitted) -> String {
    let mut text = String::from(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Fit</title>\
         <style>body{font:15px/1.5 sans-serif;max-width:980px;margin:2em auto;padding:0 1em}\
         table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ddd}\
         td:first-child,th:first-child{text-align:left}svg{max-width:100%;height:auto}</style>\n<h1>Fit</h1>\n",
    );
    text += "<table><tr><th>parameter<th>value<th>deviation<th>white noise<th>start</tr>\n";
    for p in fitted.parameters() {
        let (number, deviation) = value(p.value, p.deviation);
        let (_, white) = value(p.value, p.white_deviation);
        let _ = writeln!(
            text,
            "<tr><td>{}<td>{number}<td>{deviation}<td>{white}<td>{}</tr>",
            escape(&p.path),
            bristle_plot::format::significant(p.start)
        );
    }
    text += "</table>\n";
    for warning in fitted.warnings() {
        let _ = writeln!(text, "<p>Warning: {}</p>", escape(warning));
    }
    for (title, errors) in [("Fitted", fitted.errors()), ("Held out", fitted.hold_out_errors())] {
        for error in errors {
            let ChannelError { file, channel, rms, relative, t, measured, simulated, .. } = error;
            let residuals: Vec<f64> = simulated.iter().zip(measured).map(|(y, x)| y - x).collect();
            let _ = writeln!(
                text,
                "<h2>{title}: {} in {}</h2><p>{} %, rms {rms:.4e}</p>",
                escape(channel),
                escape(file),
                percent(*relative, 3)
            );
            let panels = [
                Panel::new(channel, "t in s", "").curve("measured", t, measured, Style::Line).curve(
                    "simulated",
                    t,
                    simulated,
                    Style::Line,
                ),
                Panel::new("simulated − measured", "t in s", "").curve("", t, &residuals, Style::Line),
            ];
            text += &svg(&grid("", 1, &panels));
        }
    }
    text + "</html>\n"
}
