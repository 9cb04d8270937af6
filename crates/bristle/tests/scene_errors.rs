//! Bad scenes and what is said about them: each `scenes_bad/NAME.ron` is refused with the text of `NAME.txt`.
//!
//! Lines `// --set path=value` at the top of a scene are overrides. `BLESS=1 cargo test` writes the texts anew.

use std::fs;
use std::path::PathBuf;

use bristle::scene::Scene;

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenes_bad"))
}

#[test]
fn bad_scenes_are_refused_with_exact_messages() {
    let mut names: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".ron").map(str::to_owned))
        .collect();
    names.sort();
    assert!(names.len() >= 200, "only {} bad scenes", names.len());

    let mut wrong = Vec::new();
    for name in names {
        let text = fs::read_to_string(folder().join(format!("{name}.ron"))).unwrap();
        let overrides: Vec<(&str, &str)> = text
            .lines()
            .map_while(|line| line.strip_prefix("// --set "))
            .map(|line| line.split_once('=').expect("path=value"))
            .collect();
        let said = match Scene::parse_with(&text, &format!("{name}.ron"), &overrides) {
            Ok(_) => "accepted\n".to_owned(),
            Err(error) => format!("{error}\n"),
        };
        let golden = folder().join(format!("{name}.txt"));
        if std::env::var_os("BLESS").is_some() {
            fs::write(&golden, &said).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        if said != expected || said == "accepted\n" {
            wrong.push(format!("── {name}: expected\n{expected}── got\n{said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_that_cannot_be_read_are_refused_by_name() {
    let said = |path: &str| Scene::load(path).unwrap_err().to_string();
    assert!(said("no/such/scene.ron").contains("cannot read the file"));
    assert!(said("no/such/scene.ron").contains("no/such/scene.ron"));
    assert!(said(env!("CARGO_MANIFEST_DIR")).contains("directory"));

    let large = " ".repeat(50_000_001);
    let error = Scene::parse(&large, "large.ron").unwrap_err().to_string();
    assert!(error.contains("large.ron") && error.contains("the limit is 50 MB"), "{error}");

    #[cfg(unix)]
    assert!(said("/dev/zero").contains("the limit is 50 MB"));

    let path = std::env::temp_dir().join(format!("bristle-{}-latin1.ron", std::process::id()));
    fs::write(&path, b"Scene(\n  name: \"caf\xe9\")").unwrap();
    let error = Scene::load(&path).unwrap_err().to_string();
    fs::remove_file(&path).unwrap();
    assert!(error.contains("latin1.ron:2:13") && error.contains("this is not UTF-8 text"), "{error}");
}

#[test]
fn junk_nested_deeply_is_refused_without_overflow() {
    for open in ["[", "(", "Sum([", "A(b: ", "(((((("] {
        let text = format!("Scene(links: {}", open.repeat(4_000_000 / open.len()));
        let error = Scene::parse(&text, "deep.ron").unwrap_err().to_string();
        assert!(error.contains("nested more than 64 deep"), "{error}");
    }
}

/// `old` after the first or last `mark` replaced: the new text and the line.
fn planted(text: &str, mark: &str, is_last: bool, old: &str, new: &str) -> Option<(String, usize)> {
    let at = if is_last { text.rfind(mark)? } else { text.find(mark)? };
    let from = at + text[at..].find(old)?;
    let line = text[..from].matches('\n').count() + 1;
    Some((format!("{}{new}{}", &text[..from], &text[from + old.len()..]), line))
}

/// The scenes of the repository.
fn scenes() -> Vec<PathBuf> {
    let scenes = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes"));
    let mut paths: Vec<PathBuf> = fs::read_dir(&scenes).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.extend(fs::read_dir(scenes.join("papers")).unwrap().map(|entry| entry.unwrap().path()));
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ron"));
    paths
}

#[test]
fn every_error_of_type_and_meaning_is_named_once() {
    let (mut n_scenes, mut n_planted) = (0, 0);
    for path in scenes() {
        let mut text = fs::read_to_string(&path).unwrap();
        let mut lines = Vec::new();
        let errors: [(&str, bool, &str, &str); 5] = [
            ("Link(", true, "mass: ", "mass: -1"),                           // a negative mass
            ("Joint(", false, " kind:", " knd:"),                            // a misspelt field
            ("parent: \"", true, "parent: \"", "parent: \"no"),              // a link that is not there
            ("duration: ", true, "duration: ", "duration: None, _: "),       // a wrong type, and an unknown field
            ("output: ", true, "interval: ", "interval: None, interval_: "), // a wrong type, and an unknown field
        ];
        for (mark, is_last, old, new) in errors {
            let Some((damaged, line)) = planted(&text, mark, is_last, old, new) else { continue };
            text = damaged;
            lines.push(line);
            // two in one
            lines.extend(new.contains("_: ").then_some(line));
        }
        let error = Scene::parse(&text, "damaged.ron").unwrap_err();
        let mut said: Vec<usize> = error.problems.iter().map(|problem| problem.position.unwrap().line).collect();
        said.sort_unstable();
        lines.sort_unstable();
        assert_eq!(said, lines, "{}:\n{error}", path.display());
        (n_scenes, n_planted) = (n_scenes + 1, n_planted + lines.len());
    }
    assert!(n_scenes >= 25 && n_planted >= 6 * n_scenes, "{n_planted} errors in {n_scenes} scenes");
}

#[test]
fn a_syntax_error_is_named_alone_at_its_place() {
    let mut n_planted = 0;
    for path in scenes() {
        let text = fs::read_to_string(&path).unwrap();
        // an error of meaning that is not reported beside a syntax error
        let (text, _) = planted(&text, "Link(", true, "mass: ", "mass: -").unwrap();
        let errors: [(&str, bool, &str, &str); 6] = [
            ("Link(", false, "name: \"", "name \""),           // a forgotten colon
            ("Joint(", true, ", child:", " child:"),           // a forgotten comma
            ("Joint(", false, ", child: \"", ", child: "),     // a forgotten quote
            ("duration: ", true, "duration: ", "duration: !"), // no value
            ("Link(", false, "mass: ", "mass: 1.0.0 "),        // not a number
            ("parent: ", true, "parent: ", "parent = "),       // another sign
        ];
        for (mark, is_last, old, new) in errors {
            let Some((broken, line)) = planted(&text, mark, is_last, old, new) else { continue };
            let error = Scene::parse(&broken, "broken.ron").unwrap_err();
            let said: Vec<usize> = error.problems.iter().map(|problem| problem.position.unwrap().line).collect();
            assert_eq!(said, [line], "{}, {new}:\n{error}", path.display());
            n_planted += 1;
        }
    }
    assert!(n_planted >= 150, "only {n_planted} syntax errors");
}
