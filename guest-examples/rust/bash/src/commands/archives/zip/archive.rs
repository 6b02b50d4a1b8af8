//! The format of `.zip` files (PKWARE's APPNOTE), without ZIP64 and encryption.

use std::io::{Read as _, Write as _};
use std::time::SystemTime;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc, read::DeflateDecoder};

use crate::commands::dates::{Civil, Moment, Zone};

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// The field of a time in seconds since 1970.
const TIME: u16 = 0x5455;
/// The most bytes of one unpacked file.
const MOST_BYTES: u64 = 256 << 20;

/// A file's bytes as they are stored.
pub(in crate::commands::archives) struct Content {
    pub(in crate::commands::archives) packed: Vec<u8>,
    pub(in crate::commands::archives) is_deflated: bool,
    is_text: bool,
    size: u32,
    crc: u32,
}

/// Whether `zip` takes a content for a text: it has characters and white space, and no other control characters.
fn is_text(bytes: &[u8]) -> bool {
    let is_binary = |byte: &u8| matches!(byte, 0..=6 | 14..=25 | 28..=31);
    let is_shown = |byte: &u8| matches!(byte, 9 | 10 | 13 | 32..);
    !bytes.iter().any(is_binary) && bytes.iter().any(is_shown)
}

impl Content {
    pub(in crate::commands::archives) fn of(bytes: Vec<u8>, level: u32) -> Self {
        let mut crc = Crc::new();
        crc.update(&bytes);
        let crc = crc.sum();
        let is_text = is_text(&bytes);
        let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let deflated = (level > 0 && !bytes.is_empty()).then(|| {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(level));
            encoder.write_all(&bytes).and_then(|()| encoder.finish())
        });
        match deflated {
            Some(Ok(packed)) if packed.len() < bytes.len() => Self {
                packed,
                is_deflated: true,
                is_text,
                size,
                crc,
            },
            _ => Self {
                packed: bytes,
                is_deflated: false,
                is_text,
                size,
                crc,
            },
        }
    }
}

pub(in crate::commands::archives) struct Entry {
    pub(in crate::commands::archives) name: String,
    /// With the type of the file.
    pub(in crate::commands::archives) mode: u32,
    /// What `zip` takes for a text.
    pub(in crate::commands::archives) is_text: bool,
    /// Whether there are fields beside those of each entry.
    pub(in crate::commands::archives) has_extra: bool,
    /// The version of the program that made the entry, in tenths.
    pub(in crate::commands::archives) version: u8,
    /// Date and time in the archive's zone.
    pub(in crate::commands::archives) dos_time: u32,
    pub(in crate::commands::archives) modified: Option<i64>,
    method: u16,
    flags: u16,
    size: u32,
    crc: u32,
    packed: Vec<u8>,
}

/// Date and time as MS-DOS has them, to two seconds.
pub(in crate::commands::archives) fn dos_time(time: SystemTime, zone: &Zone) -> u32 {
    let civil = zone.civil(Moment::from(time).seconds);
    let date = (civil.year - 1980).clamp(0, 127) << 9 | civil.month << 5 | civil.day;
    let time = civil.hour << 11 | civil.minute << 5 | civil.second / 2;
    u32::try_from(date << 16 | time).unwrap_or(0x0021_0000)
}

impl Entry {
    pub(super) fn new(
        name: &str,
        mode: u32,
        modified: SystemTime,
        zone: &Zone,
        content: Content,
    ) -> Self {
        Self {
            name: name.to_owned(),
            mode,
            dos_time: dos_time(modified, zone),
            modified: Some(Moment::from(modified).seconds),
            method: if content.is_deflated { 8 } else { 0 },
            flags: if name.is_ascii() { 0 } else { 0x800 },
            is_text: content.is_text,
            has_extra: true,
            version: 30,
            size: content.size,
            crc: content.crc,
            packed: content.packed,
        }
    }

    pub(in crate::commands::archives) fn is_folder(&self) -> bool {
        self.name.ends_with('/')
    }

    pub(in crate::commands::archives) fn is_link(&self) -> bool {
        self.mode & 0o170_000 == 0o120_000
    }

    pub(in crate::commands::archives) fn is_deflated(&self) -> bool {
        self.method == 8
    }

    pub(in crate::commands::archives) fn size(&self) -> u64 {
        self.size.into()
    }

