//! What the tests of several crates share.

pub mod fuzz;
pub mod samples;
