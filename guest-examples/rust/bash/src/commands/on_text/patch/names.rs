//! Names of files in patches.

/// Reads a name and returns what follows it. `None` if it is not quoted well.
pub(super) fn in_header(text: &[u8]) -> (Option<String>, &[u8]) {
    let text = text.trim_ascii_start();
    if text.starts_with(b"\"") {
        return match quoted(text) {
            Some((name, rest)) => (Some(name), rest),
            None => (None, b""),
        };
    }
    // Spaces belong to a name if a tab follows that ends it.
    let end = match text.iter().position(|byte| *byte == b'\t') {
        Some(tab) => Some(tab),
        None => text.iter().position(u8::is_ascii_whitespace),
    };
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    let name = name.trim_ascii_end();
    (Some(String::from_utf8_lossy(name).into_owned()), rest)
}

/// Reads the names of `diff --git a/x b/x`.
pub(super) fn of_git(text: &[u8], strip: Option<usize>) -> [Option<String>; 2] {
    let word = |text: &[u8]| -> Option<(String, usize)> {
        if text.starts_with(b"\"") {
            let (name, rest) = quoted(text)?;
            return Some((name, text.len() - rest.len()));
        }
        let end = text.iter().position(u8::is_ascii_whitespace)?;
        let name = text.get(..end)?;
        Some((String::from_utf8_lossy(name).into_owned(), end))
    };
    let both = || {
        let text = text.trim_ascii_start();
        let (old, end) = word(text)?;
        let rest = text.get(end..)?;
        if !rest.first()?.is_ascii_whitespace() {
            return None;
        }
        let rest = rest.trim_ascii_start();
        let (new, end) = word(rest)?;
        let is_end = rest.get(end..)?.trim_ascii().is_empty();
        is_end.then_some([stripped(&old, strip)?, stripped(&new, strip)?])
    };
    match both() {
        Some(names) => names.map(Some),
        None => [None, None],
    }
}

/// Reads a text between quotation marks, with the escapes of C.
fn quoted(text: &[u8]) -> Option<(String, &[u8])> {
    let mut name = Vec::new();
    let mut rest = text.strip_prefix(b"\"")?;
    loop {
        let (first, after) = rest.split_first()?;
        rest = after;
        match first {
            b'"' => return Some((String::from_utf8_lossy(&name).into_owned(), rest)),
            b'\\' => {
                let (escape, after) = rest.split_first()?;
                rest = after;
                name.push(match escape {
                    b'a' => 0x07,
                    b'b' => 0x08,
                    b'f' => 0x0C,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'v' => 0x0B,
                    b'\\' | b'"' => *escape,
                    b'0'..=b'3' => {
                        let (digits, after) = rest.split_at_checked(2)?;
                        rest = after;
                        let mut value = escape - b'0';
                        for digit in digits {
                            let digit = digit.checked_sub(b'0').filter(|digit| *digit < 8)?;
                            value = value.wrapping_mul(8) + digit;
                        }
                        value
                    }
                    _ => return None,
                });
            }
            byte => name.push(*byte),
        }
    }
}

/// A name without its first parts, or without its folders; `None` if it has too few.
pub(super) fn stripped(name: &str, strip: Option<usize>) -> Option<String> {
    let mut rest = name;
    let mut left = strip;
    while left != Some(0) {
        let Some((_, after)) = rest.split_once('/') else {
            break;
        };
        rest = after.trim_start_matches('/');
        left = left.map(|left| left - 1);
    }
    (left.unwrap_or(0) == 0 && !rest.is_empty()).then(|| rest.to_owned())
}

/// Whether a name stays in the folder.
pub(super) fn is_safe(name: &str) -> bool {
    !name.starts_with('/') && name.split('/').all(|part| part != "..")
}

/// The number of folders in a name.
pub(super) fn folders(name: &str) -> usize {
    let parts = name.split('/').filter(|part| !part.is_empty());
    parts.count().saturating_sub(1)
}
