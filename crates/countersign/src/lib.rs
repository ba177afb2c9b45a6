//! Library half of the binary.

pub mod config;
pub mod exit;
pub mod terminal;
