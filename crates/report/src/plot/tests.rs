//! Pictures as a whole: well-formed, complete, small.

use super::*;
use crate::results::ResultEvent;
use bristle::EventKind;

fn svg(results: &Results, selection: &Selection) -> Result<String> {
    Ok(String::from_utf8(drawn(results, selection, Format::Svg)?)?)
}

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
            ResultEvent { t: 0.5, joint: "hinge <a&b>".into(), from: 1, to: 0, event: EventKind::Mode },
            ResultEvent { t: 0.8, joint: "hinge <a&b>".into(), from: 0, to: -1, event: EventKind::Mode },
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
    let of = |name: &str| Format::of(Path::new(name));
    assert_eq!((of("a.svg").unwrap(), of("a.PNG").unwrap()), (Format::Svg, Format::Png));
    for name in ["a.pdf", "a", "png"] {
        assert_eq!(of(name).unwrap_err().to_string(), format!("{name}: pictures are written as .svg or .png"));
    }
}

/// Pixels of a PNG as far as ours go: width, and rows of red, green and blue.
fn pixels(png: &[u8]) -> (usize, Vec<[u8; 3]>) {
    use std::io::Read;
    let width = u32::from_be_bytes(png[16..20].try_into().unwrap()) as usize;
    let begin = png.windows(4).position(|name| name == b"IDAT").unwrap() + 4;
    let mut rows = Vec::new();
    flate2::read::ZlibDecoder::new(&png[begin..]).read_to_end(&mut rows).unwrap();
    let row = |row: &[u8]| row[1..].chunks(3).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect::<Vec<_>>();
    (width, rows.chunks(1 + 3 * width).flat_map(row).collect())
}

/// Both files show one picture: on every point of every curve in the SVG, the PNG has the colour of the curve.
#[test]
fn pixels_match_svg_paths() {
    let selection = Selection { title: "摩擦 🦀".into(), ..Selection::default() };
    let (svg, png) =
        (svg(&pendulum(500), &selection).unwrap(), drawn(&pendulum(500), &selection, Format::Png).unwrap());
    let (width, pixels) = pixels(&png);
    let height: usize = svg.split("height=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    assert_eq!((width, pixels.len() / width), (1840, 2 * height));
    let is_blue = |pixel: &[u8; 3]| pixel[0] < 60 && pixel[2] > 150;
    let mut n = 0;
    for path in svg.split("<path class=\"c0 d0\" d=\"M").skip(1) {
        let (mut x, mut y) = (0.0, 0.0);
        for step in path.split('"').next().unwrap().split('l').filter(|step| !step.contains('h')) {
            let gap = step.find(' ').or_else(|| step[1..].find('-').map(|k| k + 1)).unwrap();
            x += step[..gap].parse::<f64>().unwrap();
            y += step[gap..].trim().parse::<f64>().unwrap();
            // half of the line may lie beyond the frame on the sides
            let column = (2.0 * x).clamp(2.0 * 76.0, 2.0 * 902.0 - 1.0) as usize;
            assert!(is_blue(&pixels[(2.0 * y) as usize * width + column]), "{x} {y}");
            n += 1;
        }
    }
    assert!(n > 1000, "{n}");
    // five letters of which the font has none but the blank: something stands there
    let ink = (20..60).flat_map(|y| &pixels[y * width + 152..y * width + 240]).filter(|pixel| pixel[0] < 100).count();
    assert!(ink > 100, "{ink}");
}

#[test]
fn a_million_rows_make_a_png_at_once() {
    let mut table = pendulum(1_000_000);
    // as much ink as there can be: from bottom to top in every column
    for column in [1, 2, 4] {
        table.columns[column] = (0..1_000_000).map(|k| (f64::from(k) * 1.7).sin()).collect();
    }
    let start = std::time::Instant::now();
    let png = drawn(&table, &Selection::default(), Format::Png).unwrap();
    // a fraction of a second; a machine may be busy
    assert!(start.elapsed().as_secs_f64() < 20.0, "{:?}", start.elapsed());
    assert!(png.len() < 1_000_000, "{} bytes", png.len());
}

#[test]
fn hard_tables_have_pixels() {
    let mut table = pendulum(3);
    table.columns[1] = vec![f64::MAX, f64::NAN, -f64::MAX];
    table.columns[2] = vec![5e-324, 0.0, -5e-324];
    table.columns[4] = vec![1e299, -1e299, 0.0];
    table.names[1] = "\u{1}\u{202e}\u{0}".repeat(1000) + ".position";
    for table in [table, pendulum(1)] {
        let selection = Selection { title: "\n\t\u{feff}e\u{301}".repeat(10_000), ..Selection::default() };
        pixels(&drawn(&table, &selection, Format::Png).unwrap());
    }
}

/// A line of the legend for each of some thousand curves makes a picture higher than any screen.
#[test]
fn too_many_curves_for_pixels_are_refused() {
    let n = 3100;
    let names = (0..n).map(|k| format!("{k}{}.position", "-".repeat(80)));
    let table = Results {
        names: ["t".to_owned()].into_iter().chain(names).collect(),
        columns: vec![vec![0.0, 1.0]; n + 1],
        events: Vec::new(),
    };
    let all = Selection { patterns: vec!["*".into()], ..Selection::default() };
    let message = drawn(&table, &all, Format::Png).unwrap_err().to_string();
    assert!(message.contains("too many for a .png") && message.contains("choose fewer channels"), "{message}");
}

#[test]
fn near_stops_are_broken_lines() {
    let table = pendulum(2000);
    let with = |bounds: &[f64]| {
        let stops = vec![("hinge <a&b>".to_owned(), bounds.to_vec())];
        let selection = Selection { stops, ..Selection::default() };
        let panels = select::panels(&table, &selection).unwrap();
        let shown: Vec<Vec<f64>> = panels.iter().map(|panel| panel.curves[0].bounds.clone()).collect();
        (shown, svg(&table, &selection).unwrap())
    };
    // positions are from 0 to 1: a tenth of that beyond them is near
    let (shown, drawn) = with(&[-0.05, 1.05]);
    assert_eq!(shown[0], [-0.05, 1.05]);
    assert!(shown[1..].iter().all(Vec::is_empty), "{shown:?}");
    let (far, without) = with(&[-2.0, 1.2]);
    assert!(far.iter().all(Vec::is_empty), "{far:?}");
    let broken = |svg: &str| parse(svg).iter().filter(|(_, class)| class.ends_with(" d1")).count();
    assert_eq!((broken(&drawn), broken(&without)), (2, 0));
}
