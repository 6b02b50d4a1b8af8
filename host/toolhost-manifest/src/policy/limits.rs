//! The keys of `limits`: their names, units and ranges.

use std::time::Duration;

use toolhost_contract::Limits;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

/// A day.
const DAY_MS: u64 = 86_400_000;

/// How a limit is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// An integer.
    Count,
    /// An integer, or a string such as `64MiB`.
    Bytes,
}

/// One key of `limits`.
#[derive(Debug)]
pub(super) struct LimitKey {
    /// Its name.
    pub(super) name: &'static str,
    /// How it is written.
    pub(super) unit: Unit,
    least: u64,
    most: u64,
    /// What it counts, and what a tool meets beyond it.
    what: &'static str,
    beyond: &'static str,
    get: fn(&Limits) -> u64,
    set: fn(&mut Limits, u64),
}

/// One key of a policy's `limits`, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitInfo {
    /// Its name.
    pub name: &'static str,
    /// What it has where no policy sets it, as it is written: `64MiB`.
    pub default: String,
    /// What a policy may set: `64KiB to 4GiB`.
    pub range: String,
    /// What it counts.
    pub what: &'static str,
    /// What happens beyond it.
    pub beyond: &'static str,
}

/// Every key, in words.
pub(super) fn all() -> Vec<LimitInfo> {
    let defaults = Limits::default();
    let info = |key: &LimitKey| LimitInfo {
        name: key.name,
        default: key.shown((key.get)(&defaults)),
        range: key.range(),
        what: key.what,
        beyond: key.beyond,
    };
    KEYS.iter().map(info).collect()
}

macro_rules! key {
    ($name:literal, $unit:ident, $least:expr, $most:expr, $field:ident, $what:literal, $beyond:literal) => {
        LimitKey {
            name: $name,
            unit: Unit::$unit,
            least: $least,
            most: $most,
            what: $what,
            beyond: $beyond,
            get: |limits| limits.$field as u64,
            // Every value fits: none is beyond what a 64-bit platform counts.
            set: |limits, value| limits.$field = value.try_into().unwrap_or(limits.$field),
        }
    };
}

macro_rules! millis {
    ($name:literal, $field:ident, $what:literal) => {
        LimitKey {
            name: $name,
            unit: Unit::Count,
            least: 1,
            most: DAY_MS,
            what: $what,
            beyond: "an error to the tool",
            get: |limits| u64::try_from(limits.$field.as_millis()).unwrap_or(u64::MAX),
            set: |limits, value| limits.$field = Duration::from_millis(value),
        }
    };
}

/// Every key, in the order of [`Limits`]. The ranges keep a slip of the pen from opening the host:
/// nothing here is unlimited.
#[rustfmt::skip]
pub(super) static KEYS: [LimitKey; 28] = [
    LimitKey {
        name: "deadlineMs",
        unit: Unit::Count,
        least: 1,
        most: DAY_MS,
        what: "milliseconds of running; waiting for a place does not count",
        beyond: "`E_TOOL_TIMEOUT`; the place is free at once",
        get: |limits| u64::try_from(limits.deadline.as_millis()).unwrap_or(u64::MAX),
        set: |limits, value| limits.deadline = Duration::from_millis(value),
    },
    key!("memoryBytes", Bytes, 64 * KIB, 4 * GIB, memory_bytes,
        "all linear memories of a call, and what the host holds for its HTTP requests, in their sum", "`E_TOOL_OUT_OF_MEMORY`"),
    key!("tableElements", Count, 0, 100_000, table_elements,
        "elements of all tables of a call, in their sum", "`table.grow` fails; at the start `E_TOOL_TRAP`"),
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
        "growth of the workdir by all calls together, while the host runs; each name counts 4 KiB", "no space to the tool; `E_TOOL_DISK_LIMIT` if it fails for it"),
    key!("listedNames", Count, 0, 10_000_000, listed_names,
        "names that all listings of a call give", "an error to the tool"),
    key!("openFiles", Count, 1, 65_536, open_files,
        "open files and directories", "an error to the tool"),
    key!("httpRequests", Count, 0, 100_000, http_requests,
        "HTTP requests", "an error to the tool"),
    key!("httpConcurrent", Count, 1, 256, http_concurrent,
        "HTTP requests on their way at once", "the request waits, as long as a connection may take"),
    key!("httpRequestBytes", Bytes, 0, 64 * GIB, http_request_bytes,
        "bodies of all HTTP requests, in their sum", "an error to the tool"),
    key!("httpResponseBytes", Bytes, 0, 64 * GIB, http_response_bytes,
        "bodies of all HTTP answers, in their sum", "an error to the tool"),
    key!("httpHeaderBytes", Bytes, 8 * KIB, MIB, http_header_bytes,
        "headers of one HTTP request or answer", "an error to the tool; `E_TOOL_TRAP` where it sets them"),
    key!("httpHeaders", Count, 1, 1_000, http_headers,
        "headers of one HTTP request or answer", "an error to the tool"),
    millis!("httpConnectMs", http_connect,
        "milliseconds to look up a name, connect and agree on keys, never beyond the deadline"),
    millis!("httpFirstByteMs", http_first_byte,
        "milliseconds from then to an answer's headers, never beyond the deadline"),
    millis!("httpBetweenBytesMs", http_between_bytes,
        "milliseconds between two pieces of an answer's body, never beyond the deadline"),
];

