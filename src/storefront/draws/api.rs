//! Draws: an account's own entry, and the public facts.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use futures::{TryStreamExt, stream};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use tracing::error;

use crate::{SaleCall, json_response};
use domain::draw::{Beacon, EntryId, Exclusion, ListedEntry, Proof, RoundChange};
use domain::{DrawEntry, DrawStage, DrawState, EntryState, OrderId, SaleId};
use store::{Draw, Store, StoreResult};
use web::extract::{ClientAddress, Json, SalePath, SignedIn, State};
use web::{Answer, Cache, Code, Problem, Shop, no_content, private};

/// An entry as its owner sees it.
#[derive(Serialize, JsonSchema)]
struct EntryJson {
    id: EntryId,
    sale_id: SaleId,
    entered_at: Timestamp,
    state: EntryState,
    /// Why it was excluded, or passed over when its turn came.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Exclusion>,
    /// From 1; `null` until the draw was held.
    #[schemars(range(min = 1))]
    rank: Option<i64>,
    /// The order that it won.
    order_id: Option<OrderId>,
}

#[derive(Serialize, JsonSchema)]
struct EntryResponse {
    entry: EntryJson,
    /// The state of the draw.
    draw: DrawState,
    /// Proof that the shop took the entry.
    receipt: String,
}

fn entry_response(shop: &Shop, sale_id: SaleId, draw: DrawState, entry: &DrawEntry) -> EntryResponse {
    let receipt = shop.entries.receipt(sale_id, entry);
    // Only a draw that was held has ranks that stay.
    let is_held = matches!(draw, DrawState::Drawn | DrawState::Settled);
    let DrawEntry { id, entered_at, state, reason, rank, order_id, .. } = *entry;
    let rank = rank.filter(|_| is_held).map(|rank| rank + 1);
    EntryResponse { entry: EntryJson { id, sale_id, entered_at, state, reason, rank, order_id }, draw, receipt }
}

/// Enters the account. 201 with the new entry; 200 with the entry that the account already has.
pub async fn enter(
    (State(shop), SignedIn(session), SalePath(sale)): SaleCall,
    ClientAddress(client): ClientAddress,
) -> Answer {
    let (entry, is_new) = shop.entries.enter(sale, session.user_id, client).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let draw = shop.store.draws().get(sale).await?.ok_or(Code::NoSuchDraw)?;
    let answer = entry_response(&shop, sale, draw.state, &entry);
    Ok((status, Cache::Private, Json(answer)).into_response())
}

/// The account's own entry.
pub async fn own((State(shop), SignedIn(session), SalePath(sale)): SaleCall) -> Answer {
    let draw = shop.store.draws().get(sale).await?.ok_or(Code::NoSuchDraw)?;
    let entry = shop.store.draws().draw_entry(sale, session.user_id).await?.ok_or(Code::NotEntered)?;
    Ok(private(entry_response(&shop, sale, draw.state, &entry)))
}

/// Withdraws the account's entry, while the sale is open.
pub async fn withdraw(
    (State(shop), SignedIn(session), SalePath(sale)): SaleCall,
    ClientAddress(client): ClientAddress,
) -> Answer {
    shop.entries.withdraw(sale, session.user_id, client).await?;
    Ok(no_content())
}

#[derive(Serialize, JsonSchema)]
struct DrawResponse {
    draw: DrawJson,
}

