//! What the shop promises, whatever it stands on: one suite, held against every rung.

mod life;
mod money;
pub mod packets;
mod selling;
mod stopping;
mod window;

use crate::support::Rung;

/// One test of each promise, for one rung.
macro_rules! kept_on {
    ($rung:expr, $($part:ident::$promise:ident,)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                crate::contract::$part::$promise($rung).await;
            }
        )+
    };
    ($rung:expr) => {
        kept_on! {
            $rung,
            selling::five_hundred_who_want_one_hundred_get_exactly_those,
            selling::nobody_gets_more_than_the_limit,
            window::nothing_is_sold_before_the_start,
            window::a_schedule_opens_and_closes_a_sale,
            window::an_administrator_pauses_resumes_tops_up_and_stops,
            life::an_order_is_unpaid_soon_and_has_its_whole_time_from_then_on,
            life::a_cancelled_unit_is_sold_to_somebody_else,
            life::unpaid_orders_end_and_their_units_are_sold_again,
            money::whoever_pays_at_the_cashier_has_a_paid_order,
            money::pay_and_cancel_together_have_one_winner,
            money::a_wallet_is_filled_pays_and_gets_its_money_back,
            money::a_webhook_counts_once_and_only_if_it_is_genuine,
            packets::every_share_goes_to_one_person,
            packets::a_packet_that_is_over_gives_back_what_is_left,
            packets::a_rain_in_buckets_is_given_away_to_the_last_share,
            stopping::a_stop_in_the_rush_is_quick_and_loses_no_order,
        }
    };
}

/// Where a sale can be split, that as well.
macro_rules! kept_in_buckets_on {
    ($rung:expr) => {
        kept_on!($rung);
        kept_on! {
            $rung,
            selling::five_hundred_get_exactly_what_six_buckets_have_in_small_lots,
            selling::five_hundred_get_exactly_what_six_buckets_have_at_once,
        }
    };
}

mod sqlite {
    kept_on!(super::Rung::Sqlite);
}

mod stack {
    mod postgres {
        kept_on!(super::super::Rung::Postgres);
    }

    mod redis {
        kept_in_buckets_on!(super::super::Rung::Redis);
    }

    mod rabbit {
        kept_in_buckets_on!(super::super::Rung::Rabbit);
    }

    mod cluster {
        kept_in_buckets_on!(super::super::Rung::Cluster);
    }
}
