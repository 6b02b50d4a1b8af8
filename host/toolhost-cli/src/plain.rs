//! Text that others wrote, made safe for a terminal.

/// Whether a character can act on a terminal, or reorder what it shows, instead of being shown.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

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

/// JSON text: what acts is written as `\u…`, which is the same JSON. Line breaks stay: within a
/// JSON text they are only ever between values.
pub(crate) fn json(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut units = [0; 2];
    for c in text.chars() {
        match c {
            '\n' => plain.push(c),
            c if acts(c) => {
                let units = c.encode_utf16(&mut units).iter();
                plain.extend(units.map(|unit| format!("\\u{unit:04x}")));
            }
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
        _ => '\u{fffd}',
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_written_out() {
        assert_eq!(
            line("a\u{1b}[31m\nb\u{9b}2J\u{202e}가"),
            "a\\u{1b}[31m b\\u{9b}2J\\u{202e}가"
        );
    }

    #[test]
    fn json_stays_the_same_json() {
        let value = serde_json::json!({"a": "x\u{9b}2J\u{7f}\u{202e}\n\u{1b}가"});
        let text = json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!text.chars().any(|c| acts(c) && c != '\n'), "{text}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            value
        );
    }

    #[test]
    fn a_source_keeps_its_places() {
        let text = "a\u{1b}b\r\n\u{85}c\u{2028}d";
        let shown = source(text);
        assert_eq!(shown.len(), text.len());
        assert_eq!(shown, "a?b \n¿c\u{fffd}d");
    }

    #[test]
    fn a_line_is_cut_to_columns() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("가나다라", 6), "가나…");
        assert_eq!(cut("abc", 1), "…");
    }
}