/// The public facts of a draw.
#[derive(Serialize, JsonSchema)]
struct DrawJson {
    sale_id: SaleId,
    state: DrawState,
    /// How far the draw has come: its state, and within it what the clock says.
    stage: DrawStage,
    /// When the stage ends, if the clock ends it.
    until: Option<Timestamp>,
    now: Timestamp,
    /// The canonical text, whose hash goes into the seed.
    rules: String,
    /// SHA-256 of the secret's 32 bytes, in hexadecimal digits.
    commitment: String,
    lock_at: Timestamp,
    locked_at: Option<Timestamp>,
    /// Entries that take part; `null` until the list is locked.
    entries: Option<i64>,
    /// Excluded entries by reason.
    excluded: BTreeMap<Exclusion, i64>,
    /// Merkle root (RFC 6962) over the entries that take part.
    root: Option<String>,
    /// `null` without public randomness. Then shoppers have to trust the shop.
    randomness: Option<RoundJson>,
    /// Rounds that did not appear in time, and what replaced each.
    changes: Vec<RoundChange>,
    drawn_at: Option<Timestamp>,
    /// When the draw was called off, and why.
    called_off: Option<CalledOffJson>,
    /// `null` until the draw was held; so is the seed.
    secret: Option<String>,
    /// Null until the draw was held.
    seed: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct CalledOffJson {
    at: Timestamp,
    /// In the words of the staff; `null` if the sale ended early.
    reason: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct RoundJson {
    beacon: Beacon,
    round: i64,
    due_at: Timestamp,
    signature: Option<String>,
}

/// The public facts of a draw.
pub async fn show(State(shop): State<Arc<Shop>>, SalePath(sale): SalePath) -> Answer {
    let draw = public_draw(&shop, sale).await?;
    let known = shop.catalogue.entry(sale).await?.ok_or(Code::NoSuchSale)?;
    let now = shop.clock.now();
    let (stage, until) = draw.stage(&known.sale, now);
    let excluded = shop.store.draws().exclusions(sale).await?.into_iter().collect();
    let proof = draw.proof.as_deref().and_then(|proof| Proof::parse(proof.as_bytes()).ok());
    let (secret, seed) = proof.map(|proof| (proof.secret, proof.seed)).unzip();
    let randomness = draw.round().map(|round| RoundJson {
        beacon: round.beacon,
        round: round.round,
        due_at: round.at(),
        signature: draw.signature,
    });
    let draw = DrawJson {
        sale_id: sale,
        state: draw.state,
        stage,
        until,
        now,
        rules: draw.rules.canonical(),
        commitment: draw.rules.commitment,
        lock_at: draw.lock_at,
        locked_at: draw.locked_at,
        entries: draw.entries,
        excluded,
        root: draw.root,
        randomness,
        changes: draw.changes,
        drawn_at: draw.drawn_at,
        called_off: draw.called_off_at.map(|at| CalledOffJson { at, reason: draw.called_off_reason }),
        secret,
        seed,
    };
    Ok((Cache::Live, Json(DrawResponse { draw })).into_response())
}

/// The document that proves the draw; 409 until it was held.
pub async fn proof(State(shop): State<Arc<Shop>>, SalePath(sale): SalePath) -> Answer {
    let proof = public_draw(&shop, sale).await?.proof.ok_or(Code::NotDrawn)?;
    Ok((Cache::Page, json_response(StatusCode::OK, proof)).into_response())
}

/// The list of entries as CSV; 409 until it is locked. Pages are read as the client takes them.
pub async fn entries(State(shop): State<Arc<Shop>>, SalePath(sale): SalePath) -> Answer {
    if public_draw(&shop, sale).await?.locked_at.is_none() {
        return Err(Code::NotLocked.into());
    }
    let list = List { store: shop.store.clone(), sale, after: None, begun: false };
    let pages = stream::try_unfold(list, List::next_page);
    let pages = pages.inspect_err(|error| error!(%error, "a list of entries failed; the download breaks off"));
    let headers = [(CONTENT_TYPE, "text/csv; charset=utf-8")];
    Ok((Cache::Page, headers, Body::from_stream(pages)).into_response())
}

async fn public_draw(shop: &Shop, sale: SaleId) -> Result<Draw, Problem> {
    shop.store.draws().get(sale).await?.ok_or(Code::NoSuchDraw.into())
}

/// The first line of the list, as in [`EntryList::to_csv`](domain::draw::EntryList::to_csv).
const LIST_HEADER: &str = "entry,status\n";

/// A list that is being sent.
struct List {
    store: Store,
    sale: SaleId,
    after: Option<EntryId>,
    /// Whether the header was sent.
    begun: bool,
}

impl List {
    async fn next_page(mut self) -> StoreResult<Option<(Bytes, List)>> {
        let page = self.store.draws().listed_entries(self.sale, self.after).await?;
        if page.is_empty() && self.begun {
            return Ok(None);
        }
        let mut text = String::from(if self.begun { "" } else { LIST_HEADER });
        for ListedEntry { id, status } in &page {
            text.push_str(&format!("{id},{status}\n"));
        }
        self.after = page.last().map(|ListedEntry { id, .. }| *id).or(self.after);
        self.begun = true;
        Ok(Some((text.into(), self)))
    }
}

web::operations! { "sales"
    /// The public facts of a draw
    ///
    /// `docs/draw.md` says what they prove.
    GET "/api/sales/{sale}/draw" showDraw = show;
        200 DrawResponse, "May be cached for one second.";
        refuses NoSuchDraw;
    /// The list of entries, once it is locked
    ///
    /// Columns `entry` and `status`, which is `in` or `excluded:` with a reason. Sorted by entry; lines end in a line
    /// feed.
    GET "/api/sales/{sale}/draw/entries.csv" listDrawEntries = entries, csv;
        200 String;
        refuses NoSuchDraw NotLocked;
    /// The proof of a draw, once it was held
    ///
    /// For `seckill verify-draw`.
    GET "/api/sales/{sale}/draw/proof.json" showDrawProof = proof;
        200 Map<String, Value>;
        refuses NoSuchDraw NotDrawn;
    /// The account's entry in a draw
    GET "/api/sales/{sale}/entry" showEntry = own, tag("buying");
        200 EntryResponse;
        refuses NoSuchDraw NotEntered;
    /// Enter a draw, while it is open
    ///
    /// One entry per account. Safe to repeat, on any device: the entry stays the same. No order of arrival counts.
    POST "/api/sales/{sale}/entry" enterDraw = enter, tag("buying");
        200 EntryResponse, "The account had entered before: the same entry.";
        201 EntryResponse;
        refuses AccountTooNew ContactNotVerified InvitationNeeded NoSuchDraw NotOpen Ended AddressNeeded
            AddressTaken ContactTaken DepositNeeded RateLimited;
    /// Take the entry back, while the draw is open
    DELETE "/api/sales/{sale}/entry" withdrawEntry = withdraw, tag("buying");
        204 (), "The entry takes no part. It may be entered again.";
        refuses NotEntered NotOpen Ended RateLimited;
}
