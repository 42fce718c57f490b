//! The first things that the console shows, above the list of sales: four figures, and the first steps of a new shop. The
//! program finds out which steps are done. The list of steps goes when all are done, or when an owner puts it away.

use crate::prelude::*;
use crate::sales::form::CheckList;
use crate::sales::view::AdminSale;
use control::checklist::CheckState;
use control::today::Today;
use domain::ShopSettings;
use store::{AuditFilter, MAX_COUNTED_PENDING};
use words::{OverviewText, text};

#[derive(Debug, Template)]
#[template(path = "sales/console_overview.html")]
pub struct OverviewPart<'a> {
    pub chrome: &'a Chrome,
    pub today: &'a Today,
    /// The running and paused sales.
    pub live: &'a [AdminSale],
    pub password_is_enough: bool,
}

/// A figure that links to what it is about, with notes that may do so too.
struct Figure {
    key: &'static str,
    label: String,
    path: String,
    value: String,
    /// A moment is the value, instead of words.
    at: Option<Timestamp>,
    /// A class of the style sheet: `good`, `warn`, `bad` or `calm`.
    mood: &'static str,
    /// Words, and the path that they lead to; empty without one.
    notes: Vec<(String, String)>,
}

impl OverviewPart<'_> {
    fn text(&self) -> &'static OverviewText {
        &self.chrome.text().overview
    }

    fn link(&self, path: &str) -> String {
        console_link(path, self.chrome.locale)
    }

    fn counted(&self, count: i64) -> String {
        if count >= MAX_COUNTED_PENDING { fill(self.text().more, grouped(count)) } else { grouped(count) }
    }

    fn figures(&self) -> [Figure; 4] {
        [self.on_sale(), self.money(), self.next(), self.to_do()]
    }

    fn on_sale(&self) -> Figure {
        let t = self.text();
        let paused = self.live.iter().filter(|row| row.sale.state == SaleState::Paused).count();
        let note = if paused > 0 { fill(t.paused, paused) } else { t.running.to_owned() };
        Figure {
            key: "live",
            label: t.on_sale.to_owned(),
            path: self.link("/admin?state=live"),
            value: fill(t.sales, self.live.len()),
            at: None,
            mood: if paused > 0 { "warn" } else { "good" },
            notes: if self.live.is_empty() { Vec::new() } else { vec![(String::new(), note)] },
        }
    }

    /// The income of the day for owners. Others see how many orders wait for their payment.
    fn money(&self) -> Figure {
        let (t, pending) = (self.text(), &self.chrome.pending);
        let [unpaid, refunds] = [pending.unpaid_orders, pending.refunds].map(|count| self.counted(count));
        let paths = ["/admin/orders?status=unpaid", "/admin/orders?status=refund_pending"].map(|path| self.link(path));
        let [unpaid_path, refunds_path] = paths;
        let mut notes = vec![(unpaid_path.clone(), fill(t.unpaid, &unpaid))];
        if pending.refunds > 0 {
            notes.push((refunds_path, fill(t.refunds, refunds)));
        }
        let owned = |key, label: String, path, value| Figure { key, label, path, value, at: None, mood: "calm", notes };
        if !self.chrome.owns() {
            return owned("unpaid", t.unpaid_label.to_owned(), unpaid_path, unpaid);
        }
        let value = match self.today.revenue.as_deref() {
            None => self.chrome.text().computing.title.to_owned(),
            Some(none) if none.is_empty() => t.nothing_earned.to_owned(),
            Some(amounts) => amounts.iter().map(Money::to_string).collect::<Vec<_>>().join(" · "),
        };
        owned("money", fill(t.revenue, &self.today.zone), self.link("/admin/orders/books"), value)
    }

    /// The next sale, with the result of its checklist.
    fn next(&self) -> Figure {
        let t = self.text();
        let none = Figure {
            key: "next",
            label: t.next.to_owned(),
            path: self.link("/admin/calendar"),
            value: "–".to_owned(),
            at: None,
            mood: "calm",
            notes: vec![(String::new(), t.no_next.to_owned())],
        };
        let Some((row, checks)) = self.today.next.as_ref() else { return none };
        let list = CheckList { locale: self.chrome.locale, checks };
        let sale = row.sale.id;
        Figure {
            label: format!("{} · {}", t.next, row.goods.name.get(self.chrome.locale)),
            path: self.link(&format!("/admin/sales/{sale}")),
            at: row.sale.window.opens_at,
            mood: match list.worst_state() {
                CheckState::Ok => "good",
                CheckState::Warning => "warn",
                CheckState::NotOk => "bad",
            },
            notes: vec![(self.link(&format!("/admin/sales/{sale}/edit")) + "#checklist", list.summary())],
            ..none
        }
    }

    /// What waits for a person.
    fn to_do(&self) -> Figure {
        let (t, pending) = (self.text(), &self.chrome.pending);
        let all = [
            ("/admin/orders?parcel=to_pack&held=false", t.to_pack, pending.to_pack),
            ("/admin/orders?return=asked", t.returns, pending.returns),
            ("/admin/orders?show=approvals", t.approvals, pending.approvals),
            ("/admin/orders?show=payments", t.cases, pending.cases),
            ("/admin/questions", t.questions, pending.questions),
            ("/admin/system", t.dead, self.today.dead_letters.unwrap_or(0)),
        ];
        let waiting = || all.iter().filter(|(.., count)| *count > 0);
        let notes: Vec<_> =
            waiting().map(|(path, words, count)| (self.link(path), fill(words, self.counted(*count)))).collect();
        Figure {
            key: "to_do",
            label: t.title.to_owned(),
            path: self.link(waiting().next().map_or("/admin/orders", |(path, ..)| *path)),
            value: if notes.is_empty() {
                t.all_well.to_owned()
            } else {
                grouped(waiting().map(|(.., n)| n).sum::<i64>())
            },
            at: None,
            mood: if notes.is_empty() { "good" } else { "warn" },
            notes,
        }
    }
}

