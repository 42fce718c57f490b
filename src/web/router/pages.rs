//! The pages of shoppers.

use axum::Router;

use super::Routes;
use super::methods::{get, post};
use domain::Locale;

/// Files, and pages without a language in their path.
pub(super) fn shared_pages() -> Routes {
    use crate::pages;
    use crate::pages::{cashier, discovery, offline, packets};

    Router::new()
        .route("/", get(pages::redirect_to_language))
        .route("/robots.txt", get(discovery::robots))
        .route("/sitemap.xml", get(discovery::sitemap))
        .route("/manifest.webmanifest", get(discovery::manifest))
        .route("/sw.js", get(offline::worker))
        .route("/static/{*name}", get(pages::asset))
        .route("/uploads/{name}", get(pages::upload))
        .route("/packets/{packet}", get(packets::to_page))
        .route("/sandbox/cashier/{payment}", get(cashier::show))
        .route("/sandbox/cashier/{payment}/pay", post(cashier::pay))
        .route("/sandbox/cashier/{payment}/decline", post(cashier::decline))
}

/// Pages in one language. The first four are pre-rendered and the same for all visitors.
pub(super) fn pages_of(locale: Locale) -> Routes {
    use crate::pages;
    use crate::pages::{
        about, archive, eligibility, mail_address, offline, poster, questions, queues, recovery, waitlist,
    };
    use crate::pages::{
        account, addresses, draws, order_address, orders, packet_giving, packets, registration_contact,
    };
    use crate::pages::{sign_in, wallet};

    let at = |path: &str| format!("/{locale}{path}");
    Router::new()
        .route(&at("/"), get(pages::shared))
        .route(&at("/sales/{sale}"), get(pages::shared))
        .route(&at("/categories/{category}"), get(pages::shared))
        .route(&at("/sales/{sale}/reminder.ics"), get(pages::shared))
        .route(&at(""), get(pages::to_list))
        .route(&at("/archive"), get(archive::show))
        .route(&at("/about"), get(about::show))
        .route(&at("/offline"), get(offline::page))
        .route(&at("/sales/{sale}/poster.svg"), get(poster::show))
        .route(&at("/sales/{sale}/questions"), get(questions::form).merge(post(questions::ask)))
        .route(&at("/questions/{question}/withdraw"), post(questions::withdraw))
        .route(&at("/sales/{sale}/buy"), post(orders::buy))
        .route(&at("/sales/{sale}/place"), post(queues::join))
        .route(&at("/sales/{sale}/line"), get(queues::show))
        .route(&at("/sales/{sale}/draw"), get(draws::proof))
        .route(&at("/sales/{sale}/entry"), get(draws::show).merge(post(draws::enter)))
        .route(&at("/sales/{sale}/entry/withdraw"), post(draws::withdraw))
        .route(&at("/sales/{sale}/waitlist"), get(waitlist::show).merge(post(waitlist::join)))
        .route(&at("/sales/{sale}/waitlist/leave"), post(waitlist::leave))
        .route(&at("/sales/{sale}/eligibility"), get(eligibility::show))
        .route(&at("/sales/{sale}/code"), get(eligibility::show).merge(post(eligibility::redeem)))
        .route(&at("/login"), get(sign_in::login).merge(post(sign_in::log_in)))
        .route(&at("/register"), get(sign_in::registration).merge(post(sign_in::register)))
        .route(&at("/register/contact"), get(registration_contact::show).merge(post(registration_contact::request)))
        .route(&at("/register/contact/verify"), post(registration_contact::verify))
        .route(&at("/login/code"), post(sign_in::log_in_with_code))
        .route(&at("/logout"), post(sign_in::log_out))
        .route(&at("/recovery"), get(recovery::show).merge(post(recovery::request)))
        .route(&at("/recovery/password"), get(recovery::new_password).merge(post(recovery::set_password)))
        .route(&at("/mail"), get(mail_address::show).merge(post(mail_address::verify)))
        .route(&at("/account/mail"), post(mail_address::enter))
        .route(&at("/account/mail/remove"), post(mail_address::remove))
        .route(&at("/account"), get(account::show))
        .route(&at("/account/password"), post(account::change_password))
        .route(&at("/account/sessions/end"), post(account::end_all_sessions))
        .route(&at("/account/sessions/{session}/end"), post(account::end_session))
        .route(&at("/account/second-factor"), get(account::enrol).merge(post(account::set_second_factor)))
        .route(&at("/account/second-factor/remove"), post(account::remove_second_factor))
        .route(&at("/account/passkeys/{passkey}/remove"), post(account::remove_passkey))
        .route(&at("/account/export"), get(account::export))
        .route(&at("/account/delete"), post(account::delete))
        .route(&at("/packets/new"), get(packet_giving::new))
        .route(&at("/packets/{packet}"), get(packets::show))
        .route(&at("/packets/{packet}/claim"), post(packets::claim))
        .route(&at("/packets/{packet}/result"), get(packets::result))
        .route(&at("/packets/{packet}/given"), get(packet_giving::given))
        .route(&at("/wallet/top-ups"), post(wallet::top_up))
        .route(&at("/orders/{sale}/{order}"), get(orders::show))
        .route(&at("/orders/{sale}/{order}/address"), get(order_address::show))
        .route(&at("/orders/{sale}/{order}/cancel"), post(orders::cancel))
        .route(&at("/orders/{sale}/{order}/appeal"), post(orders::appeal))
        .route(&at("/account/addresses"), get(addresses::list))
        .route(&at("/account/addresses/new"), get(addresses::blank))
        .route(&at("/account/addresses/{address}"), get(addresses::edit).merge(post(addresses::change)))
        .route(&at("/account/addresses/{address}/default"), post(addresses::make_default))
        .route(&at("/account/addresses/{address}/delete"), post(addresses::delete))
}
