//! Builds everything that roles and commands work with from the configuration, which alone selects the backends.

use std::sync::{Arc, LazyLock};

use anyhow::Context;
use axum::Router;
use futures::FutureExt;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::app::startup::{Waiting, open_database, shop_secret};
use accounts::security_events::SecurityEvents;
use accounts::{AccountRules, Accounts, MailLinks};
use base::clock::Clock;
use base::config::{Config, PaymentProvider};
use base::counters::CounterRegistry;
use base::jws::JsonSigner;
use base::metrics::Metrics;
use base::signing::{ShopSecret, Signer};
use control::allot::{self, Allotter};
use control::audit::Audit;
use control::cockpit::Cockpit;
use control::cockpit::report::Digests;
use control::sales_admin::SalesAdmin;
use control::stock_sync::StockSync;
use control::today::Revenue;
use domain::ledger::CURRENCY;
use domain::{Money, ReturnPolicy};
use engine::batching::Batcher;
use engine::catalogue::Catalogue;
use engine::eligibility::Eligibility;
use engine::entries::Entries;
use engine::gate::Gate;
use engine::health::Health;
use engine::packets::directory::PacketDirectory;
use engine::packets::redis::RedisShares;
use engine::packets::sync::PacketSync;
use engine::packets::{self, DatabaseShares, Packets, ShareBackend};
use engine::pipeline::dead_letters::DeadLetters;
use engine::pipeline::outbox::Outboxes;
use engine::pipeline::rabbit::Monitor;
use engine::purchase::Purchases;
use engine::redis::connection;
use engine::redis::connection::RedisConnection;
use engine::stock::database::DatabaseStock;
use engine::stock::facts::RedisFacts;
use engine::stock::heartbeat::RedisProbe;
use engine::stock::redis::RedisStock;
use engine::stock::{FactSource, Stock, Units};
use engine::waiting_rooms::WaitingRooms;
use engine::waiting_rooms::places::Gathering;
use engine::waitlist::WaitlistRequests;
use mail::outside::{OutsideTransport, Reach};
use mail::push::Pusher;
use mail::webhooks::Webhooks;
use mail::{Letters, Mailer, Transport};
use orders::Orders;
use pages::Publisher;
use pages::pictures::Pictures;
use payments::provider::Provider;
use payments::staff_refunds::StaffRefunds;
use payments::{Alipay, Payments, Providers, Sandbox, Stripe, WechatPay};
use store::Store;
use web::document::{Api, Document};
use web::extract::client::UnnamedProxies;
use web::questions::Questions;
use web::{self, SendCrowd, Shop};
use webauthn::RelyingParty;

/// The parts of one process, for all roles.
pub struct Services {
    pub config: Config,
    pub secret: ShopSecret,
    pub clock: Clock,
    pub store: Store,
    pub catalogue: Arc<Catalogue>,
    pub metrics: Arc<Metrics>,
    pub stock: Arc<dyn Stock>,
    pub gate: Arc<Gate>,
    pub eligibility: Arc<Eligibility>,
    pub waiting_rooms: Arc<WaitingRooms>,
    pub batcher: Batcher<Units>,
    pub payments: Payments,
    /// The sandbox provider, if it is on.
    pub sandbox: Option<Arc<Sandbox>>,
    pub packets: Packets,
    pub directory: Arc<PacketDirectory>,
    pub packet_sync: Option<Arc<PacketSync>>,
    pub pages: Arc<Publisher>,
    pub health: Health,
    pub stock_sync: Option<Arc<StockSync>>,
    pub monitor: Option<Arc<Monitor>>,
    pub cockpit: Cockpit,
    pub digests: Arc<Digests>,
    pub(super) accounts: Arc<Accounts>,
    pub mailer: Arc<Mailer>,
    pub pusher: Arc<Pusher>,
    pub webhooks: Arc<Webhooks>,
    pub security: SecurityEvents,
    pub(super) redis: Option<RedisStock>,
    pub(super) redis_shares: Option<RedisShares>,
    pub(super) gathering: Option<Gathering>,
    probe: Option<RedisProbe>,
    /// The name of this process, unique among all processes.
    pub(super) member: String,
    pub(super) waiting: Waiting,
}

