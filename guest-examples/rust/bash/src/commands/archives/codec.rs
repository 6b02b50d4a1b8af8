//! Compressed streams: gzip, bzip2, xz.

use std::io::{self, BufRead, Read, Write};

use bzip2::bufread::MultiBzDecoder;
use bzip2::write::BzEncoder;
use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use lzma_rust2::{CheckType, XzOptions, XzReader, XzWriter};

/// What `xz -9` needs to unpack, in KiB. A stream that wants more is refused.
const XZ_MEMORY_KIB: u32 = 68 << 10;

/// The dictionary of `xz -6`. That of a smaller content is as large as the content.
const XZ_DICTIONARY: usize = 8 << 20;
const XZ_DICTIONARY_MIN: usize = 4 << 10;

/// The most bytes that `xz` packs: it takes the whole content, to size its dictionary.
const XZ_CONTENT: usize = 64 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codec {
    Gzip,
    Bzip2,
    Xz,
}

impl Codec {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        }
    }

    /// The option of `tar` for it.
    pub(super) fn option(self) -> &'static str {
        match self {
            Self::Gzip => "-z",
            Self::Bzip2 => "-j",
            Self::Xz => "-J",
        }
    }

    fn magic(self) -> &'static [u8] {
        match self {
            Self::Gzip => b"\x1f\x8b",
            Self::Bzip2 => b"BZh",
            Self::Xz => b"\xfd7zXZ\0",
        }
    }

    /// Whether a content begins as one of this codec does.
    pub(super) fn begins(self, content: &[u8]) -> bool {
        content.starts_with(self.magic())
    }

    /// The codec of a content by its first bytes; the error names a program that is missing here.
    pub(super) fn of(content: &[u8]) -> Result<Option<Self>, &'static str> {
        const MISSING: [(&[u8], &str); 5] = [
            (b"\x28\xb5\x2f\xfd", "zstd"),
            (b"LZIP", "lzip"),
            (b"\x89LZO", "lzop"),
            (b"\x1f\x9d", "compress"),
            (b"\x5d\x00\x00", "lzma"),
        ];
        let all = [Self::Gzip, Self::Bzip2, Self::Xz];
        if let Some(codec) = all.into_iter().find(|codec| codec.begins(content)) {
            return Ok(Some(codec));
        }
        let missing = MISSING.iter().find(|(magic, _)| content.starts_with(magic));
        missing.map_or(Ok(None), |(_, name)| Err(*name))
    }

    /// Unpacks a stream bit by bit.
    pub(super) fn decoder<'r>(self, packed: impl BufRead + 'r) -> Box<dyn Read + 'r> {
        match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(packed)),
            Self::Bzip2 => Box::new(MultiBzDecoder::new(packed)),
            Self::Xz => Box::new(XzReader::new_mem_limit(packed, true, XZ_MEMORY_KIB)),
        }
    }

    /// Unpacks a content of at most so many bytes.
    ///
    /// # Errors
    /// What is wrong with the content.
    pub(super) fn unpack(self, packed: &[u8], most: u64) -> Result<Vec<u8>, String> {
        let mut content = Vec::new();
        let read = self
            .decoder(packed)
            .take(most + 1)
            .read_to_end(&mut content);
        read.map_err(|error| match (self, error.kind()) {
            (Self::Xz, io::ErrorKind::UnexpectedEof) => "Unexpected end of input".to_owned(),
            (_, io::ErrorKind::UnexpectedEof) => "file ends unexpectedly".to_owned(),
            _ => crate::files::text_of(&error),
        })?;
        if content.len() as u64 > most {
            return Err(format!("the content is larger than {} MiB", most >> 20));
        }
        Ok(content)
    }

    /// Packs what is written to the result.
    pub(super) fn encoder<W: Write>(self, out: W, level: u32) -> Encoder<W> {
        match self {
            Self::Gzip => Encoder::Gzip(GzEncoder::new(out, Compression::new(level))),
            Self::Bzip2 => {
                let level = bzip2::Compression::new(level.clamp(1, 9));
                Encoder::Bzip2(BzEncoder::new(out, level))
            }
            Self::Xz => Encoder::Xz(out, Vec::new(), level),
        }
    }
}

pub(super) enum Encoder<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Bzip2(BzEncoder<W>),
    Xz(W, Vec<u8>, u32),
}

impl<W: Write> Encoder<W> {
    /// Writes what is left, and returns what was written to.
    pub(super) fn finish(self) -> io::Result<W> {
        match self {
            Self::Plain(out) => Ok(out),
            Self::Gzip(encoder) => encoder.finish(),
            Self::Bzip2(encoder) => encoder.finish(),
            Self::Xz(out, content, level) => {
                let mut options = XzOptions::with_preset(level);
                options.set_check_sum_type(CheckType::Crc64);
                let dictionary = content
                    .len()
                    .checked_next_power_of_two()
                    .unwrap_or(XZ_DICTIONARY)
                    .clamp(XZ_DICTIONARY_MIN, XZ_DICTIONARY);
                options.lzma_options.dict_size = u32::try_from(dictionary).unwrap_or(u32::MAX);
                let mut writer = XzWriter::new(out, options)?;
                writer.write_all(&content)?;
                writer.finish()
            }
        }
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Bzip2(encoder) => encoder.write(bytes),
            Self::Xz(_, content, _) => {
                if content.len() + bytes.len() > XZ_CONTENT {
                    let text = "xz packs at most 64 MiB here";
                    return Err(io::Error::other(text));
                }
                content.extend_from_slice(bytes);
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
