//! A point of a sweep: a scene with other values, run to its end. Its row has every channel at the end of the run, or
//! the reason why there is none.
//!
//! The command `bristle sweep` and the sweeps of the Python module make their rows here, so that they are the same to
//! the last bit.

use bristle::scene::Problem;
use bristle::{Error, Event, Record, Simulation};

/// Runs to time `until`; every channel of `names` at the end, nothing for those that the machine does not have with its
/// values, or the reason why there is no such row.
pub fn last_row(sim: &mut Simulation, until: f64, names: &[String]) -> Result<Vec<Option<f64>>, String> {
    let mut last = Last::default();
    sim.run_with(until, &mut last).map_err(|error| in_a_line(&error))?;
    let recording = sim.recording();
    // in the order of the machine, which is that of the table
    let mut own = recording.names().iter().zip(&last.0).peekable();
    let values = names.iter().map(|name| own.next_if(|(own, _)| *own == name).map(|(_, value)| *value)).collect();
    match own.next() {
        None => Ok(values),
        Some((name, _)) => {
            Err(format!("`{name}` is no column of this table: the first, last and middle point do not have it"))
        }
    }
}

/// The last row of a run, the same as that of `bristle run` to the last bit.
#[derive(Default)]
struct Last(Vec<f64>);

impl Record for Last {
    fn row(&mut self, row: &[f64]) -> bristle::Result<()> {
        self.0.clear();
        self.0.extend_from_slice(row);
        Ok(())
    }

    fn event(&mut self, _: Event) -> bristle::Result<()> {
        Ok(())
    }
}

/// Adds names that are lacking, each after the one it follows.
pub fn merge(names: &mut Vec<String>, more: &[String]) {
    let mut place = 0;
    for name in more {
        match names.iter().position(|known| known == name) {
            Some(k) => place = k + 1,
            None => {
                names.insert(place, name.clone());
                place += 1;
            }
        }
    }
}

/// An error as one line that stands in a table; never empty.
pub fn in_a_line(error: &Error) -> String {
    let text = match error {
        Error::Scene(error) => {
            let reasons: Vec<String> = error.problems.iter().map(reason).collect();
            reasons.join("; ")
        }
        error => error.to_string(),
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() { "failed".into() } else { text }
}

/// A reason, and its place in the scene; values of the sweep stand in the same row.
fn reason(problem: &Problem) -> String {
    match problem.position {
        Some(at) if problem.overridden.is_none() => {
            format!("{} (line {}, column {})", problem.reason, at.line, at.column)
        }
        _ => problem.reason.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_merged_in_the_order_of_the_machine() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let mut names = words("t a b energy");
        for more in ["t a a.heat b energy", "t a b b.heat energy", "t"] {
            merge(&mut names, &words(more));
        }
        assert_eq!(names, words("t a a.heat b b.heat energy"));
    }
}
