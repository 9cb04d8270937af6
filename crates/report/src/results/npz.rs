//! Results as NumPy's `.npz`: a zip file with one `.npy` array per channel, named like the channel, so that
//! `numpy.load("out.npz")["elbow.position"]` is the curve. Events are four more arrays.
//!
//! An `.npy` file is a magic number, a version, the length of a header, the header (a Python dictionary, padded so that
//! the data start at a multiple of 64 bytes) and the data, little-endian here (NumPy Enhancement Proposal 1).
//!
//! Entries may be compressed, and a few bytes may claim to be many: of each entry no more is read than the shape in its
//! header says, and of all of them together no more than [`MAX_BYTES`], nor than [`MAX_RATIO`] times the file and
//! [`FREE_BYTES`].

use super::{MAX_KEPT, ResultEvent, Results, Table};
use anyhow::{Context, Result, bail};
use bristle::{EventKind, memory};
use std::io::{Read, Seek, SeekFrom, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Values turned into bytes at a time.
const PIECE: usize = 8192;
/// Bytes of all arrays at most: as many numbers as a picture takes.
const MAX_BYTES: u64 = 8 * MAX_KEPT as u64;
/// Bytes that each byte of the file may become, where they are more than these: a channel that never changes becomes a
/// thousandth, a table of them all does not.
const MAX_RATIO: u64 = 100;
const FREE_BYTES: u64 = 1 << 28;
/// Bytes of a header at most: those of results take 128.
const MAX_HEADER: usize = 1 << 16;
/// Arrays that hold the events, beside those of the channels.
const EVENTS: [&str; 5] = ["events.t", "events.joint", "events.from", "events.to", "events.event"];

/// Writes the table, uncompressed as `numpy.savez` does.
pub fn write(table: &impl Table, mut out: impl Write) -> Result<()> {
    let mut zip = ZipWriter::new_stream(&mut out);
    // sizes beyond 4 GB where they may be needed; the date is that of the format, so that equal results give equal
    // files
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
    let mut texts = |name: &str, of: fn(&ResultEvent) -> &str| -> Result<()> {
        // as NumPy keeps strings: UTF-32, all of one length
        let width = events.iter().map(|event| of(event).chars().count()).max().unwrap_or(0).max(1);
        let mut bytes = Vec::with_capacity(n.saturating_mul(width).saturating_mul(4));
        for event in events {
            let padded = of(event).chars().map(u32::from).chain(std::iter::repeat(0)).take(width);
            bytes.extend(padded.flat_map(u32::to_le_bytes));
        }
        array(name, &format!("<U{width}"), n, &bytes)
    };
    texts(EVENTS[1], |event| &event.joint)?;
    texts(EVENTS[4], |event| event.event.name())?;
    array(EVENTS[2], "|i1", n, &events.iter().flat_map(|event| event.from.to_le_bytes()).collect::<Vec<u8>>())?;
    array(EVENTS[3], "|i1", n, &events.iter().flat_map(|event| event.to.to_le_bytes()).collect::<Vec<u8>>())?;
    zip.finish()?;
    Ok(out.flush()?)
}

/// Header of a one-dimensional array.
fn header(kind: &str, n: usize) -> Result<Vec<u8>> {
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({n},), }}");
    // version, length and end of line
    let length = [MAGIC.len(), 4, text.len(), 1].iter().sum::<usize>();
    text.extend(std::iter::repeat_n(' ', length.next_multiple_of(64).saturating_sub(length)));
    text.push('\n');
    let length = u16::try_from(text.len()).context("header too long")?;
    Ok([MAGIC, &[1, 0], &length.to_le_bytes(), text.as_bytes()].concat())
}

/// Characters of each text in an array of them.
fn text_width(kind: &str) -> Option<usize> {
    kind.strip_prefix("<U")?.parse().ok().filter(|width| (1..=1 << 20).contains(width))
}

/// One array of a file.
struct Array {
    kind: String,
    n: usize,
    data: Vec<u8>,
}

/// Reads a table.
pub fn read(mut input: impl Read + Seek) -> Result<Results> {
    let length = input.seek(SeekFrom::End(0))?;
    let mut left = MAX_BYTES.min(length.saturating_mul(MAX_RATIO).saturating_add(FREE_BYTES));
    let mut zip = ZipArchive::new(input)?;
    let mut results = Results::default();
    let mut events: [Option<Array>; 5] = [None, None, None, None, None];
    for k in 0..zip.len() {
        let mut file = zip.by_index(k)?;
        let Some(name) = file.name().strip_suffix(".npy").map(str::to_owned) else { continue };
        let array = Array::read(&mut file, left).with_context(|| format!("array `{name}`"))?;
        left = left.saturating_sub(array.data.len() as u64);
        if let Some(k) = EVENTS.iter().position(|event| *event == name) {
            events[k] = Some(array);
        } else {
            results.columns.push(array.floats().with_context(|| format!("array `{name}`"))?);
            results.names.push(name);
        }
    }
    if let [Some(t), Some(joint), Some(from), Some(to), kinds] = events {
        let (t, joint, from, to) = (t.floats()?, joint.strings()?, from.bytes()?, to.bytes()?);
        if [joint.len(), from.len(), to.len()] != [t.len(); 3] {
            bail!("the arrays of the events differ in length");
        }
        // files of older versions have changes of mode alone
        let kinds = kinds.map(|kinds| kinds.strings()).transpose()?.unwrap_or_default();
        for (k, (((t, joint), from), to)) in t.into_iter().zip(joint).zip(from).zip(to).enumerate() {
            let kind = kinds.get(k).map_or("mode", String::as_str);
            let all = [EventKind::Mode, EventKind::Stop, EventKind::Open];
            let event = all.into_iter().find(|event| event.name() == kind);
            let Some(event) = event else { bail!("there is no event `{kind}`") };
            if !t.is_finite() {
                bail!("an event has the time {t}, which is not finite");
            }
            results.events.push(ResultEvent { t, joint, from, to, event });
        }
    }
    Ok(results)
}

