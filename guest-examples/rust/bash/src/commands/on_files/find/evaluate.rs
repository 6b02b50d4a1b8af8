//! Tests on one entry.

use std::cmp::Ordering;
use std::io;

use super::super::stat::USER_ID;
use super::entry::Entry;
use super::expression::{Bits, Primary};
use super::times::nanos;
use crate::commands::call::Call;

/// Evaluates a primary that only looks; an action is true.
pub(super) fn test(primary: &Primary, entry: &Entry, call: &Call) -> io::Result<bool> {
    Ok(match primary {
        Primary::Always(value) => *value,
        Primary::Name(glob) => glob.matches(entry.name()),
        Primary::Path(glob) => glob.matches(&entry.shown),
        Primary::LinkTarget(glob) => entry
            .link_target(call)
            .is_some_and(|target| glob.matches(&target)),
        Primary::Regex(pattern) => {
            let text = entry.shown.as_bytes();
            let matcher = pattern.matcher(text).map_err(io::Error::other)?;
            let place = matcher.find(text, 0).map_err(io::Error::other)?;
            place == Some(0..text.len())
        }
        Primary::Kind { kinds, of_other } => {
            let kind = if *of_other {
                entry.other_kind(call)
            } else {
                entry.kind
            };
            kinds.contains(&kind)
        }
        Primary::Size { amount, unit } => amount.is(entry.size(call)?.div_ceil(*unit)),
        Primary::Empty if entry.kind.is_dir() => call.files.names(&entry.place)?.is_empty(),
        Primary::Empty => entry.kind.is_file() && entry.metadata(call)?.size == 0,
        Primary::Age {
            time,
            order,
            nanos: reference,
            unit,
        } => {
            let since = nanos(time.of(entry, call)?) - reference;
            match order {
                Ordering::Greater => since < 0,
                Ordering::Less => since > 0,
                Ordering::Equal => (0..*unit).contains(&since),
            }
        }
        Primary::Newer { time, than } => time.of(entry, call)? > *than,
        Primary::Mode { bits, test } => {
            let mode = entry.metadata(call)?.mode & 0o7777;
            match test {
                Bits::Exactly => mode == *bits,
                Bits::All => mode & bits == *bits,
                Bits::Any => mode & bits != 0,
            }
        }
        Primary::Access(bit) => {
            let metadata = call.files.target_metadata(&entry.place);
            metadata.is_ok_and(|metadata| metadata.mode & bit != 0)
        }
        Primary::Owner(amount) => amount.is(USER_ID.into()),
        Primary::Links(amount) => amount.is(entry.status(call)?.links),
        Primary::Inode(amount) => amount.is(entry.status(call)?.inode),
        Primary::SameFile { device, inode } => {
            let status = entry.status(call)?;
            status.device == *device && status.inode == *inode
        }
        Primary::Print { .. }
        | Primary::Format { .. }
        | Primary::List(_)
        | Primary::Delete
        | Primary::Prune
        | Primary::Quit
        | Primary::Command(_)
        | Primary::Collect(_) => true,
    })
}
