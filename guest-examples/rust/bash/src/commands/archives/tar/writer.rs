//! Writes an archive.

use std::io::{self, Write};

use super::header::{self, BLOCK, Block};
use super::member::{Format, Member};
use crate::commands::dates::Moment;

/// Why a member is not in the archive, or what ends the writing.
pub(super) enum Refusal {
    /// As it follows the name of the member.
    Unfit(String),
    Io(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

pub(super) struct Writer<W: Write> {
    out: W,
    format: Format,
    /// The bytes of a record, of which an archive has a whole number.
    record: u64,
    written: u64,
}

impl<W: Write> Writer<W> {
    /// Writes to what has so many bytes already.
    pub(super) fn new(out: W, format: Format, record: u64, written: u64) -> Self {
        Self {
            out,
            format,
            record,
            written,
        }
    }

    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Writes the headers of a member.
    pub(super) fn member(&mut self, member: &Member) -> Result<(), Refusal> {
        let (name, prefix) = self.name(member)?;
        self.link(member)?;
        let mut block = self.block(member);
        header::NAME.set(&mut block, &name);
        header::PREFIX.set(&mut block, &prefix);
        header::LINK.set(&mut block, &member.link);
        self.seal(&mut block)?;
        Ok(())
    }

    /// Writes what precedes the header for its name. Returns the fields of name and prefix.
    fn name(&mut self, member: &Member) -> Result<(Vec<u8>, Vec<u8>), Refusal> {
        let name = &member.name;
        let is_long = name.len() > 100;
        match self.format {
            Format::Gnu => {
                if is_long {
                    self.long_name(b'L', name)?;
                }
                Ok((name.clone(), Vec::new()))
            }
            Format::Ustar if is_long => {
                let split = split(name).ok_or_else(|| {
                    Refusal::Unfit("file name is too long (cannot be split); not dumped".to_owned())
                })?;
                Ok(split)
            }
            Format::V7 if name.len() > 99 => Err(Refusal::Unfit(
                "file name is too long (max 99); not dumped".to_owned(),
            )),
            Format::Pax => {
                let records = records(member);
                if !records.is_empty() {
                    self.records(member, &records)?;
                }
                Ok((name.clone(), Vec::new()))
            }
            Format::V7 | Format::Ustar => Ok((name.clone(), Vec::new())),
        }
    }

    fn link(&mut self, member: &Member) -> Result<(), Refusal> {
        match self.format {
            Format::Gnu if member.link.len() > 100 => self.long_name(b'K', &member.link)?,
            Format::V7 | Format::Ustar if member.link.len() > 100 => {
                return Err(Refusal::Unfit(
                    "link name is too long; not dumped".to_owned(),
                ));
            }
            _ => {}
        }
        Ok(())
    }

    /// The header without names.
    fn block(&self, member: &Member) -> Block {
        let mut block = [0; BLOCK];
        header::MODE.set_number(&mut block, i64::from(member.mode));
        let seconds = member.modified.seconds;
        let numbers = [
            (header::USER_ID, member.user_id),
            (header::GROUP_ID, member.group_id),
            (header::SIZE, i64::try_from(member.size).unwrap_or(i64::MAX)),
            (header::MODIFIED, seconds),
        ];
        for (field, number) in numbers {
            if self.format == Format::Pax {
                // The record has what the field cannot have.
                if !field.set_octal(&mut block, number) {
                    field.set_octal(&mut block, 0);
                }
            } else {
                field.set_number(&mut block, number);
            }
        }
        match self.format {
            Format::Gnu => header::MAGIC.set(&mut block, header::GNU),
            Format::Ustar | Format::Pax => header::MAGIC.set(&mut block, header::POSIX),
            Format::V7 => {}
        }
        if self.format != Format::Gnu {
            header::MAJOR.set_octal(&mut block, 0);
            header::MINOR.set_octal(&mut block, 0);
        }
        if self.format == Format::V7 {
            let kind = if member.kind == b'0' { 0 } else { member.kind };
            header::KIND.set(&mut block, &[kind]);
        } else {
            header::KIND.set(&mut block, &[member.kind]);
            header::USER.set(&mut block, member.user.get(..31).unwrap_or(&member.user));
            header::GROUP.set(&mut block, member.group.get(..31).unwrap_or(&member.group));
        }
        block
    }

    /// The member of GNU that has the name of the next one.
    fn long_name(&mut self, kind: u8, name: &[u8]) -> io::Result<()> {
        let content = [name, b"\0"].concat();
        let member = Member {
            kind,
            mode: 0o644,
            user: b"root".to_vec(),
            group: b"root".to_vec(),
            size: content.len() as u64,
            ..nameless(member_time(0))
        };
        let mut block = self.block(&member);
        header::NAME.set(&mut block, b"././@LongLink");
        self.seal(&mut block)?;
        self.content(&content)?;
        self.pad(member.size)
    }

    /// The header of POSIX with the records of the next one.
    fn records(&mut self, member: &Member, records: &[u8]) -> io::Result<()> {
        let path = member.name.strip_suffix(b"/").unwrap_or(&member.name);
        let slash = path.iter().rposition(|byte| *byte == b'/');
        let (folder, base) = match slash {
            Some(at) => (path.get(..at), path.get(at + 1..)),
            None => (None, Some(path)),
        };
        let folder = folder.unwrap_or(b".");
        let name = [folder, b"/PaxHeaders/", base.unwrap_or_default()].concat();
        let extension = Member {
            kind: b'x',
            mode: 0o644,
            size: records.len() as u64,
            ..nameless(member_time(member.modified.seconds.max(0)))
        };
        let mut block = self.block(&extension);
        header::NAME.set(&mut block, name.get(..100).unwrap_or(&name));
        // It has no devices.
        header::MAJOR.set(&mut block, &[0; 8]);
        header::MINOR.set(&mut block, &[0; 8]);
        self.seal(&mut block)?;
        self.content(records)?;
        self.pad(extension.size)
    }

    fn seal(&mut self, block: &mut Block) -> io::Result<()> {
        header::seal(block);
        self.content(block)
    }

    /// Writes bytes of a content.
    pub(super) fn content(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Fills the last block of a content.
    pub(super) fn pad(&mut self, size: u64) -> io::Result<()> {
        self.zeros(header::padding(size))
    }

    pub(super) fn zeros(&mut self, mut count: u64) -> io::Result<()> {
        let zeros = [0; 4096];
        while count > 0 {
            let length = usize::try_from(count)
                .unwrap_or(usize::MAX)
                .min(zeros.len());
            self.content(zeros.get(..length).unwrap_or_default())?;
            count -= length as u64;
        }
        Ok(())
    }

    /// Ends the archive, and returns what it was written to.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.zeros(2 * BLOCK as u64)?;
        let rest = self.written % self.record;
        if rest > 0 {
            self.zeros(self.record - rest)?;
        }
        Ok(())
    }

    pub(super) fn into_inner(self) -> W {
        self.out
    }
}

fn member_time(seconds: i64) -> Moment {
    Moment { seconds, nanos: 0 }
}

fn nameless(modified: Moment) -> Member {
    Member {
        name: Vec::new(),
        link: Vec::new(),
        kind: 0,
        mode: 0,
        user_id: 0,
        group_id: 0,
        user: Vec::new(),
        group: Vec::new(),
        size: 0,
        modified,
        device: (0, 0),
        format: Format::Gnu,
        is_sparse: false,
    }
}

/// Splits a long name at a slash into name and prefix.
fn split(name: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let most = name.len().saturating_sub(1).min(155);
    let at = (1..=most).rev().find(|at| name.get(*at) == Some(&b'/'))?;
    let (prefix, rest) = name.split_at(at);
    let rest = rest
        .get(1..)
        .filter(|rest| !rest.is_empty() && rest.len() <= 100)?;
    Some((rest.to_vec(), prefix.to_vec()))
}

/// The records that a member needs, as GNU orders them.
fn records(member: &Member) -> Vec<u8> {
    let mut records = Vec::new();
    let fits = |number: i64, digits: u32| (0..8_i64.pow(digits)).contains(&number);
    if member.name.len() > 100 || !member.name.is_ascii() {
        record(&mut records, "path", &member.name);
    }
    if member.link.len() > 100 {
        record(&mut records, "linkpath", &member.link);
    }
    let size = i64::try_from(member.size).unwrap_or(i64::MAX);
    for (key, number, digits) in [
        ("uid", member.user_id, 7),
        ("gid", member.group_id, 7),
        ("size", size, 11),
    ] {
        if !fits(number, digits) {
            record(&mut records, key, number.to_string().as_bytes());
        }
    }
    let Moment { seconds, nanos } = member.modified;
    if nanos != 0 || !fits(seconds, 11) {
        record(&mut records, "mtime", time(member.modified).as_bytes());
    }
    records
}

fn time(Moment { seconds, nanos }: Moment) -> String {
    let (sign, seconds, nanos) = if seconds < 0 && nanos > 0 {
        let sign = if seconds == -1 { "-" } else { "" };
        (sign, seconds + 1, 1_000_000_000 - nanos)
    } else {
        ("", seconds, nanos)
    };
    let text = format!("{sign}{seconds}.{nanos:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Adds `LENGTH KEY=VALUE\n`, where the length counts its own digits.
fn record(records: &mut Vec<u8>, key: &str, value: &[u8]) {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while rest + length.to_string().len() != length {
        length = rest + length.to_string().len();
    }
    records.extend_from_slice(format!("{length} {key}=").as_bytes());
    records.extend_from_slice(value);
    records.push(b'\n');
}
