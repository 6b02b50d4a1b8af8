//! Reads the key `calls`: what the host keeps of the calls that were made.

use std::time::Duration;

use super::limits::read_bytes;
use crate::reader::{Cursor, Findings};
use crate::yaml::Value;

/// Fewest bytes: less holds no call with its arguments and its result.
const BYTES_MIN: u64 = 1 << 20;

/// Most bytes: 1 TiB.
const BYTES_MAX: u64 = 1 << 40;

/// Most days: ten years.
const DAYS_MAX: u64 = 3650;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What is kept in the state root of each call. The oldest calls are removed beyond the size or the age.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallsRule {
    /// Most bytes of the database. Default: 100 MiB.
    pub bytes: u64,
    /// How long a call is kept. Default: 7 days.
    pub age: Duration,
    /// Whether arguments and outputs are kept, too. Default: yes.
    pub arguments: bool,
    /// Whether the diffs of files are kept, too, of calls that are transactions. Default: no, as each then reads the files
    /// that it changes, before and after.
    pub diffs: bool,
}

impl Default for CallsRule {
    fn default() -> Self {
        Self {
            bytes: 100 << 20,
            age: 7 * DAY,
            arguments: true,
            diffs: false,
        }
    }
}

/// Whether calls are kept, and what of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Calls {
    Off,
    On(CallsRule),
}

impl Default for Calls {
    fn default() -> Self {
        Self::On(CallsRule::default())
    }
}

/// Reads `off`, `on`, or `{bytes, days, arguments, diffs}`.
pub(super) fn read(at: &Cursor<'_>, findings: &mut Findings) -> Option<Calls> {
    if let Value::Text(word) = &at.node.value {
        match word.as_str() {
            "off" => return Some(Calls::Off),
            "on" => return Some(Calls::default()),
            _ => {}
        }
    }
    if !matches!(at.node.value, Value::Map(_)) {
        return at.expected("'off', 'on' or a mapping such as {days: 7}", findings);
    }
    at.mapping(findings, |fields| {
        let default = CallsRule::default();
        let bytes = fields.read("bytes", |at, findings| {
            let bytes = read_bytes(at, findings)?;
            let fits = (BYTES_MIN..=BYTES_MAX).contains(&bytes);
            let refuse = |findings| at.refuse("'bytes' must be from 1MiB to 1TiB", findings);
            if fits { Some(bytes) } else { refuse(findings) }
        });
        let age = fields.read("days", |at, findings| {
            let Value::Integer(days) = at.node.value else {
                return at.expected("a number of days", findings);
            };
            let days = u32::try_from(days).ok();
            let days = days.filter(|days| (1..=DAYS_MAX).contains(&u64::from(*days)));
            let refuse = || format!("'days' must be from 1 to {DAYS_MAX}");
            days.map(|days| days * DAY)
                .or_else(|| at.refuse(refuse(), findings))
        });
        Some(Calls::On(CallsRule {
            bytes: bytes.unwrap_or(default.bytes),
            age: age.unwrap_or(default.age),
            arguments: fields
                .read("arguments", Cursor::boolean)
                .unwrap_or(default.arguments),
            diffs: fields
                .read("diffs", Cursor::boolean)
                .unwrap_or(default.diffs),
        }))
    })
}
