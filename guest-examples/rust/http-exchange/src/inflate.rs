//! Decodes `gzip` and `deflate` as they arrive.

use std::io::{self, BufRead, ErrorKind, Read};

use flate2::{Crc, Decompress, FlushDecompress, Status};

/// What is around the compressed bytes.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Wrapper {
    Gzip,
    Zlib,
    /// `deflate`, as some servers understand it.
    Raw,
}

enum Stage {
    Head,
    Body,
    Tail,
    Done,
}

pub(crate) struct Inflate<R> {
    input: R,
    wrapper: Wrapper,
    stage: Stage,
    /// Whether a member of a gzip stream is complete: what follows may be anything.
    has_member: bool,
    state: Decompress,
    crc: Crc,
}

impl<R: BufRead> Inflate<R> {
    pub(crate) fn new(input: R, wrapper: Wrapper) -> Self {
        Self {
            input,
            wrapper,
            stage: Stage::Head,
            has_member: false,
            state: Decompress::new(wrapper == Wrapper::Zlib),
            crc: Crc::new(),
        }
    }

    fn head(&mut self) -> io::Result<Stage> {
        if self.wrapper != Wrapper::Gzip {
            return Ok(Stage::Body);
        }
        if self.input.fill_buf()?.is_empty() {
            return Ok(Stage::Done);
        }
        match gzip_head(&mut self.input) {
            Ok(()) => {
                self.state.reset(false);
                self.crc.reset();
                Ok(Stage::Body)
            }
            // Other programs ignore what is behind a member, too.
            Err(error) if self.has_member && is_no_failure_of_the_stream(&error) => Ok(Stage::Done),
            Err(error) => Err(error),
        }
    }

    fn tail(&mut self) -> io::Result<Stage> {
        if self.wrapper != Wrapper::Gzip {
            return Ok(Stage::Done);
        }
        let mut tail = [0; 8];
        self.input.read_exact(&mut tail)?;
        let [a, b, c, d, e, f, g, h] = tail;
        let is_whole = u32::from_le_bytes([a, b, c, d]) == self.crc.sum()
            && u32::from_le_bytes([e, f, g, h]) == self.crc.amount();
        if !is_whole {
            return Err(invalid("the checksum of gzip differs"));
        }
        self.has_member = true;
        Ok(Stage::Head)
    }
}

impl<R: BufRead> Read for Inflate<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            match self.stage {
                Stage::Done => return Ok(0),
                Stage::Head => self.stage = self.head()?,
                Stage::Tail => self.stage = self.tail()?,
                Stage::Body => {
                    let input = self.input.fill_buf()?;
                    let is_end = input.is_empty();
                    let (read, written) = (self.state.total_in(), self.state.total_out());
                    let status = self
                        .state
                        .decompress(input, buffer, FlushDecompress::None)
                        .map_err(|_| invalid("not a stream of deflate"))?;
                    let read = bytes(self.state.total_in() - read);
                    let written = bytes(self.state.total_out() - written);
                    self.input.consume(read);
                    let decoded = buffer.get(..written).unwrap_or_default();
                    self.crc.update(decoded);
                    match status {
                        Status::StreamEnd => self.stage = Stage::Tail,
                        Status::Ok | Status::BufError if is_end && written == 0 => {
                            return Err(ErrorKind::UnexpectedEof.into());
                        }
                        Status::Ok | Status::BufError => {}
                    }
                    if written > 0 {
                        return Ok(written);
                    }
                }
            }
        }
    }
}

/// Reads the head of a gzip member. Spec: RFC 1952 §2.3.
fn gzip_head(input: &mut impl BufRead) -> io::Result<()> {
    let mut head = [0; 10];
    input.read_exact(&mut head)?;
    let [0x1f, 0x8b, 8, flags, ..] = head else {
        return Err(invalid("not gzip"));
    };
    if flags & 4 != 0 {
        let mut length = [0; 2];
        input.read_exact(&mut length)?;
        skip(input, u64::from(u16::from_le_bytes(length)))?;
    }
    // A name and a comment end with 0.
    for flag in [8, 16] {
        if flags & flag != 0 {
            skip_text(input)?;
        }
    }
    if flags & 2 != 0 {
        skip(input, 2)?;
    }
    Ok(())
}

pub(crate) fn skip(input: &mut impl BufRead, length: u64) -> io::Result<()> {
    if io::copy(&mut input.take(length), &mut io::sink())? < length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

fn skip_text(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let bytes = input.fill_buf()?;
        if bytes.is_empty() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let end = bytes.iter().position(|byte| *byte == 0);
        let read = end.map_or(bytes.len(), |end| end + 1);
        input.consume(read);
        if end.is_some() {
            return Ok(());
        }
    }
}

pub(crate) fn invalid(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.to_owned())
}

fn is_no_failure_of_the_stream(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::InvalidData | ErrorKind::UnexpectedEof
    )
}

/// Converts a count that is at most the length of a slice.
fn bytes(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
