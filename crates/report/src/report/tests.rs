//! Reports of the scenes: complete, alone, small; and in a browser, where there is one.

use super::*;
use bristle::Simulation;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

fn scene(name: &str) -> Scene {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenes").join(name);
    Scene::load(path).unwrap()
}

fn report_of(scene: &Scene, warnings: &[String], failure: Option<&str>) -> String {
    let mut sim = Simulation::new(scene).unwrap();
    let recording = sim.run_until(scene.duration).unwrap();
    let results = Results::from_recording(&recording).unwrap();
    let facts = Facts {
        scene,
        model: &sim.compiled().model.tree,
        results: &results,
        stats: &sim.stats(),
        wall: Duration::from_millis(123),
        warnings,
        overrides: &[("solver.method".into(), "Dopri5".into())],
        failure,
    };
    html(&facts).unwrap()
}

fn data_of(page: &str) -> Value {
    let start = page.find("id=\"data\">").unwrap() + 10;
    let end = start + page[start..].find("</script>").unwrap();
    serde_json::from_str(&page[start..end]).unwrap()
}

/// Decodes base 64 by another way than it was made: bit by bit.
fn decode(text: &str) -> Vec<u16> {
    let digit = |c: char| "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".find(c).unwrap();
    let bits: Vec<bool> =
        text.trim_end_matches('=').chars().flat_map(|c| (0..6).rev().map(move |k| digit(c) >> k & 1 == 1)).collect();
    let bytes: Vec<u8> =
        bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |sum, &bit| sum << 1 | u8::from(bit))).collect();
    bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()
}

/// A rod hangs along −y and turns about z: its lower stop is at 0.2 rad, and what is outside is clockwise. A slide has
/// its walls at the bounds, across the rail.
#[test]
fn stops_are_walls_where_the_link_would_be() {
    let near = |value: &Value, expected: [f64; 3]| {
        let found: Vec<f64> = value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4), "{found:?} {expected:?}");
    };
    let data = data_of(&report_of(&scene("pendulum_stop.ron"), &[], None));
    let [wall] = &data["links"][0]["stops"].as_array().unwrap()[..] else { panic!("{data}") };
    let (sin, cos) = 0.2_f64.sin_cos();
    near(&wall["at"], [0.0; 3]);
    near(&wall["along"], [sin, -cos, 0.0]);
    near(&wall["out"], [-cos, -sin, 0.0]);
    // it rests from the end of its bounces on
    let rest = data["contacts"][0]["stuck"].as_array().unwrap();
    assert!(rest.len() == 1 && rest[0][0].as_f64().unwrap() > 3.0 && rest[0][1] == 6.0, "{rest:?}");
    let data = data_of(&report_of(&scene("reversing_press.ron"), &[], None));
    let walls = data["links"][0]["stops"].as_array().unwrap();
    for (wall, x) in walls.iter().zip([-0.2, 0.3]) {
        near(&wall["at"], [x, 0.0, 0.0]);
        near(&wall["out"], [x.signum(), 0.0, 0.0]);
    }
    assert_eq!(walls.len(), 2);
}

#[test]
fn reports_stand_alone_and_are_small() {
    // kept for a person to look at where `BRISTLE_REPORTS` names a folder
    for name in [
        "double_pendulum_coulomb.ron",
        "robot_arm_6dof.ron",
        "chain_10.ron",
        "tumbling_body.ron",
        "presliding.ron",
        "stick_slip_coulomb.ron",
        "arm_3dof.ron",
    ] {
        let page = report_of(&scene(name), &[], None);
        assert!(page.len() < 1_000_000, "{name}: {} bytes", page.len());
        // nothing is fetched
        for word in ["http:", "https:", "src=", "@import", "url(", "import("] {
            assert!(!page.contains(word), "{name}: {word}");
        }
        assert!(!page.contains("{{"), "{name}");
        if let Some(folder) = std::env::var_os("BRISTLE_REPORTS") {
            std::fs::write(PathBuf::from(folder).join(name).with_extension("html"), &page).unwrap();
        }
        assert!(page.contains("solver.method=Dopri5") && page.contains("Energy ledger"));
        let data = data_of(&page);
        assert_eq!(data["links"].as_array().unwrap().len(), scene(name).links.len(), "{name}");
    }
}

#[test]
fn a_long_run_of_a_large_machine_is_still_small() {
    let mut chain = scene("chain_10.ron");
    chain.output.interval = 2e-4;
    let page = report_of(&chain, &[], None);
    assert!((300_000..1_000_000).contains(&page.len()), "{} bytes", page.len());
}

