//! Bytes as base64 with the standard alphabet and padding (RFC 4648 §4).

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, at| {
            bits << 8 | u32::from(group.get(at).copied().unwrap_or_default())
        });
        for digit in 0..4 {
            let index = (bits >> (18 - 6 * digit)) & 63;
            let char = ALPHABET.get(index as usize).copied().unwrap_or_default();
            text.push(if digit > group.len() {
                '='
            } else {
                char.into()
            });
        }
    }
    text
}

/// Returns the bytes, or the position of what is not base64. White space is skipped.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, usize> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut digits, mut padding) = (0u32, 0usize, 0usize);
    for (at, byte) in text.bytes().enumerate() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => {
                padding += 1;
                continue;
            }
            _ if byte.is_ascii_whitespace() => continue,
            _ => return Err(at),
        };
        if padding > 0 {
            return Err(at);
        }
        bits = bits << 6 | u32::from(value);
        digits += 1;
        if digits % 4 == 0 {
            bytes.extend(bits.to_be_bytes().iter().skip(1));
            bits = 0;
        }
    }
    let last = digits % 4;
    if last == 1 || padding > 2 || (padding > 0 && (last + padding) % 4 != 0) {
        return Err(text.len());
    }
    if last > 0 {
        let filled = bits << (6 * (4 - last));
        bytes.extend(filled.to_be_bytes().iter().skip(1).take(last - 1));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn bytes_survive_and_other_text_is_refused() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"\xff\xfe\xfd\x00", "//79AA=="),
        ] {
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).as_deref(), Ok(bytes));
        }
        assert_eq!(decode("Zm\n8").as_deref(), Ok(&b"fo"[..]));
        for (text, at) in [("Zm9v!", 4), ("Z", 1), ("Zg=a", 3), ("Zg=", 3), ("====", 4)] {
            assert_eq!(decode(text), Err(at), "{text}");
        }
    }
}
