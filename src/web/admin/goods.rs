//! The console's pages of goods: the list, archiving, and the form that creates and edits them.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::domain::picture::MAX_GALLERY_PICTURES;
use crate::domain::{Bilingual, Goods, GoodsId, Locale, Picture};
use crate::i18n;
use crate::store::{GoodsDraft, GoodsRefusal};
use crate::web::Shop;
use crate::web::admin::ConfirmForm;
use crate::web::admin::goods_upload::{GoodsForm, UploadedFile};
use crate::web::extract::session::{ManageSales, Staff, ViewConsole};
use crate::web::extract::visitor::Visitor;
use crate::web::extract::{Form, PathIds, Query};
use crate::web::problem::{Code, Problem};
use crate::web::shared::FieldError;
use crate::web::shared::response::{personal, see_other};
use crate::web::shared::validation::{check_description, check_name};
use crate::web::views::{AdminGoodsForm, AdminGoodsList, UploadError};

/// Goods on the list. A search finds the others.
const MAX_LISTED: usize = 100;

/// The search, and the action that the page reports as done.
#[derive(Debug, Default, Deserialize)]
pub struct GoodsListQuery {
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
    _: Staff<ViewConsole>,
    visitor: Visitor,
    Query(query): Query<GoodsListQuery>,
) -> Result<Response, Problem> {
    show_list(&shop, &visitor, query, StatusCode::OK, None).await
}

async fn show_list(
    shop: &Shop,
    visitor: &Visitor,
    query: GoodsListQuery,
    status: StatusCode,
    warning: Option<String>,
) -> Result<Response, Problem> {
    let all = shop.store.all_goods().await?;
    let done = query.goods.and_then(|id| all.iter().find(|goods| goods.id == id));
    let done = done.map(|goods| (query.done, goods.name.get(visitor.locale).to_owned()));
    let with_archived = !query.archived.is_empty();
    let archived = all.iter().filter(|goods| goods.is_archived()).count();
    let words = query.q.trim().to_lowercase();
    let matches = |goods: &Goods| {
        (with_archived || !goods.is_archived())
            && (goods.id.to_string() == words
                || [&goods.name.zh, &goods.name.en].iter().any(|name| name.to_lowercase().contains(&words)))
    };
    // Newest first: goods that were just created are the likeliest to be edited.
    let mut goods: Vec<Goods> = all.into_iter().rev().filter(matches).collect();
    let more = goods.len() > MAX_LISTED;
    goods.truncate(MAX_LISTED);
    let mut chrome = visitor.chrome();
    chrome.path = list_path(visitor.locale);
    let query = query.q.trim().to_owned();
    personal(status, &AdminGoodsList { chrome, goods, query, with_archived, archived, more, done, warning })
}

fn list_path(locale: Locale) -> String {
    format!("/admin/goods?lang={locale}")
}

/// Redirects to the list, which reports the action.
fn see_list(visitor: &Visitor, what: &str, id: GoodsId) -> Response {
    see_other(&format!("{}&done={what}&goods={id}", list_path(visitor.locale)))
}

type GoodsAction = (State<Arc<Shop>>, Staff<ManageSales>, Visitor, PathIds<GoodsId>);

pub async fn archive(action: GoodsAction, Form(form): Form<ConfirmForm>) -> Result<Response, Problem> {
    set_archived(action, &form, true).await
}

pub async fn unarchive(action: GoodsAction, Form(form): Form<ConfirmForm>) -> Result<Response, Problem> {
    set_archived(action, &form, false).await
}

async fn set_archived(
    (State(shop), staff, visitor, PathIds(id)): GoodsAction,
    form: &ConfirmForm,
    archive: bool,
) -> Result<Response, Problem> {
    let warn = async |code: Code, words: &str| {
        let warning = i18n::problem(words).text(visitor.locale).to_owned();
        let archived = if archive { String::new() } else { "1".to_owned() };
        let query = GoodsListQuery { archived, ..GoodsListQuery::default() };
        show_list(&shop, &visitor, query, code.status(), Some(warning)).await
    };
    if !form.is_confirmed() {
        return warn(Code::Invalid, "not_confirmed").await;
    }
    match shop.sales_admin.archive_goods(id, archive, staff.actor()).await {
        Ok(_) => Ok(see_list(&visitor, if archive { "archived" } else { "unarchived" }, id)),
        Err(GoodsRefusal::OnSale) => warn(Code::GoodsOnSale, Code::GoodsOnSale.as_str()).await,
        Err(refusal) => Err(refusal.into()),
    }
}

pub async fn blank(
    State(shop): State<Arc<Shop>>,
    _: Staff<ViewConsole>,
    visitor: Visitor,
) -> Result<Response, Problem> {
    show_form(&visitor, StatusCode::OK, GoodsFormState::of(blank_goods(&shop), None))
}

