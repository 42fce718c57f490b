//! Every address of the shop, grouped by who calls.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, patch, post, put};
use tower::ServiceBuilder;

use super::admin::{calendar, cockpit, dead_letters, desk, goods, log, sale_form, staff, users};
use super::admin::{orders as order_desk, orders_csv, packets as packet_desk};
use super::api::admin_packets as packets_api;
use super::api::{accounts, addresses, admin, orders, own_account, packets, payments, sales, wallet};
use super::api::{admin_goods as goods_api, admin_orders as orders_api, admin_people as people_api};
use super::api::{admin_sales as sales_api, dead_letters as dead_letters_api, live};
use super::{Shop, account_pages, address_pages, cashier, guard, order_address, order_pages, own_pages, pages};
use super::{packet_giving, packet_pages, wallet_pages};
use crate::domain::Locale;
use crate::error::{Code, Problem};

/// The whole shop as a service. Needs no socket.
pub fn router(shop: Arc<Shop>) -> Router {
    let around = ServiceBuilder::new()
        .layer(from_fn_with_state(shop.clone(), guard::frame))
        .layer(guard::same_origin(&shop.config));
    let mut router = Router::new()
        .merge(crowd())
        .merge(everybody())
        .merge(shoppers())
        .merge(providers())
        .merge(administrators())
        .merge(shared_pages());
    for locale in Locale::ALL {
        router = router.merge(pages_of(locale));
    }
    router
        .merge(administrators_pages())
        .fallback(async || Problem::new(Code::NotFound))
        .method_not_allowed_fallback(async || Problem::new(Code::MethodNotAllowed))
        .layer(around)
        .with_state(shop)
}

type Routes = Router<Arc<Shop>>;

/// What everybody asks for at once when a sale opens. Kept thin; `ping` is the same way with nothing at its end.
fn crowd() -> Routes {
    Router::new()
        .route("/api/sales/{sale}/button", get(sales::button))
        .route("/api/sales/{sale}/token", post(sales::token))
        .route("/api/sales/{sale}/orders", post(orders::buy))
        .route("/api/packets/{packet}/claims", post(packets::claim))
        .route("/api/ping", get(sales::ping).post(sales::ping_signed_in))
}

fn everybody() -> Routes {
    Router::new()
        .route("/api/sales", get(sales::list))
        .route("/api/register", post(accounts::register))
        .route("/api/login", post(accounts::log_in))
        .route("/api/logout", post(accounts::log_out))
        .route("/api/packets/{packet}", get(packets::show))
        .route("/api/openapi.json", get(sales::openapi))
}

/// Whoever is signed in, about what is theirs.
fn shoppers() -> Routes {
    Router::new()
        .route("/api/me", get(accounts::me))
        .route("/api/account", get(own_account::show))
        .route("/api/account/password", put(own_account::change_password))
        .route("/api/account/sessions", get(own_account::sessions).delete(own_account::end_all_sessions))
        .route("/api/account/sessions/{session}", delete(own_account::end_session))
        .route("/api/account/second-factor", post(own_account::enrol).put(own_account::set_second_factor))
        .route("/api/account/second-factor/remove", post(own_account::remove_second_factor))
        .route("/api/account/export", get(own_account::export))
        .route("/api/account/delete", post(own_account::delete))
        .route("/api/packets", get(packets::list).post(packets::give))
        .route("/api/orders", get(orders::list))
        .route("/api/sales/{sale}/orders/{order}", get(orders::show))
        .route("/api/sales/{sale}/orders/{order}/cancel", post(orders::cancel))
        .route("/api/sales/{sale}/orders/{order}/address", put(orders::set_address))
        .route("/api/sales/{sale}/orders/{order}/payments", post(payments::start))
        .route("/api/wallet", get(wallet::show))
        .route("/api/wallet/top-ups", post(wallet::top_up))
        .route("/api/addresses", get(addresses::list).post(addresses::create))
        .route("/api/addresses/{address}", get(addresses::show).put(addresses::change).delete(addresses::delete))
}

fn providers() -> Routes {
    Router::new().route("/api/webhooks/payments/sandbox", post(payments::webhook))
}

