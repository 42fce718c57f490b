//! Starts the tasks of each role: the server with its grants, and the pipeline with threads of its own.

use std::hash::Hash;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::OptionFuture;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::Services;
use super::startup::{MAX_OPS_CONNECTIONS, Starting, StartingAddress, max_connections, retry_without_database};
use base::config::{PaymentProvider, ProcessRole};
use base::lifecycle::Lifecycle;
use base::metrics::Metrics;
use base::periodic::run_every;
use engine::packets::redis::RedisShares;
use engine::pipeline::consumer::{Consumer, Persister};
use engine::pipeline::relay::{Relay, Sweep};
use engine::pipeline::source::Origin;
use engine::redis::connection::{self, RedisConnection};
use engine::redis::grant_log::GrantFiles;
use engine::redis::replay::{ReplayGrants, replay_grants};
use engine::stock::redis::RedisStock;
use engine::waiting_rooms::places::Gathering;
use pages::pictures::run_cleanup;
use store::Store;
use web::server::limits::{AddressLimit, ConnectionLimiter, ConnectionLimits};
use web::server::serve_on;

impl Services {
    /// Starts the roles that have work on this rung. Returns the threads of the pipeline, if it has its own.
    pub(super) async fn spawn_roles(
        &self,
        roles: &[ProcessRole],
        starting: Starting,
        lifecycle: &mut Lifecycle,
    ) -> anyhow::Result<Option<PipelineThreads>> {
        let Starting { ops, mut shop } = starting;
        let threads = PipelineThreads::start(self, roles)?;
        let pipeline = threads.as_ref().map_or_else(|| self.pipeline(), |threads| threads.pipeline(self));
        let runtime = threads.as_ref().map_or_else(Handle::current, |threads| threads.handle().clone());
        let stop = lifecycle.stop_token();
        if roles.iter().any(|role| self.needs_catalogue(*role)) {
            let catalogue = self.catalogue.clone();
            lifecycle.spawn_loop("catalogue", |stop| async move { catalogue.follow(stop).await });
        }
        // Claims are decided by it, and relay or, without RabbitMQ, consumer read the outboxes that it lists.
        if roles.iter().any(|role| *role != ProcessRole::Control && self.needs_catalogue(*role)) {
            let directory = self.directory.clone();
            lifecycle.spawn_loop("packets", |stop| async move { directory.follow(stop).await });
        }
        let (health, metrics) = (self.health.clone(), self.metrics.clone());
        lifecycle.spawn_loop("clock", |stop| async move { health.follow_clock(metrics, stop).await });
        let (security, store) = (self.security.clone(), self.store.clone());
        lifecycle.spawn_loop("security events", |stop| async move { security.follow(store, stop).await });
        for role in roles {
            match role {
                ProcessRole::Serve => {
                    if let Some(address) = shop.take() {
                        self.spawn_serve(address, lifecycle).await?;
                    }
                }
                ProcessRole::Relay => {
                    if let (Some(relay), Some(sweep)) = (pipeline.relay(), pipeline.sweep()) {
                        lifecycle.spawn_on(&runtime, "relay", relay.run(stop.clone()));
                        lifecycle.spawn_on(&runtime, "sweep", sweep.run(stop.clone()));
                    }
                }
                ProcessRole::Consume => {
                    if let Some(consumer) = pipeline.consumer() {
                        lifecycle.spawn_on(&runtime, "consume", consumer.run(stop.clone()));
                    }
                }
                ProcessRole::Control => lifecycle.spawn("control", self.control().run(stop.clone())),
            }
        }
        if roles.contains(&ProcessRole::Serve) || roles.contains(&ProcessRole::Control) {
            let pages = control::render_on_change(self.catalogue.clone(), self.pages.clone(), stop.clone());
            lifecycle.spawn("pages", pages);
            lifecycle.spawn("tidy", run_cleanup(self.pictures(), self.pages.clone(), stop.clone()));
        }
        // Start this last, because it reports that shoppers are served.
        let ops_router = web::ops::router(self.health.clone(), self.metrics.clone(), lifecycle.shutdown().draining);
        let limiter =
            ConnectionLimiter::new(ConnectionLimits::of(MAX_OPS_CONNECTIONS), Gauge::default(), Counter::default());
        lifecycle.spawn("ops", serve_on(ops.take_over().await?, ops_router, limiter, lifecycle.shutdown()));
        Ok(threads)
    }

    /// A consumer of RabbitMQ takes what comes, whatever the shop sells.
    pub(super) fn needs_catalogue(&self, role: ProcessRole) -> bool {
        role != ProcessRole::Consume || self.config.amqp_url.is_none()
    }

