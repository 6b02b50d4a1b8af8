//! `curl`: HTTP as curl 7.88 sends it.

use super::report::VERSION;
use super::{jar, urls};
use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec};
use options::{OPTIONS, REFUSED};
use run::Run;

mod options;
mod read;
mod run;

const SPEC: Spec = Spec::new(OPTIONS).detached();

pub(super) const CURL: Command = Command::new("curl", SPEC, run);

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
        call.warn(format!("{text}\n").as_bytes());
        if !call.args.is_empty() {
            call.warn(format!("{TRY_HELP}\n").as_bytes());
        }
        return Ok(2);
    }
    let mut run = Run::new(call, line).map_err(|failure| match failure.code {
        2 => failure,
        code => Failure::new(code, format!("({code}) {}", failure.text)),
    })?;
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
            call.warn(format!("Warning: failed to save cookies in {file}: {error}\n").as_bytes());
        }
    }
    Ok(code)
}
