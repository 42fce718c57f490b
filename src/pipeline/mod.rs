//! The way of an order from the outbox to the database.
//!
//! The reserving script appends to the [`outbox`]. The [`relay`] publishes its entries to [`rabbit`]; the [`consumer`] reads
//! from a [`source`], RabbitMQ or the outbox itself, and persists. What cannot be read becomes one of the [`dead_letters`].

pub mod consumer;
pub mod dead_letters;
pub mod outbox;
pub mod rabbit;
pub mod relay;
pub mod source;
