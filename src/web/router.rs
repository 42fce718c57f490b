//! Every route of the shop, grouped by caller.

mod console;
mod methods;
mod pages;

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use tower::ServiceBuilder;

use self::methods::{delete, get, patch, post, put};
use super::Shop;
use super::problem::{Code, Problem};
use domain::Locale;

/// The whole shop as a service. It needs no socket.
pub fn router(shop: Arc<Shop>) -> Router {
    let middleware = ServiceBuilder::new()
        .layer(from_fn_with_state(shop.clone(), super::middleware::frame))
        .layer(super::middleware::same_origin(&shop.config));
    let mut router = Router::new()
        .merge(hot_path())
        .merge(public_api())
        .merge(shopper_api())
        .merge(provider_api())
        .merge(admin_api())
        .merge(pages::shared_pages())
        .merge(repeatable(&shop))
        .merge(stepped_up(&shop))
        .merge(spending_forms(&shop))
        .merge(lists(&shop));
    for locale in Locale::ALL {
        router = router.merge(pages::pages_of(locale));
    }
    router
        .merge(console::console())
        .fallback(async || Problem::new(Code::NotFound))
        .method_not_allowed_fallback(async || Problem::new(Code::MethodNotAllowed))
        .layer(middleware)
        .with_state(shop)
}

type Routes = Router<Arc<Shop>>;

/// The routes that all shoppers request at once when a sale opens. Their handlers do as little as possible. `ping` has the
/// same middleware and an empty handler: benchmarks use it as the baseline.
fn hot_path() -> Routes {
    use super::api::{orders, packets, sales};

    Router::new()
        .route("/api/sales/{sale}/button", get(sales::button))
        .route("/api/sales/{sale}/token", post(sales::token))
        .route("/api/sales/{sale}/orders", post(orders::buy))
        .route("/api/packets/{packet}/claims", post(packets::claim))
        .route("/api/ping", get(sales::ping).merge(post(sales::ping_signed_in)))
}

fn public_api() -> Routes {
    use super::api::{accounts, draws, packets, passkeys, push, questions, queues, recovery, sales};

    Router::new()
        .route("/api/sales", get(sales::list))
        .route("/api/categories", get(sales::categories))
        .route("/api/sales/{sale}/spread", get(sales::spread))
        .route("/api/sales/{sale}/line", get(queues::line))
        .route("/api/sales/{sale}/reminders", get(push::reminders))
        .route("/api/sales/{sale}/questions", get(questions::shown).merge(post(questions::ask)))
        .route("/api/sales/{sale}/draw", get(draws::show))
        .route("/api/sales/{sale}/draw/proof.json", get(draws::proof))
        .route("/api/sales/{sale}/draw/entries.csv", get(draws::entries))
        .route("/api/register", post(accounts::register))
        .route("/api/register/price", get(accounts::registration_price))
        .route("/api/register/contact", post(accounts::request_contact))
        .route("/api/register/contact/verify", post(accounts::verify_contact))
        .route("/api/login", post(accounts::log_in))
        .route("/api/login/passkey", post(passkeys::log_in))
        .route("/api/login/passkey/challenge", post(passkeys::log_in_challenge))
        .route("/api/recovery", post(recovery::request))
        .route("/api/recovery/password", post(recovery::set_password))
        .route("/api/mail/verify", post(recovery::verify_address))
        .route("/api/logout", post(accounts::log_out))
        .route("/api/packets/{packet}", get(packets::show))
        .route("/api/openapi.json", get(sales::openapi))
}

