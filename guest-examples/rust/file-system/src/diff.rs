//! Short unified diffs.

use std::time::Duration;

use similar::TextDiff;

/// Most bytes of a diff in a result.
const DIFF_MAX: usize = 10_000;

/// Time for the shortest diff; later ones are longer than they need be.
const SEARCH_MAX: Duration = Duration::from_secs(1);

/// Returns the differences with three lines around each, cut after a line where they are long.
pub(crate) fn unified(before: &str, after: &str) -> String {
    let diff = TextDiff::configure()
        .timeout(SEARCH_MAX)
        .diff_lines(before, after);
    let text = diff.unified_diff().context_radius(3).to_string();
    if text.len() <= DIFF_MAX {
        return text;
    }
    let begin = text.as_bytes().get(..DIFF_MAX).unwrap_or_default();
    let end = memchr::memrchr(b'\n', begin).map_or(0, |at| at + 1);
    let (shown, rest) = text.split_at_checked(end).unwrap_or_default();
    format!("{shown}… {} more lines\n", rest.lines().count())
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn a_diff_has_three_lines_around_and_is_cut_where_it_is_long() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let after = before.replace('5', "five");
        let diff = unified(before, &after);
        assert_eq!(diff, "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
        let long = "line\n".repeat(9000);
        let diff = unified("", &long);
        assert!(diff.len() < 10_100);
        assert!(
            diff.ends_with(" more lines\n"),
            "{}",
            &diff[diff.len() - 40..]
        );
    }
}
