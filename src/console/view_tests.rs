use askama::Template;

use crate::goods::page::{AdminGoodsForm, UploadError};
use crate::lists::saved_views::{ListBar, ListQuery};
use crate::log::line::{LogNames, LogWords};
use crate::log::{AdminLogPage, AuditLogQuery};
use crate::sales::form::{AdminSaleForm, SaleFormState};
use crate::sales::form_input::SaleForm;
use crate::sales::view::{AdminSale, AdminSalesPage, SaleScope, SaleTabCounts, admin_notice};
use domain::{Bilingual, ConsoleList, Goods, GoodsId, Locale, Picture, SaleId, SaleState};
use pages::Chrome;
use testing::samples::{at, sample};
use web::FieldError;
use web::views::test_chrome;

pub fn chrome(locale: Locale, path: &str) -> Chrome {
    let present = words::Present::At(at("2026-11-21T12:30:00Z"));
    Chrome { present, username: Some("admin".into()), role: domain::Role::Admin, ..test_chrome(locale, path) }
}

pub fn admin_sale(id: i64, name: &str, state: SaleState) -> AdminSale {
    let (mut sale, _) = sample(id, name);
    sale.state = state;
    AdminSale {
        phase: sale.phase(at("2026-11-21T12:30:00Z")),
        sale,
        goods_name: name.into(),
        picture: None,
        booked: Some(61),
        unpaid: 20,
        paid_units: 38,
    }
}

fn sale_form(locale: Locale, errors: Vec<FieldError>) -> AdminSaleForm {
    AdminSaleForm {
        chrome: chrome(locale, "/admin/sales/new"),
        sale: None,
        announced: Some(sample(2, "Shoes").0),
        checklist: Vec::new(),
        goods: vec![sample(1, "Phone").1, sample(2, "Shoes").1],
        form: SaleForm {
            goods_id: "2".into(),
            price: "1999.00".into(),
            total: "-5".into(),
            per_user_limit: "1".into(),
            opens_at: "2026-11-21T12:00:00Z".into(),
            closes_at: "2026-11-21T10:00".into(),
            ..SaleForm::default()
        },
        state: SaleFormState { errors, ..SaleFormState::default() },
    }
}

fn bar(locale: Locale, list: ConsoleList) -> ListBar {
    ListBar::new(locale, ListQuery::read(list, ""), Vec::new(), "")
}

#[test]
fn sale_offers_the_actions_of_its_state() {
    for (state, start, pause, resume, stop) in [
        (SaleState::Draft, true, false, false, false),
        (SaleState::Scheduled, true, false, false, true),
        (SaleState::Live, false, true, false, true),
        (SaleState::Paused, false, false, true, true),
        (SaleState::Ended, false, false, false, false),
    ] {
        let page = AdminSalesPage {
            chrome: chrome(Locale::En, "/admin"),
            groups: AdminSalesPage::grouped(vec![admin_sale(7, "Phone", state)], vec![], SaleScope::All),
            counts: SaleTabCounts { current: 1, drafts: 0, past: 0 },
            payments: "sandbox".into(),
            goods: vec![],
            q: String::new(),
            scope: SaleScope::All,
            is_later_page: false,
            next: None,
            warning: None,
            other: None,
            done: None,
            today: None,
            password_is_enough: false,
            steps: Vec::new(),
            takes_crowds: true,
            bar: bar(Locale::En, ConsoleList::Sales),
        };
        let html = page.render().unwrap();
        let offers = |action: &str| html.contains(&format!("action=\"/admin/sales/7/{action}?lang=en"));
        assert_eq!(
            (offers("start"), offers("pause"), offers("resume"), offers("stop")),
            (start, pause, resume, stop),
            "{state}"
        );
        assert_eq!(offers("top-up"), state != SaleState::Ended);
        assert_eq!(
            html.matches("name=\"confirm\" value=\"yes\"").count(),
            html.matches("method=\"post\" action=\"/admin/sales/7").count()
        );
    }
}

