//! A transfer: a request, its redirects, and what is tried again.

use std::io::{BufRead, BufReader};
use std::thread;
use std::time::{Duration, Instant};

use http_exchange::url::Url;
use http_exchange::{
    Deadline, Encodings, Fault, Headers, Jar, Method, Payload, Request, Response, ResponseHeaders,
    exchange, without_body, without_secrets,
};

use super::settings::{Fail, Settings, method_name};
use super::sink::Sink;
use super::trouble::{self, Progress};
use super::{head, settings, urls};
use crate::commands::call::{Call, Failure};

/// Bytes that are read from the network at once.
const PIECE: usize = 64 << 10;

/// The longest pause before the next attempt.
const MAX_PAUSE: Duration = Duration::from_mins(10);

/// What became of a transfer.
pub(super) struct Outcome {
    pub(super) failure: Option<Failure>,
    /// 0 if there was no response.
    pub(super) status: u16,
    pub(super) headers: ResponseHeaders,
    pub(super) method: Method,
    /// Of the last request.
    pub(super) url: Url,
    pub(super) redirects: u32,
    /// Where a redirect leads that was not followed.
    pub(super) redirect_url: Option<String>,
    pub(super) downloaded: u64,
    pub(super) uploaded: u64,
    pub(super) head_bytes: usize,
    pub(super) request_bytes: usize,
    /// The heads of all responses.
    pub(super) heads: String,
    pub(super) started: Instant,
    pub(super) first_byte: Option<Duration>,
    pub(super) redirect_time: Duration,
    pub(super) total: Duration,
    /// Whether the server may answer otherwise the next time.
    is_transient: bool,
    retry_after: Option<Duration>,
}

impl Outcome {
    pub(super) fn new(url: Url, method: Method) -> Self {
        Self {
            failure: None,
            status: 0,
            headers: ResponseHeaders::default(),
            method,
            url,
            redirects: 0,
            redirect_url: None,
            downloaded: 0,
            uploaded: 0,
            head_bytes: 0,
            request_bytes: 0,
            heads: String::new(),
            started: Instant::now(),
            first_byte: None,
            redirect_time: Duration::ZERO,
            total: Duration::ZERO,
            is_transient: false,
            retry_after: None,
        }
    }

    fn progress(&self) -> Progress {
        let length = self.headers.first("content-length");
        Progress {
            millis: self.started.elapsed().as_millis(),
            received: self.downloaded,
            length: length.and_then(|length| length.parse().ok()),
            has_head: self.status != 0,
        }
    }
}

/// Where the parts of a response go.
pub(super) struct Targets<'t> {
    pub(super) body: &'t mut Sink,
    /// Of each response, as it arrives.
    pub(super) heads: Option<&'t mut Sink>,
    pub(super) jar: &'t mut Jar,
}

/// Transfers what is at a URL, and tries again as the settings say.
pub(super) fn transfer(
    call: &mut Call,
    settings: &Settings,
    url: &Url,
    targets: &mut Targets<'_>,
) -> Outcome {
    let retry = settings.retry;
    let began = Instant::now();
    let mut pause = Duration::from_secs(1);
    let mut left = retry.count;
    loop {
        let mut attempt = Attempt {
            settings,
            cookies: &settings.cookies,
            outcome: Outcome::new(url.clone(), settings.first_method()),
        };
        let result = attempt.run(call, targets);
        let mut outcome = attempt.outcome;
        outcome.total = outcome.started.elapsed();
        outcome.failure = result.err();
        call.is_late = call.time_left().is_zero();
        let is_transient = outcome.is_transient
            || outcome.failure.as_ref().is_some_and(|failure| {
                retry.all_errors || failure.code == 28 || (failure.code == 7 && retry.refused)
            });
        if left == 0 || !is_transient {
            return outcome;
        }
        let next = outcome.retry_after.or(retry.delay).unwrap_or(pause);
        let is_late = |most: Duration| began.elapsed() + next > most;
        if next > call.time_left() || retry.most_time.is_some_and(is_late) {
            return outcome;
        }
        if !settings.is_silent {
            let what = match &outcome.failure {
                Some(failure) if failure.code == 28 => "timeout",
                Some(failure) if failure.code != 22 => "error",
                _ => "HTTP error",
            };
            let seconds = next.as_secs();
            let text = format!(
                "Warning: Problem : {what}. Will retry in {seconds} seconds. {left} retries left.\n"
            );
            call.warn(text.as_bytes());
        }
        thread::sleep(next);
        pause = (pause * 2).min(MAX_PAUSE);
        left -= 1;
        targets.body.restart();
    }
}

