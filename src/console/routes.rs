//! Every address of the staff.

use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;

use crate::{
    approvals, books, categories, cockpit, dead_letters, draws, front, goods, invitations, invoices, linked_accounts,
    lists, log, moved, orders, packets, payment_cases, questions, report, sales, security, shipping, site, step_up,
    tokens, users, waiting_room, webhooks,
};
use web::document::Api;
use web::extract::{ManageStaff, ReadMail, ViewBooks, ViewConsole, ViewSecurity};
use web::router::{Routes, delete, get, patch, post, put, tab, tabs};
use web::{Shop, idempotency};

/// What the staff request: the pages of the console, and the same actions for programs.
pub fn routes(shop: &Arc<Shop>) -> Routes {
    Router::new().merge(api()).merge(pages()).merge(repeatable(shop)).merge(stepped_up(shop))
}

/// Adds every operation to the document of the API.
pub fn document(api: &mut Api) {
    let files = [
        approvals::document,
        books::document,
        books::settlements::document,
        categories::document,
        cockpit::live::document,
        dead_letters::document,
        draws::document,
        goods::api::document,
        goods::import::document,
        invitations::document,
        invoices::document,
        front::document,
        shipping::document,
        linked_accounts::groups::document,
        linked_accounts::holds::document,
        log::document,
        orders::api::document,
        orders::search::document,
        orders::parcels::document,
        orders::returns::document,
        packets::document,
        payment_cases::document,
        questions::document,
        sales::api::document,
        security::document,
        tokens::document,
        users::api::document,
        waiting_room::document,
        webhooks::api::document,
    ];
    files.into_iter().for_each(|add: fn(&mut Api)| add(api));
}

