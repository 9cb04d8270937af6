//! Changes of an input: bytes, tokens, numbers, whole groups of brackets or elements, pieces of other inputs.

use crate::target::Target;
use rand::RngExt;
use rand_pcg::Pcg64;
use std::ops::Range;

/// Longer inputs are cut: a case should take milliseconds.
const MAX_LENGTH: usize = 1 << 16;

/// Numbers at limits.
const NUMBERS: [&str; 20] = [
    "0",
    "-0.0",
    "1",
    "-1",
    "2",
    "0.5",
    "1e-3",
    "1e-9",
    "1e3",
    "1e9",
    "1e-300",
    "5e-324",
    "1e300",
    "-1e300",
    "1e999",
    "inf",
    "NaN",
    "4294967296",
    "18446744073709551616",
    "0.1",
];

/// One change.
pub fn mutate(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], target: &Target, random: &mut Pcg64) {
    let at = random.random_range(0..=bytes.len());
    let end = (at + random.random_range(0..40)).min(bytes.len());
    let other = &corpus[random.random_range(0..corpus.len())];
    match random.random_range(0..12) {
        0 if at < bytes.len() => bytes[at] = random.random(),
        1 if at < bytes.len() => bytes[at] ^= 1 << random.random_range(0..8),
        2 => drop(bytes.drain(at..end)),
        3 => {
            let piece = bytes[at..end].to_vec();
            let to = random.random_range(0..=bytes.len());
            drop(bytes.splice(to..to, piece));
        }
        4 if !target.tokens.is_empty() => {
            let token = target.tokens[random.random_range(0..target.tokens.len())];
            drop(bytes.splice(at..if random.random() { at } else { end }, token.bytes()));
        }
        5 | 6 => replace_number(bytes, at, random),
        7 => {
            // the word of another place, or of another input
            let (here, there) = (word(bytes, at), word(other, random.random_range(0..=other.len())));
            drop(bytes.splice(here, other[there].to_vec()));
        }
        8 | 9 => {
            // a whole group in place of another
            if let (Some(here), Some(there)) = (group(bytes, at), group(other, random.random_range(0..=other.len()))) {
                drop(bytes.splice(here, other[there].to_vec()));
            }
        }
        10 => {
            // a group once more, or not at all
            if let Some(here) = group(bytes, at) {
                let copy = if random.random() {
                    [&bytes[here.clone()], b",", &bytes[here.clone()]].concat()
                } else {
                    Vec::new()
                };
                drop(bytes.splice(here, copy));
            }
        }
        _ => {
            // the start of one, the end of another
            let from = random.random_range(0..=other.len());
            let to = if random.random() { other.len() } else { (from + 200).min(other.len()) };
            let behind = if random.random() { bytes.len() } else { end };
            drop(bytes.splice(at..behind, other[from..to].to_vec()));
        }
    }
    bytes.truncate(MAX_LENGTH);
}

/// Letters of names.
fn word(bytes: &[u8], at: usize) -> Range<usize> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let start = bytes[..at].iter().rposition(|byte| !is_word(byte)).map_or(0, |k| k + 1);
    let end = bytes[at..].iter().position(|byte| !is_word(byte)).map_or(bytes.len(), |k| at + k);
    start..end
}

/// From the next opening bracket to the one that closes it; an element of XML from `<` to its end.
fn group(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at + bytes[at..].iter().position(|byte| matches!(byte, b'(' | b'[' | b'{' | b'<'))?;
    let (open, close) = match bytes[start] {
        b'(' => (b'(', b')'),
        b'[' => (b'[', b']'),
        b'{' => (b'{', b'}'),
        _ => return element(bytes, start),
    };
    let mut depth = 0;
    for (k, &byte) in bytes[start..].iter().enumerate() {
        depth += i32::from(byte == open) - i32::from(byte == close);
        if depth == 0 {
            return Some(start..start + k + 1);
        }
    }
    None
}

/// `<a …/>` or `<a …>…</a>`, recognised by tags of that name.
fn element(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let name = word(bytes, start + 1);
    let end = start + bytes[start..].iter().position(|&byte| byte == b'>')? + 1;
    if bytes[..end].ends_with(b"/>") {
        return Some(start..end);
    }
    let close = [b"</", &bytes[name], b">"].concat();
    let length = bytes[end..].windows(close.len()).position(|piece| piece == close)?;
    Some(start..end + length + close.len())
}

/// Replaces the next number.
fn replace_number(bytes: &mut Vec<u8>, at: usize, random: &mut Pcg64) {
    let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'-' | b'+');
    let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|k| at + k) else { return };
    let end = bytes[start..].iter().position(|byte| !is_part(byte)).map_or(bytes.len(), |k| start + k);
    let given = std::str::from_utf8(&bytes[start..end]).ok().and_then(|text| text.parse::<f64>().ok());
    let number = match (random.random_range(0..4), given) {
        (0, Some(x)) => format!("{:?}", x * random.random_range(-2.0..2.0_f64)),
        (1, Some(x)) => format!("{:?}", x * 10.0_f64.powi(random.random_range(-12..12))),
        (2, _) => format!("{:?}", f64::from_bits(random.random())),
        _ => NUMBERS[random.random_range(0..NUMBERS.len())].to_owned(),
    };
    drop(bytes.splice(start..end, number.bytes()));
}
