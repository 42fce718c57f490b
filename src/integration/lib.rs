//! What a shop that exists already uses to stand behind this one: its server names its customers and lets them in
//! ([`shoppers`]), reserves units for them and confirms what they paid ([`reservations`]), and says how many there are
//! ([`stock`]). Programs send a token, which an owner of this shop made for them ([`web::extract::program`]).
//! [`routes`] lists every address.

pub mod routes;

// The line in front of another shop.
pub mod line;

pub mod decisions;
pub mod reservations;
pub mod shoppers;
pub mod stock;
