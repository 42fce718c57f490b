//! Every page of shoppers and visitors, and the rooms whose API they request.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;

use crate::{
    account, addresses, draws, eligibility, orders, packets, passkeys, questions, recovery, sales, sign_in, site,
    waiting_room, waitlist, wallet,
};
use domain::{Locale, MailKind};
use web::document::Api;
use web::router::{Operations, Routes, get, post};
use web::{Shop, account_limits, idempotency, step_up};

/// What shoppers and visitors request.
pub fn routes(shop: &Arc<Shop>) -> Routes {
    let of_api = OPERATIONS.iter().map(|(_, routes)| routes(shop));
    let of_pages = Locale::ALL.into_iter().map(|locale| pages_of(locale, shop));
    of_api.chain(of_pages).fold(shared_pages(), Router::merge)
}

/// Adds every operation to the document of the API.
pub fn document(api: &mut Api) {
    OPERATIONS.iter().for_each(|(document, _)| document(api));
}

const OPERATIONS: [Operations; 18] = [
    (account::api::document, account::api::routes),
    (account::push_api::document, account::push_api::routes),
    (addresses::document, addresses::routes),
    (draws::api::document, draws::api::routes),
    (eligibility::document, eligibility::routes),
    (orders::api::document, orders::api::routes),
    (orders::invoice::document, orders::invoice::routes),
    (orders::payments::document, orders::payments::routes),
    (orders::returns::document, orders::returns::routes),
    (packets::api::document, packets::api::routes),
    (passkeys::document, passkeys::routes),
    (questions::document, questions::routes),
    (recovery::api::document, recovery::api::routes),
    (sales::document, sales::routes),
    (sign_in::api::document, sign_in::api::routes),
    (waiting_room::api::document, waiting_room::api::routes),
    (waitlist::document, waitlist::routes),
    (wallet::document, wallet::routes),
];

/// Files, and pages without a language in their path.
fn shared_pages() -> Routes {
    Router::new()
        .route("/", get(site::redirect_to_language))
        .route("/robots.txt", get(site::robots))
        .route("/.well-known/security.txt", get(site::security))
        .route("/sitemap.xml", get(site::sitemap))
        .route("/manifest.webmanifest", get(site::manifest))
        .route("/sw.js", get(site::worker))
        .route("/static/{*name}", get(site::asset))
        .route("/uploads/{name}", get(site::upload))
        .route("/packets/{packet}", get(packets::page::to_page))
        .route("/sandbox/cashier/{payment}", get(orders::cashier::show))
        .route("/sandbox/cashier/{payment}/pay", post(orders::cashier::pay))
        .route("/sandbox/cashier/{payment}/decline", post(orders::cashier::decline))
}

