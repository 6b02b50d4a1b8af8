//! The marks that the sandbox leaves where it cut what a guest printed, logged or panicked with.

use std::ops::Range;

/// Marks the end of a text that was cut.
pub const CUT: &str = "… (cut)";

/// Marks, after a number of bytes, the place where the middle of a text was left out.
const LEFT_OUT: &str = " bytes left out …";

/// Before the number.
const LEFT_OUT_BEGIN: &str = "… ";

/// Writes the mark of a place where the middle of a text, so many bytes, was left out.
#[must_use]
pub fn left_out(bytes: u64) -> String {
    format!("\n{LEFT_OUT_BEGIN}{bytes}{LEFT_OUT}\n")
}

/// Finds the marks in a text: the last of each kind, the later one first. What stands right before a
/// mark may be the beginning of a longer text, what stands right after it the end of one.
#[must_use]
pub fn cuts(text: &str) -> Vec<Range<usize>> {
    let cut = text.rfind(CUT).map(|at| at..at + CUT.len());
    let left_out = text.rfind(LEFT_OUT).and_then(|at| {
        let (before, after) = text.split_at_checked(at)?;
        let number = before.trim_end_matches(|c: char| c.is_ascii_digit());
        let before = number.strip_suffix(LEFT_OUT_BEGIN)?;
        // The line breaks around it, which a panic's reason has escaped.
        let begin = before.strip_suffix('\n').or(before.strip_suffix("\\u{a}"));
        let after = after.strip_prefix(LEFT_OUT)?;
        let end = after.strip_prefix('\n').or(after.strip_prefix("\\u{a}"));
        Some(begin.unwrap_or(before).len()..text.len() - end.unwrap_or(after).len())
    });
    let mut cuts: Vec<_> = cut.into_iter().chain(left_out).collect();
    cuts.sort_by_key(|cut| std::cmp::Reverse(cut.start));
    cuts
}
