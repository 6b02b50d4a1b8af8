//! `curl`: HTTP as curl 7.88 sends it.

use std::time::Duration;

use http_exchange::url::Url;
use http_exchange::{Headers, Jar, Payload, has};

use super::report::{Report, Stream, VERSION};
use super::settings::{self, Fail, Settings, number, seconds};
use super::sink::{self, Sink};
use super::transfer::{Outcome, transfer};
use super::{data, jar, trouble, urls};
use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Numbers, Opt, Spec, flag, value};

const SPEC: Spec = Spec::new(OPTIONS).detached().numbers(Numbers::Options);

pub(super) const CURL: Command = Command::new("curl", SPEC, run);

const OPTIONS: &[Opt] = &[
    value('X', "request"),
    value('d', "data"),
    value('\0', "data-ascii"),
    value('\0', "data-raw"),
    value('\0', "data-binary"),
    value('\0', "data-urlencode"),
    value('\0', "json"),
    value('\0', "url-query"),
    flag('G', "get"),
    value('H', "header"),
    value('F', "form"),
    value('\0', "form-string"),
    value('T', "upload-file"),
    flag('I', "head"),
    flag('i', "include"),
    flag('s', "silent"),
    flag('S', "show-error"),
    flag('f', "fail"),
    flag('\0', "fail-with-body"),
    flag('\0', "fail-early"),
    flag('L', "location"),
    flag('\0', "location-trusted"),
    value('\0', "max-redirs"),
    flag('\0', "post301"),
    flag('\0', "post302"),
    flag('\0', "post303"),
    value('o', "output"),
    flag('O', "remote-name"),
    flag('\0', "remote-name-all"),
    flag('J', "remote-header-name"),
    value('\0', "output-dir"),
    flag('\0', "create-dirs"),
    flag('\0', "no-clobber"),
    flag('\0', "remove-on-error"),
    value('D', "dump-header"),
    value('w', "write-out"),
    value('u', "user"),
    value('\0', "oauth2-bearer"),
    flag('\0', "basic"),
    value('A', "user-agent"),
    value('e', "referer"),
    value('b', "cookie"),
    value('c', "cookie-jar"),
    flag('j', "junk-session-cookies"),
    flag('\0', "compressed"),
    value('m', "max-time"),
    value('\0', "connect-timeout"),
    value('\0', "max-filesize"),
    value('\0', "retry"),
    value('\0', "retry-delay"),
    value('\0', "retry-max-time"),
    flag('\0', "retry-all-errors"),
    flag('\0', "retry-connrefused"),
    value('r', "range"),
    value('C', "continue-at"),
    flag('g', "globoff"),
    value('\0', "url"),
    value('\0', "proto"),
    value('\0', "proto-redir"),
    value('\0', "proto-default"),
    flag('v', "verbose"),
    flag('V', "version"),
    flag('h', "help"),
    // They ask for what is so anyway.
    flag('#', "progress-bar"),
    flag('\0', "no-progress-meter"),
    flag('N', "no-buffer"),
    flag('q', "disable"),
    flag('1', "tlsv1"),
    flag('\0', "tlsv1.0"),
    flag('\0', "tlsv1.1"),
    flag('\0', "tlsv1.2"),
    flag('\0', "http1.1"),
    flag('\0', "http2"),
    flag('\0', "no-keepalive"),
    flag('\0', "tcp-nodelay"),
    flag('\0', "compressed-ssh"),
    // They cannot be.
    flag('k', "insecure"),
    value('x', "proxy"),
    value('U', "proxy-user"),
    value('\0', "noproxy"),
    value('\0', "unix-socket"),
    value('\0', "interface"),
    value('\0', "resolve"),
    value('\0', "connect-to"),
    flag('4', "ipv4"),
    flag('6', "ipv6"),
    value('E', "cert"),
    value('\0', "key"),
    value('\0', "cacert"),
    value('\0', "capath"),
    value('K', "config"),
    flag('Z', "parallel"),
    flag(':', "next"),
    flag('n', "netrc"),
    flag('\0', "digest"),
    flag('\0', "ntlm"),
    flag('\0', "negotiate"),
    flag('\0', "anyauth"),
    value('\0', "limit-rate"),
    flag('0', "http1.0"),
    flag('\0', "http3"),
    flag('\0', "path-as-is"),
];

