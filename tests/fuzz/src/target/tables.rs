//! Tables of results: `.csv`, `.json`, `.npz` as bytes, and `.npz` by its members, so that mutations pass the checksums
//! of an archive.
//!
//! The first byte of a case is the format: `c`, `j`, `z`, or `m` for members between lines `@name` (deflated) or
//! `#name` (stored). A table that is read is written in every format and reads back bit for bit.

use super::Target;
use bristle_report::results::{Format, ResultEvent, Results, write};
use std::io::{Cursor, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

pub static TARGET: Target = Target {
    name: "tables",
    run,
    folders: &[],
    made,
    tokens: &[
        ",",
        "\n",
        "\r\n",
        "\"",
        "t",
        "{",
        "}",
        "[",
        "]",
        ":",
        "\"channels\"",
        "\"events\"",
        "\"joint\"",
        "\"from\"",
        "null",
        "true",
        "NaN",
        "inf",
        "1e999",
        "PK\x03\x04",
        "PK\x01\x02",
        "PK\x05\x06",
        "\n@t.npy\n",
        "\n#events.t.npy\n",
        "\n@../t.npy\n",
        "'descr': '<f8'",
        "'descr': '<U3'",
        "'descr': '|i1'",
        "'shape': (3,)",
        "'shape': (18446744073709551615,)",
        "'shape': ()",
        "'fortran_order': True",
        "\x01\0",
        "\x02\0",
        "\x7f\x7f\x7f\x7f",
        "<U1048576",
        "=1+1",
        "\x1b[31m",
        "é",
    ],
};

fn table() -> Results {
    let column = |f: fn(f64) -> f64| (0..9).map(|k| f(f64::from(k) / 8.0)).collect::<Vec<f64>>();
    let event = |t, joint: &str, from, to| ResultEvent { t, joint: joint.into(), from, to, event: Default::default() };
    Results {
        names: ["t", "elbow.position", "a, \"b\".velocity"].map(str::to_owned).to_vec(),
        columns: vec![column(|t| t), column(f64::sin), column(|t| 1e-300 * t - 1.0 / 3.0)],
        events: vec![event(0.25, "elbow", -1, 0), event(0.5, "a, \"b\"", 0, 1)],
    }
}

/// A table in every format, and its members.
fn made() -> Vec<Vec<u8>> {
    let mut made = Vec::new();
    for (format, letter) in [(Format::Csv, b'c'), (Format::Json, b'j'), (Format::Npz, b'z')] {
        let mut bytes = vec![letter];
        if write(&table(), format, &mut bytes).is_ok() {
            made.push(bytes);
        }
    }
    let mut members = vec![b'm'];
    for (name, kind, data) in [
        ("@t", "<f8", (0..3).flat_map(|k| f64::from(k).to_le_bytes()).collect::<Vec<u8>>()),
        ("#x.position", "<f8", (0..3).flat_map(|k| (-f64::from(k)).to_le_bytes()).collect()),
        ("@events.t", "<f8", [0.5_f64, 1.0, 1.5].iter().flat_map(|t| t.to_le_bytes()).collect()),
        ("#events.joint", "<U1", [97_u32, 98, 97].iter().flat_map(|c| c.to_le_bytes()).collect()),
        ("@events.from", "|i1", vec![0, 1, 255]),
        ("@events.to", "|i1", vec![255, 0, 1]),
    ] {
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': (3,), }}\n");
        members.extend(format!("\n{name}.npy\n").bytes());
        members.extend(b"\x93NUMPY\x01\0");
        members.extend((header.len() as u16).to_le_bytes());
        members.extend(header.bytes());
        members.extend(data);
    }
    made.push(members);
    made
}

fn run(bytes: &[u8]) -> bool {
    let Some((letter, content)) = bytes.split_first() else { return false };
    let read = match letter {
        b'j' => Results::parse(Format::Json, Cursor::new(content)),
        b'z' => Results::parse(Format::Npz, Cursor::new(content)),
        b'm' => match archive(content) {
            Some(archive) => Results::parse(Format::Npz, Cursor::new(&archive[..])),
            None => return false,
        },
        _ => Results::parse(Format::Csv, Cursor::new(content)),
    };
    let Ok(results) = read.map_err(|error| format!("{error:#}")) else { return false };
    assert!(results.columns.iter().flatten().all(|x| x.is_finite()), "a number that is not finite");
    let bits = |results: &Results| -> Vec<Vec<u64>> {
        results.columns.iter().map(|column| column.iter().map(|x| x.to_bits()).collect()).collect()
    };
    for format in [Format::Csv, Format::Json, Format::Npz] {
        let mut written = Vec::new();
        if let Err(error) = write(&results, format, &mut written) {
            // invalid names of members are refused
            assert!(format == Format::Npz, "a table that was read is not written: {error:#}");
            continue;
        }
        match Results::parse(format, Cursor::new(&written[..])) {
            Ok(again) => {
                assert!(again.names == results.names, "{format:?}: {:?} {:?}", again.names, results.names);
                assert!(bits(&again) == bits(&results), "{format:?} changes numbers");
            }
            Err(error) => panic!("{format:?}: written and refused: {error:#}"),
        }
    }
    true
}

/// An archive of the members.
fn archive(content: &[u8]) -> Option<Vec<u8>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let mut rest = content;
    while let Some(start) = rest.windows(2).position(|pair| matches!(pair, b"\n@" | b"\n#")) {
        let kind = rest[start + 1];
        rest = &rest[start + 2..];
        let line = rest.iter().position(|&byte| byte == b'\n')?;
        let name = String::from_utf8_lossy(&rest[..line]).into_owned();
        rest = &rest[line + 1..];
        let end = rest.windows(2).position(|pair| matches!(pair, b"\n@" | b"\n#")).unwrap_or(rest.len());
        let method = if kind == b'#' { CompressionMethod::Stored } else { CompressionMethod::Deflated };
        zip.start_file(name, SimpleFileOptions::default().compression_method(method)).ok()?;
        zip.write_all(&rest[..end]).ok()?;
        rest = &rest[end..];
    }
    Some(zip.finish().ok()?.into_inner())
}