impl Services {
    /// Opens the database and migrates its schema; other services connect on first use.
    pub async fn build(config: &Config) -> anyhow::Result<Services> {
        Services::build_with(config, Clock::system()).await
    }

    pub async fn build_with(config: &Config, clock: Clock) -> anyhow::Result<Services> {
        Services::build_for(config, clock, Waiting::default()).await
    }

    /// Says in `waiting` what the start waits for.
    pub(super) async fn build_for(config: &Config, clock: Clock, waiting: Waiting) -> anyhow::Result<Services> {
        std::fs::create_dir_all(&config.data_dir)
            .with_context(|| format!("SECKILL_DATA_DIR ({}) cannot be created", config.data_dir.display()))?;
        let secret = shop_secret(config)?;
        let store = open_database(config, config.migrate, &waiting).await?;
        let store = store.with_clock(&clock).in_zone(&config.time_zone);
        let metrics = Arc::new(Metrics::default());
        let catalogue = Arc::new(Catalogue::new(store.clone()));
        let monitor = config.amqp_url.clone().map(|url| Arc::new(Monitor::new(url)));
        let directory = Arc::new(PacketDirectory::new(store.clone()));
        let backends = Backends::build(config, &store, &catalogue, &directory, &clock, &metrics)?;
        let registry = Arc::new(CounterRegistry::default());
        let gate = {
            let (facts, sales, counters) = (backends.facts.clone(), catalogue.clone(), registry.clone());
            Arc::new(Gate::new(facts, sales, &config.web, &secret, clock.clone(), metrics.clone(), counters))
        };
        let rate = config.web.user_rate;
        let eligibility = Arc::new(Eligibility::new(store.clone(), catalogue.clone(), rate, &secret));
        let waiting_rooms = {
            let (store, catalogue, eligibility) = (store.clone(), catalogue.clone(), eligibility.clone());
            let lists = (backends.stock.clone(), backends.gathering.clone());
            WaitingRooms::new(store, catalogue, eligibility, lists, rate, &secret, metrics.clone())
        };
        let stock_sync = backends.redis.clone().map(|redis| {
            let (store, catalogue, monitor) = (store.clone(), catalogue.clone(), monitor.clone());
            Arc::new(StockSync::new(redis, store, catalogue, monitor, clock.clone(), metrics.clone()))
        });
        let packet_sync = backends.redis_shares.clone().map(|shares| {
            Arc::new(PacketSync::new(shares, store.clone(), monitor.clone(), clock.clone(), metrics.clone()))
        });
        let packets = Packets::new(packets::PacketDependencies {
            store: store.clone(),
            backend: backends.shares.clone(),
            directory: directory.clone(),
            packet_sync: packet_sync.clone(),
            clock: clock.clone(),
            metrics: metrics.clone(),
            user_rate: rate,
            lifetime: config.packet_lifetime,
            alone: config.second_person_above.map(|units| Money::whole(units, CURRENCY).amount),
        });
        let cockpit = {
            let (store, catalogue, gate) = (store.clone(), catalogue.clone(), gate.clone());
            Cockpit::new(store, catalogue, gate, stock_sync.clone(), monitor.clone(), clock.clone(), registry)
        };
        let digests = Arc::new(Digests::new(store.clone(), clock.clone()));
        let sandbox = match config.payments.offered.contains(&PaymentProvider::Sandbox) {
            true => Some(Arc::new(Sandbox::new(store.clone(), &secret, &webhook_origin(config))?)),
            false => None,
        };
        let providers = providers(config, &sandbox, &clock)?;
        let (master, replicas) = (backends.redis.as_ref().map(RedisStock::connection), backends.replicas);
        let health = Health::new(store.clone(), master, replicas.clone(), monitor.clone(), clock.clone());
        let probe = backends.redis.clone().map(|master| RedisProbe::new(master, replicas, clock.clone()));
        let accounts = Accounts::new(store.clone(), clock.clone(), &secret, config.web.is_https());
        let security = SecurityEvents::new(clock.clone(), metrics.clone());
        let rules = AccountRules {
            free_registrations: config.free_registrations,
            staff_idle: config.staff_idle,
            staff_step_up: config.staff_step_up,
            site: RelyingParty::of(&config.web.public_url),
        };
        let accounts = accounts.with(rules, security.clone());
        let mailer = Mailer {
            store: store.clone(),
            transport: Transport::of(&config.mail).context("SECKILL_SMTP_URL has a wrong value")?,
            letters: Letters { links: MailLinks::new(&secret), public_url: config.web.public_url.clone() },
            metrics: metrics.clone(),
        };
        let reach = if config.web.is_reachable() { Reach::Public } else { Reach::Local };
        let transport = OutsideTransport::new(&config.tls, reach);
        let webhooks = Webhooks::new(store.clone(), &secret, transport, metrics.clone());
        let transport = OutsideTransport::new(&config.tls, Reach::Public);
        let pusher = Pusher::new(store.clone(), &secret, transport, &config.mail.from, metrics.clone());
        Ok(Services {
            mailer: Arc::new(mailer),
            pusher: Arc::new(pusher),
            webhooks: Arc::new(webhooks),
            accounts: Arc::new(accounts),
            security,
            probe,
            batcher: Batcher::new(Arc::new(Units(backends.stock.clone())), metrics.clone()),
            payments: Payments::new(store.clone(), metrics.clone(), &secret, providers),
            sandbox,
            pages: Arc::new(Publisher::new(
                config.data_dir.join("pages"),
                config.web.public_url.clone(),
                clock.clone(),
            )),
            health,
            member: format!("{}-{}", std::process::id(), Uuid::new_v4().simple()),
            waiting,
            gate,
            eligibility,
            waiting_rooms: Arc::new(waiting_rooms),
            cockpit,
            digests,
            stock: backends.stock,
            redis: backends.redis,
            redis_shares: backends.redis_shares,
            gathering: backends.gathering,
            packets,
            directory,
            packet_sync,
            config: config.clone(),
            secret,
            clock,
            store,
            catalogue,
            metrics,
            stock_sync,
            monitor,
        })
    }

