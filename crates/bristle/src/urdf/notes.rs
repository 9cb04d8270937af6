//! A robot in a few lines: what it is, how it hangs, what was repaired, what is not used.

use super::Understood;
use super::friction::Given;

/// Elements named in one line; more are counted.
const MAX_NAMED: usize = 3;

/// The lines of a robot in short, and the entries of a friction file by the joints that take them.
pub(super) fn notes(lines: &[Understood], given: &[Given], file: &str) -> Vec<String> {
    let whole = lines.iter().filter(|line| ["robot ", "root "].iter().any(|kind| line.subject.starts_with(kind)));
    let mut notes: Vec<String> = whole.map(|line| format!("{}: {}", line.subject, line.meaning)).collect();
    notes.extend(joints(lines));
    notes.extend(massless_links(lines));
    notes.extend(starts_at_bounds(lines));

    let repairs = lines.iter().flat_map(|line| line.repaired.iter().map(move |repaired| (line, repaired)));
    let repairs =
        grouped(repairs.map(|(line, repaired)| (repaired.group, format!("{}, {}", line.subject, repaired.what))));
    for (group, texts) in repairs {
        if texts.len() <= MAX_NAMED {
            notes.extend(texts.into_iter().map(|text| format!("repaired: {text}")));
        } else {
            notes.push(format!("repaired: {} × {group}; the first: {}", texts.len(), texts[0]));
        }
    }

    let unused = grouped(lines.iter().flat_map(|line| &line.unused).map(|left| (left.group.as_str(), left.count)));
    if !unused.is_empty() {
        let counted: Vec<String> =
            unused.iter().map(|(group, counts)| format!("{} × {group}", counts.iter().sum::<usize>())).collect();
        notes.push(format!("not used: {}", counted.join(", ")));
    }
    for (what, joints) in grouped(given.iter().map(|given| (given.what.as_str(), given.joint.as_str()))) {
        notes.push(format!("from {file}: {what} on {}", listed(&joints)));
    }
    notes
}

/// Joints by type, and how many have friction of their own.
fn joints(lines: &[Understood]) -> Option<String> {
    let joints = lines.iter().filter(|line| line.subject.starts_with("joint "));
    let types = joints.filter_map(|line| Some((line.meaning.split([' ', ',']).next()?, line)));
    let types = grouped(types.filter(|(kind, _)| super::joint::TYPES.contains(kind)));
    let counted: Vec<String> = types.iter().map(|(kind, of)| format!("{} {kind}", of.len())).collect();
    let rubbing =
        types.iter().flat_map(|(_, of)| of).filter(|line| line.meaning.contains(super::joint::COULOMB)).count();
    let count = |part: &str| types.iter().flat_map(|(_, of)| of).filter(|line| line.meaning.contains(part)).count();
    let limits = [(count(super::limits::STOPS), "stops"), (count(super::limits::EFFORT), "an effort limit")];
    let limits = limits.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("; {n} with {what}"));
    let limits = limits.collect::<String>();
    let friction = if rubbing == 0 { String::new() } else { format!("; {rubbing} with friction: Coulomb") };
    let n_mimics = types.iter().flat_map(|(_, of)| of).filter(|line| line.meaning.contains(", mimics `")).count();
    let mimics = if n_mimics == 0 { String::new() } else { format!("; {n_mimics} mimic others") };
    if counted.is_empty() { None } else { Some(format!("joints: {}{friction}{limits}{mimics}", counted.join(", "))) }
}

/// Links without `inertial`, in one line.
fn massless_links(lines: &[Understood]) -> Option<String> {
    let links = lines.iter().filter(|line| line.meaning.starts_with(super::link::NO_INERTIAL));
    let names: Vec<&str> = links.filter_map(|line| line.subject.strip_prefix("link `")?.strip_suffix('`')).collect();
    if names.is_empty() { None } else { Some(format!("{}: {}", super::link::NO_INERTIAL, listed(&names))) }
}

/// Joints whose limits exclude position 0, in one line.
fn starts_at_bounds(lines: &[Understood]) -> Option<String> {
    let joints = lines.iter().filter_map(|line| {
        let (_, start) = line.meaning.split_once(super::limits::START)?;
        let start = start.split(',').next()?;
        Some(format!("{} at {start}", line.subject.strip_prefix("joint ")?))
    });
    let joints: Vec<String> = joints.collect();
    let more = joints.len().saturating_sub(MAX_NAMED);
    let mut named = joints.get(..joints.len().min(MAX_NAMED))?.join(", ");
    if more > 0 {
        named += &format!(" and {more} more");
    }
    (!named.is_empty()).then(|| format!("limits exclude position 0: start at the nearest bound: {named}"))
}

/// Items by group, groups in the order of their first items.
fn grouped<'a, T>(items: impl Iterator<Item = (&'a str, T)>) -> Vec<(&'a str, Vec<T>)> {
    let mut groups: Vec<(&str, Vec<T>)> = Vec::new();
    for (group, item) in items {
        match groups.iter_mut().find(|(other, _)| *other == group) {
            Some((_, items)) => items.push(item),
            None => groups.push((group, vec![item])),
        }
    }
    groups
}

/// `` `a`, `b` and 3 more ``
fn listed(names: &[&str]) -> String {
    let more = names.len().saturating_sub(MAX_NAMED);
    let named: Vec<String> = names.iter().take(MAX_NAMED).map(|name| format!("`{name}`")).collect();
    if more == 0 { named.join(", ") } else { format!("{} and {more} more", named.join(", ")) }
}
