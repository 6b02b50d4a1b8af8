//! The transfers of one `curl`.

use http_exchange::url::Url;
use http_exchange::{Jar, Payload, has};

use crate::commands::call::{Call, Failure};
use crate::commands::options::Line;
use crate::commands::web::report::{Report, Stream};
use crate::commands::web::settings::{self, Settings, number};
use crate::commands::web::sink::{self, Sink};
use crate::commands::web::transfer::{Outcome, Targets, transfer};
use crate::commands::web::{data, jar, trouble, urls};

use super::read;

pub(super) struct Run<'l> {
    line: &'l Line,
    /// Of all transfers.
    settings: Settings,
    /// What is added to each URL.
    query: Vec<Vec<u8>>,
    pub(super) jar: Jar,
    is_silent: bool,
    dump: Option<Sink>,
    format: String,
    /// Transfers so far.
    count: usize,
}

impl<'l> Run<'l> {
    pub(super) fn new(call: &Call, line: &'l Line) -> Result<Self, Failure> {
        let (mut settings, query) = read::settings_of(call, line)?;
        let mut jar = Jar::new(jar::MOST);
        for text in line.values("cookie") {
            if text.contains('=') {
                settings.cookies.push(text.to_owned());
            } else if let Ok(bytes) = call.read(text) {
                let text = String::from_utf8_lossy(&bytes);
                jar::read(&mut jar, &text, line.has("junk-session-cookies"));
            }
        }
        let format = line.value("write-out").unwrap_or_default();
        let format = match format.strip_prefix('@') {
            Some(file) => String::from_utf8_lossy(&data::read(call, file)?).into_owned(),
            None => format.to_owned(),
        };
        Ok(Self {
            line,
            settings,
            query,
            jar,
            is_silent: line.has("silent") && !line.has("show-error"),
            dump: line.value("dump-header").map(Sink::new),
            format,
            count: 0,
        })
    }

    pub(super) fn complain(&self, call: &mut Call, failure: &Failure) -> i32 {
        let Failure { code, text } = failure;
        if !self.is_silent || *code == 2 {
            call.warn(format!("curl: ({code}) {text}\n").as_bytes());
        }
        *code
    }

    /// Returns the exit code of the transfer of one URL.
    pub(super) fn one(
        &mut self,
        call: &mut Call,
        expansion: &urls::Expansion,
        output: Option<Option<&str>>,
        upload: Option<&str>,
    ) -> i32 {
        let prepared = self.prepare(call, expansion, output, upload);
        let (settings, url, mut sink) = match prepared {
            Ok(prepared) => prepared,
            Err(failure) => {
                let code = self.complain(call, &failure);
                self.tell_failure(call, &expansion.url, failure);
                return code;
            }
        };
        let mut targets = Targets {
            body: &mut sink,
            heads: self.dump.as_mut(),
            jar: &mut self.jar,
        };
        let outcome = transfer(call, &settings, &url, &mut targets);
        if outcome.failure.is_some() && self.line.has("remove-on-error") {
            sink.remove(call);
        }
        let code = match &outcome.failure {
            Some(failure) => self.complain(call, failure),
            None => 0,
        };
        self.tell(call, &outcome, &expansion.url, sink.name());
        code
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
            call.warn(text.as_bytes());
        }
        for (stream, text) in parts {
            match stream {
                Stream::Out => call.print(text),
                Stream::Err => call.warn(text.as_bytes()),
            }
        }
    }

    /// Returns the settings of one transfer, its URL, and where its body goes.
    fn prepare(
        &self,
        call: &Call,
        expansion: &urls::Expansion,
        output: Option<Option<&str>>,
        upload: Option<&str>,
    ) -> Result<(Settings, Url, Sink), Failure> {
        // A user in a URL is of that URL alone.
        let mut settings = self.settings.clone();
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
            settings.default_header("authorization", &settings::basic(&user));
        }
        if let Some(operand) = upload {
            if url.path().ends_with('/') && !matches!(operand, "-" | ".") {
                let name = operand.rsplit('/').next().unwrap_or_default();
                url = url
                    .join(name)
                    .map_err(|reason| trouble::of_url(&reason.to_string()))?;
            }
            settings.is_upload = true;
            let pieces = vec![data::file(call, operand)?];
            settings.body = Some(Payload { pieces });
        }
        settings
            .headers
            .retain(|(name, _)| name != "content-length");
        let length = settings.body.as_ref().map(Payload::len);
        // Some servers answer 411 without it.
        let is_other = settings.method.is_some() && !settings.is_head;
        if let Some(length) = length.or_else(|| is_other.then_some(0)) {
            if length > 0 || settings::method_name(&settings.first_method()) != "GET" {
                settings.default_header("content-length", &length.to_string());
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
            settings.resume = Some(from);
            if from > 0 && !has(&settings.headers, "range") {
                settings.default_header("range", &format!("bytes={from}-"));
            }
        }
        Ok((settings, url, sink))
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