    pub fn accounts(&self) -> Arc<Accounts> {
        self.accounts.clone()
    }

    pub fn sales_admin(&self) -> SalesAdmin {
        let (store, stock, catalogue) = (self.store.clone(), self.stock.clone(), self.catalogue.clone());
        let (gate, stock_sync, monitor) = (self.gate.clone(), self.stock_sync.clone(), self.monitor.clone());
        let (probe, health, pages) = (self.probe.clone(), self.health.clone(), self.pages.clone());
        let (clock, revenue) = (self.clock.clone(), Arc::new(Revenue::new(store.clone(), self.clock.clone())));
        SalesAdmin { store, stock, catalogue, gate, stock_sync, monitor, probe, health, pages, clock, revenue }
    }

    pub fn dead_letters(&self) -> DeadLetters {
        let master = self.redis.as_ref().map(RedisStock::connection);
        DeadLetters::new(self.config.amqp_url.clone(), master, self.store.clone(), self.clock.clone())
    }

    pub fn pictures(&self) -> Pictures {
        Pictures::new(self.store.clone(), self.config.data_dir.join("uploads"), self.clock.clone())
    }

    pub fn audit(&self) -> Audit {
        let (store, monitor, clock) = (self.store.clone(), self.monitor.clone(), self.clock.clone());
        let (stock_sync, packet_sync) = (self.stock_sync.clone(), self.packet_sync.clone());
        Audit { store, stock_sync, packet_sync, monitor, clock, recent: None, rows_read: Arc::default() }
    }

    pub(super) fn outboxes(&self) -> Outboxes {
        Outboxes::new(vec![self.catalogue.clone(), self.directory.clone()])
    }

    pub fn orders(&self) -> Orders {
        let (store, stock, clock) = (self.store.clone(), self.stock.clone(), self.clock.clone());
        let (days, delivered_days) = (self.config.return_days, self.config.delivered_days);
        let returns = ReturnPolicy { days, delivered_days };
        Orders::new(store, stock, self.eligibility.clone(), clock, self.metrics.clone(), &self.secret, returns)
    }

    pub fn staff_refunds(&self) -> StaffRefunds {
        StaffRefunds::new(self.payments.clone(), self.orders(), self.config.second_person_above)
    }

    pub fn purchases(&self) -> Purchases {
        Purchases::new(self.gate.clone(), self.batcher.clone(), self.metrics.clone())
    }