/// Pages in one language. The first four are pre-rendered and the same for all visitors.
fn pages_of(locale: Locale, shop: &Arc<Shop>) -> Routes {
    let at = |path: &str| format!("/{locale}{path}");
    // Lists of what an account has are read at a rate only.
    let limited = || from_fn_with_state(shop.clone(), account_limits::limited);
    // For forms that may spend from the wallet, the password may be asked for again.
    let may_spend = || from_fn_with_state(shop.clone(), step_up::asked_of_forms);
    let repeatable = from_fn_with_state(shop.clone(), idempotency::repeatable);
    Router::new()
        .route(&at("/"), get(site::shared))
        .route(&at("/sales/{sale}"), get(site::shared))
        .route(&at("/categories/{category}"), get(site::shared))
        .route(&at("/sales/{sale}/reminder.ics"), get(site::shared))
        .route(&at("/sales/{sale}/result.ics"), get(site::shared))
        .route(&at(""), get(site::to_list))
        .route(&at("/archive"), get(site::archive::show))
        .route(&at("/about"), get(site::about))
        .route(&at("/offline"), get(site::offline))
        .route(&at("/sales/{sale}/poster.svg"), get(sales::poster))
        .route(&at("/sales/{sale}/questions"), get(questions::form).merge(post(questions::ask_by_form)))
        .route(&at("/questions"), get(questions::own_page).route_layer(limited()))
        .route(&at("/questions/{question}/withdraw"), post(questions::withdraw_by_form))
        .route(&at("/sales/{sale}/buy"), post(orders::page::buy))
        .route(&at("/sales/{sale}/place"), post(waiting_room::page::join))
        .route(&at("/sales/{sale}/line"), get(waiting_room::page::show))
        .route(&at("/sales/{sale}/draw"), get(draws::page::proof))
        .route(&at("/sales/{sale}/entry"), get(draws::page::show).merge(post(draws::page::enter)))
        .route(&at("/sales/{sale}/entry/withdraw"), post(draws::page::withdraw))
        .route(&at("/sales/{sale}/waitlist"), get(waitlist::page).merge(post(waitlist::join_by_form)))
        .route(&at("/sales/{sale}/waitlist/leave"), post(waitlist::leave_by_form))
        .route(&at("/sales/{sale}/eligibility"), get(eligibility::page))
        .route(&at("/sales/{sale}/code"), get(eligibility::page).merge(post(eligibility::redeem_by_form)))
        .route(&at("/login"), get(sign_in::page::login).merge(post(sign_in::page::log_in)))
        .route(&at("/register"), get(sign_in::page::registration).merge(post(sign_in::page::register)))
        .route(&at("/register/contact"), get(sign_in::contact::show).merge(post(sign_in::contact::request)))
        .route(&at("/register/contact/verify"), post(sign_in::contact::verify))
        .route(&at("/login/code"), post(sign_in::page::log_in_with_code))
        .route(&at("/login/mail"), sign_in::by_mail::form_for(MailKind::SignInCode))
        .route(&at("/login/mail/code"), post(sign_in::by_mail::log_in))
        .route(&at("/logout"), post(sign_in::page::log_out))
        .route(&at("/recovery"), sign_in::by_mail::form_for(MailKind::Recovery))
        .route(&at("/recovery/password"), get(recovery::page::new_password).merge(post(recovery::page::set_password)))
        .route(&at("/mail"), get(account::mail_address::show).merge(post(account::mail_address::verify)))
        .route(&at("/account/mail"), post(account::mail_address::enter))
        .route(&at("/account/mail/remove"), post(account::mail_address::remove))
        .route(&at("/account"), get(account::page::show))
        .route(&at("/account/password"), post(account::page::change_password))
        .route(&at("/account/sessions/end"), post(account::page::end_all_sessions))
        .route(&at("/account/sessions/{session}/end"), post(account::page::end_session))
        .route(&at("/account/second-factor"), get(account::page::enrol).merge(post(account::page::set_second_factor)))
        .route(&at("/account/second-factor/remove"), post(account::page::remove_second_factor))
        .route(&at("/account/passkeys/{passkey}/remove"), post(account::page::remove_passkey))
        .route(&at("/account/export"), get(account::api::export))
        .route(&at("/account/delete"), post(account::page::delete))
        .route(
            &at("/packets"),
            get(packets::page::list).route_layer(limited()).merge(post(packets::page::give).route_layer(may_spend())),
        )
        .route(&at("/packets/new"), get(packets::page::new))
        .route(&at("/packets/{packet}"), get(packets::page::show))
        .route(&at("/packets/{packet}/claim"), post(packets::page::claim))
        .route(&at("/packets/{packet}/result"), get(packets::page::result))
        .route(&at("/packets/{packet}/given"), get(packets::page::given))
        .route(&at("/wallet"), get(wallet::page).route_layer(limited()))
        .route(&at("/wallet/top-ups"), post(wallet::top_up_by_form))
        .route(&at("/orders"), get(orders::page::list).route_layer(limited()))
        .route(&at("/orders/{sale}/{order}"), get(orders::page::show))
        .route(&at("/payments/{payment}"), get(orders::payments::page))
        .route(&at("/payments/{payment}/paid"), post(orders::payments::paid))
        .route(
            &at("/orders/{sale}/{order}/address"),
            get(orders::address_page::show).merge(post(orders::address_page::choose).route_layer(may_spend())),
        )
        .route(&at("/orders/{sale}/{order}/pay"), post(orders::page::pay).route_layer(may_spend()))
        .route(&at("/orders/{sale}/{order}/cancel"), post(orders::page::cancel))
        .route(&at("/orders/{sale}/{order}/received"), post(orders::page::confirm_receipt))
        .route(&at("/orders/{sale}/{order}/return"), post(orders::returns::ask_by_form))
        .route(&at("/orders/{sale}/{order}/return/withdraw"), post(orders::returns::withdraw_by_form))
        .route(&at("/orders/{sale}/{order}/return/parcel"), post(orders::returns::set_parcel_by_form))
        .route(&at("/orders/{sale}/{order}/receipt"), get(orders::invoice::receipt))
        .route(&at("/orders/{sale}/{order}/invoice"), post(orders::invoice::ask_by_form))
        .route(&at("/orders/{sale}/{order}/appeal"), post(orders::page::appeal))
        .route(
            &at("/account/addresses"),
            get(addresses::page).merge(post(addresses::create_by_form).route_layer(repeatable)),
        )
        .route(&at("/account/addresses/new"), get(addresses::blank))
        .route(&at("/account/addresses/{address}"), get(addresses::edit).merge(post(addresses::change_by_form)))
        .route(&at("/account/addresses/{address}/default"), post(addresses::make_default))
        .route(&at("/account/addresses/{address}/delete"), post(addresses::delete_by_form))
}
