//! Categories of goods, for programs, and the console's page: creating, renaming, ordering and deleting them.

use crate::goods::api::refuse_mistakes;
use crate::prelude::*;
use domain::{BoundedBilingual, Category};
use store::{CategoryDraft, CategoryRefusal};
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

answers! {
    OneCategory { category: CategoryJson }
    AllCategories { categories: Vec<CategoryJson> }
}

/// All categories in their order.
pub async fn list((State(shop), _): StaffCall<ViewConsole>) -> Answer {
    let categories = shop.store.categories().list().await?;
    answer_all(&shop, categories).await
}

pub async fn show((State(shop), _, PathIds(id)): StaffCallTo<ViewConsole, CategoryId>) -> Answer {
    let category = shop.store.categories().list().await?.into_iter().find(|category| category.id == id);
    answer(&shop, category.ok_or(Code::NotFound)?).await
}

/// Creates a category, as the last one.
pub async fn create(
    (State(shop), admin): StaffCall<ManageSales>,
    Repeatable(request): Repeatable,
    Json(new): Json<CategoryName>,
) -> Answer {
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
) -> Answer {
    let draft = draft(edit.name, None, expected_versions(&headers))?;
    let category = shop.sales_admin.put_category(Some(id), draft, admin.actor()).await?;
    answer(&shop, category).await
}

/// Puts the categories in order. The body names each once.
pub async fn order((State(shop), admin): StaffCall<ManageSales>, Json(order): Json<CategoryOrder>) -> Answer {
    let categories = shop.sales_admin.order_categories(&order.categories, admin.actor()).await?;
    answer_all(&shop, categories).await
}

/// Deletes a category. Its goods stay, without a category. With `If-Match`, only if it has a version that it names.
pub async fn delete(
    (State(shop), admin, PathIds(id)): StaffCallTo<ManageSales, CategoryId>,
    headers: HeaderMap,
) -> Answer {
    shop.sales_admin.delete_category(id, expected_versions(&headers).as_deref(), false, admin.actor()).await?;
    Ok(no_content())
}

fn draft(name: Bilingual, request: Option<RequestId>, versions: Option<Vec<i64>>) -> Result<CategoryDraft, Problem> {
    let name = Bilingual::new(name.zh.trim(), name.en.trim());
    refuse_mistakes(check_category_name(&name))?;
    Ok(CategoryDraft { name, request, versions })
}

async fn answer(shop: &Shop, category: Category) -> Answer {
    let version = [(ETAG, entity_tag(category.version()))];
    let category = CategoryJson::new(category, &shop.store.categories().goods_per_category().await?);
    Ok((version, Json(OneCategory { category })).into_response())
}

async fn answer_all(shop: &Shop, categories: Vec<Category>) -> Answer {
    let goods = shop.store.categories().goods_per_category().await?;
    let categories = categories.into_iter().map(|category| CategoryJson::new(category, &goods)).collect();
    Ok(Json(AllCategories { categories }).into_response())
}

inputs! {
    /// The action that the page reports as done.
    CategoriesQuery { done, category: Option<CategoryId> }
    NameForm { version, name_zh, name_en }
}

/// Which way a category moves, by one place.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    Earlier,
    Later,
}

#[derive(Deserialize)]
pub struct MoveForm {
    to: Direction,
}

pub async fn page((State(shop), _, visitor): StaffVisit<ViewConsole>, Query(query): Query<CategoriesQuery>) -> Answer {
    let mut page = render(&shop, &visitor).await?;
    let name = |id| page.rows.iter().find(|row| Some(row.category.id) == id).map(|row| row.category.name.clone());
    page.done = match (name(query.category), query.done.as_str()) {
        (Some(name), _) => Some((query.done, name.get(visitor.locale).to_owned())),
        (None, "deleted") => Some((query.done, String::new())),
        (None, _) => None,
    };
    personal(StatusCode::OK, &page)
}

/// The page without errors and notices.
async fn render(shop: &Shop, visitor: &Visitor) -> Result<CategoriesPage, Problem> {
    let (categories, goods) =
        (shop.store.categories().list().await?, shop.store.categories().goods_per_category().await?);
    let rows = categories.into_iter().map(|category| {
        let count = goods.get(&category.id).copied().unwrap_or_default();
        CategoryRow::new(category, count)
    });
    let (rows, form) = (rows.collect(), CategoryForm::blank());
    Ok(CategoriesPage { chrome: visitor.chrome_at(path(visitor.locale)), rows, form, done: None, warning: None })
}