    pub fn entries(&self) -> Entries {
        let (store, eligibility) = (self.store.clone(), self.eligibility.clone());
        Entries::new(store, eligibility, self.config.web.user_rate, &self.secret, self.metrics.clone())
    }

    pub fn waitlist(&self) -> WaitlistRequests {
        let (store, catalogue, gate) = (self.store.clone(), self.catalogue.clone(), self.gate.clone());
        let (stock, eligibility) = (self.stock.clone(), self.eligibility.clone());
        WaitlistRequests::new(store, catalogue, gate, stock, eligibility, self.config.web.user_rate)
    }

    /// The shop's routes, without a socket.
    pub fn router(&self) -> Router {
        let shop = Arc::new(Shop {
            config: self.config.web.clone(),
            document: &DOCUMENT,
            clock: self.clock.clone(),
            store: self.store.clone(),
            catalogue: self.catalogue.clone(),
            gate: self.gate.clone(),
            purchases: self.purchases(),
            entries: self.entries(),
            eligibility: self.eligibility.clone(),
            waiting_rooms: self.waiting_rooms.clone(),
            waitlist: self.waitlist(),
            questions: Questions::new(self.store.clone(), self.catalogue.clone()),
            orders: self.orders(),
            payments: self.payments.clone(),
            staff_refunds: self.staff_refunds(),
            sandbox: self.sandbox.clone(),
            packets: self.packets.clone(),
            sales_admin: self.sales_admin(),
            cockpit: self.cockpit.clone(),
            digests: self.digests.clone(),
            dead_letters: self.dead_letters(),
            accounts: self.accounts(),
            security: self.security.clone(),
            pages: self.pages.clone(),
            metrics: self.metrics.clone(),
            health: self.health.clone(),
            admissions: Signer::new(&self.secret, "admission to another shop"),
            passes: JsonSigner::new(&self.secret, "pass"),
            pictures: self.pictures(),
            streams: web::EventStreams::new(),
            letters: self.mailer.letters.clone(),
            push: self.pusher.keys.clone(),
            webhooks: self.webhooks.clone(),
            sends_mail: self.config.mail.smtp.is_some(),
            reminder_counts: web::reminder_counts(self.clock.clone()),
            payment_window: self.config.payment_window,
            unnamed_proxies: UnnamedProxies::default(),
            lists: web::account_limits::limit(self.config.web.user_rate),
            send_crowd: self.sandbox.is_some().then(|| self.send_crowd()),
        });
        let routes = storefront::routes::routes(&shop).merge(console::routes::routes(&shop));
        let routes = routes.merge(integration::routes::routes(&shop));
        web::router(shop, routes)
    }

    pub fn allotter(&self) -> Option<Arc<Allotter>> {
        let redis = self.redis.clone()?;
        Some(Arc::new(Allotter::new(redis, self.store.clone(), self.catalogue.clone(), allot::COOLDOWN)))
    }

    /// What a rehearsal works with.
    pub fn rehearsal(&self) -> rehearse::Parts {
        let (accounts, sales_admin, audit) = (self.accounts(), self.sales_admin(), self.audit());
        let (stock_sync, monitor, catalogue) = (self.stock_sync.clone(), self.monitor.clone(), self.catalogue.clone());
        let (health, clock, store) = (self.health.clone(), self.clock.clone(), self.store.clone());
        let config = self.config.clone();
        rehearse::Parts { accounts, sales_admin, audit, stock_sync, monitor, catalogue, health, clock, store, config }
    }

    fn send_crowd(&self) -> SendCrowd {
        let (parts, url) = (Arc::new(self.rehearsal()), webhook_origin(&self.config));
        Arc::new(move || rehearse::send_crowd(parts.clone(), url.clone()).boxed())
    }

    /// Keeps the gate, the catalogue and other copies up to date, for callers that do not run roles.
    pub async fn follow(&self, stop: CancellationToken) {
        let (catalogue, gate) = (self.catalogue.follow(stop.clone()), self.gate.follow(stop.clone()));
        let copies = (self.directory.follow(stop.clone()), self.waiting_rooms.follow(stop.clone()));
        tokio::join!(catalogue, gate, copies.0, copies.1, self.accounts.follow(stop));
    }
}

