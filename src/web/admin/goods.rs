//! The packet_sync of goods: finding them, putting them away, and the form that makes and changes them.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::domain::picture::MOST_PICTURES;
use crate::domain::{Bilingual, Goods, GoodsId, Locale, Picture};
use crate::i18n;
use crate::store::{GoodsDraft, GoodsRefusal};
use crate::web::Shop;
use crate::web::admin::goods_upload::{Sent, Upload};
use crate::web::extract::session::{Look, RunSales, Staff};
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, PathIds, Query};
use crate::web::pages::{personal, see_other};
use crate::web::problem::{Code, Problem};
use crate::web::shared::FieldError;
use crate::web::shared::validation::{check_description, check_name};
use crate::web::views::{AdminGoodsForm, AdminGoodsList, UploadComplaint};

/// Goods that the list shows; a search finds the others.
const SHOWN: usize = 100;

/// What to list, and what was just done.
#[derive(Debug, Default, Deserialize)]
pub struct Wanted {
    #[serde(default)]
    q: String,
    #[serde(default)]
    archived: String,
    #[serde(default)]
    done: String,
    goods: Option<GoodsId>,
}

pub async fn list(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    visitor: Visitor,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
    show_list(&shop, &visitor, wanted, StatusCode::OK, None).await
}

async fn show_list(
    shop: &Shop,
    visitor: &Visitor,
    wanted: Wanted,
    status: StatusCode,
    warning: Option<String>,
) -> Result<Response, Problem> {
    let all = shop.store.all_goods().await?;
    let done = wanted.goods.and_then(|id| all.iter().find(|goods| goods.id == id));
    let done = done.map(|goods| (wanted.done, goods.name.get(visitor.locale).to_owned()));
    let with_archived = !wanted.archived.is_empty();
    let (query, archived) = (wanted.q.trim().to_lowercase(), all.iter().filter(|goods| goods.is_archived()).count());
    let matches = |goods: &Goods| {
        (with_archived || !goods.is_archived())
            && (goods.id.to_string() == query
                || [&goods.name.zh, &goods.name.en].iter().any(|name| name.to_lowercase().contains(&query)))
    };
    // Newest first: what one has just made is what one looks for.
    let mut goods: Vec<Goods> = all.into_iter().rev().filter(matches).collect();
    let more = goods.len() > SHOWN;
    goods.truncate(SHOWN);
    let mut chrome = visitor.chrome();
    chrome.path = list_path(visitor.locale);
    let query = wanted.q.trim().to_owned();
    personal(status, &AdminGoodsList { chrome, goods, query, with_archived, archived, more, done, warning })
}

fn list_path(locale: Locale) -> String {
    format!("/admin/goods?lang={locale}")
}

/// The list, with a word about what was done.
fn done(visitor: &Visitor, what: &str, id: GoodsId) -> Response {
    see_other(&format!("{}&done={what}&goods={id}", list_path(visitor.locale)))
}

#[derive(Deserialize)]
pub struct Confirmation {
    #[serde(default)]
    confirm: String,
}

type Order = (State<Arc<Shop>>, Staff<RunSales>, Visitor, PathIds<GoodsId>);

pub async fn archive(order: Order, Form(form): Form<Confirmation>) -> Result<Response, Problem> {
    put_away(order, &form, true).await
}

pub async fn unarchive(order: Order, Form(form): Form<Confirmation>) -> Result<Response, Problem> {
    put_away(order, &form, false).await
}

async fn put_away(
    (State(shop), staff, visitor, PathIds(id)): Order,
    form: &Confirmation,
    archive: bool,
) -> Result<Response, Problem> {
    let warn = async |code: Code, words: &str| {
        let warning = i18n::problem(words).text(visitor.locale).to_owned();
        let archived = if archive { String::new() } else { "1".to_owned() };
        show_list(&shop, &visitor, Wanted { archived, ..Wanted::default() }, code.status(), Some(warning)).await
    };
    if form.confirm != "yes" {
        return warn(Code::Invalid, "not_confirmed").await;
    }
    match shop.sales_admin.archive_goods(id, archive, staff.actor()).await {
        Ok(_) => Ok(done(&visitor, if archive { "archived" } else { "unarchived" }, id)),
        Err(GoodsRefusal::OnSale) => warn(Code::GoodsOnSale, Code::GoodsOnSale.as_str()).await,
        Err(refusal) => Err(refusal.into()),
    }
}

pub async fn blank(State(shop): State<Arc<Shop>>, _: Staff<Look>, visitor: Visitor) -> Result<Response, Problem> {
    show_form(&visitor, StatusCode::OK, FormState::of(blank_goods(&shop), None))
}

pub async fn show(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    visitor: Visitor,
    PathIds(id): PathIds<GoodsId>,
) -> Result<Response, Problem> {
    let goods = shop.store.goods(id).await?.ok_or(Code::NotFound)?;
    show_form(&visitor, StatusCode::OK, FormState::of(goods, Some(id)))
}

