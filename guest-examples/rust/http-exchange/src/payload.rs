//! The body of a request, which can be sent again after a redirect.

use wasip2::random::random::get_random_u64;

#[derive(Clone)]
pub struct Payload {
    pub pieces: Vec<Piece>,
}

#[derive(Clone)]
pub enum Piece {
    Bytes(Vec<u8>),
    /// A file, and its size. It is read while it is sent.
    File(String, u64),
}

/// A part of `multipart/form-data`.
pub struct Part {
    pub name: String,
    pub filename: Option<String>,
    pub content_type: Option<String>,
    pub content: Piece,
}

impl Payload {
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        let pieces = vec![Piece::Bytes(bytes.into())];
        Self { pieces }
    }

    /// Returns the body of these parts, and its content type.
    pub fn multipart(parts: impl IntoIterator<Item = Part>) -> (Self, String) {
        let boundary = format!(
            "toolhost-{:016x}{:016x}",
            get_random_u64(),
            get_random_u64()
        );
        let mut pieces = Vec::new();
        for part in parts {
            let mut head = format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"",
                quoted(&part.name)
            );
            if let Some(filename) = part.filename {
                head.push_str(&format!("; filename=\"{}\"", quoted(&filename)));
            }
            if let Some(kind) = part.content_type {
                head.push_str(&format!("\r\nContent-Type: {kind}"));
            }
            head.push_str("\r\n\r\n");
            pieces.extend([
                Piece::Bytes(head.into_bytes()),
                part.content,
                Piece::Bytes(b"\r\n".to_vec()),
            ]);
        }
        pieces.push(Piece::Bytes(format!("--{boundary}--\r\n").into_bytes()));
        let kind = format!("multipart/form-data; boundary={boundary}");
        (Self { pieces }, kind)
    }

    /// Returns the number of bytes.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> u64 {
        let lengths = self.pieces.iter().map(|piece| match piece {
            Piece::Bytes(bytes) => bytes.len() as u64,
            Piece::File(_, bytes) => *bytes,
        });
        lengths.sum()
    }
}

/// Escapes a name in a header of a part, as browsers do.
fn quoted(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}
