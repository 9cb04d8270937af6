//! Changes of mode from a file: a header `t,joint,from,to,event`, then one change in each line, as `bristle run
//! --events` writes it.

use crate::results::ResultEvent;
use anyhow::{Context, Result, bail};
use std::io::Read;
use std::path::Path;

/// Reads a file of changes, in order of time.
pub fn read(path: &Path) -> Result<Vec<ResultEvent>> {
    let file = std::fs::File::open(path).with_context(|| path.display().to_string())?;
    parse(file).with_context(|| path.display().to_string())
}

fn parse(input: impl Read) -> Result<Vec<ResultEvent>> {
    let mut reader = csv::Reader::from_reader(input);
    let names = reader.headers()?.iter().collect::<Vec<_>>();
    // files of older versions have no column `event`
    if names != ["t", "joint", "from", "to", "event"] && names != ["t", "joint", "from", "to"] {
        bail!(
            "this is not a file of events, which `bristle run --events FILE.csv` writes: its first line must be \
            `t,joint,from,to,event`"
        );
    }
    let mut events: Vec<ResultEvent> = Vec::new();
    for record in reader.deserialize() {
        let event: ResultEvent = record?;
        if !event.t.is_finite() {
            bail!("an event is at {} s", event.t);
        }
        if let Some(last) = events.last()
            && event.t < last.t
        {
            bail!("time runs backwards from {} s to {} s", last.t, event.t);
        }
        for mode in [event.from, event.to] {
            if !(-1..=1).contains(&mode) {
                bail!("a mode is {mode}; modes are -1, 0 (stuck) and 1");
            }
        }
        events.push(event);
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bristle::EventKind;

    #[test]
    fn changes_are_read_and_nonsense_is_not() {
        let text = "t,joint,from,to\n0.5,\"a, b\",0,1\n0.75,c,1,-1\n";
        let event = |t, joint: &str, from, to| ResultEvent { t, joint: joint.into(), from, to, event: EventKind::Mode };
        assert_eq!(parse(text.as_bytes()).unwrap(), [event(0.5, "a, b", 0, 1), event(0.75, "c", 1, -1)]);
        let with_stop = parse("t,joint,from,to,event\n0.5,a,-1,1,stop\n".as_bytes()).unwrap();
        assert_eq!(with_stop, [ResultEvent { event: EventKind::Stop, ..event(0.5, "a", -1, 1) }]);
        for (text, expected) in [
            ("t,position\n0,1\n", "not a file of events"),
            ("t,joint,from,to\n1,a,0,1\n0,a,1,0\n", "backwards"),
            ("t,joint,from,to\n1,a,0,2\n", "a mode is 2"),
            ("t,joint,from,to\nNaN,a,0,1\n", "NaN"),
            ("t,joint,from,to\nsoon,a,0,1\n", "line: 2"),
        ] {
            let message = format!("{:#}", parse(text.as_bytes()).unwrap_err());
            assert!(message.contains(expected), "{message}");
        }
    }
}