    pub(in crate::commands::archives) fn packed_size(&self) -> usize {
        self.packed.len()
    }

    pub(in crate::commands::archives) fn crc(&self) -> u32 {
        self.crc
    }

    /// On the clocks of the archive's author.
    pub(in crate::commands::archives) fn civil(&self) -> Civil {
        let (date, time) = (
            i64::from(self.dos_time >> 16),
            i64::from(self.dos_time & 0xFFFF),
        );
        Civil {
            year: (date >> 9) + 1980,
            month: date >> 5 & 15,
            day: date & 31,
            hour: time >> 11,
            minute: time >> 5 & 63,
            second: (time & 31) * 2,
        }
    }

    /// Unpacks the file, and checks its sum.
    pub(in crate::commands::archives) fn content(&self) -> Result<Vec<u8>, String> {
        if self.flags & 1 != 0 {
            return Err("is encrypted, and passwords are not implemented here".to_owned());
        }
        let bytes = match self.method {
            0 => self.packed.clone(),
            8 => {
                let mut bytes = Vec::new();
                let decoder = DeflateDecoder::new(&*self.packed);
                let read = decoder.take(MOST_BYTES + 1).read_to_end(&mut bytes);
                read.map_err(|error| format!("invalid compressed data to inflate: {error}"))?;
                if bytes.len() as u64 > MOST_BYTES {
                    return Err("is larger than 256 MiB".to_owned());
                }
                bytes
            }
            method => return Err(format!("unsupported compression method {method}")),
        };
        let mut crc = Crc::new();
        crc.update(&bytes);
        if crc.sum() != self.crc {
            return Err(format!(
                "bad CRC {:08x}  (should be {:08x})",
                crc.sum(),
                self.crc
            ));
        }
        Ok(bytes)
    }

    fn fields(&self) -> Vec<u8> {
        let mut fields = Vec::new();
        if let Some(seconds) = self
            .modified
            .and_then(|seconds| i32::try_from(seconds).ok())
        {
            fields.extend(TIME.to_le_bytes());
            fields.extend(5_u16.to_le_bytes());
            fields.push(1);
            fields.extend(seconds.to_le_bytes());
        }
        fields
    }

    /// What the local and the central header have in common.
    fn head(&self, fields: usize) -> Result<Vec<u8>, String> {
        let packed = u32::try_from(self.packed.len()).map_err(|_| "file is too large")?;
        let name = u16::try_from(self.name.len()).map_err(|_| "name is too long")?;
        let needed: u16 = if self.method == 8 || self.is_folder() {
            20
        } else {
            10
        };
        let mut head = Vec::new();
        head.extend(needed.to_le_bytes());
        head.extend((self.flags & !8).to_le_bytes());
        head.extend(self.method.to_le_bytes());
        head.extend(self.dos_time.to_le_bytes().get(..2).unwrap_or_default());
        head.extend(self.dos_time.to_le_bytes().get(2..).unwrap_or_default());
        head.extend(self.crc.to_le_bytes());
        head.extend(packed.to_le_bytes());
        head.extend(self.size.to_le_bytes());
        head.extend(name.to_le_bytes());
        head.extend(u16::try_from(fields).unwrap_or(0).to_le_bytes());
        Ok(head)
    }
}

/// Returns the bytes of an archive.
pub(super) fn write(entries: &[Entry]) -> Result<Vec<u8>, String> {
    let (mut out, mut central) = (Vec::new(), Vec::new());
    for entry in entries {
        let at = u32::try_from(out.len()).map_err(|_| "the archive is larger than 4 GiB")?;
        let fields = entry.fields();
        out.extend(LOCAL.to_le_bytes());
        out.extend(entry.head(fields.len())?);
        out.extend(entry.name.as_bytes());
        out.extend(&fields);
        out.extend(&entry.packed);
        central.extend(CENTRAL.to_le_bytes());
        // Version 3.0, made on Unix.
        central.extend([30, 3]);
        central.extend(entry.head(fields.len())?);
        // No comment, one disk.
        central.extend([0; 4]);
        central.extend(u16::from(entry.is_text).to_le_bytes());
        let attributes = entry.mode << 16 | if entry.is_folder() { 0x10 } else { 0 };
        central.extend(attributes.to_le_bytes());
        central.extend(at.to_le_bytes());
        central.extend(entry.name.as_bytes());
        central.extend(&fields);
    }
    let count = u16::try_from(entries.len()).map_err(|_| "there are more than 65535 files")?;
    let at = u32::try_from(out.len()).map_err(|_| "the archive is larger than 4 GiB")?;
    let length = u32::try_from(central.len()).map_err(|_| "the archive is larger than 4 GiB")?;
    out.extend(central);
    out.extend(END.to_le_bytes());
    out.extend([0; 4]);
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend(length.to_le_bytes());
    out.extend(at.to_le_bytes());
    out.extend([0; 2]);
    Ok(out)
}

