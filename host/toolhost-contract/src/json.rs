//! What can be told of a JSON text without building it.

/// Deepest nesting of a JSON text, without building it: brackets outside strings.
#[must_use]
pub fn json_depth(json: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
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
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_brackets_outside_strings() {
        for (json, depth) in [
            ("1", 0),
            ("[]", 1),
            (r#"{"a":[1,{"b":2}]}"#, 3),
            (r#"["[[[["]"#, 1),
            (r#"["\"[[["]"#, 1),
            (r#"["\\",["\\"]]"#, 2),
        ] {
            assert_eq!(json_depth(json), depth, "{json}");
        }
    }
}
