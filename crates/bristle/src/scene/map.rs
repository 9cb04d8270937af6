//! Text to a map of values with their places: `{ "name": value, … }`.

use super::span::Span;
use super::syntax::{Node, Parsed, Parser, SyntaxError};

/// One entry: the name, its place, and what it is given.
#[derive(Debug)]
pub(crate) struct Entry {
    pub name: String,
    pub place: Span,
    pub value: Node,
}

/// Parse a text as one map from names in quotes to values.
pub(crate) fn parse(text: &str, source: u32) -> Result<Vec<Entry>, Vec<SyntaxError>> {
    let mut parser = Parser::new(text, source, 0);
    let entries = entries(&mut parser);
    let mut problems = parser.problems;
    match entries {
        Ok(entries) if problems.is_empty() => Ok(entries),
        Ok(_) => Err(problems),
        Err(error) => {
            problems.push(error);
            Err(problems)
        }
    }
}

/// What is wrong inside a value is noted by the parser; what is wrong between them is an error.
fn entries(parser: &mut Parser) -> Parsed<Vec<Entry>> {
    const SHAPE: &str = "write `{ \"elbow\": (friction: …, load: …) }`";
    parser.scan.skip_attributes()?;
    let open = parser.scan.at;
    let expected = |parser: &Parser, what: &str| {
        parser.scan.error_here(format!("expected {what}, found {}", parser.scan.found()), SHAPE)
    };
    if parser.scan.peek() != Some(b'{') {
        return Err(expected(parser, "`{`"));
    }
    parser.scan.advance(1);
    let mut entries = Vec::new();
    loop {
        parser.scan.skip_blank()?;
        if parser.scan.peek() == Some(b'}') {
            break;
        }
        parser.need_more(open, '{', '}')?;
        if parser.scan.peek() != Some(b'"') {
            return Err(expected(parser, "a name in double quotes"));
        }
        let start = parser.scan.at;
        let name = parser.scan.text_value()?;
        let place = parser.scan.span(start..parser.scan.at);
        parser.scan.skip_blank()?;
        if parser.scan.peek() != Some(b':') {
            return Err(expected(parser, "`:`"));
        }
        parser.scan.advance(1);
        let value = parser.value();
        if let Some(stop) = parser.stop.take() {
            return Err(stop.error);
        }
        entries.push(Entry { name, place, value });

        // a comma, or the end
        let end = parser.scan.at;
        parser.scan.skip_blank()?;
        parser.need_more(open, '{', '}')?;
        match parser.scan.peek() {
            Some(b',') => parser.scan.advance(1),
            Some(b'}') => {}
            _ => {
                let error = parser.comma_error('}', end);
                parser.report(error);
            }
        }
    }
    parser.scan.advance(1);
    parser.scan.skip_blank()?;
    if parser.scan.peek().is_some() {
        return Err(parser.scan.error_here("unexpected text after the end", "a file holds one map, `{ … }`"));
    }
    Ok(entries)
}
