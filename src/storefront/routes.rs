//! Every address of shoppers and visitors, grouped by caller.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;

use crate::{
    account, addresses, draws, eligibility, orders, packets, passkeys, questions, recovery, sales, sign_in, site,
    waiting_room, waitlist, wallet,
};
use domain::{Locale, MailKind};
use web::document::Api;
use web::router::{Routes, delete, get, post, put};
use web::{Shop, account_limits, idempotency, step_up};

/// What shoppers and visitors request.
pub fn routes(shop: &Arc<Shop>) -> Routes {
    let mut routes = Router::new()
        .merge(hot_path())
        .merge(public_api())
        .merge(shopper_api())
        .merge(provider_api())
        .merge(shared_pages())
        .merge(repeatable(shop))
        .merge(spending_forms(shop))
        .merge(lists(shop));
    for locale in Locale::ALL {
        routes = routes.merge(pages_of(locale));
    }
    routes
}

/// Adds every operation to the document of the API.
pub fn document(api: &mut Api) {
    let files = [
        account::api::document,
        account::push_api::document,
        addresses::document,
        draws::api::document,
        eligibility::document,
        orders::api::document,
        orders::invoice::document,
        orders::payments::document,
        orders::returns::document,
        packets::api::document,
        passkeys::document,
        questions::document,
        recovery::api::document,
        sales::document,
        sign_in::api::document,
        waiting_room::api::document,
        waitlist::document,
        wallet::document,
    ];
    files.into_iter().for_each(|add: fn(&mut Api)| add(api));
}

/// The routes that all shoppers request at once when a sale opens. Their handlers do as little as possible. `ping` has the
/// same middleware and an empty handler: benchmarks use it as the baseline.
fn hot_path() -> Routes {
    Router::new()
        .route("/api/sales/{sale}/button", get(sales::button))
        .route("/api/sales/{sale}/token", post(sales::token))
        .route("/api/sales/{sale}/orders", post(orders::api::buy))
        .route("/api/packets/{packet}/claims", post(packets::api::claim))
        .route("/api/ping", get(sales::ping).merge(post(sales::ping_signed_in)))
}

fn public_api() -> Routes {
    Router::new()
        .route("/api/sales", get(sales::list))
        .route("/api/categories", get(sales::categories))
        .route("/api/shipping", get(sales::shipping))
        .route("/api/sales/{sale}/spread", get(sales::spread))
        .route("/api/sales/{sale}/line", get(waiting_room::api::line))
        .route("/api/sales/{sale}/reminders", get(account::push_api::reminders))
        .route("/api/sales/{sale}/questions", get(questions::shown).merge(post(questions::ask)))
        .route("/api/sales/{sale}/draw", get(draws::api::show))
        .route("/api/sales/{sale}/draw/proof.json", get(draws::api::proof))
        .route("/api/sales/{sale}/draw/entries.csv", get(draws::api::entries))
        .route("/api/register", post(sign_in::api::register))
        .route("/api/register/price", get(sign_in::api::due_proof))
        .route("/api/register/contact", post(sign_in::api::request_contact))
        .route("/api/register/contact/verify", post(sign_in::api::verify_contact))
        .route("/api/login", post(sign_in::api::log_in))
        .route("/api/login/mail", post(sign_in::api::request_code))
        .route("/api/login/mail/code", post(sign_in::api::log_in_by_mail))
        .route("/api/login/passkey", post(passkeys::log_in))
        .route("/api/login/passkey/challenge", post(passkeys::log_in_challenge))
        .route("/api/recovery", post(sign_in::api::request_recovery))
        .route("/api/recovery/password", post(recovery::api::set_password))
        .route("/api/mail/verify", post(recovery::api::verify_address))
        .route("/api/logout", post(sign_in::api::log_out))
        .route("/api/packets/{packet}", get(packets::api::show))
        .route("/api/openapi.json", get(sales::openapi))
}

