//! The parameters of a request.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::SystemTime;

use url::form_urlencoded;

use crate::failure::Failure;

/// Longest value, in bytes.
const VALUE_BYTES_MAX: usize = 4096;

/// The parameters that nobody has taken yet.
#[derive(Debug, Default)]
pub(crate) struct Query(BTreeMap<String, String>);

impl Query {
    /// Reads what follows `?`. An empty value is as none.
    pub(crate) fn parse(query: &str) -> Result<Self, Failure> {
        let mut values = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if value.len() > VALUE_BYTES_MAX {
                let message = format!("'{}' has more than {VALUE_BYTES_MAX} bytes", shown(&name));
                return Err(Failure::invalid(message));
            }
            let is_new = values
                .insert(name.to_string(), value.into_owned())
                .is_none();
            if !is_new {
                let message = format!("'{}' is given twice", shown(&name));
                return Err(Failure::invalid(message));
            }
        }
        values.retain(|_, value| !value.is_empty());
        Ok(Self(values))
    }

    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    /// Takes a value; `what` says what it is, such as "a number".
    pub(crate) fn take<T: FromStr>(
        &mut self,
        name: &str,
        what: &str,
    ) -> Result<Option<T>, Failure> {
        let Some(value) = self.0.remove(name) else {
            return Ok(None);
        };
        let parsed = value.parse().ok();
        let wrong = || Failure::invalid(format!("'{name}' is not {what}"));
        parsed.ok_or_else(wrong).map(Some)
    }

    pub(crate) fn time(&mut self, name: &str) -> Result<Option<SystemTime>, Failure> {
        let time: Option<humantime::Timestamp> =
            self.take(name, "a time such as 2026-11-27T08:00:00Z")?;
        Ok(time.map(SystemTime::from))
    }

    /// Refuses what nobody has taken.
    pub(crate) fn end(self) -> Result<(), Failure> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => Err(Failure::invalid(format!(
                "there is no parameter '{}'",
                shown(name)
            ))),
        }
    }
}

fn shown(name: &str) -> String {
    toolhost::text::shorten(name, 80)
}