const CONNECTION: &str =
    "the host of this tool makes the connection: its address, proxy and version cannot be chosen";
const SECURITY: &str = "the host of this tool checks certificates, always; its operator names more authorities with `--ca-file`";
const AUTH: &str = "there are basic authentication (-u) and bearer tokens (--oauth2-bearer)";

/// Options that cannot be, and why.
const REFUSED: &[(&str, &str)] = &[
    ("insecure", SECURITY),
    ("cert", SECURITY),
    ("key", SECURITY),
    ("cacert", SECURITY),
    ("capath", SECURITY),
    ("proxy", CONNECTION),
    ("proxy-user", CONNECTION),
    ("noproxy", CONNECTION),
    ("unix-socket", CONNECTION),
    ("interface", CONNECTION),
    ("resolve", CONNECTION),
    ("connect-to", CONNECTION),
    ("ipv4", CONNECTION),
    ("ipv6", CONNECTION),
    ("http1.0", CONNECTION),
    ("http3", CONNECTION),
    (
        "path-as-is",
        "the host of this tool takes normal paths only",
    ),
    ("config", "options are read from the command line only"),
    ("parallel", "transfers run one after another"),
    (
        "next",
        "all URLs of a command have the same options; run curl twice",
    ),
    ("netrc", "there is no .netrc here; use -u, or a header"),
    ("digest", AUTH),
    ("ntlm", AUTH),
    ("negotiate", AUTH),
    ("anyauth", AUTH),
    ("limit-rate", "the rate cannot be limited"),
];

const TRY_HELP: &str = "curl: try 'curl --help' or 'curl --manual' for more information";

fn run(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    if line.has("version") {
        call.print(format!(
            "curl {VERSION} (toolhost)\nRelease-Date: 2023-02-20\nProtocols: http https\nFeatures: libz\n"
        ));
        return Ok(0);
    }
    if line.has("help") {
        call.print(format!(
            "Usage: curl [options...] <url>\nOptions: {}\n",
            SPEC.shown()
        ));
        return Ok(0);
    }
    if let Some((name, why)) = REFUSED.iter().find(|(name, _)| line.has(name)) {
        return Err(Failure::usage(format!(
            "the option --{name} cannot be: {why}"
        )));
    }
    let patterns: Vec<_> = line
        .values("url")
        .map(str::to_owned)
        .chain(line.operands.iter().cloned())
        .collect();
    if patterns.is_empty() {
        let text = if call.args.is_empty() {
            TRY_HELP
        } else {
            "curl: no URL specified!"
        };
        call.err.extend_from_slice(format!("{text}\n").as_bytes());
        if !call.args.is_empty() {
            call.err
                .extend_from_slice(format!("{TRY_HELP}\n").as_bytes());
        }
        return Ok(2);
    }
    let (settings, query) = read_settings(call, line)?;
    let mut run = Run {
        line,
        settings,
        query,
        jar: Jar::new(jar::MOST),
        is_silent: line.has("silent") && !line.has("show-error"),
        dump: line.value("dump-header").map(Sink::new),
        format: match line.value("write-out") {
            Some(format) => match format.strip_prefix('@') {
                Some(file) => String::from_utf8_lossy(&data::read(call, file)?).into_owned(),
                None => format.to_owned(),
            },
            None => String::new(),
        },
        count: 0,
    };
    run.read_cookies(call)?;
    let outputs: Vec<_> = line
        .given()
        .filter_map(|(name, value)| match name.as_str() {
            "output" => Some(value),
            "remote-name" => Some(None),
            _ => None,
        })
        .collect();
    let uploads: Vec<_> = line.values("upload-file").collect();
    let mut code = 0;
    'patterns: for (at, pattern) in patterns.iter().enumerate() {
        let expansions = if line.has("globoff") {
            Ok(vec![urls::Expansion {
                url: pattern.clone(),
                parts: Vec::new(),
            }])
        } else {
            urls::expand(pattern)
        };
        let expansions = match expansions {
            Ok(expansions) => expansions,
            Err(failure) => {
                code = run.complain(call, &failure);
                continue;
            }
        };
        let all_remote = line.has("remote-name-all").then_some(None);
        let output = outputs.get(at).copied().or(all_remote);
        let upload = uploads.get(at).copied();
        for expansion in expansions {
            code = run.one(call, &expansion, output, upload);
            if code != 0 && line.has("fail-early") {
                break 'patterns;
            }
        }
    }
    if let Some(file) = line.value("cookie-jar") {
        let text = jar::text(&run.jar);
        let written = call.write(file, text.as_bytes());
        if let Err(error) = written {
            call.err.extend_from_slice(
                format!("Warning: failed to save cookies in {file}: {error}\n").as_bytes(),
            );
        }
    }
    Ok(code)
}

