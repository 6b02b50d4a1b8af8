//! Finds committed writes that a damaged write-ahead log would lose.
//!
//! SQLite ignores a log whose header is damaged, and of any other all frames from the first that does not
//! match its checksum, without an error: that is how it ends a log. The format:
//! <https://www.sqlite.org/fileformat2.html#the_write_ahead_log>

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use toolhost_files::PrivateFile;

/// Bytes of the header of the log, and of a frame.
const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// Bytes of the header of the index of a log, which is there twice.
const INDEX: usize = 96;

/// First four bytes of a log. The last bit tells the byte order of the checksums.
const MAGIC: u32 = 0x377f_0682;

/// Sizes of pages that SQLite knows, in bytes.
const PAGE_BYTES: std::ops::RangeInclusive<u32> = 512..=65_536;

/// Frames that are looked at: a log has some 1,000, unless a reader stays for long.
const FRAMES_MAX: u32 = 65_536;

/// How often a damaged log is read again: another process may be writing to it.
const ATTEMPTS: u32 = 4;

/// Time between two readings.
const PAUSE: Duration = Duration::from_millis(20);

/// What is wrong with a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No frame can be read.
    Header,
    /// Committed writes follow a frame that does not match its checksum.
    Frame { number: u32 },
    /// There is a log, but its database is missing or empty.
    NoDatabase,
    /// The last frame, which ends a write, does not match its checksum. A process that is killed in the
    /// middle of a write can leave it so, and then the write was never acknowledged.
    LastFrame { number: u32 },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => f.write_str("its header does not match its checksum"),
            Self::Frame { number } => {
                write!(
                    f,
                    "frame {number}, which others follow, does not match its checksum"
                )
            }
            Self::NoDatabase => f.write_str("its database is missing or empty"),
            Self::LastFrame { number } => {
                write!(f, "frame {number}, its last, does not match its checksum")
            }
        }
    }
}

/// The path of a database's log.
pub(crate) fn path_of(database: &Path) -> PathBuf {
    let mut path = database.to_owned().into_os_string();
    path.push("-wal");
    path.into()
}

/// Looks for damage in the log of a database. Reads a damaged one several times.
///
/// # Errors
/// Where a file cannot be read or is not a file of this user's.
pub(crate) fn fault_of(database: &Path) -> io::Result<Option<Fault>> {
    let log = path_of(database);
    let mut fault = examine(database, &log)?;
    for _ in 1..ATTEMPTS {
        if fault.is_none() {
            break;
        }
        std::thread::sleep(PAUSE);
        let again = examine(database, &log)?;
        if again != fault {
            // Another process writes to the log, so SQLite has accepted it.
            return Ok(None);
        }
        fault = again;
    }
    Ok(fault)
}

