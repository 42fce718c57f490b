//! The rungs of the ladder.

/// What the shop stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rung {
    /// Rung 1: nothing but the program.
    Sqlite,
    /// Rung 1 on PostgreSQL.
    Postgres,
    /// Rung 2: PostgreSQL and Redis.
    Redis,
    /// Rung 3: PostgreSQL, Redis and RabbitMQ.
    Rabbit,
    /// Rung 3 with a Redis Cluster of three masters.
    Cluster,
}

impl Rung {
    pub fn needs_stack(self) -> bool {
        self != Rung::Sqlite
    }

    /// Whether Redis decides, so that an order is `reserved` before it is `unpaid`.
    pub fn has_redis(self) -> bool {
        matches!(self, Rung::Redis | Rung::Rabbit | Rung::Cluster)
    }

    pub fn has_rabbit(self) -> bool {
        matches!(self, Rung::Rabbit | Rung::Cluster)
    }

    /// The roles of a shop in which every role has processes of its own, and those that may be several are two.
    pub fn roles_apart(self) -> &'static [&'static str] {
        match self {
            // SQLite has one process: nobody would share its file over machines.
            Rung::Sqlite => &[""],
            Rung::Postgres => &["serve", "serve", "control", "control"],
            Rung::Redis => &["serve", "serve", "consume", "consume", "control", "control"],
            Rung::Rabbit | Rung::Cluster => &["serve", "serve", "relay", "consume", "consume", "control", "control"],
        }
    }
}
