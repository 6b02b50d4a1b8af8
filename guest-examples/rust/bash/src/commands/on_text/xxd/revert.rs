//! `xxd -r`: bytes of a dump.

/// Returns the bytes that a dump has, each at its offset.
///
/// # Errors
/// An offset is beyond `most`, or before the beginning.
pub(super) fn revert(
    dump: &[u8],
    columns: usize,
    is_plain: bool,
    seek: i64,
    most: usize,
) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    for line in dump.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if is_plain {
            plain(line, &mut out);
            continue;
        }
        let Some(start) = line.iter().position(u8::is_ascii_hexdigit) else {
            continue;
        };
        let rest = line.get(start..).unwrap_or_default();
        let length = rest
            .iter()
            .take_while(|byte| byte.is_ascii_hexdigit())
            .count();
        let offset = rest
            .get(..length)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let offset = offset.and_then(|digits| i64::from_str_radix(digits, 16).ok());
        let place = offset.and_then(|offset| usize::try_from(offset + seek).ok());
        let place = place
            .filter(|place| *place <= most)
            .ok_or_else(|| format!("an offset of the dump is not between 0 and {most}"))?;
        let bytes = bytes(rest.get(length..).unwrap_or_default(), columns);
        if bytes.is_empty() {
            continue;
        }
        if out.len() < place + bytes.len() {
            out.resize(place + bytes.len(), 0);
        }
        for (old, new) in out.iter_mut().skip(place).zip(bytes) {
            *old = new;
        }
    }
    Ok(out)
}

/// The bytes of a line after its offset, up to what is not in hexadecimal digits.
fn bytes(text: &[u8], columns: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut before: Option<u8> = None;
    // Characters in a row that are no digits: the bytes end with the third.
    let mut others = 0;
    for char in text {
        match digit(*char) {
            Some(digit) => {
                others = 0;
                before = match before {
                    Some(high) => {
                        bytes.push(high << 4 | digit);
                        if bytes.len() == columns {
                            return bytes;
                        }
                        None
                    }
                    None => Some(digit),
                };
            }
            None => {
                before = None;
                others += 1;
                if others >= 3 || others == 2 && !bytes.is_empty() {
                    return bytes;
                }
            }
        }
    }
    bytes
}

fn plain(line: &[u8], out: &mut Vec<u8>) {
    let mut before: Option<u8> = None;
    for char in line {
        match digit(*char) {
            Some(digit) => {
                before = match before {
                    Some(high) => {
                        out.push(high << 4 | digit);
                        None
                    }
                    None => Some(digit),
                };
            }
            None if matches!(char, b' ' | b'\t') => {}
            // The rest of the line is none of the dump.
            None => return,
        }
    }
}

fn digit(char: u8) -> Option<u8> {
    let digit = char::from(char).to_digit(16)?;
    u8::try_from(digit).ok()
}
