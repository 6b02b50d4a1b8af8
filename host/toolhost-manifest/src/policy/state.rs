//! Reads the key `state`: which database several hosts share.

use std::fmt;

use zeroize::Zeroizing;

use super::variable::{Secrets, Variable, read_variable};
use crate::reader::{Cursor, Findings, all};

/// Where pending calls, approvals, budgets and grants are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StateRules {
    /// A database in PostgreSQL. Default: none; then a file of SQLite in the state root.
    pub postgres: Option<PostgresRules>,
}

/// A database in PostgreSQL.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresRules {
    /// Its address, which may have a password.
    pub url: Zeroizing<String>,
    /// The password, in the place of the address's.
    pub password: Option<Zeroizing<String>>,
    /// The schema of the tables. Default: `toolhost`.
    pub schema: Option<String>,
}

/// Omits the address and the password.
impl fmt::Debug for PostgresRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("PostgresRules");
        shown.field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl StateRules {
    /// Lists the secrets, each with its name.
    pub(super) fn secrets(&self) -> impl Iterator<Item = (&str, &str)> {
        let rules = self.postgres.iter();
        rules.flat_map(|rules| {
            let password = rules.password.as_deref().map(String::as_str);
            let passwords = [password, password_in(&rules.url)].into_iter().flatten();
            passwords.map(|password| ("state.postgres.password", password))
        })
    }
}

/// Returns the password in an address.
pub(super) fn password_in(url: &str) -> Option<&str> {
    let (_, after) = url.split_once("://")?;
    let (user, _) = after.split_once('@')?;
    let (_, password) = user.split_once(':')?;
    Some(password).filter(|password| !password.is_empty())
}

/// Whether a part of a password would be taken for the host.
fn has_two_ats(url: &str) -> bool {
    let (address, _) = url.split_once('?').unwrap_or((url, ""));
    address.matches('@').count() > 1
}

/// Reads `{postgres: {url, password, schema}}`.
pub(super) fn read(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<StateRules> {
    at.mapping(findings, |fields| {
        all!(StateRules {
            postgres: fields.optional("postgres", |at, findings| {
                read_postgres(at, secrets, findings)
            }),
        })
    })
}

fn read_postgres(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<PostgresRules> {
    at.mapping(findings, |fields| {
        let url = fields.required("url", |at, findings| {
            match read_variable(at, secrets, findings)? {
                Variable::Plain(url) if password_in(&url).is_some() => at.refuse(
                    "the URL has a password: write it beside, as password: {fromEnv: NAME}",
                    findings,
                ),
                Variable::Plain(url) | Variable::Secret(url) if has_two_ats(&url) => at.refuse(
                    "the URL has more than one @: write @ in a password as %40",
                    findings,
                ),
                Variable::Plain(url) | Variable::Secret(url) => Some(Zeroizing::new(url)),
            }
        });
        let password = fields.optional("password", |at, findings| {
            match read_variable(at, secrets, findings)? {
                Variable::Secret(password) => Some(Zeroizing::new(password)),
                Variable::Plain(_) => {
                    let message = "write it as {fromEnv: NAME}, {fromFile: PATH} or {secret: …}";
                    at.refuse(message, findings)
                }
            }
        });
        let schema = fields.optional("schema", |at, findings| {
            at.text(findings).map(str::to_owned)
        });
        Some(PostgresRules {
            url: url?,
            password: password?,
            schema: schema?,
        })
    })
}
