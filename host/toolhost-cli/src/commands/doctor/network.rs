//! The variables that decide how compilers download.

use std::path::Path;

use super::finding::Finding;
use crate::environment;

const AREA: &str = "network";

/// Variables that name proxies, and the hosts without one.
const PROXIES: [&str; 8] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// Variables that name certificates.
const CERTIFICATES: [&str; 6] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
];

const DOWNLOADS: &str = "downloads of kits and packages, not for requests of tools";

pub(super) fn examine() -> Vec<Finding> {
    let value = |name: &str| Some(environment::value(name)?.to_string_lossy().into_owned());
    let mut findings = Vec::new();
    for name in PROXIES {
        findings.extend(value(name).map(|value| {
            let value = without_credentials(&value);
            Finding::ok(AREA, name, value).needed_for(DOWNLOADS)
        }));
    }
    if findings.is_empty() {
        findings.push(Finding::ok(AREA, "proxy", "none").needed_for(DOWNLOADS));
    }
    let before = findings.len();
    for name in CERTIFICATES {
        findings.extend(value(name).map(|path| certificates(name, &path)));
    }
    if findings.len() == before {
        findings.push(Finding::ok(AREA, "certificates", "none set"));
    }
    findings
}

fn certificates(name: &'static str, path: &str) -> Finding {
    if Path::new(path).exists() {
        Finding::ok(AREA, name, path)
    } else {
        let finding = Finding::ok(AREA, name, format!("{path} does not exist"));
        finding.warning(format!("unset {name}"))
    }
}

/// Removes the user and the password from URLs.
fn without_credentials(value: &str) -> String {
    let (scheme, rest) = match value.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), value),
    };
    let (authority, path) = match rest.find(['/', '?', '#']) {
        Some(end) => rest.split_at(end),
        None => (rest, ""),
    };
    // A password may hold `/`.
    if path.contains('@') {
        return format!("{scheme}…");
    }
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;

    #[test]
    fn the_password_of_a_proxy_is_not_printed() {
        for (value, printed) in [
            ("http://proxy:3128", "http://proxy:3128"),
            ("http://me:secret@proxy:3128/", "http://proxy:3128/"),
            ("me:secret@proxy", "proxy"),
            ("http://me:sec@ret@proxy", "http://proxy"),
            ("http://me:sec/ret@proxy", "http://…"),
            ("localhost,.example.com", "localhost,.example.com"),
        ] {
            assert_eq!(without_credentials(value), printed);
        }
    }

    #[test]
    fn a_missing_certificate_is_a_warning() {
        assert_eq!(certificates("PIP_CERT", "/nowhere").state, State::Warning);
        assert_eq!(certificates("PIP_CERT", "/").state, State::Ok);
    }
}
