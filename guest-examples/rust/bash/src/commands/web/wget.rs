//! `wget`: the files of some URLs, by the transfers of `curl`.

use std::time::Duration;

use http_exchange::{Jar, Payload};

use super::head;
use super::settings::{self, Fail, Settings, number, seconds};
use super::sink::{self, Sink};
use super::transfer::{Outcome, Targets, transfer};
use super::{data, jar, trouble, urls};
use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Opt, Spec, flag, value};

const OPTIONS: &[Opt] = &[
    value('O', "output-document"),
    value('P', "directory-prefix"),
    flag('q', "quiet"),
    value('n', "no"),
    flag('\0', "no-verbose"),
    flag('\0', "no-clobber"),
    flag('\0', "no-directories"),
    flag('v', "verbose"),
    flag('c', "continue"),
    flag('S', "server-response"),
    flag('\0', "spider"),
    flag('\0', "content-on-error"),
    value('\0', "header"),
    value('\0', "method"),
    value('\0', "post-data"),
    value('\0', "post-file"),
    value('\0', "body-data"),
    value('\0', "body-file"),
    value('U', "user-agent"),
    value('\0', "referer"),
    value('\0', "user"),
    value('\0', "password"),
    value('\0', "http-user"),
    value('\0', "http-password"),
    value('T', "timeout"),
    value('t', "tries"),
    value('w', "wait"),
    value('\0', "max-redirect"),
    value('\0', "load-cookies"),
    value('\0', "save-cookies"),
    flag('\0', "keep-session-cookies"),
    value('i', "input-file"),
    flag('V', "version"),
    flag('h', "help"),
    flag('\0', "show-progress"),
    value('\0', "progress"),
    flag('\0', "no-check-certificate"),
];

const SPEC: Spec = Spec::new(OPTIONS);

pub(super) const WGET: Command = Command::new("wget", SPEC, run);

const MAX_REDIRECTS: u32 = 20;

fn run(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    if line.has("version") {
        call.print("GNU Wget 1.21.3 (toolhost)\n");
        return Ok(0);
    }
    if line.has("help") {
        call.print(format!(
            "Usage: wget [OPTION]... [URL]...\nOptions: {}\n",
            SPEC.shown()
        ));
        return Ok(0);
    }
    if line.has("no-check-certificate") {
        let text = "the option --no-check-certificate cannot be: the host of this tool checks certificates, always";
        return Err(Failure::usage(text));
    }
    let mut of_no = line.values("no");
    if let Some(other) = of_no.find(|value| !matches!(*value, "v" | "c" | "d")) {
        let text = format!("the option -n{other} is not implemented here; these are: -nv -nc -nd");
        return Err(Failure::usage(text));
    }
    let mut given = line.operands.clone();
    if let Some(file) = line.value("input-file") {
        let text = data::read(call, file)?;
        given.extend(
            String::from_utf8_lossy(&text)
                .split_whitespace()
                .map(str::to_owned),
        );
    }
    if given.is_empty() {
        let text = "wget: missing URL\nUsage: wget [OPTION]... [URL]...\n\nTry `wget --help' for more options.\n";
        call.warn(text.as_bytes());
        return Ok(1);
    }
    let mut run = Run {
        line,
        settings: read_settings(call, line)?,
        jar: Jar::new(jar::MOST),
        document: line.value("output-document").map(Sink::new),
    };
    if let Some(file) = line.value("load-cookies") {
        let text = data::read(call, file)?;
        jar::read(&mut run.jar, &String::from_utf8_lossy(&text), false);
    }
    if let Some(document) = &mut run.document {
        // It is emptied before anything is sent.
        document.write(call, &[])?;
    }
    let mut code = 0;
    for url in &given {
        let failed = run.one(call, url);
        code = match (code, failed) {
            (0, failed) => failed,
            (code, 0) => code,
            (code, failed) => code.min(failed),
        };
    }
    if let Some(file) = line.value("save-cookies") {
        let written = call.write(file, jar::text(&run.jar).as_bytes());
        written.map_err(|error| trouble::of_output(file, &error))?;
    }
    Ok(code)
}

fn read_settings(call: &Call, line: &Line) -> Result<Settings, Failure> {
    let mut settings = Settings {
        method: line.value("method").map(settings::method),
        is_head: line.has("spider"),
        is_silent: true,
        fail: if line.has("content-on-error") {
            Fail::WithBody
        } else {
            Fail::WithoutBody
        },
        ..Settings::default()
    };
    settings.redirects.follow = true;
    settings.redirects.most = match line.value("max-redirect") {
        Some(text) => Some(number("--max-redirect", text)?),
        None => Some(MAX_REDIRECTS),
    };
    if let Some(text) = line.value("timeout") {
        settings.max_time = Some(seconds("--timeout", text)?).filter(|time| !time.is_zero());
    }
    // Only what may pass is tried again; a refused connection is not.
    let tries = line
        .value("tries")
        .map_or(Ok(1), |text| number::<u32>("--tries", text))?;
    settings.retry.count = tries.saturating_sub(1);
    settings.retry.delay = Some(match line.value("wait") {
        Some(text) => seconds("--wait", text)?,
        None => Duration::from_secs(1),
    });
    for text in line.values("header") {
        let (name, value) = text
            .split_once(':')
            .ok_or_else(|| Failure::usage(format!("--header: Invalid header '{text}'")))?;
        let header = (name.trim().to_ascii_lowercase(), value.trim().to_owned());
        settings.headers.push(header);
    }
    let user = line.value("http-user").or(line.value("user"));
    let password = line.value("http-password").or(line.value("password"));
    if let Some(user) = user {
        let user = format!("{user}:{}", password.unwrap_or_default());
        settings.default_header("authorization", &settings::basic(&user));
    }
    settings.default_header(
        "user-agent",
        line.value("user-agent").unwrap_or("Wget/1.21.3"),
    );
    settings.default_header("accept", "*/*");
    settings.default_header("accept-encoding", "identity");
    if let Some(referer) = line.value("referer") {
        settings.default_header("referer", referer);
    }
    let text = line.value("post-data").or(line.value("body-data"));
    let file = line.value("post-file").or(line.value("body-file"));
    let body = match (text, file) {
        (Some(text), _) => Some(Payload::bytes(text)),
        (None, Some(file)) => Some(Payload {
            pieces: vec![data::file(call, file)?],
        }),
        (None, None) => None,
    };
    if let Some(body) = body {
        settings.default_header("content-type", "application/x-www-form-urlencoded");
        settings.default_header("content-length", &body.len().to_string());
        settings.body = Some(body);
    }
    Ok(settings)
}

