//! Servers that require authorization with OAuth, honest and hostile.

mod hostile;
mod servers;
mod tokens;
