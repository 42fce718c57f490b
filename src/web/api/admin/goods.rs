//! Goods and their pictures.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::domain::{Bilingual, GalleryChange, Goods, GoodsId, Picture};
use crate::pictures;
use crate::store::GoodsDraft;
use crate::web::Shop;
use crate::web::extract::session::{ManageSales, Staff, ViewConsole};
use crate::web::extract::{Json, PathIds, body};
use crate::web::problem::{Code, FieldProblem, Problem};
use crate::web::shared::FieldError;
use crate::web::shared::validation::{check_description, check_name};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewGoods {
    name: Bilingual,
    description: Bilingual,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoodsEdit {
    name: Option<Bilingual>,
    description: Option<Bilingual>,
}

/// Goods in JSON.
#[derive(Serialize)]
struct GoodsJson {
    #[serde(flatten)]
    goods: Goods,
    /// The file of the cover under `/uploads/`, or the name of a drawing; empty for none.
    image: String,
}

impl From<Goods> for GoodsJson {
    fn from(goods: Goods) -> Self {
        let image = goods.cover().map(Picture::file).unwrap_or_default();
        GoodsJson { goods, image }
    }
}

#[derive(Serialize)]
struct OneGoods {
    goods: GoodsJson,
}

#[derive(Serialize)]
struct AllGoods {
    goods: Vec<GoodsJson>,
}

/// All goods, with archived ones.
pub async fn list(State(shop): State<Arc<Shop>>, _: Staff<ViewConsole>) -> Result<Response, Problem> {
    let goods = shop.store.all_goods().await?.into_iter().map(GoodsJson::from).collect();
    Ok(axum::Json(AllGoods { goods }).into_response())
}

pub async fn create(
    State(shop): State<Arc<Shop>>,
    admin: Staff<ManageSales>,
    Json(new): Json<NewGoods>,
) -> Result<Response, Problem> {
    let draft = draft(Some(new.name), Some(new.description))?;
    save(&shop, &admin, None, draft, StatusCode::CREATED).await
}

pub async fn edit(
    State(shop): State<Arc<Shop>>,
    admin: Staff<ManageSales>,
    PathIds(id): PathIds<GoodsId>,
    Json(edit): Json<GoodsEdit>,
) -> Result<Response, Problem> {
    let draft = draft(edit.name, edit.description)?;
    save(&shop, &admin, Some(id), draft, StatusCode::OK).await
}

/// Replaces the cover. The body is the picture's bytes.
pub async fn set_image(
    State(shop): State<Arc<Shop>>,
    admin: Staff<ManageSales>,
    PathIds(id): PathIds<GoodsId>,
    headers: HeaderMap,
    content: Body,
) -> Result<Response, Problem> {
    let picture = store_picture(&shop, id, &headers, content).await?;
    change(&shop, &admin, id, GalleryChange::Cover(picture), StatusCode::OK).await
}

/// Appends a picture to the gallery. The body is the picture's bytes.
pub async fn add_picture(
    State(shop): State<Arc<Shop>>,
    admin: Staff<ManageSales>,
    PathIds(id): PathIds<GoodsId>,
    headers: HeaderMap,
    content: Body,
) -> Result<Response, Problem> {
    let picture = store_picture(&shop, id, &headers, content).await?;
    change(&shop, &admin, id, GalleryChange::Add(picture), StatusCode::CREATED).await
}

pub async fn remove_picture(
    State(shop): State<Arc<Shop>>,
    admin: Staff<ManageSales>,
    PathIds((id, name)): PathIds<(GoodsId, String)>,
) -> Result<Response, Problem> {
    change(&shop, &admin, id, GalleryChange::Remove(name), StatusCode::OK).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PictureOrder {
    pictures: Vec<String>,
}

pub async fn order_pictures(
    State(shop): State<Arc<Shop>>,
    admin: Staff<ManageSales>,
    PathIds(id): PathIds<GoodsId>,
    Json(order): Json<PictureOrder>,
) -> Result<Response, Problem> {
    change(&shop, &admin, id, GalleryChange::Order(order.pictures), StatusCode::OK).await
}

pub async fn archive(
    State(shop): State<Arc<Shop>>,
    admin: Staff<ManageSales>,
    PathIds(id): PathIds<GoodsId>,
) -> Result<Response, Problem> {
    Ok(answer(StatusCode::OK, shop.sales_admin.archive_goods(id, true, admin.actor()).await?))
}

pub async fn unarchive(
    State(shop): State<Arc<Shop>>,
    admin: Staff<ManageSales>,
    PathIds(id): PathIds<GoodsId>,
) -> Result<Response, Problem> {
    Ok(answer(StatusCode::OK, shop.sales_admin.archive_goods(id, false, admin.actor()).await?))
}

/// Validates and stores the picture, if the goods exist.
async fn store_picture(shop: &Shop, id: GoodsId, headers: &HeaderMap, content: Body) -> Result<Picture, Problem> {
    let bytes = body(headers, content, pictures::MAX_PICTURE_BYTES).await?;
    shop.store.goods(id).await?.ok_or(Code::NotFound)?;
    Ok(shop.pictures.add(bytes.into()).await?)
}

async fn change(
    shop: &Shop,
    admin: &Staff<ManageSales>,
    id: GoodsId,
    change: GalleryChange,
    status: StatusCode,
) -> Result<Response, Problem> {
    Ok(answer(status, shop.sales_admin.change_gallery(id, change, admin.actor()).await?))
}

fn answer(status: StatusCode, goods: Goods) -> Response {
    (status, axum::Json(OneGoods { goods: goods.into() })).into_response()
}

fn draft(name: Option<Bilingual>, description: Option<Bilingual>) -> Result<GoodsDraft, Problem> {
    let mut errors = name.as_ref().map(check_name).unwrap_or_default();
    errors.extend(description.as_ref().map(check_description).unwrap_or_default());
    if !errors.is_empty() {
        // The form's `name_zh` is `name.zh` in JSON.
        let field_in_json = |error: FieldError| FieldProblem { field: error.field.replace('_', "."), code: error.code };
        return Err(Problem::invalid(errors.into_iter().map(field_in_json)));
    }
    Ok(GoodsDraft { name, description, pictures: None })
}

async fn save(
    shop: &Shop,
    admin: &Staff<ManageSales>,
    id: Option<GoodsId>,
    draft: GoodsDraft,
    status: StatusCode,
) -> Result<Response, Problem> {
    let goods = shop.sales_admin.put_goods(id, draft, admin.actor()).await?.ok_or(Code::NotFound)?;
    Ok(answer(status, goods))
}
