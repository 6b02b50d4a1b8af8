//! The format of an artifact: its name, its signature, and how it is verified before it is mapped.
//!
//! A file holds the compiled code, the initial data of its memory at a multiple of [`PAGE`], the
//! [`ComponentRecord`] as JSON, the [footer](Footer), the signature (32 bytes), and a mark that is missing
//! where a file was cut short.

use std::fs::File;
use std::hash::{Hash, Hasher};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::{fmt, io};

use rustix::fs::OFlags;
use toolhost_files::{NotPrivate, PrivateFile, platform};
use wasmtime::Engine;
use wasmtime::component::Component;

use super::record::ComponentRecord;
use crate::component::tree_hash::{FileAnd, hash};
use crate::engine::memory::image::{Image, PAGE};

/// The end of every artifact.
const MARK: &[u8; 8] = b"toolhost";

/// Footer, signature and mark, in bytes.
const TRAILER: u64 = Footer::LEN as u64 + MAC + 8;

/// Signature, in bytes.
const MAC: u64 = blake3::OUT_LEN as u64;

/// Largest artifact that is read, in bytes.
const ARTIFACT_MAX: u64 = 1 << 30;

/// Largest record that is read, in bytes: `describe` answers at most 1 MiB, which JSON may double.
const RECORD_MAX: usize = 16 << 20;

/// What artifacts are signed with.
pub(super) struct Key {
    secret: [u8; blake3::KEY_LEN],
    id: String,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Key").field(&self.id).finish()
    }
}

impl Key {
    pub(super) fn new(secret: [u8; blake3::KEY_LEN]) -> Self {
        // Includes the version of the format, so that artifacts of another format have other names.
        let id = blake3::keyed_hash(&secret, b"toolhost cache key, format 6").to_hex();
        Self {
            secret,
            id: id.chars().take(KEY_ID).collect(),
        }
    }

    /// Part of the file name: a directory may hold artifacts of several keys.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The signature of a file of this name: of its first `len` bytes, and then the name. Hashing is
    /// fastest while what is added begins at a multiple of BLAKE3's chunks.
    fn signature(&self, file: &File, len: u64, name: &Name) -> io::Result<blake3::Hash> {
        let end = name.to_signed();
        let input = FileAnd {
            file,
            len,
            end: &end,
        };
        hash(&input, Some(&self.secret))
    }
}

/// Hexadecimal digits of a component's digest, of an engine, and of a key's id.
const COMPONENT: usize = 64;
const ENGINE: usize = 16;
const KEY_ID: usize = 8;

/// The file name of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    /// The component's digest.
    pub(super) component: String,
    pub(super) engine: u64,
    pub(super) key_id: String,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (engine, key) = (self.engine, &self.key_id);
        write!(f, "{}-{engine:016x}-{key}.cwasm", self.component)
    }
}

impl Name {
    /// What a signature covers of it. The parts have fixed lengths.
    fn to_signed(&self) -> Vec<u8> {
        [self.component.as_bytes(), &self.engine.to_le_bytes()].concat()
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let hex = |text: &str, digits: usize| {
            let digit = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
            text.len() == digits && text.bytes().all(digit)
        };
        let (component, rest) = text.strip_suffix(".cwasm")?.split_once('-')?;
        let (engine, key_id) = rest.split_once('-')?;
        let name = hex(component, COMPONENT) && hex(engine, ENGINE) && hex(key_id, KEY_ID);
        name.then_some(())?;
        Some(Self {
            component: component.to_owned(),
            engine: u64::from_str_radix(engine, 16).ok()?,
            key_id: key_id.to_owned(),
        })
    }
}

/// An artifact whose signature holds.
pub(super) struct Verified {
    pub(super) file: File,
    pub(super) record: ComponentRecord,
    footer: Footer,
}

/// Where the parts of an artifact lie: five numbers of 8 bytes, little-endian.
#[derive(Debug, Clone, Copy, Default)]
struct Footer {
    /// Where the initial data begins in the file.
    image_at: u64,
    /// Its length; 0 where there is none.
    image_len: u64,
    /// Where it begins in the memory.
    image_offset: u64,
    /// Bytes that the memory begins with.
    image_minimum: u64,
    /// Length of the record, which ends where the footer begins.
    record_len: u64,
}

impl Footer {
    const LEN: usize = 40;

    fn to_bytes(self) -> Vec<u8> {
        let numbers = [
            self.image_at,
            self.image_len,
            self.image_offset,
            self.image_minimum,
            self.record_len,
        ];
        numbers.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        let (numbers, _) = bytes.as_chunks();
        let number = |at: usize| {
            numbers
                .get(at)
                .map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        Self {
            image_at: number(0),
            image_len: number(1),
            image_offset: number(2),
            image_minimum: number(3),
            record_len: number(4),
        }
    }
}

/// Why an artifact is not mapped.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    #[error("there is none")]
    Absent,
    #[error(transparent)]
    NotPrivate(NotPrivate),
    #[error("it has more than {ARTIFACT_MAX} bytes, or its record more than {RECORD_MAX}")]
    TooLarge,
    #[error("its end is missing")]
    Truncated,
    #[error("its signature does not match")]
    Tampered,
    #[error("it cannot be read: {0}")]
    Io(#[source] io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        match error.downcast() {
            Ok(not_private) => Self::NotPrivate(not_private),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Absent,
            Err(error) => Self::Io(error),
        }
    }
}

