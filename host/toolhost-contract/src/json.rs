//! Measures JSON text without parsing it.

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
        let (mut in_string, mut escaped) = (false, false);
        for byte in json.bytes() {
            if in_string {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' => escaped = true,
                    b'"' => in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => in_string = true,
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
        ] {
            assert_eq!(JsonShape::of(json), JsonShape { depth, values }, "{json}");
            assert_eq!(json_depth(json), depth, "{json}");
        }
    }
}