struct Run<'l> {
    line: &'l Line,
    settings: Settings,
    jar: Jar,
    /// The one file of `-O`.
    document: Option<Sink>,
}

impl Run<'_> {
    fn is_quiet(&self) -> bool {
        self.line.has("quiet")
    }

    fn has_no(&self, letter: &str, long: &str) -> bool {
        self.line.has(long) || self.line.values("no").any(|value| value == letter)
    }

    fn one(&mut self, call: &mut Call, text: &str) -> i32 {
        match self.get(call, text) {
            Ok(code) => code,
            Err(Failure { code, text }) => {
                if !self.is_quiet() {
                    call.complain(text);
                }
                code_of(code)
            }
        }
    }

    fn get(&mut self, call: &mut Call, text: &str) -> Result<i32, Failure> {
        let (url, user) = urls::parse(text)?;
        // A user in a URL is of that URL alone.
        let mut settings = self.settings.clone();
        if let Some(user) = user {
            settings.default_header("authorization", &settings::basic(&user));
        }
        let mut own = None;
        if self.document.is_none() && !self.line.has("spider") {
            let mut name = url.path().rsplit('/').next().unwrap_or_default().to_owned();
            if name.is_empty() {
                "index.html".clone_into(&mut name);
            }
            if let Some(query) = url.query() {
                name = format!("{name}?{}", query.replace('/', "%2F"));
            }
            if let Some(folder) = self.line.value("directory-prefix") {
                name = format!("{}/{name}", folder.trim_end_matches('/'));
            }
            let path = call.path(&name);
            sink::make_folders(call, &path).map_err(|error| trouble::of_output(&name, &error))?;
            let there = call.files.target_metadata(&path).ok();
            if there.is_some() && self.has_no("c", "no-clobber") {
                if !self.is_quiet() {
                    call.warn(format!("File '{name}' already there; not retrieving.\n").as_bytes());
                }
                return Ok(0);
            }
            let mut appends = false;
            if let Some(there) = there {
                if self.line.has("continue") {
                    appends = true;
                    settings.resume = Some(there.size);
                    settings.headers.retain(|(name, _)| name != "range");
                    if there.size > 0 {
                        let range = format!("bytes={}-", there.size);
                        settings.default_header("range", &range);
                    }
                } else {
                    let free = (1..).map(|number: u32| format!("{name}.{number}"));
                    let mut free =
                        free.filter(|name| call.files.metadata(&call.path(name)).is_err());
                    name = free.next().unwrap_or(name);
                }
            }
            own = Some(Sink::File {
                operand: name,
                has_begun: false,
                appends,
                takes_name: false,
            });
        }
        let mut nothing = Sink::Nothing;
        let sink = own
            .as_mut()
            .or(self.document.as_mut())
            .unwrap_or(&mut nothing);
        let mut targets = Targets {
            body: sink,
            heads: None,
            jar: &mut self.jar,
        };
        let outcome = transfer(call, &settings, &url, &mut targets);
        let name = sink.name().to_owned();
        self.tell(call, &outcome, &name);
        Ok(outcome
            .failure
            .as_ref()
            .map_or(0, |failure| code_of(failure.code)))
    }

    fn tell(&self, call: &mut Call, outcome: &Outcome, name: &str) {
        if self.line.has("server-response") {
            for line in outcome.heads.trim_end().lines() {
                call.warn(format!("  {line}\n").as_bytes());
            }
        }
        if self.is_quiet() {
            return;
        }
        let text = match &outcome.failure {
            Some(Failure { code: 22, .. }) => {
                let reason = head::reason(outcome.status);
                format!("{}:\nERROR {}: {reason}.\n", outcome.url, outcome.status)
            }
            Some(Failure { text, .. }) => format!("wget: {text}\n"),
            None if self.line.has("spider") => {
                format!("{} {} OK\n", outcome.url, outcome.status)
            }
            None => {
                let size = outcome.downloaded;
                format!("URL:{} [{size}] -> \"{name}\" [1]\n", outcome.url)
            }
        };
        call.warn(text.as_bytes());
    }
}

/// Converts an exit code of curl.
fn code_of(code: i32) -> i32 {
    match code {
        0 => 0,
        2 => 2,
        23 | 26 => 3,
        6 | 7 | 18 | 28 | 52 | 56 => 4,
        35 | 60 => 5,
        22 | 33 | 47 => 8,
        _ => 1,
    }
}
