//! How two tables of results differ, channel by channel.
//!
//! Both are looked at on the instants of the shorter one that the other spans. Where the longer one has no row at such
//! an instant, its value between the rows at t₀ and t₁, with s = (t − t₀)/h and h = t₁ − t₀, is
//!
//!     mode                    the value at t₀
//!     position, velocity      h₀₀ y₀ + h₁₀ h ẏ₀ + h₀₁ y₁ + h₁₁ h ẏ₁      (cubic Hermite; ẏ is the next channel down)
//!     anything else           (1 − s) y₀ + s y₁
//!
//! with h₀₀ = (1 + 2s)(1 − s)², h₁₀ = s(1 − s)², h₀₁ = s²(3 − 2s), h₁₁ = s²(s − 1).

use anyhow::{Result, bail};
use bristle_report::results::Results;
use std::collections::HashMap;

/// How one channel differs.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ChannelDifference {
    /// Its name.
    pub channel: String,
    /// Largest |a − b|.
    pub max: f64,
    /// Where it is, s.
    pub t: f64,
    /// Root of the mean of (a − b)².
    pub rms: f64,
    /// Range of values in the first table, as a scale of the difference.
    pub range: f64,
}

/// How two tables differ.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Difference {
    /// Instants looked at.
    pub instants: usize,
    /// At how many of them the longer table was interpolated.
    pub interpolated: usize,
    /// First and last instant, s.
    pub span: (f64, f64),
    /// Channels of both.
    pub channels: Vec<ChannelDifference>,
    /// Channels of the first table alone.
    pub only_first: Vec<String>,
    /// Channels of the second table alone.
    pub only_second: Vec<String>,
    /// Time that the first table, and the second, lacks of what the other has, s.
    pub missing: [f64; 2],
}

/// A place in a table: a row, or between a row and the next.
#[derive(Clone, Copy)]
enum Place {
    Row(usize),
    Between(usize, f64),
}

/// How much longer the times of another table are than these, at both ends; rounding of their ends is none.
fn lacks(these: &[f64], those: &[f64]) -> f64 {
    let ends = |t: &[f64]| Some((*t.first()?, *t.last()?));
    let (Some(own), Some(other)) = (ends(these), ends(those)) else { return 0.0 };
    let missing = (own.0 - other.0).max(0.0) + (other.1 - own.1).max(0.0);
    if missing > 1e-9 * (1.0 + other.1.abs()) { missing } else { 0.0 }
}

/// Compares b with a.
pub fn difference(a: &Results, b: &Results) -> Result<Difference> {
    let (Some(t_a), Some(t_b)) = (a.channel("t"), b.channel("t")) else { bail!("a table without `t`") };
    let (Some(start), Some(end)) = (overlap_start(t_a, t_b), overlap_end(t_a, t_b)) else {
        bail!("a table without rows")
    };
    if start > end {
        bail!("the tables have no time in common: one ends at {end} s, the other begins at {start} s");
    }
    // rows of both, on the instants of the one that has fewer
    let within = |t: &[f64]| t.iter().filter(|t| (start..=end).contains(*t)).count();
    let is_swapped = within(t_b) < within(t_a);
    let (short, long) = if is_swapped { (t_b, t_a) } else { (t_a, t_b) };
    let places: Vec<(usize, Place)> = (0..short.len())
        .filter(|&k| (start..=end).contains(&short[k]))
        .filter_map(|k| Some((k, place(long, short[k])?)))
        .collect();
    if places.is_empty() {
        bail!("the tables have no time in common");
    }
    let (first, second) = if is_swapped { (b, a) } else { (a, b) };

    // tables may be wide: channels by name
    let [in_a, in_b] = [a, b].map(by_name);
    let (in_first, in_second) = if is_swapped { (&in_b, &in_a) } else { (&in_a, &in_b) };
    let only = |these: &Results, those: &HashMap<&str, usize>| -> Vec<String> {
        these.names.iter().filter(|name| !those.contains_key(name.as_str())).cloned().collect()
    };
    let mut channels = Vec::new();
    for (own, name) in a.names.iter().enumerate().filter(|(_, name)| *name != "t") {
        let (Some(&in_short), Some(&in_long)) = (in_first.get(name.as_str()), in_second.get(name.as_str())) else {
            continue;
        };
        let (short_values, long_values) = (&first.columns[in_short], &second.columns[in_long]);
        let slopes = slope_name(name).and_then(|slope| in_second.get(slope.as_str()));
        let slopes = slopes.map(|&k| &second.columns[k][..]);
        let (mut max, mut t_max, mut squares) = (0.0, start, 0.0);
        for &(k, place) in &places {
            let d = (short_values[k] - value(name, long, long_values, slopes, place)).abs();
            squares += d * d;
            if d > max {
                (max, t_max) = (d, short[k]);
            }
        }
        let (low, high) =
            a.columns[own].iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &x| (low.min(x), high.max(x)));
        let rms = (squares / places.len() as f64).sqrt();
        channels.push(ChannelDifference { channel: name.clone(), max, t: t_max, rms, range: high - low });
    }
    if channels.is_empty() {
        bail!("the tables have no channel in common");
    }
    let interpolated = places.iter().filter(|(_, place)| matches!(place, Place::Between(..))).count();
    let instants = places.len();
    Ok(Difference {
        instants,
        interpolated,
        span: (start, end),
        channels,
        only_first: only(a, &in_b),
        only_second: only(b, &in_a),
        missing: [lacks(t_a, t_b), lacks(t_b, t_a)],
    })
}

/// Columns by their names.
fn by_name(table: &Results) -> HashMap<&str, usize> {
    table.names.iter().enumerate().map(|(k, name)| (name.as_str(), k)).collect()
}

