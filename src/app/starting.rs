//! The addresses of a process during its start. While the start waits, for the database or for migrations, the process
//! says so at each of them.

use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use tokio::task::JoinHandle;
use tracing::error;

use super::Waiting;
use base::config::{Config, ProcessRole};
use base::lifecycle::Shutdown;
use web::server::limits::{ConnectionLimiter, ConnectionLimits};
use web::server::{Listen, serve_on};

/// Open connections to the operators' address, at most; and to the shop's as long as it is not open.
pub(super) const MAX_OPS_CONNECTIONS: usize = 256;

pub(super) struct Starting {
    pub ops: StartingAddress,
    /// Of a process that serves shoppers.
    pub shop: Option<StartingAddress>,
}

impl Starting {
    pub fn begin(roles: &[ProcessRole], config: &Config, waiting: &Waiting) -> Starting {
        let ops = Listen { address: config.web.ops_listen, setting: "SECKILL_OPS_LISTEN" };
        let shop = Listen { address: config.web.listen, setting: "SECKILL_LISTEN" };
        let ops = StartingAddress::new(ops, web::ops::starting_router(waiting.watch()), async {});
        let mut reason = waiting.watch();
        // A start that need not wait opens the address with the shop: a load balancer asks another server until then.
        let waits = async move { drop(reason.wait_for(Option::is_some).await) };
        let serves = roles.contains(&ProcessRole::Serve);
        let shop = serves.then(|| StartingAddress::new(shop, web::router::starting_router(), waits));
        Starting { ops, shop }
    }
}

pub(super) struct StartingAddress {
    listen: Listen,
    /// `None` until something is answered.
    bound: Arc<Mutex<Option<TcpListener>>>,
    answers: JoinHandle<()>,
}

impl StartingAddress {
    /// Answers with `router` once `begin` is over.
    fn new(listen: Listen, router: Router, begin: impl Future<Output = ()> + Send + 'static) -> StartingAddress {
        let bound = Arc::new(Mutex::new(None));
        let shared = bound.clone();
        let answers = tokio::spawn(async move {
            begin.await;
            let answered = match share(listen, &shared) {
                Ok(listener) => answer(listener, router).await,
                Err(error) => Err(error),
            };
            if let Err(error) = answered {
                error!(error = format!("{error:#}"), "the start cannot be seen from outside");
            }
        });
        StartingAddress { listen, bound, answers }
    }

    /// Ends the answers of the start. New connections wait for whoever serves the listener now.
    pub async fn take_over(self) -> anyhow::Result<TcpListener> {
        self.answers.abort();
        // An aborted task has nothing to say.
        let _ = self.answers.await;
        let bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner).take();
        bound.map_or_else(|| self.listen.bind(), Ok)
    }
}

/// A second handle of the listener, which is bound if it is not yet. The first one stays, so that the address stays open.
fn share(listen: Listen, bound: &Mutex<Option<TcpListener>>) -> anyhow::Result<TcpListener> {
    let mut bound = bound.lock().unwrap_or_else(PoisonError::into_inner);
    let listener = match bound.take() {
        Some(listener) => listener,
        None => listen.bind()?,
    };
    Ok(bound.insert(listener).try_clone()?)
}

async fn answer(listener: TcpListener, router: Router) -> anyhow::Result<()> {
    let limits = ConnectionLimits::of(MAX_OPS_CONNECTIONS);
    let limiter = ConnectionLimiter::new(limits, Gauge::default(), Counter::default());
    let shutdown = Shutdown::default();
    // Every connection ends with its answer, so that none is open when the process itself answers.
    shutdown.draining.cancel();
    serve_on(listener, router, limiter, shutdown).await
}
