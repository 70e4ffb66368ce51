//! The JSON form of a dump: its fields, and numbers that JSON has no notation for.

use serde::de::{self, Deserializer, Visitor};
use serde::ser::{SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};

use super::Header;
use crate::TensorName;

#[derive(Deserialize)]
pub(super) struct FormatStamp {
    #[serde(default)]
    pub(super) format: String,
    #[serde(default)]
    pub(super) version: u32,
}

#[derive(Serialize)]
pub(super) struct DumpFile<T> {
    pub(super) format: String,
    pub(super) version: u32,
    #[serde(flatten)]
    pub(super) header: Header,
    pub(super) tensors: T,
}

#[derive(Deserialize)]
pub(super) struct Tensors {
    pub(super) tensors: Vec<TensorFile<Numbers>>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct TensorFile<T> {
    pub(super) name: TensorName,
    pub(super) shape: Vec<usize>,
    pub(super) data: T,
}

/// The numbers of a tensor, for writing: NaN and the infinities are strings, and an `f32` has the
/// fewest digits that are read back as the same `f32`.
pub(super) struct NumbersOf<'a> {
    pub(super) data: &'a [f64],
    pub(super) single: bool,
}

impl Serialize for NumbersOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(Some(self.data.len()))?;
        for &value in self.data {
            if value.is_nan() {
                sequence.serialize_element("NaN")?;
            } else if value.is_infinite() {
                sequence.serialize_element(if value > 0.0 { "Infinity" } else { "-Infinity" })?;
            } else if self.single {
                sequence.serialize_element(&(value as f32))?;
            } else {
                sequence.serialize_element(&value)?;
            }
        }
        sequence.end()
    }
}

/// The numbers of a tensor, as read from JSON numbers, and from strings for NaN and the infinities.
pub(super) struct Numbers(pub(super) Vec<f64>);

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let numbers = Vec::<Number>::deserialize(deserializer)?;
        Ok(Self(numbers.into_iter().map(|Number(value)| value).collect()))
    }
}

struct Number(f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor;

        impl Visitor<'_> for NumberVisitor {
            type Value = Number;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number, \"NaN\", \"Infinity\" or \"-Infinity\"")
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Number, E> {
                Ok(Number(value))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Number, E> {
                Ok(Number(value as f64))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Number, E> {
                match text {
                    "NaN" => Ok(Number(f64::NAN)),
                    "Infinity" => Ok(Number(f64::INFINITY)),
                    "-Infinity" => Ok(Number(f64::NEG_INFINITY)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
        }

        deserializer.deserialize_any(NumberVisitor)
    }
}
