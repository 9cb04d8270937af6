//! Robots damaged in thousands of ways: read or refused, never a panic, and refused with a place.

use std::fs;

use bristle::urdf::{self, FrictionFile, Options};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Contents of a file after a mistake or an attack.
const PIECES: [&str; 44] = [
    "<",
    ">",
    "/>",
    "\"",
    "'",
    "&",
    "&amp;",
    "&#0;",
    "&#xD800;",
    "&x;",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<?x ?>",
    "<!DOCTYPE a [",
    "nan",
    "inf",
    "-",
    "1e999",
    "1e-999",
    "0",
    "é",
    "\u{feff}",
    "\0",
    "\r",
    "\n",
    "\t",
    " ",
    "<joint name=\"x\" type=\"fixed\">",
    "</joint>",
    "<link name=\"",
    "</link>",
    "<mimic joint=\"j0\" offset=\"1e308\"/>",
    "<dynamics friction=\"1\"/>",
    "<axis/>",
    "world",
    "revolute",
    "floating",
    "planar",
    "${x}",
    "xmlns:a=\"b\" a:",
    "<xacro:if/>",
    "name=\"l0\"",
];

/// Robots to begin with, from these folders.
fn corpus(folders: &[&str]) -> Vec<String> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/urdf");
    let mut texts = Vec::new();
    for folder in folders {
        let mut files: Vec<_> = fs::read_dir(format!("{root}/{folder}")).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "urdf")) {
            let text = fs::read_to_string(file).unwrap();
            if text.len() < 6000 {
                texts.push(text);
            }
        }
    }
    texts
}

/// A byte offset between characters.
fn somewhere(random: &mut Pcg64Mcg, text: &str) -> usize {
    let mut at = random.random_range(0..=text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The text between the next quotes.
fn value_after(text: &str, at: usize) -> Option<std::ops::Range<usize>> {
    let start = at + text[at..].find("=\"")? + 2;
    Some(start..start + text[start..].find('"')?)
}

#[test]
fn damaged_robots_never_panic() {
    // what is good, hurt once, comes far; what is refused already, hurt often, leads astray
    let (good, corpus) = (corpus(&["good", "trees"]), corpus(&["good", "bad", "trees"]));
    let mut random = Pcg64Mcg::seed_from_u64(9);
    let (mut accepted, mut refused) = (0, 0);
    for case in 0..20_000 {
        let (from, most) = if case % 4 == 0 { (&corpus, 5) } else { (&good, 2) };
        let mut text = from[random.random_range(0..from.len())].clone();
        for _ in 0..random.random_range(1..=most) {
            let (a, b) = (somewhere(&mut random, &text), somewhere(&mut random, &text));
            let (a, b) = (a.min(b), a.max(b));
            let near = (a + random.random_range(0..20)).min(text.len());
            match random.random_range(0..10) {
                0 => text.insert_str(a, PIECES[random.random_range(0..PIECES.len())]),
                1 if text.is_char_boundary(near) => text.replace_range(a..near, ""),
                2 => text.truncate(b),
                3 if b - a < 400 => {
                    let part = text[a..b].to_owned();
                    text.insert_str(b, &part);
                }
                4 => {
                    // another robot's part in this one
                    let other = &corpus[random.random_range(0..corpus.len())];
                    let from = somewhere(&mut random, other);
                    let mut to = (from + 80).min(other.len());
                    while !other.is_char_boundary(to) {
                        to -= 1;
                    }
                    text.insert_str(a, &other[from..to]);
                }
                5..=7 => {
                    // a digit becomes another
                    if let Some(digit) = text[a..].find(|c: char| c.is_ascii_digit()) {
                        let digit = a + digit;
                        text.replace_range(digit..=digit, &random.random_range(0..10).to_string());
                    }
                }
                8 => {
                    // a value becomes one from elsewhere in the file
                    if let (Some(there), Some(here)) = (value_after(&text, b), value_after(&text, a)) {
                        let value = text[there].to_owned();
                        text.replace_range(here, &value);
                    }
                }
                _ => {
                    // a number or a name becomes another
                    if let Some(value) = value_after(&text, a) {
                        text.replace_range(value, PIECES[random.random_range(0..PIECES.len())]);
                    }
                }
            }
        }
        let options = Options {
            floating: case % 3 == 0,
            strict: case % 7 == 0,
            no_limits: false,
            friction: (case % 2 == 0)
                .then(|| FrictionFile::new("f.ron", "{ \"*\": (friction: Coulomb(coulomb: 0.1)) }")),
            overrides: Vec::new(),
        };
        match urdf::read_with(&text, "damaged.urdf", &options) {
            Ok(import) => {
                accepted += 1;
                // what is read can be saved, and is the same when read again
                let saved = import.scene.to_ron().unwrap();
                let again =
                    bristle::Scene::parse(&saved, "saved.ron").unwrap_or_else(|error| panic!("{text}\n{error}"));
                assert_eq!(again, import.scene, "{text}");
                assert!(import.lines.iter().all(|line| !line.to_string().is_empty()));
            }
            Err(error) => {
                refused += 1;
                assert!(!error.problems.is_empty() && !error.to_string().is_empty());
                for problem in &error.problems {
                    assert!(problem.position.is_some(), "{problem}");
                    assert!(problem.file == "damaged.urdf" || problem.file == "f.ron", "{problem}");
                }
            }
        }
    }
    println!("{accepted} accepted, {refused} refused");
    assert!(accepted > 1000 && refused > 5000, "{accepted} accepted, {refused} refused");
}

#[test]
fn damaged_friction_files_never_panic() {
    let robot = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/urdf/good/gripper.urdf")).unwrap();
    let whole = r#"{ "shoulder": (friction: LuGre(sigma0: 1.0e4, sigma1: 50.0, coulomb: 0.5), load: Pin(radius: 0.02),
        damping: 0.1),
        "finger": (friction: Stribeck(coulomb: 1.0, stiction: 2.0, stribeck_velocity: 0.1), armature: 0.1), "*":
            (friction: Coulomb(coulomb: 0.3)) }"#;
    let pieces = [
        "{", "}", "(", ")", "\"", ":", ",", "*", "-", "NaN", "inf", "é", "//", "/*", "friction", "Pin", "\0", "[",
        "r#\"",
    ];
    let mut random = Pcg64Mcg::seed_from_u64(10);
    for _ in 0..5_000 {
        let mut text = whole.to_owned();
        for _ in 0..random.random_range(1..4) {
            let at = somewhere(&mut random, &text);
            match random.random_range(0..3) {
                0 => text.insert_str(at, pieces[random.random_range(0..pieces.len())]),
                1 => text.truncate(at),
                _ if at < text.len() => _ = text.remove(at),
                _ => {}
            }
        }
        let options = Options { friction: Some(FrictionFile::new("f.ron", text.clone())), ..Options::default() };
        if let Err(error) = urdf::read_with(&robot, "gripper.urdf", &options) {
            assert!(error.problems.iter().all(|problem| problem.position.is_some()), "{text}\n{error}");
        }
    }
}
