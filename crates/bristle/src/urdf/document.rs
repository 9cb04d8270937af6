//! The text of a robot as a tree of XML elements, within bounds that no robot exceeds.

use roxmltree::{Document, ParsingOptions};
use std::borrow::Cow;

use super::xml::tag;
use crate::scene::error::{Problem, SceneError};
use crate::scene::load::{MAX_BYTES, too_large};
use crate::scene::span::{Source, Sources, Span};

/// Elements and texts in one file: a link with its joint takes about thirty.
const MAX_NODES: u32 = 2_000_000;

/// Elements inside elements: a robot needs six, extensions of other programs a few more.
const MAX_DEPTH: usize = 64;

/// Attributes of one element, and names of namespaces in one file: a robot has a handful of each, and the parser
/// compares each with all others.
const MAX_ATTRIBUTES: usize = 1000;
const MAX_NAMESPACES: usize = 250;

/// The text without an XML declaration that stands behind empty lines, where XML does not permit one; every other
/// character stays in its place.
pub(super) fn without_late_declaration(text: &str) -> Cow<'_, str> {
    let start = text.len().saturating_sub(text.trim_start().len());
    let (before, rest) = text.split_at(start);
    match rest.split_once("?>") {
        Some((declaration, rest)) if start > 0 && declaration.starts_with("<?xml") => {
            let blank = |byte: u8| if byte == b'\n' { '\n' } else { ' ' };
            let blanks: String = declaration.bytes().chain("?>".bytes()).map(blank).collect();
            Cow::Owned([before, &blanks, rest].concat())
        }
        _ => Cow::Borrowed(text),
    }
}

/// The elements of a text, or why it is not XML that can be used.
pub(super) fn parse<'t>(text: &'t str, sources: &Sources) -> Result<Document<'t>, SceneError> {
    if text.len() as u64 > MAX_BYTES {
        return Err(too_large(&sources.0[0].name, text.len() as u64).into());
    }
    crowded(text, sources).map_or(Ok(()), Err)?;
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| not_xml(&error, sources))?;
    too_deep(&document, sources).map_or(Ok(document), |problem| Err(problem.into()))
}

/// The first element with more attributes than can be compared with one another, or the first namespace beyond those
/// that can.
///
/// Tags are distinguished from comments, sections of text and instructions; whether they are well formed is for the
/// parser to say.
fn crowded(text: &str, sources: &Sources) -> Option<SceneError> {
    let problem = |place: usize, reason: String| {
        let problem = Problem::at(sources, at_offset(&sources.0[0], place), reason, "is it a robot?");
        Some(problem.into())
    };
    let bytes = text.as_bytes();
    let (mut at, mut n_namespaces) = (0usize, 0usize);
    while let Some(start) = text[at..].find('<').map(|k| at.saturating_add(k)) {
        let rest = &text[start..];
        let skipped =
            [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")].iter().find(|kind| rest.starts_with(kind.0));
        if let Some((open, shut)) = skipped {
            at = start.saturating_add(open.len()).saturating_add(rest[open.len()..].find(shut)?);
            continue;
        }
        // an equals sign outside of quotes for every attribute
        let (mut k, mut quote, mut n) = (start.saturating_add(1), None, 0usize);
        while k < bytes.len() {
            match (bytes[k], quote) {
                (byte, Some(open)) if byte == open => quote = None,
                (_, Some(_)) => {}
                (byte @ (b'"' | b'\''), None) => quote = Some(byte),
                (b'>', None) => break,
                (b'=', None) => n = n.saturating_add(1),
                (b'x', None) if bytes[k..].starts_with(b"xmlns") => n_namespaces = n_namespaces.saturating_add(1),
                _ => {}
            }
            if n > MAX_ATTRIBUTES {
                return problem(start, format!("an element with more than {MAX_ATTRIBUTES} attributes"));
            }
            if n_namespaces > MAX_NAMESPACES {
                return problem(start, format!("more than {MAX_NAMESPACES} namespaces in one file"));
            }
            k = k.saturating_add(1);
        }
        at = k.min(text.len());
    }
    None
}

/// The first element that is nested too deeply.
fn too_deep(document: &Document, sources: &Sources) -> Option<Problem> {
    let (mut node, mut depth) = (document.root(), 0usize);
    loop {
        // down, else along, else up and along
        if let Some(child) = node.first_child() {
            (node, depth) = (child, depth.saturating_add(1));
            if depth > MAX_DEPTH {
                let reason = format!("elements are nested more than {MAX_DEPTH} deep");
                return Some(Problem::at(sources, tag(sources, node), reason, "no robot needs this"));
            }
            continue;
        }
        while node.next_sibling().is_none() {
            node = node.parent()?;
            depth = depth.saturating_sub(1);
        }
        node = node.next_sibling()?;
    }
}

fn not_xml(error: &roxmltree::Error, sources: &Sources) -> Problem {
    use roxmltree::Error::{
        DtdDetected, DuplicatedAttribute, NoRootNode, NodesLimitReached, UnclosedRootNode, UnexpectedCloseTag,
        UnexpectedEndOfStream, UnknownNamespace, UnknownToken,
    };
    let source = &sources.0[0];
    let at = error.pos();
    let mut place = offset(source, at.row as usize, at.col as usize);
    let (reason, help) = match error {
        DtdDetected => {
            place = source.text.find("<!DOCTYPE").unwrap_or(0);
            let help = "leave `<!DOCTYPE …>` out; entities are not expanded";
            ("a robot has no document type".to_owned(), help.to_owned())
        }
        NoRootNode => ("the file has no `<robot>`".into(), "write `<robot name=\"…\"> … </robot>`".into()),
        NodesLimitReached => (format!("more than {MAX_NODES} elements in one file"), "is it a robot?".into()),
        UnclosedRootNode | UnexpectedEndOfStream => {
            place = source.text.len();
            ("the file ends inside an element".into(), "an element is never closed".into())
        }
        UnexpectedCloseTag(expected, found, _) => {
            (format!("expected `</{expected}>`, found `</{found}>`"), format!("`<{expected}>` is still open"))
        }
        DuplicatedAttribute(name, _) => (format!("`{name}` is given twice"), "keep one of them".into()),
        UnknownNamespace(prefix, _) if prefix == "xacro" => xacro(),
        error => {
            let said = error.to_string();
            let said = said.strip_suffix(&format!(" at {at}")).unwrap_or(&said);
            let help = if matches!(error, UnknownToken(_)) {
                "a file holds one `<robot name=\"…\"> … </robot>`"
            } else {
                ""
            };
            (format!("this is not XML: {said}"), help.into())
        }
    };
    Problem::at(sources, at_offset(source, place), reason, help)
}

/// The message for a file that is not expanded yet.
pub(super) fn xacro() -> (String, String) {
    ("this is a xacro file".into(), "expand it first: `xacro robot.urdf.xacro > robot.urdf`".into())
}

/// Byte offset of a line and a column in characters, both from 1.
fn offset(source: &Source, line: usize, column: usize) -> usize {
    let start = source.text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum::<usize>();
    let rest = &source.text[start..];
    start.saturating_add(rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.len(), |c| c.0))
}

/// The character at an offset.
pub(super) fn at_offset(source: &Source, place: usize) -> Span {
    let length = source.text[place..].chars().next().map_or(0, char::len_utf8);
    Span { source: 0, start: place as u32, end: place.saturating_add(length) as u32 }
}
