//! The contract suite: what the shop promises on every rung.

mod deposits;
mod draws;
mod eligibility;
mod holds;
mod notices;
mod orders;
pub mod packets;
pub mod payments;
mod reservations;
pub mod selling;
mod shutdown;
mod staff;
mod waiting_rooms;
mod waitlist;
mod window;

use crate::support::Rung;

/// One test per promise, for one rung.
macro_rules! contract_tests {
    ($rung:expr, $($part:ident::$promise:ident,)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                crate::contract::$part::$promise($rung).await;
            }
        )+
    };
    ($rung:expr) => {
        contract_tests! {
            $rung,
            selling::five_hundred_shoppers_get_exactly_one_hundred_units,
            selling::user_limit_is_never_exceeded,
            selling::nobody_buys_before_the_moment_of_the_account,
            window::nothing_is_sold_before_the_opening,
            window::scheduled_sale_opens_and_closes_on_time,
            window::administrator_pauses_resumes_tops_up_and_stops,
            orders::payment_window_starts_when_the_order_becomes_unpaid,
            orders::cancelled_unit_is_sold_to_another_shopper,
            orders::expired_orders_return_their_units_to_the_sale,
            reservations::reservation_is_there_at_every_moment_of_its_way,
            reservations::reservations_end_once_and_every_step_may_be_repeated,
            payments::checkout_payment_makes_the_order_paid,
            payments::concurrent_payment_and_cancellation_have_one_winner,
            payments::wallet_is_topped_up_pays_and_receives_the_refund,
            payments::webhook_counts_once_and_only_with_a_valid_signature,
            payments::report_of_another_amount_pays_nothing_and_is_seen_by_staff,
            payments::payment_closes_when_its_order_ends,
            packets::every_share_goes_to_one_user,
            packets::expired_packet_returns_what_is_left,
            packets::packet_in_buckets_gives_away_every_share,
            staff::simultaneous_edits_of_one_sale_are_all_kept,
            staff::packets_given_at_once_do_not_pass_the_bound_of_an_operator,
            waiting_rooms::places_are_called_in_their_order_and_nobody_buys_out_of_turn,
            draws::units_of_a_draw_go_to_the_first_ranks_and_then_to_the_next,
            waitlist::units_that_come_back_go_to_those_who_wait,
            eligibility::one_account_of_an_address_buys_and_none_without_a_code,
            deposits::deposits_are_taken_once_and_come_back_in_full,
            notices::urgent_messages_are_written_once_and_end_with_the_session,
            holds::linked_orders_are_held_appealed_released_and_refunded,
            holds::hold_against_payment_cancellation_and_refund_has_one_end,
            holds::unpaid_held_order_expires_in_its_time,
            holds::parcel_is_sent_or_its_order_refunded_and_never_both,
            holds::goods_of_a_return_are_received_once,
            shutdown::shutdown_under_load_is_quick_and_loses_no_order,
        }
    };
}

/// The same promises, and the promises about split sales.
macro_rules! bucket_contract_tests {
    ($rung:expr) => {
        contract_tests!($rung);
        contract_tests! {
            $rung,
            selling::six_buckets_in_small_lots_sell_exactly_their_units,
            selling::six_buckets_filled_at_once_sell_exactly_their_units,
            waitlist::units_of_buckets_go_to_those_who_wait,
        }
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
        bucket_contract_tests!(super::super::Rung::Redis);
    }

    mod rabbit {
        bucket_contract_tests!(super::super::Rung::Rabbit);
    }

    /// A few promises are enough, because only the connections to the services differ.
    mod tls {
        contract_tests! {
            super::super::Rung::Tls,
            selling::five_hundred_shoppers_get_exactly_one_hundred_units,
            orders::cancelled_unit_is_sold_to_another_shopper,
            payments::checkout_payment_makes_the_order_paid,
            packets::every_share_goes_to_one_user,
            shutdown::shutdown_under_load_is_quick_and_loses_no_order,
        }
    }

    mod cluster {
        bucket_contract_tests!(super::super::Rung::Cluster);
    }
}
