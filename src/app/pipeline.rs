//! Builds the parts of the pipeline from the outbox to the database.

use super::Services;
use engine::pipeline::consumer::Consumer;
use engine::pipeline::persist::Persister;
use engine::pipeline::relay::Relay;
use engine::pipeline::source::Origin;
use engine::pipeline::sweep::Sweep;

impl Services {
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
            persister: Persister::new(self.store.clone(), self.config.payment_window, self.metrics.clone()),
            metrics: self.metrics.clone(),
        })
    }

    pub fn relay(&self) -> Option<Relay> {
        Some(Relay {
            redis_url: self.config.redis.as_ref()?.master.clone(),
            amqp_url: self.config.amqp_url.clone()?,
            outboxes: self.outboxes(),
            metrics: self.metrics.clone(),
            member: self.member.clone(),
        })
    }

    pub fn sweep(&self) -> Option<Sweep> {
        Some(Sweep {
            amqp_url: self.config.amqp_url.clone()?,
            master: self.redis.as_ref()?.connection(),
            monitor: self.monitor.clone()?,
            store: self.store.clone(),
            outboxes: self.outboxes(),
            metrics: self.metrics.clone(),
            member: self.member.clone(),
        })
    }
}
