//! The pages of a mail address that replaces the proof of work at registration: asking for the link, and the page
//! behind it. They open beside the form of the registration, which stays filled in.

use std::sync::Arc;

use axum::http::StatusCode;
use serde::Deserialize;

use crate::DeviceVisit;
use crate::account::mail_address::TokenForm;
use crate::recovery::page::LinkToken;
use crate::sign_in::page::{ContactPage, ContactStep, ProofField, SignInPage, beside};
use accounts::AccountRefusal;
use web::extract::{ClientDevice, Form, State, Visitor};
use web::shared::paths::registration_path;
use web::{Answer, Problem, Shop, personal};

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ContactForm {
    challenge: String,
    address: String,
}

/// Sends the link. The answer is the same for every address.
pub async fn request(
    (State(shop), ClientDevice(device), visitor): DeviceVisit,
    Form(ContactForm { challenge, address }): Form<ContactForm>,
) -> Answer {
    let (status, step) = match shop.accounts.request_contact(&device, &challenge, &address, visitor.locale).await {
        Ok(address) => (StatusCode::OK, ContactStep::Sent { address: address.as_str().to_owned() }),
        Err(refusal @ (AccountRefusal::BadMailAddress | AccountRefusal::Throttled(_))) => {
            let error = if matches!(refusal, AccountRefusal::BadMailAddress) { "bad_mail_address" } else { "wait" };
            (Problem::from(refusal).code().status(), ContactStep::Refused { challenge, address, error })
        }
        Err(refusal) => return Err(unusable(&visitor, refusal)),
    };
    page(&shop, &visitor, status, registration_path(visitor.locale), step)
}

/// The page behind the link, with the button that verifies the address. Showing it changes nothing. Once the address is
/// verified it is the form of the registration, for a reader whose own form is gone.
pub async fn show((State(shop), ClientDevice(device), visitor): DeviceVisit, LinkToken(token): LinkToken) -> Answer {
    let contact = shop.accounts.contact_of_link(&token).await.map_err(|refusal| unusable(&visitor, refusal))?;
    let path = contact_path(&visitor);
    if !contact.is_verified {
        let address = contact.address.as_str().to_owned();
        return page(&shop, &visitor, StatusCode::OK, path, ContactStep::Confirm { token, address });
    }
    let due = shop.accounts.due_proof(&device, &contact.challenge).await?;
    let form = SignInPage {
        chrome: visitor.chrome_at(path),
        register: true,
        username: String::new(),
        next: String::new(),
        errors: Vec::new(),
        proof: ProofField { due, ..ProofField::default() },
        takes_passkeys: false,
        beside: beside(&shop, ""),
    };
    personal(StatusCode::OK, &form)
}

pub async fn verify(
    State(shop): State<Arc<Shop>>,
    visitor: Visitor,
    Form(TokenForm { token }): Form<TokenForm>,
) -> Answer {
    shop.accounts.verify_contact(&token).await.map_err(|refusal| unusable(&visitor, refusal))?;
    page(&shop, &visitor, StatusCode::OK, contact_path(&visitor), ContactStep::Done { link: contact_path(&visitor) })
}

fn page(shop: &Shop, visitor: &Visitor, status: StatusCode, path: String, step: ContactStep) -> Answer {
    let beside = beside(shop, "");
    personal(status, &ContactPage { chrome: visitor.chrome_at(path), step, beside })
}

fn contact_path(visitor: &Visitor) -> String {
    format!("{}/contact", registration_path(visitor.locale))
}

/// A link that is not valid leads back to the form of the registration, where another link can be sent.
fn unusable(visitor: &Visitor, refusal: AccountRefusal) -> Problem {
    Problem::from(refusal).back(registration_path(visitor.locale))
}
