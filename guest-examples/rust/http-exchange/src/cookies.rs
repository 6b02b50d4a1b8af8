//! Cookies: what a server sets is sent with the requests that follow. Spec: RFC 6265 §5.

use std::time::{SystemTime, UNIX_EPOCH};

use url::{Host, Url};

/// Most bytes of a cookie.
const MAX_BYTES: usize = 4096;

#[derive(Clone)]
pub struct Cookie {
    pub name: String,
    pub value: String,
    pub domain: String,
    /// Only for the host that set it, not for those beneath it.
    pub is_host_only: bool,
    pub path: String,
    pub is_secure: bool,
    pub is_http_only: bool,
    /// Seconds since 1970; `None` for the time of a session.
    pub expires: Option<u64>,
}

pub struct Jar {
    cookies: Vec<Cookie>,
    most: usize,
}

impl Jar {
    /// Returns an empty jar for at most so many cookies. Others are ignored.
    pub fn new(most: usize) -> Self {
        let cookies = Vec::new();
        Self { cookies, most }
    }

    pub fn cookies(&self) -> &[Cookie] {
        &self.cookies
    }

    /// Adds a cookie in the place of an older one. One whose time is over only removes that.
    pub fn add(&mut self, cookie: Cookie) {
        self.cookies.retain(|it| {
            (&it.name, &it.domain, &it.path) != (&cookie.name, &cookie.domain, &cookie.path)
        });
        let is_over = cookie.expires.is_some_and(|expires| expires <= now());
        if !is_over && self.cookies.len() < self.most {
            self.cookies.push(cookie);
        }
    }

    /// Takes a `Set-Cookie` header of a response. A cookie that is not for this URL is ignored.
    pub fn set(&mut self, url: &Url, header: &str) {
        if header.len() > MAX_BYTES {
            return;
        }
        if let Some(cookie) = parse(url, header) {
            self.add(cookie);
        }
    }

    /// Returns the cookies for a URL, as a `Cookie` header.
    pub fn header(&self, url: &Url) -> Option<String> {
        let mut cookies: Vec<_> = self.cookies.iter().filter(|it| it.is_for(url)).collect();
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

fn parse(url: &Url, header: &str) -> Option<Cookie> {
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
        is_http_only: false,
        expires: None,
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
            "httponly" => cookie.is_http_only = true,
            "max-age" => max_age = value.parse::<i64>().ok(),
            "expires" => expires = date(value),
            _ => {}
        }
    }
    cookie.expires = match max_age {
        Some(seconds) if seconds <= 0 => Some(0),
        Some(seconds) => Some(now().saturating_add_signed(seconds)),
        None => expires,
    };
    Some(cookie)
}

/// Returns the seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
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

/// Reads the seconds since 1970 of a date such as `Wed, 21 Oct 2026 07:28:00 GMT` or `21-Oct-26 07:28:00`.
fn date(text: &str) -> Option<u64> {
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
    days.checked_mul(86_400)?.checked_add(seconds?)
}