/// Signed-in users, about their own data.
fn shopper_api() -> Routes {
    use super::api::{accounts, addresses, draws, orders, own_account, passkeys, payments, queues, recovery};
    use super::api::{eligibility, push, questions, waitlist, wallet};

    Router::new()
        .route("/api/push", get(push::show).merge(put(push::subscribe)).merge(delete(push::unsubscribe)))
        .route(
            "/api/sales/{sale}/reminder",
            get(push::reminder).merge(put(push::set_reminder)).merge(delete(push::remove_reminder)),
        )
        .route("/api/me", get(accounts::me))
        .route("/api/account", get(own_account::show))
        .route("/api/account/password", put(own_account::change_password))
        .route("/api/account/step-up", post(own_account::step_up))
        .route("/api/account/step-up/passkey", post(passkeys::step_up))
        .route("/api/account/step-up/passkey/challenge", post(passkeys::step_up_challenge))
        .route("/api/account/passkeys", get(passkeys::list).merge(post(passkeys::add)))
        .route("/api/account/passkeys/challenge", post(passkeys::challenge))
        .route("/api/account/passkeys/{passkey}/remove", post(passkeys::remove))
        .route("/api/account/mail", put(recovery::enter_address))
        .route("/api/account/mail/remove", post(recovery::remove_address))
        .route("/api/account/sessions", get(own_account::sessions).merge(delete(own_account::end_all_sessions)))
        .route("/api/account/sessions/{session}", delete(own_account::end_session))
        .route("/api/account/second-factor", post(own_account::enrol).merge(put(own_account::set_second_factor)))
        .route("/api/account/second-factor/remove", post(own_account::remove_second_factor))
        .route("/api/account/export", get(own_account::export))
        .route("/api/account/delete", post(own_account::delete))
        .route("/api/sales/{sale}/place", get(queues::own).merge(post(queues::join)))
        .route("/api/sales/{sale}/entry", get(draws::own).merge(post(draws::enter)).merge(delete(draws::withdraw)))
        .route(
            "/api/sales/{sale}/waitlist",
            get(waitlist::own).merge(post(waitlist::join)).merge(delete(waitlist::leave)),
        )
        .route("/api/questions/{question}", delete(questions::withdraw))
        .route("/api/sales/{sale}/eligibility", get(eligibility::own))
        .route("/api/sales/{sale}/code", post(eligibility::redeem))
        .route("/api/sales/{sale}/orders/{order}", get(orders::show))
        .route("/api/sales/{sale}/orders/{order}/cancel", post(orders::cancel))
        .route("/api/sales/{sale}/orders/{order}/address", put(orders::set_address))
        .route("/api/sales/{sale}/orders/{order}/payments/{payment}", get(payments::show))
        .route("/api/wallet/top-ups/{payment}", get(wallet::show_top_up))
        .route("/api/addresses", get(addresses::list))
        .route(
            "/api/addresses/{address}",
            get(addresses::show).merge(put(addresses::change)).merge(delete(addresses::delete)),
        )
}

/// Lists of what an account has (`super::list_limit`).
fn lists(shop: &Arc<Shop>) -> Routes {
    use super::api::{orders, packets, questions, wallet};
    use super::pages;

    let mut routes = Router::new()
        .route("/api/questions", get(questions::own))
        .route("/api/orders", get(orders::list))
        .route("/api/packets", get(packets::list))
        .route("/api/wallet", get(wallet::show));
    for locale in Locale::ALL {
        routes = routes
            .route(&format!("/{locale}/orders"), get(pages::orders::list))
            .route(&format!("/{locale}/questions"), get(pages::questions::own))
            .route(&format!("/{locale}/packets"), get(pages::packets::list))
            .route(&format!("/{locale}/wallet"), get(pages::wallet::show));
    }
    routes.route_layer(from_fn_with_state(shop.clone(), super::list_limit::limited))
}

/// Requests that create or add something. With an idempotency key they may be sent again. A purchase needs none: a shopper
/// has one order per sale.
fn repeatable(shop: &Arc<Shop>) -> Routes {
    use super::admin;
    use super::api::admin::{categories, goods, invitations, packets as packet_rain, payment_cases, sales};
    use super::api::{addresses, packets, payments, wallet};

    let mut routes = Router::new()
        .route("/api/packets", post(packets::give))
        .route("/api/sales/{sale}/orders/{order}/payments", post(payments::start))
        .route("/api/wallet/top-ups", post(wallet::top_up))
        .route("/api/addresses", post(addresses::create))
        .route("/api/admin/goods", post(goods::create))
        .route("/api/admin/categories", post(categories::create))
        .route("/api/admin/sales", post(sales::create))
        .route("/api/admin/sales/{sale}/top-up", post(sales::top_up))
        .route("/api/admin/sales/{sale}/codes", post(invitations::make))
        .route("/api/admin/payment-cases/{case}/settle", post(payment_cases::settle))
        .route("/api/admin/packets", post(packet_rain::fund))
        .route("/admin/sales/{sale}/top-up", post(admin::sales::top_up))
        .route("/admin/sales/{sale}/codes", post(admin::invitations::make))
        .route("/admin/goods/categories", post(admin::categories::create))
        .route("/admin/goods", post(admin::goods::create));
    for locale in Locale::ALL {
        let create = post(super::pages::addresses::create);
        routes = routes.route(&format!("/{locale}/account/addresses"), create);
    }
    routes.route_layer(from_fn_with_state(shop.clone(), super::idempotency::repeatable))
}

