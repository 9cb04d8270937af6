//! Results as one JSON object: `{"channels": {"t": […], …}, "events": [{"t": …, "joint": …, "from": …, "to": …}, …]}`,
//! channels in their order.

use super::{ResultEvent, Results};
use anyhow::{Result, bail};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::io::{BufRead, Write};

#[derive(Serialize)]
struct Written<'r> {
    #[serde(serialize_with = "in_order")]
    channels: &'r Results,
    events: &'r [ResultEvent],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    channels: Channels,
    #[serde(default)]
    events: Vec<ResultEvent>,
}

/// Names and values, in the order of the file.
struct Channels(Vec<String>, Vec<Vec<f64>>);

fn in_order<S: Serializer>(results: &&Results, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_map(results.names.iter().zip(&results.columns))
}

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

/// Writes the table. JSON has no word for what is not finite: such a table is refused.
pub fn write(results: &Results, mut out: impl Write) -> Result<()> {
    for (name, column) in results.names.iter().zip(&results.columns) {
        if let Some(value) = column.iter().find(|value| !value.is_finite()) {
            bail!("channel `{name}` has the value {value}, which JSON cannot express");
        }
    }
    serde_json::to_writer(&mut out, &Written { channels: results, events: &results.events })?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Reads a table.
pub fn read(input: impl BufRead) -> Result<Results> {
    let Read { channels: Channels(names, columns), events } = serde_json::from_reader(input)?;
    Ok(Results { names, columns, events })
}
