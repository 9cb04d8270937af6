//! Where to go on after something that cannot be read.

use super::brackets::{Bracket, Content};
use super::scan::is_word;
use super::{Parser, Stop, Value};

impl Parser<'_> {
    /// After brackets that do not balance: go on where the next entry begins, or where the brackets close.
    ///
    /// That is told by the lines. If the first entry begins a line, then the next one after the trouble is on the first line that
    /// is indented alike and begins like an entry; a line indented less must begin with the closing bracket. Anything
    /// else is left to the brackets around these. Returns whether reading goes on.
    pub(super) fn resume(&mut self, bracket: &Bracket, content: &mut Content) -> bool {
        if self.stop.as_ref().is_none_or(|stop| stop.is_final) {
            return false;
        }
        let Some(next) = self.next_entry(bracket) else { return false };
        let Some(Stop { mut error, at, .. }) = self.stop.take() else { return false };
        self.scan.at = next;
        // noticed only after others had been read as part of it: the last entry is where a bracket is missing
        if at >= next {
            let entry = &self.scan.text[bracket.last..];
            let first = entry.chars().next().map_or(0, char::len_utf8);
            let length = entry.bytes().take_while(|&b| is_word(b)).count().max(first);
            let help = format!("what comes next begins on line {}", self.line_number(next));
            let place = bracket.last..bracket.last.saturating_add(length);
            error = self.scan.error(place, "a bracket is not closed in this entry", help);
            match (content.fields.last_mut(), content.items.last_mut()) {
                (Some(field), _) => field.value.value = Value::Lost,
                (None, Some(item)) => item.value = Value::Lost,
                (None, None) => {}
            }
        }
        self.report(error);
        self.stop.is_none()
    }

    /// Where the next entry begins, or the closing bracket stands, if the lines tell.
    fn next_entry(&self, bracket: &Bracket) -> Option<usize> {
        let column = bracket.column?;
        let text = self.scan.text;
        let mut end = bracket.last;
        loop {
            let line = end.saturating_add(text[end..].find('\n')?).saturating_add(1);
            let indentation = text[line..].bytes().take_while(|b| matches!(b, b' ' | b'\t')).count();
            let start = line.saturating_add(indentation);
            let rest = &text[start..];
            end = start;
            let first = rest.bytes().next()?;
            let is_blank = matches!(first, b'\n' | b'\r') || rest.starts_with("//");
            if is_blank || indentation > column {
                continue;
            }
            if indentation < column {
                return (first == bracket.close as u8).then_some(start);
            }
            if !matches!(first, b')' | b']' | b'}') {
                let is_field = self.is_key_at(start);
                let is_value = is_word(first) || matches!(first, b'(' | b'[' | b'"' | b'-');
                let fits = if bracket.kind == '[' { is_value && !is_field } else { is_field };
                return fits.then_some(start);
            }
        }
    }

    /// Move to the end of an entry: a comma or closing bracket that belongs to none within it, or the end of the line.
    pub(super) fn skip_entry(&mut self) {
        let start = self.scan.at;
        let mut depth = 0usize;
        loop {
            match self.scan.peek() {
                Some(b',' | b')' | b']' | b'}' | b'\n') if depth == 0 => break,
                Some(b'(' | b'[' | b'{') => depth = depth.saturating_add(1),
                Some(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
                Some(b'"') => {
                    _ = self.scan.text_value();
                    continue;
                }
                Some(_) => {}
                None if depth == 0 => break,
                // not closed: then no more than this line is part of it
                None => {
                    let text = self.scan.text;
                    self.scan.at = text[start..].find('\n').map_or(text.len(), |n| start.saturating_add(n));
                    break;
                }
            }
            self.scan.advance(1);
        }
        self.forgives = true;
    }

    /// Move over a comma, if there is one; there need not be.
    pub(super) fn skip_comma(&mut self) {
        self.blank();
        if self.stop.is_none() && self.scan.peek() == Some(b',') {
            self.scan.advance(1);
        }
    }

    /// The column of a place if it is the first on its line.
    pub(super) fn column_if_first(&self, at: usize) -> Option<usize> {
        let before = &self.scan.text.as_bytes()[..at];
        let indentation = before.iter().rev().take_while(|b| matches!(b, b' ' | b'\t')).count();
        let above = &before[..before.len().saturating_sub(indentation)];
        above.last().is_none_or(|&b| b == b'\n').then_some(indentation)
    }

    /// How far the line of a place is indented.
    pub(super) fn indentation(&self, at: usize) -> usize {
        let start = self.scan.text[..at].rfind('\n').map_or(0, |n| n.saturating_add(1));
        self.scan.text[start..].bytes().take_while(|b| matches!(b, b' ' | b'\t')).count()
    }

    /// The line of a place, from 1.
    pub(super) fn line_number(&self, at: usize) -> usize {
        self.scan.text[..at].bytes().filter(|&b| b == b'\n').count().saturating_add(1)
    }
}