impl Array {
    /// Reads an array of `max_bytes` at most.
    fn read(input: &mut impl Read, max_bytes: u64) -> Result<Self> {
        let mut start = [0; 8];
        input.read_exact(&mut start).context("not a NumPy array")?;
        if !start.starts_with(MAGIC) {
            bail!("not a NumPy array");
        }
        let mut length = [0; 4];
        let cut = "the header is cut short";
        match start[6] {
            1 => input.read_exact(&mut length[..2]).context(cut)?,
            2 | 3 => input.read_exact(&mut length).context(cut)?,
            _ => bail!("unknown version of the array format"),
        }
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_HEADER {
            bail!("a header of {length} bytes; those of results have at most {MAX_HEADER}");
        }
        let mut header = vec![0; length];
        input.read_exact(&mut header).context(cut)?;
        let header = String::from_utf8_lossy(&header);
        let field = |key: &str| {
            let after = header.split_once(&format!("'{key}':"))?.1.trim_start();
            Some(after.split_at(after.find([',', '}'])?).0.trim())
        };
        let kind = field("descr").context("the header has no `descr`")?.trim_matches('\'').to_owned();
        let shape = header.split_once("'shape':").and_then(|(_, shape)| shape.trim_start().strip_prefix('('));
        let shape = shape.and_then(|shape| shape.split_once(')')).context("the header has no `shape`")?.0;
        let sizes: Vec<&str> = shape.split(',').map(str::trim).filter(|size| !size.is_empty()).collect();
        let [n] = sizes[..] else { bail!("shape ({shape}): results are arrays of one dimension") };
        let n: usize = n.parse().with_context(|| format!("shape ({shape})"))?;
        // as many bytes as the shape says, and one more to see whether there are
        let size = match &kind[..] {
            "<f8" => 8,
            "|i1" => 1,
            kind => text_width(kind).with_context(|| format!("values of type `{kind}`"))?.saturating_mul(4),
        };
        let bytes = (n as u64).saturating_mul(size as u64);
        if bytes > max_bytes {
            bail!("{n} values of {size} bytes are too many for a file of this size, or for a table of results");
        }
        // as read, and as numbers
        memory::check("an array of the archive", bytes.saturating_mul(2))?;
        let mut data = Vec::new();
        input.take(bytes.saturating_add(1)).read_to_end(&mut data)?;
        Ok(Self { kind, n, data })
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
        let width = text_width(&self.kind).context("names are of type `<U…`")?;
        let text = |c: &[u8]| -> Option<String> {
            let letters = c.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]));
            letters.take_while(|&letter| letter != 0).map(char::from_u32).collect()
        };
        self.chunks(width.saturating_mul(4))?.map(|c| text(c).context("a name is not valid text")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive with one array that is `n` zeros, compressed, and says that it is `claimed`.
    fn zeros(n: usize, claimed: usize) -> std::io::Cursor<Vec<u8>> {
        let mut zip = ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        zip.start_file("t.npy", options).unwrap();
        zip.write_all(&header("<f8", claimed).unwrap()).unwrap();
        (0..n.div_ceil(1 << 17)).for_each(|k| zip.write_all(&vec![0; 8 * (n - (k << 17)).min(1 << 17)]).unwrap());
        zip.finish().unwrap()
    }

    #[test]
    fn a_small_file_does_not_become_a_large_table() {
        assert_eq!(read(zeros(1000, 1000)).unwrap().columns, [vec![0.0; 1000]]);
        // 40 MB of zeros in 40 kB: as many as the header says, or none
        for (n, claimed, reason) in [
            (5_000_000, 10, "bytes of data for 10 values"),
            (10, 5_000_000, "bytes of data for 5000000 values"),
            (10, 100_000_000_000, "too many for a file of this size"),
            (10, usize::MAX, "too many for a file of this size"),
            (50_000_000, 50_000_000, "too many for a file of this size"),
        ] {
            let message = format!("{:#}", read(zeros(n, claimed)).unwrap_err());
            assert!(message.contains(reason), "{n} {claimed}: {message}");
        }
    }
}