fn api() -> Routes {
    Router::new()
        .route("/api/admin/goods", get(goods::api::list))
        .route("/api/admin/goods/import", post(goods::import::import))
        .route("/api/admin/goods/{goods}", get(goods::api::show).merge(patch(goods::api::edit)))
        .route("/api/admin/goods/{goods}/image", put(goods::api::set_image))
        .route(
            "/api/admin/goods/{goods}/pictures",
            post(goods::api::add_picture).merge(put(goods::api::order_pictures)),
        )
        .route("/api/admin/goods/{goods}/pictures/{name}", delete(goods::api::remove_picture))
        .route("/api/admin/goods/{goods}/archive", post(goods::api::archive))
        .route("/api/admin/goods/{goods}/unarchive", post(goods::api::unarchive))
        .route("/api/admin/categories", get(categories::list).merge(put(categories::order)))
        .route(
            "/api/admin/categories/{category}",
            get(categories::show).merge(patch(categories::edit)).merge(delete(categories::delete)),
        )
        .route("/api/admin/sales", get(sales::api::list))
        .route(
            "/api/admin/sales/{sale}",
            get(sales::api::show).merge(patch(sales::api::edit)).merge(delete(sales::api::delete)),
        )
        .route("/api/admin/sales/{sale}/checklist", get(sales::api::checklist))
        .route("/api/admin/sales/{sale}/schedule", post(sales::api::schedule))
        .route("/api/admin/sales/{sale}/unschedule", post(sales::api::unschedule))
        .route("/api/admin/sales/{sale}/start", post(sales::api::start))
        .route("/api/admin/sales/{sale}/pause", post(sales::api::pause))
        .route("/api/admin/sales/{sale}/resume", post(sales::api::resume))
        .route("/api/admin/sales/{sale}/stop", post(sales::api::stop))
        .route("/api/admin/sales/{sale}/queue", post(waiting_room::change_pace))
        .route("/api/admin/sales/{sale}/codes", get(invitations::list))
        .route("/api/admin/sales/{sale}/codes/revoke", post(invitations::revoke))
        .route("/api/admin/sales/{sale}/draw/round", post(draws::give_round))
        .route("/api/admin/sales/{sale}/draw/call-off", post(draws::call_off))
        .route("/api/admin/sales/{sale}/draw/later-round", post(draws::await_later_round))
        .route("/api/admin/sales/{sale}/draw/entries/{entry}/exclude", post(draws::exclude))
        .route("/api/admin/sales/{sale}/live", get(cockpit::live::live))
        .route("/api/admin/sales/{sale}/clusters", get(linked_accounts::groups::list))
        .route("/api/admin/sales/{sale}/clusters/{user}", get(linked_accounts::groups::show))
        .route("/api/admin/dead-letters", get(dead_letters::list))
        .route("/api/admin/dead-letters/replay", post(dead_letters::replay))
        .route("/api/admin/dead-letters/discard", post(dead_letters::discard))
        .route("/api/admin/orders", get(orders::api::search))
        .route("/api/admin/orders/changes", get(orders::api::changes))
        .route("/api/admin/orders/{order}", get(orders::api::show))
        .route("/api/admin/orders/{order}/cancel", post(orders::api::cancel))
        .route("/api/admin/orders/{order}/hold", post(linked_accounts::holds::hold))
        .route("/api/admin/orders/{order}/release", post(linked_accounts::holds::release))
        .route("/api/admin/orders/{order}/recipient", post(orders::api::recipient))
        .route("/api/admin/orders/{order}/parcel", post(orders::parcels::move_parcel))
        .route("/api/admin/orders/parcels", post(orders::parcels::import))
        .route("/api/admin/orders/{order}/return/accept", post(orders::returns::accept))
        .route("/api/admin/orders/{order}/return/refuse", post(orders::returns::refuse))
        .route("/api/admin/sales/{sale}/front", get(front::read).merge(put(front::replace)))
        .route("/api/admin/shipping", get(shipping::list).merge(put(shipping::replace)))
        .route("/api/admin/invoices", get(invoices::list))
        .route("/api/admin/invoices/{order}/issued", post(invoices::issue))
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
        .route("/api/admin/users", get(users::api::users))
        .route("/api/admin/users/{user}", get(users::api::user))
        .route("/api/admin/users/{user}/block", post(users::api::block))
        .route("/api/admin/users/{user}/unblock", post(users::api::unblock))
        .route("/api/admin/users/{user}/end-sessions", post(users::api::end_sessions))
        .route("/api/admin/users/{user}/start-recovery", post(users::api::start_recovery))
        .route("/api/admin/staff", get(users::api::staff))
        .route("/api/admin/staff-policy", get(users::api::policy))
        .route("/api/admin/tokens", get(tokens::list))
        .route("/api/admin/tokens/{token}", delete(tokens::revoke))
        .route("/api/admin/books", get(books::show))
        .route("/api/admin/settlements", get(books::settlements::list))
        .route("/api/admin/settlements/{provider}/{day}", get(books::settlements::show))
        .route("/api/admin/settlements/{provider}/{day}/again", post(books::settlements::again))
        .route("/api/admin/audit-log", get(log::list))
        .route("/api/admin/security-events", get(security::list))
        .route("/api/admin/webhooks", get(webhooks::api::list))
        .route("/api/admin/webhooks/{webhook}", get(webhooks::api::show).merge(delete(webhooks::api::delete)))
        .route("/api/admin/webhooks/{webhook}/test", post(webhooks::api::test))
        .route("/api/admin/webhooks/{webhook}/replay", post(webhooks::api::replay))
        .route("/api/admin/webhooks/{webhook}/deliveries", get(webhooks::api::deliveries))
}

