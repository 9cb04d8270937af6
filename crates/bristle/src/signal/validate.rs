//! Rules that the numbers of a signal satisfy: finite, and times in increasing order.

use super::Signal;

/// An unusable number in a signal.
#[derive(Debug, Clone, PartialEq)]
pub struct SignalFinding {
    /// Its path, outermost first: `Sum[1].Sine.amplitude`, `Table[3]`.
    pub path: String,
    /// The number; NaN where one is missing.
    pub value: f64,
    /// The rule that it violates, as a sentence.
    pub reason: String,
}

impl Signal {
    /// The defects of the signal: numbers that are not finite, times that do not increase, empty lists.
    pub fn validate(&self) -> Vec<SignalFinding> {
        let mut found = Vec::new();
        self.validate_into(&mut found, String::new());
        found
    }

    fn validate_into(&self, found: &mut Vec<SignalFinding>, path: String) {
        let mut finite = |name: &str, value: f64| {
            if !value.is_finite() {
                found.push(SignalFinding {
                    path: format!("{path}{name}"),
                    value,
                    reason: "must be a finite number".into(),
                });
            }
        };
        match self {
            Signal::Constant(c) => finite("Constant", *c),
            Signal::Ramp { rate, start } => {
                finite("Ramp.rate", *rate);
                finite("Ramp.start", *start);
            }
            Signal::Sine { amplitude, frequency, phase, offset } => {
                finite("Sine.amplitude", *amplitude);
                finite("Sine.frequency", *frequency);
                finite("Sine.phase", *phase);
                finite("Sine.offset", *offset);
            }
            Signal::Table(points) | Signal::Steps(points) => {
                let name = if matches!(self, Signal::Table(_)) { "Table" } else { "Steps" };
                for (i, p) in points.iter().enumerate() {
                    finite(&format!("{name}[{i}]"), p.1);
                }
                validate_times(found, &format!("{path}{name}"), points.iter().map(|p| p.0));
            }
            Signal::Log { file, samples, .. } => {
                if samples.points().is_empty() {
                    let reason = format!("the file `{file}` has not been read: use `Signal::log`, or load a scene");
                    found.push(SignalFinding { path: format!("{path}Log"), value: f64::NAN, reason });
                }
            }
            Signal::Piecewise(parts) => {
                validate_times(found, &format!("{path}Piecewise"), parts.iter().map(|p| p.0));
                for (i, (_, part)) in parts.iter().enumerate() {
                    part.validate_into(found, format!("{path}Piecewise[{i}]."));
                }
            }
            Signal::Sum(terms) => {
                if terms.is_empty() {
                    let reason = "must have at least one signal".into();
                    found.push(SignalFinding { path: format!("{path}Sum"), value: f64::NAN, reason });
                }
                for (i, term) in terms.iter().enumerate() {
                    term.validate_into(found, format!("{path}Sum[{i}]."));
                }
            }
        }
    }
}

/// Checks that the times of a list are finite and increase, and that there are some.
fn validate_times(found: &mut Vec<SignalFinding>, path: &str, times: impl ExactSizeIterator<Item = f64>) {
    if times.len() == 0 {
        found.push(SignalFinding { path: path.into(), value: f64::NAN, reason: "must have at least one entry".into() });
    }
    let mut before = f64::NEG_INFINITY;
    for (i, t) in times.enumerate() {
        if !t.is_finite() {
            let reason = "its time must be a finite number".into();
            found.push(SignalFinding { path: format!("{path}[{i}]"), value: t, reason });
        } else if t <= before {
            let reason = format!(
                "times must increase: this one must be later than {before} (for a jump use Steps or Piecewise)"
            );
            found.push(SignalFinding { path: format!("{path}[{i}]"), value: t, reason });
        }
        before = t;
    }
}
