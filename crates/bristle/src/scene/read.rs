//! From the tree of values to typed data, through serde: every mismatch becomes a problem at its place.
//!
//! The reader goes on after a problem: an unknown field is left out, a wrong value or a missing field replaced by a
//! stand-in, and the places of those are kept, so that one pass finds what there is to find and nothing that is not.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::mem::{Discriminant, discriminant};

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, Expected, IntoDeserializer, Visitor};

use super::damage::Damage;
use super::error::{MAX_PROBLEMS, Problem, closest, did_you_mean};
use super::span::{Sources, Span};
use super::stand_in::StandIn;
use super::syntax::{Field, Node, Value};

/// Reads typed data and gathers problems.
pub(crate) struct Reader<'a> {
    sources: &'a Sources,
    problems: RefCell<Vec<Problem>>,
    damage: RefCell<Damage>,
    /// Something could not be read even with stand-ins: elements are missing from lists.
    has_gaps: Cell<bool>,
}

/// What was found wrong, and where nothing is to be concluded from.
pub(crate) struct Findings {
    pub problems: Vec<Problem>,
    pub damage: Damage,
    /// Elements are missing from lists.
    pub has_gaps: bool,
}

impl<'a> Reader<'a> {
    pub fn new(sources: &'a Sources, damage: Damage) -> Self {
        Self { sources, problems: RefCell::default(), damage: RefCell::new(damage), has_gaps: Cell::new(false) }
    }

    /// What was found wrong.
    pub fn into_problems(self) -> Vec<Problem> {
        self.problems.into_inner()
    }

    /// What was found wrong, and where.
    pub fn into_findings(self) -> Findings {
        let (problems, damage) = (self.problems.into_inner(), self.damage.into_inner());
        Findings { problems, damage, has_gaps: self.has_gaps.get() }
    }

    /// One value; `None` if it could not be read, which is then a problem.
    pub fn value<T: Deserialize<'a>>(&'a self, key: &'a str, node: &'a Node) -> Option<T> {
        // a field that is found to be missing has a stand-in the next time
        loop {
            let before = self.damage.borrow().n_fields();
            match T::deserialize(Cursor { reader: self, node, key }) {
                Ok(value) => return Some(value),
                Err(_) if self.damage.borrow().n_fields() > before && !self.is_full() => {}
                Err(_) => {
                    self.damage.borrow_mut().node(node);
                    self.has_gaps.set(true);
                    return None;
                }
            }
        }
    }

    /// The elements of a list that could be read.
    pub fn list<T: Deserialize<'a>>(&'a self, key: &'a str, node: &'a Node) -> Vec<T> {
        match &node.value {
            Value::List(items) => items.iter().filter_map(|item| self.value(key, item)).collect(),
            _ => {
                Cursor { reader: self, node, key }.mismatch("a list in brackets, `[…]`");
                Vec::new()
            }
        }
    }

    /// The known fields of a struct.
    pub fn fields(&'a self, node: &'a Node, name: &str, known: &[&str]) -> Vec<(&'a str, &'a Node)> {
        let cursor = Cursor { reader: self, node, key: "" };
        match cursor.content(name) {
            Some(Content::Named(fields)) => {
                self.known(node, name, known, fields).0.iter().map(|f| (self.sources.text(f.0), f.1)).collect()
            }
            _ => {
                cursor.mismatch(&format!("`{name}(…)`"));
                Vec::new()
            }
        }
    }

    /// Whether further problems would not be kept.
    fn is_full(&self) -> bool {
        self.problems.borrow().len() >= MAX_PROBLEMS
    }

    fn report(&self, span: Span, key: &str, reason: String, help: String) -> ReadError {
        if !self.is_full() {
            let problem = Problem { path: key.to_owned(), ..Problem::at(self.sources, span, reason, help) };
            // what is read again has the same problems again
            let mut problems = self.problems.borrow_mut();
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        ReadError::Reported
    }

    /// Fields that exist and stand there once; the others are problems. Also the names the unknown ones were meant to be.
    fn known<'k>(
        &self,
        node: &Node,
        owner: &str,
        known: &[&'k str],
        fields: &'a [Field],
    ) -> (Vec<(Span, &'a Node)>, Vec<&'k str>) {
        let mut kept: Vec<(Span, &Node)> = Vec::with_capacity(fields.len());
        let mut meant = Vec::new();
        for field in fields {
            let key = self.sources.text(field.key);
            if !known.contains(&key) {
                if self.is_full() {
                    continue;
                }
                let help = did_you_mean(key, &format!("the fields of `{owner}` are"), known);
                meant.extend(closest(key, known.iter().copied()));
                self.report(field.key, key, format!("unknown field `{key}` in `{owner}`"), help);
            } else if kept.iter().any(|k| self.sources.text(k.0) == key) {
                self.report(field.key, key, format!("`{key}` is given twice in `{owner}`"), "keep one of them".into());
                self.damage.borrow_mut().doubt(node, key);
            } else {
                kept.push((field.key, &field.value));
            }
        }
        meant.iter().for_each(|field| self.damage.borrow_mut().doubt(node, field));
        (kept, meant)
    }
}

/// What went wrong while reading a value.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// It is among the problems already.
    Reported,
    /// A value of the wrong type; what was expected.
    Type(String),
    /// A field without a default was left out.
    Missing(&'static str),
    /// Anything else.
    Other(String, String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reported => f.write_str("reported"),
            Self::Type(expected) => write!(f, "expected {expected}"),
            Self::Missing(field) => write!(f, "missing field `{field}`"),
            Self::Other(reason, _) => f.write_str(reason),
        }
    }
}

