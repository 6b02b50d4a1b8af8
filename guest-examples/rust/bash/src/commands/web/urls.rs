//! URLs as curl reads them: a scheme that is left out, a user, braces and brackets.

use http_exchange::url::Url;

use super::trouble;
use crate::commands::call::Failure;

/// The most URLs that one text stands for.
const MOST: usize = 10_000;

/// A URL without its user, and the user and password if it has them.
pub(super) fn parse(text: &str) -> Result<(Url, Option<String>), Failure> {
    if text.is_empty()
        || text
            .chars()
            .any(|char| char.is_whitespace() || char.is_control())
    {
        return Err(trouble::of_url(text));
    }
    let has_scheme = text.split_once("://").is_some_and(|(scheme, _)| {
        let mut chars = scheme.chars();
        chars
            .next()
            .is_some_and(|first| first.is_ascii_alphabetic())
            && chars.all(|char| char.is_ascii_alphanumeric() || "+-.".contains(char))
    });
    let whole = if has_scheme {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    let mut url = Url::parse(&whole).map_err(|reason| trouble::of_url(&reason.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(trouble::of_scheme(url.scheme()));
    }
    let user = take_user(&mut url);
    Ok((url, user))
}

/// Takes `USER:PASSWORD` from a URL.
pub(super) fn take_user(url: &mut Url) -> Option<String> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let user = format!(
        "{}:{}",
        decoded(url.username()),
        decoded(url.password().unwrap_or_default())
    );
    let _ = url.set_username("");
    let _ = url.set_password(None);
    Some(user)
}

/// Decodes `%20` and the like.
pub(super) fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let digits = after.get(..2);
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(b'%');
                rest = after;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A URL that a pattern stands for, and what its braces and brackets stand for: `#1`, `#2`, …
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Expansion {
    pub(super) url: String,
    pub(super) parts: Vec<String>,
}

/// Expands `{a,b}`, `[1-10]`, `[001-100:5]` and `[a-z]`.
pub(super) fn expand(pattern: &str) -> Result<Vec<Expansion>, Failure> {
    let mut all = vec![Expansion::default()];
    let mut rest = pattern;
    while let Some(at) = rest.find(['{', '[', '\\']) {
        let (before, from) = rest.split_at(at);
        for expansion in &mut all {
            expansion.url.push_str(before);
        }
        let mut chars = from.chars();
        let opening = chars.next().unwrap_or_default();
        if opening == '\\' {
            let escaped = chars.next().unwrap_or('\\');
            for expansion in &mut all {
                expansion.url.push(escaped);
            }
            rest = chars.as_str();
            continue;
        }
        let closing = if opening == '{' { '}' } else { ']' };
        let (inner, after) = chars.as_str().split_once(closing).ok_or_else(|| {
            trouble::of_url(&format!(
                "no `{closing}` follows in {pattern}; -g takes braces and brackets as they are"
            ))
        })?;
        rest = after;
        let is_address = inner.contains(':') && !inner.contains('-');
        let choices = if opening == '{' {
            inner.split(',').map(str::to_owned).collect()
        } else if is_address {
            for expansion in &mut all {
                expansion.url.push_str(&format!("[{inner}]"));
            }
            continue;
        } else {
            range(inner).ok_or_else(|| trouble::of_url(&format!("bad range [{inner}]")))?
        };
        if all.len() * choices.len() > MOST {
            return Err(trouble::of_url(&format!(
                "more than {MOST} URLs: {pattern}"
            )));
        }
        let with = |expansion: &Expansion, choice: &String| {
            let mut next = expansion.clone();
            next.url.push_str(choice);
            next.parts.push(choice.clone());
            next
        };
        all = all
            .iter()
            .flat_map(|expansion| choices.iter().map(move |choice| with(expansion, choice)))
            .collect();
    }
    for expansion in &mut all {
        expansion.url.push_str(rest);
    }
    Ok(all)
}

fn range(inner: &str) -> Option<Vec<String>> {
    let (range, step) = match inner.split_once(':') {
        Some((range, step)) => (range, step.parse::<usize>().ok().filter(|step| *step > 0)?),
        None => (inner, 1),
    };
    let (first, last) = range.split_once('-')?;
    let width = if first.starts_with('0') {
        first.len()
    } else {
        0
    };
    if let (Ok(first), Ok(last)) = (first.parse::<u64>(), last.parse::<u64>()) {
        let numbers = (first..=last).step_by(step).take(MOST + 1);
        let numbers: Vec<_> = numbers.map(|number| format!("{number:0width$}")).collect();
        return (!numbers.is_empty()).then_some(numbers);
    }
    let letter = |text: &str| {
        let mut chars = text.chars();
        let letter = chars.next().filter(char::is_ascii_alphabetic);
        letter.filter(|_| chars.next().is_none())
    };
    let letters: Vec<_> = (letter(first)?..=letter(last)?)
        .step_by(step)
        .map(String::from)
        .collect();
    (!letters.is_empty()).then_some(letters)
}

/// Puts what braces and brackets stand for into the name of an output file.
pub(super) fn name_of(pattern: &str, parts: &[String]) -> String {
    let mut name = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('#') {
        name.push_str(before);
        let digits = after.len()
            - after
                .trim_start_matches(|char: char| char.is_ascii_digit())
                .len();
        let (number, then) = after.split_at(digits);
        let part = number
            .parse::<usize>()
            .ok()
            .and_then(|number| parts.get(number.checked_sub(1)?));
        match part {
            Some(part) => name.push_str(part),
            None => {
                name.push('#');
                name.push_str(number);
            }
        }
        rest = then;
    }
    name.push_str(rest);
    name
}

#[cfg(test)]
mod tests {
    use super::{expand, name_of, parse};

    #[test]
    fn braces_and_brackets_stand_for_several_urls() {
        for (pattern, expected) in [
            ("http://a/b", "http://a/b"),
            ("http://a/{x,y}", "http://a/x http://a/y"),
            ("http://a/[08-10]", "http://a/08 http://a/09 http://a/10"),
            (
                "http://a/[1-5:2]{p,q}",
                "http://a/1p http://a/1q http://a/3p http://a/3q http://a/5p http://a/5q",
            ),
            ("http://a/[a-c]", "http://a/a http://a/b http://a/c"),
            ("http://[::1]:8/\\{", "http://[::1]:8/{"),
        ] {
            let urls: Vec<_> = expand(pattern)
                .unwrap()
                .into_iter()
                .map(|it| it.url)
                .collect();
            assert_eq!(urls.join(" "), expected, "{pattern}");
        }
        for wrong in [
            "http://a/[1-",
            "http://a/{x",
            "http://a/[x]",
            "http://a/[1-9999999]",
            "http://a/[5-1]",
        ] {
            assert_eq!(expand(wrong).unwrap_err().code, 3, "{wrong}");
        }
        let parts = ["x".to_owned(), "y".to_owned()];
        assert_eq!(name_of("#1-#2#3.txt#", &parts), "x-y#3.txt#");
    }

    #[test]
    fn urls_are_read_without_scheme_and_user() {
        for (text, url, user) in [
            ("example.com", "http://example.com/", None),
            (
                "localhost:8080/a?b=c://d",
                "http://localhost:8080/a?b=c://d",
                None,
            ),
            ("https://me:p%40ss@h/x", "https://h/x", Some("me:p@ss")),
        ] {
            let (parsed, of_url) = parse(text).unwrap();
            assert_eq!((parsed.as_str(), of_url.as_deref()), (url, user));
        }
        for (text, code) in [("", 3), ("http://a b/", 3), ("http://", 3), ("ftp://h/", 1)] {
            assert_eq!(parse(text).unwrap_err().code, code, "{text}");
        }
    }
}
