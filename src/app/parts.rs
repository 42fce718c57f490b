//! The one file that names concrete parts: from the configuration to everything that roles and commands work with.

use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::keepers::Keepers;
use super::start::{generated_secret, open_database};
use crate::accounts::Accounts;
use crate::catalogue::Catalogue;
use crate::clock::Clock;
use crate::cockpit::{self, Cockpit};
use crate::config::Config;
use crate::control::Control;
use crate::control::allot::{self, Allotter};
use crate::control::audit::Audit;
use crate::control::desk::Desk;
use crate::control::ledger::Ledger;
use crate::gate::Gate;
use crate::health::Health;
use crate::metrics::Metrics;
use crate::orders::Orders;
use crate::orders::consumer::Consumer;
use crate::orders::dead_letters::DeadLetters;
use crate::orders::expiry::Expiry;
use crate::orders::outbox::Outboxes;
use crate::orders::payment::{Payments, Sandbox};
use crate::orders::rabbit::Monitor;
use crate::orders::relay::Relay;
use crate::orders::source::Origin;
use crate::packets::board::Board;
use crate::packets::redis::RedisShares;
use crate::packets::settle::Steward;
use crate::packets::shelf::Shelf;
use crate::packets::{self, Packets};
use crate::pages::Publisher;
use crate::pictures::Pictures;
use crate::stock::Stock;
use crate::stock::batch::{Lanes, Units};
use crate::stock::probe::Probe;
use crate::stock::redis::RedisStock;
use crate::store::Store;
use crate::tally::Tallies;
use crate::till::Till;
use crate::web::{self, Shop};

/// The parts of one process, whatever its roles.
pub struct Parts {
    pub config: Config,
    pub secret: SecretString,
    pub clock: Clock,
    pub store: Store,
    pub catalogue: Arc<Catalogue>,
    pub metrics: Arc<Metrics>,
    pub stock: Arc<dyn Stock>,
    pub gate: Arc<Gate>,
    pub lanes: Lanes<Units>,
    pub payments: Payments,
    pub packets: Packets,
    pub board: Arc<Board>,
    pub shelf: Option<Arc<Shelf>>,
    pub pages: Arc<Publisher>,
    pub health: Health,
    pub ledger: Option<Arc<Ledger>>,
    pub monitor: Option<Arc<Monitor>>,
    pub cockpit: Cockpit,
    pub(super) accounts: Arc<Accounts>,
    pub(super) redis: Option<RedisStock>,
    pub(super) redis_shares: Option<RedisShares>,
    probe: Option<Probe>,
    /// Distinguishes this process from all others.
    pub(super) member: String,
}

impl Parts {
    /// Connects nothing but the database, and brings its schema up to date.
    pub async fn build(config: &Config) -> anyhow::Result<Parts> {
        Parts::build_with(config, Clock::system()).await
    }

    pub async fn build_with(config: &Config, clock: Clock) -> anyhow::Result<Parts> {
        std::fs::create_dir_all(&config.data_dir)
            .with_context(|| format!("SECKILL_DATA_DIR ({}) cannot be created", config.data_dir.display()))?;
        let secret = match &config.secret {
            Some(secret) => secret.clone(),
            None => generated_secret(&config.data_dir)?,
        };
        let store = open_database(config).await?;
        let metrics = Arc::new(Metrics::default());
        let catalogue = Arc::new(Catalogue::new(store.clone()));
        let monitor = config.amqp_url.clone().map(|url| Arc::new(Monitor::new(url)));
        let keepers = Keepers::build(config, &store, &catalogue, &clock)?;
        let tallies = Arc::new(Tallies::default());
        let gate = Arc::new(Gate::new(
            keepers.facts.clone(),
            catalogue.clone(),
            &config.web,
            &secret,
            clock.clone(),
            metrics.clone(),
            tallies.clone(),
        ));
        let ledger = keepers.redis.clone().map(|redis| {
            let (store, catalogue, monitor) = (store.clone(), catalogue.clone(), monitor.clone());
            Arc::new(Ledger::new(redis, store, catalogue, monitor, clock.clone(), metrics.clone()))
        });
        let shelf = keepers
            .redis_shares
            .clone()
            .map(|shares| Arc::new(Shelf::new(shares, store.clone(), monitor.clone(), clock.clone(), metrics.clone())));
        let board = Arc::new(Board::new(store.clone()));
        let packets = Packets::new(packets::Parts {
            store: store.clone(),
            keeper: keepers.shares.clone(),
            board: board.clone(),
            shelf: shelf.clone(),
            clock: clock.clone(),
            metrics: metrics.clone(),
            user_rate: config.web.user_rate,
            lifetime: config.packet_lifetime,
        });
        let cockpit = Cockpit::new(cockpit::Parts {
            store: store.clone(),
            catalogue: catalogue.clone(),
            gate: gate.clone(),
            ledger: ledger.clone(),
            monitor: monitor.clone(),
            clock: clock.clone(),
            tallies,
        });
        let sandbox = Sandbox::new(store.clone(), clock.clone(), &secret, &webhook_origin(config))?;
        let replicas = keepers.replicas();
        let probe = keepers.redis.clone().map(|master| Probe::new(master, replicas, clock.clone()));
        let accounts = Accounts::new(store.clone(), clock.clone(), &secret, config.web.is_https());
        Ok(Parts {
            accounts: Arc::new(accounts),
            probe,
            lanes: Lanes::new(Arc::new(Units(keepers.stock.clone())), metrics.clone()),
            payments: Payments::new(store.clone(), clock.clone(), metrics.clone(), Arc::new(sandbox)),
            pages: Arc::new(Publisher::new(config.data_dir.join("pages"), config.web.public_url.clone())),
            health: Health::new(store.clone(), keepers.connections, monitor.clone()),
            member: format!("{}-{}", std::process::id(), Uuid::new_v4().simple()),
            gate,
            cockpit,
            stock: keepers.stock,
            redis: keepers.redis,
            redis_shares: keepers.redis_shares,
            packets,
            board,
            shelf,
            config: config.clone(),
            secret,
            clock,
            store,
            catalogue,
            metrics,
            ledger,
            monitor,
        })
    }

