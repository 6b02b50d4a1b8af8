//! Decodes the content encodings of a response as it arrives.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};

use crate::inflate::{Inflate, Wrapper};

/// Most encodings on top of each other.
const MAX_ENCODINGS: usize = 4;

/// Bytes between two decoders.
const BUFFER: usize = 16 << 10;

enum Encoding {
    Gzip,
    Deflate,
    #[cfg(feature = "br")]
    Brotli,
    #[cfg(feature = "zstd")]
    Zstd,
}

/// Encodings in the order in which they are to be removed.
pub struct Encodings(Vec<Encoding>);

impl Encodings {
    /// Parses the values of `Content-Encoding`.
    ///
    /// # Errors
    /// One of them cannot be decoded: its name.
    pub fn parse<'h>(headers: impl Iterator<Item = &'h str>) -> Result<Self, String> {
        let mut encodings = Vec::new();
        for name in headers.flat_map(|header| header.split(',')) {
            encodings.push(match name.trim().to_ascii_lowercase().as_str() {
                "" | "identity" => continue,
                "gzip" | "x-gzip" => Encoding::Gzip,
                "deflate" => Encoding::Deflate,
                #[cfg(feature = "br")]
                "br" => Encoding::Brotli,
                #[cfg(feature = "zstd")]
                "zstd" => Encoding::Zstd,
                other => return Err(other.to_owned()),
            });
        }
        if encodings.len() > MAX_ENCODINGS {
            return Err(format!("{} encodings", encodings.len()));
        }
        encodings.reverse();
        Ok(Self(encodings))
    }

    /// Returns the decoded body. An empty body, as of a HEAD request, is not encoded.
    pub fn decode<'b>(self, body: impl BufRead + 'b) -> io::Result<Box<dyn BufRead + 'b>> {
        let mut body: Box<dyn BufRead + 'b> = Box::new(body);
        if body.fill_buf()?.is_empty() {
            return Ok(body);
        }
        for encoding in self.0 {
            body = match encoding {
                Encoding::Gzip => buffered(Inflate::new(body, Wrapper::Gzip)),
                Encoding::Deflate => deflate(body)?,
                #[cfg(feature = "br")]
                Encoding::Brotli => {
                    let body = Unended(body);
                    buffered(brotli_decompressor::Decompressor::new(body, BUFFER))
                }
                #[cfg(feature = "zstd")]
                Encoding::Zstd => buffered(crate::zstd::Zstd::new(body)),
            };
        }
        Ok(body)
    }
}

fn buffered<'b>(decoder: impl Read + 'b) -> Box<dyn BufRead + 'b> {
    Box::new(BufReader::with_capacity(BUFFER, decoder))
}

/// Servers send `deflate` with the head of zlib, as the standard says, or without.
fn deflate<'b>(mut body: Box<dyn BufRead + 'b>) -> io::Result<Box<dyn BufRead + 'b>> {
    let mut head = Vec::new();
    body.by_ref().take(2).read_to_end(&mut head)?;
    let wrapper = match head.as_slice() {
        [a, b] if a & 0x0f == 8 && u16::from_be_bytes([*a, *b]).is_multiple_of(31) => Wrapper::Zlib,
        _ => Wrapper::Raw,
    };
    Ok(buffered(Inflate::new(
        Cursor::new(head).chain(body),
        wrapper,
    )))
}

/// Makes the end an error. The decoder of brotli reads on only within a stream, and calls its end invalid.
#[cfg(feature = "br")]
struct Unended<R>(R);

#[cfg(feature = "br")]
impl<R: Read> Read for Unended<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            count => Ok(count),
        }
    }
}

/// Whether an error says that the encoded body ends too early.
pub fn is_early_end(error: &io::Error) -> bool {
    if error.kind() == ErrorKind::UnexpectedEof {
        return true;
    }
    let mut cause = error.get_ref().map(|it| it as &(dyn Error + 'static));
    while let Some(error) = cause {
        let io = error.downcast_ref::<io::Error>();
        if io.is_some_and(|it| it.kind() == ErrorKind::UnexpectedEof) {
            return true;
        }
        cause = error.source();
    }
    false
}
