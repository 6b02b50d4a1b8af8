//! The page, and its settings.

use std::path::PathBuf;
use std::sync::Arc;

use toolhost::approvals::Approvers;
use toolhost::recording::CallRecording;
use toolhost::state::Database;
use toolhost::{LiveBundle, Workdir};
use toolhost_runtime::debug_fields;

use crate::recordings::Recordings;
use crate::root::Root;
use crate::running::Running;

/// A test case that was made of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestCase {
    /// The case file.
    pub yaml: String,
    /// What the case does not have of the call.
    pub notes: Vec<String>,
}

/// Makes a test case of a recording, whose file it gets the name of; the error says why it cannot.
pub type CaseOfRecording =
    Arc<dyn Fn(&CallRecording, &str) -> Result<TestCase, String> + Send + Sync>;

/// What a page shows, and to whom.
#[derive(Clone)]
pub struct PageConfig {
    pub(crate) viewers: Approvers,
    pub(crate) roots: Vec<(PathBuf, Option<Database>)>,
    pub(crate) bundle: Option<LiveBundle>,
    pub(crate) workdir: Option<Workdir>,
    pub(crate) case_of: Option<CaseOfRecording>,
    pub(crate) call_options: String,
}

debug_fields!(PageConfig, this => viewers: this.viewers, roots: this.roots);

impl PageConfig {
    /// Shows the page to these people, who also decide about approvals.
    pub fn new(viewers: Approvers) -> Self {
        Self {
            viewers,
            roots: Vec::new(),
            bundle: None,
            workdir: None,
            case_of: None,
            call_options: String::new(),
        }
    }

    /// Shows the calls of a state root, also of processes that run or ended.
    #[must_use]
    pub fn state_root(mut self, root: impl Into<PathBuf>) -> Self {
        self.roots.push((root.into(), None));
        self
    }

    /// Shows the calls of a state root whose approvals are in this database.
    #[must_use]
    pub fn state_in(mut self, root: impl Into<PathBuf>, database: Database) -> Self {
        self.roots.push((root.into(), Some(database)));
        self
    }

    /// Shows the agents of a bundle, calls their tools by hand, and replays calls with its components. The state root of its
    /// host is shown, too, and which of its calls run.
    #[must_use]
    pub fn bundle(mut self, bundle: LiveBundle) -> Self {
        self.bundle = Some(bundle);
        self
    }

    /// Makes calls by hand in this workdir, in place of the workspace of their instance.
    #[must_use]
    pub fn workdir(mut self, workdir: Workdir) -> Self {
        self.workdir = Some(workdir);
        self
    }

    /// Ends the lines of `toolhost call` that make a call again with these options, such as `--policy p.yaml`: quoted for a
    /// shell.
    #[must_use]
    pub fn call_options(mut self, options: &str) -> Self {
        self.call_options = format!(" {options}");
        self
    }

    /// Offers test cases of recorded calls.
    #[must_use]
    pub fn cases(mut self, case_of: CaseOfRecording) -> Self {
        self.case_of = Some(case_of);
        self
    }
}

/// The page: a service of [`http`] requests. Cheap to clone.
///
/// Paths are relative to where it is served: behind a prefix, such as with `nest_service("/watch", page)` of axum, it is
/// opened with a slash at the end. A request costs the calls of the host nothing but what the database of the calls needs.
#[derive(Clone)]
pub struct Page(pub(crate) Arc<PageInner>);

debug_fields!(Page, this => roots: this.0.roots.len());

pub(crate) struct PageInner {
    pub(crate) viewers: Approvers,
    pub(crate) roots: Vec<Root>,
    pub(crate) bundle: Option<LiveBundle>,
    pub(crate) workdir: Option<Workdir>,
    pub(crate) case_of: Option<CaseOfRecording>,
    pub(crate) call_options: String,
    pub(crate) recordings: Recordings,
    pub(crate) running: Option<Running>,
}

impl Page {
    /// Creates a page. With a bundle, it is called in a runtime of tokio.
    pub fn new(config: PageConfig) -> Self {
        let host = config.bundle.as_ref().map(|bundle| bundle.current().host());
        let own = host.as_ref().and_then(|host| host.state_root());
        let others = config
            .roots
            .iter()
            .filter(|(root, _)| Some(root.as_path()) != own);
        let own = host.as_ref().map(Root::of_host);
        let roots = own
            .into_iter()
            .chain(others.map(|(root, database)| Root::new(root, database.as_ref())));
        Self(Arc::new(PageInner {
            roots: roots.collect(),
            viewers: config.viewers,
            bundle: config.bundle,
            workdir: config.workdir,
            case_of: config.case_of,
            call_options: config.call_options,
            recordings: Recordings::default(),
            running: host.as_ref().map(Running::follow),
        }))
    }
}
