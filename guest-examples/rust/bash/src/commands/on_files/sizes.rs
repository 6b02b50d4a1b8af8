//! Sizes as `ls`, `du` and `df` write them.

/// Bytes that a file of a size takes on a disk of 4 KiB blocks.
pub(super) const fn allocated(bytes: u64) -> u64 {
    bytes.div_ceil(4096) * 4096
}

/// A unit in which sizes are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Rounded up to units of so many bytes.
    Bytes(u64),
    /// `1.5K`: powers of 1024.
    Human,
    /// `1.6k`: powers of 1000.
    Si,
    /// As [`Self::Bytes`], with the letter of the unit.
    Lettered(u64, &'static str),
}

impl Unit {
    /// Reads `K`, `1K`, `KB`, `512`, `human-readable`, `si`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "human-readable" => return Some(Self::Human),
            "si" => return Some(Self::Si),
            _ => {}
        }
        let end = text
            .find(|char: char| !char.is_ascii_digit())
            .unwrap_or(text.len());
        let (digits, unit) = text.split_at(end);
        let (bytes, letter) = unit_of(unit)?;
        if digits.is_empty() {
            return Some(if letter.is_empty() {
                return None;
            } else {
                Self::Lettered(bytes, letter)
            });
        }
        let count: u64 = digits.parse().ok().filter(|count| *count > 0)?;
        Some(Self::Bytes(count.checked_mul(bytes)?))
    }

    pub(super) fn show(self, bytes: u64) -> String {
        match self {
            Self::Bytes(unit) => bytes.div_ceil(unit).to_string(),
            Self::Lettered(unit, letter) => format!("{}{letter}", bytes.div_ceil(unit)),
            Self::Human => human(bytes, 1024, ["", "K", "M", "G", "T", "P", "E"]),
            Self::Si => human(bytes, 1000, ["", "k", "M", "G", "T", "P", "E"]),
        }
    }
}

/// Bytes of a unit such as `K`, `KiB` or `MB`, and the letter that is shown.
pub(super) fn unit_of(text: &str) -> Option<(u64, &'static str)> {
    let unit = match text {
        "" => (1, ""),
        "B" => (1, "B"),
        "K" | "k" | "KiB" => (1 << 10, "K"),
        "M" | "m" | "MiB" => (1 << 20, "M"),
        "G" | "g" | "GiB" => (1 << 30, "G"),
        "T" | "t" | "TiB" => (1 << 40, "T"),
        "P" | "PiB" => (1 << 50, "P"),
        "E" | "EiB" => (1 << 60, "E"),
        "KB" | "kB" => (1_000, "kB"),
        "MB" => (1_000_000, "MB"),
        "GB" => (1_000_000_000, "GB"),
        "TB" => (1_000_000_000_000, "TB"),
        _ => return None,
    };
    Some(unit)
}

/// One digit after the point below 10, always rounded up.
fn human(bytes: u64, base: u64, letters: [&str; 7]) -> String {
    let mut unit = 1;
    let mut letters = letters.into_iter();
    let mut letter = letters.next().unwrap_or_default();
    while bytes.div_ceil(unit) >= base {
        let Some(next) = letters.next() else { break };
        (unit, letter) = (unit.saturating_mul(base), next);
    }
    if unit == 1 {
        return bytes.to_string();
    }
    let tenths =
        u64::try_from((u128::from(bytes) * 10).div_ceil(u128::from(unit))).unwrap_or(u64::MAX);
    if tenths < 100 {
        return format!("{}.{}{letter}", tenths / 10, tenths % 10);
    }
    let whole = bytes.div_ceil(unit);
    if whole >= base {
        return human(whole * unit, base, ["", letter, "M", "G", "T", "P", "E"]);
    }
    format!("{whole}{letter}")
}
