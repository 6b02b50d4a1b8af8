//! Reads the values of OAuth that bundles and policies share: URLs, scopes and identifiers of clients.

use toolhost_contract::OAuthEndpoints;
use toolhost_contract::http::{Host, Origin, Scheme};

use crate::command::read_texts;
use crate::reader::{Cursor, Findings, all};
use toolhost_contract::text::short;

/// Maximum number of scopes.
const SCOPES_MAX: usize = 100;

/// Maximum number of origins.
const ORIGINS_MAX: usize = 100;

/// Longest URL, in bytes.
const URL_MAX: usize = 2048;

/// Reads the URLs of an authorization server.
pub(crate) fn read_urls(at: &Cursor<'_>, findings: &mut Findings) -> Option<OAuthEndpoints> {
    at.mapping(findings, |fields| {
        all!(OAuthEndpoints {
            authorization_url: fields.optional("authorizationUrl", read_endpoint),
            token_url: fields.required("tokenUrl", read_endpoint),
            device_authorization_url: fields.optional("deviceAuthorizationUrl", read_endpoint),
            revocation_url: fields.optional("revocationUrl", read_endpoint),
            issuer: fields.optional("issuer", read_endpoint),
        })
    })
}

/// Reads a URL to which codes and tokens are sent: `https`, or `http` at this machine. It may have a query.
pub(crate) fn read_endpoint(at: &Cursor<'_>, findings: &mut Findings) -> Option<String> {
    let url = at.text(findings)?;
    let (origin, path) = split_path(url);
    let is_formed = url.len() <= URL_MAX
        && path
            .chars()
            .all(|c| c.is_ascii_graphic() && !"#*\"\\<>".contains(c));
    match Origin::parse(origin).ok().filter(|_| is_formed) {
        Some(origin) if origin.scheme == Scheme::Https || is_loopback(&origin.host) => {
            Some(url.to_owned())
        }
        Some(_) => {
            let message = format!("'{}' is not an https URL", short(url));
            at.refuse(message, findings)
        }
        None => {
            let message = format!(
                "'{}' is not a URL of the form https://host/path",
                short(url)
            );
            at.refuse(message, findings)
        }
    }
}

/// Reads the origins that get a token, sorted.
pub(crate) fn read_origins(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<String>> {
    let mut origins = read_texts(at, findings)?;
    if origins.is_empty() || origins.len() > ORIGINS_MAX {
        let message = format!("'origins' has 1 to {ORIGINS_MAX} origins");
        return at.refuse(message, findings);
    }
    for origin in &origins {
        let problem = match Origin::parse(origin) {
            Ok(parsed) if parsed.scheme == Scheme::Https || is_loopback(&parsed.host) => continue,
            Ok(_) => "a token is sent over https alone".to_owned(),
            Err(error) => error.to_string(),
        };
        let message = format!("invalid origin '{}': {problem}", short(origin));
        return at.refuse(message, findings);
    }
    origins.sort();
    origins.dedup();
    Some(origins)
}

/// Returns whether a URL is one of this machine.
pub(crate) fn is_of_loopback(url: &str) -> bool {
    Origin::parse(split_path(url).0).is_ok_and(|origin| is_loopback(&origin.host))
}

fn is_loopback(host: &Host) -> bool {
    match host {
        Host::Name(name) => name == "localhost",
        Host::Address(address) => address.is_loopback(),
    }
}

/// Splits a URL before its path.
pub(crate) fn split_path(url: &str) -> (&str, &str) {
    let authority = url.find("://").map_or(0, |at| at + 3);
    let path = url.get(authority..).and_then(|rest| rest.find('/'));
    let at = path.map_or(url.len(), |path| authority + path);
    url.split_at_checked(at).unwrap_or((url, ""))
}

/// Reads the identifier of a client.
pub(crate) fn read_client_id(at: &Cursor<'_>, findings: &mut Findings) -> Option<String> {
    let id = at.text(findings)?;
    let is_valid = (1..=2048).contains(&id.len()) && id.bytes().all(|b| matches!(b, b' '..=b'~'));
    if is_valid {
        Some(id.to_owned())
    } else {
        at.refuse(
            "'clientId' has 1 to 2048 visible ASCII characters",
            findings,
        )
    }
}

/// Reads scopes: RFC 6749, section 3.3.
pub(crate) fn read_scopes(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<String>> {
    let scopes = read_texts(at, findings)?;
    if scopes.len() > SCOPES_MAX {
        return at.refuse(format!("at most {SCOPES_MAX} scopes are allowed"), findings);
    }
    let is_scope = |scope: &String| {
        let is_allowed = |b: u8| matches!(b, b'!' | b'#'..=b'[' | b']'..=b'~');
        (1..=500).contains(&scope.len()) && scope.bytes().all(is_allowed)
    };
    match scopes.iter().find(|scope| !is_scope(scope)) {
        None => Some(scopes),
        Some(scope) => {
            let message = format!("'{}' is not an OAuth scope", short(scope));
            at.refuse(message, findings)
        }
    }
}
