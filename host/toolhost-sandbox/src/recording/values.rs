//! Values of the component model as JSON, as [`HostCall`](toolhost_contract::HostCall) describes them.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "of the many types of values, a function treats all but a few alike"
)]

use std::borrow::Cow;
use std::collections::BTreeMap;

use data_encoding::BASE64;
use serde_json::{Map, Number, Value, json};
use toolhost_contract::Redactor;
use toolhost_contract::text::needs_escape;
use wasmtime::component::{ResourceAny, ResourceType, Type, Val};

use crate::component::facts::sha256;

/// Shortest list of bytes that is kept by its digest, in bytes.
const BLOB_MIN: usize = 256;

/// Bytes that a value counts beside its text.
const VALUE_BYTES: u64 = 32;

/// Bytes that the name of a field or a case counts beside its text.
const NAME_BYTES: u64 = 8;

/// Writes values as JSON.
pub(super) struct Encoder<'a> {
    pub(super) redactor: &'a Redactor,
    /// The lists of bytes that were written by their digest.
    pub(super) blobs: BTreeMap<String, String>,
    /// Numbers of the handles in the values, in order.
    pub(super) handles: std::vec::IntoIter<u32>,
    /// At least as many bytes as the JSON takes in a file, without the blobs.
    pub(super) bytes: u64,
}

impl<'a> Encoder<'a> {
    pub(super) fn new(redactor: &'a Redactor, handles: Vec<u32>) -> Self {
        Self {
            redactor,
            blobs: BTreeMap::new(),
            handles: handles.into_iter(),
            bytes: 0,
        }
    }

    /// Writes a value.
    pub(super) fn value(&mut self, value: &Val) -> Value {
        self.bytes += VALUE_BYTES;
        match value {
            Val::Bool(value) => json!(value),
            Val::S8(value) => json!(value),
            Val::U8(value) => json!(value),
            Val::S16(value) => json!(value),
            Val::U16(value) => json!(value),
            Val::S32(value) => json!(value),
            Val::U32(value) => json!(value),
            Val::S64(value) => json!(value),
            Val::U64(value) => json!(value),
            Val::Float32(value) => json!({"bits": format!("{:08x}", value.to_bits())}),
            Val::Float64(value) => json!({"bits": format!("{:016x}", value.to_bits())}),
            Val::Char(value) => self.text(&value.to_string()),
            Val::String(text) => self.text(&self.redactor.same_length(text)),
            Val::Enum(name) => self.text(name),
            Val::List(items) => self.list(items),
            Val::Tuple(items) => items.iter().map(|item| self.value(item)).collect(),
            Val::Record(fields) => {
                let field = |(name, value): &(String, Val)| {
                    self.bytes += NAME_BYTES + name.len() as u64;
                    (name.clone(), self.value(value))
                };
                Value::Object(fields.iter().map(field).collect())
            }
            Val::Flags(names) => {
                self.bytes += NAME_BYTES * names.len() as u64;
                names.iter().map(|name| self.text(name)).collect()
            }
            Val::Variant(name, None) => self.text(name),
            Val::Variant(name, Some(payload)) => {
                self.bytes += NAME_BYTES + name.len() as u64;
                one(name, self.value(payload))
            }
            Val::Option(None) => Value::Null,
            Val::Option(Some(value)) => one("some", self.value(value)),
            Val::Result(Ok(value)) => one("ok", self.optional(value.as_deref())),
            Val::Result(Err(value)) => one("err", self.optional(value.as_deref())),
            Val::Resource(_) => json!({"handle": self.handles.next()}),
            // `Imports` refuses functions with them.
            Val::Map(_)
            | Val::Future(_)
            | Val::Stream(_)
            | Val::ErrorContext(_)
            | Val::FixedLengthList(_) => Value::Null,
        }
    }

    fn text(&mut self, text: &str) -> Value {
        self.bytes += text.chars().map(written_bytes).sum::<u64>();
        text.into()
    }

    fn optional(&mut self, value: Option<&Val>) -> Value {
        value.map_or(Value::Null, |value| self.value(value))
    }

    fn list(&mut self, items: &[Val]) -> Value {
        let Some(bytes) = bytes_of(items) else {
            return items.iter().map(|item| self.value(item)).collect();
        };
        let bytes = match self.redactor.same_length_bytes(&bytes) {
            Cow::Owned(redacted) => redacted,
            Cow::Borrowed(_) => bytes,
        };
        let text = BASE64.encode(&bytes);
        if bytes.len() < BLOB_MIN {
            self.bytes += text.len() as u64;
            return one("bytes", text.into());
        }
        let digest = sha256(&bytes);
        self.bytes += digest.len() as u64;
        self.blobs.insert(digest.clone(), text);
        one("blob", digest.into())
    }
}