/// The providers of the cashier, in its order, and those where only earlier payments end.
fn providers(config: &Config, sandbox: &Option<Arc<Sandbox>>, clock: &Clock) -> anyhow::Result<Providers> {
    let (keys, tls, url) = (&config.payments, &config.tls, &config.web.public_url);
    let mut all: Vec<(PaymentProvider, Arc<dyn Provider>)> = Vec::new();
    if let Some(sandbox) = sandbox {
        all.push((PaymentProvider::Sandbox, sandbox.clone()));
    }
    if let Some(account) = &keys.stripe {
        all.push((PaymentProvider::Stripe, Arc::new(Stripe::new(account, tls, url)?)));
    }
    if let Some(account) = &keys.wechatpay {
        all.push((PaymentProvider::WechatPay, Arc::new(WechatPay::new(account, tls, url, clock)?)));
    }
    if let Some(account) = &keys.alipay {
        all.push((PaymentProvider::Alipay, Arc::new(Alipay::new(account, tls, url, clock))));
    }
    let place = |name: PaymentProvider| keys.offered.iter().position(|offered| *offered == name);
    all.sort_by_key(|(name, _)| place(*name));
    let (offered, retired): (Vec<_>, Vec<_>) = all.into_iter().partition(|(name, _)| place(*name).is_some());
    let only = |of: Vec<(PaymentProvider, Arc<dyn Provider>)>| of.into_iter().map(|(_, provider)| provider).collect();
    Ok(Providers { offered: only(offered), retired: only(retired) })
}

/// Where the sandbox provider delivers webhooks: the public URL, or the listen address if the public URL would need
/// TLS.
fn webhook_origin(config: &Config) -> String {
    if config.web.is_https() { format!("http://{}", config.web.listen) } else { config.web.public_url.clone() }
}

/// The document of the API. It is the same for every shop of a process, and made when it is first asked for.
pub static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
    let mut api = Api::default();
    storefront::routes::document(&mut api);
    console::routes::document(&mut api);
    integration::routes::document(&mut api);
    api.into()
});

// Selects the backends of stock and shares from the configured addresses.

/// The backends for this process's rung.
pub(super) struct Backends {
    pub(super) stock: Arc<dyn Stock>,
    pub(super) facts: Arc<dyn FactSource>,
    pub(super) redis: Option<RedisStock>,
    pub(super) shares: Arc<dyn ShareBackend>,
    pub(super) redis_shares: Option<RedisShares>,
    pub(super) gathering: Option<Gathering>,
    /// The configured replicas.
    pub(super) replicas: Vec<RedisConnection>,
}

impl Backends {
    pub(super) fn build(
        config: &Config,
        store: &Store,
        catalogue: &Arc<Catalogue>,
        directory: &Arc<PacketDirectory>,
        clock: &Clock,
        metrics: &Metrics,
    ) -> anyhow::Result<Backends> {
        let Some(redis) = &config.redis else {
            let stock = Arc::new(DatabaseStock::new(store.clone(), config.payment_window));
            let shares = Arc::new(DatabaseShares::new(store.clone()));
            return Ok(Backends {
                stock: stock.clone(),
                facts: stock,
                redis: None,
                shares,
                redis_shares: None,
                gathering: None,
                replicas: Vec::new(),
            });
        };
        let master = connection::shared(&redis.master)?;
        let replicas = redis.replicas.iter().map(connection::any_role).collect::<anyhow::Result<Vec<_>>>()?;
        let names = redis.replicas.iter().map(connection::host);
        let mut readable: Vec<(String, RedisConnection)> = names.zip(replicas.iter().cloned()).collect();
        if readable.is_empty()
            && let Some(found) = connection::reading(&redis.master)?
        {
            readable.push(("found by its cluster or Sentinels".to_owned(), found));
        }
        let facts = RedisFacts::new(readable, master.clone(), metrics.replicas_left.clone());
        let shares = RedisShares::new(master.clone(), store.clone(), clock.clone(), directory.clone());
        let gathering = Gathering::new(master.clone(), store.clone());
        let stock = RedisStock::new(master, catalogue.clone(), store.clone(), config.payment_window);
        Ok(Backends {
            stock: Arc::new(stock.clone()),
            facts: Arc::new(facts),
            redis: Some(stock),
            shares: Arc::new(shares.clone()),
            redis_shares: Some(shares),
            gathering: Some(gathering),
            replicas,
        })
    }
}
