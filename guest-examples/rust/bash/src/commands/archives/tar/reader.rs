//! Reads an archive: one member after another, each with its content.

use std::io::{self, Read};

use super::header::{self, BLOCK, Block};
use super::member::{Format, Member};
use crate::commands::call::Failure;
use crate::commands::dates::Moment;
use crate::files::text_of;

/// The most bytes of a name or of the records before a member.
const EXTENSION: u64 = 1 << 20;

/// What is next in an archive.
pub(super) enum Next {
    Member(Box<Member>),
    /// A block that is not a header.
    Invalid,
    /// A block of zeros: the first of two that end an archive.
    Zeros,
    End,
}

/// Keyword and value of a record of POSIX.
type Record = (Vec<u8>, Vec<u8>);

/// What stands before a member and belongs to it.
#[derive(Default)]
struct Extensions {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    records: Vec<Record>,
}

pub(super) struct Reader<'r> {
    input: Box<dyn Read + 'r>,
    /// How many bytes were read.
    at: u64,
    /// Where the last block of a header began.
    block_at: u64,
    /// What is left of the content of the member, and of the block after it.
    content: u64,
    padding: u64,
    /// The blocks of the member's headers.
    raw: Vec<u8>,
    /// Records that hold for all members that follow.
    globals: Vec<Record>,
}

/// A text that ends the command.
pub(super) fn fatal(text: impl std::fmt::Display) -> Failure {
    Failure::new(
        2,
        format!("{text}\ntar: Error is not recoverable: exiting now"),
    )
}

impl<'r> Reader<'r> {
    pub(super) fn new(input: impl Read + 'r) -> Self {
        Self {
            input: Box::new(input),
            at: 0,
            block_at: 0,
            content: 0,
            padding: 0,
            raw: Vec::new(),
            globals: Vec::new(),
        }
    }

    /// How many bytes were read.
    pub(super) fn position(&self) -> u64 {
        self.at
    }

    /// Where the last header or block of zeros began.
    pub(super) fn block_at(&self) -> u64 {
        self.block_at
    }

    /// The blocks of the last member's headers.
    pub(super) fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Reads on. The content of the last member that was not read is skipped.
    ///
    /// # Errors
    /// The archive cannot be read on.
    pub(super) fn next(&mut self) -> Result<Next, Failure> {
        self.skip()?;
        self.raw.clear();
        let mut extensions = Extensions::default();
        loop {
            self.block_at = self.at;
            let Some(block) = self.block()? else {
                return Ok(Next::End);
            };
            if block.iter().all(|byte| *byte == 0) {
                return Ok(Next::Zeros);
            }
            let size = header::SIZE.number(&block);
            let Some(size) = size.and_then(|size| u64::try_from(size).ok()) else {
                return Ok(Next::Invalid);
            };
            if !header::is_valid(&block) {
                return Ok(Next::Invalid);
            }
            self.raw.extend_from_slice(&block);
            match header::KIND.of(&block).first() {
                Some(b'L') => extensions.name = Some(text(self.extension(size)?)),
                Some(b'K') => extensions.link = Some(text(self.extension(size)?)),
                Some(b'x' | b'X') => extensions.records = records(&self.extension(size)?)?,
                Some(b'g') => {
                    let records = records(&self.extension(size)?)?;
                    self.globals.extend(records);
                    if self.globals.len() > 10_000 {
                        return Err(fatal("there are more than 10000 global records"));
                    }
                }
                _ => return self.member(&block, size, extensions),
            }
        }
    }

    fn member(
        &mut self,
        block: &Block,
        size: u64,
        extensions: Extensions,
    ) -> Result<Next, Failure> {
        let mut member = Member::of(block, size);
        for (key, value) in self.globals.iter().chain(&extensions.records) {
            member.apply(key, value);
        }
        if let Some(name) = extensions.name {
            member.name = name;
        }
        if let Some(link) = extensions.link {
            member.link = link;
        }
        if member.size > i64::MAX.cast_unsigned() - BLOCK as u64 {
            return Ok(Next::Invalid);
        }
        member.settle();
        self.content = member.size;
        self.padding = header::padding(member.size);
        Ok(Next::Member(Box::new(member)))
    }

    /// Reads the content of the member; at most a part at a time.
    ///
    /// # Errors
    /// The archive ends within it.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        let most = usize::try_from(self.content).unwrap_or(usize::MAX);
        let length = buffer.len().min(most);
        let buffer = buffer.get_mut(..length).unwrap_or_default();
        if buffer.is_empty() {
            return Ok(0);
        }
        let length = self.fill(buffer)?;
        if length == 0 {
            return Err(fatal("Unexpected EOF in archive"));
        }
        self.content -= length as u64;
        Ok(length)
    }

    /// Skips what is left of the member.
    ///
    /// # Errors
    /// The archive ends within it.
    pub(super) fn skip(&mut self) -> Result<(), Failure> {
        let mut buffer = vec![0; if self.content > 0 { 1 << 16 } else { BLOCK }];
        while self.read(&mut buffer)? > 0 {}
        let mut left = usize::try_from(std::mem::take(&mut self.padding)).unwrap_or(0);
        while left > 0 {
            let length = self.fill(buffer.get_mut(..left.min(BLOCK)).unwrap_or_default())?;
            if length == 0 {
                return Err(fatal("Unexpected EOF in archive"));
            }
            left -= length;
        }
        Ok(())
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        loop {
            match self.input.read(buffer) {
                Ok(length) => {
                    self.at += length as u64;
                    return Ok(length);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(fatal("Unexpected EOF in archive"));
                }
                Err(error) => return Err(fatal(text_of(&error))),
            }
        }
    }

    /// The next block, or `None` at the end.
    fn block(&mut self) -> Result<Option<Block>, Failure> {
        let mut block = [0; BLOCK];
        let mut length = 0;
        while length < BLOCK {
            match self.fill(block.get_mut(length..).unwrap_or_default())? {
                0 if length == 0 && self.at > 0 => return Ok(None),
                0 if self.at < BLOCK as u64 => {
                    let text = "This does not look like a tar archive";
                    let last = "tar: Exiting with failure status due to previous errors";
                    return Err(Failure::new(2, format!("{text}\n{last}")));
                }
                0 => return Err(fatal("Unexpected EOF in archive")),
                more => length += more,
            }
        }
        Ok(Some(block))
    }

    /// The content of a header that belongs to the next member.
    fn extension(&mut self, size: u64) -> Result<Vec<u8>, Failure> {
        if size > EXTENSION {
            return Err(fatal("an extended header is larger than 1 MiB"));
        }
        (self.content, self.padding) = (size, header::padding(size));
        let mut content = Vec::new();
        let mut buffer = [0; BLOCK];
        loop {
            let length = self.read(&mut buffer)?;
            if length == 0 {
                break;
            }
            content.extend_from_slice(buffer.get(..length).unwrap_or_default());
        }
        self.raw.extend_from_slice(&content);
        self.raw.resize(self.raw.len().next_multiple_of(BLOCK), 0);
        self.skip()?;
        Ok(content)
    }
}

