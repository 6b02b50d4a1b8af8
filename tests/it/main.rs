//! Every test that needs a guest, a command line or more than one crate. One binary, so that the
//! engine is linked once.

mod architecture;
mod cache;
mod cell;
mod docs;
mod execute;
mod files;
mod load;
