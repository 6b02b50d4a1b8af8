//! Decodes `zstd` as it arrives: frames, one after the other.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::inflate::{invalid, skip};

/// The largest window, in bytes. Spec: RFC 9659.
const MAX_WINDOW: u64 = 8 << 20;

pub(crate) struct Zstd<R> {
    input: R,
    frame: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    pub(crate) fn new(input: R) -> Self {
        let mut frame = FrameDecoder::new();
        frame.set_max_window_size(MAX_WINDOW);
        Self {
            input,
            frame,
            is_in_frame: false,
        }
    }

    fn begin_frame(&mut self) -> io::Result<()> {
        match self.frame.reset(&mut self.input) {
            Ok(()) => {
                self.is_in_frame = true;
                Ok(())
            }
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => skip(&mut self.input, u64::from(length)),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    fn end_frame(&mut self) -> io::Result<()> {
        self.is_in_frame = false;
        match self.frame.get_checksum_from_data() {
            Some(sum) if Some(sum) != self.frame.get_calculated_checksum() => {
                Err(invalid("the checksum of zstd differs"))
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_in_frame {
                if self.input.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                self.begin_frame()?;
            } else if self.frame.can_collect() > 0 {
                return self.frame.read(buffer);
            } else if self.frame.is_finished() {
                self.end_frame()?;
            } else {
                self.frame
                    .decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(io::Error::other)?;
            }
        }
    }
}
