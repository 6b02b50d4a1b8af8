//! Cookies of one call: what a server sets is sent with the redirects that follow. Spec: RFC 6265 §5.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use url::{Host, Url};

/// Most cookies, and most bytes of one.
const MAX_COOKIES: usize = 50;
const MAX_BYTES: usize = 4096;

struct Cookie {
    name: String,
    value: String,
    domain: String,
    /// Only for the host that set it, not for those beneath it.
    is_host_only: bool,
    path: String,
    is_secure: bool,
}

#[derive(Default)]
pub(crate) struct Jar(Vec<Cookie>);

impl Jar {
    /// Takes a `Set-Cookie` header of a response. A cookie that is not for this URL is ignored.
    pub(crate) fn set(&mut self, url: &Url, header: &str) {
        if header.len() > MAX_BYTES {
            return;
        }
        let Some((cookie, is_over)) = parse(url, header) else {
            return;
        };
        self.0.retain(|it| {
            (&it.name, &it.domain, &it.path) != (&cookie.name, &cookie.domain, &cookie.path)
        });
        if !is_over && self.0.len() < MAX_COOKIES {
            self.0.push(cookie);
        }
    }

    /// Returns the cookies for a URL, as a `Cookie` header.
    pub(crate) fn header(&self, url: &Url) -> Option<String> {
        let mut cookies: Vec<_> = self.0.iter().filter(|cookie| cookie.is_for(url)).collect();
        // Cookies of longer paths come first.
        cookies.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs = cookies
            .iter()
            .map(|cookie| format!("{}={}", cookie.name, cookie.value));
        let header = pairs.collect::<Vec<_>>().join("; ");
        (!header.is_empty()).then_some(header)
    }
}

impl Cookie {
    fn is_for(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let is_host = if self.is_host_only {
            host == self.domain
        } else {
            is_within(host, &self.domain)
        };
        let path = url.path();
        let is_path = path.strip_prefix(self.path.as_str()).is_some_and(|rest| {
            rest.is_empty() || self.path.ends_with('/') || rest.starts_with('/')
        });
        is_host && is_path && (!self.is_secure || url.scheme() == "https")
    }
}

/// Returns the cookie, and whether it is to be deleted.
fn parse(url: &Url, header: &str) -> Option<(Cookie, bool)> {
    let mut parts = header.split(';');
    let (name, value) = parts.next()?.split_once('=')?;
    let host = url.host_str()?;
    let mut cookie = Cookie {
        name: name.trim().to_owned(),
        value: value.trim().to_owned(),
        domain: host.to_owned(),
        is_host_only: true,
        path: default_path(url.path()),
        is_secure: false,
    };
    if cookie.name.is_empty() {
        return None;
    }
    let (mut max_age, mut expires) = (None, None);
    for part in parts {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let value = value.trim();
        match name.trim().to_ascii_lowercase().as_str() {
            "domain" => {
                let domain = value.trim_start_matches('.').to_ascii_lowercase();
                if domain.is_empty() {
                    continue;
                }
                let is_domain = matches!(url.host(), Some(Host::Domain(_)));
                // A whole top-level domain is nobody's.
                if domain != host
                    && !(is_domain && domain.contains('.') && is_within(host, &domain))
                {
                    return None;
                }
                cookie.is_host_only = !is_domain;
                cookie.domain = domain;
            }
            "path" if value.starts_with('/') => cookie.path = value.to_owned(),
            "secure" => cookie.is_secure = true,
            "max-age" => max_age = value.parse::<i64>().ok(),
            "expires" => expires = date(value),
            _ => {}
        }
    }
    let is_over = match (max_age, expires) {
        (Some(seconds), _) => seconds <= 0,
        (None, Some(expires)) => expires <= SystemTime::now(),
        (None, None) => false,
    };
    Some((cookie, is_over))
}

fn is_within(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Returns the folder of a path.
fn default_path(path: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, _)) if !folder.is_empty() => folder.to_owned(),
        Some(_) | None => "/".to_owned(),
    }
}

/// Reads a date such as `Wed, 21 Oct 2026 07:28:00 GMT` or `21-Oct-26 07:28:00`.
fn date(text: &str) -> Option<SystemTime> {
    const MONTHS: [&str; 12] = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let (mut day, mut month, mut year, mut seconds) = (None, None, None, None);
    for token in text.split([' ', ',', '-']).filter(|it| !it.is_empty()) {
        let number = token.parse::<u64>().ok();
        let word = token.to_ascii_lowercase();
        let named = MONTHS.iter().position(|month| word.starts_with(month));
        if token.contains(':') {
            let parts = token.split(':').map(|part| part.parse::<u64>().ok());
            seconds = parts.fold(Some(0), |sum, part| Some(sum? * 60 + part?));
        } else if named.is_some() {
            month = month.or(named);
        } else if day.is_none() && token.len() <= 2 {
            day = number;
        } else if year.is_none() {
            year = number.map(|year| match year {
                0..=69 => year + 2000,
                70..=99 => year + 1900,
                year => year,
            });
        }
    }
    let (year, month) = (year?, u64::try_from(month?).ok()? + 1);
    // Days since 1970; a year begins in March, so that a leap day is its last.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year.checked_sub(1)?, month + 9)
    };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day?;
    // A date before 1970 is over, too.
    let days = days.saturating_sub(719_469);
    UNIX_EPOCH.checked_add(Duration::from_secs(
        days.checked_mul(86_400)?.checked_add(seconds?)?,
    ))
}
