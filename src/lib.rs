//! Seckill: a shop that sells a few units of something many people want, at one instant.
//!
//! This crate is the program. [`cli`] reads the command line, [`app`] builds the parts that the configuration asks for and
//! runs them in roles. The parts are crates below `src/`; a crate uses only crates that stand below it here, and the
//! compiler refuses any other import:
//!
//! | crate | holds |
//! | --- | --- |
//! | [`rehearse`] | a simulated crowd that buys from a running shop, and a verdict |
//! | [`web`] | HTTP: routes, API, pages and console |
//! | [`control`] | data control: schedules, stock sync, draws, waiting rooms, audit, cockpit |
//! | [`pages`], [`mail`], [`words`] | pre-rendered pages and pictures; letters and push messages; every word in both languages |
//! | [`payments`], [`orders`] | what happens to an order after it is stored |
//! | [`accounts`] | accounts, sessions, second factors, security events |
//! | [`engine`] | what sells. It tells one purchase from start to finish; begin there |
//! | [`store`] | all SQL |
//! | [`base`], [`webauthn`], [`domain`] | clock, settings, limits; passkeys; the rules as pure types |
//!
//! The configured addresses alone determine the backends of stock and orders ([`app`]).

pub mod cli;

pub mod app;
