//! The body of a request, which can be sent again after a redirect.

use std::fs;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use toolhost_guest::ToolError;
use url::form_urlencoded;
use wasip2::random::random::get_random_u64;

use crate::input::{BodyInput, Part};
use crate::{fault, media_type};

pub(crate) struct Payload {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) content_type: ContentType,
}

pub(crate) enum Piece {
    Bytes(Vec<u8>),
    /// A file of the workdir, and its size.
    File(String, u64),
}

pub(crate) enum ContentType {
    /// Unless the input names another.
    Default(&'static str),
    /// Whatever the input names: the boundary belongs to the body.
    Multipart(String),
}

impl Payload {
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
                pieces: vec![Piece::file(path)?],
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
            pieces: vec![Piece::Bytes(bytes.into())],
            content_type: ContentType::Default(kind),
        }
    }

    fn multipart(parts: Vec<Part>) -> Result<Self, ToolError> {
        let boundary = format!(
            "toolhost-{:016x}{:016x}",
            get_random_u64(),
            get_random_u64()
        );
        let mut pieces = Vec::new();
        for part in parts {
            let (content, filename, kind) = match (part.value, part.path) {
                (Some(value), None) => (Piece::Bytes(value.into()), part.filename, None),
                (None, Some(path)) => {
                    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
                    let kind = media_type::of_file(&path).to_owned();
                    let filename = part.filename.unwrap_or(name);
                    (Piece::file(path)?, Some(filename), Some(kind))
                }
                (None, None) | (Some(_), Some(_)) => {
                    return Err(fault::input(
                        &format!("the part `{}` needs one content", part.name),
                        "give each part a `value` or a `path`",
                    ));
                }
            };
            let mut head = format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"",
                quoted(&part.name)
            );
            if let Some(filename) = filename {
                head.push_str(&format!("; filename=\"{}\"", quoted(&filename)));
            }
            if let Some(kind) = part.content_type.or(kind) {
                if kind.contains(char::is_control) {
                    return Err(fault::input(
                        &format!(
                            "the content type of the part `{}` is not one line",
                            part.name
                        ),
                        "pass a type such as text/plain",
                    ));
                }
                head.push_str(&format!("\r\nContent-Type: {kind}"));
            }
            head.push_str("\r\n\r\n");
            pieces.extend([
                Piece::Bytes(head.into_bytes()),
                content,
                Piece::Bytes(b"\r\n".to_vec()),
            ]);
        }
        pieces.push(Piece::Bytes(format!("--{boundary}--\r\n").into_bytes()));
        Ok(Self {
            pieces,
            content_type: ContentType::Multipart(format!(
                "multipart/form-data; boundary={boundary}"
            )),
        })
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> u64 {
        let lengths = self.pieces.iter().map(|piece| match piece {
            Piece::Bytes(bytes) => bytes.len() as u64,
            Piece::File(_, bytes) => *bytes,
        });
        lengths.sum()
    }
}

impl Piece {
    fn file(path: String) -> Result<Self, ToolError> {
        let info = fs::metadata(&path).map_err(|error| fault::file(&path, error))?;
        if info.is_dir() {
            return Err(fault::file(&path, io::ErrorKind::IsADirectory.into()));
        }
        Ok(Self::File(path, info.len()))
    }
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

/// Escapes a name in a header of a part, as browsers do.
fn quoted(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}
