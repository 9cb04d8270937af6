//! Fit files and logs: read or refused with a reason; a fit that is accepted ends with finite numbers within their
//! bounds, or with an error.
//!
//! A case is a fit file, and its log after a line `@log`. The scene stands beside them; both are written to a folder of
//! the process, as only files can be loaded.

use super::Target;
use bristle::Scene;
use bristle::fit::{FitFile, Watch};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

const SCENE: &str = include_str!("../../../../crates/bristle/examples/fit/axis.ron");
const FIT: &str = include_str!("../../../../crates/bristle/examples/fit/axis.fit.ron");
const LOG: &str = include_str!("../../../../crates/bristle/examples/fit/axis.csv");
const MARK: &str = "\n@log\n";

/// Rows of the logs to begin with.
const ROWS: usize = 40;

/// Looks at the request to stop, about one a step, after which a fit is stopped.
const PATIENCE: usize = 3000;

pub static TARGET: Target = Target {
    name: "fits",
    run,
    folders: &[],
    made,
    tokens: &[
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "\"",
        "\n",
        "\r\n",
        "\u{feff}",
        "\u{1b}",
        "@log\n",
        "NaN",
        "inf",
        "-1.0",
        "0.0",
        "1e300",
        "1e-320",
        "1e999",
        "Free(1.0, (0.1, 10.0))",
        "Tied(0.0, (0.0, 0.03))",
        "Excess(\"coulomb\", 0.5, (0.0, 20.0))",
        "Measured",
        "Estimated",
        "Scene",
        "Column(\"reference_m\")",
        "Held(\"reference_m\")",
        "Value(\"400.0\")",
        "skip: 0.1,",
        "band: 5.0",
        "noise: 1e-3",
        "initial: Estimated,",
        "like: 0,",
        "hold_out: [Log(file: \"axis.csv\", like: 0)],",
        "prior: { \"links.carriage.mass\": (3.0, 1.0) },",
        "method: InverseDynamics(band: 20.0),",
        "method: OutputError(starts: 2, seed: 7),",
        "\"logs.*.delay\": Tied(0.0, (0.0, 0.03)),",
        "\"logs.0.initial\": Estimated,",
        "\"joints.*.damping\": Free(1.0, (0.0, 100.0)),",
        "set: { \"joints.slide.drive.kp\": \"300.0\" },",
    ],
};

fn made() -> Vec<Vec<u8>> {
    let log: String = LOG.lines().take(ROWS + 1).flat_map(|line| [line, "\n"]).collect();
    let fit = FIT.replace("starts: 4", "starts: 1");
    let inverse = fit.replace("OutputError(starts: 1)", "InverseDynamics(band: 20.0)");
    let more = fit.replace(
        "    free: {",
        "    hold_out: [Log(file: \"axis.csv\", like: 0)],\n    prior: { \"links.carriage.mass\": (3.0, 1.0) },\n    \
         free: {\n        \"logs.*.delay\": Tied(0.0, (0.0, 0.03)),\n        \"logs.*.initial\": Estimated,",
    );
    [fit, inverse, more].map(|fit| format!("{fit}{MARK}{log}").into_bytes()).to_vec()
}

/// A folder of this process with the scene in it.
fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("bristle-fuzz-fits-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for cases");
        std::fs::write(folder.join("axis.ron"), SCENE).expect("the scene");
        folder
    })
}

fn run(bytes: &[u8]) -> bool {
    let at = bytes.windows(MARK.len()).position(|part| part == MARK.as_bytes());
    let (fit, log) = at.map_or((bytes, &[][..]), |at| (&bytes[..at], &bytes[at + MARK.len()..]));
    let folder = folder();
    std::fs::write(folder.join("axis.fit.ron"), fit).expect("the fit file");
    std::fs::write(folder.join("axis.csv"), log).expect("the log");
    let file = match FitFile::load(folder.join("axis.fit.ron"), &[]) {
        Ok(file) => file,
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && !text.contains('\u{1b}'), "a refusal without a reason, or with a command");
            return false;
        }
    };
    let looks = AtomicUsize::new(0);
    let watch =
        Watch { is_stopped: &|| looks.fetch_add(1, Ordering::Relaxed) >= PATIENCE, progress: Watch::NONE.progress };
    let fitted = match file.fit.solve_with(&watch) {
        Ok(fitted) => fitted,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return false;
        }
    };
    for p in fitted.parameters() {
        let (low, high) = p.bounds;
        assert!(p.value.is_finite() && (low..=high).contains(&p.value), "{} = {:?} of {:?}", p.path, p.value, p.bounds);
        assert!(p.deviation >= 0.0 && p.white_deviation >= 0.0, "{}: ± {}, {}", p.path, p.deviation, p.white_deviation);
    }
    for error in fitted.errors().iter().chain(fitted.hold_out_errors()) {
        assert!(error.rms.is_finite() && error.relative >= 0.0, "{}: {} {}", error.channel, error.rms, error.relative);
        let [t, measured, simulated] = [&error.t, &error.measured, &error.simulated].map(Vec::len);
        assert!(t == measured && t == simulated && t > 0, "{}: {t} times", error.channel);
        assert!(error.simulated.iter().all(|x| x.is_finite()), "{}: a curve that is not finite", error.channel);
    }
    let text = fitted.scene().to_ron().expect("a scene that was fitted is written");
    assert!(Scene::parse(&text, "fitted.ron").is_ok(), "a fitted scene is refused:\n{text}");
    true
}
