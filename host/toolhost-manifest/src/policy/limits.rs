//! The keys of `limits`: their names, units and ranges.

use std::time::Duration;

use toolhost_contract::Limits;

use crate::reader::{Cursor, Findings};
use crate::yaml::Value;
use toolhost_contract::text::short;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

const DAY_MS: u64 = 86_400_000;

/// The format of an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// An integer.
    Count,
    /// An integer, or a string such as `64MiB`.
    Bytes,
}

/// The amounts that a key may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Amounts {
    pub(super) unit: Unit,
    pub(super) least: u64,
    pub(super) most: u64,
}

/// A key of a policy's `limits`.
#[derive(Debug)]
#[non_exhaustive]
pub struct LimitInfo {
    /// The key.
    pub name: &'static str,
    /// What it counts.
    pub what: &'static str,
    /// What happens beyond the limit.
    pub beyond: &'static str,
    amounts: Amounts,
    get: fn(&Limits) -> u64,
    set: fn(&mut Limits, u64),
}

macro_rules! key {
    ($name:literal, $unit:ident, $least:expr, $most:expr, $field:ident, $what:literal, $beyond:literal) => {
        LimitInfo {
            name: $name,
            amounts: Amounts {
                unit: Unit::$unit,
                least: $least,
                most: $most,
            },
            what: $what,
            beyond: $beyond,
            get: |limits| limits.$field as u64,
            // All values fit: they are below the limits of a 64-bit platform.
            set: |limits, value| limits.$field = value.try_into().unwrap_or(limits.$field),
        }
    };
}

macro_rules! millis {
    ($name:literal, $field:ident, $what:literal, $beyond:literal) => {
        LimitInfo {
            name: $name,
            amounts: Amounts {
                unit: Unit::Count,
                least: 1,
                most: DAY_MS,
            },
            what: $what,
            beyond: $beyond,
            get: |limits| u64::try_from(limits.$field.as_millis()).unwrap_or(u64::MAX),
            set: |limits, value| limits.$field = Duration::from_millis(value),
        }
    };
}

/// All keys, in the order of [`Limits`]. Because of the ranges, a typing error cannot remove a limit.
#[rustfmt::skip]
pub(super) static KEYS: [LimitInfo; 31] = [
    millis!("deadlineMs", deadline,
        "milliseconds of running; waiting for a call slot does not count", "`E_TOOL_TIMEOUT`; the call slot is free at once"),
    key!("memoryBytes", Bytes, 64 * KIB, 4 * GIB, memory_bytes,
        "all linear memories of a call, and what the host holds for its HTTP requests and its transaction, in total", "`E_TOOL_OUT_OF_MEMORY`"),
    key!("tableElements", Count, 0, 100_000, table_elements,
        "elements of all tables of a call, in total", "`table.grow` fails; at the start `E_TOOL_TRAP`"),
    key!("instances", Count, 1, 1_000, instances,
        "core instances, memories and tables of a component, each", "`E_TOOL_TRAP`"),
    key!("handles", Count, 1, 10_000, handles,
        "live handles: descriptors, streams, pollables", "`E_TOOL_TRAP`"),
    key!("hostcallBytes", Bytes, KIB, GIB, hostcall_bytes,
        "what one host call, or the answer, passes to the host", "`E_TOOL_OUTPUT_TOO_LARGE`"),
    key!("randomBytes", Bytes, 0, 64 * MIB, random_bytes,
        "one `get-random-bytes`", "`E_TOOL_TRAP`"),
    key!("outputBytes", Bytes, KIB, GIB, output_bytes,
        "the result's JSON", "`E_TOOL_OUTPUT_TOO_LARGE`"),
    // The JSON parser's own depth ends at 128, and providers' at less.
    key!("jsonDepth", Count, 1, 64, json_depth,
        "nesting of arguments and results", "`E_TOOL_INVALID_ARGS`, `E_TOOL_INVALID_OUTPUT`"),
    key!("jsonValues", Count, 1, 100_000_000, json_values,
        "values that a result is made of", "`E_TOOL_INVALID_OUTPUT`"),
    key!("inputBytes", Bytes, KIB, GIB, input_bytes,
        "the arguments' JSON; the message around them may have four times as many", "`E_TOOL_INVALID_ARGS`"),
    key!("stdioBytes", Bytes, 0, 64 * MIB, stdio_bytes,
        "kept of stdout and of stderr, half from the head and half from the tail", "cut and marked; no error"),
    key!("logRecords", Count, 0, 1_000_000, log_records,
        "log records kept", "dropped and counted; no error"),
    key!("logRecordBytes", Bytes, 64, MIB, log_record_bytes,
        "kept of one log record", "cut and marked; no error"),
    key!("diskBytes", Bytes, 0, TIB, disk_bytes,
        "written to files, however they are written, and 4 KiB for each name made", "no space to the tool; `E_TOOL_DISK_LIMIT` if it fails for it"),
    key!("files", Count, 0, 10_000_000, files,
        "files, directories and links made", "no space to the tool; `E_TOOL_DISK_LIMIT` if it fails for it"),
    key!("workdirBytes", Bytes, 0, 1024 * TIB, workdir_bytes,
        "growth of the workdir by all calls together, while the host runs, and the copies that their transactions hold; each name counts 4 KiB", "no space to the tool; `E_TOOL_DISK_LIMIT` if it fails for it"),
    key!("listedNames", Count, 0, 10_000_000, listed_names,
        "names that all listings of a call give", "an error to the tool"),
    key!("openFiles", Count, 1, 65_536, open_files,
        "open files and directories", "an error to the tool"),
    key!("httpRequests", Count, 0, 100_000, http_requests,
        "HTTP requests", "an error to the tool"),
    key!("httpConcurrent", Count, 1, 256, http_concurrent,
        "concurrent HTTP requests", "the request waits, as long as a connection may take"),
    key!("httpRequestBytes", Bytes, 0, 64 * GIB, http_request_bytes,
        "bodies of all HTTP requests, in total", "an error to the tool"),
    key!("httpResponseBytes", Bytes, 0, 64 * GIB, http_response_bytes,
        "bodies of all HTTP answers, in total", "an error to the tool"),
    key!("httpHeaderBytes", Bytes, 8 * KIB, MIB, http_header_bytes,
        "headers of one HTTP request or answer", "an error to the tool; `E_TOOL_TRAP` where it sets them"),
    key!("httpHeaders", Count, 1, 1_000, http_headers,
        "headers of one HTTP request or answer", "an error to the tool"),
    millis!("httpConnectMs", http_connect,
        "milliseconds to look up a name, connect and agree on keys, never beyond the deadline", "an error to the tool"),
    millis!("httpFirstByteMs", http_first_byte,
        "milliseconds from then to an answer's headers, never beyond the deadline", "an error to the tool"),
    millis!("httpBetweenBytesMs", http_between_bytes,
        "milliseconds between two pieces of an answer's body, never beyond the deadline", "an error to the tool"),
    key!("toolCalls", Count, 0, 1_000_000, tool_calls,
        "calls of other tools, those that they make included", "`E_TOOL_CALL_LIMIT` to the tool"),
    key!("toolCallsAtOnce", Count, 1, 256, tool_calls_at_once,
        "concurrent calls of other tools, those that they make included", "`E_TOOL_CALL_LIMIT` to the tool"),
    key!("toolCallBytes", Bytes, KIB, 64 * GIB, tool_call_bytes,
        "arguments and outputs of all calls of other tools, in total", "`E_TOOL_CALL_LIMIT` to the tool"),
];

