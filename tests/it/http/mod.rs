//! The shop as browsers, programs and mischief meet it. Needs no services: rung 1 on SQLite.

mod accounts;
mod admin;
mod bad_input;
mod forms;
mod pages;
mod program;
mod raw;