#[test]
fn forms_keep_values_and_show_errors() {
    let errors = vec![FieldError { field: "total", code: "bad_number" }];
    let html = sale_form(Locale::En, errors).render().unwrap();
    for part in ["value=\"1999.00\"", "value=\"-5\"", "value=\"2026-11-21T12:00:00\"", "value=\"2026-11-21T10:00\""] {
        assert!(html.contains(part), "{part}");
    }
    assert!(html.contains("whole number above zero") && html.contains("aria-invalid=\"true\""));
    assert!(html.contains("<option value=\"2\" selected>"));
    let text = "</textarea><script>".to_owned();
    let goods = AdminGoodsForm {
        chrome: chrome(Locale::Zh, "/admin/goods/3"),
        id: Some(GoodsId(3)),
        goods: Goods {
            name: Bilingual::new(text.clone(), ""),
            description: Bilingual::new(text.clone(), text.clone()),
            category_id: None,
            variant_of: None,
            variant: Bilingual::new("", ""),
            pictures: vec![Picture::drawing(text.clone()), Picture::drawing("phone-640.webp")],
            ..sample(3, "").1
        },
        categories: Vec::new(),
        products: Vec::new(),
        variants: Vec::new(),
        version: "7".to_owned(),
        others: None,
        preview: true,
        errors: vec![FieldError { field: "name_en", code: "required" }],
        uploads: vec![UploadError { file: text, code: "picture_broken" }],
    };
    let html = goods.render().unwrap();
    assert_eq!(html.matches("<script").count(), 5, "only the scripts of the page");
    assert!(html.contains("图片损坏") && html.contains("必填") && html.contains("action=\"/admin/goods/3?lang=zh\""));
}

#[test]
fn audit_log_escapes_values() {
    let row = |text: &str| store::AuditRow {
        id: text.into(),
        at: at("2026-11-21T12:00:00Z"),
        actor: text.into(),
        action: text.into(),
        subject: text.into(),
        before: text.into(),
        after: text.into(),
    };
    let names = LogNames::default();
    let page = |locale, rows: Vec<_>| AdminLogPage {
        chrome: chrome(locale, "/admin/log"),
        lines: rows.into_iter().map(|row| LogWords::new(locale, &names).line(row)).collect(),
        older: None,
        actions: vec!["<script>".into()],
        filtered: false,
        query: AuditLogQuery {
            actor: "<script>".into(),
            subject: "<script>".into(),
            from: "<script>".into(),
            ..AuditLogQuery::default()
        },
        errors: Vec::new(),
        bar: bar(locale, ConsoleList::Log),
    };
    let html = page(Locale::En, vec![row("<script>"), row("\"'&")]).render().unwrap();
    assert_eq!(html.matches("<script").count(), 2, "only the scripts of the page");
    assert!(page(Locale::Zh, Vec::new()).render().unwrap().contains("还没有操作记录"));
}

#[test]
fn notice_says_how_far_the_stock_has_a_change() {
    let notice = |locale, applied| admin_notice(locale, "paused", Some(SaleId(7)), applied).unwrap();
    assert_eq!(notice(Locale::En, ""), "Sale 7 paused.");
    assert_eq!(notice(Locale::En, "6-8"), "Sale 7 paused. Applied to 6 of 8 parts; the rest is retried.");
    assert_eq!(notice(Locale::Zh, "6-8"), "场次 7 已暂停。已应用到 6 个分桶（共 8 个），其余部分正在自动重试。");
    assert_eq!(notice(Locale::En, "<script>-8"), "Sale 7 paused.");
}

#[test]
fn words_of_an_alarm_name_its_bound() {
    use control::cockpit::alarms::{MAX_P99_MS, MIN_LEFT_PERCENT};
    for locale in Locale::ALL {
        assert!(words::text(locale).cockpit.alarm_slow.contains(&MAX_P99_MS.to_string()));
    }
    assert_eq!(MIN_LEFT_PERCENT, 10, "the words say nine tenths");
}