impl LimitInfo {
    /// Returns the default value as a policy writes it, such as `64MiB`.
    pub fn default_value(&self) -> String {
        self.value_of(&Limits::default())
    }

    /// Returns the value of a call's limits as a policy writes it.
    pub fn value_of(&self, limits: &Limits) -> String {
        self.amounts.shown((self.get)(limits))
    }

    /// Returns the values that a policy may set, such as `64KiB to 4GiB`.
    pub fn range(&self) -> String {
        self.amounts.range()
    }
}

impl Amounts {
    /// Returns the amounts as a policy writes them, such as `64KiB to 4GiB`.
    pub(super) fn range(&self) -> String {
        format!("{} to {}", self.shown(self.least), self.shown(self.most))
    }

    /// Returns an amount as a policy writes it.
    pub(super) fn shown(&self, amount: u64) -> String {
        match self.unit {
            Unit::Count => amount.to_string(),
            Unit::Bytes => in_units(amount),
        }
    }

    /// Reads the amount of the key `name`.
    pub(super) fn read(&self, name: &str, at: &Cursor<'_>, findings: &mut Findings) -> Option<u64> {
        let value = if let Value::Integer(number) = at.node.value {
            u64::try_from(number).ok()
        } else if self.unit == Unit::Count {
            return at.expected("an integer", findings);
        } else {
            Some(read_bytes(at, findings)?)
        };
        let allowed = value.filter(|value| (self.least..=self.most).contains(value));
        allowed.or_else(|| {
            let message = format!("'{name}' must be {}", self.range());
            at.refuse(message, findings)
        })
    }
}

/// Lowers each limit to the greater of `most` and the default.
pub(super) fn lower(limits: &mut Limits, most: &Limits) {
    let defaults = Limits::default();
    for key in &KEYS {
        let most = (key.get)(most).max((key.get)(&defaults));
        (key.set)(limits, (key.get)(limits).min(most));
    }
}

