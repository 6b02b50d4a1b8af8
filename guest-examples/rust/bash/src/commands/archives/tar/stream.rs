//! Where an archive is read from and written to.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Write};

use super::reader::{Reader, fatal};
use super::run::Run;
use super::settings::Settings;
use crate::commands::archives::codec::{Codec, Encoder};
use crate::commands::call::Failure;
use crate::files::text_of;

/// The most bytes that a packed archive has unpacked.
const UNPACKED: u64 = 1 << 30;

/// How much is read and written at once.
const BUFFER: usize = 1 << 16;

/// What an archive is written to.
pub(super) enum Sink {
    File(File),
    /// A file in memory, or standard output: what is written goes there in the end, after so much of the file.
    Memory(Vec<u8>),
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Memory(content) => {
                if content.len() + bytes.len() > super::run::OUTPUT {
                    let text = "an archive in memory is larger than 16 MiB";
                    return Err(io::Error::other(text));
                }
                content.write(bytes)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) type Output = Encoder<io::BufWriter<Sink>>;

/// A stream that is refused once it has too many bytes.
struct Bounded<R>(R, u64);

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.0.read(buffer)?;
        self.1 = self.1.saturating_sub(length as u64);
        if self.1 == 0 {
            return Err(io::Error::other(
                "the unpacked archive is larger than 1 GiB",
            ));
        }
        Ok(length)
    }
}

fn cannot(settings: &Settings, what: &str, error: &io::Error) -> Failure {
    fatal(format_args!(
        "{}: Cannot {what}: {}",
        settings.archive,
        text_of(error)
    ))
}

impl<'c> Run<'_, 'c> {
    /// Opens the archive to read it.
    ///
    /// # Errors
    /// It cannot be opened, or no program here unpacks it.
    pub(super) fn open(&self) -> Result<Reader<'c>, Failure> {
        let settings = self.settings;
        let is_stdin = settings.archive == "-";
        let device = self.call.devices.get(&settings.archive);
        let mut input: Box<dyn Read + 'c> = if is_stdin {
            Box::new(self.call.stdin)
        } else if let Some(bytes) = device {
            Box::new(Cursor::new(bytes.clone()))
        } else {
            let path = self.call.path(&settings.archive);
            let opened = self.call.files.reader(&path);
            opened.map_err(|error| {
                let what = if error.kind() == io::ErrorKind::IsADirectory {
                    "read"
                } else {
                    "open"
                };
                let mut failure = cannot(settings, what, &error);
                if what == "read" {
                    let (first, last) = failure.text.split_once('\n').unwrap_or_default();
                    failure.text =
                        format!("{first}\ntar: At beginning of tape, quitting now\n{last}");
                }
                failure
            })?
        };
        let mut beginning = Vec::new();
        let begin = input.by_ref().take(6).read_to_end(&mut beginning);
        begin.map_err(|error| cannot(settings, "read", &error))?;
        let codec = match (settings.codec, Codec::of(&beginning)) {
            (Some(codec), _) if codec.begins(&beginning) => Some(codec),
            (Some(codec), _) => {
                return Err(fatal(format_args!(
                    "{}: not in {} format",
                    settings.archive,
                    codec.name()
                )));
            }
            (None, Ok(Some(codec))) if is_stdin => {
                let option = codec.option();
                return Err(fatal(format_args!(
                    "Archive is compressed. Use {option} option"
                )));
            }
            (None, Ok(codec)) => codec,
            (None, Err(program)) => {
                return Err(fatal(format_args!(
                    "{}: is packed by {program}, which is not here; these are: gzip bzip2 xz",
                    settings.archive
                )));
            }
        };
        let input = BufReader::with_capacity(BUFFER, Cursor::new(beginning).chain(input));
        Ok(match codec {
            Some(codec) => Reader::new(Bounded(codec.decoder(input), UNPACKED)),
            None => Reader::new(input),
        })
    }

    /// Opens the archive to write it after so many bytes of it.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(super) fn open_output(&mut self, from: u64) -> Result<Output, Failure> {
        let settings = self.settings;
        let sink = if matches!(&*settings.archive, "-" | "/dev/null") {
            Sink::Memory(Vec::new())
        } else {
            let path = self.call.path(&settings.archive);
            let path = self.call.files.target(&path).unwrap_or(path);
            let file = self.call.files.writer(&path, from);
            match file.map_err(|error| cannot(settings, "open", &error))? {
                Some(file) => Sink::File(file),
                None => {
                    let mut content = Vec::new();
                    if from > 0 {
                        let old = self.call.files.read(&path);
                        content = old.map_err(|error| cannot(settings, "open", &error))?;
                        content.truncate(usize::try_from(from).unwrap_or(usize::MAX));
                    }
                    Sink::Memory(content)
                }
            }
        };
        let out = io::BufWriter::with_capacity(BUFFER, sink);
        Ok(match settings.codec {
            Some(codec) => codec.encoder(out, settings.level),
            None => Encoder::Plain(out),
        })
    }

    /// Writes what is left of an archive.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn close_output(&mut self, output: Output) -> Result<(), Failure> {
        let settings = self.settings;
        let failure = |error: io::Error| cannot(settings, "write", &error);
        let out = output.finish().map_err(failure)?;
        let sink = out
            .into_inner()
            .map_err(|error| failure(error.into_error()))?;
        match sink {
            Sink::File(_) => Ok(()),
            Sink::Memory(content) => self
                .call
                .write(&settings.archive, &content)
                .map_err(failure),
        }
    }
}