struct Attempt<'s> {
    settings: &'s Settings,
    /// Those that are no jar's, for the origin of the first request.
    cookies: &'s [String],
    outcome: Outcome,
}

impl Attempt<'_> {
    fn run(&mut self, call: &mut Call, targets: &mut Targets<'_>) -> Result<(), Failure> {
        let settings = self.settings;
        let time = settings
            .max_time
            .map_or(call.time_left(), |time| time.min(call.time_left()));
        let mut request = Request {
            method: settings.first_method(),
            url: self.outcome.url.clone(),
            headers: self.settings.headers.clone(),
            payload: settings.body.clone(),
            deadline: Deadline::after(time),
            connect_timeout: settings.connect_timeout,
        };
        if !settings.schemes.has(request.url.scheme()) {
            return Err(trouble::of_scheme(request.url.scheme()));
        }
        loop {
            let response = self.exchange(call, &request, targets)?;
            let next = response
                .redirect()
                .and_then(|location| request.url.join(location).ok());
            let Some(next) = next else {
                return self.receive(call, response, targets.body);
            };
            if !settings.redirects.follow {
                self.outcome.redirect_url = Some(next.into());
                return self.receive(call, response, targets.body);
            }
            if settings
                .redirects
                .most
                .is_some_and(|most| self.outcome.redirects >= most)
            {
                let most = self.outcome.redirects;
                self.outcome.redirect_url = Some(next.into());
                return Err(Failure::new(
                    47,
                    format!("Maximum ({most}) redirects followed"),
                ));
            }
            self.follow(&mut request, response.status, next)?;
        }
    }

    fn exchange(
        &mut self,
        call: &mut Call,
        request: &Request,
        targets: &mut Targets<'_>,
    ) -> Result<Response, Failure> {
        let cookies = self
            .cookies
            .iter()
            .cloned()
            .chain(targets.jar.header(&request.url));
        let cookies = cookies.collect::<Vec<_>>().join("; ");
        let cookies = (!cookies.is_empty()).then_some(cookies);
        let text = head_of(request, cookies.as_deref());
        self.outcome.request_bytes += text.len() + 2;
        if self.settings.is_verbose {
            call.warn(marked('>', &text).as_bytes());
        }
        let response = exchange(request, cookies.as_deref());
        let response = response.map_err(|fault| self.failure(fault))?;
        self.outcome.uploaded = request.payload.as_ref().map_or(0, Payload::len);
        self.outcome.first_byte = Some(self.outcome.started.elapsed());
        for cookie in response.headers.all("set-cookie") {
            targets.jar.set(&request.url, cookie);
        }
        let text = head::text(response.status, &response.headers);
        if self.settings.is_verbose {
            call.warn(marked('<', &text).as_bytes());
        }
        self.outcome.status = response.status;
        self.outcome.head_bytes += text.len();
        self.outcome.heads.push_str(&text);
        if let Some(heads) = &mut targets.heads {
            heads.write(call, text.as_bytes())?;
        }
        Ok(response)
    }

    fn failure(&self, fault: Fault) -> Failure {
        trouble::of_exchange(&self.outcome.url, fault, self.outcome.progress())
    }

    /// Turns a request into that to the location of a redirect. The host checks its origin again.
    fn follow(&mut self, request: &mut Request, status: u16, mut next: Url) -> Result<(), Failure> {
        let redirects = self.settings.redirects;
        if !self.settings.redirect_schemes.has(next.scheme()) {
            return Err(trouble::of_scheme(next.scheme()));
        }
        let user = urls::take_user(&mut next);
        if next.fragment().is_none() {
            next.set_fragment(request.url.fragment());
        }
        let [keeps_301, keeps_302, keeps_303] = redirects.keeps_post;
        let is_post = request.payload.is_some() && !self.settings.is_upload;
        let becomes_get = match status {
            301 => is_post && !keeps_301,
            302 => is_post && !keeps_302,
            303 => request.payload.is_some() && !keeps_303,
            _ => false,
        };
        if becomes_get {
            request.payload = None;
            without_body(&mut request.headers);
            if self.settings.method.is_none() {
                request.method = Method::Get;
            }
        }
        if next.origin() != request.url.origin() && !redirects.trusts {
            without_secrets(&mut request.headers);
            self.cookies = &[];
        }
        if redirects.sets_referer {
            let referer = request.url.as_str().to_owned();
            set(&mut request.headers, "referer", &referer);
        }
        if let Some(user) = user {
            set(
                &mut request.headers,
                "authorization",
                &settings::basic(&user),
            );
        }
        self.outcome.redirects += 1;
        self.outcome.redirect_time = self.outcome.started.elapsed();
        self.outcome.status = 0;
        self.outcome.url = next.clone();
        self.outcome.method = request.method.clone();
        request.url = next;
        Ok(())
    }

    /// Writes the heads, if they are asked for, and the body.
    fn receive(
        &mut self,
        call: &mut Call,
        response: Response,
        sink: &mut Sink,
    ) -> Result<(), Failure> {
        let settings = self.settings;
        let Response {
            status,
            headers,
            body,
        } = response;
        self.outcome.headers = headers;
        self.outcome.is_transient = matches!(status, 408 | 429 | 500 | 502 | 503 | 504);
        let after = self.outcome.headers.first("retry-after");
        self.outcome.retry_after = after
            .and_then(|after| after.parse().ok())
            .map(Duration::from_secs);
        let error = Failure::new(22, format!("The requested URL returned error: {status}"));
        let fails = status >= 400;
        if fails && settings.fail == Fail::WithoutBody {
            return Err(error);
        }
        let length = self.outcome.progress().length;
        let too_large = || Failure::new(63, "Maximum file size exceeded");
        if length
            .zip(settings.max_bytes)
            .is_some_and(|(length, most)| length > most)
        {
            return Err(too_large());
        }
        if settings.resume.is_some_and(|from| from > 0) && status == 200 {
            let text = "HTTP server doesn't seem to support byte ranges. Cannot resume.";
            return Err(Failure::new(33, text));
        }
        if let Some(header) = self.outcome.headers.first("content-disposition") {
            sink.take_name(call, header)?;
        }
        if settings.includes_heads {
            let heads = self.outcome.heads.clone();
            sink.write(call, heads.as_bytes())?;
        }
        // What is behind the range is there already.
        let is_there = settings.resume.is_some() && status == 416;
        if settings.is_head || is_there {
            return Ok(());
        }
        let failure = body.failure();
        let body = BufReader::with_capacity(PIECE, body);
        let mut body: Box<dyn BufRead> = if settings.decodes {
            let encodings = Encodings::parse(self.outcome.headers.all("content-encoding"));
            let encodings = encodings.map_err(|name| {
                let text = format!("Unrecognized content encoding type {name}. libcurl understands deflate, gzip content encodings.");
                Failure::new(61, text)
            })?;
            let body = encodings.decode(body);
            body.map_err(|error| match failure.borrow_mut().take() {
                Some(fault) => self.failure(fault),
                None => undecoded(&error),
            })?
        } else {
            Box::new(body)
        };
        loop {
            let bytes = body
                .fill_buf()
                .map_err(|error| match failure.borrow_mut().take() {
                    Some(fault) => self.failure(fault),
                    None => undecoded(&error),
                })?;
            if bytes.is_empty() {
                break;
            }
            let count = bytes.len();
            if settings
                .max_bytes
                .is_some_and(|most| self.outcome.downloaded + count as u64 > most)
            {
                return Err(too_large());
            }
            sink.write(call, bytes)?;
            body.consume(count);
            self.outcome.downloaded += count as u64;
        }
        sink.finish(call)?;
        if fails && settings.fail == Fail::WithBody {
            return Err(error);
        }
        Ok(())
    }
}

fn undecoded(error: &std::io::Error) -> Failure {
    Failure::new(
        61,
        format!("Error while processing content unencoding: {error}"),
    )
}

fn set(headers: &mut Headers, name: &str, value: &str) {
    headers.retain(|(header, _)| header != name);
    headers.push((name.to_owned(), value.to_owned()));
}

fn head_of(request: &Request, cookies: Option<&str>) -> String {
    let url = &request.url;
    let query = url
        .query()
        .map_or(String::new(), |query| format!("?{query}"));
    let port = url.port().map_or(String::new(), |port| format!(":{port}"));
    let mut text = format!(
        "{} {}{query} HTTP/1.1\r\nHost: {}{port}\r\n",
        method_name(&request.method),
        url.path(),
        url.host_str().unwrap_or_default(),
    );
    for (name, value) in &request.headers {
        text.push_str(&format!("{}: {value}\r\n", head::shown(name)));
    }
    if let Some(cookies) = cookies {
        text.push_str(&format!("Cookie: {cookies}\r\n"));
    }
    text
}

fn marked(mark: char, text: &str) -> String {
    let lines = text.trim_end().lines();
    let lines: String = lines.map(|line| format!("{mark} {line}\n")).collect();
    format!("{lines}{mark} \n")
}