/// The limits that a rule sets.
#[derive(Debug, Clone, Default)]
pub(super) struct LimitChanges(Vec<(&'static LimitInfo, u64)>);

impl LimitChanges {
    /// Returns whether the deadline is set.
    pub(super) fn sets_deadline(&self) -> bool {
        self.0.iter().any(|(key, _)| key.name == "deadlineMs")
    }

    /// Sets the limits.
    pub(super) fn apply(&self, limits: &mut Limits) {
        for (key, value) in &self.0 {
            (key.set)(limits, *value);
        }
    }
}

/// Reads `limits`.
pub(super) fn read(at: &Cursor<'_>, findings: &mut Findings) -> Option<LimitChanges> {
    at.mapping(findings, |fields| {
        let change = |key: &'static LimitInfo| {
            let amounts = &key.amounts;
            let value = fields.read(key.name, |at, findings| {
                amounts.read(key.name, at, findings)
            })?;
            Some((key, value))
        };
        Some(LimitChanges(KEYS.iter().filter_map(change).collect()))
    })
}

/// Reads a number of bytes: an integer, or a text such as `64MiB`.
pub(super) fn read_bytes(at: &Cursor<'_>, findings: &mut Findings) -> Option<u64> {
    if let Value::Text(text) = &at.node.value {
        return parse_bytes(text).or_else(|| {
            let message = format!("'{}' is not a number of bytes, such as 64MiB", short(text));
            at.refuse(message, findings)
        });
    }
    let bytes = match at.node.value {
        Value::Integer(number) => u64::try_from(number).ok(),
        Value::Null
        | Value::Bool(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Map(_) => None,
    };
    bytes.or_else(|| {
        let expected = "a number of bytes, such as 1048576 or 1MiB,";
        at.expected(expected, findings)
    })
}

/// The units of sizes, the largest first.
const SIZES: [(&str, u64); 5] = [
    ("TiB", TIB),
    ("GiB", GIB),
    ("MiB", MIB),
    ("KiB", KIB),
    ("B", 1),
];

/// Parses a number of bytes such as `64MiB`. Decimal units such as `MB` are invalid.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let mut sizes = SIZES.iter();
    let (digits, size) = sizes.find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)))?;
    let digits = digits.trim_end();
    // `parse` accepts a sign.
    let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|_| is_number)?;
    number.checked_mul(*size)
}

fn in_units(bytes: u64) -> String {
    let fits = |(_, size): &&(&str, u64)| bytes >= *size && bytes.is_multiple_of(*size);
    match SIZES.iter().find(fits) {
        Some((unit, size)) => format!("{}{unit}", bytes / size),
        None => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_a_key_that_sets_it_alone() {
        // A new field does not compile here until it is added, and needs a key in the table.
        let Limits {
            deadline: _,
            memory_bytes: _,
            table_elements: _,
            instances: _,
            handles: _,
            hostcall_bytes: _,
            random_bytes: _,
            output_bytes: _,
            json_depth: _,
            json_values: _,
            input_bytes: _,
            stdio_bytes: _,
            log_records: _,
            log_record_bytes: _,
            disk_bytes: _,
            files: _,
            workdir_bytes: _,
            listed_names: _,
            open_files: _,
            http_requests: _,
            http_concurrent: _,
            http_request_bytes: _,
            http_response_bytes: _,
            http_header_bytes: _,
            http_headers: _,
            http_connect: _,
            http_first_byte: _,
            http_between_bytes: _,
            tool_calls: _,
            tool_calls_at_once: _,
            tool_call_bytes: _,
        } = Limits::default();
        let mut limits = Limits::default();
        for key in &KEYS {
            let mut one = Limits::default();
            (key.set)(&mut one, key.amounts.least);
            assert_eq!((key.get)(&one), key.amounts.least, "{}", key.name);
            assert_ne!(one, Limits::default(), "{}", key.name);
            assert_ne!(one, limits, "{}", key.name);
            (key.set)(&mut limits, key.amounts.least);
            let least = one.clone();
            (key.set)(&mut one, key.amounts.most);
            assert_ne!(one, least, "{}", key.name);
        }
    }

    #[test]
    fn bytes_are_written_in_binary_units() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(parse_bytes(text), expected, "{text:?}");
        };
        check("64MiB", Some(64 * MIB));
        check("64 MiB", Some(64 * MIB));
        check("1KiB", Some(1024));
        check("0B", Some(0));
        check("4GiB", Some(4 * GIB));
        check("1TiB", Some(TIB));
        for bad in [
            "",
            "B",
            "MiB",
            "64",
            "64MB",
            "64mib",
            "-1KiB",
            "+1KiB",
            "1.5GiB",
            "1e3KiB",
            "0x1KiB",
            "99999999999999999999B",
            "99999999TiB",
            "1 KiB x",
        ] {
            check(bad, None);
        }
        assert_eq!(in_units(64 * KIB), "64KiB");
        assert_eq!(in_units(1500), "1500B");
        assert_eq!(in_units(0), "0");
    }
}
