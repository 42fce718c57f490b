//! The shop over HTTP: pages, forms, API, bad input, the program's commands. Needs no services: rung 1 on SQLite.

mod accounts;
mod admin;
mod bad_input;
mod forms;
mod pages;
mod program;
mod raw;
