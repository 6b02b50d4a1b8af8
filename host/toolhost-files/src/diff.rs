//! The differences between versions of files.

use std::time::{Duration, Instant};

use similar::TextDiff;

/// Bytes of a file up to which it is compared line by line.
pub const DIFF_BYTES_MAX: usize = 256 << 10;

/// Bytes of all differences of one comparison. Those of further files are left out.
const DIFFS_BYTES_MAX: usize = 2 << 20;

/// How long the lines of all files of one comparison are compared precisely.
const DIFFS_TIME: Duration = Duration::from_secs(1);

/// Lines around a difference.
const CONTEXT: usize = 3;

/// Compares files, within a total of time and of text: lines without order take time with the square of their number.
#[derive(Debug)]
pub struct Differences {
    /// From then on, all lines between the first and the last difference count as changed.
    precise_until: Instant,
    /// Bytes of text that may follow.
    bytes: usize,
}

impl Default for Differences {
    fn default() -> Self {
        Self::within(DIFFS_TIME)
    }
}

impl Differences {
    fn within(time: Duration) -> Self {
        let now = Instant::now();
        Self {
            precise_until: now.checked_add(time).unwrap_or(now),
            bytes: DIFFS_BYTES_MAX,
        }
    }

    /// Returns how the lines of a file differ, as a unified diff. None if a version is larger than [`DIFF_BYTES_MAX`], is
    /// no UTF-8 or has a carriage return alone, which would end a line in the middle, or if the total is used up.
    pub fn unified(&mut self, path: &str, old: &[u8], new: &[u8]) -> Option<String> {
        if self.bytes == 0 || old.len().max(new.len()) > DIFF_BYTES_MAX {
            return None;
        }
        let (old, new) = (
            std::str::from_utf8(old).ok()?,
            std::str::from_utf8(new).ok()?,
        );
        if [old, new].into_iter().any(has_lone_return) {
            return None;
        }
        let diff = TextDiff::configure()
            .deadline(self.precise_until)
            .diff_lines(old, new);
        let mut unified = diff.unified_diff();
        let unified = unified.context_radius(CONTEXT);
        let text = unified.header(path, path).to_string();
        // Smaller differences of further files may fit.
        self.bytes = self.bytes.checked_sub(text.len())?;
        Some(text)
    }
}

/// Whether a carriage return ends a line without a line feed.
fn has_lone_return(text: &str) -> bool {
    let mut after_returns = text.split('\r').skip(1);
    after_returns.any(|after| !after.starts_with('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of one letter in an order without a pattern.
    fn letters(seed: u32, count: usize) -> String {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b'a' + (state >> 24) as u8 % 26)
        };
        (0..count).flat_map(|_| [next(), '\n']).collect()
    }

    fn diff_of(differences: &mut Differences, old: &str, new: &str) -> Option<String> {
        differences.unified("a.txt", old.as_bytes(), new.as_bytes())
    }

    #[test]
    fn lines_are_compared_with_three_around_them() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = old.replace("5\n", "five\n");
        assert_eq!(
            diff_of(&mut Differences::default(), old, &new).unwrap(),
            "--- a.txt\n+++ a.txt\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
        );
    }

    #[test]
    fn lines_without_order_are_compared_as_one_block_once_the_time_is_over() {
        let (old, new) = (letters(1, 100_000), letters(2, 100_000));
        let mut differences = Differences::within(Duration::ZERO);
        let diff = diff_of(&mut differences, &old, &new).unwrap();
        let of = |sign: char| -> String {
            let lines = diff.lines().skip(3);
            let both = lines.filter(|line| line.starts_with([sign, ' ']));
            both.map(|line| format!("{}\n", line.get(1..).unwrap()))
                .collect()
        };
        // Applied to the old version, it is the new one.
        assert!(old.ends_with(&of('-')) || old.contains(&of('-')));
        assert!(new.ends_with(&of('+')) || new.contains(&of('+')));
        // By default, it ends as well.
        assert!(diff_of(&mut Differences::default(), &old, &new).is_some());
    }

    #[test]
    fn a_carriage_return_alone_hides_no_line() {
        let of = |old, new| diff_of(&mut Differences::default(), old, new);
        assert_eq!(of("# a\r\n", "# a\rimport os\n"), None);
        assert_eq!(of("# a\rb\n", "# a\n"), None);
        assert_eq!(of("a\n", "b\r"), None);
        assert!(of("a\r\n", "b\r\n").is_some());
    }

    #[test]
    fn all_differences_together_have_a_total() {
        let mut differences = Differences::default();
        let (old, new) = ("a\n".repeat(100_000), "b\n".repeat(100_000));
        let texts: Vec<_> = (0..10)
            .map(|_| diff_of(&mut differences, &old, &new))
            .collect();
        let bytes = texts.iter().flatten().map(String::len).sum::<usize>();
        assert!(texts[0].is_some() && texts[9].is_none() && bytes <= DIFFS_BYTES_MAX);
        let small = diff_of(&mut differences, "a\n", "b\n");
        assert!(small.is_some(), "it fits");
    }
}
