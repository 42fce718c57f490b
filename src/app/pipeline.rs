//! Builds the parts of the pipeline from the outbox to the database, and gives them threads of their own.

use tokio::runtime::{Builder, Handle, Runtime};

use super::Services;
use base::config::ProcessRole;
use engine::pipeline::consumer::Consumer;
use engine::pipeline::persist::Persister;
use engine::pipeline::relay::Relay;
use engine::pipeline::source::Origin;
use engine::pipeline::sweep::Sweep;
use engine::redis::connection::{self, RedisConnection};
use engine::stock::redis::RedisStock;
use store::Store;

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