/// Signed-in users, about their own data.
fn shopper_api() -> Routes {
    Router::new()
        .route(
            "/api/push",
            get(account::push_api::show)
                .merge(put(account::push_api::subscribe))
                .merge(delete(account::push_api::unsubscribe)),
        )
        .route(
            "/api/sales/{sale}/reminder",
            get(account::push_api::reminder)
                .merge(put(account::push_api::set_reminder))
                .merge(delete(account::push_api::remove_reminder)),
        )
        .route("/api/me", get(sign_in::api::me))
        .route("/api/account", get(account::api::show))
        .route("/api/account/password", put(account::api::change_password))
        .route("/api/account/step-up", post(account::api::step_up))
        .route("/api/account/step-up/passkey", post(passkeys::step_up))
        .route("/api/account/step-up/passkey/challenge", post(passkeys::step_up_challenge))
        .route("/api/account/passkeys", get(passkeys::list).merge(post(passkeys::add)))
        .route("/api/account/passkeys/challenge", post(passkeys::challenge))
        .route("/api/account/passkeys/{passkey}/remove", post(passkeys::remove))
        .route("/api/account/mail", put(recovery::api::enter_address))
        .route("/api/account/mail/remove", post(recovery::api::remove_address))
        .route("/api/account/sessions", get(account::api::sessions).merge(delete(account::api::end_all_sessions)))
        .route("/api/account/sessions/{session}", delete(account::api::end_session))
        .route("/api/account/second-factor", post(account::api::enrol).merge(put(account::api::set_second_factor)))
        .route("/api/account/second-factor/remove", post(account::api::remove_second_factor))
        .route("/api/account/export", get(account::api::export))
        .route("/api/account/delete", post(account::api::delete))
        .route("/api/sales/{sale}/place", get(waiting_room::api::own).merge(post(waiting_room::api::join)))
        .route(
            "/api/sales/{sale}/entry",
            get(draws::api::own).merge(post(draws::api::enter)).merge(delete(draws::api::withdraw)),
        )
        .route(
            "/api/sales/{sale}/waitlist",
            get(waitlist::own).merge(post(waitlist::join)).merge(delete(waitlist::leave)),
        )
        .route("/api/questions/{question}", delete(questions::withdraw))
        .route("/api/sales/{sale}/eligibility", get(eligibility::own))
        .route("/api/sales/{sale}/code", post(eligibility::redeem))
        .route("/api/sales/{sale}/orders/{order}", get(orders::api::show))
        .route("/api/sales/{sale}/orders/{order}/cancel", post(orders::api::cancel))
        .route("/api/sales/{sale}/orders/{order}/return", post(orders::returns::ask))
        .route("/api/sales/{sale}/orders/{order}/return/withdraw", post(orders::returns::withdraw))
        .route("/api/sales/{sale}/orders/{order}/return/parcel", put(orders::returns::set_parcel))
        .route("/api/sales/{sale}/orders/{order}/received", post(orders::api::confirm_receipt))
        .route("/api/sales/{sale}/orders/{order}/invoice", put(orders::invoice::put))
        .route("/api/sales/{sale}/orders/{order}/address", put(orders::api::set_address))
        .route("/api/sales/{sale}/orders/{order}/payments/{payment}", get(orders::payments::show))
        .route("/api/wallet/top-ups/{payment}", get(wallet::show_top_up))
        .route("/api/addresses", get(addresses::list))
        .route(
            "/api/addresses/{address}",
            get(addresses::show).merge(put(addresses::change)).merge(delete(addresses::delete)),
        )
}