impl LimitKey {
    /// Whether a value is in the key's range.
    pub(super) fn allows(&self, value: u64) -> bool {
        (self.least..=self.most).contains(&value)
    }

    /// The range, such as `64KiB to 4GiB`.
    pub(super) fn range(&self) -> String {
        format!("{} to {}", self.shown(self.least), self.shown(self.most))
    }

    fn shown(&self, value: u64) -> String {
        match self.unit {
            Unit::Count => value.to_string(),
            Unit::Bytes => in_units(value),
        }
    }
}

/// Lowers limits to the greater of these and the defaults.
pub(super) fn lower(limits: &mut Limits, most: &Limits) {
    let defaults = Limits::default();
    for key in &KEYS {
        let most = (key.get)(most).max((key.get)(&defaults));
        (key.set)(limits, (key.get)(limits).min(most));
    }
}

/// Limits that a policy changes.
#[derive(Debug, Clone, Default)]
pub(super) struct LimitChanges(Vec<(&'static LimitKey, u64)>);

impl LimitChanges {
    /// Adds a change.
    pub(super) fn add(&mut self, key: &'static LimitKey, value: u64) {
        self.0.push((key, value));
    }

    /// Whether the deadline is among them.
    pub(super) fn set_deadline(&self) -> bool {
        self.0.iter().any(|(key, _)| key.name == "deadlineMs")
    }

    /// Makes the changes.
    pub(super) fn apply(&self, limits: &mut Limits) {
        for (key, value) in &self.0 {
            (key.set)(limits, *value);
        }
    }
}

/// Sizes as they are written, the largest first.
const SIZES: [(&str, u64); 5] = [
    ("TiB", TIB),
    ("GiB", GIB),
    ("MiB", MIB),
    ("KiB", KIB),
    ("B", 1),
];

/// Reads a number of bytes such as `64MiB`; none for anything else, decimal units (`MB`) among it.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let (digits, size) = SIZES
        .iter()
        .find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)))?;
    let digits = digits.trim_end();
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let number: u64 = is_number.then(|| digits.parse().ok())??;
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
        // A new field breaks this line, and then belongs into the table.
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
        } = Limits::default();
        let mut all = Limits::default();
        for key in &KEYS {
            let mut one = Limits::default();
            (key.set)(&mut one, key.least);
            assert_eq!((key.get)(&one), key.least, "{}", key.name);
            assert_ne!(one, Limits::default(), "{}", key.name);
            assert_ne!(one, all, "{}", key.name);
            (key.set)(&mut all, key.least);
            let least = one.clone();
            (key.set)(&mut one, key.most);
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
