//! Text that others wrote, made safe for a terminal.

use toolhost::text::acts;

/// Text on one line: what acts is written as `\u{…}`, a line break or a tab as a blank.
pub(crate) fn line(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => plain.push(' '),
            c if acts(c) => plain.extend(c.escape_unicode()),
            c => plain.push(c),
        }
    }
    plain
}

/// A file's text for showing some of its lines: every byte stays where it is, and what acts is
/// replaced by a sign of the same length.
pub(crate) fn source(text: &str) -> String {
    let sign = |c: char| match c.len_utf8() {
        1 if c == '\r' => ' ',
        1 => '?',
        2 => '¿',
        3 => '\u{fffd}',
        // A sign of four bytes that stands for nothing.
        _ => '\u{1f6ab}',
    };
    let plain = |c: char| {
        if acts(c) && !matches!(c, '\n' | '\t') {
            sign(c)
        } else {
            c
        }
    };
    text.chars().map(plain).collect()
}

/// Cuts a line to the columns of a terminal; `…` stands where it was cut.
pub(crate) fn cut(line: &str, columns: usize) -> String {
    // East Asian characters and signs take two columns.
    let width = |c: char| if c >= '\u{1100}' { 2 } else { 1 };
    let whole: usize = line.chars().map(width).sum();
    if whole <= columns {
        return line.to_owned();
    }
    let mut used = 1;
    let fits = |c: &char| {
        used += width(*c);
        used <= columns
    };
    let mut short: String = line.chars().take_while(fits).collect();
    short.push('…');
    short
}

/// `1 case`, `2 cases`.
pub(crate) fn counted(count: impl TryInto<u64>, what: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_written_out() {
        assert_eq!(
            line("a\u{1b}[31m\nb\u{9b}2J\u{202e}가"),
            "a\\u{1b}[31m b\\u{9b}2J\\u{202e}가"
        );
        let all: String = ('\0'..=char::MAX).filter(|c| acts(*c)).collect();
        assert!(!line(&all).contains(acts));
    }

    #[test]
    fn a_source_keeps_its_places() {
        let text = "a\u{1b}b\r\n\u{85}c\u{2028}d";
        let shown = source(text);
        assert_eq!(shown.len(), text.len());
        assert_eq!(shown, "a?b \n¿c\u{fffd}d");
        let all: String = ('\0'..=char::MAX).filter(|c| acts(*c)).collect();
        let shown = source(&all);
        assert_eq!(shown.len(), all.len());
        assert!(!shown.contains(|c| acts(c) && !matches!(c, '\n' | '\t')));
    }

    #[test]
    fn a_line_is_cut_to_columns() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("가나다라", 6), "가나…");
        assert_eq!(cut("abc", 1), "…");
    }
}
