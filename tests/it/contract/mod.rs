//! The contract suite: what the shop promises on every rung.
//!
//! A test opens one shop, in which several promises are kept: those that mostly wait side by side, the others one after the
//! other. It prints a line for each and names those that are broken. `SECKILL_TEST_PROMISE=webhook` keeps only promises
//! whose names contain the word.

mod deposits;
mod draws;
mod eligibility;
mod notices;
mod orders;
pub mod packets;
pub mod payments;
mod queues;
mod reviews;
mod selling;
mod shutdown;
mod staff;
mod suite;
mod waitlist;
mod window;

use crate::support::{Plan, Rung};
use suite::{Scene, Suite, alone, one_by_one, side_by_side};

async fn sales_in_one_process(rung: Rung) {
    // Many claims of one user come at once.
    let mut suite = Suite::start(Plan::on(rung).await.set("SECKILL_USER_RATE", "1000")).await;
    side_by_side!(
        suite,
        window::nothing_is_sold_before_the_opening,
        window::scheduled_sale_opens_and_closes_on_time,
        window::administrator_pauses_resumes_tops_up_and_stops,
    );
    side_by_side!(
        suite,
        selling::user_limit_is_never_exceeded,
        selling::nobody_buys_before_the_moment_of_the_account,
        orders::cancelled_unit_is_sold_to_another_shopper,
        staff::packets_given_at_once_do_not_pass_the_bound_of_an_operator,
    );
    one_by_one!(
        suite,
        staff::simultaneous_edits_of_one_sale_are_all_kept,
        packets::packet_in_buckets_gives_away_every_share,
    );
    alone!(suite, shutdown::shutdown_under_load_is_quick_and_loses_no_order);
    suite.end().await;
}

async fn payments_in_one_process(rung: Rung) {
    let suite = Suite::start(Plan::on(rung).await).await;
    side_by_side!(
        suite,
        payments::checkout_payment_makes_the_order_paid,
        payments::wallet_is_topped_up_pays_and_receives_the_refund,
        payments::webhook_counts_once_and_only_with_a_valid_signature,
        payments::report_of_another_amount_pays_nothing_and_is_seen_by_staff,
        payments::payment_closes_when_its_order_ends,
        reviews::linked_orders_are_held_appealed_released_and_refunded,
    );
    one_by_one!(
        suite,
        payments::concurrent_payment_and_cancellation_have_one_winner,
        reviews::hold_against_payment_cancellation_and_refund_has_one_end,
    );
    suite.end().await;
}

async fn one_role_per_process(rung: Rung) {
    let plan = Plan::on(rung).await.one_role_per_process();
    let suite = Suite::start(plan.set("SECKILL_PAYMENT_WINDOW", notices::PAYMENT_WINDOW)).await;
    side_by_side!(
        suite,
        queues::places_are_called_in_their_order_and_nobody_buys_out_of_turn,
        draws::units_of_a_draw_go_to_the_first_ranks_and_then_to_the_next,
        waitlist::units_that_come_back_go_to_those_who_wait,
        eligibility::one_account_of_an_address_buys_and_none_without_a_code,
        deposits::deposits_are_taken_once_and_come_back_in_full,
        notices::urgent_messages_are_written_once_and_end_with_the_session,
    );
    one_by_one!(
        suite,
        selling::five_hundred_shoppers_get_exactly_one_hundred_units,
        packets::every_share_goes_to_one_user,
    );
    // Only Redis splits a sale.
    if rung.has_redis() {
        one_by_one!(
            suite,
            selling::six_buckets_in_small_lots_sell_exactly_their_units,
            selling::six_buckets_filled_at_once_sell_exactly_their_units,
            waitlist::units_of_buckets_go_to_those_who_wait,
        );
    }
    suite.end().await;
}

/// Orders and packets end within seconds.
async fn short_times(rung: Rung) {
    let plan = Plan::on(rung).await.set("SECKILL_PAYMENT_WINDOW", "3s").set("SECKILL_PACKET_LIFETIME", "3s");
    let mut suite = Suite::start(if rung.has_redis() { plan.one_role_per_process() } else { plan }).await;
    side_by_side!(
        suite,
        orders::expired_orders_return_their_units_to_the_sale,
        reviews::unpaid_held_order_expires_in_its_time,
        packets::expired_packet_returns_what_is_left,
    );
    alone!(suite, orders::payment_window_starts_when_the_order_becomes_unpaid);
    suite.end().await;
}

/// A few promises are enough with TLS: what differs is how the services are reached.
async fn with_tls() {
    let mut suite = Suite::start(Plan::on(Rung::Tls).await).await;
    side_by_side!(
        suite,
        selling::user_limit_is_never_exceeded,
        orders::cancelled_unit_is_sold_to_another_shopper,
        payments::checkout_payment_makes_the_order_paid,
    );
    one_by_one!(
        suite,
        selling::five_hundred_shoppers_get_exactly_one_hundred_units,
        packets::every_share_goes_to_one_user,
    );
    alone!(suite, shutdown::shutdown_under_load_is_quick_and_loses_no_order);
    suite.end().await;
}

/// The suite on one rung.
macro_rules! contract_tests {
    ($rung:expr) => {
        contract_tests! { $rung, sales_in_one_process, payments_in_one_process, one_role_per_process, short_times }
    };
    ($rung:expr, $($test:ident),+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                crate::contract::$test($rung).await;
            }
        )+
    };
}

mod sqlite {
    contract_tests!(super::Rung::Sqlite);
}

mod stack {
    mod postgres {
        contract_tests!(super::super::Rung::Postgres);
    }

    mod redis {
        contract_tests!(super::super::Rung::Redis);
    }

    mod rabbit {
        contract_tests!(super::super::Rung::Rabbit);
    }

    mod tls {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn a_few_promises() {
            crate::contract::with_tls().await;
        }
    }

    mod cluster {
        contract_tests!(super::super::Rung::Cluster);
    }
}
