//! `plot`: pictures of results.

use super::{Temporary, bristle, stderr};

#[test]
fn results_of_any_format_become_a_picture() {
    let folder = Temporary::folder("plot");
    let events = folder.0.join("events.csv");
    let events = events.to_str().unwrap();
    for format in ["csv", "npz", "json"] {
        let results = folder.0.join(format!("out.{format}"));
        let (results, picture) = (results.to_str().unwrap(), folder.0.join("out.svg"));
        let run = bristle(&[
            "run",
            "scenes/double_pendulum_coulomb.ron",
            "--until",
            "1",
            "-q",
            "--out",
            results,
            "--events",
            events,
        ]);
        assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
        let plot = bristle(&["plot", results, "--scene", "scenes/double_pendulum_coulomb.ron", "--events", events]);
        assert_eq!(plot.status.code(), Some(0), "{}", stderr(&plot));
        assert!(stderr(&plot).contains("out.svg"), "{}", stderr(&plot));
        let svg = std::fs::read_to_string(&picture).unwrap();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("position (rad)") && svg.contains("friction (N·m)") && svg.contains("class=\"held"));
        std::fs::remove_file(picture).unwrap();
    }
}

#[test]
fn channels_are_listed_chosen_and_suggested() {
    let folder = Temporary::folder("plot-channels");
    let (results, picture) = (folder.0.join("out.csv"), folder.0.join("v.svg"));
    let (results, picture) = (results.to_str().unwrap(), picture.to_str().unwrap());
    bristle(&["run", "scenes/double_pendulum.ron", "--until", "0.1", "-q", "--out", results]);
    let list = bristle(&["plot", results, "--list"]);
    assert!(String::from_utf8_lossy(&list.stdout).lines().any(|name| name == "elbow.velocity"));

    let plot = bristle(&["plot", results, "--channels", "*.velocity,energy.balance", "--out", picture]);
    assert_eq!(plot.status.code(), Some(0), "{}", stderr(&plot));
    let svg = std::fs::read_to_string(picture).unwrap();
    assert!(svg.contains("velocity (rad/s or m/s)") && svg.contains("energy balance") && !svg.contains(">position"));

    for (arguments, expected) in [
        (vec!["plot", results, "--channels", "elbow.velocty"], "did you mean `elbow.velocity`?"),
        (vec!["plot", results, "--out", "picture.pdf"], "pictures are written as .svg or .png"),
        (vec!["plot", results, "--from", "3"], "the results run from 0 s to 0.1 s"),
        (vec!["plot", results, "--events", results], "not a file of events"),
        (vec!["plot", "no_such.csv"], "no_such.csv"),
        (vec!["plot", results, "--scene", "no_such.ron"], "no_such.ron"),
    ] {
        let refused = bristle(&arguments);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}: {}", stderr(&refused));
        assert!(stderr(&refused).contains(expected), "{arguments:?}: {}", stderr(&refused));
    }
    let missing = folder.0.join("no/such/folder.svg");
    let unwritable = bristle(&["plot", results, "--out", missing.to_str().unwrap()]);
    assert_eq!(unwritable.status.code(), Some(1), "{}", stderr(&unwritable));
}

#[test]
fn a_picture_can_have_pixels() {
    let folder = Temporary::folder("plot-png");
    let (results, run, plot) = (folder.0.join("out.csv"), folder.0.join("run.png"), folder.0.join("plot.PNG"));
    let [results, run, plot] = [&results, &run, &plot].map(|path| path.to_str().unwrap());
    let scene = "scenes/double_pendulum_coulomb.ron";
    let output = bristle(&["run", scene, "--until", "1", "--out", results, "--plot", run]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("run.png"), "{}", stderr(&output));
    let output = bristle(&["plot", results, "--scene", scene, "--title", "σ₀ = 10⁵ N·m, 摩擦", "--out", plot]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for picture in [run, plot] {
        let bytes = std::fs::read(picture).unwrap();
        assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n") && bytes.ends_with(b"IEND\xae\x42\x60\x82"), "{picture}");
        assert_eq!(bytes[16..20], 1840_u32.to_be_bytes());
    }
    assert!(!folder.0.join("plot.partial.PNG").exists() && !folder.0.join("run.partial.png").exists());
}
