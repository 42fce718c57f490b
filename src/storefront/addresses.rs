//! The addresses saved in a shopper's account: for programs, and their pages.

use askama::Template;
use axum::http::header::ETAG;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sign_in::page::{SaleBeside, sale_ahead};
use crate::{UserCall, UserVisit};
use domain::address::{AddressError, COUNTRIES};
use domain::{Address, AddressId, GivenAddress, Locale, Money};
use pages::{Chrome, filters};
use store::{AddressEdit, AddressRefusal, SavedAddress};
use web::extract::{Form, Json, PathIds, Query, SignedIn, State, Visitor, entity_tag, expected_versions};
use web::shared::paths::{eligibility_path, sale_path};
use web::views::AddressView;
use web::{
    Answer, Code, FieldError, FieldProblem, NoticeQuery, Problem, created, personal, private, see_other, versioned,
};
use words::{OrdersText, country, field_error, text};

/// A new or changed address.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddressBody {
    #[schemars(with = "GivenAddress")]
    address: Address,
    #[serde(default)]
    is_default: bool,
}

#[derive(Serialize, JsonSchema)]
struct OneAddress {
    address: SavedAddress,
}

#[derive(Serialize, JsonSchema)]
struct AddressList {
    addresses: Vec<SavedAddress>,
}

/// The address in the form in which it is stored. An error names its fields below `prefix`.
pub fn check_address(address: Address, prefix: &str) -> Result<Address, Problem> {
    address.checked().map_err(|errors| {
        let errors = errors.into_iter();
        Problem::invalid(errors.map(|(field, code)| FieldProblem { field: format!("{prefix}{field}"), code }))
    })
}

pub async fn list((State(shop), SignedIn(session)): UserCall) -> Answer {
    let addresses = shop.store.accounts().addresses_of(session.user_id).await?;
    Ok(private(AddressList { addresses }))
}

pub async fn show((State(shop), SignedIn(session)): UserCall, PathIds(id): PathIds<AddressId>) -> Answer {
    Ok(answer(shop.store.accounts().address(session.user_id, id).await?.ok_or(Code::NotFound)?))
}

pub async fn create(call: UserCall, Json(body): Json<AddressBody>) -> Answer {
    let address = save(call, None, body).await?;
    let version = [(ETAG, entity_tag(address.version()))];
    Ok((version, created(format!("/api/addresses/{}", address.id), OneAddress { address })).into_response())
}

/// Changes an address. With `If-Match` only a version that it names.
pub async fn change(
    call: UserCall,
    PathIds(id): PathIds<AddressId>,
    headers: HeaderMap,
    Json(body): Json<AddressBody>,
) -> Answer {
    Ok(answer(save(call, Some(&AddressEdit { id, versions: expected_versions(&headers) }), body).await?))
}

async fn save(
    (State(shop), SignedIn(session)): UserCall,
    edit: Option<&AddressEdit>,
    body: AddressBody,
) -> Result<SavedAddress, Problem> {
    let address = check_address(body.address, "address.")?;
    Ok(shop.store.accounts().save_address(session.user_id, edit, &address, body.is_default, shop.clock.now()).await?)
}

fn answer(address: SavedAddress) -> Response {
    versioned(address.version(), OneAddress { address })
}

