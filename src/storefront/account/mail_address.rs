//! The mail address of an account: entered and removed on the account page, verified by the link in a message.

use std::sync::Arc;

use axum::http::StatusCode;
use serde::Deserialize;

use crate::account::page::{AccountFormState, field_of, page, report_done};
use crate::recovery::page::{LinkToken, VerifyAddressPage};
use crate::sign_in::page::beside;
use crate::{DeviceVisit, UserVisit};
use accounts::AccountRefusal;
use web::extract::{ClientDevice, Form, Secret, SignedIn, State, Visitor};
use web::shared::paths::account_path;
use web::{Answer, FieldError, Problem, Shop, personal};

#[derive(Deserialize)]
pub struct AddressForm {
    #[serde(default)]
    address: String,
    password: Secret,
}

pub async fn enter(
    (State(shop), SignedIn(session), visitor): UserVisit,
    ClientDevice(device): ClientDevice,
    Form(AddressForm { address, password }): Form<AddressForm>,
) -> Answer {
    match shop.accounts.enter_address(&session, &device, password.0, &address, visitor.locale).await {
        Ok(()) => Ok(report_done(&visitor, "mail")),
        Err(refusal) => {
            let error = match refusal {
                AccountRefusal::BadMailAddress => FieldError::new("address", "bad_mail_address"),
                refusal => field_of(refusal)?,
            };
            let mut state = AccountFormState::of("mail", error);
            state.typed_address = address;
            page(&shop, &session, &visitor, state).await
        }
    }
}

#[derive(Deserialize)]
pub struct AddressRemovalForm {
    password: Secret,
}

pub async fn remove(
    (State(shop), SignedIn(session), visitor): UserVisit,
    ClientDevice(device): ClientDevice,
    Form(AddressRemovalForm { password }): Form<AddressRemovalForm>,
) -> Answer {
    match shop.accounts.remove_address(&session, &device, password.0).await {
        Ok(()) => Ok(report_done(&visitor, "mail-removed")),
        Err(refusal) => page(&shop, &session, &visitor, AccountFormState::of("mail-removal", field_of(refusal)?)).await,
    }
}

/// The form of the page behind a link in a message.
#[derive(Deserialize)]
pub struct TokenForm {
    #[serde(default)]
    pub token: String,
}

/// The page behind the link in a message, with the button that verifies the address. Showing it changes nothing.
pub async fn show(State(shop): State<Arc<Shop>>, visitor: Visitor, LinkToken(token): LinkToken) -> Answer {
    let found = shop.accounts.address_of_link(&token).await.map_err(|refusal| unusable(&visitor, refusal))?;
    let (user, address) = found;
    let page = VerifyAddressPage {
        chrome: visitor.chrome_at(format!("/{}/mail", visitor.locale)),
        token,
        username: user.username,
        address: address.as_str().to_owned(),
        is_done: false,
        beside: beside(&shop, ""),
    };
    personal(StatusCode::OK, &page)
}

pub async fn verify(
    (State(shop), ClientDevice(device), visitor): DeviceVisit,
    Form(TokenForm { token }): Form<TokenForm>,
) -> Answer {
    shop.accounts.verify_address(&device, &token).await.map_err(|refusal| unusable(&visitor, refusal))?;
    let page = VerifyAddressPage {
        chrome: visitor.chrome_at(account_path(visitor.locale)),
        token: String::new(),
        username: String::new(),
        address: String::new(),
        is_done: true,
        beside: beside(&shop, ""),
    };
    personal(StatusCode::OK, &page)
}

/// A link that is not valid leads back to the account, where another link can be sent.
fn unusable(visitor: &Visitor, refusal: AccountRefusal) -> Problem {
    Problem::from(refusal).back(account_path(visitor.locale))
}
