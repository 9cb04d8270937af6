//! Results as NumPy's `.npz`: a zip file with one `.npy` array per channel, named like the channel, so that
//! `numpy.load("out.npz")["elbow.position"]` is the curve. Events are four more arrays.
//!
//! An `.npy` file is a magic number, a version, the length of a header, the header (a Python dictionary, padded so that
//! the data start at a multiple of 64 bytes) and the data, little-endian here (NumPy Enhancement Proposal 1).

use super::{ResultEvent, Results, Table};
use anyhow::{Context, Result, bail};
use std::io::{Read, Seek, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Values turned into bytes at a time.
const PIECE: usize = 8192;
/// Arrays that hold the events, beside those of the channels.
const EVENTS: [&str; 4] = ["events.t", "events.joint", "events.from", "events.to"];

/// Writes the table, uncompressed as `numpy.savez` does.
pub fn write(table: &impl Table, mut out: impl Write) -> Result<()> {
    let mut zip = ZipWriter::new_stream(&mut out);
    // sizes beyond 4 GB where they may be needed; the date is that of the format, so that equal results give equal files
    let large = table.n_rows() > (1 << 28);
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(large);
    let options = options.last_modified_time(zip::DateTime::default());
    let mut bytes = Vec::new();
    for (k, name) in table.names().iter().enumerate() {
        zip.start_file(format!("{name}.npy"), options)?;
        zip.write_all(&header("<f8", table.n_rows())?)?;
        table.column(k, &mut |piece| {
            for values in piece.chunks(PIECE) {
                bytes.clear();
                bytes.extend(values.iter().flat_map(|x| x.to_le_bytes()));
                zip.write_all(&bytes)?;
            }
            Ok(())
        })?;
    }
    let mut array = |name: &str, kind: &str, n: usize, data: &[u8]| -> Result<()> {
        zip.start_file(format!("{name}.npy"), options)?;
        zip.write_all(&header(kind, n)?)?;
        Ok(zip.write_all(data)?)
    };
    let (events, n) = (table.events(), table.events().len());
    array(EVENTS[0], "<f8", n, &events.iter().flat_map(|event| event.t.to_le_bytes()).collect::<Vec<u8>>())?;
    // names as NumPy keeps strings: UTF-32, all of one length
    let width = events.iter().map(|event| event.joint.chars().count()).max().unwrap_or(0).max(1);
    let mut names = Vec::with_capacity(n * width * 4);
    for event in events {
        let padded = event.joint.chars().map(u32::from).chain(std::iter::repeat(0)).take(width);
        names.extend(padded.flat_map(u32::to_le_bytes));
    }
    array(EVENTS[1], &format!("<U{width}"), n, &names)?;
    array(EVENTS[2], "|i1", n, &events.iter().flat_map(|event| event.from.to_le_bytes()).collect::<Vec<u8>>())?;
    array(EVENTS[3], "|i1", n, &events.iter().flat_map(|event| event.to.to_le_bytes()).collect::<Vec<u8>>())?;
    zip.finish()?;
    Ok(out.flush()?)
}

/// What stands before the data of a one-dimensional array.
fn header(kind: &str, n: usize) -> Result<Vec<u8>> {
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({n},), }}");
    let before = MAGIC.len() + 4;
    while !(before + text.len() + 1).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    let length = u16::try_from(text.len()).context("header too long")?;
    Ok([MAGIC, &[1, 0], &length.to_le_bytes(), text.as_bytes()].concat())
}

/// One array of a file.
struct Array {
    kind: String,
    n: usize,
    data: Vec<u8>,
}

/// Reads a table.
pub fn read(input: impl Read + Seek) -> Result<Results> {
    let mut zip = ZipArchive::new(input)?;
    let mut results = Results::default();
    let mut events: [Option<Array>; 4] = [None, None, None, None];
    for k in 0..zip.len() {
        let mut file = zip.by_index(k)?;
        let Some(name) = file.name().strip_suffix(".npy").map(str::to_owned) else { continue };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).with_context(|| format!("array `{name}`"))?;
        let array = Array::read(&bytes).with_context(|| format!("array `{name}`"))?;
        if let Some(k) = EVENTS.iter().position(|event| *event == name) {
            events[k] = Some(array);
        } else {
            results.columns.push(array.floats().with_context(|| format!("array `{name}`"))?);
            results.names.push(name);
        }
    }
    if let [Some(t), Some(joint), Some(from), Some(to)] = events {
        let (t, joint, from, to) = (t.floats()?, joint.strings()?, from.bytes()?, to.bytes()?);
        if [joint.len(), from.len(), to.len()] != [t.len(); 3] {
            bail!("the arrays of the events differ in length");
        }
        for (((t, joint), from), to) in t.into_iter().zip(joint).zip(from).zip(to) {
            results.events.push(ResultEvent { t, joint, from, to });
        }
    }
    Ok(results)
}

impl Array {
    fn read(bytes: &[u8]) -> Result<Self> {
        let rest = bytes.strip_prefix(MAGIC).context("not a NumPy array")?;
        let (length, rest) = match rest {
            [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
            [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
            _ => bail!("unknown version of the array format"),
        };
        let (header, data) = rest.split_at_checked(length).context("the header is cut short")?;
        let header = String::from_utf8_lossy(header);
        let field = |key: &str| {
            let after = header.split_once(&format!("'{key}':"))?.1.trim_start();
            Some(after.split_at(after.find([',', '}'])?).0.trim())
        };
        let kind = field("descr").context("the header has no `descr`")?.trim_matches('\'').to_owned();
        let shape = header.split_once("'shape':").and_then(|(_, shape)| shape.trim_start().strip_prefix('('));
        let shape = shape.and_then(|shape| shape.split_once(')')).context("the header has no `shape`")?.0;
        let sizes: Vec<&str> = shape.split(',').map(str::trim).filter(|size| !size.is_empty()).collect();
        let [n] = sizes[..] else { bail!("shape ({shape}): results are arrays of one dimension") };
        Ok(Self { kind, n: n.parse().with_context(|| format!("shape ({shape})"))?, data: data.to_vec() })
    }

    /// Chunks of `size` bytes, as many as the shape says.
    fn chunks(&self, size: usize) -> Result<std::slice::ChunksExact<'_, u8>> {
        if self.n.checked_mul(size) != Some(self.data.len()) {
            bail!("{} bytes of data for {} values of {size} bytes", self.data.len(), self.n);
        }
        Ok(self.data.chunks_exact(size.max(1)))
    }

    fn floats(&self) -> Result<Vec<f64>> {
        if self.kind != "<f8" {
            bail!("values of type `{}`: results are numbers of type `<f8`", self.kind);
        }
        Ok(self.chunks(8)?.map(|c| f64::from_le_bytes([c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]])).collect())
    }

    fn bytes(&self) -> Result<Vec<i8>> {
        if self.kind != "|i1" {
            bail!("values of type `{}`: modes are of type `|i1`", self.kind);
        }
        Ok(self.chunks(1)?.map(|c| i8::from_le_bytes([c[0]])).collect())
    }

    fn strings(&self) -> Result<Vec<String>> {
        let width = self.kind.strip_prefix("<U").and_then(|width| width.parse::<usize>().ok());
        let width = width.filter(|width| (1..=1 << 20).contains(width)).context("names are of type `<U…`")?;
        let text = |c: &[u8]| -> Option<String> {
            let letters = c.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]));
            letters.take_while(|&letter| letter != 0).map(char::from_u32).collect()
        };
        self.chunks(4 * width)?.map(|c| text(c).context("a name is not valid text")).collect()
    }
}
