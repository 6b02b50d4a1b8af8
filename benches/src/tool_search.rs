//! Measures the search of tools on the public function-calling set BFCL: the functions of all its files are the
//! catalog, the requests of its users the queries.
//!
//! The ranker was tuned on `live_multiple` alone. How well it does is what the other files say.

mod dataset;

use std::hint::black_box;
use std::time::{Duration, Instant};

use toolhost::search::{SearchPart, ToolHit};
use toolhost::{ToolCatalog, ToolCatalogItem};

use dataset::{Case, Dataset};

/// The file that the ranker was tuned on.
const TUNED_ON: &str = "live_multiple";

/// The other files whose requests ask for one function each.
const OTHERS: [&str; 7] = [
    "live_simple",
    "live_parallel",
    "multiple",
    "parallel",
    "simple_python",
    "simple_java",
    "simple_javascript",
];

/// The files whose requests none of the functions given with them answers.
const UNANSWERED: [&str; 2] = ["irrelevance", "live_irrelevance"];

/// The parts that are left out, one at a time.
const PARTS: [(SearchPart, &str); 9] = [
    (SearchPart::Weights, "weights of fields"),
    (SearchPart::Parameters, "text of parameters"),
    (SearchPart::Values, "values of parameters"),
    (SearchPart::Wholes, "whole identifiers"),
    (SearchPart::Stems, "stems"),
    (SearchPart::Synonyms, "synonyms"),
    (SearchPart::WeakWords, "weak words"),
    (SearchPart::Coverage, "coverage in the score"),
    (SearchPart::Rule, "rule for \"nothing\""),
];

/// Hits of a search.
const HITS: usize = 5;

/// Tools of the catalog whose searches are timed.
const TIMED_TOOLS: usize = 10_000;

/// How often each query is timed.
const TIMED_RUNS: usize = 5;

/// What a search found.
#[derive(Clone, Copy)]
struct Outcome {
    /// Index of the first hit that answers the request.
    rank: Option<usize>,
    is_nothing: bool,
}

impl Outcome {
    fn of(case: &Case, hits: &[ToolHit<'_>]) -> Self {
        Self {
            rank: hits.iter().position(|hit| case.is_right(hit.item)),
            is_nothing: hits.is_empty(),
        }
    }
}

/// How many searches find their function.
#[derive(Default, Clone, Copy)]
struct Recall {
    queries: usize,
    first: usize,
    among_five: usize,
    /// Searches that get no hit at all.
    nothing: usize,
}

impl Recall {
    fn of(outcomes: impl IntoIterator<Item = Outcome>) -> Self {
        let mut recall = Self::default();
        for outcome in outcomes {
            recall.queries += 1;
            recall.first += usize::from(outcome.rank == Some(0));
            recall.among_five += usize::from(outcome.rank.is_some());
            recall.nothing += usize::from(outcome.is_nothing);
        }
        recall
    }

    fn percent(self, count: usize) -> f64 {
        100.0 * count as f64 / self.queries.max(1) as f64
    }
}

/// Searches of one ranker: all its parts, or all but one.
struct Searches<'d> {
    dataset: &'d Dataset,
    catalog: ToolCatalog,
    left_out: Option<SearchPart>,
}

impl<'d> Searches<'d> {
    fn new(dataset: &'d Dataset, left_out: Option<SearchPart>) -> Self {
        let catalog = ToolCatalog::new(dataset.definitions().iter().cloned());
        Self {
            dataset,
            catalog: ranked(catalog, left_out),
            left_out,
        }
    }

    /// Searches all functions, each in one of its definitions.
    fn all(&self, case: &Case) -> Outcome {
        let is_among = |item: &ToolCatalogItem| self.dataset.is_among(case, item);
        Outcome::of(
            case,
            &self.catalog.search_among(&case.query, HITS, is_among),
        )
    }

    /// Searches a few functions.
    fn few<'c>(
        &self,
        case: &Case,
        tools: impl IntoIterator<Item = &'c ToolCatalogItem>,
    ) -> Outcome {
        let catalog = ToolCatalog::new(tools.into_iter().cloned());
        let catalog = ranked(catalog, self.left_out);
        Outcome::of(case, &catalog.search(&case.query, HITS))
    }

    fn over_all(&self, files: &[&str]) -> Recall {
        Recall::of(self.cases(files).map(|case| self.all(case)))
    }

    /// Over the functions given with each request.
    fn over_given(&self, files: &[&str]) -> Recall {
        Recall::of(self.cases(files).map(|case| self.few(case, &case.given)))
    }

    /// Over the functions given with each request but those that answer it.
    fn over_rest(&self, files: &[&str]) -> Recall {
        let cases = self.cases(files).filter_map(|case| {
            let rest: Vec<_> = case
                .given
                .iter()
                .filter(|item| !case.is_right(item))
                .collect();
            (!rest.is_empty()).then(|| self.few(case, rest))
        });
        Recall::of(cases)
    }

    /// Over the functions given with another request of the file.
    fn over_others(&self, files: &[&str]) -> Recall {
        let outcomes = files.iter().flat_map(|file| {
            let cases = self.dataset.cases(file);
            let others = cases.iter().cycle().skip(cases.len() / 3);
            cases.iter().zip(others)
        });
        let outcomes = outcomes.filter(|(case, other)| !other.shares_functions(case));
        Recall::of(outcomes.map(|(case, other)| self.few(case, &other.given)))
    }

    fn cases(&self, files: &[&str]) -> impl Iterator<Item = &'d Case> {
        let dataset = self.dataset;
        let files: Vec<_> = files.iter().map(|file| dataset.cases(file)).collect();
        files.into_iter().flatten()
    }
}