impl std::error::Error for ReadError {}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Other(message.to_string(), String::new())
    }
    fn invalid_type(_: de::Unexpected, expected: &dyn Expected) -> Self {
        Self::Type(spelled(expected))
    }
    fn invalid_value(_: de::Unexpected, expected: &dyn Expected) -> Self {
        Self::Type(spelled(expected))
    }
    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::Other(format!("unknown `{variant}`"), did_you_mean(variant, "one of", expected))
    }
    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::Other(format!("unknown field `{field}`"), did_you_mean(field, "the fields are", expected))
    }
    fn missing_field(field: &'static str) -> Self {
        Self::Missing(field)
    }
    fn duplicate_field(field: &'static str) -> Self {
        Self::Other(format!("`{field}` is given twice"), "keep one of them".into())
    }
}

/// What a visitor expects, as it is spelled in a scene: `Link(…)` for "struct Link".
fn spelled(expected: &dyn Expected) -> String {
    let text = expected.to_string();
    match text.strip_prefix("struct ") {
        Some(name) => format!("`{name}(…)`"),
        None => text,
    }
}

/// A value about to be read.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    reader: &'a Reader<'a>,
    node: &'a Node,
    /// Name of the field it is given to; may be empty.
    key: &'a str,
}

/// What stands in the parentheses after a name.
enum Content<'a> {
    Named(&'a [Field]),
    Values(&'a [Node]),
}

/// In these, values may be given in the order of the fields instead of by name: `Ramp(2.0, 0.5)`.
const POSITIONAL: [&str; 4] = ["Signal", "Load", "Drive", "Control"];

/// The one value of these may be given a name: `Constant(c: 1.0)`.
const NAMED_VALUE: [&str; 4] = ["c", "n", "signal", "value"];

impl<'a> Cursor<'a> {
    fn text(&self, span: Span) -> &'a str {
        self.reader.sources.text(span)
    }

    /// Report that something else was expected here.
    fn mismatch(&self, expected: &str) -> StandIn {
        let found = self.node.describe(self.reader.sources);
        let reason = if self.key.is_empty() {
            format!("expected {expected}, found {found}")
        } else {
            format!("`{}`: expected {expected}, found {found}", self.key)
        };
        let help = match &self.node.value {
            Value::Number(_) if expected.starts_with("text") => "write it in double quotes".into(),
            Value::Word if expected.starts_with("text") => format!("write \"{}\"", self.text(self.node.span)),
            Value::Fields { name: None, .. } if self.reader.sources.is_override(self.node.span) => {
                format!("the file does not give `{0}`: set it whole, `{0}=…`", self.key)
            }
            Value::Number(_) if expected.contains("`Piecewise`") => {
                format!("write `Constant({})`", self.text(self.node.span))
            }
            Value::Text(text) if expected.contains(&format!("`{text}`")) => format!("write `{text}` without quotes"),
            Value::List(_) if expected.contains("parentheses") => "write `(…)` instead of `[…]`".into(),
            Value::Tuple { name: None, .. } if expected.contains("brackets") => "write `[…]` instead of `(…)`".into(),
            _ => String::new(),
        };
        self.refuse(self.node.head(), reason, help)
    }

    /// Report something about the value; a stand-in takes its place.
    fn refuse(&self, span: Span, reason: String, help: String) -> StandIn {
        // what is wrong with something lost has been said
        if !matches!(self.node.value, Value::Lost) {
            self.reader.report(span, self.key, reason, help);
        }
        self.reader.damage.borrow_mut().node(self.node);
        StandIn
    }

    /// Give an error that has no place yet this one.
    fn placed<T>(&self, result: Result<T, ReadError>) -> Result<T, ReadError> {
        result.map_err(|error| match error {
            ReadError::Reported => ReadError::Reported,
            ReadError::Type(expected) => {
                self.mismatch(&expected);
                ReadError::Reported
            }
            ReadError::Missing(field) => self.missing(field, "this"),
            ReadError::Other(reason, help) => {
                self.refuse(self.node.head(), reason, help);
                ReadError::Reported
            }
        })
    }

    fn missing(&self, field: &str, owner: &str) -> ReadError {
        // name the element it is missing from, if it has a name
        let named = match self.content(owner) {
            Some(Content::Named(fields)) => fields.iter().find_map(|f| match &f.value.value {
                Value::Text(name) if self.text(f.key) == "name" => Some(format!(" \"{name}\"")),
                _ => None,
            }),
            _ => None,
        };
        let reason = format!("`{owner}`{} has no `{field}`", named.unwrap_or_default());
        self.reader.report(self.node.head(), field, reason, format!("add `{field}: …`"))
    }

    /// What stands in the parentheses, if the name in front is this one or there is none; a word alone has empty ones.
    fn content(&self, name: &str) -> Option<Content<'a>> {
        match &self.node.value {
            Value::Fields { name: given, fields } if given.is_none_or(|g| self.text(g) == name) => {
                Some(Content::Named(fields))
            }
            Value::Tuple { name: given, items } if given.is_none_or(|g| self.text(g) == name) => {
                Some(if items.is_empty() { Content::Named(&[]) } else { Content::Values(items) })
            }
            Value::Word if self.text(self.node.span) == name => Some(Content::Named(&[])),
            _ => None,
        }
    }

    /// Read the fields of a struct or of a variant.
    fn named<V: Visitor<'a>>(
        &self,
        owner: &str,
        known: &'static [&'static str],
        fields: &'a [Field],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let (fields, meant) = self.reader.known(self.node, owner, known, fields);
        let keyed = fields.into_iter().map(|(key, node)| (self.text(key), node));
        self.entries(owner, known, visitor, keyed, &meant)
    }

    fn entries<V: Visitor<'a>>(
        &self,
        owner: &str,
        known: &'static [&'static str],
        visitor: V,
        entries: impl Iterator<Item = (&'a str, &'a Node)>,
        meant: &[&str],
    ) -> Result<V::Value, ReadError> {
        let lacking: Vec<&str> = {
            let damage = self.reader.damage.borrow();
            known.iter().copied().filter(|field| damage.lacks(self.node, field)).collect()
        };
        let stand_ins = lacking.into_iter().map(|field| (field, None));
        let entries = entries.map(|(key, node)| (key, Some(node))).chain(stand_ins);
        match visitor.visit_map(Entries { reader: self.reader, entries, value: None }) {
            Err(ReadError::Missing(field)) => {
                // a field missing because it is misspelt, or could not be read, has been reported as such
                if !meant.contains(&field) && !self.reader.damage.borrow().is_incomplete(self.node) {
                    self.missing(field, owner);
                }
                self.reader.damage.borrow_mut().field(self.node, field);
                Err(ReadError::Reported)
            }
            result => self.placed(result),
        }
    }

    /// A finite number; after a problem, a stand-in.
    fn number(&self, expected: &str) -> f64 {
        match self.node.value {
            Value::Number(x) if x.is_finite() => return x,
            Value::Number(_) => {
                let written = self.text(self.node.span);
                let name = if self.key.is_empty() { "this number".into() } else { format!("`{}`", self.key) };
                let reason = format!("{name} is {written}: numbers must be finite");
                self.refuse(self.node.span, reason, String::new());
            }
            _ => _ = self.mismatch(expected),
        }
        0.0
    }

    fn whole<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ReadError> {
        // whole numbers up to 2^53 are exact in the tree
        match self.node.value {
            Value::Number(x) if x.fract() == 0.0 && (0.0..9.0e15).contains(&x) => {
                self.placed(visitor.visit_u64(x as u64))
            }
            Value::Number(x) if x.fract() == 0.0 && (-9.0e15..0.0).contains(&x) => {
                self.placed(visitor.visit_i64(x as i64))
            }
            _ => self.mismatch("a whole number").deserialize_u64(visitor),
        }
    }
}