fn administrators() -> Routes {
    Router::new()
        .route("/api/admin/goods", get(goods_api::list).post(goods_api::create))
        .route("/api/admin/goods/{goods}", patch(goods_api::edit))
        .route("/api/admin/goods/{goods}/image", put(goods_api::set_image))
        .route("/api/admin/goods/{goods}/pictures", post(goods_api::add_picture).put(goods_api::order_pictures))
        .route("/api/admin/goods/{goods}/pictures/{name}", delete(goods_api::remove_picture))
        .route("/api/admin/goods/{goods}/archive", post(goods_api::archive))
        .route("/api/admin/goods/{goods}/unarchive", post(goods_api::unarchive))
        .route("/api/admin/sales", get(sales_api::list).post(sales_api::create))
        .route("/api/admin/sales/{sale}", patch(sales_api::edit).delete(sales_api::delete))
        .route("/api/admin/sales/{sale}/checklist", get(sales_api::checklist))
        .route("/api/admin/sales/{sale}/schedule", post(sales_api::schedule))
        .route("/api/admin/sales/{sale}/unschedule", post(sales_api::unschedule))
        .route("/api/admin/sales/{sale}/start", post(sales_api::start))
        .route("/api/admin/sales/{sale}/pause", post(sales_api::pause))
        .route("/api/admin/sales/{sale}/resume", post(sales_api::resume))
        .route("/api/admin/sales/{sale}/stop", post(sales_api::stop))
        .route("/api/admin/sales/{sale}/top-up", post(sales_api::top_up))
        .route("/api/admin/sales/{sale}/live", get(live::live))
        .route("/api/admin/dead-letters", get(dead_letters_api::list))
        .route("/api/admin/dead-letters/replay", post(dead_letters_api::replay))
        .route("/api/admin/dead-letters/discard", post(dead_letters_api::discard))
        .route("/api/admin/orders", get(orders_api::search))
        .route("/api/admin/orders.csv", get(orders_csv::export))
        .route("/api/admin/orders/{order}", get(orders_api::show))
        .route("/api/admin/orders/{order}/cancel", post(orders_api::cancel))
        .route("/api/admin/orders/{order}/refund", post(orders_api::refund))
        .route("/api/admin/packets", get(packets_api::list).post(packets_api::fund))
        .route("/api/admin/packets/{packet}/stop", post(packets_api::stop))
        .route("/api/admin/users", get(people_api::users))
        .route("/api/admin/users/{user}", get(people_api::user))
        .route("/api/admin/users/{user}/block", post(people_api::block))
        .route("/api/admin/users/{user}/unblock", post(people_api::unblock))
        .route("/api/admin/users/{user}/end-sessions", post(people_api::end_sessions))
        .route("/api/admin/staff", get(people_api::staff).post(people_api::add_staff))
        .route("/api/admin/staff/{user}", patch(people_api::set_role).delete(people_api::dismiss))
        .route("/api/admin/staff/{user}/second-factor", delete(people_api::reset_second_factor))
        .route("/api/admin/audit-log", get(admin::audit_log))
}

/// Files, and pages outside the two languages.
fn shared_pages() -> Routes {
    Router::new()
        .route("/", get(pages::front_door))
        .route("/static/{*name}", get(pages::asset))
        .route("/uploads/{name}", get(pages::upload))
        .route("/packets/{packet}", get(packet_pages::to_page))
        .route("/sandbox/cashier/{payment}", get(cashier::show))
        .route("/sandbox/cashier/{payment}/pay", post(cashier::pay))
        .route("/sandbox/cashier/{payment}/decline", post(cashier::decline))
}

