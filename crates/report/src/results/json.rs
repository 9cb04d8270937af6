//! Results as one JSON object: `{"channels": {"t": […], …}, "events": [{"t": …, "joint": …, "from": …, "to": …}, …]}`,
//! channels in their order.

use super::{ResultEvent, Results, Table};
use anyhow::{Result, bail};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::io::{BufRead, Write};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    channels: Channels,
    #[serde(default)]
    events: Vec<ResultEvent>,
}

/// Names and values, in the order of the file.
struct Channels(Vec<String>, Vec<Vec<f64>>);

impl<'de> Deserialize<'de> for Channels {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Channels;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object with an array of numbers for each channel")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> std::result::Result<Channels, M::Error> {
                let mut channels = Channels(Vec::new(), Vec::new());
                while let Some((name, values)) = map.next_entry()? {
                    channels.0.push(name);
                    channels.1.push(values);
                }
                Ok(channels)
            }
        }
        from.deserialize_map(InOrder)
    }
}

/// Writes the table. JSON cannot express values that are not finite: such a table is refused.
pub fn write(table: &impl Table, mut out: impl Write) -> Result<()> {
    out.write_all(b"{\"channels\":{")?;
    for (k, name) in table.names().iter().enumerate() {
        if k > 0 {
            out.write_all(b",")?;
        }
        serde_json::to_writer(&mut out, name)?;
        out.write_all(b":[")?;
        let mut is_first = true;
        table.column(k, &mut |piece| {
            for value in piece {
                if !value.is_finite() {
                    bail!("channel `{name}` has the value {value}, which JSON cannot express");
                }
                if !is_first {
                    out.write_all(b",")?;
                }
                is_first = false;
                serde_json::to_writer(&mut out, value)?;
            }
            Ok(())
        })?;
        out.write_all(b"]")?;
    }
    out.write_all(b"},\"events\":")?;
    serde_json::to_writer(&mut out, table.events())?;
    writeln!(out, "}}")?;
    Ok(out.flush()?)
}

/// Reads a table.
pub fn read(input: impl BufRead) -> Result<Results> {
    let Read { channels: Channels(names, columns), events } = serde_json::from_reader(input)?;
    Ok(Results { names, columns, events })
}
