//! Time spans in which a state holds.

/// Time spans in which a state holds within `start..end`, from its value at the start and its changes.
pub fn spans(holds: bool, changes: &[(f64, bool)], (start, end): (f64, f64)) -> Vec<(f64, f64)> {
    let mut spans = Vec::new();
    let (mut since, mut holds) = (start, holds);
    for &(at, will_hold) in changes {
        if holds && at > since {
            spans.push((since, at));
        }
        (since, holds) = (at, will_hold);
    }
    if holds && end > since {
        spans.push((since, end));
    }
    spans
}

/// Merges spans that touch or are closer than `gap`, which a picture cannot separate.
pub fn merged(spans: &[(f64, f64)], gap: f64) -> Vec<(f64, f64)> {
    let mut merged: Vec<(f64, f64)> = Vec::new();
    for &(from, to) in spans {
        match merged.last_mut() {
            Some(last) if from - last.1 < gap => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_closer_than_a_gap_are_one() {
        let spans = [(0.0, 1.0), (1.05, 2.0), (3.0, 3.01), (3.5, 4.0)];
        assert_eq!(merged(&spans, 0.1), [(0.0, 2.0), (3.0, 3.01), (3.5, 4.0)]);
        assert_eq!(merged(&[], 0.1), []);
    }
}
