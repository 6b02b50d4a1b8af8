//! Converts the line and column of a serde error to the path of the field, which a model needs.

/// A step from a value to one within it.
enum Step {
    Key(String),
    Index(usize),
}

/// Returns the path of the value that ends at, or holds, this line and column: `files[2].name`.
/// Empty for the outermost.
pub(crate) fn place(text: &str, line: usize, column: usize) -> String {
    let lines_before = text.split_inclusive('\n').take(line.saturating_sub(1));
    let end = lines_before.map(str::len).sum::<usize>() + column;

    let mut steps = Vec::new();
    let mut wants_key = false;
    let mut string = None;
    let mut escaped = false;
    for (at, char) in text.char_indices().take_while(|(at, _)| *at < end) {
        if let Some(start) = string {
            if escaped || char == '\\' {
                escaped = !escaped;
            } else if char == '"' {
                string = None;
                if let (true, Some(Step::Key(key))) = (wants_key, steps.last_mut()) {
                    *key = text.get(start..at).unwrap_or_default().to_owned();
                    wants_key = false;
                }
            }
            continue;
        }
        match char {
            '"' => string = Some(at + 1),
            '{' => {
                steps.push(Step::Key(String::new()));
                wants_key = true;
            }
            '[' => {
                steps.push(Step::Index(0));
                wants_key = false;
            }
            '}' | ']' => {
                steps.pop();
            }
            ',' => match steps.last_mut() {
                Some(Step::Index(index)) => *index += 1,
                Some(Step::Key(_)) => wants_key = true,
                None => {}
            },
            _ => {}
        }
    }
    steps.iter().fold(String::new(), |path, step| match step {
        Step::Index(index) => format!("{path}[{index}]"),
        Step::Key(key) if path.is_empty() => key.clone(),
        Step::Key(key) => format!("{path}.{key}"),
    })
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn names_the_value_that_ends_there() {
        for (text, column, expected) in [
            (r#"{"path":3}"#, 9, "path"),
            (r#"{"path":3}"#, 10, ""),
            (r#"{"a\"{":"}","b":[{"c":1},{"c":"x"}]}"#, 32, "b[1].c"),
            (r#"{"b":[{"c":1},{"c":2}]}"#, 21, "b[1]"),
            (r#"{"é":{"한":null}}"#, 17, "é.한"),
            ("[1,[2,3]]", 7, "[1][1]"),
            ("7", 1, ""),
        ] {
            assert_eq!(place(text, 1, column), expected, "{text} {column}");
        }
        assert_eq!(place("{\"a\":1,\n\"b\":2}", 2, 5), "b");
    }
}
