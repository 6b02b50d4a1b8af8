//! Page faults of calls, of this process and of others.

use std::fs;

/// The page faults since the start of this process, of its children that ended, and of `other`, without those that
/// took input or output.
pub(super) fn faults(other: Option<u32>) -> u64 {
    let own = Stat::of("self");
    let others = other.map(|id| Stat::of(&id.to_string()).number(10));
    own.number(10) + own.number(11) + others.unwrap_or_default()
}

/// The fields of `/proc/PID/stat` behind the name, which may hold anything.
struct Stat(Vec<String>);

impl Stat {
    fn of(process: &str) -> Self {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        let fields = stat.rsplit_once(')').unwrap().1;
        Self(fields.split_whitespace().map(str::to_owned).collect())
    }

    /// Returns a field by its index in proc(5), which counts from 1; the name is field 2.
    fn number(&self, field: usize) -> u64 {
        self.0[field - 3].parse().unwrap()
    }
}