pub async fn show(
    State(shop): State<Arc<Shop>>,
    _: Staff<ViewConsole>,
    visitor: Visitor,
    PathIds(id): PathIds<GoodsId>,
) -> Result<Response, Problem> {
    let goods = shop.store.goods(id).await?.ok_or(Code::NotFound)?;
    show_form(&visitor, StatusCode::OK, GoodsFormState::of(goods, Some(id)))
}

pub async fn create(
    State(shop): State<Arc<Shop>>,
    staff: Staff<ManageSales>,
    visitor: Visitor,
    form: GoodsForm,
) -> Result<Response, Problem> {
    save(&shop, &staff, &visitor, None, form).await
}

pub async fn edit(
    State(shop): State<Arc<Shop>>,
    staff: Staff<ManageSales>,
    visitor: Visitor,
    PathIds(id): PathIds<GoodsId>,
    form: GoodsForm,
) -> Result<Response, Problem> {
    save(&shop, &staff, &visitor, Some(id), form).await
}

/// The form as it is shown.
struct GoodsFormState {
    id: Option<GoodsId>,
    goods: Goods,
    preview: bool,
    errors: Vec<FieldError>,
    uploads: Vec<UploadError>,
}

impl GoodsFormState {
    fn of(goods: Goods, id: Option<GoodsId>) -> GoodsFormState {
        GoodsFormState { id, goods, preview: false, errors: Vec::new(), uploads: Vec::new() }
    }
}

/// Goods without any value.
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

async fn save(
    shop: &Shop,
    staff: &Staff<ManageSales>,
    visitor: &Visitor,
    id: Option<GoodsId>,
    form: GoodsForm,
) -> Result<Response, Problem> {
    let goods = match id {
        Some(id) => shop.store.goods(id).await?.ok_or(Code::NotFound)?,
        None => blank_goods(shop),
    };
    let preview = form.preview;
    let mut state = GoodsFormState::of(goods, id);
    state.goods.name = Bilingual::new(form.name[0].trim(), form.name[1].trim());
    state.goods.description = Bilingual::new(form.description[0].trim(), form.description[1].trim());
    state.errors = check_name(&state.goods.name);
    state.errors.extend(check_description(&state.goods.description));
    update_gallery(shop, &mut state, form).await?;
    if !state.errors.is_empty() || !state.uploads.is_empty() {
        return show_form(visitor, StatusCode::UNPROCESSABLE_ENTITY, state);
    }
    if preview {
        return show_form(visitor, StatusCode::OK, GoodsFormState { preview, ..state });
    }
    let Goods { name, description, pictures, .. } = state.goods;
    let draft = GoodsDraft { name: Some(name), description: Some(description), pictures: Some(pictures) };
    let goods = shop.sales_admin.put_goods(id, draft, staff.actor()).await?.ok_or(Code::NotFound)?;
    Ok(see_list(visitor, if id.is_some() { "saved" } else { "created" }, goods.id))
}

/// Sets the gallery: the pictures that stay in their order, then the uploads. Accepted uploads are stored at once, so that
/// a form with an error elsewhere does not need them again.
async fn update_gallery(shop: &Shop, state: &mut GoodsFormState, form: GoodsForm) -> Result<(), Problem> {
    let names = form.arranged_pictures();
    let mut gallery = shop.store.pictures(&names).await?;
    if gallery.len() < names.len() {
        state.errors.push(FieldError { field: "pictures", code: "no_such_picture" });
    }
    for file in form.uploads {
        match store_upload(shop, file).await? {
            Ok(picture) if gallery.iter().all(|other| other.name != picture.name) => gallery.push(picture),
            Ok(_) => {}
            Err(error) => state.uploads.push(error),
        }
    }
    if form.too_many_uploads || gallery.len() > MAX_GALLERY_PICTURES {
        state.errors.push(FieldError { field: "pictures", code: "too_many_pictures" });
    }
    state.goods.pictures = gallery;
    Ok(())
}

async fn store_upload(shop: &Shop, upload: UploadedFile) -> Result<Result<Picture, UploadError>, Problem> {
    let refused = |code| UploadError { file: upload.file.clone(), code };
    let Some(bytes) = upload.bytes else { return Ok(Err(refused("picture_too_large"))) };
    match shop.pictures.add(bytes).await {
        Ok(picture) => Ok(Ok(picture)),
        Err(refusal) => match refusal.field_code() {
            Some(code) => Ok(Err(refused(code))),
            None => Err(refusal.into()),
        },
    }
}

fn show_form(visitor: &Visitor, status: StatusCode, state: GoodsFormState) -> Result<Response, Problem> {
    let GoodsFormState { id, goods, preview, errors, uploads } = state;
    let mut chrome = visitor.chrome();
    let page = id.map_or_else(|| "new".to_owned(), |id| id.to_string());
    chrome.path = format!("/admin/goods/{page}?lang={}", visitor.locale);
    personal(status, &AdminGoodsForm { chrome, id, goods, preview, errors, uploads })
}