/// A name up to a NUL.
fn text(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
        bytes.truncate(end);
    }
    bytes
}

/// The records of a header of POSIX: `LENGTH KEYWORD=VALUE\n`.
fn records(mut bytes: &[u8]) -> Result<Vec<Record>, Failure> {
    let mut records = Vec::new();
    while bytes.first().is_some_and(|first| *first != 0) {
        let record = record(bytes);
        let (length, record) = record.ok_or_else(|| fatal("Malformed extended header"))?;
        records.push(record);
        bytes = bytes.get(length..).unwrap_or_default();
    }
    Ok(records)
}

fn record(bytes: &[u8]) -> Option<(usize, Record)> {
    let space = bytes.iter().take(20).position(|byte| *byte == b' ')?;
    let length = std::str::from_utf8(bytes.get(..space)?).ok()?;
    let length: usize = length.parse().ok()?;
    let text = bytes.get(space + 1..length)?.strip_suffix(b"\n")?;
    let equals = text.iter().position(|byte| *byte == b'=')?;
    let (key, value) = text.split_at(equals);
    Some((length, (key.to_vec(), value.get(1..)?.to_vec())))
}

impl Member {
    /// What a header says alone.
    fn of(block: &Block, size: u64) -> Self {
        let magic = header::MAGIC.of(block);
        let format = match magic {
            header::GNU => Format::Gnu,
            magic if magic.starts_with(b"ustar\0") => Format::Ustar,
            _ => Format::V7,
        };
        let number = |field: header::Field| field.number(block).unwrap_or(0);
        let mut name = header::NAME.text(block).to_vec();
        let prefix = header::PREFIX.text(block);
        if format == Format::Ustar && !prefix.is_empty() {
            name = [prefix, b"/", &*name].concat();
        }
        Self {
            name,
            link: header::LINK.text(block).to_vec(),
            kind: header::KIND.of(block).first().copied().unwrap_or(0),
            mode: u32::try_from(number(header::MODE) & 0o7777).unwrap_or(0),
            user_id: number(header::USER_ID),
            group_id: number(header::GROUP_ID),
            user: header::USER.text(block).to_vec(),
            group: header::GROUP.text(block).to_vec(),
            size,
            modified: Moment {
                seconds: number(header::MODIFIED),
                nanos: 0,
            },
            device: (number(header::MAJOR), number(header::MINOR)),
            format,
            is_sparse: false,
        }
    }

    /// Applies a record of POSIX. Those of no meaning here are ignored, as are values that are wrong.
    fn apply(&mut self, key: &[u8], value: &[u8]) {
        let text = || std::str::from_utf8(value).ok();
        let number = || text()?.parse::<i64>().ok();
        match key {
            b"path" => self.name = value.to_vec(),
            b"linkpath" => self.link = value.to_vec(),
            b"uname" => self.user = value.to_vec(),
            b"gname" => self.group = value.to_vec(),
            b"uid" => self.user_id = number().unwrap_or(self.user_id),
            b"gid" => self.group_id = number().unwrap_or(self.group_id),
            b"size" => {
                let size = text().and_then(|text| text.parse().ok());
                self.size = size.unwrap_or(self.size);
            }
            b"mtime" => {
                self.modified = text().and_then(moment).unwrap_or(self.modified);
                self.format = Format::Pax;
            }
            _ => self.is_sparse |= key.starts_with(b"GNU.sparse."),
        }
    }

    /// Takes the kinds of old programs for those of today.
    fn settle(&mut self) {
        match self.kind {
            0 | b'0' | b'7' if self.name.ends_with(b"/") => self.kind = b'5',
            0 | b'7' => self.kind = b'0',
            // A link has no content.
            b'1' => self.size = 0,
            b'S' => self.is_sparse = true,
            _ => {}
        }
    }
}

/// A time as records have it: `-86399.5`.
fn moment(text: &str) -> Option<Moment> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_negative = seconds.starts_with('-');
    let seconds: i64 = seconds.parse().ok()?;
    let digits: String = fraction
        .chars()
        .chain("000000000".chars())
        .take(9)
        .collect();
    let nanos: u32 = digits.parse().ok()?;
    Some(if is_negative && nanos > 0 {
        Moment {
            seconds: seconds.checked_sub(1)?,
            nanos: 1_000_000_000 - nanos,
        }
    } else {
        Moment { seconds, nanos }
    })
}
