//! Text to a map of values with their places: `{ "name": value, … }`.

use super::span::Span;
use super::syntax::{Node, Parsed, Parser};

/// One entry: the name, its place, and its value.
#[derive(Debug)]
pub(crate) struct Entry {
    pub name: String,
    pub place: Span,
    pub value: Node,
}

/// Parse a text as one map from names in quotes to values.
pub(crate) fn parse(text: &str, source: u32) -> Parsed<Vec<Entry>> {
    const SHAPE: &str = "write `{ \"elbow\": (friction: …, load: …) }`";
    let mut parser = Parser::new(text, source, 0);
    parser.scan.skip_attributes()?;
    let open = parser.scan.at;
    let expected = |parser: &Parser, what: &str| {
        parser.scan.error_here(format!("expected {what}, found {}", parser.scan.found()), SHAPE)
    };
    if parser.scan.peek() != Some(b'{') {
        return Err(expected(&parser, "`{`"));
    }
    parser.scan.advance(1);
    let mut entries = Vec::new();
    while !parser.is_closed(open, '{', '}')? {
        if parser.scan.peek() != Some(b'"') {
            return Err(expected(&parser, "a name in double quotes"));
        }
        let start = parser.scan.at;
        let name = parser.scan.text_value()?;
        let place = parser.scan.span(start..parser.scan.at);
        parser.scan.skip_blank()?;
        if parser.scan.peek() != Some(b':') {
            return Err(expected(&parser, "`:`"));
        }
        parser.scan.advance(1);
        let value = parser.value()?;
        entries.push(Entry { name, place, value });
        let end = parser.scan.at;
        parser.separator(open, '{', '}', end)?;
    }
    parser.scan.skip_blank()?;
    if parser.scan.peek().is_some() {
        return Err(parser.scan.error_here("unexpected text after the end", "a file holds one map, `{ … }`"));
    }
    Ok(entries)
}
