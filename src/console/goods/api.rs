//! Goods and their pictures.

use axum::body::Body;
use axum::http::header::LOCATION;

use crate::prelude::*;
use domain::sale::present;
use domain::{BoundedBilingual, GalleryChange, Picture};
use pages::pictures;
use store::GoodsDraft;
use web::extract::body;
use web::shared::validation::{check_description, check_name, check_variant};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewGoods {
    #[schemars(with = "BoundedBilingual<1, 200>")]
    name: Bilingual,
    #[schemars(with = "BoundedBilingual<0, 10000>")]
    description: Bilingual,
    /// The category
    category_id: Option<CategoryId>,
    /// The goods of which these are a variant.
    variant_of: Option<GoodsId>,
    /// What tells it from other variants; empty texts where nothing does
    #[schemars(with = "Option<BoundedBilingual<0, 30>>")]
    variant: Option<Bilingual>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoodsEdit {
    #[schemars(with = "Option<BoundedBilingual<1, 200>>")]
    name: Option<Bilingual>,
    #[schemars(with = "Option<BoundedBilingual<0, 10000>>")]
    description: Option<Bilingual>,
    /// `null` takes the goods out of their category.
    #[serde(default, deserialize_with = "present")]
    category_id: Option<Option<CategoryId>>,
    /// `null` makes the goods a product of their own.
    #[serde(default, deserialize_with = "present")]
    variant_of: Option<Option<GoodsId>>,
    /// What tells it from other variants; empty texts where nothing does
    #[schemars(with = "Option<BoundedBilingual<0, 30>>")]
    variant: Option<Bilingual>,
}

/// Goods in JSON.
#[derive(Serialize, JsonSchema)]
struct GoodsJson {
    #[serde(flatten)]
    goods: Goods,
    /// The file of the cover under `/uploads/`, or the name of a picture of the demo; empty without a cover.
    image: String,
}

impl From<Goods> for GoodsJson {
    fn from(goods: Goods) -> Self {
        let image = goods.cover().map(Picture::file).unwrap_or_default();
        GoodsJson { goods, image }
    }
}

answers! {
    OneGoods { goods: GoodsJson }
    AllGoods { goods: Vec<GoodsJson> }
}

/// All goods, including archived ones.
pub async fn list((State(shop), _): StaffCall<ViewConsole>) -> Answer {
    let goods = shop.store.goods().list().await?.into_iter().map(GoodsJson::from).collect();
    Ok(Json(AllGoods { goods }).into_response())
}

pub async fn show((State(shop), _, PathIds(id)): StaffCallTo<ViewConsole, GoodsId>) -> Answer {
    Ok(answer(StatusCode::OK, shop.store.goods().get(id).await?.ok_or(Code::NotFound)?))
}

type Call = StaffCallTo<ManageSales, GoodsId>;

pub async fn create(
    call: StaffCall<ManageSales>,
    Repeatable(request): Repeatable,
    Json(new): Json<NewGoods>,
) -> Answer {
    let (category_id, variant_of) = (Some(new.category_id), Some(new.variant_of));
    let draft = draft(Some(new.name), Some(new.description), new.variant)?;
    let draft = GoodsDraft { request, category_id, variant_of, ..draft };
    let goods = save(call, None, draft).await?;
    let version = [(ETAG, entity_tag(goods.version()))];
    Ok((version, created(format!("/api/admin/goods/{}", goods.id), OneGoods { goods: goods.into() })).into_response())
}

/// Changes texts and category of goods, and of which goods they are a variant. With `If-Match`, only if they have a
/// version that it names.
pub async fn edit((shop, admin, PathIds(id)): Call, headers: HeaderMap, Json(edit): Json<GoodsEdit>) -> Answer {
    let GoodsEdit { name, description, category_id, variant_of, variant } = edit;
    let versions = expected_versions(&headers);
    let draft = GoodsDraft { versions, category_id, variant_of, ..draft(name, description, variant)? };
    Ok(answer(StatusCode::OK, save((shop, admin), Some(id), draft).await?))
}

/// Replaces the cover. The body is the picture's bytes.
pub async fn set_image(call: Call, headers: HeaderMap, content: Body) -> Answer {
    let picture = store_picture(&call, &headers, content).await?;
    change(call, &headers, GalleryChange::Cover(picture), StatusCode::OK).await
}

/// Appends a picture to the gallery. The body is the picture's bytes.
pub async fn add_picture(call: Call, headers: HeaderMap, content: Body) -> Answer {
    let picture = store_picture(&call, &headers, content).await?;
    let location = [(LOCATION, format!("/api/admin/goods/{}", call.2.0))];
    Ok((location, change(call, &headers, GalleryChange::Add(picture), StatusCode::CREATED).await?).into_response())
}

pub async fn remove_picture(
    (shop, admin, PathIds((id, name))): StaffCallTo<ManageSales, (GoodsId, String)>,
    headers: HeaderMap,
) -> Answer {
    change((shop, admin, PathIds(id)), &headers, GalleryChange::Remove(name), StatusCode::OK).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PictureOrder {
    pictures: Vec<String>,
}

pub async fn order_pictures(call: Call, headers: HeaderMap, Json(order): Json<PictureOrder>) -> Answer {
    change(call, &headers, GalleryChange::Order(order.pictures), StatusCode::OK).await
}

handlers! {
    set_archived(call: Call)
    archive true;
    unarchive false;
}

async fn set_archived((State(shop), admin, PathIds(id)): Call, archive: bool) -> Answer {
    Ok(answer(StatusCode::OK, shop.sales_admin.archive_goods(id, archive, admin.actor()).await?))
}

/// Validates and stores the picture, if the goods exist.
async fn store_picture(
    (State(shop), _, PathIds(id)): &Call,
    headers: &HeaderMap,
    content: Body,
) -> Result<Picture, Problem> {
    let bytes = body(headers, content, pictures::MAX_PICTURE_BYTES).await?;
    shop.store.goods().get(*id).await?.ok_or(Code::NotFound)?;
    Ok(shop.pictures.add(bytes.into()).await?)
}

/// Changes the gallery. With `If-Match`, only if the goods have a version that it names.
async fn change(
    (State(shop), admin, PathIds(id)): Call,
    headers: &HeaderMap,
    change: GalleryChange,
    status: StatusCode,
) -> Answer {
    let versions = expected_versions(headers);
    Ok(answer(status, shop.sales_admin.change_gallery(id, versions.as_deref(), change, admin.actor()).await?))
}

fn answer(status: StatusCode, goods: Goods) -> Response {
    let version = [(ETAG, entity_tag(goods.version()))];
    (status, version, Json(OneGoods { goods: goods.into() })).into_response()
}

fn draft(
    name: Option<Bilingual>,
    description: Option<Bilingual>,
    variant: Option<Bilingual>,
) -> Result<GoodsDraft, Problem> {
    let mut errors = name.as_ref().map(check_name).unwrap_or_default();
    errors.extend(description.as_ref().map(check_description).unwrap_or_default());
    // Trimmed, so that a name of blanks counts as no name.
    let variant = variant.map(|variant| Bilingual::new(variant.zh.trim(), variant.en.trim()));
    errors.extend(variant.as_ref().map(check_variant).unwrap_or_default());
    refuse_mistakes(errors)?;
    Ok(GoodsDraft { name, description, variant, ..GoodsDraft::default() })
}

/// Refuses a request for these errors of its texts: the form's `name_zh` is `name.zh` in JSON.
pub(crate) fn refuse_mistakes(errors: Vec<FieldError>) -> Result<(), Problem> {
    let json = |error: FieldError| FieldProblem { field: error.field.replace('_', "."), code: error.code };
    if errors.is_empty() { Ok(()) } else { Err(Problem::invalid(errors.into_iter().map(json))) }
}

async fn save(
    (State(shop), admin): StaffCall<ManageSales>,
    id: Option<GoodsId>,
    draft: GoodsDraft,
) -> Result<Goods, Problem> {
    shop.sales_admin.put_goods(id, draft, admin.actor()).await?.ok_or(Code::NotFound.into())
}

web::operations! { "administrators"
    /// All products, including archived ones
    GET "/api/admin/goods" listGoods = list;
        200 AllGoods, "All products, oldest first.";
    /// Create a product
    POST "/api/admin/goods" createGoods = create, versioned, located;
        201 OneGoods;
    /// One item of goods
    GET "/api/admin/goods/{goods}" showGoods = show, versioned;
        200 OneGoods;
    /// Change a product
    PATCH "/api/admin/goods/{goods}" editGoods = edit, if_match, versioned;
        200 OneGoods;
    /// Replace the cover of a product
    PUT "/api/admin/goods/{goods}/image" setImage = set_image, picture, if_match, versioned;
        200 OneGoods;
    /// Add a picture to a product's gallery
    POST "/api/admin/goods/{goods}/pictures" addPicture = add_picture, picture, if_match, versioned, located;
        201 OneGoods;
    /// Reorder a product's gallery; the first picture is the cover
    PUT "/api/admin/goods/{goods}/pictures" orderPictures = order_pictures, if_match, versioned;
        200 OneGoods;
    /// Remove a picture from a product's gallery
    DELETE "/api/admin/goods/{goods}/pictures/{name}" removePicture = remove_picture, if_match, versioned;
        200 OneGoods;
    /// Archive a product: it cannot be used in new sales
    POST "/api/admin/goods/{goods}/archive" archiveGoods = archive;
        200 OneGoods, "The product; also if it was archived before.";
        refuses GoodsOnSale;
    /// Restore an archived product
    POST "/api/admin/goods/{goods}/unarchive" unarchiveGoods = unarchive;
        200 OneGoods;
}
