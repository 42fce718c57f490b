//! The call to action on a sale's card, which depends on how the sale finds its buyers.

use domain::{ModeName, Sale, SaleState};
use words::ScriptText;

/// The action that mode and state imply, until the script knows the phase. `actionOf` in `static/list.js` does the
/// same; change both together.
pub fn action(sale: &Sale, t: &ScriptText) -> &'static str {
    match (sale.state, sale.mode.name()) {
        (SaleState::Draft | SaleState::Scheduled, _) => t.go_remind,
        (SaleState::Live, ModeName::Rush) => t.go_buy,
        (SaleState::Live, ModeName::WaitingRoom) => t.go_join,
        (SaleState::Live, ModeName::Draw) => t.go_enter,
        (SaleState::Paused, _) => t.go_paused,
        (SaleState::Ended, ModeName::Draw) => t.go_result,
        (SaleState::Ended, _) => t.go_over,
    }
}