macro_rules! whole_numbers {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ReadError> { self.whole(visitor) })*
    };
}

impl<'a> de::Deserializer<'a> for Cursor<'a> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.node.value {
            Value::Number(_) => self.deserialize_f64(visitor),
            Value::Text(text) => self.placed(visitor.visit_borrowed_str(text)),
            Value::Word => match self.text(self.node.span) {
                "true" => self.placed(visitor.visit_bool(true)),
                "false" => self.placed(visitor.visit_bool(false)),
                "None" => self.placed(visitor.visit_none()),
                word => self.placed(visitor.visit_borrowed_str(word)),
            },
            Value::List(items) | Value::Tuple { items, .. } => {
                self.placed(visitor.visit_seq(Items::new(self.reader, self.key, items)))
            }
            Value::Fields { fields, .. } => {
                let entries = fields.iter().map(|f| (self.text(f.key), Some(&f.value)));
                self.placed(visitor.visit_map(Entries { reader: self.reader, entries, value: None }))
            }
            Value::Lost => self.mismatch("a value").deserialize_any(visitor),
        }
    }

    fn deserialize_f64<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.placed(visitor.visit_f64(self.number("a number")))
    }

    fn deserialize_f32<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_f64(visitor)
    }

    whole_numbers!(deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
                   deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64);

    fn deserialize_bool<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.node.value {
            Value::Word if self.text(self.node.span) == "true" => self.placed(visitor.visit_bool(true)),
            Value::Word if self.text(self.node.span) == "false" => self.placed(visitor.visit_bool(false)),
            _ => self.mismatch("`true` or `false`").deserialize_bool(visitor),
        }
    }

    fn deserialize_str<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.node.value {
            Value::Text(text) => self.placed(visitor.visit_borrowed_str(text)),
            // quotes seldom survive a shell: in an override they may be left out
            Value::Word if self.reader.sources.is_override(self.node.span) => {
                self.placed(visitor.visit_borrowed_str(self.text(self.node.span)))
            }
            _ => self.mismatch("text in double quotes").deserialize_str(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.node.value {
            Value::Word if self.text(self.node.span) == "None" => self.placed(visitor.visit_none()),
            Value::Tuple { name: Some(name), items } if items.len() == 1 && self.text(*name) == "Some" => {
                self.placed(visitor.visit_some(Cursor { node: &items[0], ..self }))
            }
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'a>>(self, _: &'static str, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.node.value {
            Value::List(items) => self.placed(visitor.visit_seq(Items::new(self.reader, self.key, items))),
            _ => self.mismatch("a list in brackets, `[…]`").deserialize_seq(visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'a>>(self, n: usize, visitor: V) -> Result<V::Value, ReadError> {
        match &self.node.value {
            Value::Tuple { name: None, items } if items.len() == n => {
                self.placed(visitor.visit_seq(Items::new(self.reader, self.key, items)))
            }
            _ => self.mismatch(&format!("{n} values in parentheses")).deserialize_tuple(n, visitor),
        }
    }

    fn deserialize_tuple_struct<V: Visitor<'a>>(
        self,
        _: &'static str,
        n: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_tuple(n, visitor)
    }

    fn deserialize_struct<V: Visitor<'a>>(
        self,
        name: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.content(name) {
            Some(Content::Named(fields)) => self.named(name, known, fields, visitor),
            Some(Content::Values(items)) => {
                let reason = format!("the fields of `{name}` must be named");
                let list: Vec<_> = known.iter().take(4).map(|k| format!("{k}: …")).collect();
                let more = if known.len() > 4 { ", …" } else { "" };
                let help = format!("write `{name}({}{more})`", list.join(", "));
                self.refuse(items[0].head(), reason, help).deserialize_struct(name, known, visitor)
            }
            None => {
                // some structs may be given as a number instead: their visitors say whether this one may
                let expected = spelled(&visitor);
                if matches!(self.node.value, Value::Number(_)) && expected.starts_with("a number") {
                    return self.deserialize_f64(visitor);
                }
                self.mismatch(&expected).deserialize_struct(name, known, visitor)
            }
        }
    }

    fn deserialize_enum<V: Visitor<'a>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let word = match &self.node.value {
            Value::Word => self.node.span,
            Value::Tuple { name: Some(name), .. } | Value::Fields { name: Some(name), .. } => *name,
            _ => {
                let list: Vec<_> = variants.iter().map(|v| format!("`{v}`")).collect();
                let stand_in = self.mismatch(&format!("one of {}", list.join(", ")));
                return stand_in.deserialize_enum(name, variants, visitor);
            }
        };
        let variant = self.text(word);
        if !variants.contains(&variant) {
            if (name, variant) == ("Coupling", "LoopJoint") {
                let help = "closed chains are not supported yet: leave this one out".to_owned();
                let stand_in = self.refuse(word, "`LoopJoint` is not supported yet".into(), help);
                return stand_in.deserialize_enum(name, variants, visitor);
            }
            let what = match name {
                "Law" => "friction law".into(),
                "Kind" => "kind of joint".into(),
                "Control" => "step control".into(),
                _ => name.to_lowercase(),
            };
            let help = did_you_mean(variant, "there are", variants);
            let stand_in = self.refuse(word, format!("unknown {what} `{variant}`"), help);
            return stand_in.deserialize_enum(name, variants, visitor);
        }
        self.placed(visitor.visit_enum(Variant { cursor: self, owner: name, name: variant }))
    }

    fn deserialize_identifier<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_any(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'a>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! { <W: Visitor<'a>> char bytes byte_buf unit unit_struct map }
}

