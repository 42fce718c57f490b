//! The form that makes and changes goods, with a picture.

use std::sync::Arc;

use axum::extract::multipart::{Multipart, MultipartError};
use axum::extract::{DefaultBodyLimit, FromRequest, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use tokio::time::timeout;

use super::desk::admin_path;
use super::input::{check_description, check_name};
use crate::domain::{Bilingual, Goods, GoodsId};
use crate::error::{Code, Problem};
use crate::pages::views::{AdminGoodsForm, FieldError};
use crate::store::GoodsDraft;
use crate::web::Shop;
use crate::web::input::{Ids, MOST_BYTES_WITH_PICTURE, PICTURE_WITHIN};
use crate::web::pages::{keep, personal, see_other};
use crate::web::picture::Picture;
use crate::web::session::{Look, RunSales, Staff};
use crate::web::visitor::Visitor;

/// The form as sent. `image` is what was uploaded, empty for nothing.
#[derive(Debug, Default)]
pub struct Sent {
    name: [String; 2],
    description: [String; 2],
    kept_image: String,
    image: Vec<u8>,
}

impl FromRequest<Arc<Shop>> for Sent {
    type Rejection = Problem;

    async fn from_request(mut request: Request, shop: &Arc<Shop>) -> Result<Self, Problem> {
        DefaultBodyLimit::max(MOST_BYTES_WITH_PICTURE).apply(&mut request);
        let form = Multipart::from_request(request, shop).await;
        let form = form.map_err(|_| Code::UnsupportedMediaType)?;
        timeout(PICTURE_WITHIN, read(form)).await.map_err(|_| Code::RequestTimeout)?
    }
}

async fn read(mut form: Multipart) -> Result<Sent, Problem> {
    let mut sent = Sent::default();
    while let Some(field) = form.next_field().await.map_err(broken)? {
        let name = field.name().unwrap_or_default().to_owned();
        if name == "image" {
            sent.image = field.bytes().await.map_err(broken)?.to_vec();
            continue;
        }
        let text = field.text().await.map_err(broken)?;
        match name.as_str() {
            "name_zh" => sent.name[0] = text,
            "name_en" => sent.name[1] = text,
            "description_zh" => sent.description[0] = text,
            "description_en" => sent.description[1] = text,
            "kept_image" => sent.kept_image = text,
            _ => {}
        }
    }
    Ok(sent)
}

fn broken(error: MultipartError) -> Problem {
    Problem::new(match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Code::TooLarge,
        _ => Code::BadRequest,
    })
}

pub async fn blank(_: Staff<Look>, visitor: Visitor) -> Result<Response, Problem> {
    form(&visitor, StatusCode::OK, None, Sent::default(), String::new(), Vec::new())
}

pub async fn show(
    State(shop): State<Arc<Shop>>,
    _: Staff<Look>,
    visitor: Visitor,
    Ids(id): Ids<GoodsId>,
) -> Result<Response, Problem> {
    let goods = shop.store.goods(id).await?.ok_or(Code::NotFound)?;
    let Goods { name, description, image, .. } = goods;
    let sent = Sent { name: [name.zh, name.en], description: [description.zh, description.en], ..Sent::default() };
    form(&visitor, StatusCode::OK, Some(id), sent, image, Vec::new())
}

pub async fn create(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    visitor: Visitor,
    sent: Sent,
) -> Result<Response, Problem> {
    put(&shop, &admin, &visitor, None, sent).await
}

pub async fn edit(
    State(shop): State<Arc<Shop>>,
    admin: Staff<RunSales>,
    visitor: Visitor,
    Ids(id): Ids<GoodsId>,
    sent: Sent,
) -> Result<Response, Problem> {
    put(&shop, &admin, &visitor, Some(id), sent).await
}

async fn put(
    shop: &Shop,
    admin: &Staff<RunSales>,
    visitor: &Visitor,
    id: Option<GoodsId>,
    sent: Sent,
) -> Result<Response, Problem> {
    let text = |[zh, en]: &[String; 2]| Bilingual::new(zh.trim(), en.trim());
    let (name, description) = (text(&sent.name), text(&sent.description));
    let mut errors = check_name(&name);
    errors.extend(check_description(&description));
    let image = picture(shop, id, &sent).await?;
    let (image, wrong) = image.map_or_else(|present| (present, true), |image| (image, false));
    if wrong {
        errors.push(FieldError { field: "image", code: "bad_picture" });
    }
    if !errors.is_empty() {
        return form(visitor, StatusCode::UNPROCESSABLE_ENTITY, id, sent, image, errors);
    }
    let draft = GoodsDraft { name: Some(name), description: Some(description), image: Some(image) };
    shop.desk.put_goods(id, draft, admin.actor()).await?.ok_or(Code::NotFound)?;
    Ok(see_other(&admin_path(visitor.locale)))
}

/// The name of the picture: of the one that was sent, else of one that was accepted with an earlier try, else of the
/// present one. `Err` with the name to go on with when what was sent is not a picture.
async fn picture(shop: &Shop, id: Option<GoodsId>, sent: &Sent) -> Result<Result<String, String>, Problem> {
    let present = match id {
        Some(id) => shop.store.goods(id).await?.ok_or(Code::NotFound)?.image,
        None => String::new(),
    };
    let accepted = Picture::kind_of_name(&sent.kept_image).map(|_| sent.kept_image.clone());
    let kept = accepted.unwrap_or(present);
    if sent.image.is_empty() {
        return Ok(Ok(kept));
    }
    match Picture::read(&sent.image) {
        Some(picture) => keep(shop, &picture).await.map(Ok),
        None => Ok(Err(kept)),
    }
}

fn form(
    visitor: &Visitor,
    status: StatusCode,
    id: Option<GoodsId>,
    sent: Sent,
    image: String,
    errors: Vec<FieldError>,
) -> Result<Response, Problem> {
    let mut chrome = visitor.chrome();
    let page = id.map_or_else(|| "new".to_owned(), |id| id.to_string());
    chrome.path = format!("/admin/goods/{page}?lang={}", visitor.locale);
    let ([name_zh, name_en], [description_zh, description_en]) = (sent.name, sent.description);
    personal(status, &AdminGoodsForm { chrome, id, name_zh, name_en, description_zh, description_en, image, errors })
}