/// Operations of the staff that do much harm in wrong hands: the password is asked for again (`super::step_up`).
fn stepped_up(shop: &Arc<Shop>) -> Routes {
    use super::admin::{self, journal_csv, orders_csv, staff, step_up};
    use super::api::admin::{accounts, approvals, orders, payment_cases};

    let keyed = Router::new()
        .route("/api/admin/orders/{order}/refund", post(orders::refund))
        .route("/api/admin/orders/{order}/refund-part", post(orders::refund_part))
        .route("/admin/orders/{order}/refund-part", post(admin::orders::refund_part))
        .route("/api/admin/payment-cases/{case}/refund", post(payment_cases::refund))
        .route("/api/admin/staff", post(accounts::add_staff))
        .route("/admin/staff", post(staff::create))
        .route_layer(from_fn_with_state(shop.clone(), super::idempotency::repeatable));
    Router::new()
        .merge(keyed)
        .route("/api/admin/approvals/{approval}/approve", post(approvals::approve))
        .route("/admin/orders/approvals/{approval}/approve", post(admin::approvals::approve))
        .route("/api/admin/orders.csv", get(orders_csv::export))
        .route("/api/admin/books/journal.csv", get(journal_csv::export))
        .route("/api/admin/staff-policy", put(accounts::set_policy))
        .route("/api/admin/staff/{user}", patch(accounts::set_role).merge(delete(accounts::dismiss)))
        .route("/api/admin/staff/{user}/reset-password", post(accounts::reset_password))
        .route("/api/admin/staff/{user}/second-factor", delete(accounts::reset_second_factor))
        .route("/admin/step-up", get(step_up::show).merge(post(step_up::done)))
        .route("/admin/orders/{order}/refund", post(admin::orders::refund))
        .route("/admin/orders/bulk/refund", post(admin::bulk::orders::refund))
        .route("/admin/sales/{sale}/clusters/{user}/refund", post(admin::clusters::refund))
        .route("/admin/orders/payments/{case}/refund", post(admin::payment_cases::refund))
        .route("/admin/staff/policy", post(staff::set_policy))
        .route("/admin/staff/appoint", post(staff::appoint))
        .route("/admin/staff/{user}/role", post(staff::set_role))
        .route("/admin/staff/{user}/dismiss", post(staff::dismiss))
        .route("/admin/staff/{user}/reset-password", post(staff::reset_password))
        .route("/admin/staff/{user}/reset-second-factor", post(staff::reset_second_factor))
        .route_layer(from_fn_with_state(shop.clone(), super::step_up::required))
        .route_layer(from_fn_with_state(shop.clone(), super::step_up::asked_of_forms))
}

fn provider_api() -> Routes {
    use super::api::payments;

    Router::new().route("/api/webhooks/payments/sandbox", post(payments::webhook))
}

