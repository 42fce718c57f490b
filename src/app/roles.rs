//! Running roles: what each of them keeps doing until the process is stopped.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tracing::info;

use super::Parts;
use super::start::most_connections;
use crate::config::Role;
use crate::control;
use crate::lifecycle::Lifecycle;
use crate::pictures::tidy;
use crate::stock::promises::keep_promises;
use crate::web;
use crate::web::door::{Door, Limits};
use crate::web::server::{Listen, serve_on};

/// Connections to the operators' address.
const OPERATORS: usize = 256;

impl Parts {
    /// Starts the roles that have work on this rung.
    pub(super) fn spawn_roles(&self, roles: &[Role], lifecycle: &mut Lifecycle) -> anyhow::Result<()> {
        let stop = lifecycle.stop_token();
        let (catalogue, board) = (self.catalogue.clone(), self.board.clone());
        lifecycle.keep("catalogue", |stop| async move { catalogue.follow(stop).await });
        lifecycle.keep("packets", |stop| async move { board.follow(stop).await });
        let ops = Listen { address: self.config.web.ops_listen, setting: "SECKILL_OPS_LISTEN" }.bind()?;
        for role in roles {
            match role {
                Role::Serve => self.spawn_serve(lifecycle)?,
                Role::Relay => {
                    if let Some(relay) = self.relay() {
                        lifecycle.spawn("sweep", relay.clone().sweep(stop.clone()));
                        lifecycle.spawn("relay", relay.run(stop.clone()));
                    }
                }
                Role::Consume => {
                    if let Some(consumer) = self.consumer() {
                        lifecycle.spawn("consume", consumer.run(stop.clone()));
                    }
                }
                Role::Control => lifecycle.spawn("control", self.control().run(stop.clone())),
            }
        }
        if roles.contains(&Role::Serve) || roles.contains(&Role::Control) {
            let pages = control::keep_pages(self.catalogue.clone(), self.pages.clone(), stop.clone());
            lifecycle.spawn("pages", pages);
            lifecycle.spawn("tidy", tidy::keep_tidy(self.pictures(), self.pages.clone(), stop.clone()));
        }
        // Last, because what it says is that shoppers are answered.
        let ops_router = web::ops::router(self.health.clone(), self.metrics.clone());
        let door = Door::new(Limits::of(OPERATORS), Gauge::default(), Counter::default());
        lifecycle.spawn("ops", serve_on(ops, ops_router, door, stop));
        Ok(())
    }

    fn spawn_serve(&self, lifecycle: &mut Lifecycle) -> anyhow::Result<()> {
        let stop = lifecycle.stop_token();
        let listener = Listen { address: self.config.web.listen, setting: "SECKILL_LISTEN" }.bind()?;
        let limits = Limits::of(self.config.web.connections.min(most_connections()));
        let door = Door::new(limits, self.metrics.connections.clone(), self.metrics.turned_away.clone());
        let serve = serve_on(listener, self.router(), door, stop);
        let (lanes, packets, cockpit) = (self.lanes.clone(), self.packets.clone(), self.cockpit.clone());
        lifecycle.spawn("serve", async move {
            serve.await?;
            lanes.finish().await;
            packets.finish().await;
            cockpit.write_down().await;
            Ok(())
        });
        let (cockpit, gate, accounts) = (self.cockpit.clone(), self.gate.clone(), self.accounts.clone());
        lifecycle.keep("cockpit", |stop| cockpit.run(stop));
        lifecycle.keep("gate", |stop| async move { gate.follow(stop).await });
        lifecycle.keep("accounts", |stop| async move { accounts.follow(stop).await });
        if let (Some(units), Some(shares)) = (self.redis.clone(), self.redis_shares.clone()) {
            lifecycle.keep("promises", |stop| async move {
                tokio::join!(keep_promises(units, stop.clone()), keep_promises(shares, stop));
            });
        }
        info!(url = self.config.web.public_url, "the shop is open");
        Ok(())
    }
}