fn examine(database: &Path, log: &Path) -> io::Result<Option<Fault>> {
    if PrivateFile::stat_own(log)?.is_none_or(|log| log.st_size == 0) {
        return Ok(None);
    }
    // SQLite removes the log of an empty database. It makes no log before the database has a page.
    if PrivateFile::stat_own(database)?.is_none_or(|database| database.st_size == 0) {
        return Ok(Some(Fault::NoDatabase));
    }
    match PrivateFile::open_own(log, OFlags::RDONLY) {
        Ok(file) => match frames(&file, None)? {
            Some(Fault::Frame { .. } | Fault::LastFrame { .. }) => {
                frames(&file, Some(&index_of(database)?))
            }
            fault => Ok(fault),
        },
        // The process that used it has ended.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the header of the index of a log; an empty one without an index.
fn index_of(database: &Path) -> io::Result<Vec<u8>> {
    let mut path = database.to_owned().into_os_string();
    path.push("-shm");
    let mut header = vec![0; INDEX];
    match PrivateFile::open_own(Path::new(&path), OFlags::RDONLY) {
        Ok(file) => {
            let read = file.read_at(&mut header, 0)?;
            header.truncate(read);
            // Closing it would release SQLite's locks on it, if another store of this process uses the database. A log that
            // seems damaged is rare.
            let _is_left_open = file.into_raw_fd();
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => header.clear(),
        Err(error) => return Err(error),
    }
    Ok(header)
}

/// Reads the frames as SQLite does, and beyond the end that it finds; not beyond the last one of an index.
fn frames(mut file: &File, index: Option<&[u8]>) -> io::Result<Option<Fault>> {
    file.rewind()?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut header = [0; HEADER];
    if !read_whole(&mut reader, &mut header)? {
        return Ok(Some(Fault::Header));
    }
    let Some(log) = Log::parse(&header) else {
        return Ok(Some(Fault::Header));
    };
    let mut frame = vec![0; FRAME_HEADER + log.page_bytes];
    let (mut sum, mut end) = (log.header_sum, None);
    let most = index.and_then(|index| log.indexed(index));
    let most = most.unwrap_or(FRAMES_MAX).min(FRAMES_MAX);
    for number in 1..=most {
        if !read_whole(&mut reader, &mut frame)? {
            break;
        }
        let own = Frame::parse(&frame);
        let Some(own) = own.filter(|own| own.salt == log.salt) else {
            // A frame of an earlier use of the file, or a damaged one.
            let commits = false;
            end = end.or(Some(End { number, commits }));
            sum = Sum::default();
            continue;
        };
        let matches = log.sum_of(sum, &frame) == Some(own.sum);
        // The sums continue from the frame before, whether or not that one matched its own.
        sum = own.sum;
        let commits = own.commits;
        match end {
            None if matches => {}
            None => end = Some(End { number, commits }),
            // It matches the frame before it, so that it was written after that one.
            Some(End { number, .. }) if matches && commits => {
                return Ok(Some(Fault::Frame { number }));
            }
            Some(_) => {}
        }
    }
    let last = end.filter(|end| end.commits);
    Ok(last.map(|End { number, .. }| Fault::LastFrame { number }))
}

/// The frame at which SQLite ends the log.
#[derive(Debug, Clone, Copy)]
struct End {
    number: u32,
    /// Whether it is of this use of the file and ends a write.
    commits: bool,
}

/// The header of a log.
struct Log {
    is_big_endian: bool,
    page_bytes: usize,
    salt: [u8; 8],
    header_sum: Sum,
}

/// The header of a frame.
struct Frame {
    /// Whether it ends a write.
    commits: bool,
    salt: [u8; 8],
    sum: Sum,
}

/// The checksum of all bytes up to a place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum(u32, u32);

impl Log {
    fn parse(header: &[u8; HEADER]) -> Option<Self> {
        let magic = number(header, 0)?;
        let page_bytes = number(header, 8)?;
        if magic & !1 != MAGIC || !PAGE_BYTES.contains(&page_bytes) || !page_bytes.is_power_of_two()
        {
            return None;
        }
        let log = Self {
            is_big_endian: magic & 1 == 1,
            page_bytes: usize::try_from(page_bytes).ok()?,
            salt: header.get(16..24)?.try_into().ok()?,
            header_sum: Sum(number(header, 24)?, number(header, 28)?),
        };
        let sum = log.add(Sum::default(), header.get(..24)?);
        (sum == log.header_sum).then_some(log)
    }

    /// The number of frames that have been committed, by the header of the index. None if that is not of this log. Where other
    /// processes use the log, what a process wrote beyond them that was killed is overwritten, and may be longer.
    fn indexed(&self, index: &[u8]) -> Option<u32> {
        let (first, second) = (index.get(..INDEX / 2)?, index.get(INDEX / 2..INDEX)?);
        let is_its = first == second && first.get(32..40)? == self.salt;
        let number = first.get(16..20)?.try_into().ok()?;
        is_its.then_some(u32::from_ne_bytes(number))
    }

    /// The checksum of a frame that follows one with the checksum `before`.
    fn sum_of(&self, before: Sum, frame: &[u8]) -> Option<Sum> {
        let sum = self.add(before, frame.get(..8)?);
        Some(self.add(sum, frame.get(FRAME_HEADER..)?))
    }

    fn add(&self, before: Sum, bytes: &[u8]) -> Sum {
        let (words, _) = bytes.as_chunks::<4>();
        let (pairs, _) = words.as_chunks::<2>();
        let word = |word: &[u8; 4]| {
            if self.is_big_endian {
                u32::from_be_bytes(*word)
            } else {
                u32::from_le_bytes(*word)
            }
        };
        pairs.iter().fold(before, |Sum(one, two), [first, second]| {
            let one = one.wrapping_add(word(first)).wrapping_add(two);
            let two = two.wrapping_add(word(second)).wrapping_add(one);
            Sum(one, two)
        })
    }
}

impl Frame {
    fn parse(frame: &[u8]) -> Option<Self> {
        Some(Self {
            commits: number(frame, 4)? != 0,
            salt: frame.get(8..16)?.try_into().ok()?,
            sum: Sum(number(frame, 16)?, number(frame, 20)?),
        })
    }
}

/// The number at a place, which is big-endian in headers.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let (number, _) = bytes.get(at..)?.split_first_chunk()?;
    Some(u32::from_be_bytes(*number))
}

/// Fills the buffer. Returns false where the file ends before.
fn read_whole(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match reader.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