/// The elements of a list.
struct Items<'a> {
    reader: &'a Reader<'a>,
    key: &'a str,
    items: std::slice::Iter<'a, Node>,
    /// An element that could not be read: others of its kind cannot either, which is said once.
    refused: Option<Discriminant<Value>>,
}

impl<'a> Items<'a> {
    fn new(reader: &'a Reader<'a>, key: &'a str, items: &'a [Node]) -> Self {
        Self { reader, key, items: items.iter(), refused: None }
    }
}

impl<'a> de::SeqAccess<'a> for Items<'a> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        let Some(node) = self.items.next() else { return Ok(None) };
        let kind = discriminant(&node.value);
        if self.refused == Some(kind) {
            self.reader.damage.borrow_mut().node(node);
            return seed.deserialize(StandIn).map(Some);
        }
        let value = seed.deserialize(Cursor { reader: self.reader, node, key: self.key })?;
        let is_plain = matches!(node.value, Value::Number(_) | Value::Text(_) | Value::Word);
        if is_plain
            && self.reader.damage.borrow().is_at(node)
            && !matches!(node.value, Value::Number(x) if !x.is_finite())
        {
            self.refused = Some(kind);
        }
        Ok(Some(value))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// The fields of a struct; those without a value have a stand-in.
struct Entries<'a, I> {
    reader: &'a Reader<'a>,
    entries: I,
    value: Option<(&'a str, Option<&'a Node>)>,
}

