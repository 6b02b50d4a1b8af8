//! `@csv`, `@sh` and the other formats.

use super::arithmetic::failure;
use super::arrays::to_text;
use crate::fault::error;
use crate::json;
use crate::value::Val;

pub(super) fn format(input: Val, name: &Val) -> Result<Val, Val> {
    let Val::Str(name) = name else {
        return Err(failure(name, "is not a valid format"));
    };
    match &**name {
        "text" => Ok(to_text(input)),
        "json" => Ok(json::print(&input).into()),
        "csv" => row(&input, ",", "cannot be csv-formatted, only array", |text| {
            format!("\"{}\"", text.replace('"', "\"\""))
        }),
        "tsv" => row(
            &input,
            "\t",
            "cannot be tsv-formatted, only array",
            |text| {
                escape(text, |char| match char {
                    '\t' => Some("\\t"),
                    '\r' => Some("\\r"),
                    '\n' => Some("\\n"),
                    '\\' => Some("\\\\"),
                    _ => None,
                })
            },
        ),
        "html" => Ok(escaped(input, |char| match char {
            '&' => Some("&amp;"),
            '<' => Some("&lt;"),
            '>' => Some("&gt;"),
            '\'' => Some("&apos;"),
            '"' => Some("&quot;"),
            _ => None,
        })),
        "uri" => Ok(uri(&text(input)).into()),
        "urid" => decode_uri(&input),
        "sh" => shell(&input),
        "base64" => Ok(encode(text(input).as_bytes(), BASE64, 6).into()),
        "base64d" => decode_base64(&input),
        "base32" => Ok(encode(text(input).as_bytes(), BASE32, 5).into()),
        "base32d" => decode_base32(&input),
        name => Err(error(format!("{name} is not a valid format"))),
    }
}

fn text(input: Val) -> String {
    to_text(input).text().unwrap_or_default().to_owned()
}

fn escape(text: &str, replacement: impl Fn(char) -> Option<&'static str>) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match replacement(char) {
            Some(replacement) => escaped.push_str(replacement),
            None => escaped.push(char),
        }
    }
    escaped
}

fn escaped(input: Val, replacement: impl Fn(char) -> Option<&'static str>) -> Val {
    escape(&text(input), replacement).into()
}

fn row(
    input: &Val,
    separator: &str,
    refusal: &str,
    quote: impl Fn(&str) -> String,
) -> Result<Val, Val> {
    let Val::Arr(items) = input else {
        return Err(failure(input, refusal));
    };
    let mut cells = Vec::with_capacity(items.len());
    for item in items.iter() {
        cells.push(match item {
            Val::Null => String::new(),
            Val::Num(number) if number.is_nan() => String::new(),
            Val::Bool(_) | Val::Num(_) | Val::Lit(_) => json::print(item),
            Val::Str(text) => quote(text),
            Val::Arr(_) | Val::Obj(_) => return Err(failure(item, "is not valid in a csv row")),
        });
    }
    Ok(cells.join(separator).into())
}

fn shell(input: &Val) -> Result<Val, Val> {
    let word = |value: &Val| match value {
        Val::Str(text) => Ok(format!("'{}'", text.replace('\'', "'\\''"))),
        Val::Arr(_) | Val::Obj(_) => Err(failure(value, "can not be escaped for shell")),
        other => Ok(json::print(other)),
    };
    let words = match input {
        Val::Arr(items) => items.iter().map(word).collect::<Result<Vec<_>, _>>()?,
        other => vec![word(other)?],
    };
    Ok(words.join(" ").into())
}

fn uri(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

fn decode_uri(input: &Val) -> Result<Val, Val> {
    let text = text(input.clone());
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let hex = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let Some(byte) = hex.and_then(|digits| u8::from_str_radix(digits, 16).ok()) else {
            return Err(failure(input, "is not a valid uri encoding"));
        };
        bytes.push(byte);
        rest = after.get(2..).unwrap_or_default();
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned().into())
}

const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE32: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Encodes groups of bits: 4 letters of 6 bits, or 8 of 5.
fn encode(bytes: &[u8], letters: &[u8], bits: u32) -> String {
    let group = if bits == 6 { 4 } else { 8 };
    let mut encoded = String::with_capacity(bytes.len() * 2);
    let (mut buffer, mut held) = (0_u32, 0);
    let mut push = |value: u32| {
        encoded.push(char::from(
            letters.get(value as usize).copied().unwrap_or(b'='),
        ));
    };
    for byte in bytes {
        buffer = (buffer << 8) | u32::from(*byte);
        held += 8;
        while held >= bits {
            held -= bits;
            push((buffer >> held) & ((1 << bits) - 1));
        }
        buffer &= (1 << held) - 1;
    }
    if held > 0 {
        push((buffer << (bits - held)) & ((1 << bits) - 1));
    }
    while encoded.len() % group != 0 {
        encoded.push('=');
    }
    encoded
}

/// Returns the bytes, and the number of bits that are left over.
fn decode(text: &str, letters: &[u8], bits: u32) -> Option<(Vec<u8>, u32)> {
    let mut bytes = Vec::with_capacity(text.len());
    let (mut buffer, mut held) = (0_u32, 0);
    for letter in text.bytes().take_while(|letter| *letter != b'=') {
        let value = letters.iter().position(|known| *known == letter)?;
        buffer = (buffer << bits) | value as u32;
        held += bits;
        if held >= 8 {
            held -= 8;
            bytes.push((buffer >> held) as u8);
            buffer &= (1 << held) - 1;
        }
    }
    Some((bytes, held))
}

fn decode_base64(input: &Val) -> Result<Val, Val> {
    let text = Val::from(text(input.clone()));
    match decode(text.text().unwrap_or_default(), BASE64, 6) {
        None => Err(failure(&text, "is not valid base64 data")),
        Some((_, 6)) => Err(failure(&text, "trailing base64 byte found")),
        Some((bytes, _)) => Ok(String::from_utf8_lossy(&bytes).into_owned().into()),
    }
}

fn decode_base32(input: &Val) -> Result<Val, Val> {
    let text = Val::from(text(input.clone()));
    match decode(text.text().unwrap_or_default(), BASE32, 5) {
        Some((bytes, held)) if held < 5 => Ok(String::from_utf8_lossy(&bytes).into_owned().into()),
        _ => Err(failure(&text, "is not valid base32 data")),
    }
}
