//! Measures rows in rounds, alternately.

use std::time::Duration;

use super::caller::Calls;
use super::rows::Row;
use super::usage::faults;

/// Concurrent calls.
pub(super) const IN_FLIGHT: [usize; 4] = [1, 4, 16, 256];

/// The part of the time of a measurement that calls run before it.
const WARM_UP: u32 = 3;

/// How long is measured.
#[derive(Clone, Copy)]
pub(super) struct Rounds {
    pub(super) rounds: usize,
    /// Of each number of concurrent calls in a round.
    pub(super) time: Duration,
}

/// One number of concurrent calls of a row, in all rounds.
#[derive(Default)]
pub(super) struct Cell {
    /// In microseconds, of all rounds; sorted.
    pub(super) latencies: Vec<f64>,
    /// The median latency of each round, in microseconds.
    pub(super) medians: Vec<f64>,
    /// Calls per second of each round.
    pub(super) per_second: Vec<f64>,
    faults: u64,
}

impl Cell {
    fn add(&mut self, calls: &Calls, faults: u64) {
        let micros = |latency: &Duration| latency.as_secs_f64() * 1e6;
        let mut latencies: Vec<_> = calls.latencies.iter().map(micros).collect();
        latencies.sort_by(f64::total_cmp);
        self.medians.push(latencies[latencies.len() / 2]);
        self.per_second.push(calls.per_second());
        self.latencies.extend(latencies);
        self.faults += faults;
    }

    pub(super) fn faults(&self) -> f64 {
        self.faults as f64 / self.latencies.len() as f64
    }

    /// The latency in microseconds that so many percent of the calls stay below.
    pub(super) fn percentile(&self, percent: usize) -> f64 {
        self.latencies[(self.latencies.len() * percent / 100).min(self.latencies.len() - 1)]
    }
}

/// A row with what was measured: for each number of concurrent calls that it can do.
pub(super) struct Measured {
    pub(super) name: &'static str,
    pub(super) cells: Result<Cells, String>,
}

/// A cell for each of [`IN_FLIGHT`].
pub(super) type Cells = [Option<Cell>; IN_FLIGHT.len()];

/// A row that is being measured.
struct Measuring {
    row: Row,
    cells: Cells,
}

/// Measures the rows of all works. In each round, all rows of a work follow each other with the same
/// number of concurrent calls.
pub(super) fn measure(works: Vec<Vec<Row>>, rounds: Rounds) -> Vec<Vec<Measured>> {
    let measuring = |row| Measuring {
        row,
        cells: Cells::default(),
    };
    let rows = |rows: Vec<Row>| rows.into_iter().map(measuring).collect();
    let mut works: Vec<Vec<Measuring>> = works.into_iter().map(rows).collect();
    for round in 0..rounds.rounds {
        println!("round {} of {}", round + 1, rounds.rounds);
        for rows in &mut works {
            for at in 0..IN_FLIGHT.len() {
                // Another row begins each round, so that none always follows the same one.
                let first = round % rows.len();
                rows.rotate_left(first);
                rows.iter_mut().for_each(|row| row.measure(at, rounds.time));
                rows.rotate_right(first);
            }
        }
    }
    let measured = |rows: Vec<Measuring>| rows.into_iter().map(Measuring::measured).collect();
    works.into_iter().map(measured).collect()
}

impl Measuring {
    fn measure(&mut self, at: usize, time: Duration) {
        let Ok(caller) = &mut self.row.caller else {
            return;
        };
        let in_flight = IN_FLIGHT[at];
        if in_flight > caller.most_in_flight() {
            return;
        }
        // Other works have used the processor's caches and the slots of pools since.
        caller.run(in_flight, time / WARM_UP);
        let before = faults(caller.process());
        let calls = caller.run(in_flight, time);
        let after = faults(caller.process());
        self.cells[at]
            .get_or_insert_default()
            .add(&calls, after - before);
    }

    fn measured(mut self) -> Measured {
        for cell in self.cells.iter_mut().flatten() {
            cell.latencies.sort_by(f64::total_cmp);
        }
        Measured {
            name: self.row.name,
            cells: self.row.caller.map(|_| self.cells),
        }
    }
}
