//! What calls cost beside their time: processor time and page faults, of this process and of others.

use std::fs;
use std::ops::Sub;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Length of a tick in `/proc/PID/stat`, on all usual Linux systems.
const TICK: Duration = Duration::from_millis(10);

/// Since the start of the processes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    pub(super) cpu: Duration,
    /// Page faults that took no input or output.
    pub(super) faults: u64,
}

impl Usage {
    /// Of this process, its children that ended, and `other`.
    pub(super) fn now(other: Option<u32>) -> Self {
        let own = clock_gettime(ClockId::ProcessCPUTime);
        let own = Duration::new(
            own.tv_sec.try_into().unwrap(),
            own.tv_nsec.try_into().unwrap(),
        );
        let stat = Stat::of("self");
        let ended = TICK * u32::try_from(stat.number(16) + stat.number(17)).unwrap();
        let others = other.map(Self::of_process).unwrap_or_default();
        Self {
            cpu: own + ended + others.cpu,
            faults: stat.number(10) + stat.number(11) + others.faults,
        }
    }

    fn of_process(id: u32) -> Self {
        let threads = fs::read_dir(format!("/proc/{id}/task")).unwrap();
        let nanoseconds = threads.map(|thread| {
            let path = thread.unwrap().path().join("schedstat");
            // A thread may have ended in between.
            let text = fs::read_to_string(path).unwrap_or_default();
            text.split(' ')
                .next()
                .and_then(|first| first.parse().ok())
                .unwrap_or(0)
        });
        Self {
            cpu: Duration::from_nanos(nanoseconds.sum()),
            faults: Stat::of(&id.to_string()).number(10),
        }
    }
}

impl Sub for Usage {
    type Output = Self;

    /// Threads that ended take their time out of the sum.
    fn sub(self, before: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(before.cpu),
            faults: self.faults - before.faults,
        }
    }
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
