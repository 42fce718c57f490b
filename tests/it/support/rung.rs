//! The rungs of the ladder: which services the shop runs on.

/// The services of one shop.
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
    /// Rung 3 with a Redis master and two replicas that Sentinels watch.
    Sentinel,
    /// Rung 3 with TLS to every service, and with certificates on both sides.
    Tls,
}

impl Rung {
    pub fn needs_stack(self) -> bool {
        self != Rung::Sqlite
    }

    /// Whether Redis holds the stock, so that an order is `reserved` before it is `unpaid`.
    pub fn has_redis(self) -> bool {
        matches!(self, Rung::Redis | Rung::Rabbit | Rung::Cluster | Rung::Sentinel | Rung::Tls)
    }

    pub fn has_rabbit(self) -> bool {
        matches!(self, Rung::Rabbit | Rung::Cluster | Rung::Sentinel | Rung::Tls)
    }

    /// The services of the stack that the shop runs on.
    pub fn services(self) -> &'static [&'static str] {
        match self {
            Rung::Sqlite => &[],
            Rung::Postgres => &["postgres"],
            Rung::Redis => &["postgres", "redis", "replica"],
            Rung::Rabbit | Rung::Tls => &["postgres", "redis", "replica", "rabbitmq"],
            Rung::Cluster => &["postgres", "shard0", "shard1", "shard2", "rabbitmq"],
            Rung::Sentinel => &["postgres", "watched0", "watched1", "watched2", "rabbitmq"],
        }
    }

    /// The processes of a shop with one role per process, two of each role that allows it.
    pub fn split_roles(self) -> &'static [&'static str] {
        match self {
            // SQLite allows one process, because its file cannot be shared between machines.
            Rung::Sqlite => &[""],
            Rung::Postgres => &["serve", "serve", "control", "control"],
            Rung::Redis => &["serve", "serve", "consume", "consume", "control", "control"],
            Rung::Rabbit | Rung::Cluster | Rung::Sentinel | Rung::Tls => {
                &["serve", "serve", "relay", "consume", "consume", "control", "control"]
            }
        }
    }
}
