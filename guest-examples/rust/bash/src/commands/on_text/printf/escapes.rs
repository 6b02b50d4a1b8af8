//! `\n` and the like, in a format and in an argument of `%b`.

/// Where an escape stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Format,
    Argument,
}

/// Expands the escapes of an argument of `%b`. Returns whether `\c` ends the output.
pub(super) fn expand(text: &str, out: &mut Vec<u8>, warnings: &mut Vec<String>) -> bool {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.extend_from_slice(before.as_bytes());
        match push_escape(after, Place::Argument, out, warnings) {
            Some(after) => rest = after,
            None => return true,
        }
    }
    out.extend_from_slice(rest.as_bytes());
    false
}

/// Writes what `text`, which follows a backslash, stands for, and returns what follows it: nothing if the output ends.
pub(super) fn push_escape<'t>(
    text: &'t str,
    place: Place,
    out: &mut Vec<u8>,
    warnings: &mut Vec<String>,
) -> Option<&'t str> {
    let Some(char) = text.chars().next() else {
        out.push(b'\\');
        return Some(text);
    };
    let rest = text.get(char.len_utf8()..).unwrap_or_default();
    let byte = match char {
        'a' => 0x07,
        'b' => 0x08,
        'e' | 'E' => 0x1B,
        'f' => 0x0C,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 0x0B,
        '\\' => b'\\',
        '\'' | '"' | '?' if place == Place::Format => u8::try_from(char).ok()?,
        'c' if place == Place::Argument => return None,
        '0'..='7' => {
            // In an argument, the first zero does not count.
            let digits = if place == Place::Argument && char == '0' {
                rest
            } else {
                text
            };
            let (value, rest) = digits_of(digits, 8, 3);
            out.push((value & 0xFF) as u8);
            return Some(rest);
        }
        'x' => {
            let (value, after) = digits_of(rest, 16, 2);
            if after.len() == rest.len() {
                warnings.push("missing hex digit for \\x".to_owned());
                out.extend_from_slice(b"\\x");
            } else {
                out.push((value & 0xFF) as u8);
            }
            return Some(after);
        }
        'u' | 'U' => {
            let most = if char == 'u' { 4 } else { 8 };
            let (value, after) = digits_of(rest, 16, most);
            if after.len() == rest.len() {
                warnings.push(format!("missing unicode digit for \\{char}"));
                out.extend_from_slice(format!("\\{char}").as_bytes());
            } else if let Some(char) = char::from_u32(value) {
                out.extend_from_slice(char.to_string().as_bytes());
            } else {
                out.extend_from_slice(format!("\\{char}{value:0most$X}").as_bytes());
            }
            return Some(after);
        }
        char => {
            out.push(b'\\');
            out.extend_from_slice(char.to_string().as_bytes());
            return Some(rest);
        }
    };
    out.push(byte);
    Some(rest)
}

/// Reads at most some digits, and returns what follows them.
fn digits_of(text: &str, radix: u32, most: usize) -> (u32, &str) {
    let digits = text
        .chars()
        .take(most)
        .take_while(|char| char.is_digit(radix));
    let (digits, rest) = text.split_at(digits.count());
    (u32::from_str_radix(digits, radix).unwrap_or(0), rest)
}