fn overlap_start(a: &[f64], b: &[f64]) -> Option<f64> {
    Some(a.first()?.max(*b.first()?))
}

fn overlap_end(a: &[f64], b: &[f64]) -> Option<f64> {
    Some(a.last()?.min(*b.last()?))
}

/// Where an instant is in a column of time; rounding errors aside, the same instant is the same row.
fn place(times: &[f64], t: f64) -> Option<Place> {
    let same = |other: f64| (other - t).abs() <= 1e-12 * t.abs().max(1.0);
    let after = times.partition_point(|&time| time < t);
    if times.get(after).is_some_and(|&time| same(time)) {
        return Some(Place::Row(after));
    }
    let before = after.checked_sub(1)?;
    if same(times[before]) {
        return Some(Place::Row(before));
    }
    (after < times.len()).then(|| Place::Between(before, (t - times[before]) / (times[after] - times[before])))
}

/// The channel that is the rate of this one.
fn slope_name(name: &str) -> Option<String> {
    let (joint, what) = name.rsplit_once('.')?;
    match what {
        "position" => Some(format!("{joint}.velocity")),
        "velocity" => Some(format!("{joint}.acceleration")),
        _ => None,
    }
}

fn value(name: &str, times: &[f64], values: &[f64], slopes: Option<&[f64]>, place: Place) -> f64 {
    let (k, s) = match place {
        Place::Row(k) => return values[k],
        Place::Between(k, s) => (k, s),
    };
    if name.ends_with(".mode") {
        return values[k];
    }
    let (y0, y1, r) = (values[k], values[k + 1], 1.0 - s);
    match slopes {
        Some(slopes) => {
            let h = times[k + 1] - times[k];
            let (h00, h10, h01, h11) = ((1.0 + 2.0 * s) * r * r, s * r * r, s * s * (3.0 - 2.0 * s), -s * s * r);
            h00 * y0 + h10 * h * slopes[k] + h01 * y1 + h11 * h * slopes[k + 1]
        }
        None => r * y0 + s * y1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// sin t with its rates, and a mode, every `dt` up to `end`.
    fn table(dt: f64, end: f64) -> Results {
        let t: Vec<f64> = (0..).map(|k| f64::from(k) * dt).take_while(|t| *t < end + 1e-9).collect();
        let of = |f: &dyn Fn(f64) -> f64| t.iter().map(|&t| f(t)).collect::<Vec<f64>>();
        let columns =
            vec![of(&f64::sin), of(&f64::cos), of(&|t| -t.sin()), of(&|t| f64::from(t >= 0.5)), of(&|t| t * t)];
        Results {
            names: ["t", "j.position", "j.velocity", "j.acceleration", "j.mode", "energy.load"]
                .map(String::from)
                .to_vec(),
            columns: [vec![t.clone()], columns].concat(),
            events: Vec::new(),
        }
    }

    #[test]
    fn a_table_differs_from_itself_by_nothing() {
        let table = table(0.1, 2.0);
        let same = difference(&table, &table).unwrap();
        assert_eq!((same.instants, same.interpolated), (21, 0));
        assert!(same.channels.iter().all(|c| c.max == 0.0 && c.rms == 0.0));
    }

    #[test]
    fn a_known_difference_is_found_where_it_is() {
        let (a, mut b) = (table(0.1, 2.0), table(0.1, 2.0));
        b.columns[1][7] += 0.5;
        b.columns[1][9] -= 0.25;
        let found = difference(&a, &b).unwrap();
        let position = &found.channels[0];
        assert_eq!((position.channel.as_str(), position.t), ("j.position", a.columns[0][7]));
        assert!((position.max - 0.5).abs() < 1e-15);
        let rms = ((0.25 + 0.0625) / 21.0_f64).sqrt();
        assert!((position.rms - rms).abs() < 1e-15);
    }

    #[test]
    fn shared_times_need_no_interpolation() {
        let found = difference(&table(0.1, 1.0), &table(0.05, 2.0)).unwrap();
        assert_eq!((found.instants, found.interpolated, found.span), (11, 0, (0.0, 1.0)));
        assert!(found.channels.iter().all(|c| c.max < 1e-15), "{found:?}");
    }

    #[test]
    fn interpolation_has_the_order_it_should_have() {
        // sin between rows 0.1 apart: cubic h⁴/384 = 2.6e-7; t²: linear h²/4 = 2.5e-3; the other way round the same
        let (coarse, fine) = (table(0.1, 2.0), table(0.07, 1.9));
        for (a, b) in [(&coarse, &fine), (&fine, &coarse)] {
            let found = difference(a, b).unwrap();
            assert!(found.interpolated > 10);
            let max = |name: &str| found.channels.iter().find(|c| c.channel == name).unwrap().max;
            assert!(max("j.position") < 2.7e-7 && max("j.position") > 1e-9, "{}", max("j.position"));
            assert!(max("energy.load") < 2.51e-3, "{}", max("energy.load"));
            assert!(max("j.mode") <= 1.0);
        }
    }

    #[test]
    fn tables_with_nothing_in_common_are_refused() {
        let a = table(0.1, 1.0);
        let mut later = a.clone();
        later.columns[0].iter_mut().for_each(|t| *t += 5.0);
        assert!(difference(&a, &later).unwrap_err().to_string().contains("no time in common"));
        let other =
            Results { names: vec!["t".into(), "x".into()], columns: vec![vec![0.0], vec![0.0]], events: vec![] };
        assert!(difference(&a, &other).unwrap_err().to_string().contains("no channel in common"));
    }
}
