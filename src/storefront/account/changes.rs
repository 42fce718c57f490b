//! What a user may do with the account as a whole: export its data, delete it.

use axum::Json;
use axum::http::header::CONTENT_DISPOSITION;
use axum::response::{IntoResponse, Response};

use accounts::{DeletionRefusal, DeletionRequest, Device, Session};
use domain::SecurityClass;
use web::Shop;
use web::cache_policy::Cache;
use web::problem::{Code, Problem};

/// Everything that is stored about the user, as a file to download.
pub async fn export_account(shop: &Shop, session: &Session) -> Result<Response, Problem> {
    let data = shop.store.accounts().export_of(session.user_id, shop.clock.now()).await?.ok_or(Code::NotSignedIn)?;
    shop.security.record(SecurityClass::Exported, Some(session.user_id), None, "own_data");
    let attachment = [(CONTENT_DISPOSITION, "attachment; filename=\"seckill-my-data.json\"")];
    Ok((Cache::Private, attachment, Json(data)).into_response())
}

/// Deletes the account, unless one of its orders is open in the database or on its way there.
pub async fn delete_account(
    shop: &Shop,
    session: &Session,
    device: &Device,
    request: DeletionRequest,
) -> Result<(), DeletionRefusal> {
    let sales = shop.catalogue.active();
    shop.accounts.delete(session, device, request, shop.orders.has_pending(session.user_id, &sales)).await
}
