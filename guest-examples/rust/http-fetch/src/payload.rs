//! The body of a request, as the input describes it.

use std::fs;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_exchange::{Payload, Piece};
use toolhost_guest::ToolError;
use url::form_urlencoded;

use crate::input::{BodyInput, Part};
use crate::{fault, media_type};

pub(crate) struct RequestBody {
    pub(crate) payload: Payload,
    pub(crate) content_type: ContentType,
}

pub(crate) enum ContentType {
    /// Unless the input names another.
    Default(&'static str),
    /// Whatever the input names: the boundary belongs to the body.
    Multipart(String),
}

impl RequestBody {
    /// Returns the body that the input describes.
    ///
    /// # Errors
    /// There are two bodies, a file cannot be used, or the text is not base64.
    pub(crate) fn new(input: BodyInput) -> Result<Option<Self>, ToolError> {
        let BodyInput {
            json,
            form,
            multipart,
            body,
            base64,
            body_path,
        } = input;
        if base64 && body.is_none() {
            return Err(fault::input(
                "`base64` belongs to `body`",
                "pass the base64 as `body`",
            ));
        }
        let mut bodies = Vec::new();
        if let Some(json) = json {
            bodies.push(Self::bytes(json.to_string(), "application/json"));
        }
        if let Some(form) = form {
            let mut text = form_urlencoded::Serializer::new(String::new());
            text.extend_pairs(form.pairs());
            let kind = "application/x-www-form-urlencoded";
            bodies.push(Self::bytes(text.finish(), kind));
        }
        if let Some(parts) = multipart {
            bodies.push(Self::multipart(parts)?);
        }
        match body {
            Some(text) if base64 => {
                let bytes = STANDARD.decode(text).map_err(|reason| {
                    fault::input(
                        &format!("`body` is not base64: {reason}"),
                        "encode the bytes in the standard alphabet, with padding",
                    )
                })?;
                bodies.push(Self::bytes(bytes, "application/octet-stream"));
            }
            Some(text) => {
                let kind = text_type(&text);
                bodies.push(Self::bytes(text, kind));
            }
            None => {}
        }
        if let Some(path) = body_path {
            let kind = media_type::of_file(&path);
            bodies.push(Self {
                payload: Payload {
                    pieces: vec![file(path)?],
                },
                content_type: ContentType::Default(kind),
            });
        }
        if bodies.len() > 1 {
            return Err(fault::input(
                "more than one body",
                "pass one of `json`, `form`, `multipart`, `body` and `bodyPath`",
            ));
        }
        Ok(bodies.pop())
    }

    fn bytes(bytes: impl Into<Vec<u8>>, kind: &'static str) -> Self {
        Self {
            payload: Payload::bytes(bytes),
            content_type: ContentType::Default(kind),
        }
    }

    fn multipart(parts: Vec<Part>) -> Result<Self, ToolError> {
        let parts = parts.into_iter().map(part).collect::<Result<Vec<_>, _>>()?;
        let (payload, kind) = Payload::multipart(parts);
        Ok(Self {
            payload,
            content_type: ContentType::Multipart(kind),
        })
    }
}

fn part(part: Part) -> Result<http_exchange::Part, ToolError> {
    let (content, filename, kind) = match (part.value, part.path) {
        (Some(value), None) => (Piece::Bytes(value.into()), part.filename, None),
        (None, Some(path)) => {
            let name = path.rsplit('/').next().unwrap_or_default().to_owned();
            let kind = media_type::of_file(&path).to_owned();
            let filename = part.filename.unwrap_or(name);
            (file(path)?, Some(filename), Some(kind))
        }
        (None, None) | (Some(_), Some(_)) => {
            return Err(fault::input(
                &format!("the part `{}` needs one content", part.name),
                "give each part a `value` or a `path`",
            ));
        }
    };
    let content_type = part.content_type.or(kind);
    let is_one_line = |kind: &String| !kind.contains(char::is_control);
    if !content_type.as_ref().is_none_or(is_one_line) {
        let name = part.name;
        return Err(fault::input(
            &format!("the content type of the part `{name}` is not one line"),
            "pass a type such as text/plain",
        ));
    }
    Ok(http_exchange::Part {
        name: part.name,
        filename,
        content_type,
        content,
    })
}

fn file(path: String) -> Result<Piece, ToolError> {
    let info = fs::metadata(&path).map_err(|error| fault::file(&path, error))?;
    if info.is_dir() {
        return Err(fault::file(&path, io::ErrorKind::IsADirectory.into()));
    }
    Ok(Piece::File(path, info.len()))
}

/// Returns the type of a text: JSON if it looks like an object or a list.
fn text_type(text: &str) -> &'static str {
    let ends = (text.bytes().next(), text.bytes().next_back());
    if matches!(ends, (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']'))) {
        "application/json"
    } else {
        "text/plain; charset=utf-8"
    }
}