/// The first three are the same bytes for everybody.
fn pages_of(locale: Locale) -> Routes {
    let at = |path: &str| format!("/{locale}{path}");
    Router::new()
        .route(&at("/"), get(pages::shared))
        .route(&at("/sales/{sale}"), get(pages::shared))
        .route(&at("/sales/{sale}/reminder.ics"), get(pages::shared))
        .route(&at(""), get(pages::to_list))
        .route(&at("/sales/{sale}/buy"), post(order_pages::buy))
        .route(&at("/login"), get(account_pages::login).post(account_pages::log_in))
        .route(&at("/register"), get(account_pages::registration).post(account_pages::register))
        .route(&at("/login/code"), post(account_pages::log_in_with_code))
        .route(&at("/logout"), post(account_pages::log_out))
        .route(&at("/account"), get(own_pages::show))
        .route(&at("/account/password"), post(own_pages::change_password))
        .route(&at("/account/sessions/end"), post(own_pages::end_all_sessions))
        .route(&at("/account/sessions/{session}/end"), post(own_pages::end_session))
        .route(&at("/account/second-factor"), get(own_pages::enrol).post(own_pages::set_second_factor))
        .route(&at("/account/second-factor/remove"), post(own_pages::remove_second_factor))
        .route(&at("/account/export"), get(own_pages::export))
        .route(&at("/account/delete"), post(own_pages::delete))
        .route(&at("/packets"), get(packet_pages::list).post(packet_giving::give))
        .route(&at("/packets/new"), get(packet_giving::new))
        .route(&at("/packets/{packet}"), get(packet_pages::show))
        .route(&at("/packets/{packet}/claim"), post(packet_pages::claim))
        .route(&at("/packets/{packet}/result"), get(packet_pages::result))
        .route(&at("/packets/{packet}/given"), get(packet_giving::given))
        .route(&at("/wallet"), get(wallet_pages::show))
        .route(&at("/wallet/top-ups"), post(wallet_pages::top_up))
        .route(&at("/orders"), get(order_pages::list))
        .route(&at("/orders/{sale}/{order}"), get(order_pages::show))
        .route(&at("/orders/{sale}/{order}/address"), get(order_address::show).post(order_address::choose))
        .route(&at("/orders/{sale}/{order}/pay"), post(order_pages::pay))
        .route(&at("/orders/{sale}/{order}/cancel"), post(order_pages::cancel))
        .route(&at("/account/addresses"), get(address_pages::list).post(address_pages::create))
        .route(&at("/account/addresses/new"), get(address_pages::blank))
        .route(&at("/account/addresses/{address}"), get(address_pages::edit).post(address_pages::change))
        .route(&at("/account/addresses/{address}/default"), post(address_pages::make_default))
        .route(&at("/account/addresses/{address}/delete"), post(address_pages::delete))
}

fn administrators_pages() -> Routes {
    Router::new()
        .route("/admin", get(desk::sales))
        .route("/admin/calendar", get(calendar::show))
        .route("/admin/log", get(log::show))
        .route("/admin/users", get(users::list))
        .route("/admin/users/{user}", get(users::show))
        .route("/admin/users/{user}/block", post(users::block))
        .route("/admin/users/{user}/unblock", post(users::unblock))
        .route("/admin/users/{user}/end-sessions", post(users::end_sessions))
        .route("/admin/staff", get(staff::list).post(staff::create))
        .route("/admin/staff/appoint", post(staff::appoint))
        .route("/admin/staff/{user}/role", post(staff::set_role))
        .route("/admin/staff/{user}/dismiss", post(staff::dismiss))
        .route("/admin/staff/{user}/reset-second-factor", post(staff::reset_second_factor))
        .route("/admin/sales", post(sale_form::create))
        .route("/admin/sales/new", get(sale_form::blank))
        .route("/admin/sales/{sale}", get(cockpit::show))
        .route("/admin/dead-letters", get(dead_letters::show))
        .route("/admin/dead-letters/replay", post(dead_letters::replay))
        .route("/admin/dead-letters/discard", post(dead_letters::discard))
        .route("/admin/sales/{sale}/edit", get(sale_form::show).post(sale_form::edit))
        .route("/admin/sales/{sale}/schedule", post(desk::schedule))
        .route("/admin/sales/{sale}/unschedule", post(desk::unschedule))
        .route("/admin/sales/{sale}/delete", post(desk::delete))
        .route("/admin/sales/{sale}/start", post(desk::start))
        .route("/admin/sales/{sale}/pause", post(desk::pause))
        .route("/admin/sales/{sale}/resume", post(desk::resume))
        .route("/admin/sales/{sale}/stop", post(desk::stop))
        .route("/admin/sales/{sale}/top-up", post(desk::top_up))
        .route("/admin/goods", get(goods::list).post(goods::create))
        .route("/admin/packets", get(packet_desk::list).post(packet_desk::fund))
        .route("/admin/packets/new", get(packet_desk::new))
        .route("/admin/packets/{packet}", get(packet_desk::show))
        .route("/admin/packets/{packet}/stop", post(packet_desk::stop))
        .route("/admin/orders", get(order_desk::list))
        .route("/admin/orders/{order}", get(order_desk::show))
        .route("/admin/orders/{order}/cancel", post(order_desk::cancel))
        .route("/admin/orders/{order}/refund", post(order_desk::refund))
        .route("/admin/goods/new", get(goods::blank))
        .route("/admin/goods/{goods}", get(goods::show).post(goods::edit))
        .route("/admin/goods/{goods}/archive", post(goods::archive))
        .route("/admin/goods/{goods}/unarchive", post(goods::unarchive))
}
