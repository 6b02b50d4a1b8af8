//! The keys of `budgets`: what calls may use together in an hour or a day.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toolhost_contract::{ResourceName, Usage};

use super::limits::{Amounts, Unit};
use crate::reader::{Cursor, Fields, Findings};

/// Highest price of a call, in cost units.
const PRICE_MAX: u64 = 1_000_000;

/// How many kinds of amounts a budget can limit.
pub const BUDGET_KINDS: usize = 5;

/// An amount of each kind, in the order of [`Policy::budget_kinds`](super::Policy::budget_kinds).
pub type BudgetAmounts = [u64; BUDGET_KINDS];

/// What a kind counts of a call.
#[derive(Debug)]
enum Charge {
    /// The call itself, before it runs.
    Call,
    /// The price of its tool, before it runs.
    Price,
    /// What it has used when it ends.
    Used(fn(&Usage) -> u64),
}

/// A key beneath `perHour` and `perDay`.
#[derive(Debug)]
#[non_exhaustive]
pub struct BudgetInfo {
    /// The key.
    pub name: &'static str,
    /// What it counts.
    pub what: &'static str,
    /// What an amount is of, in a sentence: "100 calls".
    unit_words: &'static str,
    amounts: Amounts,
    /// What a policy's unit is, in counted units.
    scale: u64,
    charge: Charge,
}

macro_rules! kind {
    ($name:literal, $unit:ident, $most:expr, $scale:expr, $charge:expr, $words:literal, $what:literal) => {
        BudgetInfo {
            name: $name,
            what: $what,
            unit_words: $words,
            amounts: Amounts {
                unit: Unit::$unit,
                least: 1,
                most: $most,
            },
            scale: $scale,
            charge: $charge,
        }
    };
}

/// All kinds. Because of the ranges, a sum of what calls use fits into 62 bits.
#[rustfmt::skip]
pub(super) static KINDS: [BudgetInfo; BUDGET_KINDS] = [
    kind!("calls", Count, 1_000_000_000, 1, Charge::Call, "calls",
        "calls, also those that fail or are stopped"),
    kind!("cost", Count, 1_000_000_000_000, 1, Charge::Price, "cost units",
        "the `cost` of the tool, for each call"),
    kind!("wallSeconds", Count, 1_000_000_000, 1000, Charge::Used(|usage| millis(usage.wall)), "seconds of running",
        "seconds that calls ran, as `wallMs` of the usage, waiting for answers of servers included"),
    kind!("bytesWritten", Bytes, 1 << 50, 1, Charge::Used(|usage| usage.bytes_written), "written",
        "bytes written to files"),
    kind!("httpRequests", Count, 1_000_000_000, 1, Charge::Used(|usage| usage.http_requests), "HTTP requests",
        "HTTP requests that were allowed"),
];

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl BudgetInfo {
    /// Returns the values that a policy may set, such as `1 to 1000`.
    pub fn range(&self) -> String {
        self.amounts.range()
    }

    /// Whether it is counted before a call runs, so that calls never exceed it.
    pub fn is_reserved(&self) -> bool {
        !matches!(self.charge, Charge::Used(_))
    }

    /// Returns an amount as a policy writes it, such as `64MiB`; of a part of a unit, three digits.
    pub fn shown(&self, amount: u64) -> String {
        let (whole, part) = (amount / self.scale, amount % self.scale);
        if part == 0 {
            return self.amounts.shown(whole);
        }
        format!("{whole}.{part:03}")
    }

    /// Returns how many counted units a unit of the policy has: 1000 milliseconds of a second, and otherwise 1.
    pub fn scale(&self) -> u64 {
        self.scale
    }

    /// Returns an amount with its unit, such as `100 calls`.
    pub fn with_unit(&self, amount: u64) -> String {
        let mut unit = self.unit_words;
        if amount == self.scale {
            // Of one: without the plural.
            let one = [("calls", "call"), ("cost units", "cost unit")];
            unit = one
                .iter()
                .find_map(|(many, one)| (*many == unit).then_some(*one))
                .unwrap_or(unit);
        }
        format!("{} {unit}", self.shown(amount))
    }
}

/// The time for which a budget holds: full hours and days of UTC, by the clock of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BudgetPeriod {
    /// `perHour`.
    Hour,
    /// `perDay`.
    Day,
}

impl BudgetPeriod {
    /// All periods.
    pub const ALL: [Self; 2] = [Self::Hour, Self::Day];

    /// The key of a policy.
    pub fn key(self) -> &'static str {
        match self {
            Self::Hour => "perHour",
            Self::Day => "perDay",
        }
    }

    /// Its name in a sentence.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
        }
    }

    fn millis(self) -> u64 {
        match self {
            Self::Hour => 3_600_000,
            Self::Day => 86_400_000,
        }
    }

    /// Returns when the window begins in which `now` lies, in milliseconds since 1970. Times before that are in its
    /// first window.
    pub fn starts_ms(self, now: SystemTime) -> u64 {
        let now = millis(now.duration_since(UNIX_EPOCH).unwrap_or_default());
        now - now % self.millis()
    }

    /// Returns when a window ends, in milliseconds since 1970.
    pub fn ends_ms(self, starts_ms: u64) -> u64 {
        starts_ms.saturating_add(self.millis())
    }
}

/// What some calls may use together in one window. Which calls: those of `tool` and of `agent`; without one, those of
/// all.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Budget {
    /// The agent whose calls it counts. None: all agents'.
    pub agent: Option<ResourceName>,
    /// The tool whose calls it counts. None: all tools'.
    pub tool: Option<ResourceName>,
    /// Whether each instance has a budget of its own.
    pub each_instance: bool,
    /// How long a window is.
    pub period: BudgetPeriod,
    limits: [Option<u64>; BUDGET_KINDS],
}

