//! What ends the lines of a text.

use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LineEnds {
    /// Every line ends with CRLF, and there is one.
    Crlf,
    /// Anything else, also a mixture.
    Lf,
}

impl LineEnds {
    pub(crate) fn of(text: &str) -> Self {
        let mut before = 0;
        let mut any = false;
        for at in memchr::memchr_iter(b'\n', text.as_bytes()) {
            if at == before || text.as_bytes().get(at - 1) != Some(&b'\r') {
                return Self::Lf;
            }
            before = at + 1;
            any = true;
        }
        if any { Self::Crlf } else { Self::Lf }
    }

    /// Returns a text as it is written among these lines: LF becomes CRLF, unless the text has a CR itself.
    pub(crate) fn apply(self, text: &str) -> Cow<'_, str> {
        if self == Self::Crlf && text.contains('\n') && !text.contains('\r') {
            text.replace('\n', "\r\n").into()
        } else {
            text.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LineEnds;

    #[test]
    fn lines_end_with_crlf_only_if_each_does() {
        for (text, expected) in [
            ("a\r\nb\r\n", LineEnds::Crlf),
            ("a\r\nb", LineEnds::Crlf),
            ("a\r\nb\n", LineEnds::Lf),
            ("\r\n\r\n", LineEnds::Crlf),
            ("\n", LineEnds::Lf),
            ("a\rb", LineEnds::Lf),
            ("", LineEnds::Lf),
        ] {
            assert_eq!(LineEnds::of(text), expected, "{text:?}");
        }
        assert_eq!(LineEnds::Crlf.apply("a\nb"), "a\r\nb");
        assert_eq!(LineEnds::Crlf.apply("a\r\nb\n"), "a\r\nb\n");
        assert_eq!(LineEnds::Lf.apply("a\nb"), "a\nb");
    }
}