/// A pendulum's bob must be where sine and cosine of the recorded angle put it.
#[test]
fn poses_follow_the_recorded_angles() {
    let scene = scene("double_pendulum.ron");
    let page = report_of(&scene, &[], None);
    let data = data_of(&page);
    let frames = &data["frames"];
    let numbers = decode(frames["poses"].as_str().unwrap());
    let mut sim = Simulation::new(&scene).unwrap();
    let recording = sim.run_until(scene.duration).unwrap();
    let inner: Vec<f64> = recording.channel("shoulder.position").unwrap().collect();
    assert_eq!(numbers.len(), 7 * 2 * inner.len());
    // the elbow sits on the upper link, which turns about z
    let at = scene.joints[1].placement.translation;
    let axis = |k: usize| (frames["low"][k].as_f64().unwrap(), frames["high"][k].as_f64().unwrap());
    for (frame, angle) in inner.iter().enumerate() {
        let (s, c) = angle.sin_cos();
        let expected = [c * at[0] - s * at[1], s * at[0] + c * at[1]];
        for k in 0..2 {
            let (low, high) = axis(k);
            let x = low + (high - low) * f64::from(numbers[(2 * frame + 1) * 7 + k]) / 65535.0;
            // half a step of sixteen bits over two metres
            assert!((x - expected[k]).abs() < 2e-5, "frame {frame}: {x} {}", expected[k]);
        }
    }
}

#[test]
fn planar_machines_are_seen_along_their_axis() {
    for (name, is_planar, toward, up) in [
        ("double_pendulum.ron", true, Some([0.0, 0.0, 1.0]), [0.0, 1.0, 0.0]),
        ("double_pendulum_coulomb.ron", true, Some([0.0, -1.0, 0.0]), [0.0, 0.0, 1.0]),
        ("stick_slip_coulomb.ron", true, Some([0.0, -1.0, 0.0]), [0.0, 0.0, 1.0]),
        ("guide_block.ron", true, Some([0.0, 0.0, 1.0]), [0.0, 1.0, 0.0]),
        ("robot_arm_6dof.ron", false, None, [0.0, 0.0, 1.0]),
        ("tumbling_body.ron", false, None, [0.0, 0.0, 1.0]),
    ] {
        let view = data_of(&report_of(&scene(name), &[], None))["view"].clone();
        assert_eq!(view["planar"], is_planar, "{name}");
        assert_eq!(view["up"], json!(up), "{name}: {view}");
        if let Some(toward) = toward {
            let found: Vec<f64> =
                view["toward"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap() + 0.0).collect();
            assert_eq!(found, toward, "{name}");
        }
    }
}

/// A joint that is stuck all the time is one bar, not as many as there are lines in the grid.
#[test]
fn the_grid_lies_below_what_is_stuck() {
    let script = include_str!("assets/curves.js");
    let rows = script.split_once("const drawRows").unwrap().1.split_once("const addPlot").unwrap().0;
    assert!(rows.find("timeAxis(").unwrap() < rows.find("bars(").unwrap());
}

/// A rod of length L along one axis: half its edge is L/2 there and nothing across.
#[test]
fn a_rod_is_its_own_box() {
    let data = data_of(&report_of(&scene("double_pendulum_coulomb.ron"), &[], None));
    let edges = data["links"][0]["box"].as_array().unwrap();
    let mut lengths: Vec<f64> = edges
        .iter()
        .map(|edge| edge.as_array().unwrap().iter().map(|x| x.as_f64().unwrap().powi(2)).sum::<f64>().sqrt())
        .collect();
    lengths.sort_by(f64::total_cmp);
    assert!(lengths[1] < 1e-6 && (lengths[2] - 0.3).abs() < 1e-5, "{lengths:?}");
}

#[test]
fn scene_text_is_escaped() {
    let mut hostile = scene("single_pendulum.ron");
    hostile.name = "</title><script>alert(1)</script> & {{data}}".into();
    hostile.joints[0].name = "</script><b>\u{2028}\"'".into();
    let page = report_of(&hostile, &["a <warning>".into()], Some("stopped at <t>"));
    assert!(!page.contains("<script>alert") && !page.contains("</script><b>"));
    assert!(page.contains("a &lt;warning&gt;") && page.contains("stopped at &lt;t&gt;"));
    assert_eq!(page.matches("</script>").count(), 2);
    data_of(&page);
}

/// A browser on this machine: the one that `BRISTLE_BROWSER` names, or a common one.
fn browser() -> Option<String> {
    let named = std::env::var("BRISTLE_BROWSER").ok();
    let common = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"].map(String::from);
    named.into_iter().chain(common).find(|name| {
        let probe = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        probe.is_ok_and(|status| status.success())
    })
}

