//! Giving a red packet from the wallet, without scripts.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use uuid::Uuid;

use crate::domain::packet::Giver;
use crate::domain::wallet::{Account, CURRENCY, money};
use crate::domain::{PacketId, UserId};
use crate::packets::{GiveRefusal, Wish};
use crate::web::Shop;
use crate::web::api::packets::share_url;
use crate::web::extract::session::SignedIn;
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, PathIds};
use crate::web::pages::packets::packet_path;
use crate::web::pages::{personal, see_other};
use crate::web::problem::{Code, Problem};
use crate::web::shared::FieldError;
use crate::web::shared::validation::{price, time};
use crate::web::views::{PacketForm, PacketGivePage, PacketGivenPage, Preview};

/// What the form says, or what of it cannot be read.
fn wish(form: &PacketForm) -> Result<Wish, Vec<FieldError>> {
    let mut errors = Vec::new();
    let mut wrong = |field, code| errors.push(FieldError { field, code });
    let units = |text: &str| price(text, CURRENCY).map(|money| money.amount);
    let total = units(&form.total);
    if total.is_none() {
        wrong("total", if form.total.trim().is_empty() { "required" } else { "bad_amount" });
    }
    let count = form.count.trim().parse().ok();
    if count.is_none() {
        wrong("count", if form.count.trim().is_empty() { "required" } else { "bad_number" });
    }
    let mut bound = |field, text: &str| {
        let units = units(text);
        if units.is_none() && !text.trim().is_empty() {
            wrong(field, "bad_amount");
        }
        units
    };
    let (min, max) = (bound("min", &form.min), bound("max", &form.max));
    let split = form.split.parse().ok();
    if split.is_none() {
        wrong("split", "bad_text");
    }
    let opens_at = time(&form.opens_at);
    if opens_at.is_none() && !form.opens_at.trim().is_empty() {
        wrong("opens_at", "bad_time");
    }
    match (total, count, split) {
        (Some(total), Some(count), Some(split)) if errors.is_empty() => Ok(Wish {
            total,
            count,
            min,
            max,
            split,
            greeting: form.greeting.clone(),
            own: form.own == "yes",
            opens_at,
            key: Some(form.key.clone()).filter(|key| !key.is_empty()),
        }),
        _ => Err(errors),
    }
}

/// What came of a form.
pub enum Sent {
    Given(PacketId),
    /// The form again, with its mistakes or an example.
    Again(StatusCode, Box<PacketForm>),
}

/// Gives what the form says, or shows how it might be split. `actor` is who of the staff gives for the shop.
pub async fn send(shop: &Arc<Shop>, giver: Giver, mut form: PacketForm, actor: Option<&str>) -> Result<Sent, Problem> {
    let again = |mut form: PacketForm, status, errors| {
        form.errors = errors;
        Ok(Sent::Again(status, Box::new(form)))
    };
    let wish = match wish(&form) {
        Ok(wish) => wish,
        Err(errors) => return again(form, StatusCode::UNPROCESSABLE_ENTITY, errors),
    };
    let outcome = if form.then == "preview" {
        let (shop, wish) = (shop.clone(), wish.clone());
        // A million shares keep a thread busy for a while.
        let split = tokio::task::spawn_blocking(move || shop.packets.preview(giver, &wish));
        split.await.map_err(Problem::internal)?.map(Err)
    } else {
        shop.packets.give(giver, &wish, actor).await.map(Ok)
    };
    match outcome {
        Ok(Ok(packet)) => Ok(Sent::Given(packet.id)),
        Ok(Err(shares)) => {
            form.preview = Preview::of(&shares);
            again(form, StatusCode::OK, Vec::new())
        }
        Err(GiveRefusal::Invalid(wrong)) => {
            let errors = wrong.into_iter().map(|(field, code)| FieldError { field, code }).collect();
            again(form, StatusCode::UNPROCESSABLE_ENTITY, errors)
        }
        Err(GiveRefusal::NotEnough) => {
            let errors = vec![FieldError { field: "total", code: "not_enough" }];
            again(form, StatusCode::CONFLICT, errors)
        }
        Err(refusal) => Err(refusal.into()),
    }
}

/// A form that nobody has filled in yet.
pub fn blank() -> PacketForm {
    PacketForm::blank(Uuid::new_v4().simple().to_string())
}

type Asking = (State<Arc<Shop>>, SignedIn, Visitor);

pub async fn new((State(shop), SignedIn(session), visitor): Asking) -> Result<Response, Problem> {
    page(&shop, session.user_id, &visitor, StatusCode::OK, blank()).await
}

async fn page(
    shop: &Shop,
    user: UserId,
    visitor: &Visitor,
    status: StatusCode,
    form: PacketForm,
) -> Result<Response, Problem> {
    let mut chrome = visitor.chrome();
    chrome.path = format!("/{}/packets/new", visitor.locale);
    let balance = money(shop.store.wallet_balance(Account::User(user)).await?);
    personal(status, &PacketGivePage { chrome, form, balance })
}

pub async fn give(
    (State(shop), SignedIn(session), visitor): Asking,
    Form(form): Form<PacketForm>,
) -> Result<Response, Problem> {
    match send(&shop, Giver::User(session.user_id), form, None).await? {
        Sent::Given(id) => Ok(see_other(&format!("{}/given", packet_path(visitor.locale, id)))),
        Sent::Again(status, form) => page(&shop, session.user_id, &visitor, status, *form).await,
    }
}

/// What to send to friends. Only for its giver.
pub async fn given(
    (State(shop), SignedIn(session), visitor): Asking,
    PathIds(id): PathIds<PacketId>,
) -> Result<Response, Problem> {
    let packet = shop.store.packet(id).await?.filter(|packet| packet.giver == Giver::User(session.user_id));
    let packet = packet.ok_or(Code::NoSuchPacket)?;
    let link = share_url(&shop, id);
    personal(StatusCode::OK, &PacketGivenPage { chrome: visitor.chrome(), packet, link })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(total: &str, count: &str) -> PacketForm {
        PacketForm { total: total.into(), count: count.into(), ..blank() }
    }

    #[test]
    fn a_form_is_read_as_typed() {
        let read = wish(&PacketForm { min: "0.5".into(), opens_at: "2026-11-21T20:00".into(), ..form("88.88", "8") });
        let read = read.unwrap();
        assert_eq!((read.total, read.count, read.min, read.max, read.own), (8888, 8, Some(50), None, true));
        assert_eq!(read.opens_at.unwrap().to_string(), "2026-11-21T20:00:00Z");
    }

    #[test]
    fn every_mistake_is_named() {
        let typed = PacketForm {
            min: "x".into(),
            max: "1.234".into(),
            split: "odd".into(),
            opens_at: "soon".into(),
            ..form("", "many")
        };
        let errors: Vec<_> = wish(&typed).unwrap_err().iter().map(|error| (error.field, error.code)).collect();
        let expected = [
            ("total", "required"),
            ("count", "bad_number"),
            ("min", "bad_amount"),
            ("max", "bad_amount"),
            ("split", "bad_text"),
            ("opens_at", "bad_time"),
        ];
        assert_eq!(errors, expected);
    }
}