fn pages() -> Routes {
    Router::new()
        .route("/admin", get(sales::page::sales))
        .route("/admin/", get(sales::page::without_slash))
        .route("/admin/calendar", get(sales::calendar::show))
        .route("/admin/log", tabs([tab("", log::page), tab("security", security::page)]))
        .route("/admin/search", get(lists::search::page))
        .route("/admin/search.json", get(lists::search::hits))
        .route("/admin/density", post(lists::saved_views::set))
        .route("/admin/views", post(lists::saved_views::save))
        .route("/admin/views/{view}/rename", post(lists::saved_views::rename))
        .route("/admin/views/{view}/delete", post(lists::saved_views::delete))
        .route("/admin/pages", get(site::own_pages))
        .route("/admin/pages/{page}", post(site::save_own_page))
        .route("/admin/shop", get(site::settings).merge(post(site::save_settings)))
        .route("/admin/shop/steps", post(sales::overview::dismiss))
        .route("/admin/shop/logo/{verb}", post(site::change_logo))
        .route("/admin/questions", get(questions::page))
        .route("/admin/questions/{question}", get(questions::show_page))
        .route("/admin/questions/{question}/answer", post(questions::answer_by_form))
        .route("/admin/questions/{question}/hide", post(questions::hide_by_form))
        .route("/admin/questions/{question}/unhide", post(questions::unhide_by_form))
        .route("/admin/security", get(moved::<ViewSecurity>))
        .route(
            "/admin/system",
            tabs([
                tab("", dead_letters::page),
                tab("mail", users::mail::show),
                tab("tokens", tokens::page),
                tab("webhooks", webhooks::page::list),
            ]),
        )
        .route("/admin/tokens/{token}/revoke", post(tokens::revoke_by_form))
        .route("/admin/webhooks/{webhook}", get(webhooks::page::show))
        .route("/admin/webhooks/{webhook}/switch", post(webhooks::page::switch))
        .route("/admin/webhooks/{webhook}/delete", post(webhooks::page::delete))
        .route("/admin/webhooks/{webhook}/test", post(webhooks::page::test))
        .route("/admin/webhooks/{webhook}/replay", post(webhooks::page::replay))
        .route("/admin/mail", get(moved::<ReadMail>))
        .route("/admin/users", tabs([tab("", users::page::list), tab("staff", users::staff::list)]))
        .route("/admin/users/bulk", post(lists::bulk::users::summary))
        .route("/admin/users/bulk/block", post(lists::bulk::users::block))
        .route("/admin/users/bulk/unblock", post(lists::bulk::users::unblock))
        .route("/admin/users/{user}", get(users::page::show))
        .route("/admin/users/{user}/block", post(users::page::block))
        .route("/admin/users/{user}/unblock", post(users::page::unblock))
        .route("/admin/users/{user}/end-sessions", post(users::page::end_sessions))
        .route("/admin/users/{user}/start-recovery", post(users::page::start_recovery))
        .route("/admin/staff", get(moved::<ManageStaff>))
        .route("/admin/sales", post(sales::form::create))
        .route("/admin/sales/new", get(sales::form::blank))
        .route("/admin/sales/preview", get(sales::form::preview))
        .route("/admin/sales/bulk", post(lists::bulk::sales::summary))
        .route("/admin/sales/bulk/{action}", post(lists::bulk::sales::act))
        .route("/admin/sales/{sale}", get(cockpit::page::show))
        .route("/admin/sales/{sale}/codes", get(invitations::page))
        .route("/admin/sales/{sale}/codes/revoke", post(invitations::revoke_by_form))
        .route("/admin/crowd", post(sales::page::send_crowd))
        .route("/admin/sales/{sale}/report", get(report::page::show))
        .route("/admin/sales/{sale}/report.csv", get(report::page::export))
        .route("/admin/sales/{sale}/draw", get(draws::page))
        .route("/admin/sales/{sale}/draw/round", post(draws::give_round_by_form))
        .route("/admin/sales/{sale}/draw/call-off", post(draws::call_off_by_form))
        .route("/admin/sales/{sale}/draw/later-round", post(draws::await_later_round_by_form))
        .route("/admin/sales/{sale}/draw/dry-run", post(draws::try_out))
        .route("/admin/sales/{sale}/draw/entries/{entry}/exclude", post(draws::exclude_by_form))
        .route("/admin/dead-letters", get(moved::<ViewConsole>))
        .route("/admin/dead-letters/replay", post(dead_letters::replay_by_form))
        .route("/admin/dead-letters/discard", post(dead_letters::discard_by_form))
        .route("/admin/sales/{sale}/edit", get(sales::form::show).merge(post(sales::form::edit)))
        .route("/admin/sales/{sale}/schedule", post(sales::page::schedule))
        .route("/admin/sales/{sale}/unschedule", post(sales::page::unschedule))
        .route("/admin/sales/{sale}/delete", post(sales::page::delete))
        .route("/admin/sales/{sale}/start", post(sales::page::start))
        .route("/admin/sales/{sale}/pause", post(sales::page::pause))
        .route("/admin/sales/{sale}/resume", post(sales::page::resume))
        .route("/admin/sales/{sale}/stop", post(sales::page::stop))
        .route("/admin/sales/{sale}/queue", post(waiting_room::change_pace_by_form))
        .route("/admin/sales/{sale}/clusters", get(linked_accounts::groups::list_page))
        .route("/admin/sales/{sale}/clusters/{user}", get(linked_accounts::groups::show_page))
        .route("/admin/sales/{sale}/clusters/{user}/hold", post(linked_accounts::groups::hold_all))
        .route("/admin/sales/{sale}/clusters/{user}/release", post(linked_accounts::groups::release_all))
        .route("/admin/goods", get(goods::page::list))
        .route("/admin/packets", get(packets::page))
        .route("/admin/packets/new", get(packets::blank))
        .route("/admin/packets/{packet}", get(packets::show))
        .route("/admin/packets/{packet}/stop", post(packets::stop_by_form))
        .route(
            "/admin/orders",
            tabs([
                tab("", orders::page::list),
                tab("approvals", approvals::page),
                tab("payments", payment_cases::page),
            ]),
        )
        .route("/admin/orders/books", tabs([tab("", books::page), tab("settlements", books::settlements::page)]))
        .route("/admin/orders/settlements", get(moved::<ViewBooks>))
        .route("/admin/orders/settlements/{provider}/{day}/again", post(books::settlements::again_by_form))
        .route("/admin/orders/approvals", get(moved::<ViewConsole>))
        .route("/admin/orders/approvals/{approval}/decline", post(approvals::decline_by_form))
        .route("/admin/sales/{sale}/decisions", get(front::decisions))
        .route("/admin/sales/{sale}/front", get(front::show).merge(post(front::save_form)))
        .route("/admin/orders/shipping", get(shipping::show).merge(post(shipping::save)))
        .route("/admin/orders/invoices", get(invoices::show))
        .route("/admin/orders/invoices/issued", post(invoices::issue_ticked))
        .route("/admin/orders/payments", get(moved::<ViewConsole>))
        .route("/admin/orders/payments/{case}/settle", post(payment_cases::settle_by_form))
        .route("/admin/orders/bulk", post(lists::bulk::orders::summary))
        .route("/admin/orders/bulk/pack", post(lists::bulk::orders::pack))
        .route("/admin/orders/bulk/ship", post(lists::bulk::orders::ship))
        .route("/admin/orders/bulk/deliver", post(lists::bulk::orders::deliver))
        .route("/admin/orders/bulk/cancel", post(lists::bulk::orders::cancel))
        .route("/admin/orders/bulk/hold", post(lists::bulk::orders::hold))
        .route("/admin/orders/bulk/release", post(lists::bulk::orders::release))
        .route("/admin/orders/parcels", get(orders::parcels::show).merge(post(orders::parcels::check)))
        .route("/admin/orders/parcels/apply", post(orders::parcels::apply))
        .route("/admin/orders/{order}", get(orders::page::show))
        .route("/admin/orders/{order}/parcel", post(orders::parcels::move_by_form))
        .route("/admin/orders/{order}/return/accept", post(orders::returns::accept_by_form))
        .route("/admin/orders/{order}/return/refuse", post(orders::returns::refuse_by_form))
        .route("/admin/orders/{order}/receipt", get(invoices::receipt))
        .route("/admin/orders/{order}/cancel", post(orders::page::cancel))
        .route("/admin/orders/{order}/hold", post(linked_accounts::holds::hold_by_form))
        .route("/admin/orders/{order}/release", post(linked_accounts::holds::release_by_form))
        .route("/admin/orders/{order}/uphold", post(linked_accounts::holds::uphold_by_form))
        .route("/admin/orders/{order}/recipient", post(orders::page::recipient))
        .route("/admin/goods/new", get(goods::page::blank))
        .route("/admin/goods/import", get(goods::import::page))
        .route("/admin/goods/categories", get(categories::page))
        .route("/admin/goods/categories/{category}", post(categories::rename))
        .route("/admin/goods/categories/{category}/move", post(categories::move_by_one))
        .route("/admin/goods/categories/{category}/delete", post(categories::delete_by_form))
        .route("/admin/goods/{goods}", get(goods::page::show).merge(post(goods::page::edit)))
        .route("/admin/goods/{goods}/archive", post(goods::page::archive))
        .route("/admin/goods/{goods}/unarchive", post(goods::page::unarchive))
}