/// Deletes an address. With `If-Match` only a version that it names.
pub async fn delete(
    (State(shop), SignedIn(session)): UserCall,
    PathIds(id): PathIds<AddressId>,
    headers: HeaderMap,
) -> Answer<StatusCode> {
    let edit = AddressEdit { id, versions: expected_versions(&headers) };
    shop.store.accounts().delete_address(session.user_id, &edit).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The fields of an address as entered, and the fields that the forms around them add.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct AddressInput {
    recipient: String,
    phone: String,
    country: String,
    region: String,
    city: String,
    line1: String,
    line2: String,
    postal_code: String,
    /// The version of the address that the form was filled with.
    version: String,
    /// The sale that the address is for. Saving leads back there.
    sale: String,
    /// `yes` to make it the default.
    as_default: String,
    /// On the page of an order: the id of a saved address, or `new`.
    pub choice: String,
    /// `yes` to save the new address in the account.
    pub keep: String,
    /// `pay` to continue with the payment.
    pub then: String,
    /// `wallet` to pay from the wallet.
    pub from: String,
    /// The amount that the page showed, in minor units.
    pub amount: String,
}

impl AddressInput {
    /// The address as entered, unchecked.
    pub fn address(&self) -> Address {
        Address {
            recipient: self.recipient.clone(),
            phone: self.phone.clone(),
            country: self.country.clone(),
            region: self.region.clone(),
            city: self.city.clone(),
            line1: self.line1.clone(),
            line2: self.line2.clone(),
            postal_code: self.postal_code.clone(),
        }
    }
}

/// The form with an address, and its errors by field.
pub fn address_form(locale: Locale, typed: Address, errors: Vec<AddressError>) -> AddressForm {
    let errors = errors.into_iter().map(|(field, code)| FieldError { field, code }).collect();
    AddressForm { locale, typed, errors }
}

fn list_path(locale: Locale, done: &str) -> String {
    format!("/{locale}/account/addresses?done={done}")
}

pub async fn page(
    (State(shop), SignedIn(session), visitor): UserVisit,
    Query(NoticeQuery { done }): Query<NoticeQuery>,
) -> Answer {
    let addresses = shop.store.accounts().addresses_of(session.user_id).await?;
    let addresses = addresses.iter().map(|saved| AddressCard::of(saved, visitor.locale)).collect();
    let chrome = visitor.chrome_at(format!("/{}/account/addresses", visitor.locale));
    personal(StatusCode::OK, &AddressesPage { chrome, addresses, done })
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct NewAddressQuery {
    sale: String,
}

pub async fn blank(
    (State(shop), _, visitor): UserVisit,
    Query(NewAddressQuery { sale }): Query<NewAddressQuery>,
) -> Answer {
    let sale = sale.parse().ok().and_then(|sale| sale_ahead(&shop, sale));
    render(&visitor, StatusCode::OK, None, AddressForm::blank(visitor.locale), false, None, sale)
}

pub async fn edit((State(shop), SignedIn(session), visitor): UserVisit, PathIds(id): PathIds<AddressId>) -> Answer {
    let saved = shop.store.accounts().address(session.user_id, id).await?.ok_or(Code::NotFound)?;
    let edited = Some(EditedAddress { id, version: saved.version().to_string() });
    let form = address_form(visitor.locale, saved.address, Vec::new());
    render(&visitor, StatusCode::OK, edited, form, saved.is_default, None, None)
}

fn render(
    visitor: &Visitor,
    status: StatusCode,
    edited: Option<EditedAddress>,
    form: AddressForm,
    as_default: bool,
    alert: Option<AddressAlert>,
    sale: Option<SaleBeside>,
) -> Answer {
    let page = edited.as_ref().map_or_else(|| "new".to_owned(), |edited| edited.id.to_string());
    let chrome = visitor.chrome_at(format!("/{}/account/addresses/{page}", visitor.locale));
    personal(status, &AddressPage { chrome, edited, form, as_default, alert, sale })
}

pub async fn create_by_form(visit: UserVisit, Form(input): Form<AddressInput>) -> Answer {
    save_by_form(visit, None, input).await
}

pub async fn change_by_form(
    visit: UserVisit,
    PathIds(id): PathIds<AddressId>,
    Form(input): Form<AddressInput>,
) -> Answer {
    save_by_form(visit, Some(id), input).await
}

/// Saves, or shows the form again with what was entered.
async fn save_by_form(
    (State(shop), SignedIn(session), visitor): UserVisit,
    id: Option<AddressId>,
    input: AddressInput,
) -> Answer {
    let (locale, as_default) = (visitor.locale, input.as_default == "yes");
    let sale = input.sale.parse().ok().and_then(|sale| sale_ahead(&shop, sale));
    let mut edited = id.map(|id| EditedAddress { id, version: input.version.clone() });
    let (status, errors, alert) = match input.address().checked() {
        Err(errors) => (StatusCode::UNPROCESSABLE_ENTITY, errors, None),
        Ok(address) => {
            // A form without a version, such as an old one, applies to any version.
            let versions = input.version.parse().ok().map(|version| vec![version]);
            let edit = id.map(|id| AddressEdit { id, versions });
            match shop
                .store
                .accounts()
                .save_address(session.user_id, edit.as_ref(), &address, as_default, shop.clock.now())
                .await
            {
                Ok(_) => {
                    let back = match sale {
                        None => list_path(locale, "saved"),
                        Some(SaleBeside { entry, .. }) if !entry.sale.eligibility.are_none() => {
                            eligibility_path(locale, entry.sale.id)
                        }
                        Some(SaleBeside { entry, .. }) => sale_path(locale, entry.sale.id),
                    };
                    return Ok(see_other(&back));
                }
                Err(AddressRefusal::TooMany) => (StatusCode::CONFLICT, Vec::new(), Some(AddressAlert::Full)),
                Err(AddressRefusal::ChangedMeanwhile) => {
                    let id = id.ok_or(Code::NotFound)?;
                    let present = shop.store.accounts().address(session.user_id, id).await?.ok_or(Code::NotFound)?;
                    edited = Some(EditedAddress { id, version: present.version().to_string() });
                    let card = AddressCard::of(&present, visitor.locale);
                    (StatusCode::CONFLICT, Vec::new(), Some(AddressAlert::ChangedMeanwhile(card)))
                }
                Err(refusal) => return Err(refusal.into()),
            }
        }
    };
    render(&visitor, status, edited, address_form(locale, input.address(), errors), as_default, alert, sale)
}

pub async fn make_default(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(id): PathIds<AddressId>,
) -> Answer {
    match shop.store.accounts().set_default_address(session.user_id, id).await? {
        true => Ok(see_other(&list_path(visitor.locale, "default"))),
        false => Err(Code::NotFound.into()),
    }
}

pub async fn delete_by_form(
    (State(shop), SignedIn(session), visitor): UserVisit,
    PathIds(id): PathIds<AddressId>,
) -> Answer {
    shop.store.accounts().delete_address(session.user_id, &AddressEdit { id, versions: None }).await?;
    Ok(see_other(&list_path(visitor.locale, "deleted")))
}

/// The fields of an address as entered.
#[derive(Debug)]
pub struct AddressForm {
    pub locale: Locale,
    pub typed: Address,
    pub errors: Vec<FieldError>,
}

impl AddressForm {
    pub fn blank(locale: Locale) -> AddressForm {
        // Readers of Chinese most likely live in China. In English no country is preselected.
        let country = if locale == Locale::Zh { "CN".to_owned() } else { String::new() };
        AddressForm { locale, typed: Address { country, ..Address::default() }, errors: Vec::new() }
    }

    pub(crate) fn t(&self) -> &'static OrdersText {
        &text(self.locale).orders
    }

    /// Chinese addresses begin with the region and end with the name.
    pub(crate) fn is_large_to_small(&self) -> bool {
        self.locale == Locale::Zh
    }

    pub(crate) fn error_text(&self, field: &str) -> Option<&'static str> {
        let error = self.errors.iter().find(|e| e.field == field)?;
        Some(field_error(self.locale, error.code))
    }

    /// The fields with errors, and their labels.
    pub(crate) fn wrong_fields(&self) -> Vec<(&'static str, &'static str)> {
        let t = self.t();
        let fields = self.errors.iter().map(|error| error.field);
        fields
            .map(|field| (field, t.entries().find(|(key, _)| *key == field).map_or(field, |(_, words)| words)))
            .collect()
    }

    pub(crate) fn countries(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        let locale = self.locale;
        COUNTRIES.iter().map(move |code| (*code, country(locale, code)))
    }
}

