//! The arguments of `toolhost calls`.

use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use serde_json::Value;
use toolhost::events::Timestamp;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct CallsArgs {
    #[command(subcommand)]
    pub(crate) action: Option<CallsAction>,
    /// Those that failed
    #[arg(long)]
    pub(crate) failed: bool,
    /// Those of a tool
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Those of an agent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Those of an instance
    #[arg(long, value_name = "KEY")]
    pub(crate) instance: Option<String>,
    /// Those that failed with a code, such as E_TOOL_TIMEOUT
    #[arg(long, value_name = "CODE")]
    pub(crate) code: Option<String>,
    /// Those with these words in the tool's name, the error, the arguments or the output; where none has them, with words
    /// that begin so
    #[arg(long, value_name = "WORDS")]
    pub(crate) text: Option<String>,
    /// Those since a time ago, such as 90s, 15m, 1h or 2d, or since a time such as 2026-11-27T08:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) since: Option<SystemTime>,
    /// Those before a time ago, or before a time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub(crate) until: Option<SystemTime>,
    /// Most calls to print: the newest
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    /// Print further calls as they end, until Ctrl-C
    #[arg(long, conflicts_with = "until")]
    pub(crate) follow: bool,
    /// Print the calls as JSON; with --follow one on each line
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is done with one call.
#[derive(Debug, Subcommand)]
pub(crate) enum CallsAction {
    /// Print all that is kept of a call
    Show(ShowArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The number of the call in the list, or the id that the model gave it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Print the call as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The seconds of each unit of time.
const UNITS: [(char, u64); 4] = [('s', 1), ('m', 60), ('h', 3600), ('d', 86_400)];

/// Parses a time, or how long ago it was.
fn time(text: &str) -> Result<SystemTime, String> {
    let ago = UNITS.iter().find_map(|(unit, seconds)| {
        let number: u64 = text.strip_suffix(*unit)?.parse().ok()?;
        let ago = Duration::from_secs(number.checked_mul(*seconds)?);
        SystemTime::now().checked_sub(ago)
    });
    let at = || {
        let time: Result<Timestamp, _> = serde_json::from_value(Value::from(text));
        time.ok().map(|time| time.0)
    };
    ago.or_else(at)
        .ok_or_else(|| "write 90s, 15m, 1h, 2d or 2026-11-27T08:00:00Z".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_time_or_how_long_ago_it_was() {
        let at = time("1970-01-01T00:01:00Z").unwrap();
        assert_eq!(at, SystemTime::UNIX_EPOCH + Duration::from_secs(60));
        for (text, seconds) in [("90s", 90), ("15m", 900), ("1h", 3600), ("2d", 172_800)] {
            let ago = time(text).unwrap().elapsed().unwrap().as_secs();
            assert!((seconds..seconds + 60).contains(&ago), "{text}: {ago}");
        }
        for text in [
            "",
            "1",
            "1w",
            "-1h",
            "h",
            "99999999999999999999d",
            "가",
            "yesterday",
        ] {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