/// Requests that create or add something. With an idempotency key they may be sent again. A purchase needs none: a shopper
/// has one order per sale.
fn repeatable(shop: &Arc<Shop>) -> Routes {
    Router::new()
        .route("/api/admin/goods", post(goods::api::create))
        .route("/api/admin/categories", post(categories::create))
        .route("/api/admin/sales", post(sales::api::create))
        .route("/api/admin/sales/{sale}/top-up", post(sales::api::top_up))
        .route("/api/admin/sales/{sale}/codes", post(invitations::make))
        .route("/api/admin/payment-cases/{case}/settle", post(payment_cases::settle))
        .route("/admin/sales/{sale}/top-up", post(sales::page::top_up))
        .route("/admin/sales/{sale}/codes", post(invitations::make_by_form))
        .route("/admin/goods/categories", post(categories::create_by_form))
        .route("/admin/goods", post(goods::page::create))
        .route("/admin/goods/import", post(goods::import::submit))
        .route_layer(from_fn_with_state(shop.clone(), idempotency::repeatable))
}

/// Operations of the staff that do much harm in wrong hands: the password is asked for again (`web::step_up`).
fn stepped_up(shop: &Arc<Shop>) -> Routes {
    let keyed = Router::new()
        .route("/api/admin/orders/{order}/refund", post(orders::api::refund))
        .route("/api/admin/orders/{order}/refund-part", post(orders::api::refund_part))
        .route("/admin/orders/{order}/refund-part", post(orders::page::refund_part))
        .route("/api/admin/orders/{order}/return/receive", post(orders::returns::receive))
        .route("/admin/orders/{order}/return/receive", post(orders::returns::receive_by_form))
        .route("/api/admin/payment-cases/{case}/refund", post(payment_cases::refund))
        .route("/api/admin/packets", post(packets::fund))
        .route("/api/admin/staff", post(users::api::add_staff))
        .route("/api/admin/tokens", post(tokens::create))
        .route("/admin/staff", post(users::staff::create))
        .route("/admin/tokens", post(tokens::create_by_form))
        .route_layer(from_fn_with_state(shop.clone(), idempotency::repeatable));
    Router::new()
        .merge(keyed)
        .route("/api/admin/approvals/{approval}/approve", post(approvals::approve))
        .route("/admin/orders/approvals/{approval}/approve", post(approvals::approve_by_form))
        .route("/api/admin/orders.csv", get(orders::search::export))
        .route("/api/admin/invoices.csv", get(invoices::export))
        .route("/api/admin/books/journal.csv", get(books::export))
        .route("/api/admin/staff-policy", put(users::api::set_policy))
        .route("/api/admin/staff/{user}", patch(users::api::set_role).merge(delete(users::api::dismiss)))
        .route("/api/admin/staff/{user}/reset-password", post(users::api::reset_password))
        .route("/api/admin/staff/{user}/second-factor", delete(users::api::reset_second_factor))
        .route("/admin/step-up", get(step_up::show).merge(post(step_up::done)))
        .route("/admin/orders/{order}/refund", post(orders::page::refund))
        .route("/admin/orders/bulk/refund", post(lists::bulk::orders::refund))
        .route("/admin/sales/{sale}/clusters/{user}/refund", post(linked_accounts::groups::refund_all))
        .route("/admin/orders/payments/{case}/refund", post(payment_cases::refund_by_form))
        .route("/admin/packets", post(packets::fund_by_form))
        .route("/api/admin/webhooks", post(webhooks::api::add))
        .route("/api/admin/webhooks/{webhook}", patch(webhooks::api::edit))
        .route("/api/admin/webhooks/{webhook}/secret", post(webhooks::api::secret))
        .route("/api/admin/webhooks/{webhook}/rotate", post(webhooks::api::rotate))
        .route("/admin/webhooks", post(webhooks::page::add))
        .route("/admin/webhooks/{webhook}", post(webhooks::page::edit))
        .route("/admin/webhooks/{webhook}/secret", post(webhooks::page::secret))
        .route("/admin/webhooks/{webhook}/rotate", post(webhooks::page::rotate))
        .route("/admin/staff/policy", post(users::staff::set_policy))
        .route("/admin/staff/appoint", post(users::staff::appoint))
        .route("/admin/staff/{user}/role", post(users::staff::set_role))
        .route("/admin/staff/{user}/dismiss", post(users::staff::dismiss))
        .route("/admin/staff/{user}/reset-password", post(users::staff::reset_password))
        .route("/admin/staff/{user}/reset-second-factor", post(users::staff::reset_second_factor))
        .route_layer(from_fn_with_state(shop.clone(), web::step_up::required))
        .route_layer(from_fn_with_state(shop.clone(), web::step_up::asked_of_forms))
}