pub async fn create(
    State(shop): State<Arc<Shop>>,
    staff: Staff<RunSales>,
    visitor: Visitor,
    sent: Sent,
) -> Result<Response, Problem> {
    put(&shop, &staff, &visitor, None, sent).await
}

pub async fn edit(
    State(shop): State<Arc<Shop>>,
    staff: Staff<RunSales>,
    visitor: Visitor,
    PathIds(id): PathIds<GoodsId>,
    sent: Sent,
) -> Result<Response, Problem> {
    put(&shop, &staff, &visitor, Some(id), sent).await
}

/// The form as it stands.
struct FormState {
    id: Option<GoodsId>,
    goods: Goods,
    preview: bool,
    errors: Vec<FieldError>,
    uploads: Vec<UploadComplaint>,
}

impl FormState {
    fn of(goods: Goods, id: Option<GoodsId>) -> FormState {
        FormState { id, goods, preview: false, errors: Vec::new(), uploads: Vec::new() }
    }
}

/// Goods as they are before anything is entered.
fn blank_goods(shop: &Shop) -> Goods {
    let empty = || Bilingual::new("", "");
    Goods {
        id: GoodsId(0),
        name: empty(),
        description: empty(),
        pictures: Vec::new(),
        updated_at: shop.clock.now(),
        archived_at: None,
    }
}

async fn put(
    shop: &Shop,
    staff: &Staff<RunSales>,
    visitor: &Visitor,
    id: Option<GoodsId>,
    sent: Sent,
) -> Result<Response, Problem> {
    let goods = match id {
        Some(id) => shop.store.goods(id).await?.ok_or(Code::NotFound)?,
        None => blank_goods(shop),
    };
    let preview = sent.preview;
    let mut state = FormState::of(goods, id);
    state.goods.name = Bilingual::new(sent.name[0].trim(), sent.name[1].trim());
    state.goods.description = Bilingual::new(sent.description[0].trim(), sent.description[1].trim());
    state.errors = check_name(&state.goods.name);
    state.errors.extend(check_description(&state.goods.description));
    hang(shop, &mut state, sent).await?;
    if !state.errors.is_empty() || !state.uploads.is_empty() {
        return show_form(visitor, StatusCode::UNPROCESSABLE_ENTITY, state);
    }
    if preview {
        return show_form(visitor, StatusCode::OK, FormState { preview, ..state });
    }
    let Goods { name, description, pictures, .. } = state.goods;
    let draft = GoodsDraft { name: Some(name), description: Some(description), pictures: Some(pictures) };
    let goods = shop.sales_admin.put_goods(id, draft, staff.actor()).await?.ok_or(Code::NotFound)?;
    Ok(done(visitor, if id.is_some() { "saved" } else { "created" }, goods.id))
}

/// The gallery that the form asks for: what stays, in its order, then what was uploaded. Uploads are kept at once, so
/// that they need not be sent again when something else is wrong.
async fn hang(shop: &Shop, state: &mut FormState, sent: Sent) -> Result<(), Problem> {
    let names = sent.arranged();
    let mut gallery = shop.store.pictures(&names).await?;
    if gallery.len() < names.len() {
        state.errors.push(FieldError { field: "pictures", code: "no_such_picture" });
    }
    for upload in sent.uploads {
        match take(shop, upload).await? {
            Ok(picture) if gallery.iter().all(|there| there.name != picture.name) => gallery.push(picture),
            Ok(_) => {}
            Err(complaint) => state.uploads.push(complaint),
        }
    }
    if sent.too_many_uploads || gallery.len() > MOST_PICTURES {
        state.errors.push(FieldError { field: "pictures", code: "too_many_pictures" });
    }
    state.goods.pictures = gallery;
    Ok(())
}

async fn take(shop: &Shop, upload: Upload) -> Result<Result<Picture, UploadComplaint>, Problem> {
    let complaint = |code| UploadComplaint { file: upload.file.clone(), code };
    let Some(bytes) = upload.bytes else { return Ok(Err(complaint("picture_too_large"))) };
    match shop.pictures.take(bytes).await {
        Ok(picture) => Ok(Ok(picture)),
        Err(refusal) => match refusal.field_code() {
            Some(code) => Ok(Err(complaint(code))),
            None => Err(refusal.into()),
        },
    }
}

fn show_form(visitor: &Visitor, status: StatusCode, state: FormState) -> Result<Response, Problem> {
    let FormState { id, goods, preview, errors, uploads } = state;
    let mut chrome = visitor.chrome();
    let page = id.map_or_else(|| "new".to_owned(), |id| id.to_string());
    chrome.path = format!("/admin/goods/{page}?lang={}", visitor.locale);
    personal(status, &AdminGoodsForm { chrome, id, goods, preview, errors, uploads })
}
