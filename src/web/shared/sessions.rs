//! Sessions as their owner and the support staff see them.

use domain::network::masked;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use store::SessionRow;
use uuid::Uuid;

/// A session as its owner and the support staff see it.
#[derive(Serialize, JsonSchema)]
pub struct SessionJson {
    id: Uuid,
    created_at: Timestamp,
    seen_at: Timestamp,
    address: String,
    agent: String,
    current: bool,
}

impl SessionJson {
    /// The session as staff read it, with a masked address.
    pub fn masked(row: SessionRow) -> SessionJson {
        SessionJson::of(SessionRow { address: masked(&row.address), ..row }, None)
    }

    /// The session as its owner reads it.
    pub fn of(row: SessionRow, current: Option<Uuid>) -> SessionJson {
        let SessionRow { id, created_at, seen_at, address, agent } = row;
        SessionJson { id, created_at, seen_at, address, agent, current: current == Some(id) }
    }
}