/// Returns how many bytes a character takes in a file, where some are escaped.
fn written_bytes(char: char) -> u64 {
    match char {
        '"' | '\\' => 2,
        char if needs_escape(char) => 6 * char.len_utf16() as u64,
        char => char.len_utf8() as u64,
    }
}

/// Returns the items of a list of bytes. An empty list is none: it is an empty array in any case.
fn bytes_of(items: &[Val]) -> Option<Vec<u8>> {
    if !matches!(items.first(), Some(Val::U8(_))) {
        return None;
    }
    let byte = |item: &Val| match item {
        Val::U8(byte) => Some(*byte),
        _ => None,
    };
    items.iter().map(byte).collect()
}

fn one(name: &str, value: Value) -> Value {
    let mut object = Map::new();
    object.insert(name.to_owned(), value);
    Value::Object(object)
}

/// Returns a handle as JSON.
pub(super) fn dropped(handle: u32) -> Value {
    json!({"handle": handle})
}

/// About how many bytes of text and lists a guest passed.
pub(super) fn passed_bytes(value: &Val) -> usize {
    let sum = |items: &[Val]| items.iter().map(passed_bytes).sum();
    match value {
        Val::String(text) => text.len(),
        Val::List(items) | Val::Tuple(items) => sum(items),
        Val::Record(fields) => fields.iter().map(|(_, value)| passed_bytes(value)).sum(),
        Val::Variant(_, Some(value))
        | Val::Option(Some(value))
        | Val::Result(Ok(Some(value)) | Err(Some(value))) => passed_bytes(value),
        _ => 1,
    }
}

/// Calls a function with each handle in a value, in the order in which they are written, and puts what it
/// returns in its place.
pub(super) fn replace_handles(
    value: &mut Val,
    replace: &mut dyn FnMut(ResourceAny) -> wasmtime::Result<ResourceAny>,
) -> wasmtime::Result<()> {
    match value {
        Val::Resource(handle) => *handle = replace(*handle)?,
        // Lists of bytes are long.
        Val::List(items) if matches!(items.first(), Some(Val::U8(_))) => {}
        Val::List(items) | Val::Tuple(items) => {
            for item in items {
                replace_handles(item, replace)?;
            }
        }
        Val::Record(fields) => {
            for (_, item) in fields {
                replace_handles(item, replace)?;
            }
        }
        Val::Variant(_, Some(value))
        | Val::Option(Some(value))
        | Val::Result(Ok(Some(value)) | Err(Some(value))) => replace_handles(value, replace)?,
        _ => {}
    }
    Ok(())
}

/// Makes a handle with a number.
pub(super) type MakeHandle<'a> =
    &'a mut dyn FnMut(u32, &ResourceType) -> Result<ResourceAny, String>;

/// Reads a value of a type.
///
/// # Errors
/// What is wrong with the value.
pub(super) fn decode(
    value: &Value,
    ty: &Type,
    blobs: &BTreeMap<String, String>,
    handle: MakeHandle<'_>,
) -> Result<Val, String> {
    let mut decoder = Decoder { blobs, handle };
    decoder.value(value, ty)
}

struct Decoder<'a> {
    blobs: &'a BTreeMap<String, String>,
    handle: MakeHandle<'a>,
}

