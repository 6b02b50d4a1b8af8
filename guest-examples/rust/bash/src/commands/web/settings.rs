//! What a transfer is to do, for `curl` and for `wget`.

use std::time::Duration;

use http_exchange::{Headers, Method, Payload, has};

use crate::commands::call::Failure;

/// What a status of 400 and above means.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) enum Fail {
    #[default]
    Never,
    /// Exit code 22, and no body.
    WithoutBody,
    /// Exit code 22 behind the body.
    WithBody,
}

/// Which schemes a URL may have.
#[derive(Clone, Copy)]
pub(super) struct Schemes {
    pub(super) http: bool,
    pub(super) https: bool,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Retry {
    pub(super) count: u32,
    /// `None` begins with a second, and doubles.
    pub(super) delay: Option<Duration>,
    pub(super) most_time: Option<Duration>,
    pub(super) all_errors: bool,
    pub(super) refused: bool,
}

/// The redirects that are followed.
#[derive(Clone, Copy, Default)]
pub(super) struct Redirects {
    pub(super) follow: bool,
    /// `None` for any number.
    pub(super) most: Option<u32>,
    /// Whether a POST stays one, after 301, 302 and 303.
    pub(super) keeps_post: [bool; 3],
    /// Whether another origin gets the secrets, too.
    pub(super) trusts: bool,
    /// Whether the URL before is the referer.
    pub(super) sets_referer: bool,
}

#[derive(Clone)]
pub(super) struct Settings {
    /// Of `-X`: it stays through redirects.
    pub(super) method: Option<Method>,
    pub(super) is_head: bool,
    pub(super) body: Option<Payload>,
    /// Whether the body replaces what is at the URL.
    pub(super) is_upload: bool,
    /// Names in lower case.
    pub(super) headers: Headers,
    /// Cookies that are no jar's.
    pub(super) cookies: Vec<String>,
    pub(super) redirects: Redirects,
    pub(super) retry: Retry,
    pub(super) fail: Fail,
    /// Whether the content encoding is removed.
    pub(super) decodes: bool,
    pub(super) max_time: Option<Duration>,
    pub(super) connect_timeout: Option<Duration>,
    pub(super) max_bytes: Option<u64>,
    pub(super) schemes: Schemes,
    pub(super) redirect_schemes: Schemes,
    /// Whether the heads are written before the body.
    pub(super) includes_heads: bool,
    pub(super) is_verbose: bool,
    /// Whether nothing but the result is written.
    pub(super) is_silent: bool,
    /// Bytes that are there already.
    pub(super) resume: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        let schemes = Schemes {
            http: true,
            https: true,
        };
        Self {
            method: None,
            is_head: false,
            body: None,
            is_upload: false,
            headers: Headers::new(),
            cookies: Vec::new(),
            redirects: Redirects::default(),
            retry: Retry::default(),
            fail: Fail::default(),
            decodes: false,
            max_time: None,
            connect_timeout: None,
            max_bytes: None,
            schemes,
            redirect_schemes: schemes,
            includes_heads: false,
            is_verbose: false,
            is_silent: false,
            resume: None,
        }
    }
}

impl Settings {
    /// Adds a header, unless there is one of that name.
    pub(super) fn default_header(&mut self, name: &str, value: &str) {
        if !has(&self.headers, name) {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
    }

    /// Returns the method of the first request.
    pub(super) fn first_method(&self) -> Method {
        match &self.method {
            Some(method) => method.clone(),
            None if self.is_head => Method::Head,
            None if self.is_upload => Method::Put,
            None if self.body.is_some() => Method::Post,
            None => Method::Get,
        }
    }
}

impl Schemes {
    pub(super) fn has(self, scheme: &str) -> bool {
        match scheme {
            "http" => self.http,
            "https" => self.https,
            _ => false,
        }
    }

    /// Changes it by a text such as `=https` or `-http`.
    pub(super) fn change(&mut self, text: &str) -> Result<(), Failure> {
        for item in text.split(',') {
            let (sign, names) = match item.split_at_checked(1) {
                Some((sign @ ("=" | "+" | "-"), names)) => (sign, names),
                _ => ("+", item),
            };
            if sign == "=" {
                (self.http, self.https) = (false, false);
            }
            let is = sign != "-";
            match names {
                "all" => (self.http, self.https) = (is, is),
                "http" => self.http = is,
                "https" => self.https = is,
                "" => return Err(Failure::usage(format!("unrecognized protocol '{text}'"))),
                // curl has it, and it is not here.
                _ => {}
            }
        }
        Ok(())
    }
}

pub(super) fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "CONNECT" => Method::Connect,
        "OPTIONS" => Method::Options,
        "TRACE" => Method::Trace,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    }
}

pub(super) fn method_name(method: &Method) -> &str {
    match method {
        Method::Get => "GET",
        Method::Head => "HEAD",
        Method::Post => "POST",
        Method::Put => "PUT",
        Method::Delete => "DELETE",
        Method::Connect => "CONNECT",
        Method::Options => "OPTIONS",
        Method::Trace => "TRACE",
        Method::Patch => "PATCH",
        Method::Other(name) => name,
    }
}

/// Reads seconds with a fraction.
pub(super) fn seconds(option: &str, text: &str) -> Result<Duration, Failure> {
    let number = text.parse::<f64>().ok();
    let time = number.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| {
        Failure::usage(format!(
            "option {option}: expected a proper numerical parameter, not {text}"
        ))
    })
}

/// Reads a whole number.
pub(super) fn number<N: std::str::FromStr>(option: &str, text: &str) -> Result<N, Failure> {
    text.parse().map_err(|_| {
        Failure::usage(format!(
            "option {option}: expected a proper numerical parameter, not {text}"
        ))
    })
}

/// Encodes the user and the password of basic authentication.
pub(super) fn basic(user: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let user = if user.contains(':') {
        user.to_owned()
    } else {
        format!("{user}:")
    };
    let mut text = "Basic ".to_owned();
    for bytes in user.as_bytes().chunks(3) {
        let [a, b, c] = [0, 1, 2].map(|at| u32::from(bytes.get(at).copied().unwrap_or(0)));
        let group = a << 16 | b << 8 | c;
        for (at, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let digit = DIGITS.get((group >> shift & 63) as usize).copied();
            let digit = digit.filter(|_| at <= bytes.len()).unwrap_or(b'=');
            text.push(char::from(digit));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Schemes, basic};

    #[test]
    fn users_are_encoded_in_base64() {
        for (user, encoded) in [
            ("user:pw", "Basic dXNlcjpwdw=="),
            ("a", "Basic YTo="),
            ("Aladdin:open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
            ("ab:c", "Basic YWI6Yw=="),
        ] {
            assert_eq!(basic(user), encoded);
        }
    }

    #[test]
    fn schemes_are_chosen_by_a_list() {
        for (text, http, https) in [
            ("=https", false, true),
            ("-http", false, true),
            ("=all,-https", true, false),
            ("=ftp", false, false),
        ] {
            let mut schemes = Schemes {
                http: true,
                https: true,
            };
            schemes.change(text).unwrap();
            assert_eq!((schemes.http, schemes.https), (http, https), "{text}");
        }
    }
}
