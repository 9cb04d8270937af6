//! One value of the tree as a serde deserializer.

use serde::de::{self, Deserializer, Visitor};

use super::access::{Entries, Items, Variant};
use super::{ReadError, Reader, spelled};
use crate::scene::error::did_you_mean;
use crate::scene::placeholder::Placeholder;
use crate::scene::span::Span;
use crate::scene::syntax::{Field, Node, Value};

/// A value about to be read.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub reader: &'a Reader<'a>,
    pub node: &'a Node,
    /// Name of the field that has the value; may be empty.
    pub key: &'a str,
}

/// The content of the parentheses after a name.
pub(super) enum Content<'a> {
    Named(&'a [Field]),
    Values(&'a [Node]),
}

impl<'a> Cursor<'a> {
    pub fn text(&self, span: Span) -> &'a str {
        self.reader.sources.text(span)
    }

    /// Report that something else was expected here.
    pub fn mismatch(&self, expected: &str) -> Placeholder {
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

    /// Report a problem with the value; a placeholder takes its place.
    pub fn refuse(&self, span: Span, reason: String, help: String) -> Placeholder {
        self.reader.report(span, self.key, reason, help);
        self.reader.unreadable.borrow_mut().node(self.node);
        Placeholder
    }

    /// Give an error that has no place yet this one.
    pub fn placed<T>(&self, result: Result<T, ReadError>) -> Result<T, ReadError> {
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

    /// The content of the parentheses, if the name in front is this one or there is none; a word alone has empty ones.
    pub fn content(&self, name: &str) -> Option<Content<'a>> {
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
    pub fn named<V: Visitor<'a>>(
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

    pub fn entries<V: Visitor<'a>>(
        &self,
        owner: &str,
        known: &'static [&'static str],
        visitor: V,
        entries: impl Iterator<Item = (&'a str, &'a Node)>,
        meant: &[&str],
    ) -> Result<V::Value, ReadError> {
        let lacking: Vec<&str> = {
            let unreadable = self.reader.unreadable.borrow();
            known.iter().copied().filter(|field| unreadable.lacks(self.node, field)).collect()
        };
        let placeholders = lacking.into_iter().map(|field| (field, None));
        let entries = entries.map(|(key, node)| (key, Some(node))).chain(placeholders);
        match visitor.visit_map(Entries::new(self.reader, entries)) {
            Err(ReadError::Missing(field)) => {
                // a field missing because it is misspelt has been reported as such
                if !meant.contains(&field) {
                    self.missing(field, owner);
                }
                self.reader.unreadable.borrow_mut().field(self.node, field);
                Err(ReadError::Reported)
            }
            result => self.placed(result),
        }
    }

    /// A finite number; after a problem, a placeholder.
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
                self.placed(visitor.visit_map(Entries::new(self.reader, entries)))
            }
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
                // some structs may be given as a number instead, as their visitors say
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
                let placeholder = self.mismatch(&format!("one of {}", list.join(", ")));
                return placeholder.deserialize_enum(name, variants, visitor);
            }
        };
        let variant = self.text(word);
        if !variants.contains(&variant) {
            let what = match name {
                "Law" => "friction law".into(),
                "Kind" => "kind of joint".into(),
                "Control" => "step control".into(),
                _ => name.to_lowercase(),
            };
            let help = did_you_mean(variant, "there are", variants);
            let placeholder = self.refuse(word, format!("unknown {what} `{variant}`"), help);
            return placeholder.deserialize_enum(name, variants, visitor);
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
