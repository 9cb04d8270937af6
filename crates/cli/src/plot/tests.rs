//! Pictures as a whole: well-formed, complete, small.

use super::*;
use crate::results::ResultEvent;

fn pendulum(n: usize) -> Results {
    let t: Vec<f64> = (0..n).map(|k| k as f64 * 1e-3).collect();
    let wave = |f: f64| t.iter().map(|t| (f * t).sin()).collect::<Vec<f64>>();
    Results {
        names: [
            "t",
            "hinge <a&b>.position",
            "hinge <a&b>.velocity",
            "hinge <a&b>.mode",
            "energy.kinetic",
            "energy.balance",
        ]
        .map(String::from)
        .into(),
        columns: vec![t.clone(), wave(1.0), wave(3.0), vec![1.0; n], wave(2.0), vec![1e-12; n]],
        events: vec![
            ResultEvent { t: 0.5, joint: "hinge <a&b>".into(), from: 1, to: 0 },
            ResultEvent { t: 0.8, joint: "hinge <a&b>".into(), from: 0, to: -1 },
        ],
    }
}

/// Elements open and close in order, attributes are quoted, and nothing stands bare that must not. Gives how often each
/// element occurs with each class.
fn parse(svg: &str) -> Vec<(String, String)> {
    let mut open: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    let mut rest = svg.trim_end();
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        assert!(!text.contains('>') && entities_are_whole(text), "{text}");
        let end = rest.find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        assert!(!tag.contains('<'), "{tag}");
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
            assert!(!open.is_empty() || rest.is_empty(), "one root");
            continue;
        }
        let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(attributes.matches('"').count() % 2 == 0 && entities_are_whole(attributes), "{attributes}");
        let class = attributes.split("class=\"").nth(1).and_then(|text| text.split('"').next()).unwrap_or("");
        found.push((name.to_owned(), class.to_owned()));
        if !is_empty {
            open.push(name);
        }
    }
    assert!(open.is_empty() && rest.is_empty(), "{open:?} {rest}");
    found
}

fn entities_are_whole(text: &str) -> bool {
    text.split('&').skip(1).all(|after| ["amp;", "lt;", "gt;", "quot;"].iter().any(|entity| after.starts_with(entity)))
}

#[test]
fn a_picture_is_well_formed_and_has_its_curves() {
    let svg = svg(&pendulum(2000), &Selection { title: "a < b & \"c\"\u{1}".into(), ..Selection::default() }).unwrap();
    let found = parse(&svg);
    let count = |class: &str| found.iter().filter(|(name, c)| name == "path" && c == class).count();
    // a curve and its legend: position, velocity, kinetic; the balance needs no legend
    assert_eq!(count("c0 d0"), 7, "{found:?}");
    // shaded in two panels, one row below
    assert_eq!((count("stuck f0"), count("held f0"), count("c0 event")), (2, 1, 2));
    assert!(svg.contains("hinge &lt;a&amp;b&gt;") && !svg.contains("NaN") && !svg.contains("inf"));
    assert!(svg.contains("energy balance (×10⁻¹² J)"));
}

#[test]
fn a_million_rows_make_a_small_file() {
    let svg = svg(&pendulum(1_000_000), &Selection::default()).unwrap();
    parse(&svg);
    assert!(svg.len() < 300_000, "{} bytes", svg.len());
}

#[test]
fn hard_tables_are_drawn() {
    let mut table = pendulum(3);
    table.columns[1] = vec![f64::MAX, f64::NAN, -f64::MAX];
    table.columns[2] = vec![5e-324, 0.0, -5e-324];
    table.columns[4] = vec![1e299, -1e299, 0.0];
    let svg1 = svg(&table, &Selection::default()).unwrap();
    parse(&svg1);
    assert!(!svg1.contains("NaN") && !svg1.contains("inf"), "{svg1}");
    // a single row
    parse(&svg(&pendulum(1), &Selection::default()).unwrap());
}

#[test]
fn windows_outside_are_refused() {
    let table = pendulum(1001);
    let window = |from, to| svg(&table, &Selection { from, to, ..Selection::default() });
    parse(&window(Some(0.2), Some(0.7)).unwrap());
    parse(&window(Some(0.2), Some(0.2)).unwrap());
    let message = |from, to| window(from, to).unwrap_err().to_string();
    assert_eq!(message(Some(2.0), Some(3.0)), "there is nothing to show; the results run from 0 s to 1 s");
    assert!(message(Some(0.7), Some(0.2)).contains("before it begins"));
    assert!(message(Some(f64::NAN), None).contains("finite"));
    let empty = Results { names: vec!["t".into()], columns: vec![Vec::new()], events: Vec::new() };
    assert_eq!(svg(&empty, &Selection::default()).unwrap_err().to_string(), "the results have no rows");
    let alone = Results { names: vec!["t".into()], columns: vec![vec![0.0]], events: Vec::new() };
    assert!(svg(&alone, &Selection::default()).unwrap_err().to_string().contains("no channel besides"));
}

#[test]
fn names_of_pictures() {
    assert!(check_picture_name(Path::new("a.svg")).is_ok() && check_picture_name(Path::new("a.SVG")).is_ok());
    let message = check_picture_name(Path::new("a.png")).unwrap_err().to_string();
    assert!(message.contains("not .png") && message.contains("rsvg-convert"));
    assert!(check_picture_name(Path::new("a")).is_err());
}
