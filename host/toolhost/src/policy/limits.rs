//! The keys of `limits`: their names, units and ranges.

use std::time::Duration;

use toolhost_sandbox::Limits;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

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
    set: fn(&mut Limits, u64),
}

macro_rules! key {
    ($name:literal, $unit:ident, $least:expr, $most:expr, $field:ident) => {
        LimitKey {
            name: $name,
            unit: Unit::$unit,
            least: $least,
            most: $most,
            // Every value fits: none is beyond what a 64-bit platform counts.
            set: |limits, value| limits.$field = value.try_into().unwrap_or(limits.$field),
        }
    };
}

/// Every key, in the order of [`Limits`]. The ranges keep a slip of the pen from opening the host:
/// nothing here is unlimited.
pub(super) static KEYS: [LimitKey; 18] = [
    LimitKey {
        name: "deadlineMs",
        unit: Unit::Count,
        least: 1,
        // A day.
        most: 86_400_000,
        set: |limits, value| limits.deadline = Duration::from_millis(value),
    },
    key!("memoryBytes", Bytes, 64 * KIB, 4 * GIB, memory_bytes),
    key!("tableElements", Count, 0, 100_000, table_elements),
    key!("instances", Count, 1, 1_000, instances),
    key!("handles", Count, 1, 1_000_000, handles),
    key!("hostcallBytes", Bytes, KIB, GIB, hostcall_bytes),
    key!("randomBytes", Bytes, 0, 64 * MIB, random_bytes),
    key!("outputBytes", Bytes, KIB, GIB, output_bytes),
    // The JSON parser's own depth ends at 128, and providers' at less.
    key!("jsonDepth", Count, 1, 64, json_depth),
    key!("inputBytes", Bytes, KIB, GIB, input_bytes),
    key!("stdioBytes", Bytes, 0, 64 * MIB, stdio_bytes),
    key!("logRecords", Count, 0, 1_000_000, log_records),
    key!("logRecordBytes", Bytes, 64, MIB, log_record_bytes),
    key!("diskBytes", Bytes, 0, TIB, disk_bytes),
    key!("files", Count, 0, 10_000_000, files),
    key!("workdirBytes", Bytes, 0, 1024 * TIB, workdir_bytes),
    key!("listedNames", Count, 0, 10_000_000, listed_names),
    key!("openFiles", Count, 1, 65_536, open_files),
];

impl LimitKey {
    /// Whether a value is in the key's range.
    pub(super) fn allows(&self, value: u64) -> bool {
        (self.least..=self.most).contains(&value)
    }

    /// The range, such as `64KiB to 4GiB`.
    pub(super) fn range(&self) -> String {
        let shown = |value: u64| match self.unit {
            Unit::Count => value.to_string(),
            Unit::Bytes => in_units(value),
        };
        format!("{} to {}", shown(self.least), shown(self.most))
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
pub(super) fn parse_bytes(text: &str) -> Option<u64> {
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
            input_bytes: _,
            stdio_bytes: _,
            log_records: _,
            log_record_bytes: _,
            disk_bytes: _,
            files: _,
            workdir_bytes: _,
            listed_names: _,
            open_files: _,
        } = Limits::default();
        let mut all = Limits::default();
        for key in &KEYS {
            let mut one = Limits::default();
            (key.set)(&mut one, key.least);
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