fn path(locale: Locale) -> String {
    format!("/admin/goods/categories?lang={locale}")
}

/// Redirects to the page, which reports the action.
fn see_done(visitor: &Visitor, what: &str, id: CategoryId) -> Response {
    see_other(&format!("{}&done={what}&category={id}", path(visitor.locale)))
}

pub async fn create_by_form(
    visit: StaffVisit<ManageSales>,
    Repeatable(request): Repeatable,
    Form(form): Form<NameForm>,
) -> Answer {
    save(visit, None, request, form).await
}

pub async fn rename(
    (shop, staff, visitor, PathIds(id)): StaffVisitTo<ManageSales, CategoryId>,
    Form(form): Form<NameForm>,
) -> Answer {
    save((shop, staff, visitor), Some(id), None, form).await
}

async fn save(
    (State(shop), staff, visitor): StaffVisit<ManageSales>,
    id: Option<CategoryId>,
    request: Option<RequestId>,
    form: NameForm,
) -> Answer {
    let name = Bilingual::new(form.name_zh.trim(), form.name_en.trim());
    let errors = check_category_name(&name);
    let versions = form.version.parse().ok().map(|version| vec![version]);
    let mut form = CategoryForm { name: name.clone(), version: form.version, errors, now_named: None };
    if !form.errors.is_empty() {
        return show_again(&shop, &visitor, id, form, StatusCode::UNPROCESSABLE_ENTITY).await;
    }
    let draft = CategoryDraft { name, request, versions };
    let refusal = match shop.sales_admin.put_category(id, draft, staff.actor()).await {
        Ok(category) => {
            return Ok(see_done(&visitor, if id.is_some() { "saved" } else { "created" }, category.id));
        }
        Err(refusal) => refusal,
    };
    let status = match refusal {
        CategoryRefusal::NameTaken(locale) => {
            let field = if locale == Locale::Zh { "name_zh" } else { "name_en" };
            form.errors.push(FieldError::new(field, "name_taken"));
            StatusCode::UNPROCESSABLE_ENTITY
        }
        CategoryRefusal::ChangedMeanwhile | CategoryRefusal::TooMany => StatusCode::CONFLICT,
        refusal => return Err(refusal.into()),
    };
    show_again(&shop, &visitor, id, form, status).await
}

/// The page with what was entered in the form of a category, or of a new one. If the name was changed by others since
/// the form was opened, the page shows their name, and sending the form again replaces it.
async fn show_again(
    shop: &Shop,
    visitor: &Visitor,
    id: Option<CategoryId>,
    form: CategoryForm,
    status: StatusCode,
) -> Answer {
    let mut page = render(shop, visitor).await?;
    let is_changed = status == StatusCode::CONFLICT;
    match id {
        None => {
            page.warning = is_changed.then(|| words::problem(Code::TooManyCategories.as_str()).text(visitor.locale));
            page.form = form;
        }
        Some(id) => {
            let row = page.rows.iter_mut().find(|row| row.category.id == id).ok_or(Code::NotFound)?;
            row.form = match is_changed {
                true => {
                    let version = row.category.version().to_string();
                    CategoryForm { version, now_named: Some(row.category.name.clone()), ..form }
                }
                false => form,
            };
        }
    }
    personal(status, &page)
}

pub async fn move_by_one(
    (State(shop), staff, visitor, PathIds(id)): StaffVisitTo<ManageSales, CategoryId>,
    Form(form): Form<MoveForm>,
) -> Answer {
    let mut ids: Vec<CategoryId> = shop.store.categories().list().await?.iter().map(|category| category.id).collect();
    let at = ids.iter().position(|other| *other == id).ok_or(Code::NotFound)?;
    let to = match form.to {
        Direction::Earlier => at.saturating_sub(1),
        Direction::Later => (at + 1).min(ids.len() - 1),
    };
    ids.swap(at, to);
    match shop.sales_admin.order_categories(&ids, staff.actor()).await {
        // A category was added or deleted just now: the page shows the order as it is.
        Err(CategoryRefusal::OtherCategories) => Ok(see_other(&path(visitor.locale))),
        moved => moved.map(|_| see_done(&visitor, "moved", id)).map_err(Problem::from),
    }
}

