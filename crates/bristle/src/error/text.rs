//! Parts of messages that depend on their numbers.

/// Joints that jam with another.
pub fn together(with: &[String]) -> String {
    if with.is_empty() { String::new() } else { format!(", together with `{}`,", with.join("`, `")) }
}

/// Where a branch ends.
pub fn at_share(share: f64) -> String {
    if share < 0.9995 { format!("at {:.1} % of it", 100.0 * share) } else { "where all of it acts".into() }
}

/// How large steps were, if that is known.
pub fn with_steps(step: f64) -> String {
    if step == 0.0 { String::new() } else { format!(", with steps of {step:e} s") }
}

/// A size that is too much.
pub fn shortage(what: &str, bytes: u64, limit: Option<u64>) -> String {
    let size = |bytes: u64| match bytes as f64 {
        bytes if bytes < 1e5 => format!("{:.1} kB", bytes / 1e3),
        bytes if bytes < 1e8 => format!("{:.1} MB", bytes / 1e6),
        bytes => format!("{:.1} GB", bytes / 1e9),
    };
    match limit {
        Some(limit) => {
            format!("{what}: that would take {}, and {} are the limit", size(bytes), size(limit))
        }
        None => format!("there is no memory for {what}, which takes {}", size(bytes)),
    }
}
