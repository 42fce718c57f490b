//! Starts the tasks of each role.

use futures::future::OptionFuture;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::Services;
use super::grants::ServeGrants;
use super::pipeline::PipelineThreads;
use super::starting::{MAX_OPS_CONNECTIONS, Starting, StartingAddress};
use super::startup::max_connections;
use base::config::{PaymentProvider, ProcessRole};
use base::lifecycle::Lifecycle;
use pages::pictures::run_cleanup;
use web::server::limits::AddressLimit;
use web::server::limits::{ConnectionLimiter, ConnectionLimits};
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