/// Returns the settings of all transfers, and what `-G` and `--url-query` add to each URL.
fn read_settings(call: &Call, line: &Line) -> Result<(Settings, Vec<Vec<u8>>), Failure> {
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

struct Run<'l> {
    line: &'l Line,
    settings: Settings,
    query: Vec<Vec<u8>>,
    jar: Jar,
    is_silent: bool,
    dump: Option<Sink>,
    format: String,
    /// Transfers so far.
    count: usize,
}

impl Run<'_> {
    fn complain(&self, call: &mut Call, failure: &Failure) -> i32 {
        let Failure { code, text } = failure;
        if !self.is_silent || *code == 2 {
            call.err
                .extend_from_slice(format!("curl: ({code}) {text}\n").as_bytes());
        }
        *code
    }

    fn read_cookies(&mut self, call: &Call) -> Result<(), Failure> {
        for text in self.line.values("cookie") {
            if text.contains('=') {
                self.settings.cookies.push(text.to_owned());
            } else if let Ok(bytes) = call.read(text) {
                let text = String::from_utf8_lossy(&bytes);
                jar::read(&mut self.jar, &text, self.line.has("junk-session-cookies"));
            }
        }
        Ok(())
    }

    /// Returns the exit code of the transfer of one URL.
    fn one(
        &mut self,
        call: &mut Call,
        expansion: &urls::Expansion,
        output: Option<Option<&str>>,
        upload: Option<&str>,
    ) -> i32 {
        let prepared = self.prepare(call, expansion, output, upload);
        let (url, mut sink) = match prepared {
            Ok(prepared) => prepared,
            Err(failure) => {
                let code = self.complain(call, &failure);
                self.tell_failure(call, &expansion.url, failure);
                return code;
            }
        };
        let mut outcome = transfer(call, &self.settings, &url, &mut sink, &mut self.jar);
        if let Err(failure) = self.settle(call, &outcome, &mut sink) {
            outcome.failure.get_or_insert(failure);
        }
        let code = match &outcome.failure {
            Some(failure) => self.complain(call, failure),
            None => 0,
        };
        self.tell(call, &outcome, &expansion.url, sink.name());
        code
    }

    /// What is left to do once the transfer is over.
    fn settle(
        &mut self,
        call: &mut Call,
        outcome: &Outcome,
        sink: &mut Sink,
    ) -> Result<(), Failure> {
        if let Some(dump) = &mut self.dump {
            dump.write(call, outcome.heads.as_bytes())?;
        }
        if outcome.failure.is_some() && self.line.has("remove-on-error") {
            sink.remove(call);
        }
        Ok(())
    }

    fn tell_failure(&mut self, call: &mut Call, url: &str, failure: Failure) {
        let Ok(nowhere) = Url::parse("http://localhost") else {
            return;
        };
        let mut outcome = Outcome::new(nowhere, self.settings.first_method());
        outcome.failure = Some(failure);
        self.tell(call, &outcome, url, "");
    }

    fn tell(&mut self, call: &mut Call, outcome: &Outcome, url: &str, file: &str) {
        let number = self.count;
        self.count += 1;
        if self.format.is_empty() {
            return;
        }
        let report = Report {
            outcome,
            url,
            number,
            file,
        };
        let (parts, unknown) = report.write(&self.format);
        for name in unknown {
            let text = format!("curl: unknown --write-out variable: '{name}'\n");
            call.err.extend_from_slice(text.as_bytes());
        }
        for (stream, text) in parts {
            match stream {
                Stream::Out => call.print(text),
                Stream::Err => call.err.extend_from_slice(text.as_bytes()),
            }
        }
    }

    /// Returns the URL, and where its body goes.
    fn prepare(
        &mut self,
        call: &mut Call,
        expansion: &urls::Expansion,
        output: Option<Option<&str>>,
        upload: Option<&str>,
    ) -> Result<(Url, Sink), Failure> {
        let (mut url, user) = match self.line.value("proto-default") {
            Some(scheme) if !expansion.url.contains("://") => {
                urls::parse(&format!("{scheme}://{}", expansion.url))?
            }
            _ => urls::parse(&expansion.url)?,
        };
        for part in &self.query {
            let part = String::from_utf8_lossy(part);
            let query = match url.query() {
                Some(query) if !query.is_empty() => format!("{query}&{part}"),
                _ => part.into_owned(),
            };
            url.set_query(Some(&query));
        }
        if let Some(user) = user {
            self.settings
                .default_header("authorization", &settings::basic(&user));
        }
        if let Some(operand) = upload {
            if url.path().ends_with('/') && !matches!(operand, "-" | ".") {
                let name = operand.rsplit('/').next().unwrap_or_default();
                url = url
                    .join(name)
                    .map_err(|reason| trouble::of_url(&reason.to_string()))?;
            }
            self.settings.is_upload = true;
            let pieces = vec![data::file(call, operand)?];
            self.settings.body = Some(Payload { pieces });
        }
        self.settings
            .headers
            .retain(|(name, _)| name != "content-length");
        let length = self.settings.body.as_ref().map(Payload::len);
        // Some servers answer 411 without it.
        let is_other = self.settings.method.is_some() && !self.settings.is_head;
        if let Some(length) = length.or_else(|| is_other.then_some(0)) {
            if length > 0 || settings::method_name(&self.settings.first_method()) != "GET" {
                self.settings
                    .default_header("content-length", &length.to_string());
            }
        }
        let mut sink = self.sink(call, &url, expansion, output)?;
        if let Some(offset) = self.line.value("continue-at") {
            let there = call.files.target_metadata(&call.path(sink.name()));
            let there = there.map_or(0, |metadata| metadata.size);
            let from = match offset {
                "-" => there,
                offset => number("continue-at", offset)?,
            };
            if let Sink::File { appends, .. } = &mut sink {
                *appends = from > 0;
            }
            self.settings.resume = Some(from);
            if from > 0 && !has(&self.settings.headers, "range") {
                self.settings
                    .default_header("range", &format!("bytes={from}-"));
            }
        }
        Ok((url, sink))
    }

    fn sink(
        &self,
        call: &Call,
        url: &Url,
        expansion: &urls::Expansion,
        output: Option<Option<&str>>,
    ) -> Result<Sink, Failure> {
        let name = match output {
            None => return Ok(Sink::Stdout),
            Some(Some(name)) => urls::name_of(name, &expansion.parts),
            Some(None) => {
                let name = url.path().rsplit('/').next().unwrap_or_default();
                if name.is_empty() {
                    return Err(Failure::new(
                        23,
                        "Remote file name has no length: the URL ends with a slash; use -o FILE",
                    ));
                }
                name.to_owned()
            }
        };
        let name = match self.line.value("output-dir") {
            Some(folder) if !name.starts_with('/') && name != "-" => {
                format!("{}/{name}", folder.trim_end_matches('/'))
            }
            _ => name,
        };
        let mut sink = Sink::new(&name);
        if let Sink::File { takes_name, .. } = &mut sink {
            *takes_name = output == Some(None) && self.line.has("remote-header-name");
        }
        if let Sink::File { operand, .. } = &sink {
            let path = call.path(operand);
            if self.line.has("create-dirs") {
                sink::make_folders(call, &path)
                    .map_err(|error| trouble::of_output(operand, &error))?;
            }
            if self.line.has("no-clobber") && call.files.metadata(&path).is_ok() {
                let free = (1..=100).map(|number| format!("{operand}.{number}"));
                let mut free = free.filter(|name| call.files.metadata(&call.path(name)).is_err());
                let free = free.next();
                let exists = || Failure::new(23, format!("Failed writing body: {operand} exists"));
                return free.map(|name| Sink::new(&name)).ok_or_else(exists);
            }
        }
        Ok(sink)
    }
}
