//! What a sale's card invites to, which depends on how its buyers are found.

use domain::{ModeName, Sale, SaleState};
use words::ScriptText;

/// The action that mode and state imply, until the script knows the phase. The twin of `actionOf` in `static/list.js`.
pub fn action(sale: &Sale, t: &ScriptText) -> &'static str {
    match (sale.state, sale.mode.name()) {
        (SaleState::Draft | SaleState::Scheduled, _) => t.go_remind,
        (SaleState::Live, ModeName::Rush) => t.go_buy,
        (SaleState::Live, ModeName::Queue) => t.go_join,
        (SaleState::Live, ModeName::Draw) => t.go_enter,
        (SaleState::Paused, _) => t.go_paused,
        (SaleState::Ended, ModeName::Draw) => t.go_result,
        (SaleState::Ended, _) => t.go_over,
    }
}
