//! The fields that the audit log records, with their names and the words for their values.

use crate::prelude::*;
use domain::{ApprovalStatus, CaseKind, QuestionStatus, RefundKind};
use words::AuditText;

/// How the value of a field reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldKind {
    Plain,
    Money,
    /// Minor units of the currency of wallets.
    Fen,
    Time,
    Flag,
    Seconds,
    Milliseconds,
    /// The length of a list.
    Length,
    /// Too long for a line, which says only that it changed.
    Long,
    SaleState,
    Mode,
    OrderStatus,
    PaymentStatus,
    QuestionStatus,
    Approval,
    RefundKind,
    CaseKind,
    Role,
    Parcel,
    /// The id of a subject of this kind, which has a page.
    Link(&'static str),
}

/// A field that has words.
pub(crate) struct Field {
    pub label: &'static str,
    pub kind: FieldKind,
    /// Whether the line about a new or a deleted record shows it. Other fields matter only if they change.
    pub is_main: bool,
    /// The place of the field in a line.
    pub place: usize,
}

/// Whether a new or a deleted record shows a field.
const MAIN: bool = true;
const MINOR: bool = false;

type Row = (&'static str, &'static str, fn(&AuditText) -> &'static str, FieldKind, bool);

/// The rows: subject (empty for any), and path of each field that has words, in the order in which a line shows them. A
/// row for one subject comes before the row for any.
#[rustfmt::skip]
static FIELDS: &[Row] = &{
    use FieldKind::*;
    [
        ("packet", "total", |t| t.f_amount, Fen, MAIN),
        ("packet", "count", |t| t.f_count, Plain, MAIN),
        ("packet", "greeting", |t| t.f_greeting, Plain, MAIN),
        ("packet", "expires_at", |t| t.f_closes, Time, MAIN),
        ("books", "from", |t| t.f_from, Time, MAIN),
        ("books", "to", |t| t.f_until, Time, MAIN),
        ("orders", "masked", |t| t.f_masked, Flag, MAIN),
        ("dead-letter", "reason", |t| t.f_letter_reason, Plain, MAIN),
        ("payment", "status", |t| t.f_status, PaymentStatus, MAIN),
        ("payment", "kind", |t| t.f_kind, CaseKind, MAIN),
        ("categories", "order", |t| t.f_order_of_all, Plain, MAIN),
        ("shipping", "rates", |t| t.f_rates, Plain, MAIN),
        ("shop", "mark", |t| t.f_mark, Plain, MAIN),
        ("shop", "logo", |t| t.f_logo, Long, MAIN),
        ("shop", "colour", |t| t.f_colour, Plain, MAIN),
        ("shop", "time_zone", |t| t.f_time_zone, Plain, MAIN),
        ("shop", "languages", |t| t.f_languages, Plain, MAIN),
        ("shop", "currency", |t| t.f_currency, Plain, MAIN),
        ("shop", "sender", |t| t.f_sender, Plain, MAIN),
        ("shop", "ships_within_days", |t| t.f_ships_within, Plain, MAIN),
        ("shop", "tax_number", |t| t.f_tax_number, Plain, MAIN),
        ("category", "goods", |t| t.f_products, Plain, MAIN),
        ("question", "answer", |t| t.f_answer, Plain, MAIN),
        ("sale", "reason", |t| t.f_reason, Plain, MAIN),
        ("sale", "entry", |t| t.f_entry, Plain, MAIN),
        ("sale", "held", |t| t.f_held, Flag, MAIN),
        ("sale", "user_id", |t| t.f_owner, Link("user"), MAIN),
        ("token", "scopes", |t| t.f_scopes, Plain, MAIN),
        ("token", "networks", |t| t.f_networks, Plain, MAIN),
        ("token", "rate", |t| t.f_rate, Plain, MAIN),
        ("question", "status", |t| t.f_status, QuestionStatus, MAIN),
        ("question", "goods_id", |t| t.f_goods, Link("goods"), MAIN),
        ("", "goods_id", |t| t.f_goods, Link("goods"), MINOR),
        ("", "category_id", |t| t.f_category, Link("category"), MINOR),
        ("", "variant_of", |t| t.f_variant_of, Link("goods"), MINOR),
        ("", "variant.zh", |t| t.f_variant_zh, Plain, MINOR),
        ("", "variant.en", |t| t.f_variant_en, Plain, MINOR),
        ("", "name.zh", |t| t.f_name_zh, Plain, MINOR),
        ("", "name.en", |t| t.f_name_en, Plain, MINOR),
        ("", "description.zh", |t| t.f_text_zh, Long, MINOR),
        ("", "text.zh", |t| t.f_text_zh, Long, MINOR),
        ("", "description.en", |t| t.f_text_en, Long, MINOR),
        ("", "text.en", |t| t.f_text_en, Long, MINOR),
        ("", "pictures", |t| t.f_pictures, Length, MINOR),
        ("", "price", |t| t.f_price, Money, MAIN),
        ("", "list_price", |t| t.f_list_price, Money, MAIN),
        ("", "total", |t| t.f_total, Plain, MAIN),
        ("", "per_user_limit", |t| t.f_limit, Plain, MAIN),
        ("", "mode", |t| t.f_mode, Mode, MAIN),
        ("", "opens_at", |t| t.f_opens, Time, MAIN),
        ("", "closes_at", |t| t.f_closes, Time, MAIN),
        ("", "buckets", |t| t.f_buckets, Plain, MINOR),
        ("", "lot", |t| t.f_lot, Plain, MINOR),
        ("", "spread_ms", |t| t.f_spread, Milliseconds, MINOR),
        ("", "queue_prequeue_s", |t| t.f_prequeue, Seconds, MINOR),
        ("", "queue_gather_s", |t| t.f_gather, Seconds, MINOR),
        ("", "queue_seat_s", |t| t.f_seat, Seconds, MINOR),
        ("", "draw_window_s", |t| t.f_draw_window, Seconds, MINOR),
        ("", "draw_review_s", |t| t.f_draw_review, Seconds, MINOR),
        ("", "accounts_before", |t| t.f_accounts_before, Time, MAIN),
        ("", "verified_contact", |t| t.f_verified_contact, Flag, MAIN),
        ("", "one_per_contact", |t| t.f_one_per_contact, Flag, MAIN),
        ("", "one_per_address", |t| t.f_one_per_address, Flag, MAIN),
        ("", "invitation", |t| t.f_invitation, Flag, MAIN),
        ("", "deposit", |t| t.f_deposit, Money, MAIN),
        ("", "parcel", |t| t.f_parcel, Parcel, MAIN),
        ("", "carrier", |t| t.f_carrier, Plain, MAIN),
        ("", "number", |t| t.f_number, Plain, MAIN),
        ("", "restocked", |t| t.f_restocked, Flag, MAIN),
        ("", "state", |t| t.f_state, SaleState, MAIN),
        ("", "status", |t| t.f_status, OrderStatus, MAIN),
        ("", "user_id", |t| t.f_owner, Link("user"), MAIN),
        ("", "account", |t| t.f_owner, Link("user"), MAIN),
        ("", "sale_id", |t| t.f_sale, Link("sale"), MAIN),
        ("", "order", |t| t.f_order, Link("order"), MAIN),
        ("", "reason", |t| t.f_reason, Plain, MAIN),
        ("", "message", |t| t.f_message, Plain, MAIN),
        ("", "amount", |t| t.f_amount, Money, MAIN),
        ("", "kind", |t| t.f_kind, RefundKind, MAIN),
        ("", "approval", |t| t.f_approval, Approval, MAIN),
        ("", "requested_by", |t| t.f_requested_by, Plain, MAIN),
        ("", "expires_at", |t| t.f_expires, Time, MAIN),
        ("", "role", |t| t.f_role, Role, MAIN),
        ("", "blocked", |t| t.f_blocked, Flag, MAIN),
        ("", "second_factor", |t| t.f_second_factor, Flag, MAIN),
        ("", "passkeys", |t| t.f_passkeys, Plain, MAIN),
        ("", "address", |t| t.f_address, Plain, MAIN),
        ("", "reference", |t| t.f_reference, Plain, MAIN),
        ("", "wrong", |t| t.f_wrong, Plain, MAIN),
        ("", "batch", |t| t.f_batch, Plain, MAIN),
        ("", "invitations", |t| t.f_codes, Plain, MAIN),
        ("", "round", |t| t.f_round, Plain, MAIN),
        ("", "per_minute", |t| t.f_per_minute, Plain, MAIN),
    ]
};

/// The field with this path in the record of a subject, such as `opens_at` of a `sale`. `None` for a field without
/// words, which the line shows among its raw fields.
pub(crate) fn field(t: &AuditText, subject: &str, path: &str) -> Option<Field> {
    let is_it = |row: &&Row| row.1 == path && (row.0 == subject || row.0.is_empty());
    let (place, row) = FIELDS.iter().enumerate().find(|(_, row)| is_it(row))?;
    Some(Field { label: row.2(t), kind: row.3, is_main: row.4, place })
}

/// A value as text. A value that does not fit its kind is shown as the record has it.
pub(crate) fn value_words(text: &Text, kind: FieldKind, value: &Value) -> String {
    let t = &text.audit;
    let stored = plain(value);
    match kind {
        FieldKind::Money => serde_json::from_value::<Money>(value.clone()).map_or(stored, |money| money.to_string()),
        FieldKind::Fen => value.as_i64().map_or(stored, |fen| Money::new(fen, Currency::CNY).to_string()),
        FieldKind::Flag => value.as_bool().map_or(stored, |is_set| (if is_set { t.yes } else { t.no }).to_owned()),
        FieldKind::Seconds => fill(t.seconds, stored),
        FieldKind::Milliseconds => fill(t.milliseconds, stored),
        FieldKind::Length => value.as_array().map_or(stored, |list| list.len().to_string()),
        FieldKind::Long => t.changed.to_owned(),
        FieldKind::SaleState => named(stored, |state: SaleState| text.state(&state)),
        FieldKind::Mode => named(stored, |mode: ModeName| match mode {
            ModeName::Rush => text.draws.mode_rush,
            ModeName::WaitingRoom => text.waiting_room_console.mode_waiting_room,
            ModeName::Draw => text.draws.mode_draw,
        }),
        FieldKind::OrderStatus => named(stored, |status: OrderStatus| text.status(&status)),
        FieldKind::PaymentStatus => named(stored, |status: PaymentStatus| text.payment_status(&status)),
        FieldKind::QuestionStatus => named(stored, |status: QuestionStatus| text.questions.status(status)),
        FieldKind::Approval => named(stored, |status: ApprovalStatus| text.approval_status(&status)),
        FieldKind::RefundKind => named(stored, |kind: RefundKind| text.refund_kind(&kind)),
        FieldKind::CaseKind => named(stored, |kind: CaseKind| text.case_kind(&kind).0),
        FieldKind::Parcel => named(stored, |state: ParcelState| text.parcel(&state)),
        FieldKind::Role => named(stored, |role: Role| text.role(&role)),
        FieldKind::Plain | FieldKind::Time | FieldKind::Link(_) => stored,
    }
}

/// The words for a stored value of a type; the value itself if the type does not have it.
fn named<T: FromStr>(stored: String, words: impl Fn(T) -> &'static str) -> String {
    stored.parse().map_or(stored, |value| words(value).to_owned())
}

/// A value without interpretation; empty for a missing one.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}
