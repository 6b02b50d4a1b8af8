//! The parts of a message, as texts, whatever is wrong with them: an answer that cannot be parsed still ends
//! its request.

use rmcp::model::RequestId;

/// The members of a message that decide what becomes of it. Nothing is parsed and nothing is copied but the
/// id.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Envelope<'m> {
    pub(crate) id: Option<RequestId>,
    /// Whether there is an id, and it is null.
    pub(crate) is_id_null: bool,
    /// The method as it is written, without quotes.
    pub(crate) method: Option<&'m str>,
    pub(crate) params: Option<&'m str>,
    pub(crate) result: Option<&'m str>,
    pub(crate) error: Option<&'m str>,
}

impl<'m> Envelope<'m> {
    /// Reads the members up to the first place that is no member. The last member of a name counts.
    pub(crate) fn of(message: &'m str) -> Self {
        let mut envelope = Self::default();
        let Some(mut rest) = message.trim_start().strip_prefix('{') else {
            return envelope;
        };
        while let Some((name, value, after)) = member(rest) {
            match name {
                "id" => {
                    envelope.id = id(value);
                    envelope.is_id_null = value == "null";
                }
                "method" => envelope.method = text(value),
                "params" => envelope.params = Some(value),
                "result" => envelope.result = Some(value),
                "error" => envelope.error = Some(value).filter(|error| *error != "null"),
                _ => {}
            }
            rest = after;
        }
        envelope
    }
}

/// Returns the messages of a text: one, or those of a batch.
pub(crate) fn messages(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim();
    let (one, mut rest) = match text.strip_prefix('[') {
        Some(batch) => (None, Some(batch)),
        None => (Some(text), None),
    };
    let batch = std::iter::from_fn(move || {
        let (value, after) = value(rest?);
        rest = after.strip_prefix(',');
        Some(value)
    });
    one.into_iter().chain(batch).filter(|text| !text.is_empty())
}

/// Splits a member from the text after it, and after the comma.
fn member(text: &str) -> Option<(&str, &str, &str)> {
    let text = text.trim_start().strip_prefix('"')?;
    let (name, after) = string(text)?;
    let after = after.trim_start().strip_prefix(':')?;
    let (value, after) = value(after);
    Some((name, value, after.strip_prefix(',').unwrap_or_default()))
}

/// Splits a value from what follows it: a comma, or the end of the array or object around it.
fn value(text: &str) -> (&str, &str) {
    let mut depth = 0_usize;
    let mut rest = text;
    let end = loop {
        let Some(at) = rest.find(['"', '[', '{', ']', '}', ',']) else {
            break text.len();
        };
        let (_, found) = rest.split_at(at);
        let mut after = found.chars();
        match after.next() {
            Some('[' | '{') => depth += 1,
            Some(']' | '}') if depth > 0 => depth -= 1,
            Some('"') => {
                let Some((_, after)) = string(after.as_str()) else {
                    break text.len();
                };
                rest = after;
                continue;
            }
            Some(',') if depth > 0 => {}
            _ => break text.len() - found.len(),
        }
        rest = after.as_str();
    };
    let (value, rest) = text.split_at(end);
    (value.trim(), rest)
}

/// Splits a string, without the quote before it, from what follows its last quote.
fn string(text: &str) -> Option<(&str, &str)> {
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find(['"', '\\'])?;
        let (string, found) = text.split_at(at);
        if let Some(after) = found.strip_prefix('"') {
            return Some((string, after));
        }
        // The first byte of the escaped character decides.
        from = at + 1 + found.chars().nth(1).map_or(0, char::len_utf8);
    }
}

fn text(value: &str) -> Option<&str> {
    value.strip_prefix('"')?.strip_suffix('"')
}

/// Some servers write the text of a number.
fn id(value: &str) -> Option<RequestId> {
    let inner = text(value);
    match inner.unwrap_or(value).parse() {
        Ok(number) => Some(RequestId::Number(number)),
        Err(_) => inner.map(|text| RequestId::String(text.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_and_the_result_are_those_of_the_message_whatever_is_in_them() {
        let deep = format!("{}{}", "[".repeat(9_000), "]".repeat(9_000));
        for result in [
            "{}",
            "NaN",
            "{\"content\": NaN}",
            "\"\\ud83d\"",
            "\"}, \\\"id\\\": 7\"",
            "[{\"id\": 9}, [1, {\"id\": 8}]]",
            deep.as_str(),
            "1e999",
        ] {
            for message in [
                format!("{{\"jsonrpc\": \"2.0\", \"id\": 3, \"result\": {result}}}"),
                format!(" {{\"result\":{result},\"id\":\"3\" , \"jsonrpc\":\"2.0\"}} trailing"),
            ] {
                let envelope = Envelope::of(&message);
                assert_eq!(envelope.id, Some(RequestId::Number(3)), "{message}");
                assert_eq!(envelope.result, Some(result), "{message}");
                assert_eq!((envelope.method, envelope.error), (None, None));
            }
        }
    }

    #[test]
    fn what_is_no_message_has_no_parts() {
        let parts = |message: &str| {
            let Envelope { id, method, .. } = Envelope::of(message);
            (id, method.map(str::to_owned))
        };
        for none in [
            "",
            "{",
            "hello",
            "[]",
            "{\"id\"",
            "{\"id",
            "{\"id\":}",
            "{,}",
            "{\"id\": 1.5}",
        ] {
            assert_eq!(parts(none), (None, None), "{none}");
        }
        let cut = "{\"id\": 4, \"method\": \"a\", \"params\": {\"x\": [";
        assert_eq!(
            parts(cut),
            (Some(RequestId::Number(4)), Some("a".to_owned()))
        );
        let null = Envelope::of("{\"id\": null, \"error\": null, \"result\": 1}");
        assert!(null.is_id_null && null.error.is_none() && null.result == Some("1"));
        let last = Envelope::of("{\"id\": 1, \"id\": 2}");
        assert_eq!(last.id, Some(RequestId::Number(2)));
        let text = Envelope::of("{\"id\": \"e1\"}");
        assert_eq!(text.id, Some(RequestId::String("e1".into())));
    }

    #[test]
    fn a_batch_is_its_messages() {
        let split = |text: &str| messages(text).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(split("{\"a\": [1, 2]}\r"), ["{\"a\": [1, 2]}"]);
        assert_eq!(
            split(" [ {\"a\": \"],\"} , {} , 3 ] x"),
            ["{\"a\": \"],\"}", "{}", "3"]
        );
        assert_eq!(split("[{\"a\": 1"), ["{\"a\": 1"]);
        for none in ["", "[]", "[", "[,"] {
            assert_eq!(split(none), Vec::<String>::new(), "{none}");
        }
    }
}
