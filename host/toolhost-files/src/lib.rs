//! Files of the host: those that are private to its user, and what differs between systems. It knows no engine and no
//! network.
//!
//! Internal to toolhost: any release may change this API.

pub mod platform;
mod private;

pub use private::{
    NotPrivate, PrivateDir, PrivateFile, is_of_this_user, read_key, read_or_make_key,
};