    async fn spawn_serve(&self, address: StartingAddress, lifecycle: &mut Lifecycle) -> anyhow::Result<()> {
        let limits = ConnectionLimits::of(self.config.web.connections.min(max_connections()));
        let limiter =
            ConnectionLimiter::new(limits, self.metrics.connections.clone(), self.metrics.turned_away.clone());
        let web = &self.config.web;
        let limiter = limiter.with_address_limit(AddressLimit::new(web.connections_per_address, &web.trusted_proxies));
        let limiter = limiter.with_events(self.security.clone());
        let (batcher, packets, cockpit) = (self.batcher.clone(), self.packets.clone(), self.cockpit.clone());
        let rooms = self.waiting_rooms.clone();
        let grants = ServeGrants::begin(self).await?;
        let serve = serve_on(address.take_over().await?, self.router(), limiter, lifecycle.shutdown());
        lifecycle.spawn("serve", async move {
            let all_answered = CancellationToken::new();
            let serve = async {
                let served = serve.await;
                batcher.finish().await;
                rooms.finish().await;
                packets.finish().await;
                cockpit.write_counters().await;
                all_answered.cancel();
                served
            };
            let replay = OptionFuture::from(grants.map(|grants| grants.run(all_answered.clone())));
            tokio::join!(serve, replay).0
        });
        let (cockpit, gate, accounts) = (self.cockpit.clone(), self.gate.clone(), self.accounts.clone());
        let waiting_rooms = self.waiting_rooms.clone();
        lifecycle.spawn_loop("cockpit", |stop| cockpit.run(stop));
        lifecycle.spawn_loop("gate", |stop| async move { gate.follow(stop).await });
        lifecycle.spawn_loop("waiting rooms", |stop| async move { waiting_rooms.follow(stop).await });
        lifecycle.spawn_loop("accounts", |stop| async move { accounts.follow(stop).await });
        if let Some(stock) = self.redis.clone() {
            lifecycle.spawn_loop("access counters", |stop| async move { stock.sync_access(stop).await });
        }
        let (url, payments) = (&self.config.web.public_url, &self.config.payments);
        info!(url, payments = payments.names(), "the shop is open");
        if payments.offered.is_empty() {
            warn!("no provider takes payments and top-ups (SECKILL_PAYMENTS)");
        } else if payments.offered.contains(&PaymentProvider::Sandbox) && self.config.web.is_https() {
            warn!("the sandbox is on: every payment and top-up is accepted without money (SECKILL_PAYMENTS)");
        }
        Ok(())
    }
}

// The grants of a process of the role `serve`: replayed while it serves, and kept for its next start when it stops.

/// Data control counts a process as dead after several missing reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// Rows of dead processes are removed at this age.
const DEAD_AFTER: Duration = Duration::from_secs(3_600);

/// The grants of units and packet shares, and the places in waiting rooms.
pub(super) struct ServeGrants {
    units: KeptGrants<RedisStock>,
    shares: KeptGrants<RedisShares>,
    places: KeptGrants<Gathering>,
    store: Store,
    metrics: Arc<Metrics>,
    /// The name of this process.
    process: String,
}

struct KeptGrants<B> {
    backend: B,
    files: GrantFiles,
}

impl ServeGrants {
    /// Reads the grants that stopped processes left, and reports that this process is alive. From then on data control
    /// waits for its replay. `None` if the database keeps the stock.
    pub(super) async fn begin(services: &Services) -> anyhow::Result<Option<ServeGrants>> {
        let redis = (services.redis.clone(), services.redis_shares.clone(), services.gathering.clone());
        let (Some(units), Some(shares), Some(places)) = redis else { return Ok(None) };
        let data_dir = &services.config.data_dir;
        let grants = ServeGrants {
            units: KeptGrants::load(units, data_dir, "goods"),
            shares: KeptGrants::load(shares, data_dir, "packet"),
            places: KeptGrants::load(places, data_dir, "queue"),
            store: services.store.clone(),
            metrics: services.metrics.clone(),
            process: services.member.clone(),
        };
        retry_without_database(&services.waiting, || async {
            Ok(grants.store.processes().report(&grants.process).await?)
        })
        .await?;
        Ok(Some(grants))
    }

    /// Replays and reports until `stop` is cancelled, which happens after the last claim was answered.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let (process, metrics) = (&self.process, &self.metrics);
        tokio::join!(
            self.units.replay(process, metrics, &stop),
            self.shares.replay(process, metrics, &stop),
            self.places.replay(process, metrics, &stop),
            run_every(REPORT_INTERVAL, &stop, "report of life", || async {
                self.store.processes().report(process).await
            }),
        );
        self.units.keep(process);
        self.shares.keep(process);
        self.places.keep(process);
        // If the database does not answer, the row expires.
        let _ = self.store.processes().remove(process, DEAD_AFTER).await;
    }
}

