//! A placeholder takes the place of a value that could not be read, so that reading can go on.
//!
//! Numbers are 0, whole ones 1, texts and lists empty, options absent; the fields of a struct are placeholders, and an
//! enum is its first variant. [`Unreadable`](super::unreadable::Unreadable) has the places of placeholders, and the
//! checks of meaning pass over them.

use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};

use super::read::ReadError;

/// Reads as a value of any type.
#[derive(Clone, Copy)]
pub(crate) struct Placeholder;

/// Fields or elements, all of them placeholders.
struct Several<I>(I);

impl<'de> Deserializer<'de> for Placeholder {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, ReadError> {
        Err(ReadError::Reported)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_bool(false)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_u64(1)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_f64(0.0)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_str("")
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_str("")
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_none()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_seq(Several(0..0))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, n: usize, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_seq(Several(0..n))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_map(Several(known.iter()))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let first = variants.first().ok_or(ReadError::Reported)?;
        visitor.visit_enum(FirstVariant(first))
    }

    serde::forward_to_deserialize_any! {
        <W: Visitor<'de>> i8 i16 i32 i64 i128 u8 u16 u128 f32 char bytes byte_buf unit unit_struct tuple_struct map
        identifier ignored_any
    }
}

impl<'de> de::SeqAccess<'de> for Several<std::ops::Range<usize>> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        self.0.next().map(|_| seed.deserialize(Placeholder)).transpose()
    }
}

impl<'de> de::MapAccess<'de> for Several<std::slice::Iter<'static, &'static str>> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        self.0.next().map(|key| seed.deserialize((*key).into_deserializer())).transpose()
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, ReadError> {
        seed.deserialize(Placeholder)
    }
}

struct FirstVariant(&'static str);

impl<'de> de::EnumAccess<'de> for FirstVariant {
    type Error = ReadError;
    type Variant = Placeholder;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Placeholder), ReadError> {
        Ok((seed.deserialize(self.0.into_deserializer())?, Placeholder))
    }
}

impl<'de> de::VariantAccess<'de> for Placeholder {
    type Error = ReadError;

    fn unit_variant(self) -> Result<(), ReadError> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ReadError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, n: usize, visitor: V) -> Result<V::Value, ReadError> {
        self.deserialize_tuple(n, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_struct("", known, visitor)
    }
}