/// The name under which rehearsals change sales.
const REHEARSAL: &str = "rehearsal";

/// One step: what to do, the page where it is done, and whether it is.
#[derive(Debug, Clone)]
pub struct FirstStep {
    pub words: &'static str,
    pub path: String,
    pub is_done: bool,
}

/// The steps for an owner; empty for others, and when there is nothing left to do.
pub async fn first_steps(
    shop: &Shop,
    visitor: &Visitor,
    has_goods: bool,
    has_sales: bool,
) -> Result<Vec<FirstStep>, Problem> {
    let settings = &visitor.shop;
    let Some(session) = visitor.session.as_ref().filter(|_| visitor.chrome().owns() && !settings.knows_steps) else {
        return Ok(Vec::new());
    };
    let Some(user) = shop.store.accounts().user(session.user_id).await? else { return Ok(Vec::new()) };
    let has_factor =
        user.second_factor.is_some() || !shop.store.credentials().passkeys_of(session.user_id).await?.is_empty();
    let is_logged = async |actor: &str, action: &str| {
        let filter = AuditFilter { actor: actor.to_owned(), action: action.to_owned(), ..AuditFilter::default() };
        Ok::<bool, StoreError>(!shop.store.audit_log().list(&filter, None, 1).await?.is_empty())
    };
    let has_own_password = is_logged(&user.username, AuditAction::ChangePassword.as_str()).await?;
    let has_rehearsed = is_logged(REHEARSAL, "").await?;
    let is_named =
        settings.name != ShopSettings::default().name && (settings.logo.is_some() || !settings.mark.is_empty());
    let takes_payments = shop.payments.is_online() && !shop.payments.is_test();
    let (t, locale) = (&text(visitor.locale).overview, visitor.locale);
    let console = |path: &str| console_link(&format!("/admin{path}"), locale);
    let steps = [
        (t.step_password, format!("/{locale}/account#password-form"), has_own_password),
        (t.step_factor, format!("/{locale}/account#second-factor"), has_factor),
        (t.step_name, console("/shop"), is_named),
        (t.step_mail, console("/system?show=mail"), shop.sends_mail),
        (t.step_payment, console("/orders?show=payments"), takes_payments),
        (t.step_product, console("/goods/new"), has_goods),
        (t.step_sale, console("/sales/new"), has_sales),
        (t.step_rehearsal, console("/calendar"), has_rehearsed),
    ];
    let steps = steps.map(|(words, path, is_done)| FirstStep { words, path, is_done });
    let is_over = steps.iter().all(|step| step.is_done);
    Ok(if is_over { Vec::new() } else { steps.into() })
}

/// Puts the list away for all owners.
pub async fn dismiss((State(shop), staff, visitor): StaffVisit<ManageStaff>) -> Answer {
    let settings = shop.store.shop_settings().get().await?;
    let after = ShopSettings { knows_steps: true, ..settings };
    let saved = shop.store.shop_settings().put(after, staff.actor(), shop.clock.now()).await?;
    saved.ok_or(Code::ChangedMeanwhile)?;
    shop.catalogue.refresh().await?;
    Ok(see_other(&list_path(visitor.locale)))
}

fn list_path(locale: Locale) -> String {
    format!("/admin?lang={locale}")
}
