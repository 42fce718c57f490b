//! Draws: after a sale by draw has closed, its list of entries is locked, the public round arrives, every entry gets
//! its rank, and free units are offered in the order of the ranks until each is paid for.
//!
//! A step may be interrupted anywhere and repeated: the lock and every offer are one transaction each, and ranks are
//! computed from what is stored. If a draw fails, it is tried again at growing intervals and delays no other draw.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use boxed::boxed;
use tokio::time::Instant;
use tracing::info;

use base::metrics::Metrics;
use base::periodic::Backoff;
use domain::draw::{self, DrawSecret, EntryId, EntryList, Proof, Randomness, ranking};
use domain::{DrawState, SaleId, hex};
use store::{Draw, Offered, Store, StoreError, StoreResult};

/// Transactions per step that offer units, or tell entrants. The limit lets a step end, so that the process can stop.
const MAX_OFFERS: usize = 20;
/// Ranks that a dry run shows.
const DRY_RUN_RANKS: usize = 10;

pub struct Draws {
    store: Store,
    metrics: Arc<Metrics>,
    backoff: Backoff<SaleId>,
}

#[boxed]
impl Draws {
    pub fn new(store: Store, metrics: Arc<Metrics>) -> Draws {
        Draws { store, metrics, backoff: Backoff::new("draw of a sale") }
    }

    /// Moves every draw on as far as it goes now.
    pub async fn step(&self) -> StoreResult<()> {
        for sale in self.store.draws().due().await?.into_iter().filter(|sale| !self.backoff.is_waiting(sale)) {
            self.backoff.record(sale, self.advance(sale).await);
        }
        for sale in self.store.draws().to_tell().await?.into_iter().filter(|sale| !self.backoff.is_waiting(sale)) {
            self.backoff.record(sale, self.tell(sale).await);
        }
        self.store.draws().retire().await
    }

    /// Tells entrants that their draw was called off, awaits a later round or was held, as many as a step has time for.
    async fn tell(&self, sale: SaleId) -> StoreResult<()> {
        for _ in 0..MAX_OFFERS {
            if self.store.draws().tell_entrants(sale).await? {
                info!(%sale, "the entrants of a draw were told how it stands");
                break;
            }
        }
        Ok(())
    }

    async fn advance(&self, sale: SaleId) -> anyhow::Result<()> {
        if let Some(Draw { entries, root, .. }) = self.store.draws().lock(sale).await? {
            info!(%sale, entries, root, "the list of a draw is locked");
        }
        let draw = self.store.draws().get(sale).await?.context("the draw is gone")?;
        if draw.state == DrawState::Locked && !self.hold(&draw).await? {
            return Ok(());
        }
        self.offer(sale).await
    }

    /// Ranks the locked list. `false` while the public round is not known.
    async fn hold(&self, draw: &Draw) -> anyhow::Result<bool> {
        let now = self.store.now().await?;
        let randomness = match (draw.round(), draw.randomness()) {
            (None, _) => None,
            (Some(_), Some(known)) => Some(known),
            (Some(round), None) => {
                let Some(sandbox) = round.sandbox_randomness().filter(|_| round.at() <= now) else { return Ok(false) };
                if !self.store.draws().give_randomness(draw.sale_id, &sandbox, "data control").await? {
                    return Ok(false);
                }
                Some(sandbox)
            }
        };
        let list = read_list(&self.store, draw.sale_id).await?;
        let proof = Proof::new(&draw.rules, &draw.changes, &list, randomness.as_ref(), &draw.secret);
        anyhow::ensure!(draw.root.as_ref() == Some(&proof.root), "the locked list has changed");
        let entries = list.taking_part();
        let seed = hex::decode(&proof.seed).context("the seed is 32 bytes")?;
        let order: Vec<_> = ranking(&seed, &entries).into_iter().map(|index| entries[index]).collect();
        self.store.draws().write_ranks(draw.sale_id, &order).await?;
        self.store.draws().finish(draw.sale_id, &serde_json::to_string(&proof)?, now).await?;
        info!(sale = %draw.sale_id, entries = order.len(), seed = proof.seed, "a draw was held");
        Ok(true)
    }

    async fn offer(&self, sale: SaleId) -> anyhow::Result<()> {
        for _ in 0..MAX_OFFERS {
            let Offered { orders, skipped, is_settled } = self.store.draws().offer_units(sale).await?;
            self.metrics.drawn.inc_by(orders as u64);
            if orders + skipped > 0 {
                info!(%sale, orders, skipped, "units were given to the next of a draw");
            }
            if is_settled {
                info!(%sale, "a draw is settled");
            }
            if orders + skipped == 0 {
                break;
            }
        }
        Ok(())
    }
}

async fn read_list(store: &Store, sale: SaleId) -> anyhow::Result<EntryList> {
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let page = store.draws().listed_entries(sale, after).await?;
        let Some(last) = page.last() else { return Ok(EntryList::new(all)?) };
        after = Some(last.id);
        all.extend(page);
    }
}

/// What a dry run of a draw found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryRun {
    /// Entries that take part now.
    pub entries: usize,
    /// The first entries in this dry run's order. Another seed gives another order.
    pub first: Vec<EntryId>,
    /// Time to read the list, and time to compute root and ranks.
    pub read: Duration,
    pub computed: Duration,
}

/// Ranks the present entries with a random secret and without a public round, stores nothing, and forgets the secret.
#[boxed]
pub async fn dry_run(store: &Store, draw: &Draw) -> anyhow::Result<DryRun> {
    let begun = Instant::now();
    let list = read_list(store, draw.sale_id).await?;
    let (read, begun) = (begun.elapsed(), Instant::now());
    let rules = draw.rules.clone();
    let ranked = tokio::task::spawn_blocking(move || {
        let entries = list.taking_part();
        let secret = DrawSecret::new(rand::random());
        let seed = draw::seed(&rules, &draw::root(&entries), entries.len() as u64, None, &secret);
        let order = ranking(&seed, &entries);
        (entries.len(), order.into_iter().take(DRY_RUN_RANKS).map(|index| entries[index]).collect())
    });
    let (entries, first) = ranked.await?;
    Ok(DryRun { entries, first, read, computed: begun.elapsed() })
}

/// Verifies the round that staff pasted for a draw that waits for it, and stores it.
///
/// # Errors
/// What is wrong with the pasted text, in words for staff.
#[boxed]
pub async fn paste_round(store: &Store, draw: &Draw, pasted: &str, actor: &str) -> Result<Randomness, PasteRefusal> {
    let round = draw.round().filter(|_| draw.awaits_round()).ok_or(PasteRefusal::NotAwaited)?;
    let given = round.verify(pasted)?;
    if store.draws().give_randomness(draw.sale_id, &given, actor).await? {
        Ok(given)
    } else {
        Err(PasteRefusal::NotAwaited)
    }
}

/// Why a pasted round was refused.
#[derive(Debug, thiserror::Error)]
pub enum PasteRefusal {
    #[error("the draw awaits no public round now")]
    NotAwaited,
    #[error(transparent)]
    Wrong(#[from] domain::draw::WrongRandomness),
    #[error(transparent)]
    Store(#[from] StoreError),
}