    pub fn accounts(&self) -> Arc<Accounts> {
        self.accounts.clone()
    }

    pub fn desk(&self) -> Desk {
        Desk {
            store: self.store.clone(),
            stock: self.stock.clone(),
            catalogue: self.catalogue.clone(),
            gate: self.gate.clone(),
            ledger: self.ledger.clone(),
            monitor: self.monitor.clone(),
            probe: self.probe.clone(),
            health: self.health.clone(),
            pages: self.pages.clone(),
            clock: self.clock.clone(),
        }
    }

    pub fn dead_letters(&self) -> DeadLetters {
        let master = self.redis.as_ref().map(RedisStock::connection);
        DeadLetters::new(self.config.amqp_url.clone(), master, self.store.clone(), self.clock.clone())
    }

    pub fn pictures(&self) -> Pictures {
        Pictures::new(self.store.clone(), self.config.data_dir.join("uploads"), self.clock.clone())
    }

    pub fn audit(&self) -> Audit {
        Audit {
            store: self.store.clone(),
            ledger: self.ledger.clone(),
            shelf: self.shelf.clone(),
            monitor: self.monitor.clone(),
            clock: self.clock.clone(),
        }
    }

    fn outboxes(&self) -> Outboxes {
        Outboxes { catalogue: self.catalogue.clone(), packets: self.board.clone() }
    }

    pub fn orders(&self) -> Orders {
        Orders::new(self.store.clone(), self.stock.clone(), self.clock.clone(), self.metrics.clone())
    }

    pub fn till(&self) -> Till {
        Till::new(self.gate.clone(), self.lanes.clone(), self.metrics.clone())
    }

    /// The shop's addresses, without a socket.
    pub fn router(&self) -> Router {
        web::router(Arc::new(Shop {
            config: self.config.web.clone(),
            clock: self.clock.clone(),
            store: self.store.clone(),
            catalogue: self.catalogue.clone(),
            gate: self.gate.clone(),
            till: self.till(),
            orders: self.orders(),
            payments: self.payments.clone(),
            packets: self.packets.clone(),
            desk: self.desk(),
            cockpit: self.cockpit.clone(),
            dead_letters: self.dead_letters(),
            accounts: self.accounts(),
            pages: self.pages.clone(),
            metrics: self.metrics.clone(),
            health: self.health.clone(),
            pictures: self.pictures(),
        }))
    }

    pub fn consumer(&self) -> Option<Consumer> {
        let redis = self.config.redis.as_ref()?;
        let origin = match (&self.config.amqp_url, &self.redis) {
            (Some(url), _) => Origin::Rabbit { url: url.clone() },
            (None, Some(stock)) => Origin::Stream {
                url: redis.master.clone(),
                master: stock.connection(),
                outboxes: self.outboxes(),
                member: self.member.clone(),
            },
            (None, None) => return None,
        };
        Some(Consumer {
            origin,
            store: self.store.clone(),
            clock: self.clock.clone(),
            payment_window: self.config.payment_window,
            metrics: self.metrics.clone(),
        })
    }

    pub fn relay(&self) -> Option<Relay> {
        Some(Relay {
            redis_url: self.config.redis.as_ref()?.master.clone(),
            amqp_url: self.config.amqp_url.clone()?,
            master: self.redis.as_ref()?.connection(),
            monitor: self.monitor.clone()?,
            store: self.store.clone(),
            outboxes: self.outboxes(),
            clock: self.clock.clone(),
            metrics: self.metrics.clone(),
            member: self.member.clone(),
        })
    }

    pub fn allotter(&self) -> Option<Arc<Allotter>> {
        let redis = self.redis.clone()?;
        Some(Arc::new(Allotter::new(redis, self.store.clone(), self.catalogue.clone(), allot::REST)))
    }

    pub fn control(&self) -> Control {
        Control {
            store: self.store.clone(),
            stock: self.stock.clone(),
            ledger: self.ledger.clone(),
            allotter: self.allotter(),
            expiry: Expiry {
                store: self.store.clone(),
                stock: self.stock.clone(),
                clock: self.clock.clone(),
                metrics: self.metrics.clone(),
            },
            payments: self.payments.clone(),
            packets: Steward {
                store: self.store.clone(),
                shelf: self.shelf.clone(),
                clock: self.clock.clone(),
                metrics: self.metrics.clone(),
            },
            monitor: self.monitor.clone(),
            clock: self.clock.clone(),
            metrics: self.metrics.clone(),
            member: self.member.clone(),
        }
    }

    /// Keeps gate and catalogue fresh, for those who use the parts without running roles.
    pub async fn follow(&self, stop: CancellationToken) {
        let (catalogue, gate) = (self.catalogue.follow(stop.clone()), self.gate.follow(stop.clone()));
        tokio::join!(catalogue, gate, self.board.follow(stop.clone()), self.accounts.follow(stop));
    }
}

/// Where the sandbox provider delivers: what shoppers see, as long as it needs no TLS.
fn webhook_origin(config: &Config) -> String {
    if config.web.is_https() { format!("http://{}", config.web.listen) } else { config.web.public_url.clone() }
}
