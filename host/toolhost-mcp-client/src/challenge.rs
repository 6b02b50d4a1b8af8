//! What a server asks for when it refuses a request.

use std::fmt;

use http::{HeaderMap, StatusCode, header};

use crate::error::bounded;

/// Most bytes of a header that is read.
const HEADER_MAX: usize = 8 << 10;

/// A response 401, or 403 for want of a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Challenge {
    status: StatusCode,
    /// The header `WWW-Authenticate`; empty if there is none.
    pub(crate) header: String,
    /// The scopes that are missing, or that a new token needs.
    pub(crate) scopes: Vec<String>,
    /// A person asks, and not a server.
    pub(crate) is_login: bool,
}

impl Challenge {
    /// A person wants to authorize the host, with these scopes besides others.
    pub(crate) fn login(scopes: &[String]) -> Self {
        Self {
            status: StatusCode::UNAUTHORIZED,
            header: String::new(),
            scopes: scopes.to_vec(),
            is_login: true,
        }
    }

    /// Returns the challenge of a response, if it is one.
    pub(crate) fn of(status: StatusCode, headers: &HeaderMap) -> Option<Self> {
        let lines = headers.get_all(header::WWW_AUTHENTICATE).into_iter();
        let lines = lines.filter_map(|line| line.to_str().ok());
        let mut lines = lines.filter(|line| is_bearer(line) && line.len() <= HEADER_MAX);
        let header = match status {
            StatusCode::UNAUTHORIZED => lines.next().unwrap_or_default(),
            StatusCode::FORBIDDEN => lines
                .find(|line| parameter(line, "error").as_deref() == Some("insufficient_scope"))?,
            _ => return None,
        };
        let scopes = parameter(header, "scope").unwrap_or_default();
        Some(Self {
            status,
            header: header.to_owned(),
            is_login: false,
            scopes: scopes.split_ascii_whitespace().map(str::to_owned).collect(),
        })
    }

    /// Whether the token lacks a scope.
    pub(crate) fn is_step_up(&self) -> bool {
        self.status == StatusCode::FORBIDDEN
    }
}

impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_step_up() {
            let scopes = bounded(self.scopes.join(" "));
            write!(
                f,
                "it requires the scopes '{scopes}': it answered with HTTP {}",
                self.status
            )
        } else {
            write!(
                f,
                "it requires authorization: it answered with HTTP {}",
                self.status
            )
        }
    }
}

fn is_bearer(line: &str) -> bool {
    let scheme = line.split(' ').next().unwrap_or_default();
    scheme.eq_ignore_ascii_case("bearer")
}

/// Returns a parameter of a challenge such as `Bearer error="invalid_token", scope="a b"`.
fn parameter(line: &str, name: &str) -> Option<String> {
    let (_, mut rest) = line.split_once(' ')?;
    loop {
        let (key, after) = rest.split_once('=')?;
        let (value, after) = value(after.trim_start())?;
        if key
            .trim()
            .trim_start_matches(',')
            .trim()
            .eq_ignore_ascii_case(name)
        {
            return Some(value);
        }
        rest = after;
    }
}

/// Splits a token or a quoted text from what follows.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ']).unwrap_or(text.len());
        let (token, rest) = text.split_at_checked(end)?;
        return Some((token.to_owned(), rest));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((value, quoted.get(at + 1..)?)),
            '\\' => value.push(chars.next()?.1),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: u16, lines: &[&str]) -> Option<(String, Vec<String>)> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::WWW_AUTHENTICATE, line.parse().unwrap());
        }
        let challenge = Challenge::of(StatusCode::from_u16(status).unwrap(), &headers)?;
        Some((challenge.header, challenge.scopes))
    }

    #[test]
    fn a_challenge_is_401_or_403_for_want_of_a_scope() {
        let scopes = |scopes: &[&str]| scopes.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(of(401, &[]), Some((String::new(), vec![])));
        assert_eq!(of(403, &[]), None);
        assert_eq!(of(403, &["Bearer error=\"invalid_token\""]), None);
        assert_eq!(of(500, &["Bearer error=\"insufficient_scope\""]), None);
        for (line, expected) in [
            (
                "Bearer error=\"insufficient_scope\", scope=\"a b\"",
                &["a", "b"][..],
            ),
            ("bearer scope=a, error=insufficient_scope", &["a"]),
            (
                "Bearer error_description=\"a \\\"scope=x\\\"\", error=\"insufficient_scope\"",
                &[],
            ),
            (
                "Bearer realm=\"scope=x, y\",scope=\"z\", error=\"insufficient_scope\"",
                &["z"],
            ),
        ] {
            let challenge = of(403, &["Basic realm=\"x\"", line]);
            assert_eq!(
                challenge,
                Some((line.to_owned(), scopes(expected))),
                "{line}"
            );
        }
        for broken in [
            "Bearer",
            "Bearer scope",
            "Bearer scope=\"a",
            "Bearer =,=,,\"",
            "Basic x=\"y\"",
        ] {
            assert_eq!(of(401, &[broken]).unwrap().1, scopes(&[]), "{broken}");
        }
    }
}