impl<'a, I: Iterator<Item = (&'a str, Option<&'a Node>)>> de::MapAccess<'a> for Entries<'a, I> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        self.value = self.entries.next();
        self.value.map(|(key, _)| seed.deserialize(key.into_deserializer())).transpose()
    }

    fn next_value_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<T::Value, ReadError> {
        let (key, node) = self.value.take().ok_or(ReadError::Other("a value without a key".into(), String::new()))?;
        match node {
            Some(node) => seed.deserialize(Cursor { reader: self.reader, node, key }),
            None => seed.deserialize(StandIn),
        }
    }
}

/// `Name`, `Name(a, b)` or `Name(key: a)`
struct Variant<'a> {
    cursor: Cursor<'a>,
    /// The enum.
    owner: &'static str,
    /// The variant.
    name: &'a str,
}

impl<'a> Variant<'a> {
    fn content(&self) -> Content<'a> {
        self.cursor.content(self.name).unwrap_or(Content::Named(&[]))
    }

    fn refuse(&self, reason: String, help: String) -> StandIn {
        self.cursor.refuse(self.cursor.node.head(), reason, help)
    }
}

impl<'a> de::EnumAccess<'a> for Variant<'a> {
    type Error = ReadError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'a>>(self, seed: V) -> Result<(V::Value, Self), ReadError> {
        Ok((seed.deserialize(self.name.into_deserializer())?, self))
    }
}

