//! The parts of a value as serde reads them: elements, fields, variants.

use std::mem::{Discriminant, discriminant};

use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};

use super::cursor::{Content, Cursor};
use super::{ReadError, Reader};
use crate::scene::placeholder::Placeholder;
use crate::scene::syntax::{Node, Value};

/// In these, values may be given in the order of the fields instead of by name: `Ramp(2.0, 0.5)`.
const POSITIONAL: [&str; 4] = ["Signal", "Load", "Drive", "Control"];

/// Names that may stand before the only value of a variant: `Constant(c: 1.0)`.
const NAMED_VALUE: [&str; 4] = ["c", "n", "signal", "value"];

/// The elements of a list or of a tuple.
pub(super) struct Items<'a> {
    reader: &'a Reader<'a>,
    key: &'a str,
    items: std::slice::Iter<'a, Node>,
    /// The kind of an element that could not be read: others of this kind are not reported again.
    refused: Option<Discriminant<Value>>,
}

impl<'a> Items<'a> {
    pub fn new(reader: &'a Reader<'a>, key: &'a str, items: &'a [Node]) -> Self {
        Self { reader, key, items: items.iter(), refused: None }
    }
}

impl<'a> de::SeqAccess<'a> for Items<'a> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'a>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        let Some(node) = self.items.next() else { return Ok(None) };
        let kind = discriminant(&node.value);
        if self.refused == Some(kind) {
            self.reader.unreadable.borrow_mut().node(node);
            return seed.deserialize(Placeholder).map(Some);
        }
        let value = seed.deserialize(Cursor { reader: self.reader, node, key: self.key })?;
        let is_plain = matches!(node.value, Value::Number(_) | Value::Text(_) | Value::Word);
        if is_plain
            && self.reader.unreadable.borrow().is_at(node)
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

/// The fields of a struct; a field without a value has a placeholder.
pub(super) struct Entries<'a, I> {
    reader: &'a Reader<'a>,
    entries: I,
    value: Option<(&'a str, Option<&'a Node>)>,
}

impl<'a, I> Entries<'a, I> {
    pub fn new(reader: &'a Reader<'a>, entries: I) -> Self {
        Self { reader, entries, value: None }
    }
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
            None => seed.deserialize(Placeholder),
        }
    }
}

/// `Name`, `Name(a, b)` or `Name(key: a)`
pub(super) struct Variant<'a> {
    pub cursor: Cursor<'a>,
    /// The enum.
    pub owner: &'static str,
    /// The variant.
    pub name: &'a str,
}

impl<'a> Variant<'a> {
    fn content(&self) -> Content<'a> {
        self.cursor.content(self.name).unwrap_or(Content::Named(&[]))
    }

    fn refuse(&self, reason: String, help: String) -> Placeholder {
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
