//! What the tests of several crates share.

pub mod fuzz;
pub mod images;
pub mod samples;
