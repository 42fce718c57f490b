//! Goods, by an administrator's programs.

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
use crate::web::extract::session::{Look, RunSales, Staff};
use crate::web::extract::{Json, PathIds, body};
use crate::web::problem::{Code, Problem};
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

/// Goods as programs see them.
#[derive(Serialize)]
struct GoodsView {
    #[serde(flatten)]
    goods: Goods,
    /// The file of the cover under `/uploads/`, or the name of a drawing; empty for none.
    image: String,
}

impl From<Goods> for GoodsView {
    fn from(goods: Goods) -> Self {
        let image = goods.cover().map(Picture::file).unwrap_or_default();
        GoodsView { goods, image }
    }
}

#[derive(Serialize)]
struct OneGoods {
    goods: GoodsView,
}

#[derive(Serialize)]
struct AllGoods {
    goods: Vec<GoodsView>,
}

/// All goods, archived ones included.
pub async fn list(State(shop): State<Arc<Shop>>, _: Staff<Look>) -> Result<Response, Problem> {
    let goods = shop.store.all_goods().await?.into_iter().map(GoodsView::from).collect();
    Ok(axum::Json(AllGoods { goods }).into_response())
}

pub async fn create(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    Json(new): Json<NewGoods>,
) -> Result<Response, Problem> {
    let draft = draft(Some(new.name), Some(new.description))?;
    put(&shop, &admin, None, draft, StatusCode::CREATED).await
}

pub async fn edit(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    PathIds(id): PathIds<GoodsId>,
    Json(edit): Json<GoodsEdit>,
) -> Result<Response, Problem> {
    let draft = draft(edit.name, edit.description)?;
    put(&shop, &admin, Some(id), draft, StatusCode::OK).await
}

/// The picture as it is, without any form around it, becomes the cover in place of the present one.
pub async fn set_image(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    PathIds(id): PathIds<GoodsId>,
    headers: HeaderMap,
    content: Body,
) -> Result<Response, Problem> {
    let picture = take(&shop, id, &headers, content).await?;
    change(&shop, &admin, id, GalleryChange::Cover(picture), StatusCode::OK).await
}

/// The picture as it is joins the gallery at its end.
pub async fn add_picture(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    PathIds(id): PathIds<GoodsId>,
    headers: HeaderMap,
    content: Body,
) -> Result<Response, Problem> {
    let picture = take(&shop, id, &headers, content).await?;
    change(&shop, &admin, id, GalleryChange::Add(picture), StatusCode::CREATED).await
}

pub async fn remove_picture(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
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
    admin: Staff<RunSales>,
    PathIds(id): PathIds<GoodsId>,
    Json(order): Json<PictureOrder>,
) -> Result<Response, Problem> {
    change(&shop, &admin, id, GalleryChange::Order(order.pictures), StatusCode::OK).await
}

pub async fn archive(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    PathIds(id): PathIds<GoodsId>,
) -> Result<Response, Problem> {
    Ok(answer(StatusCode::OK, shop.sales_admin.archive_goods(id, true, admin.actor()).await?))
}

pub async fn unarchive(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    PathIds(id): PathIds<GoodsId>,
) -> Result<Response, Problem> {
    Ok(answer(StatusCode::OK, shop.sales_admin.archive_goods(id, false, admin.actor()).await?))
}

/// Takes in what was sent, if there are such goods.
async fn take(shop: &Shop, id: GoodsId, headers: &HeaderMap, content: Body) -> Result<Picture, Problem> {
    let bytes = body(headers, content, pictures::MOST_BYTES).await?;
    shop.store.goods(id).await?.ok_or(Code::NotFound)?;
    Ok(shop.pictures.take(bytes.into()).await?)
}

async fn change(
    shop: &Shop,
    admin: &Staff<RunSales>,
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
        let in_json = |mut problem: crate::web::problem::FieldProblem| {
            problem.field = problem.field.replace('_', ".");
            problem
        };
        return Err(Problem::invalid(errors.into_iter().map(|error| in_json(error.into())).collect()));
    }
    Ok(GoodsDraft { name, description, pictures: None })
}

async fn put(
    shop: &Shop,
    admin: &Staff<RunSales>,
    id: Option<GoodsId>,
    draft: GoodsDraft,
    status: StatusCode,
) -> Result<Response, Problem> {
    let goods = shop.sales_admin.put_goods(id, draft, admin.actor()).await?.ok_or(Code::NotFound)?;
    Ok(answer(status, goods))
}