impl<B: ReplayGrants> KeptGrants<B>
where
    B::Grant: Serialize + DeserializeOwned + Hash,
{
    fn load(backend: B, data_dir: &Path, kind: &'static str) -> KeptGrants<B> {
        let mut files = GrantFiles::new(data_dir, kind);
        match files.load(backend.grant_log()) {
            Ok(0) => {}
            Ok(grants) => info!(grants, kind, "read the grants of a process that has stopped"),
            // Start anyway: the master most likely has all of these grants.
            Err(error) => error!(error = format!("{error:#}"), "grants of a stopped process are not replayed"),
        }
        KeptGrants { backend, files }
    }

    async fn replay(&mut self, process: &str, metrics: &Metrics, stop: &CancellationToken) {
        replay_grants(&self.backend, process, &mut self.files, metrics, stop).await;
    }

    fn keep(self, process: &str) {
        match self.files.write(process, self.backend.grant_log()) {
            Ok(0) => {}
            Ok(grants) => {
                info!(grants, "wrote grants that the database does not have yet; the next start replays them")
            }
            Err(error) => error!(error = format!("{error:#}"), "grants cannot be kept for the next start"),
        }
    }
}

// Builds the parts of the pipeline from the outbox to the database, and gives them threads of their own.

/// Builds the parts of the pipeline on these connections.
pub struct Pipeline<'s> {
    services: &'s Services,
    store: Store,
    master: Option<RedisConnection>,
}

/// Threads for the pipeline of a process that also serves shoppers. On shared threads each step of the consumer waits for
/// hundreds of requests in front of it; threads of its own get their share from the operating system.
///
/// The runtime that opens a connection also drives it, so the pipeline has connections of its own here.
pub(super) struct PipelineThreads {
    /// `None` only during the drop.
    runtime: Option<Runtime>,
    handle: Handle,
    store: Store,
    master: RedisConnection,
}

impl PipelineThreads {
    /// `None` if the process does not serve beside its pipeline, or the setting asks for none.
    pub(super) fn start(services: &Services, roles: &[ProcessRole]) -> anyhow::Result<Option<PipelineThreads>> {
        let config = &services.config;
        let Some(redis) = &config.redis else { return Ok(None) };
        let has_pipeline = [ProcessRole::Relay, ProcessRole::Consume].iter().any(|role| roles.contains(role));
        if config.pipeline_threads == 0 || !has_pipeline || !roles.contains(&ProcessRole::Serve) {
            return Ok(None);
        }
        let threads = config.pipeline_threads;
        let runtime =
            Builder::new_multi_thread().worker_threads(threads).thread_name("pipeline").enable_all().build()?;
        let (store, master) = {
            let _entered = runtime.enter();
            // An SQLite file has one writer at a time, and one handle lets all writers of the process wait in turn.
            let store = match services.store.shares_clock() {
                true => services.store.clone(),
                false => Store::open(&config.database_url)?.in_zone(&config.time_zone),
            };
            (store, connection::shared(&redis.master)?)
        };
        Ok(Some(PipelineThreads { handle: runtime.handle().clone(), runtime: Some(runtime), store, master }))
    }

    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(super) fn pipeline<'s>(&self, services: &'s Services) -> Pipeline<'s> {
        Pipeline { services, store: self.store.clone(), master: Some(self.master.clone()) }
    }

    /// Ends the threads, whose tasks have ended.
    pub(super) async fn end(self) {
        self.store.close().await;
    }
}

/// A runtime that is dropped in a task waits for its threads, which panics.
impl Drop for PipelineThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Services {
    /// The pipeline on the connections of the process.
    pub fn pipeline(&self) -> Pipeline<'_> {
        let master = self.redis.as_ref().map(RedisStock::connection);
        Pipeline { services: self, store: self.store.clone(), master }
    }
}

impl Pipeline<'_> {
    pub fn consumer(&self) -> Option<Consumer> {
        let Services { config, metrics, .. } = self.services;
        let redis = config.redis.as_ref()?;
        let origin = match (&config.amqp_url, &self.master) {
            (Some(url), _) => Origin::Rabbit { url: url.clone() },
            (None, Some(master)) => Origin::Stream {
                url: redis.master.clone(),
                master: master.clone(),
                outboxes: self.services.outboxes(),
                member: self.services.member.clone(),
            },
            (None, None) => return None,
        };
        Some(Consumer {
            origin,
            store: self.store.clone(),
            persister: Persister::new(self.store.clone(), config.payment_window, metrics.clone()),
            metrics: metrics.clone(),
        })
    }

    pub fn relay(&self) -> Option<Relay> {
        let Services { config, metrics, member, .. } = self.services;
        Some(Relay {
            redis_url: config.redis.as_ref()?.master.clone(),
            amqp_url: config.amqp_url.clone()?,
            outboxes: self.services.outboxes(),
            metrics: metrics.clone(),
            member: member.clone(),
        })
    }

    pub fn sweep(&self) -> Option<Sweep> {
        let Services { config, metrics, member, monitor, .. } = self.services;
        Some(Sweep {
            amqp_url: config.amqp_url.clone()?,
            master: self.master.clone()?,
            monitor: monitor.clone()?,
            store: self.store.clone(),
            outboxes: self.services.outboxes(),
            metrics: metrics.clone(),
            member: member.clone(),
        })
    }
}