impl<'a> de::VariantAccess<'a> for Variant<'a> {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        match self.content() {
            Content::Named([]) => {}
            _ => _ = self.refuse(format!("`{}` takes no values", self.name), format!("write `{}` alone", self.name)),
        }
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'a>>(self, seed: T) -> Result<T::Value, ReadError> {
        let cursor = self.cursor;
        match self.content() {
            Content::Values([node]) => seed.deserialize(Cursor { node, ..cursor }),
            Content::Named([field]) if NAMED_VALUE.contains(&cursor.text(field.key)) => {
                seed.deserialize(Cursor { node: &field.value, ..cursor })
            }
            _ => {
                let reason = format!("`{}(…)` takes one value", self.name);
                seed.deserialize(self.refuse(reason, format!("write `{}(value)`", self.name)))
            }
        }
    }

    fn tuple_variant<V: Visitor<'a>>(self, n: usize, visitor: V) -> Result<V::Value, ReadError> {
        let Cursor { reader, key, .. } = self.cursor;
        match self.content() {
            Content::Values(items) if items.len() == n => {
                self.cursor.placed(visitor.visit_seq(Items::new(reader, key, items)))
            }
            Content::Values(items) => {
                let found = items.len();
                let reason = format!("`{}(…)` takes {n} values, found {found}", self.name);
                self.refuse(reason, String::new()).deserialize_tuple(n, visitor)
            }
            Content::Named(_) => {
                let reason = format!("`{}(…)` takes {n} values without names", self.name);
                self.refuse(reason, String::new()).deserialize_tuple(n, visitor)
            }
        }
    }

    fn struct_variant<V: Visitor<'a>>(self, known: &'static [&'static str], visitor: V) -> Result<V::Value, ReadError> {
        match self.content() {
            Content::Named(fields) => self.cursor.named(self.name, known, fields, visitor),
            Content::Values(items) if POSITIONAL.contains(&self.owner) && items.len() <= known.len() => {
                let entries = known.iter().copied().zip(items);
                self.cursor.entries(self.name, known, visitor, entries, &[])
            }
            Content::Values(_) => {
                let list: Vec<_> = known.iter().map(|k| format!("`{k}`")).collect();
                let reason = format!("the values of `{}(…)` must be named", self.name);
                let help = format!("its fields are {}", list.join(", "));
                self.refuse(reason, help).deserialize_struct(self.owner, known, visitor)
            }
        }
    }
}
