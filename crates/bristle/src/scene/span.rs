//! Places in source text, and the texts they belong to.
//!
//! A scene comes from one file and any number of overrides; a [`Span`] says which text and which bytes of it.

use std::sync::OnceLock;

/// A range of bytes in one of the texts a scene was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Span {
    /// Index into [`Sources`]: 0 is the file, the others are overrides and friction files.
    pub source: u32,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A line and a column, both counted from one; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// The name of overrides in messages.
pub(crate) const OVERRIDE: &str = "override";

/// One text with its name.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// File name, or `override` for an override.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// Byte offsets at which lines begin, made when first asked for.
    line_starts: OnceLock<Vec<usize>>,
    /// Characters before every [`STRIDE`]-th byte, made when first asked for: a file may be one long line.
    counted: OnceLock<Vec<usize>>,
}

/// Bytes between two places at which characters are counted beforehand.
const STRIDE: usize = 1024;

/// Whether a byte of UTF-8 begins a character.
fn begins_character(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

impl Source {
    pub fn new(name: String, text: String) -> Self {
        Self { name, text, line_starts: OnceLock::new(), counted: OnceLock::new() }
    }

    fn line_starts(&self) -> &[usize] {
        self.line_starts.get_or_init(|| {
            std::iter::once(0)
                .chain(self.text.bytes().enumerate().filter(|b| b.1 == b'\n').map(|b| b.0.saturating_add(1)))
                .collect()
        })
    }

    /// Line and column of a byte offset.
    pub fn position(&self, offset: usize) -> Position {
        let line = self.line_starts().partition_point(|&start| start <= offset).saturating_sub(1);
        let start = self.line_starts()[line];
        let before = self.characters_before(offset).saturating_sub(self.characters_before(start));
        Position { line: line.saturating_add(1), column: before.saturating_add(1) }
    }

    /// Characters that begin before a byte.
    fn characters_before(&self, offset: usize) -> usize {
        let bytes = self.text.as_bytes();
        let count = |bytes: &[u8]| bytes.iter().filter(|&&byte| begins_character(byte)).count();
        let counted = self.counted.get_or_init(|| {
            let sums = bytes.chunks(STRIDE).scan(0usize, |sum, piece| {
                *sum = sum.saturating_add(count(piece));
                Some(*sum)
            });
            std::iter::once(0).chain(sums).collect()
        });
        let offset = offset.min(bytes.len());
        let n = offset / STRIDE;
        counted[n].saturating_add(count(&bytes[n.saturating_mul(STRIDE)..offset]))
    }

    /// Byte offset at which a line begins, counted from one.
    pub fn line_start(&self, line: usize) -> usize {
        self.line_starts()[line.saturating_sub(1)]
    }

    /// The text of a line, counted from one, without its end.
    pub fn line(&self, line: usize) -> &str {
        let starts = self.line_starts();
        let end = starts.get(line).map_or(self.text.len(), |&next| next.saturating_sub(1));
        self.text[self.line_start(line)..end].trim_end_matches('\r')
    }
}

/// The file and the overrides a scene was read from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sources(pub Vec<Source>);

impl Sources {
    /// The text a span covers.
    pub fn text(&self, span: Span) -> &str {
        &self.0[span.source as usize].text[span.start as usize..span.end as usize]
    }

    /// Whether a span lies in an override.
    pub fn is_override(&self, span: Span) -> bool {
        self.0[span.source as usize].name == OVERRIDE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_in_lines_of_any_length() {
        let text: String =
            (0..3000).map(|i| ["a", "ü", "漢", "🦀", "\n"][if i % 997 == 0 { 4 } else { i % 4 }]).collect();
        let source = Source::new("text".into(), text);
        let (mut line, mut column) = (1, 1);
        for (offset, letter) in source.text.char_indices() {
            assert_eq!(source.position(offset), Position { line, column });
            (line, column) = if letter == '\n' { (line + 1, 1) } else { (line, column + 1) };
        }
        assert_eq!(source.position(source.text.len()), Position { line, column });
    }
}
