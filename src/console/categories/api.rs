//! Categories of goods.

use std::collections::HashMap;

use axum::extract::State;
use axum::http::header::ETAG;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{StaffCall, StaffCallTo};
use domain::{Bilingual, BoundedBilingual, Category, CategoryId};
use store::{CategoryDraft, RequestId};
use web::Shop;
use web::cache_policy::Cache;
use web::extract::session::{ManageSales, ViewConsole};
use web::extract::{Json, PathIds, entity_tag, expected_versions};
use web::idempotency::Repeatable;
use web::problem::{Code, FieldProblem, Problem};
use web::shared::negotiation::created;
use web::shared::validation::check_category_name;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CategoryName {
    #[schemars(with = "BoundedBilingual<1, 40>")]
    name: Bilingual,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CategoryOrder {
    categories: Vec<CategoryId>,
}

/// A category in JSON.
#[derive(Serialize, JsonSchema)]
struct CategoryJson {
    #[serde(flatten)]
    category: Category,
    /// The number of goods in the category.
    goods: usize,
}

impl CategoryJson {
    fn new(category: Category, goods: &HashMap<CategoryId, usize>) -> CategoryJson {
        CategoryJson { goods: goods.get(&category.id).copied().unwrap_or_default(), category }
    }
}

#[derive(Serialize, JsonSchema)]
struct OneCategory {
    category: CategoryJson,
}

#[derive(Serialize, JsonSchema)]
struct AllCategories {
    categories: Vec<CategoryJson>,
}

/// All categories in their order.
pub async fn list((State(shop), _): StaffCall<ViewConsole>) -> Result<Response, Problem> {
    let categories = shop.store.categories().list().await?;
    answer_all(&shop, categories).await
}

pub async fn show((State(shop), _, PathIds(id)): StaffCallTo<ViewConsole, CategoryId>) -> Result<Response, Problem> {
    let category = shop.store.categories().list().await?.into_iter().find(|category| category.id == id);
    answer(&shop, category.ok_or(Code::NotFound)?).await
}

/// Creates a category, as the last one.
pub async fn create(
    (State(shop), admin): StaffCall<ManageSales>,
    Repeatable(request): Repeatable,
    Json(new): Json<CategoryName>,
) -> Result<Response, Problem> {
    let category = shop.sales_admin.put_category(None, draft(new.name, request, None)?, admin.actor()).await?;
    let (version, location) = (entity_tag(category.version()), format!("/api/admin/categories/{}", category.id));
    let category = CategoryJson { category, goods: 0 };
    Ok(([(ETAG, version)], created(location, OneCategory { category })).into_response())
}

/// Renames a category. With `If-Match`, only if it has a version that it names.
pub async fn edit(
    (State(shop), admin, PathIds(id)): StaffCallTo<ManageSales, CategoryId>,
    headers: HeaderMap,
    Json(edit): Json<CategoryName>,
) -> Result<Response, Problem> {
    let draft = draft(edit.name, None, expected_versions(&headers))?;
    let category = shop.sales_admin.put_category(Some(id), draft, admin.actor()).await?;
    answer(&shop, category).await
}

/// Puts the categories in order. The body names each once.
pub async fn order(
    (State(shop), admin): StaffCall<ManageSales>,
    Json(order): Json<CategoryOrder>,
) -> Result<Response, Problem> {
    let categories = shop.sales_admin.order_categories(&order.categories, admin.actor()).await?;
    answer_all(&shop, categories).await
}

/// Deletes a category. Its goods stay, without a category. With `If-Match`, only if it has a version that it names.
pub async fn delete(
    (State(shop), admin, PathIds(id)): StaffCallTo<ManageSales, CategoryId>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    shop.sales_admin.delete_category(id, expected_versions(&headers).as_deref(), false, admin.actor()).await?;
    Ok((StatusCode::NO_CONTENT, Cache::Private, ()).into_response())
}

fn draft(name: Bilingual, request: Option<RequestId>, versions: Option<Vec<i64>>) -> Result<CategoryDraft, Problem> {
    let name = Bilingual::new(name.zh.trim(), name.en.trim());
    let errors = check_category_name(&name);
    match errors.is_empty() {
        true => Ok(CategoryDraft { name, request, versions }),
        // The form's `name_zh` is `name.zh` in JSON.
        false => Err(Problem::invalid(
            errors.into_iter().map(|e| FieldProblem { field: e.field.replace('_', "."), code: e.code }),
        )),
    }
}

async fn answer(shop: &Shop, category: Category) -> Result<Response, Problem> {
    let version = [(ETAG, entity_tag(category.version()))];
    let category = CategoryJson::new(category, &shop.store.categories().goods_per_category().await?);
    Ok((version, axum::Json(OneCategory { category })).into_response())
}

async fn answer_all(shop: &Shop, categories: Vec<Category>) -> Result<Response, Problem> {
    let goods = shop.store.categories().goods_per_category().await?;
    let categories = categories.into_iter().map(|category| CategoryJson::new(category, &goods)).collect();
    Ok(axum::Json(AllCategories { categories }).into_response())
}

web::operations! { "administrators"
    /// Categories of goods in their order
    GET "/api/admin/categories" listAllCategories = list;
        200 AllCategories;
    /// Create a category, which becomes the last one
    POST "/api/admin/categories" createCategory = create, versioned, located;
        201 OneCategory;
        refuses TooManyCategories;
    /// Put the categories in order
    PUT "/api/admin/categories" orderCategories = order;
        200 AllCategories;
    /// One category
    GET "/api/admin/categories/{category}" showCategory = show, versioned;
        200 OneCategory;
    /// Rename a category
    PATCH "/api/admin/categories/{category}" renameCategory = edit, if_match, versioned;
        200 OneCategory;
    /// Delete a category; its goods stay, without one
    DELETE "/api/admin/categories/{category}" deleteCategory = delete, if_match;
        204 ();
}
