//! Marks of truncation in the output, logs and panic messages of guests.

use std::ops::Range;

/// End of a truncated text.
pub const CUT: &str = "… (cut)";

/// End of the mark of omitted bytes, after their number.
const LEFT_OUT: &str = " bytes left out …";

/// Start of the mark of omitted bytes.
const LEFT_OUT_BEGIN: &str = "… ";

/// Returns the mark for `bytes` omitted in the middle of a text.
pub fn left_out(bytes: u64) -> String {
    format!("\n{LEFT_OUT_BEGIN}{bytes}{LEFT_OUT}\n")
}

/// Finds the last mark of each kind in a text, the later one first. The text before a mark may be the
/// start of a truncated word, and the text after it the end of one.
pub fn cuts(text: &str) -> Vec<Range<usize>> {
    let cut = text.rfind(CUT).map(|at| at..at + CUT.len());
    let left_out = text.rfind(LEFT_OUT).and_then(|at| {
        let (before, after) = text.split_at_checked(at)?;
        let number = before.trim_end_matches(|c: char| c.is_ascii_digit());
        let before = number.strip_suffix(LEFT_OUT_BEGIN)?;
        // In the message of a panic, the line breaks around the mark are escaped.
        let begin = before.strip_suffix('\n').or(before.strip_suffix("\\u{a}"));
        let after = after.strip_prefix(LEFT_OUT)?;
        let end = after.strip_prefix('\n').or(after.strip_prefix("\\u{a}"));
        Some(begin.unwrap_or(before).len()..text.len() - end.unwrap_or(after).len())
    });
    let mut cuts: Vec<_> = cut.into_iter().chain(left_out).collect();
    cuts.sort_by_key(|cut| std::cmp::Reverse(cut.start));
    cuts
}