pub async fn delete_by_form(
    (State(shop), staff, visitor, PathIds(id)): StaffVisitTo<ManageSales, CategoryId>,
    Form(form): Form<ConfirmForm>,
) -> Answer {
    match shop.sales_admin.delete_category(id, None, !form.is_confirmed(), staff.actor()).await {
        Ok(()) => Ok(see_other(&format!("{}&done=deleted", path(visitor.locale)))),
        Err(CategoryRefusal::InUse(_)) => {
            let mut page = render(&shop, &visitor).await?;
            for row in &mut page.rows {
                row.asks = row.category.id == id;
            }
            page.warning = Some(words::problem("not_confirmed").text(visitor.locale));
            personal(StatusCode::UNPROCESSABLE_ENTITY, &page)
        }
        Err(refusal) => Err(refusal.into()),
    }
}

/// Both names of a category as entered, with what is wrong with them.
#[derive(Debug, Clone)]
pub struct CategoryForm {
    pub name: Bilingual,
    /// The version that saving replaces; empty for a new category.
    pub version: String,
    pub errors: Vec<FieldError>,
    /// The present name, if the category was changed since the form was opened. Saving again then overwrites it
    /// knowingly.
    pub now_named: Option<Bilingual>,
}

impl CategoryForm {
    pub fn blank() -> CategoryForm {
        CategoryForm { name: Bilingual::new("", ""), version: String::new(), errors: Vec::new(), now_named: None }
    }

    fn of(category: &Category) -> CategoryForm {
        let (name, version) = (category.name.clone(), category.version().to_string());
        CategoryForm { name, version, ..CategoryForm::blank() }
    }

    /// Whether the form was refused, so that the page unfolds it.
    fn is_refused(&self) -> bool {
        !self.errors.is_empty() || self.now_named.is_some()
    }

    /// The fields: name, label, value, and what is wrong.
    fn fields(&self, chrome: &Chrome) -> [(&'static str, &'static str, &str, Option<&'static str>); 2] {
        let t = &chrome.text().admin;
        [("name_zh", t.name_zh, &self.name.zh), ("name_en", t.name_en, &self.name.en)]
            .map(|(name, label, value)| (name, label, value.as_str(), error_text(chrome, &self.errors, name)))
    }
}

/// A category in the list.
#[derive(Debug)]
pub struct CategoryRow {
    pub category: Category,
    /// The number of goods in the category.
    pub goods: usize,
    pub form: CategoryForm,
    /// Whether the page asks to confirm its deletion.
    pub asks: bool,
}

impl CategoryRow {
    pub fn new(category: Category, goods: usize) -> CategoryRow {
        CategoryRow { form: CategoryForm::of(&category), category, goods, asks: false }
    }
}

#[derive(Debug, Template)]
#[template(path = "categories/categories.html")]
struct CategoriesPage {
    chrome: Chrome,
    /// In the order of the shop.
    rows: Vec<CategoryRow>,
    /// The form of a new category.
    form: CategoryForm,
    /// The action that the page reports as done, and the name of the category.
    done: Option<(String, String)>,
    warning: Option<&'static str>,
}

impl CategoriesPage {
    fn done(&self) -> Option<String> {
        let t = &self.chrome.text().categories;
        let (what, name) = self.done.as_ref()?;
        let words = match what.as_str() {
            "created" => t.done_created,
            "saved" => t.done_saved,
            "moved" => t.done_moved,
            "deleted" => t.done_deleted,
            _ => return None,
        };
        Some(fill(words, name))
    }

    /// What deleting the category does.
    fn consequence(&self, row: &CategoryRow) -> String {
        let t = &self.chrome.text().categories;
        if row.goods == 0 { t.delete_unused.to_owned() } else { fill(t.delete_used, row.goods) }
    }

    /// The moves that would change a category's place: the form's value, and the name.
    fn moves(&self, row: &CategoryRow) -> Vec<(&'static str, &'static str, &'static str)> {
        let t = &self.chrome.text().categories;
        let is = |end: Option<&CategoryRow>| end.is_some_and(|end| end.category.id == row.category.id);
        let all = [("earlier", "↑", t.earlier, is(self.rows.first())), ("later", "↓", t.later, is(self.rows.last()))];
        all.into_iter().filter(|(.., is_end)| !is_end).map(|(to, sign, words, _)| (to, sign, words)).collect()
    }
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
