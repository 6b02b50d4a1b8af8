//! The values of options of `tar`.

use super::member::Format;
use super::options::misuse;
use super::reader::fatal;
use super::settings::Owner;
use crate::commands::archives::codec::Codec;
use crate::commands::call::{Call, Failure, Links};
use crate::commands::dates::{self, Moment, Zone};
use crate::files::text_of;

/// The codec and level of a program with its options: `gzip -9`.
pub(super) fn program(text: &str) -> Result<(Codec, u32), Failure> {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap_or_default();
    let base = name.rsplit('/').next().unwrap_or(name);
    let (codec, mut level) = match base {
        "gzip" | "pigz" => (Codec::Gzip, 6),
        "bzip2" | "pbzip2" | "lbzip2" => (Codec::Bzip2, 9),
        "xz" | "pxz" => (Codec::Xz, 6),
        _ => {
            return Err(Failure::usage(format!(
                "the program {base} is not here; these are: gzip bzip2 xz"
            )));
        }
    };
    for word in words {
        level = match word {
            "--best" => 9,
            "--fast" => 1,
            // The name and time of the file, threads: what is written has none.
            "-n" | "-T0" | "-c" => continue,
            _ => word
                .strip_prefix('-')
                .and_then(|level| level.parse().ok())
                .filter(|level| *level <= 9)
                .ok_or_else(|| {
                    let text = format!("the option {word} of {base} is not implemented here");
                    Failure::usage(text)
                })?,
        };
    }
    Ok((codec, level))
}

/// The codec that the name of an archive asks for with `-a`.
pub(super) fn of_suffix(name: &str) -> Result<Option<Codec>, Failure> {
    let base = name.rsplit('/').next().unwrap_or(name);
    let suffix = base.rsplit_once('.').map_or("", |(_, suffix)| suffix);
    Ok(match suffix {
        "gz" | "tgz" | "taz" => Some(Codec::Gzip),
        "bz2" | "tz2" | "tbz2" | "tbz" => Some(Codec::Bzip2),
        "xz" | "txz" => Some(Codec::Xz),
        "zst" | "tzst" | "lz" | "lzma" | "tlz" | "lzo" | "Z" | "taZ" => {
            return Err(Failure::usage(format!(
                "{name}: no program here packs .{suffix}; these are packed: .gz .bz2 .xz"
            )));
        }
        _ => None,
    })
}

/// The keywords of warnings that an argument turns off.
pub(super) fn warning(value: &str) -> Result<Option<String>, Failure> {
    const KEYWORDS: [&str; 23] = [
        "all",
        "alone-zero-block",
        "bad-dumpdir",
        "cachedir",
        "contiguous-cast",
        "decompress-program",
        "existing-file",
        "failed-read",
        "file-changed",
        "file-ignored",
        "file-removed",
        "file-shrank",
        "file-unchanged",
        "filename-with-nuls",
        "ignore-archive",
        "ignore-newer",
        "missing-zero-blocks",
        "new-directory",
        "record-size",
        "timestamp",
        "unknown-cast",
        "unknown-keyword",
        "verbose",
    ];
    let keyword = value.strip_prefix("no-").unwrap_or(value);
    if value != "none" && !KEYWORDS.contains(&keyword) {
        return Err(Failure::usage(format!("unknown warning '{value}'")));
    }
    let is_off = value == "none" || value.starts_with("no-");
    let keyword = if value == "none" { "all" } else { keyword };
    Ok(is_off.then(|| keyword.to_owned()))
}

/// `NAME`, `ID` or `NAME:ID`.
pub(super) fn owner(text: &str, users: &[(&str, u32)]) -> Owner {
    let id_of = |text: &str| text.parse::<i64>().ok().filter(|_| !text.starts_with('+'));
    if let Some((name, id)) = text.split_once(':') {
        let name = (!name.is_empty()).then(|| name.to_owned());
        return Owner {
            id: id_of(id),
            name: Some(name.unwrap_or_default()),
        };
    }
    if let Some(id) = id_of(text) {
        let mut users = users.iter();
        let name = users.find(|(_, known)| i64::from(*known) == id);
        let name = name.map_or("", |(name, _)| name);
        return Owner {
            id: Some(id),
            name: Some(name.to_owned()),
        };
    }
    let user = users.iter().find(|(name, _)| *name == text);
    Owner {
        id: user.map(|(_, id)| i64::from(*id)),
        name: Some(text.to_owned()),
    }
}

/// A date, or the time of a file whose name begins with `/` or `.`.
pub(super) fn moment(call: &Call, text: &str, zone: &Zone) -> Result<Moment, Failure> {
    if text.starts_with(['/', '.']) {
        let metadata = call
            .metadata(text, Links::Follow)
            .map_err(|error| fatal(format_args!("{text}: Cannot stat: {}", text_of(&error))))?;
        return Ok(metadata.modified.into());
    }
    dates::read(text, Moment::now(), zone)
        .ok_or_else(|| Failure::usage(format!("unknown date format {}", call.quoted(text))))
}

pub(super) fn format(text: &str) -> Result<Format, Failure> {
    match text {
        "gnu" | "oldgnu" => Ok(Format::Gnu),
        "pax" | "posix" => Ok(Format::Pax),
        "ustar" => Ok(Format::Ustar),
        "v7" => Ok(Format::V7),
        _ => Err(misuse(format_args!("{text}: Invalid archive format"))),
    }
}

/// The size of records: a multiple of 512, up to 1 MiB.
pub(super) fn record(text: &str, unit: u64) -> Result<u64, Failure> {
    let size = crate::commands::on_text::sizes::size(text).and_then(|size| size.checked_mul(unit));
    match size {
        Some(size) if size > 0 && size % 512 == 0 && size <= 1 << 20 => Ok(size),
        Some(size) if size > 0 && size <= 1 << 20 => {
            Err(misuse("Record size must be a multiple of 512."))
        }
        _ => Err(misuse("Invalid blocking factor or record size")),
    }
}
