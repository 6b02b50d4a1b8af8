//! Integers that JSON writes as `10.0` or `1e3`, which JSON Schema counts as integers.

/// Below this, every integer is an `f64` and no two are the same.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Returns the text with each such number as digits only, or `None` if it has none.
pub(crate) fn with_plain_integers(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut copied = 0;
    let mut rest = text.char_indices().peekable();
    while let Some((start, char)) = rest.next() {
        if char == '"' {
            let mut is_escaped = false;
            for (_, char) in rest.by_ref() {
                if char == '"' && !is_escaped {
                    break;
                }
                is_escaped = char == '\\' && !is_escaped;
            }
        }
        if !matches!(char, '-' | '0'..='9') {
            continue;
        }
        let mut end = start + 1;
        let in_number = |char: &char| matches!(char, '0'..='9' | '.' | 'e' | 'E' | '+' | '-');
        while let Some((at, _)) = rest.next_if(|(_, char)| in_number(char)) {
            end = at + 1;
        }
        let token = text.get(start..end).unwrap_or_default();
        if let Some(integer) = integer(token) {
            plain.push_str(text.get(copied..start).unwrap_or_default());
            plain.push_str(&integer);
            copied = end;
        }
    }
    if copied == 0 {
        return None;
    }
    plain.push_str(text.get(copied..).unwrap_or_default());
    Some(plain)
}

/// Returns the digits of a number that is written with a fraction or an exponent but has none.
fn integer(token: &str) -> Option<String> {
    if !token.contains(['.', 'e', 'E']) {
        return None;
    }
    let number: f64 = token.parse().ok()?;
    // `-0.0` is 0: an unsigned type has no other.
    (number.fract() == 0.0 && number.abs() < EXACT_MAX).then(|| format!("{:.0}", number + 0.0))
}

#[cfg(test)]
mod tests {
    use super::with_plain_integers;

    #[test]
    fn writes_integers_without_fraction_and_exponent_and_leaves_the_rest() {
        for (text, expected) in [
            (r#"{"n":10.0}"#, Some(r#"{"n":10}"#)),
            (r#"[1e3, -2.50E1, -0.0]"#, Some("[1000, -25, 0]")),
            (
                r#"{"a\"1.0":"2.0 é\\","b":[3.0]}"#,
                Some(r#"{"a\"1.0":"2.0 é\\","b":[3]}"#),
            ),
            (r#"[1.5, 1e-1, 1e300, 7, "8.0"]"#, None),
            ("9007199254740993.0", None),
            ("18014398509481984.0", None),
        ] {
            assert_eq!(with_plain_integers(text).as_deref(), expected, "{text}");
        }
    }
}
