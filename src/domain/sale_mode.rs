//! How the buyers of a sale are found.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::draw::Beacon;
use super::wire::wire_enum;
use super::{DrawPlan, WaitingRoomPlan};

/// How the buyers of a sale are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum SaleMode {
    /// The first requests get the units.
    #[default]
    Rush,
    /// A waiting room: shoppers are called in an order that is shuffled once its list is locked.
    #[serde(rename = "queue")]
    WaitingRoom(WaitingRoomPlan),
    /// A draw among the entries.
    Draw(DrawPlan),
}

wire_enum! {
    /// The name of a mode, as staff choose it.
    pub enum ModeName {
        Rush = "rush",
        WaitingRoom = "queue",
        Draw = "draw",
    }
}

/// A change of a sale's mode. `None` leaves a value as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct ModeChange {
    pub name: Option<ModeName>,
    pub queue_prequeue_s: Option<i64>,
    pub queue_gather_s: Option<i64>,
    pub queue_seat_s: Option<i64>,
    pub draw_window_s: Option<i64>,
    pub draw_review_s: Option<i64>,
    /// The source of randomness if the sale becomes a draw.
    pub draw_beacon: Option<Beacon>,
}

/// One object with the fields of both plans, instead of one of three: programs read it more easily.
impl JsonSchema for SaleMode {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SaleMode".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut fields = json_schema!({"mode": ModeName::json_schema(generator)});
        for plan in [WaitingRoomPlan::json_schema(generator), DrawPlan::json_schema(generator)] {
            let plan = plan.get("properties").and_then(|fields| fields.as_object()).cloned();
            fields.ensure_object().extend(plan.into_iter().flatten());
        }
        json_schema!({"type": "object", "properties": fields, "required": ["mode"]})
    }
}

impl SaleMode {
    /// Replaces the values that the change contains.
    pub fn with(self, change: &ModeChange) -> SaleMode {
        let ModeChange { queue_prequeue_s, queue_gather_s, queue_seat_s, draw_window_s, draw_review_s, .. } = *change;
        match change.name.unwrap_or(self.name()) {
            ModeName::Rush => SaleMode::Rush,
            ModeName::WaitingRoom => {
                let plan = self.waiting_room_plan().unwrap_or_default();
                SaleMode::WaitingRoom(plan.with(queue_prequeue_s, queue_gather_s, queue_seat_s))
            }
            ModeName::Draw => {
                let plan = self.draw_plan().unwrap_or(DrawPlan::new(change.draw_beacon));
                SaleMode::Draw(plan.with(draw_window_s, draw_review_s))
            }
        }
    }

    pub fn name(self) -> ModeName {
        match self {
            SaleMode::Rush => ModeName::Rush,
            SaleMode::WaitingRoom(_) => ModeName::WaitingRoom,
            SaleMode::Draw(_) => ModeName::Draw,
        }
    }

    pub fn is_draw(self) -> bool {
        matches!(self, SaleMode::Draw(_))
    }

    pub fn is_waiting_room(self) -> bool {
        matches!(self, SaleMode::WaitingRoom(_))
    }

    /// Whether accounts may wait for units that come back. A waiting room and a draw have their own orders.
    pub fn has_waitlist(self) -> bool {
        self == SaleMode::Rush
    }

    pub fn waiting_room_plan(self) -> Option<WaitingRoomPlan> {
        match self {
            SaleMode::WaitingRoom(plan) => Some(plan),
            SaleMode::Rush | SaleMode::Draw(_) => None,
        }
    }

    pub fn draw_plan(self) -> Option<DrawPlan> {
        match self {
            SaleMode::Draw(plan) => Some(plan),
            SaleMode::Rush | SaleMode::WaitingRoom(_) => None,
        }
    }
}