/// An address in the list of the account.
#[derive(Debug)]
pub struct AddressCard {
    pub id: AddressId,
    pub is_default: bool,
    pub view: AddressView,
    /// What shipping there costs, where an order is to be sent.
    pub shipping: Option<Money>,
}

impl AddressCard {
    pub fn of(saved: &SavedAddress, locale: Locale) -> AddressCard {
        AddressCard {
            id: saved.id,
            is_default: saved.is_default,
            view: AddressView::of(&saved.address, locale),
            shipping: None,
        }
    }
}

/// All addresses of an account.
#[derive(Debug, Template)]
#[template(path = "addresses/addresses.html")]
struct AddressesPage {
    chrome: Chrome,
    addresses: Vec<AddressCard>,
    /// The action that the page reports as done: `saved`, `deleted`, `default`.
    done: String,
}

impl AddressesPage {
    fn notice(&self) -> Option<&'static str> {
        let t = &self.chrome.text().orders;
        match self.done.as_str() {
            "saved" => Some(t.done_saved),
            "deleted" => Some(t.done_deleted),
            "default" => Some(t.done_default),
            _ => None,
        }
    }
}

/// The form of a new or existing address.
#[derive(Debug, Template)]
#[template(path = "addresses/address.html")]
struct AddressPage {
    chrome: Chrome,
    /// `None` for a new address.
    edited: Option<EditedAddress>,
    form: AddressForm,
    as_default: bool,
    alert: Option<AddressAlert>,
    /// The sale that the address is for.
    sale: Option<SaleBeside>,
}

/// The address that the form changes.
#[derive(Debug)]
pub struct EditedAddress {
    pub id: AddressId,
    /// The version that the form was filled with.
    pub version: String,
}

/// Why an address was not saved.
#[derive(Debug)]
pub enum AddressAlert {
    /// The account has the maximum number of addresses.
    Full,
    /// The address was changed after the form was filled, and is now this.
    ChangedMeanwhile(AddressCard),
}

web::operations! { "accounts"
    /// The user's addresses, the default first
    GET "/api/addresses" listAddresses = list;
        200 AddressList;
    /// Save a new address
    POST "/api/addresses" createAddress = create, repeatable, versioned, located;
        201 OneAddress;
        refuses TooManyAddresses;
    /// An address of the user
    GET "/api/addresses/{address}" showAddress = show, versioned;
        200 OneAddress;
    /// Change an address; orders keep their copies
    PUT "/api/addresses/{address}" changeAddress = change, if_match, versioned;
        200 OneAddress;
    /// Delete an address; orders keep their copies
    DELETE "/api/addresses/{address}" deleteAddress = delete, if_match;
        204 ();
}
