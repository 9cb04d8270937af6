//! Text to a map of values with their places: `{ "name": value, … }`.

use super::span::Span;
use super::syntax::{Node, Parsed, Parser};

/// One entry: the name, its place, and what it is given.
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
    parser.skip_attributes()?;
    let open = parser.at;
    if parser.peek() != Some(b'{') {
        return Err(parser.error_here(format!("expected `{{`, found {}", parser.found()), SHAPE));
    }
    parser.at += 1;
    let mut entries = Vec::new();
    loop {
        parser.skip_blank()?;
        if parser.peek() == Some(b'}') {
            break;
        }
        parser.need_more(open, '{', '}')?;
        if parser.peek() != Some(b'"') {
            return Err(parser.error_here(format!("expected a name in double quotes, found {}", parser.found()), SHAPE));
        }
        let start = parser.at;
        let name = parser.text_value()?;
        let place = parser.span(start..parser.at);
        parser.skip_blank()?;
        if parser.peek() != Some(b':') {
            return Err(parser.error_here(format!("expected `:`, found {}", parser.found()), SHAPE));
        }
        parser.at += 1;
        entries.push(Entry { name, place, value: parser.value()? });
        parser.separator(open, '{', '}')?;
    }
    parser.at += 1;
    parser.skip_blank()?;
    if parser.peek().is_some() {
        return Err(parser.error_here("unexpected text after the end", "a file holds one map, `{ … }`"));
    }
    Ok(entries)
}