/// An archive that is read.
pub(in crate::commands::archives) struct Archive<'a> {
    bytes: &'a [u8],
    count: u16,
    central: usize,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

impl<'a> Archive<'a> {
    pub(in crate::commands::archives) fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let none = "End-of-central-directory signature not found";
        let first = bytes.len().saturating_sub(22 + 0xFFFF);
        let end = (first..bytes.len().saturating_sub(21))
            .rev()
            .find(|at| u32_at(bytes, *at) == Some(END));
        let end = end.ok_or(none)?;
        let count = u16_at(bytes, end + 10).ok_or(none)?;
        let central = u32_at(bytes, end + 16).ok_or(none)?;
        if central == u32::MAX || count == u16::MAX {
            return Err("ZIP64 is not implemented here".to_owned());
        }
        let central = usize::try_from(central).map_err(|_| none)?;
        Ok(Self {
            bytes,
            count,
            central,
        })
    }

    pub(in crate::commands::archives) fn entries(&self) -> Result<Vec<Entry>, String> {
        let (mut entries, mut at) = (Vec::new(), self.central);
        let mut left = self.bytes.len();
        for _ in 0..self.count {
            let (entry, next) = self.entry(at).ok_or("the central directory is cut off")?;
            left = left
                .checked_sub(entry.packed.len())
                .ok_or("error: invalid zip file with overlapped components (possible zip bomb)")?;
            entries.push(entry);
            at = next;
        }
        Ok(entries)
    }

    fn entry(&self, at: usize) -> Option<(Entry, usize)> {
        let bytes = self.bytes;
        if u32_at(bytes, at)? != CENTRAL {
            return None;
        }
        let length = |offset: usize| u16_at(bytes, at + offset).map(usize::from);
        let (name, fields, comment) = (length(28)?, length(30)?, length(32)?);
        let packed = usize::try_from(u32_at(bytes, at + 20)?).ok()?;
        let local = usize::try_from(u32_at(bytes, at + 42)?).ok()?;
        if u32_at(bytes, local)? != LOCAL {
            return None;
        }
        let data = local
            + 30
            + usize::from(u16_at(bytes, local + 26)?)
            + usize::from(u16_at(bytes, local + 28)?);
        let name_bytes = bytes.get(at + 46..at + 46 + name)?;
        let made_on_unix = *bytes.get(at + 5)? == 3;
        let attributes = u32_at(bytes, at + 38)?;
        let entry = Entry {
            name: String::from_utf8_lossy(name_bytes).into_owned(),
            mode: if made_on_unix { attributes >> 16 } else { 0 },
            dos_time: u32::from(u16_at(bytes, at + 14)?) << 16 | u32::from(u16_at(bytes, at + 12)?),
            modified: time_of(bytes.get(at + 46 + name..at + 46 + name + fields)?),
            method: u16_at(bytes, at + 10)?,
            flags: u16_at(bytes, at + 8)?,
            is_text: u16_at(bytes, at + 36)? & 1 == 1,
            has_extra: fields > 0,
            version: *bytes.get(at + 4)?,
            size: u32_at(bytes, at + 24)?,
            crc: u32_at(bytes, at + 16)?,
            packed: bytes.get(data..data + packed)?.to_vec(),
        };
        Some((entry, at + 46 + name + fields + comment))
    }
}

/// The time of the field [`TIME`].
fn time_of(mut fields: &[u8]) -> Option<i64> {
    while let (Some(id), Some(length)) = (u16_at(fields, 0), u16_at(fields, 2)) {
        let end = 4 + usize::from(length);
        if id == TIME && fields.get(4)? & 1 == 1 {
            let seconds: [u8; 4] = fields.get(5..9)?.try_into().ok()?;
            return Some(i32::from_le_bytes(seconds).into());
        }
        fields = fields.get(end..)?;
    }
    None
}
