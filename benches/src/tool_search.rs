//! Measures the search of tools on the public function-calling set BFCL: the functions of all its files are the
//! catalog, the requests of its users the queries.
//!
//! The ranker was tuned on `live_multiple` alone. How well it does is what the other files say.

mod dataset;

use std::hint::black_box;
use std::time::{Duration, Instant};

use toolhost::ToolCatalog;
use toolhost::search::SearchPart;

use dataset::{Case, Dataset};

/// The file that the ranker was tuned on.
const TUNED_ON: &str = "live_multiple";

/// The files whose requests ask for one function each.
const ANSWERED: [&str; 8] = [
    "live_simple",
    "live_parallel",
    "multiple",
    "parallel",
    "simple_python",
    "simple_java",
    "simple_javascript",
    TUNED_ON,
];

/// The files whose requests none of the functions given with them answers.
const UNANSWERED: [&str; 2] = ["irrelevance", "live_irrelevance"];

/// The parts that are left out, one at a time.
const PARTS: [(SearchPart, &str); 7] = [
    (SearchPart::Weights, "weights of fields"),
    (SearchPart::Parameters, "text of parameters"),
    (SearchPart::Wholes, "whole identifiers"),
    (SearchPart::Stems, "stems"),
    (SearchPart::Synonyms, "synonyms"),
    (SearchPart::Coverage, "coverage in the score"),
    (SearchPart::Rule, "rule for \"nothing\""),
];

/// Tools of the catalog whose searches are timed.
const TIMED_TOOLS: usize = 10_000;

/// How often each query is timed.
const TIMED_RUNS: usize = 5;

/// How many queries find their function.
#[derive(Default, Clone, Copy)]
struct Recall {
    queries: usize,
    first: usize,
    among_five: usize,
    /// Queries that get no hit at all.
    nothing: usize,
}

impl Recall {
    fn of<'c>(searches: impl Iterator<Item = (&'c Case, ToolCatalog)>) -> Self {
        let mut recall = Self::default();
        for (case, catalog) in searches {
            let hits = catalog.search(&case.query, 5);
            let rank = hits.iter().position(|hit| case.is_right(hit.item));
            recall.queries += 1;
            recall.first += usize::from(rank == Some(0));
            recall.among_five += usize::from(rank.is_some());
            recall.nothing += usize::from(hits.is_empty());
        }
        recall
    }

    fn add(self, other: Self) -> Self {
        Self {
            queries: self.queries + other.queries,
            first: self.first + other.first,
            among_five: self.among_five + other.among_five,
            nothing: self.nothing + other.nothing,
        }
    }

    fn percent(self, count: usize) -> f64 {
        100.0 * count as f64 / self.queries.max(1) as f64
    }
}

/// What the whole set says of a ranker.
struct Summary {
    /// Over the whole catalog, without the file that was tuned on.
    whole: Recall,
    /// Over the functions given with each request, of the same files.
    given: Recall,
    /// Over the functions given with each request that none of them answers.
    unanswered: Recall,
}

fn summary(dataset: &Dataset, catalog: &ToolCatalog, left_out: Option<SearchPart>) -> Summary {
    let others = || ANSWERED.iter().filter(|file| **file != TUNED_ON);
    let all = |files: &mut dyn Iterator<Item = &&str>, of: &dyn Fn(&str) -> Recall| {
        files.fold(Recall::default(), |sum, file| sum.add(of(file)))
    };
    let given = |file: &str| over_given(dataset, file, left_out);
    Summary {
        whole: all(&mut others(), &|file| over_all(dataset, file, catalog)),
        given: all(&mut others(), &given),
        unanswered: all(&mut UNANSWERED.iter(), &given),
    }
}

fn over_all(dataset: &Dataset, file: &str, catalog: &ToolCatalog) -> Recall {
    let cases = dataset.cases(file).iter();
    Recall::of(cases.map(|case| (case, catalog.clone())))
}

fn over_given(dataset: &Dataset, file: &str, left_out: Option<SearchPart>) -> Recall {
    let cases = dataset.cases(file).iter();
    Recall::of(cases.map(|case| {
        let given = ToolCatalog::new(case.given.iter().cloned());
        let catalog = match left_out {
            Some(part) => given.without_search_part(part),
            None => given,
        };
        (case, catalog)
    }))
}

/// Prints all measurements.
pub(crate) fn print() -> Result<(), String> {
    let dataset = Dataset::read()?;
    let catalog = ToolCatalog::new(dataset.tools().iter().cloned());
    println!(
        "search of tools: {} functions of BFCL, distinct by name",
        catalog.items().len()
    );
    println!(
        "\n{:<22} {:>7} {:>7} {:>10} {:>9}",
        "requests of", "number", "first", "among five", "no hit"
    );
    for file in ANSWERED {
        let recall = over_all(&dataset, file, &catalog);
        let name = if file == TUNED_ON {
            format!("{file} (tuned)")
        } else {
            file.to_owned()
        };
        row(&name, recall);
    }
    println!(
        "\n{:<22} {:>7} {:>7} {:>10} {:>9}",
        "only functions given", "number", "first", "among five", "no hit"
    );
    for file in ANSWERED.iter().chain(&UNANSWERED) {
        row(file, over_given(&dataset, file, None));
    }
    println!(
        "\nwithout a part; all files but {TUNED_ON}. \"Right: nothing\": of the requests that no function given answers"
    );
    println!(
        "{:<22} {:>7} {:>10} {:>14} {:>15}",
        "", "first", "among five", "given: no hit", "right: nothing"
    );
    let whole = summary(&dataset, &catalog, None);
    summary_row("all parts", &whole);
    for (part, name) in PARTS {
        let without = catalog.without_search_part(part);
        summary_row(name, &summary(&dataset, &without, Some(part)));
    }
    time(&dataset);
    Ok(())
}

fn row(name: &str, recall: Recall) {
    println!(
        "{name:<22} {:>7} {:>6.1}% {:>9.1}% {:>8.1}%",
        recall.queries,
        recall.percent(recall.first),
        recall.percent(recall.among_five),
        recall.percent(recall.nothing),
    );
}

fn summary_row(name: &str, summary: &Summary) {
    let Summary {
        whole,
        given,
        unanswered,
    } = summary;
    println!(
        "{name:<22} {:>6.1}% {:>9.1}% {:>13.1}% {:>14.1}%",
        whole.percent(whole.first),
        whole.percent(whole.among_five),
        given.percent(given.nothing),
        unanswered.percent(unanswered.nothing),
    );
}

/// Times searches of a large catalog.
fn time(dataset: &Dataset) {
    let catalog = ToolCatalog::new(dataset.repeated(TIMED_TOOLS));
    let started = Instant::now();
    black_box(catalog.search("warm", 1));
    let index = started.elapsed();
    let queries = dataset.cases(TUNED_ON).iter().map(|case| &case.query);
    let once = |query: &str| {
        let started = Instant::now();
        black_box(catalog.search(query, 5));
        started.elapsed()
    };
    // The best of several: what else the machine does is not measured.
    let best = |query: &String| (0..TIMED_RUNS).map(|_| once(query)).min();
    let mut times: Vec<Duration> = queries.filter_map(best).collect();
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1e3;
    println!(
        "\n{} tools: read once in {:.0} ms",
        catalog.items().len(),
        index.as_secs_f64() * 1e3
    );
    println!(
        "a query of {TUNED_ON}: median {:.2} ms, 99 % within {:.2} ms, longest {:.2} ms",
        at(50),
        at(99),
        at(100)
    );
}
