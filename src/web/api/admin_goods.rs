//! Goods, by an administrator's programs.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use crate::domain::{Bilingual, Goods, GoodsId};
use crate::error::{Code, Problem};
use crate::store::GoodsDraft;
use crate::web::Shop;
use crate::web::admin::input::{check_description, check_name};
use crate::web::input::{Ids, Json, body};
use crate::web::pages::keep;
use crate::web::picture::{self, Picture};
use crate::web::session::{RunSales, Staff};

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

#[derive(Serialize)]
struct OneGoods {
    goods: Goods,
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
    Ids(id): Ids<GoodsId>,
    Json(edit): Json<GoodsEdit>,
) -> Result<Response, Problem> {
    let draft = draft(edit.name, edit.description)?;
    put(&shop, &admin, Some(id), draft, StatusCode::OK).await
}

/// The picture as it is, without any form around it.
pub async fn set_image(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    Ids(id): Ids<GoodsId>,
    headers: HeaderMap,
    content: Body,
) -> Result<Response, Problem> {
    let bytes = body(&headers, content, picture::MOST_BYTES).await?;
    let picture = Picture::read(&bytes).ok_or_else(|| Problem::invalid_field("image", "bad_picture"))?;
    let draft = GoodsDraft { image: Some(keep(&shop, &picture).await?), ..GoodsDraft::default() };
    put(&shop, &admin, Some(id), draft, StatusCode::OK).await
}

fn draft(name: Option<Bilingual>, description: Option<Bilingual>) -> Result<GoodsDraft, Problem> {
    let mut errors = name.as_ref().map(check_name).unwrap_or_default();
    errors.extend(description.as_ref().map(check_description).unwrap_or_default());
    if !errors.is_empty() {
        let in_json = |mut problem: crate::error::FieldProblem| {
            problem.field = problem.field.replace('_', ".");
            problem
        };
        return Err(Problem::invalid(errors.into_iter().map(|error| in_json(error.into())).collect()));
    }
    Ok(GoodsDraft { name, description, image: None })
}

async fn put(
    shop: &Shop,
    admin: &Staff<RunSales>,
    id: Option<GoodsId>,
    draft: GoodsDraft,
    status: StatusCode,
) -> Result<Response, Problem> {
    let goods = shop.desk.put_goods(id, draft, admin.actor()).await?.ok_or(Code::NotFound)?;
    Ok((status, axum::Json(OneGoods { goods })).into_response())
}
