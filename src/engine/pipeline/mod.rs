//! An order's way from the outbox to the database.
//!
//! The reserving script appends to the [`outbox`]. The [`relay`] publishes each entry as one [`message`] to [`rabbit`].
//! The [`consumer`] reads from a [`source`], RabbitMQ or the outbox itself, and persists. The sweep ([`relay`]) deletes
//! persisted entries and publishes overdue ones again. Content that cannot be parsed goes to the [`dead_letters`]. Keys
//! that a Redis master lost return through [`recovery`].

pub mod consumer;
pub mod dead_letters;
pub mod message;
pub mod outbox;
pub mod rabbit;
pub mod recovery;
pub mod relay;
pub mod source;