impl Decoder<'_> {
    fn value(&mut self, value: &Value, ty: &Type) -> Result<Val, String> {
        Ok(match ty {
            Type::Bool => Val::Bool(value.as_bool().ok_or_else(|| not("a boolean", value))?),
            Type::S8 => Val::S8(integer(value)?),
            Type::U8 => Val::U8(integer(value)?),
            Type::S16 => Val::S16(integer(value)?),
            Type::U16 => Val::U16(integer(value)?),
            Type::S32 => Val::S32(integer(value)?),
            Type::U32 => Val::U32(integer(value)?),
            Type::S64 => Val::S64(integer(value)?),
            Type::U64 => Val::U64(integer(value)?),
            Type::Float32 => {
                let bits = u32::try_from(bits(value)?).map_err(|_| not("32 bits", value))?;
                Val::Float32(f32::from_bits(bits))
            }
            Type::Float64 => Val::Float64(f64::from_bits(bits(value)?)),
            Type::Char => {
                let text = text(value)?;
                let mut chars = text.chars();
                match (chars.next(), chars.next()) {
                    (Some(one), None) => Val::Char(one),
                    _ => return Err(not("one character", value)),
                }
            }
            Type::String => Val::String(text(value)?.to_owned()),
            Type::Enum(ty) => Val::Enum(known_name(text(value)?, ty.names())?),
            Type::Flags(ty) => {
                let name = |name: &Value| known_name(text(name)?, ty.names());
                Val::Flags(array(value)?.iter().map(name).collect::<Result<_, _>>()?)
            }
            Type::List(list) => self.list(value, &list.ty())?,
            Type::Tuple(tuple) => {
                let (items, types) = (array(value)?, tuple.types());
                if items.len() != types.len() {
                    return Err(not(&format!("{} values", types.len()), value));
                }
                let items = items.iter().zip(types);
                Val::Tuple(
                    items
                        .map(|(item, ty)| self.value(item, &ty))
                        .collect::<Result<_, _>>()?,
                )
            }
            Type::Record(record) => {
                let object = value.as_object().ok_or_else(|| not("an object", value))?;
                let mut fields = Vec::new();
                for field in record.fields() {
                    let name = field.name;
                    let item = object
                        .get(name)
                        .ok_or_else(|| format!("has no field `{name}`"))?;
                    let item = self.value(item, &field.ty);
                    fields.push((
                        name.to_owned(),
                        item.map_err(|error| format!("{name}: {error}"))?,
                    ));
                }
                Val::Record(fields)
            }
            Type::Variant(variant) => {
                let (name, payload) = match value {
                    Value::String(name) => (name.as_str(), None),
                    _ => single(value).map(|(name, payload)| (name, Some(payload)))?,
                };
                let case = variant.cases().find(|case| case.name == name);
                let case = case.ok_or_else(|| format!("has no case `{name}`"))?;
                let payload = match (payload, case.ty) {
                    (None, None) => None,
                    (Some(payload), Some(ty)) => Some(Box::new(self.value(payload, &ty)?)),
                    (None, Some(_)) | (Some(_), None) => return Err(not("the case", value)),
                };
                Val::Variant(name.to_owned(), payload)
            }
            Type::Option(_) if value.is_null() => Val::Option(None),
            Type::Option(option) => match single(value)? {
                ("some", value) => Val::Option(Some(Box::new(self.value(value, &option.ty())?))),
                _ => return Err(not("an option", value)),
            },
            Type::Result(result) => match single(value)? {
                ("ok", value) => Val::Result(Ok(self.optional(value, result.ok())?)),
                ("err", value) => Val::Result(Err(self.optional(value, result.err())?)),
                _ => return Err(not("a result", value)),
            },
            Type::Own(ty) | Type::Borrow(ty) => match single(value)? {
                ("handle", number) => Val::Resource((self.handle)(integer(number)?, ty)?),
                _ => return Err(not("a handle", value)),
            },
            Type::Map(_)
            | Type::Future(_)
            | Type::Stream(_)
            | Type::ErrorContext
            | Type::FixedLengthList(_) => return Err("has a type that is not known".to_owned()),
        })
    }

    fn optional(&mut self, value: &Value, ty: Option<Type>) -> Result<Option<Box<Val>>, String> {
        match ty {
            Some(ty) => Ok(Some(Box::new(self.value(value, &ty)?))),
            None if value.is_null() => Ok(None),
            None => Err(not("null", value)),
        }
    }

    fn list(&mut self, value: &Value, ty: &Type) -> Result<Val, String> {
        if let Value::Array(items) = value {
            let items = items.iter().map(|item| self.value(item, ty));
            return Ok(Val::List(items.collect::<Result<_, _>>()?));
        }
        let (base64, digest) = match single(value).map_err(|_| not("a list", value))? {
            ("bytes", base64) => (text(base64)?, None),
            ("blob", digest) => {
                let digest = text(digest)?;
                let found = self.blobs.get(digest);
                let found = found
                    .ok_or_else(|| format!("refers to the blob {digest}, which is missing"))?;
                (found.as_str(), Some(digest))
            }
            _ => return Err(not("a list", value)),
        };
        let bytes = BASE64
            .decode(base64.as_bytes())
            .map_err(|error| format!("is not base64: {error}"))?;
        if let Some(digest) = digest.filter(|digest| *digest != sha256(&bytes)) {
            return Err(format!(
                "refers to the blob {digest}, whose bytes have another digest"
            ));
        }
        if *ty != Type::U8 {
            return Err(not("a list of this type", value));
        }
        Ok(Val::List(bytes.into_iter().map(Val::U8).collect()))
    }
}