fn admin_api() -> Routes {
    use super::api::admin::{
        accounts, approvals, audit_log, books, categories, clusters, dead_letters, draws, goods, live,
    };
    use super::api::admin::{invitations, order_changes, orders};
    use super::api::admin::{packets, payment_cases, questions, queues, sale_definition, sales, security};

    Router::new()
        .route("/api/admin/goods", get(goods::list))
        .route("/api/admin/goods/{goods}", get(goods::show).merge(patch(goods::edit)))
        .route("/api/admin/goods/{goods}/image", put(goods::set_image))
        .route("/api/admin/goods/{goods}/pictures", post(goods::add_picture).merge(put(goods::order_pictures)))
        .route("/api/admin/goods/{goods}/pictures/{name}", delete(goods::remove_picture))
        .route("/api/admin/goods/{goods}/archive", post(goods::archive))
        .route("/api/admin/goods/{goods}/unarchive", post(goods::unarchive))
        .route("/api/admin/categories", get(categories::list).merge(put(categories::order)))
        .route(
            "/api/admin/categories/{category}",
            get(categories::show).merge(patch(categories::edit)).merge(delete(categories::delete)),
        )
        .route("/api/admin/sales", get(sales::list))
        .route(
            "/api/admin/sales/{sale}",
            get(sale_definition::show).merge(patch(sale_definition::edit)).merge(delete(sales::delete)),
        )
        .route("/api/admin/sales/{sale}/checklist", get(sales::checklist))
        .route("/api/admin/sales/{sale}/schedule", post(sales::schedule))
        .route("/api/admin/sales/{sale}/unschedule", post(sales::unschedule))
        .route("/api/admin/sales/{sale}/start", post(sales::start))
        .route("/api/admin/sales/{sale}/pause", post(sales::pause))
        .route("/api/admin/sales/{sale}/resume", post(sales::resume))
        .route("/api/admin/sales/{sale}/stop", post(sales::stop))
        .route("/api/admin/sales/{sale}/queue", post(queues::change_pace))
        .route("/api/admin/sales/{sale}/codes", get(invitations::list))
        .route("/api/admin/sales/{sale}/codes/revoke", post(invitations::revoke))
        .route("/api/admin/sales/{sale}/draw/round", post(draws::give_round))
        .route("/api/admin/sales/{sale}/draw/entries/{entry}/exclude", post(draws::exclude))
        .route("/api/admin/sales/{sale}/live", get(live::live))
        .route("/api/admin/sales/{sale}/clusters", get(clusters::list))
        .route("/api/admin/sales/{sale}/clusters/{user}", get(clusters::show))
        .route("/api/admin/dead-letters", get(dead_letters::list))
        .route("/api/admin/dead-letters/replay", post(dead_letters::replay))
        .route("/api/admin/dead-letters/discard", post(dead_letters::discard))
        .route("/api/admin/orders", get(orders::search))
        .route("/api/admin/orders/changes", get(order_changes::list))
        .route("/api/admin/orders/{order}", get(orders::show))
        .route("/api/admin/orders/{order}/cancel", post(orders::cancel))
        .route("/api/admin/orders/{order}/hold", post(clusters::hold))
        .route("/api/admin/orders/{order}/release", post(clusters::release))
        .route("/api/admin/orders/{order}/recipient", post(orders::recipient))
        .route("/api/admin/payment-cases", get(payment_cases::list))
        .route("/api/admin/payment-cases/{case}", get(payment_cases::show))
        .route("/api/admin/approvals", get(approvals::list))
        .route("/api/admin/approvals/{approval}", get(approvals::show))
        .route("/api/admin/approvals/{approval}/decline", post(approvals::decline))
        .route("/api/admin/packets", get(packets::list))
        .route("/api/admin/packets/{packet}/stop", post(packets::stop))
        .route("/api/admin/questions", get(questions::list))
        .route("/api/admin/questions/{question}", get(questions::show))
        .route("/api/admin/questions/{question}/answer", put(questions::answer))
        .route("/api/admin/questions/{question}/hide", post(questions::hide))
        .route("/api/admin/questions/{question}/unhide", post(questions::unhide))
        .route("/api/admin/users", get(accounts::users))
        .route("/api/admin/users/{user}", get(accounts::user))
        .route("/api/admin/users/{user}/block", post(accounts::block))
        .route("/api/admin/users/{user}/unblock", post(accounts::unblock))
        .route("/api/admin/users/{user}/end-sessions", post(accounts::end_sessions))
        .route("/api/admin/users/{user}/start-recovery", post(accounts::start_recovery))
        .route("/api/admin/staff", get(accounts::staff))
        .route("/api/admin/staff-policy", get(accounts::policy))
        .route("/api/admin/books", get(books::show))
        .route("/api/admin/audit-log", get(audit_log::list))
        .route("/api/admin/security-events", get(security::list))
}

/// Forms that may spend from the wallet, for which the password may be asked for again (`super::step_up`).
fn spending_forms(shop: &Arc<Shop>) -> Routes {
    use super::pages::{order_address, orders, packet_giving};

    let mut routes = Router::new();
    for locale in Locale::ALL {
        routes = routes
            .route(&format!("/{locale}/packets"), post(packet_giving::give))
            .route(&format!("/{locale}/orders/{{sale}}/{{order}}/address"), post(order_address::choose))
            .route(&format!("/{locale}/orders/{{sale}}/{{order}}/pay"), post(orders::pay));
    }
    routes.route_layer(from_fn_with_state(shop.clone(), super::step_up::asked_of_forms))
}
