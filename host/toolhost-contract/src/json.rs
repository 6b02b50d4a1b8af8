//! Measures JSON text without parsing it.

use memchr::memchr2;

/// Depth and size of a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonShape {
    /// Deepest nesting of brackets outside strings.
    pub depth: usize,
    /// Number of scalars, arrays and objects. An empty array or object counts as two.
    pub values: u64,
}

impl JsonShape {
    /// Measures a text. It may be invalid JSON.
    #[must_use]
    pub fn of(json: &str) -> Self {
        let (mut depth, mut deepest, mut values) = (0_usize, 0, 1);
        let mut rest = json.as_bytes();
        while let Some((byte, after)) = rest.split_first() {
            rest = after;
            match byte {
                b'"' => rest = after_string(rest),
                b'[' | b'{' => {
                    depth += 1;
                    values += 1;
                    deepest = deepest.max(depth);
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                b',' => values += 1,
                _ => {}
            }
        }
        Self {
            depth: deepest,
            values,
        }
    }
}

/// Returns what follows the string that this is the inside of. Nothing if the string does not end.
fn after_string(mut rest: &[u8]) -> &[u8] {
    while let Some(at) = memchr2(b'"', b'\\', rest) {
        let escapes = rest.get(at) == Some(&b'\\');
        rest = rest
            .get(at + 1 + usize::from(escapes)..)
            .unwrap_or_default();
        if !escapes {
            return rest;
        }
    }
    &[]
}

/// Returns the deepest nesting of a JSON text.
#[must_use]
pub fn json_depth(json: &str) -> usize {
    JsonShape::of(json).depth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_brackets_outside_strings() {
        for (json, depth, values) in [
            ("1", 0, 1),
            ("[]", 1, 2),
            (r#"{"a":[1,{"b":2}]}"#, 3, 5),
            ("[[0],[0]]", 2, 5),
            (r#"["[[[[,"]"#, 1, 2),
            (r#"["\"[[["]"#, 1, 2),
            (r#"["\\",["\\"]]"#, 2, 4),
            (r#"["no end, [[[,"#, 1, 2),
            (r#"["no end\"#, 1, 2),
        ] {
            assert_eq!(JsonShape::of(json), JsonShape { depth, values }, "{json}");
            assert_eq!(json_depth(json), depth, "{json}");
        }
    }
}