/// Loads the report, presses play, turns the machine, points at a curve and jumps to an event; what happened is sent to
/// the test.
const VISITOR: &str = r#"<script>
window.seen = { errors: [] };
window.addEventListener("error", (e) => window.seen.errors.push(String(e.message)));
for (const level of ["error", "warn"]) console[level] = (...words) => window.seen.errors.push(words.join(" "));
window.addEventListener("load", () => {
  const cursor = () => document.querySelector(".cursor").style.transform;
  const clock = () => document.getElementById("clock").textContent;
  const hash = (sum, c) => (31 * sum + c.charCodeAt(0)) | 0;
  const picture = () => [...document.getElementById("scene").toDataURL()].reduce(hash, 0);
  const seen = window.seen, url = "http://127.0.0.1:PORT/";
  const done = () => fetch(url, { method: "POST", mode: "no-cors", body: JSON.stringify(seen) });
  const wait = (ms) => new Promise((resume) => setTimeout(resume, ms));
  (async () => {
    await wait(100);
    seen.first = [cursor(), clock(), picture()];
    document.getElementById("play").click();
    await wait(700);
    document.getElementById("play").click();
    seen.played = [cursor(), clock(), picture()];
    await wait(200);
    seen.paused = [cursor(), clock(), picture()];
    const stage = document.getElementById("scene"), drag = { bubbles: true, pointerId: 1, clientY: 200 };
    stage.setPointerCapture = () => {};
    stage.dispatchEvent(new PointerEvent("pointerdown", { ...drag, clientX: 200 }));
    stage.dispatchEvent(new PointerEvent("pointermove", { ...drag, clientX: 260 }));
    stage.dispatchEvent(new PointerEvent("pointerup", drag));
    seen.turned = picture();
    document.getElementById("home").click();
    seen.home = picture();
    const plot = document.querySelector(".plot"), box = plot.getBoundingClientRect();
    const place = { clientX: box.left + 0.7 * box.width, clientY: box.top + 20 };
    const at = { ...place, bubbles: true, pointerType: "mouse", pointerId: 1 };
    plot.dispatchEvent(new PointerEvent("pointermove", at));
    seen.pointed = [cursor(), clock(), document.getElementById("scrub").value];
    document.getElementById("after").click();
    seen.jumped = clock();
    seen.wide = document.documentElement.scrollWidth > window.innerWidth;
    seen.panels = document.querySelectorAll(".plot canvas").length;
  })().catch((e) => seen.errors.push(String(e))).finally(done);
});
</script>"#;

/// The body of the first request that has one.
fn received(listener: &TcpListener, patience: Duration) -> Option<String> {
    let end = Instant::now() + patience;
    listener.set_nonblocking(true).unwrap();
    while Instant::now() < end {
        let Ok((mut stream, _)) = listener.accept() else {
            std::thread::sleep(Duration::from_millis(20));
            continue;
        };
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
        loop {
            let n = stream.read(&mut part).unwrap_or(0);
            bytes.extend_from_slice(&part[..n]);
            let text = String::from_utf8_lossy(&bytes);
            let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
            if n == 0 || length.is_some_and(|length: usize| body.len() >= length) {
                stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").unwrap();
                return Some(body.to_owned());
            }
        }
    }
    None
}

#[test]
fn cursor_follows_the_animation() {
    let Some(browser) = browser() else {
        println!("skipped: no browser on this machine; name one in BRISTLE_BROWSER");
        return;
    };
    let folder = std::env::temp_dir().join(format!("bristle-report-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, size) in [("double_pendulum_coulomb.ron", "1200,900"), ("arm_3dof.ron", "500,844")] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let visitor = VISITOR.replace("PORT", &listener.local_addr().unwrap().port().to_string());
        let page = report_of(&scene(name), &[], None).replacen("<head>", &format!("<head>{visitor}"), 1);
        let (file, log) = (folder.join("report.html"), folder.join("log"));
        std::fs::write(&file, page).unwrap();
        let mut visit = Command::new(&browser)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"])
            .arg(format!("--window-size={size}"))
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg(format!("file://{}", file.display()))
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let received = received(&listener, Duration::from_secs(60));
        visit.kill().unwrap();
        visit.wait().unwrap();
        let log = std::fs::read_to_string(&log).unwrap();
        let text = received.unwrap_or_else(|| panic!("{name}: nothing was sent\n{log}"));
        assert!(!log.contains("CONSOLE"), "{name}: {log}");
        let seen: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(seen["errors"], json!([]), "{name}");
        // cursor, clock and picture moved while it played, and stayed while it did not
        for k in 0..3 {
            assert_ne!(seen["first"][k], seen["played"][k], "{name}: {seen}");
            assert_eq!(seen["played"][k], seen["paused"][k], "{name}: {seen}");
        }
        // a drag looks from elsewhere, and there is a way home
        assert_ne!(seen["turned"], seen["paused"][2], "{name}: {seen}");
        assert_eq!(seen["home"], seen["paused"][2], "{name}: {seen}");
        // seven tenths of the width is about two thirds of the time
        let at: f64 = seen["pointed"][2].as_str().unwrap().parse().unwrap();
        assert!((0.6..0.75).contains(&(at / scene(name).duration)), "{name}: {at}");
        assert_eq!(seen["wide"], false, "{name}: the page is wider than the window");
        if name.starts_with("double") {
            assert_ne!(seen["jumped"], seen["pointed"][1], "{name}");
            assert_eq!(seen["panels"], 6);
        }
    }
    // the browser may still be tidying its own folder
    let _ = std::fs::remove_dir_all(&folder);
}