/// Adds the initial data, the record and the signature to compiled code.
pub(super) fn sign(
    bytes: &mut Vec<u8>,
    image: Option<&Image>,
    record: &ComponentRecord,
    key: &Key,
    name: &Name,
) -> serde_json::Result<()> {
    let record = serde_json::to_vec(record)?;
    let mut footer = Footer {
        record_len: record.len() as u64,
        ..Footer::default()
    };
    if let Some(image) = image {
        bytes.resize(bytes.len().next_multiple_of(PAGE), 0);
        footer.image_at = bytes.len() as u64;
        footer.image_len = image.bytes().len() as u64;
        footer.image_offset = image.range().start as u64;
        footer.image_minimum = image.minimum() as u64;
        bytes.extend_from_slice(image.bytes());
    }
    bytes.extend_from_slice(&record);
    bytes.extend_from_slice(&footer.to_bytes());
    let mut hasher = blake3::Hasher::new_keyed(&key.secret);
    hasher.update(bytes).update(&name.to_signed());
    bytes.extend_from_slice(hasher.finalize().as_bytes());
    bytes.extend_from_slice(MARK);
    Ok(())
}

/// Opens an artifact once and checks that this key signed it for that component and engine.
pub(super) fn verify(path: &Path, key: &Key, name: &Name) -> Result<Verified, Refused> {
    let file = PrivateFile::open(path, OFlags::RDONLY)?.into_file();
    let length = file.metadata()?.len();
    if length > ARTIFACT_MAX {
        return Err(Refused::TooLarge);
    }
    let signed = length
        .checked_sub(MAC + MARK.len() as u64)
        .filter(|_| length >= TRAILER)
        .ok_or(Refused::Truncated)?;
    let mut end = [0; MAC as usize + MARK.len()];
    file.read_exact_at(&mut end, signed)?;
    let (mac, mark) = end.split_first_chunk().ok_or(Refused::Truncated)?;
    if mark != MARK {
        return Err(Refused::Truncated);
    }
    // Compares in constant time.
    if key.signature(&file, signed, name)? != blake3::Hash::from_bytes(*mac) {
        return Err(Refused::Tampered);
    }
    let (footer, record) = footer_of(&file, signed)?;
    Ok(Verified {
        file,
        record,
        footer,
    })
}

/// Returns the record of an artifact whose signature was not checked: for choosing which one to [verify].
pub(super) fn unverified_record(path: &Path) -> Result<ComponentRecord, Refused> {
    let file = PrivateFile::open(path, OFlags::RDONLY)?.into_file();
    let signed = file.metadata()?.len().checked_sub(MAC + MARK.len() as u64);
    footer_of(&file, signed.ok_or(Refused::Truncated)?).map(|(_, record)| record)
}

/// Returns the compiled code of an artifact that was verified, without the initial data.
pub(super) fn code(verified: &Verified) -> Result<Vec<u8>, Refused> {
    let length = usize::try_from(verified.footer.image_at).map_err(|_| Refused::Tampered)?;
    let mut code = vec![0; length];
    verified.file.read_exact_at(&mut code, 0)?;
    Ok(code)
}

/// The footer at the end of the signed bytes, and the record before it.
fn footer_of(file: &File, signed: u64) -> Result<(Footer, ComponentRecord), Refused> {
    let end = signed.checked_sub(Footer::LEN as u64);
    let end = end.ok_or(Refused::Truncated)?;
    let mut footer = [0; Footer::LEN];
    file.read_exact_at(&mut footer, end)?;
    let footer = Footer::from_bytes(footer);
    let start = end.checked_sub(footer.record_len);
    let start = start.ok_or(Refused::Tampered)?;
    let length = usize::try_from(footer.record_len).map_err(|_| Refused::Tampered)?;
    if length > RECORD_MAX {
        return Err(Refused::TooLarge);
    }
    let mut record = vec![0; length];
    file.read_exact_at(&mut record, start)?;
    let record = serde_json::from_slice(&record).map_err(|_| Refused::Tampered)?;
    Ok((footer, record))
}

/// Maps the file that was verified, even if its name was removed meanwhile.
#[expect(
    unsafe_code,
    reason = "the bytes behind this descriptor were signed with our key, and the file is ours and read-only"
)]
pub(super) fn map(engine: &Engine, verified: &Verified) -> Result<Component, Refused> {
    let same = platform::fd_path(&verified.file);
    let mapped = unsafe { Component::deserialize_file(engine, same) };
    mapped.map_err(|error| Refused::Io(io::Error::other(error)))
}

/// Maps the initial data in the file that was verified.
pub(super) fn map_image(verified: &Verified) -> Result<Option<Image>, Refused> {
    let Footer {
        image_at,
        image_len,
        image_offset,
        image_minimum,
        ..
    } = verified.footer;
    if image_len == 0 {
        return Ok(None);
    }
    let number = |number| usize::try_from(number).map_err(|_| Refused::Tampered);
    let (start, len) = (number(image_offset)?, number(image_len)?);
    let minimum = number(image_minimum)?;
    let file = verified.file.try_clone()?;
    let image = Image::map(file, image_at, start..start + len, minimum)?;
    Ok(Some(image))
}

/// Hashes what compiled code must match in an engine.
pub(super) fn compatibility(engine: &Engine) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_parses_to_itself_and_others_are_refused() {
        let name = Name {
            component: "ab".repeat(32),
            engine: 0x00c0_ffee,
            key_id: "0123abcd".to_owned(),
        };
        assert_eq!(Name::parse(&name.to_string()), Some(name.clone()));
        let written = name.to_string();
        for other in [
            "",
            "x.cwasm",
            &written.replace(".cwasm", ".wasm"),
            &written.replace("ab", "AB"),
            &written.replace('-', ""),
            &written.replace("0123abcd", "0123abcde"),
            &format!("x{written}"),
        ] {
            assert_eq!(Name::parse(other), None, "{other}");
        }
    }
}