impl Budget {
    /// Returns what it limits, each with its limit in counted units.
    pub fn limits(&self) -> impl Iterator<Item = (usize, &'static BudgetInfo, u64)> {
        let limits = KINDS.iter().zip(self.limits).enumerate();
        limits.filter_map(|(at, (kind, limit))| Some((at, kind, limit?)))
    }

    /// Returns the path of a limit in the policy, such as `tools.fetcher.budgets.perHour.calls`.
    pub fn path_of(&self, kind: &BudgetInfo) -> String {
        let agent = self.agent.as_ref().map(|agent| format!("agents.{agent}."));
        let tool = self.tool.as_ref().map(|tool| format!("tools.{tool}."));
        let each = if self.each_instance {
            "eachInstance."
        } else {
            ""
        };
        let (agent, tool) = (agent.unwrap_or_default(), tool.unwrap_or_default());
        let period = self.period.key();
        format!("{agent}{tool}budgets.{each}{period}.{}", kind.name)
    }

    /// Whether both count the same calls.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        (&self.agent, &self.tool, self.each_instance, self.period)
            == (&other.agent, &other.tool, other.each_instance, other.period)
    }

    /// Lowers each limit to that of another budget of the same calls.
    pub(super) fn lower(&mut self, other: &Self) {
        for (limit, most) in self.limits.iter_mut().zip(other.limits) {
            *limit = match (*limit, most) {
                (Some(limit), Some(most)) => Some(limit.min(most)),
                (one, other) => one.or(other),
            };
        }
    }
}

/// Whose budget it is: "tool 'fetcher' of agent 'coder', each instance".
impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.tool, &self.agent) {
            (Some(tool), Some(agent)) => write!(f, "tool '{tool}' of agent '{agent}'")?,
            (Some(tool), None) => write!(f, "tool '{tool}'")?,
            (None, Some(agent)) => write!(f, "agent '{agent}'")?,
            (None, None) => f.write_str("all tools")?,
        }
        if self.each_instance {
            f.write_str(", for each instance")?;
        }
        Ok(())
    }
}

/// The budgets that the calls of a tool by an agent count for. All of them hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolBudgets {
    /// The budgets.
    pub budgets: Vec<Budget>,
    /// The price of a call, in cost units.
    pub cost: u64,
}

impl ToolBudgets {
    /// Returns what is counted for a call before it runs.
    pub fn reserved(&self) -> BudgetAmounts {
        let cost = self.cost;
        KINDS.each_ref().map(|kind| match kind.charge {
            Charge::Call => 1,
            Charge::Price => cost,
            Charge::Used(_) => 0,
        })
    }
}

/// Returns what is counted of a call when it ends.
pub fn used(usage: &Usage) -> BudgetAmounts {
    KINDS.each_ref().map(|kind| match kind.charge {
        Charge::Call | Charge::Price => 0,
        Charge::Used(used) => used(usage),
    })
}

/// What `budgets` sets in one place of a policy.
#[derive(Debug, Clone, Default)]
pub(super) struct BudgetRules(Vec<BudgetRule>);

#[derive(Debug, Clone)]
struct BudgetRule {
    each_instance: bool,
    period: BudgetPeriod,
    limits: [Option<u64>; BUDGET_KINDS],
}

impl BudgetRules {
    pub(super) fn of<'r>(
        &'r self,
        agent: Option<&'r ResourceName>,
        tool: Option<&'r ResourceName>,
    ) -> impl Iterator<Item = Budget> + use<'r> {
        self.0.iter().map(move |rule| Budget {
            agent: agent.cloned(),
            tool: tool.cloned(),
            each_instance: rule.each_instance,
            period: rule.period,
            limits: rule.limits,
        })
    }
}

/// Reads `budgets`.
pub(super) fn read(at: &Cursor<'_>, findings: &mut Findings) -> Option<BudgetRules> {
    at.mapping(findings, |fields| {
        let mut rules = read_periods(fields, false);
        let each = fields.read("eachInstance", |at, findings| {
            at.mapping(findings, |fields| Some(read_periods(fields, true)))
        });
        rules.extend(each.into_iter().flatten());
        Some(BudgetRules(rules))
    })
}

fn read_periods(fields: &mut Fields<'_, '_>, each_instance: bool) -> Vec<BudgetRule> {
    let periods = BudgetPeriod::ALL.into_iter();
    let rules = periods.filter_map(|period| {
        let limits = fields.read(period.key(), read_limits)?;
        Some(BudgetRule {
            each_instance,
            period,
            limits,
        })
    });
    rules.collect()
}

fn read_limits(at: &Cursor<'_>, findings: &mut Findings) -> Option<[Option<u64>; BUDGET_KINDS]> {
    at.mapping(findings, |fields| {
        Some(KINDS.each_ref().map(|kind| {
            let read = |at: &Cursor<'_>, findings: &mut Findings| {
                kind.amounts.read(kind.name, at, findings)
            };
            let limit = fields.read(kind.name, read)?;
            Some(limit.saturating_mul(kind.scale))
        }))
    })
}

/// Reads `cost`: the price of a call of a tool.
pub(super) fn read_cost(at: &Cursor<'_>, findings: &mut Findings) -> Option<u64> {
    let prices = Amounts {
        unit: Unit::Count,
        least: 0,
        most: PRICE_MAX,
    };
    prices.read("cost", at, findings)
}