fn provider_api() -> Routes {
    Router::new().route("/api/webhooks/payments/{provider}", post(orders::payments::webhook))
}

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
fn pages_of(locale: Locale) -> Routes {
    let at = |path: &str| format!("/{locale}{path}");
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
        .route(&at("/account/export"), get(account::page::export))
        .route(&at("/account/delete"), post(account::page::delete))
        .route(&at("/packets/new"), get(packets::page::new))
        .route(&at("/packets/{packet}"), get(packets::page::show))
        .route(&at("/packets/{packet}/claim"), post(packets::page::claim))
        .route(&at("/packets/{packet}/result"), get(packets::page::result))
        .route(&at("/packets/{packet}/given"), get(packets::page::given))
        .route(&at("/wallet/top-ups"), post(wallet::top_up_by_form))
        .route(&at("/orders/{sale}/{order}"), get(orders::page::show))
        .route(&at("/payments/{payment}"), get(orders::payments::page))
        .route(&at("/payments/{payment}/paid"), post(orders::payments::paid))
        .route(&at("/orders/{sale}/{order}/address"), get(orders::address_page::show))
        .route(&at("/orders/{sale}/{order}/cancel"), post(orders::page::cancel))
        .route(&at("/orders/{sale}/{order}/received"), post(orders::page::confirm_receipt))
        .route(&at("/orders/{sale}/{order}/return"), post(orders::returns::ask_by_form))
        .route(&at("/orders/{sale}/{order}/return/withdraw"), post(orders::returns::withdraw_by_form))
        .route(&at("/orders/{sale}/{order}/return/parcel"), post(orders::returns::set_parcel_by_form))
        .route(&at("/orders/{sale}/{order}/receipt"), get(orders::invoice::receipt))
        .route(&at("/orders/{sale}/{order}/invoice"), post(orders::invoice::ask_by_form))
        .route(&at("/orders/{sale}/{order}/appeal"), post(orders::page::appeal))
        .route(&at("/account/addresses"), get(addresses::page))
        .route(&at("/account/addresses/new"), get(addresses::blank))
        .route(&at("/account/addresses/{address}"), get(addresses::edit).merge(post(addresses::change_by_form)))
        .route(&at("/account/addresses/{address}/default"), post(addresses::make_default))
        .route(&at("/account/addresses/{address}/delete"), post(addresses::delete_by_form))
}

/// Lists of what an account has (`web::account_limits`).
fn lists(shop: &Arc<Shop>) -> Routes {
    let mut routes = Router::new()
        .route("/api/questions", get(questions::own))
        .route("/api/orders", get(orders::api::list))
        .route("/api/packets", get(packets::api::list))
        .route("/api/wallet", get(wallet::show));
    for locale in Locale::ALL {
        routes = routes
            .route(&format!("/{locale}/orders"), get(orders::page::list))
            .route(&format!("/{locale}/questions"), get(questions::own_page))
            .route(&format!("/{locale}/packets"), get(packets::page::list))
            .route(&format!("/{locale}/wallet"), get(wallet::page));
    }
    routes.route_layer(from_fn_with_state(shop.clone(), account_limits::limited))
}

/// Forms that may spend from the wallet, for which the password may be asked for again (`web::step_up`).
fn spending_forms(shop: &Arc<Shop>) -> Routes {
    let mut routes = Router::new();
    for locale in Locale::ALL {
        routes = routes
            .route(&format!("/{locale}/packets"), post(packets::page::give))
            .route(&format!("/{locale}/orders/{{sale}}/{{order}}/address"), post(orders::address_page::choose))
            .route(&format!("/{locale}/orders/{{sale}}/{{order}}/pay"), post(orders::page::pay));
    }
    routes.route_layer(from_fn_with_state(shop.clone(), step_up::asked_of_forms))
}

/// Requests that create or add something. With an idempotency key they may be sent again. A purchase needs none: a shopper
/// has one order per sale.
fn repeatable(shop: &Arc<Shop>) -> Routes {
    let mut routes = Router::new()
        .route("/api/packets", post(packets::api::give))
        .route("/api/sales/{sale}/orders/{order}/payments", post(orders::payments::start))
        .route("/api/wallet/top-ups", post(wallet::top_up))
        .route("/api/addresses", post(addresses::create));
    for locale in Locale::ALL {
        let create = post(addresses::create_by_form);
        routes = routes.route(&format!("/{locale}/account/addresses"), create);
    }
    routes.route_layer(from_fn_with_state(shop.clone(), idempotency::repeatable))
}
