//! Sizes as coreutils read them: `10`, `2K`, `3MB`.

/// Returns a size, or `None` if the text is none.
pub(crate) fn size(text: &str) -> Option<u64> {
    let end = text
        .find(|char: char| !char.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let number: u64 = match digits {
        "" if suffix.is_empty() => return None,
        "" => 1,
        digits => digits.parse().unwrap_or(u64::MAX),
    };
    let factor = match suffix {
        "" => 1,
        "b" => 512,
        suffix => {
            let mut chars = suffix.chars();
            let unit = chars.next()?;
            let power = u32::try_from("KMGTPE".find(unit.to_ascii_uppercase())?).ok()? + 1;
            let base: u64 = match chars.as_str() {
                "" | "iB" => 1024,
                "B" => 1000,
                _ => return None,
            };
            base.pow(power)
        }
    };
    (!digits.is_empty() || !suffix.is_empty()).then(|| number.saturating_mul(factor))
}