fn ranked(catalog: ToolCatalog, left_out: Option<SearchPart>) -> ToolCatalog {
    match left_out {
        Some(part) => catalog.without_search_part(part),
        None => catalog,
    }
}

/// Prints all measurements.
pub(crate) fn print() -> Result<(), String> {
    let dataset = Dataset::read()?;
    let whole = Searches::new(&dataset, None);
    println!(
        "search of tools: {} functions of BFCL, distinct by name, in {} definitions",
        dataset.functions(),
        dataset.definitions().len()
    );
    println!("\nrequests of              number   first  among five    no hit");
    for (name, files) in answered() {
        row(&name, whole.over_all(&files));
    }
    println!("\nonly functions given     number   first  among five    no hit");
    for (name, files) in answered() {
        row(&name, whole.over_given(&files));
    }
    println!("\nno function answers      number  no hit");
    let nothing = |name: &str, recall: Recall| {
        let share = recall.percent(recall.nothing);
        println!("{name:<24} {:>6} {share:>6.1}%", recall.queries);
    };
    for file in UNANSWERED {
        nothing(file, whole.over_given(&[file]));
    }
    for (name, files) in [(TUNED_ON, vec![TUNED_ON]), ("all but it", OTHERS.to_vec())] {
        nothing(
            &format!("{name}: the others given"),
            whole.over_rest(&files),
        );
        nothing(&format!("{name}: of another"), whole.over_others(&files));
    }
    misses(&whole);
    println!("\nwithout a part; all files but {TUNED_ON}");
    println!(
        "                          first  among five   no hit where: given  unanswered  of another"
    );
    summary_row("all parts", &whole);
    for (part, name) in PARTS {
        summary_row(name, &Searches::new(&dataset, Some(part)));
    }
    time(&dataset);
    Ok(())
}

/// The files with answers, and all but the one that was tuned on.
fn answered() -> impl Iterator<Item = (String, Vec<&'static str>)> {
    let tuned = (format!("{TUNED_ON} (tuned)"), vec![TUNED_ON]);
    let others = OTHERS.iter().map(|file| ((*file).to_owned(), vec![*file]));
    let all = ("all but the tuned".to_owned(), OTHERS.to_vec());
    [tuned].into_iter().chain(others).chain([all])
}

/// Prints why functions are not among five.
fn misses(whole: &Searches<'_>) {
    let unruled = Searches::new(whole.dataset, Some(SearchPart::Rule));
    println!("\nnot among five           number  no word  left out  outranked");
    for (name, files) in answered() {
        let (mut all, mut wordless, mut left_out, mut outranked) = (0, 0, 0, 0);
        for case in whole.cases(&files) {
            all += 1;
            let mut right = case.given.iter().filter(|item| case.is_right(item));
            if whole.all(case).rank.is_some() {
                continue;
            }
            if unruled.few(case, right.next()).is_nothing {
                wordless += 1;
            } else if unruled.all(case).rank.is_some() {
                left_out += 1;
            } else {
                outranked += 1;
            }
        }
        let percent = |count: usize| 100.0 * count as f64 / f64::from(all);
        println!(
            "{name:<24} {:>6} {:>7.1}% {:>8.1}% {:>9.1}%",
            wordless + left_out + outranked,
            percent(wordless),
            percent(left_out),
            percent(outranked)
        );
    }
}

fn row(name: &str, recall: Recall) {
    println!(
        "{name:<24} {:>6} {:>6.1}% {:>10.1}% {:>8.1}%",
        recall.queries,
        recall.percent(recall.first),
        recall.percent(recall.among_five),
        recall.percent(recall.nothing),
    );
}

fn summary_row(name: &str, searches: &Searches<'_>) {
    let all = searches.over_all(&OTHERS);
    let given = searches.over_given(&OTHERS);
    let (unanswered, others) = (
        searches.over_given(&UNANSWERED),
        searches.over_others(&OTHERS),
    );
    println!(
        "{name:<24} {:>6.1}% {:>10.1}% {:>19.1}% {:>10.1}% {:>10.1}%",
        all.percent(all.first),
        all.percent(all.among_five),
        given.percent(given.nothing),
        unanswered.percent(unanswered.nothing),
        others.percent(others.nothing),
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
