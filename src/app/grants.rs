//! The grants of a process of the role `serve`: replayed while it serves, and kept for its next start when it stops.

use std::hash::Hash;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use super::Services;
use super::startup::retry_without_database;
use base::metrics::Metrics;
use base::periodic::run_every;
use engine::packets::redis::RedisShares;
use engine::redis::grant_log::GrantFiles;
use engine::redis::replay::{ReplayGrants, replay_grants};
use engine::stock::redis::RedisStock;
use engine::waiting_rooms::places::Gathering;
use store::Store;

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