fn not(what: &str, value: &Value) -> String {
    let mut found = value.to_string();
    found.truncate(found.floor_char_boundary(80));
    format!("is {found}, expected {what}")
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| not("text", value))
}

fn array(value: &Value) -> Result<&Vec<Value>, String> {
    value.as_array().ok_or_else(|| not("an array", value))
}

fn integer<T: TryFrom<i128>>(value: &Value) -> Result<T, String> {
    let number = value.as_number().and_then(Number::as_i128);
    let number = number.and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| not("an integer of this type", value))
}

fn bits(value: &Value) -> Result<u64, String> {
    match single(value)? {
        ("bits", hex) => u64::from_str_radix(text(hex)?, 16).map_err(|_| not("hexadecimal", hex)),
        _ => Err(not("bits", value)),
    }
}

fn known_name<'n>(name: &str, mut names: impl Iterator<Item = &'n str>) -> Result<String, String> {
    let found = names.find(|known| *known == name);
    found.map_or_else(
        || Err(format!("has no name `{name}`")),
        |name| Ok(name.to_owned()),
    )
}

/// Returns the only member of an object.
fn single(value: &Value) -> Result<(&str, &Value), String> {
    let mut members = value.as_object().into_iter().flatten();
    match (members.next(), members.next()) {
        (Some((name, value)), None) => Ok((name, value)),
        _ => Err(not("an object with one member", value)),
    }
}

/// Adds the types of the handles in a value, in the order in which they are written.
pub(super) fn handle_types(value: &Val, ty: &Type, types: &mut Vec<ResourceType>) {
    match (value, ty) {
        (Val::Resource(_), Type::Own(ty) | Type::Borrow(ty)) => types.push(*ty),
        (Val::List(items), Type::List(_)) if matches!(items.first(), Some(Val::U8(_))) => {}
        (Val::List(items), Type::List(list)) => {
            let ty = list.ty();
            items.iter().for_each(|item| handle_types(item, &ty, types));
        }
        (Val::Tuple(items), Type::Tuple(tuple)) => {
            for (item, ty) in items.iter().zip(tuple.types()) {
                handle_types(item, &ty, types);
            }
        }
        (Val::Record(fields), Type::Record(record)) => {
            for ((_, item), field) in fields.iter().zip(record.fields()) {
                handle_types(item, &field.ty, types);
            }
        }
        (Val::Variant(name, Some(item)), Type::Variant(variant)) => {
            let case = variant.cases().find(|case| case.name == name);
            if let Some(ty) = case.and_then(|case| case.ty) {
                handle_types(item, &ty, types);
            }
        }
        (Val::Option(Some(item)), Type::Option(option)) => handle_types(item, &option.ty(), types),
        (Val::Result(result), Type::Result(ty)) => {
            let (item, ty) = match result {
                Ok(item) => (item, ty.ok()),
                Err(item) => (item, ty.err()),
            };
            if let (Some(item), Some(ty)) = (item, ty) {
                handle_types(item, &ty, types);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use toolhost_contract::text::escape_json;

    use super::*;

    #[test]
    fn a_value_takes_no_more_bytes_in_a_file_than_are_counted() {
        let named = |value: Val| (String::from("\u{e000}long name"), value);
        let values = [
            Val::String("\0\u{1b}\u{200e}\u{e0001}\"\\\n".repeat(100)),
            Val::String("\u{4e00}a".repeat(100)),
            Val::List(vec![Val::S64(i64::MIN); 100]),
            Val::List(vec![Val::Float64(f64::NAN); 100]),
            Val::List(vec![Val::Char('\u{e0001}'); 100]),
            Val::List(vec![Val::U8(255); 100]),
            Val::List(vec![Val::U8(255); 1_000]),
            Val::List(vec![Val::Option(Some(Box::new(Val::Option(None)))); 100]),
            Val::List(vec![Val::Result(Err(None)); 100]),
            Val::Record(vec![named(Val::Bool(false)); 100]),
            Val::Variant("case".repeat(100), Some(Box::new(Val::Bool(true)))),
            Val::Flags(vec!["flag".to_owned(); 100]),
        ];
        let redactor = Redactor::default();
        for value in values {
            let mut encoder = Encoder::new(&redactor, Vec::new());
            let json = encoder.value(&value).to_string();
            let written = escape_json(&json).len() as u64;
            assert!(written <= encoder.bytes, "{} {json}", encoder.bytes);
        }
    }
}
