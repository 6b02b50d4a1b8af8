//! The body of a request: `-d`, `-F`, `-T`.

use std::borrow::Cow;

use http_exchange::{Part, Payload, Piece};

use super::trouble;
use crate::commands::call::{Call, Failure};
use crate::files::text_of;

pub(super) fn read<'a>(call: &Call<'a>, operand: &str) -> Result<Cow<'a, [u8]>, Failure> {
    let read = call.read(operand);
    read.map_err(|error| trouble::of_input(operand, &text_of(&error)))
}

/// Returns what a data option adds, and whether `&` separates it from what is before.
pub(super) fn of_option(
    call: &Call,
    option: &str,
    value: &str,
) -> Result<(Vec<u8>, bool), Failure> {
    let file = value.strip_prefix('@');
    Ok(match (option, file) {
        ("data" | "data-ascii", Some(file)) => {
            let mut bytes = read(call, file)?.into_owned();
            bytes.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
            (bytes, true)
        }
        ("data-binary", Some(file)) => (read(call, file)?.into_owned(), true),
        ("json", Some(file)) => (read(call, file)?.into_owned(), false),
        ("data-urlencode" | "url-query", _) => (encoded_pair(call, value)?, true),
        ("json", None) => (value.as_bytes().to_vec(), false),
        _ => (value.as_bytes().to_vec(), true),
    })
}

/// Returns the pair of `content`, `=content`, `name=content`, `@file` or `name@file`.
fn encoded_pair(call: &Call, value: &str) -> Result<Vec<u8>, Failure> {
    let (name, content) = match value.find(['=', '@']) {
        None => ("", Cow::Borrowed(value.as_bytes())),
        Some(at) => {
            let (name, rest) = value.split_at(at);
            let content = match rest.strip_prefix('@') {
                Some(file) => read(call, file)?,
                None => Cow::Borrowed(rest.strip_prefix('=').unwrap_or(rest).as_bytes()),
            };
            (name, content)
        }
    };
    let mut pair = name.as_bytes().to_vec();
    if !name.is_empty() {
        pair.push(b'=');
    }
    pair.extend_from_slice(encoded(&content).as_bytes());
    Ok(pair)
}

/// Encodes bytes for a form.
fn encoded(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(*byte));
            }
            b' ' => text.push('+'),
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// Returns a file as it is read while it is sent; what is in memory is copied.
pub(super) fn file(call: &Call, operand: &str) -> Result<Piece, Failure> {
    let path = call.path(operand);
    let is_pipe = matches!(operand, "-" | "." | "/dev/stdin") || call.devices.contains_key(operand);
    let target = if is_pipe {
        None
    } else {
        call.files.target_on_disk(&path)
    };
    let Some(path) = target else {
        let operand = if operand == "." { "-" } else { operand };
        return Ok(Piece::Bytes(read(call, operand)?.into_owned()));
    };
    let fail = |reason: &str| trouble::of_input(operand, reason);
    let metadata = call
        .files
        .target_metadata(&path)
        .map_err(|error| fail(&text_of(&error)))?;
    if metadata.file_type.is_dir() {
        return Err(fail("Is a directory"));
    }
    let path = path
        .into_os_string()
        .into_string()
        .map_err(|_| fail("the name is not UTF-8"))?;
    Ok(Piece::File(path, metadata.size))
}

/// Returns the body of the options `form` and `form-string`, and its content type.
pub(super) fn form<'o>(
    call: &Call,
    options: impl Iterator<Item = (&'o str, &'o str)>,
) -> Result<(Payload, String), Failure> {
    let parts = options.map(|(option, value)| part(call, option == "form-string", value));
    let parts = parts.collect::<Result<Vec<_>, _>>()?;
    Ok(Payload::multipart(parts))
}

fn part(call: &Call, is_string: bool, text: &str) -> Result<Part, Failure> {
    let (name, content) = text.split_once('=').ok_or_else(|| {
        Failure::usage(format!(
            "Illegally formatted input field: -F NAME=CONTENT, not {text}"
        ))
    })?;
    let mut part = Part {
        name: name.to_owned(),
        filename: None,
        content_type: None,
        content: Piece::Bytes(Vec::new()),
    };
    if is_string {
        part.content = Piece::Bytes(content.as_bytes().to_vec());
        return Ok(part);
    }
    let source = content.split_at_checked(1);
    let (kind, rest) = match source {
        Some((kind @ ("@" | "<"), rest)) => (kind, rest),
        _ => ("", content),
    };
    let (value, rest) = word(rest);
    let mut rest = rest;
    while let Some(parameter) = rest.strip_prefix(';') {
        let (parameter, after) = word(parameter.trim_start());
        rest = after;
        match parameter.split_once('=') {
            Some(("type", kind)) => part.content_type = Some(kind.to_owned()),
            Some(("filename", name)) => part.filename = Some(unquoted(name)),
            // As in `type=text/plain; charset=utf-8`.
            Some(("charset", charset)) if part.content_type.is_some() => {
                let kind = part.content_type.take().unwrap_or_default();
                part.content_type = Some(format!("{kind}; charset={charset}"));
            }
            _ => {
                let text = format!(
                    "-F: `;{parameter}` is not implemented here; these are: type, filename"
                );
                return Err(Failure::usage(text));
            }
        }
    }
    match kind {
        "" => part.content = Piece::Bytes(value.into_bytes()),
        "<" => part.content = Piece::Bytes(read(call, &value)?.into_owned()),
        _ => {
            part.content = file(call, &value)?;
            let name = value.rsplit('/').next().unwrap_or_default();
            part.filename.get_or_insert_with(|| name.to_owned());
            part.content_type
                .get_or_insert_with(|| content_type(name).to_owned());
        }
    }
    let is_one_line = |kind: &String| !kind.contains(char::is_control);
    if !part.content_type.as_ref().is_none_or(is_one_line) {
        return Err(Failure::usage(format!(
            "-F: the type of the part {name} is not one line"
        )));
    }
    Ok(part)
}

/// Splits a text before `;`, which may stand between quotation marks.
fn word(text: &str) -> (String, &str) {
    let mut is_quoted = false;
    let mut is_escaped = false;
    let end = text.char_indices().find_map(|(at, char)| {
        let ends = char == ';' && !is_quoted;
        is_quoted ^= char == '"' && !is_escaped;
        is_escaped = char == '\\' && !is_escaped;
        ends.then_some(at)
    });
    let (word, rest) = text.split_at(end.unwrap_or(text.len()));
    (unquoted(word), rest)
}

fn unquoted(word: &str) -> String {
    let inner = word
        .strip_prefix('"')
        .and_then(|word| word.strip_suffix('"'));
    match inner {
        Some(inner) => inner.replace("\\\"", "\"").replace("\\\\", "\\"),
        None => word.to_owned(),
    }
}

/// The types that curl knows.
fn content_type(name: &str) -> &'static str {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension.to_ascii_lowercase().as_str() {
        "gif" => "image/gif",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain",
        "htm" | "html" => "text/html",
        "pdf" => "application/pdf",
        "xml" => "application/xml",
        _ => "application/octet-stream",
    }
}
