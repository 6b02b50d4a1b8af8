//! What the options of `curl` ask for.

use std::time::Duration;

use http_exchange::{Headers, Payload};

use crate::commands::call::{Call, Failure};
use crate::commands::options::Line;
use crate::commands::web::data;
use crate::commands::web::report::VERSION;
use crate::commands::web::settings::{self, Fail, Settings, number, seconds};

/// Returns the settings of all transfers, and what `-G` and `--url-query` add to each URL.
pub(super) fn settings_of(call: &Call, line: &Line) -> Result<(Settings, Vec<Vec<u8>>), Failure> {
    let mut settings = Settings {
        method: line.value("request").map(settings::method),
        is_head: line.has("head"),
        decodes: line.has("compressed"),
        fail: if line.has("fail-with-body") {
            Fail::WithBody
        } else if line.has("fail") {
            Fail::WithoutBody
        } else {
            Fail::Never
        },
        includes_heads: line.has("include") || line.has("head"),
        is_verbose: line.has("verbose"),
        is_silent: line.has("silent"),
        ..Settings::default()
    };
    let time = |name| line.value(name).map(|text| seconds(name, text)).transpose();
    let is_set = |time: &Duration| !time.is_zero();
    settings.max_time = time("max-time")?.filter(is_set);
    settings.connect_timeout = time("connect-timeout")?.filter(is_set);
    settings.max_bytes = line
        .value("max-filesize")
        .map(|text| number("max-filesize", text))
        .transpose()?;
    let redirects = &mut settings.redirects;
    redirects.follow = line.has("location") || line.has("location-trusted");
    redirects.trusts = line.has("location-trusted");
    let referer = line.value("referer").unwrap_or_default();
    redirects.sets_referer = referer.ends_with(";auto");
    redirects.keeps_post = ["post301", "post302", "post303"].map(|name| line.has(name));
    redirects.most = match line.value("max-redirs") {
        Some(text) => u32::try_from(number::<i64>("max-redirs", text)?).ok(),
        None => Some(50),
    };
    let retry = &mut settings.retry;
    retry.count = line
        .value("retry")
        .map_or(Ok(0), |text| number("retry", text))?;
    retry.delay = time("retry-delay")?.filter(is_set);
    retry.most_time = time("retry-max-time")?.filter(is_set);
    retry.all_errors = line.has("retry-all-errors");
    retry.refused = line.has("retry-connrefused");
    settings.redirect_schemes = settings.schemes;
    for (option, schemes) in [
        ("proto", &mut settings.schemes),
        ("proto-redir", &mut settings.redirect_schemes),
    ] {
        for text in line.values(option) {
            schemes.change(text)?;
        }
    }

    let (mut body, mut query) = (None::<Vec<u8>>, Vec::new());
    for (option, value) in line.given() {
        let Some(value) = value else { continue };
        match option.as_str() {
            "data" | "data-ascii" | "data-raw" | "data-binary" | "data-urlencode" | "json" => {
                let (bytes, separated) = data::of_option(call, &option, value)?;
                let body = body.get_or_insert_default();
                if separated && !body.is_empty() {
                    body.push(b'&');
                }
                body.extend_from_slice(&bytes);
            }
            "url-query" => query.push(data::of_option(call, &option, value)?.0),
            _ => {}
        }
    }
    if line.has("get") {
        query.extend(body.take());
    }
    let forms = line
        .given()
        .filter(|(name, _)| name == "form" || name == "form-string");
    let forms: Vec<_> = forms.collect();
    let kinds = [
        body.is_some(),
        !forms.is_empty(),
        line.has("upload-file"),
        line.has("head"),
    ];
    if kinds.into_iter().filter(|is| *is).count() > 1 {
        let text = "You can only select one HTTP request method: one of -d, -F, -T and -I";
        return Err(Failure::usage(text));
    }
    settings.headers = headers(call, line, &mut settings.cookies)?;
    if let Some(bytes) = body {
        let kind = if line.has("json") {
            "application/json"
        } else {
            "application/x-www-form-urlencoded"
        };
        settings.default_header("content-type", kind);
        settings.body = Some(Payload::bytes(bytes));
    } else if !forms.is_empty() {
        let forms = forms
            .iter()
            .map(|(name, value)| (name.as_str(), value.unwrap_or_default()));
        let (payload, kind) = data::form(call, forms)?;
        // The boundary belongs to the body.
        settings.headers.retain(|(name, _)| name != "content-type");
        settings.default_header("content-type", &kind);
        settings.body = Some(payload);
    }
    // Of a header without a value, this was only the mark.
    let removed = removed(call, line)?;
    settings.headers.retain(|(name, _)| !removed.contains(name));
    Ok((settings, query))
}

/// The lines of `-H`: names in lower case, and values; `None` removes a default.
fn given_headers(call: &Call, line: &Line) -> Result<Vec<(String, Option<String>)>, Failure> {
    let mut headers = Vec::new();
    for text in line.values("header") {
        let text = match text.strip_prefix('@') {
            Some(file) => String::from_utf8_lossy(&data::read(call, file)?).into_owned(),
            None => text.to_owned(),
        };
        for text in text.lines() {
            if let Some((name, value)) = text.split_once(':') {
                let value = value.trim();
                let value = (!value.is_empty()).then(|| value.to_owned());
                headers.push((name.trim().to_ascii_lowercase(), value));
            } else if let Some(name) = text.strip_suffix(';') {
                headers.push((name.trim().to_ascii_lowercase(), Some(String::new())));
            }
        }
    }
    Ok(headers)
}

fn removed(call: &Call, line: &Line) -> Result<Vec<String>, Failure> {
    let headers = given_headers(call, line)?;
    let removed = headers.into_iter().filter(|(_, value)| value.is_none());
    let mut removed: Vec<_> = removed.map(|(name, _)| name).collect();
    if line.value("user-agent").is_some_and(str::is_empty) {
        removed.push("user-agent".to_owned());
    }
    Ok(removed)
}

fn headers(call: &Call, line: &Line, cookies: &mut Vec<String>) -> Result<Headers, Failure> {
    let given = given_headers(call, line)?;
    let mut headers = Headers::new();
    let mut default = |name: &str, value: String| {
        if !given
            .iter()
            .any(|(given, value)| given == name && value.is_some())
        {
            headers.push((name.to_owned(), value));
        }
    };
    if let Some(user) = line.value("user") {
        default("authorization", settings::basic(user));
    }
    if let Some(token) = line.value("oauth2-bearer") {
        default("authorization", format!("Bearer {token}"));
    }
    let agent = format!("curl/{VERSION}");
    default(
        "user-agent",
        line.value("user-agent").map_or(agent, str::to_owned),
    );
    let accept = if line.has("json") {
        "application/json"
    } else {
        "*/*"
    };
    default("accept", accept.to_owned());
    if let Some(range) = line.value("range") {
        default("range", format!("bytes={range}"));
    }
    let referer = line.value("referer").unwrap_or_default();
    let referer = referer.strip_suffix(";auto").unwrap_or(referer);
    if !referer.is_empty() {
        default("referer", referer.to_owned());
    }
    if line.has("compressed") {
        default("accept-encoding", "deflate, gzip".to_owned());
    }
    for (name, value) in given {
        let Some(value) = value else { continue };
        if name == "cookie" {
            cookies.push(value);
        } else {
            headers.push((name, value));
        }
    }
    Ok(headers)
}
