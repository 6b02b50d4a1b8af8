//! A page on which people see what their tools do: calls that ran and run, their steps, what they were denied, and what
//! waits for approval.
//!
//! [`Page`] is a `tower` service: axum and others serve it, and [`serve`] does so on a listener. Its files are part of the
//! program, and it loads nothing from elsewhere. Each request for data needs the token of a viewer, who may also decide
//! about [approvals](toolhost::approvals): it is another token than those of agents.
//!
//! ```no_run
//! # async fn example(bundle: toolhost::LiveBundle) -> Result<(), Box<dyn std::error::Error>> {
//! use tokio::net::TcpListener;
//! use toolhost::approvals::Approvers;
//! use toolhost_page::{Page, PageConfig};
//!
//! let viewers = Approvers::new([("alice".to_owned(), std::fs::read_to_string("alice.token")?)]);
//! let page = Page::new(PageConfig::new(viewers).bundle(bundle));
//! toolhost_page::serve(TcpListener::bind("127.0.0.1:7333").await?, page).await;
//! # Ok(())
//! # }
//! ```

mod api;
mod assets;
mod failure;
mod page;
mod query;
mod recordings;
mod root;
mod running;
mod server;
mod service;

pub use page::{CaseOfRecording, Page, PageConfig, TestCase};
pub use server::serve;
