//! The console's pages of goods: the list, archiving, and the form that creates and edits them.

use crate::goods::upload::{GoodsForm, UploadedFile, changes_since};
use crate::lists::saved_views::{ListBar, own_list_bar};
use crate::prelude::*;
use domain::goods::MAX_GALLERY_PICTURES;
use domain::{Category, Picture};
use store::{GoodsDraft, GoodsRefusal};
use web::shared::validation::{check_description, check_name, check_variant};

/// Goods on the list. A search finds the others.
const MAX_LISTED: usize = 100;

inputs! {
    /// The search, and the action that the page reports as done.
    GoodsListQuery {
        q, archived,
        /// An id, or `none` for goods without a category; empty for all.
        category,
        done, goods: Option<GoodsId>,
        /// `name`, `oldest`, or empty for the newest first. All goods are in memory, so any order is possible.
        sort,
        /// The whole query as it came.
        #[serde(skip)]
        raw: Option<String>,
    }
}

pub async fn list(
    (State(shop), _, visitor): StaffVisit<ViewConsole>,
    RawQuery(raw): RawQuery,
    Query(query): Query<GoodsListQuery>,
) -> Answer {
    show_list(&shop, &visitor, GoodsListQuery { raw, ..query }, StatusCode::OK, None).await
}

async fn show_list(
    shop: &Shop,
    visitor: &Visitor,
    query: GoodsListQuery,
    status: StatusCode,
    warning: Option<&'static str>,
) -> Answer {
    let all = shop.store.goods().list().await?;
    let done = query.goods.and_then(|id| all.iter().find(|goods| goods.id == id));
    let done = done.map(|goods| (query.done, goods.name.get(visitor.locale).to_owned()));
    let with_archived = !query.archived.is_empty();
    let archived = all.iter().filter(|goods| goods.is_archived()).count();
    let words = query.q.trim().to_lowercase();
    // Newest first, because goods that were just created are the most likely to be edited.
    let mut goods: Vec<Goods> = all.into_iter().rev().collect();
    let categories = shop.store.categories().list().await?;
    let is_here = |goods: &Goods| match query.category.as_str() {
        "" => true,
        "none" => goods.category_id.is_none(),
        category => goods.category_id.is_some_and(|id| id.to_string() == category),
    };
    goods.retain(|goods| {
        (with_archived || !goods.is_archived())
            && is_here(goods)
            && (goods.id.to_string() == words
                || [&goods.name.zh, &goods.name.en].iter().any(|name| name.to_lowercase().contains(&words)))
    });
    match query.sort.as_str() {
        "name" => goods.sort_by_key(|goods| goods.name.get(visitor.locale).to_lowercase()),
        "oldest" => goods.reverse(),
        _ => {}
    }
    let bar = own_list_bar(shop, visitor, ConsoleList::Goods, query.raw.as_deref()).await?;
    let more = goods.len() > MAX_LISTED;
    goods.truncate(MAX_LISTED);
    let chrome = visitor.chrome_at(list_path(visitor.locale));
    let (query, category) = (query.q.trim().to_owned(), query.category);
    let page = AdminGoodsList {
        chrome,
        goods,
        query,
        category,
        categories,
        with_archived,
        archived,
        more,
        done,
        warning,
        bar,
    };
    personal(status, &page)
}

fn list_path(locale: Locale) -> String {
    format!("/admin/goods?lang={locale}")
}

/// Redirects to the list, which reports the action.
fn see_list(visitor: &Visitor, what: &str, id: GoodsId) -> Response {
    see_other(&format!("{}&done={what}&goods={id}", list_path(visitor.locale)))
}

type Visit = StaffVisitTo<ManageSales, GoodsId>;

handlers! {
    set_archived(visit: Visit, form: Form<ConfirmForm>)
    archive true;
    unarchive false;
}

async fn set_archived(
    (State(shop), staff, visitor, PathIds(id)): Visit,
    Form(form): Form<ConfirmForm>,
    archive: bool,
) -> Answer {
    let (code, words) = match form.is_confirmed() {
        false => (Code::Invalid, "not_confirmed"),
        true => match shop.sales_admin.archive_goods(id, archive, staff.actor()).await {
            Ok(_) => return Ok(see_list(&visitor, if archive { "archived" } else { "unarchived" }, id)),
            Err(GoodsRefusal::OnSale) => (Code::GoodsOnSale, Code::GoodsOnSale.as_str()),
            Err(refusal) => return Err(refusal.into()),
        },
    };
    let archived = if archive { String::new() } else { "1".to_owned() };
    let query = GoodsListQuery { archived, ..GoodsListQuery::default() };
    show_list(&shop, &visitor, query, code.status(), Some(words::problem(words).text(visitor.locale))).await
}

pub async fn blank((State(shop), _, visitor): StaffVisit<ViewConsole>) -> Answer {
    personal(StatusCode::OK, &goods_form(&shop, &visitor, None, blank_goods(&shop)).await?)
}

pub async fn show((State(shop), _, visitor, PathIds(id)): StaffVisitTo<ViewConsole, GoodsId>) -> Answer {
    let goods = shop.store.goods().get(id).await?.ok_or(Code::NotFound)?;
    personal(StatusCode::OK, &goods_form(&shop, &visitor, Some(id), goods).await?)
}

pub async fn create(visit: StaffVisit<ManageSales>, Repeatable(request): Repeatable, form: GoodsForm) -> Answer {
    save(visit, None, request, form).await
}

pub async fn edit((shop, staff, visitor, PathIds(id)): Visit, form: GoodsForm) -> Answer {
    save((shop, staff, visitor), Some(id), None, form).await
}

/// The form with these values and without errors.
async fn goods_form(
    shop: &Shop,
    visitor: &Visitor,
    id: Option<GoodsId>,
    goods: Goods,
) -> Result<AdminGoodsForm, Problem> {
    let page = id.map_or_else(|| "new".to_owned(), |id| id.to_string());
    let chrome = visitor.chrome_at(format!("/admin/goods/{page}?lang={}", visitor.locale));
    let version = id.map(|_| goods.version().to_string()).unwrap_or_default();
    let (errors, uploads) = (Vec::new(), Vec::new());
    let categories = shop.store.categories().list().await?;
    let (variants, mut products): (Vec<_>, Vec<_>) =
        shop.store.goods().list().await?.into_iter().partition(|other| id.is_some() && other.variant_of == id);
    products.retain(|other| {
        let is_chosen = goods.variant_of == Some(other.id);
        is_chosen || (other.variant_of.is_none() && !other.is_archived() && Some(other.id) != id)
    });
    let (others, preview) = (None, false);
    Ok(AdminGoodsForm { chrome, id, goods, categories, products, variants, version, others, preview, errors, uploads })
}

/// Goods with every value empty.
fn blank_goods(shop: &Shop) -> Goods {
    Goods {
        id: GoodsId(0),
        name: Bilingual::new("", ""),
        description: Bilingual::new("", ""),
        category_id: None,
        variant_of: None,
        variant: Bilingual::new("", ""),
        pictures: Vec::new(),
        updated_at: shop.clock.now(),
        archived_at: None,
    }
}

async fn save(
    (State(shop), staff, visitor): StaffVisit<ManageSales>,
    id: Option<GoodsId>,
    request: Option<RequestId>,
    form: GoodsForm,
) -> Answer {
    let goods = match id {
        Some(id) => shop.store.goods().get(id).await?.ok_or(Code::NotFound)?,
        None => blank_goods(&shop),
    };
    let preview = form.preview;
    let current = goods.version();
    // A form of an older program has no version.
    let versions = form.version.parse().ok().map(|version| vec![version]);
    let mut page = goods_form(&shop, &visitor, id, goods).await?;
    page.version.clone_from(&form.version);
    page.goods.name = Bilingual::new(form.name[0].trim(), form.name[1].trim());
    page.goods.description = Bilingual::new(form.description[0].trim(), form.description[1].trim());
    page.errors = check_name(&page.goods.name);
    choose_category(&mut page, form.category.as_deref());
    choose_product(&mut page, form.variant_of.as_deref(), &form.variant);
    page.errors.extend(check_description(&page.goods.description));
    update_gallery(&shop, &mut page, form).await?;
    if !page.errors.is_empty() || !page.uploads.is_empty() {
        return personal(StatusCode::UNPROCESSABLE_ENTITY, &page);
    }
    if preview {
        return personal(StatusCode::OK, &AdminGoodsForm { preview, ..page });
    }
    let goods = page.goods.clone();
    let draft = GoodsDraft {
        name: Some(goods.name),
        description: Some(goods.description),
        category_id: Some(goods.category_id),
        variant_of: Some(goods.variant_of),
        variant: Some(goods.variant),
        pictures: Some(goods.pictures),
        request,
        versions,
    };
    let goods = match shop.sales_admin.put_goods(id, draft, staff.actor()).await {
        // The category was deleted just now.
        Err(GoodsRefusal::NoSuchCategory) => {
            page.goods.category_id = None;
            return show_error(page, "category_id", "no_such_category");
        }
        // Other goods were made a variant just now.
        Err(GoodsRefusal::VariantOfVariant) => return show_error(page, "variant_of", "variant_of_variant"),
        Err(GoodsRefusal::HasVariants) => return show_error(page, "variant_of", "has_variants"),
        Err(GoodsRefusal::ChangedMeanwhile) => return show_changed(&shop, page, current).await,
        saved => saved?.ok_or(Code::NotFound)?,
    };
    Ok(see_list(&visitor, if id.is_some() { "saved" } else { "created" }, goods.id))
}

/// Sets the category from the form. A form of an older program has none. A category that no longer exists is an error.
fn choose_category(page: &mut AdminGoodsForm, chosen: Option<&str>) {
    let Some(chosen) = chosen else { return };
    page.goods.category_id = chosen.parse().ok().filter(|id: &CategoryId| page.categories.iter().any(|c| c.id == *id));
    if !chosen.is_empty() && page.goods.category_id.is_none() {
        page.errors.push(FieldError::new("category_id", "no_such_category"));
    }
}

/// Sets of which goods these are a variant, and the variant's name. A form of an older program has neither.
fn choose_product(page: &mut AdminGoodsForm, chosen: Option<&str>, [zh, en]: &[String; 2]) {
    let Some(chosen) = chosen else { return };
    page.goods.variant = Bilingual::new(zh.trim(), en.trim());
    page.errors.extend(check_variant(&page.goods.variant));
    page.goods.variant_of = chosen.parse().ok().filter(|id: &GoodsId| page.products.iter().any(|p| p.id == *id));
    if !chosen.is_empty() && page.goods.variant_of.is_none() {
        page.errors.push(FieldError::new("variant_of", "variant_of_variant"));
    }
}

/// The form again, with a mistake that the database found.
fn show_error(mut page: AdminGoodsForm, field: &'static str, code: &'static str) -> Answer {
    page.errors.push(FieldError::new(field, code));
    personal(StatusCode::UNPROCESSABLE_ENTITY, &page)
}

/// The form again, with everything that was entered and with what others have changed since it was opened. Sending it
/// again replaces version `current`.
async fn show_changed(shop: &Shop, page: AdminGoodsForm, current: i64) -> Answer {
    let id = page.goods.id;
    let others = changes_since(&shop.store, id, page.version.parse().unwrap_or_default()).await?;
    let page = AdminGoodsForm { version: current.to_string(), others: Some(others), ..page };
    personal(StatusCode::CONFLICT, &page)
}

/// Sets the gallery: the pictures that stay in their order, then the uploads. Accepted uploads are stored at once, so
/// that a form with an error elsewhere does not need them again.
async fn update_gallery(shop: &Shop, page: &mut AdminGoodsForm, form: GoodsForm) -> Result<(), Problem> {
    let names = form.arranged_pictures();
    let mut gallery = shop.store.goods().pictures(&names).await?;
    if gallery.len() < names.len() {
        page.errors.push(FieldError::new("pictures", "no_such_picture"));
    }
    for file in form.uploads {
        match store_upload(shop, file).await? {
            Ok(picture) if gallery.iter().all(|other| other.name != picture.name) => gallery.push(picture),
            Ok(_) => {}
            Err(error) => page.uploads.push(error),
        }
    }
    if form.too_many_uploads || gallery.len() > MAX_GALLERY_PICTURES {
        page.errors.push(FieldError::new("pictures", "too_many_pictures"));
    }
    page.goods.pictures = gallery;
    Ok(())
}

async fn store_upload(shop: &Shop, upload: UploadedFile) -> Result<Result<Picture, UploadError>, Problem> {
    let code = match upload.bytes {
        None => "picture_too_large",
        Some(bytes) => match shop.pictures.add(bytes).await {
            Ok(picture) => return Ok(Ok(picture)),
            Err(refusal) => refusal.field_code().ok_or(refusal)?,
        },
    };
    Ok(Err(UploadError { file: upload.file, code }))
}

/// The goods that match a search.
#[derive(Debug, Template)]
#[template(path = "goods/goods.html")]
struct AdminGoodsList {
    chrome: Chrome,
    goods: Vec<Goods>,
    query: String,
    /// The category that is shown, as in the query; empty for all, `none` for goods without a category.
    category: String,
    categories: Vec<Category>,
    /// Whether archived goods are among them.
    with_archived: bool,
    archived: usize,
    /// Whether more goods match than are listed.
    more: bool,
    /// The action that the page reports as done, and the name of the goods.
    done: Option<(String, String)>,
    warning: Option<&'static str>,
    bar: ListBar,
}

impl AdminGoodsList {
    /// The orders of the list: name, link, and whether it is the present one.
    fn orders(&self) -> [(&'static str, String, bool); 3] {
        let t = &self.chrome.text().tables;
        [("", t.newest), ("oldest", t.oldest), ("name", t.by_name)].map(|(sort, words)| {
            (words, self.bar.query.with("sort", sort).path(self.chrome.locale), self.bar.query.get("sort") == sort)
        })
    }

    /// The choices of the category: value, words, and whether it is the current one.
    fn category_choices(&self) -> Vec<(String, &str, bool)> {
        let t = &self.chrome.text().categories;
        let named = self.categories.iter().map(|category| (category.id.to_string(), self.chrome.say(&category.name)));
        let ends = [(String::new(), t.any), ("none".to_owned(), t.none)];
        let [any, none] = ends;
        let all = std::iter::once(any).chain(named).chain([none]);
        all.map(|(value, words)| (value.clone(), words, value == self.category)).collect()
    }

    /// The address of the list with or without archived goods.
    fn archived_path(&self, archived: &str) -> String {
        self.bar.query.with("archived", archived).path(self.chrome.locale)
    }

    fn done(&self) -> Option<String> {
        let t = &self.chrome.text().goods;
        let (what, name) = self.done.as_ref()?;
        let words = match what.as_str() {
            "created" => t.done_created,
            "saved" => t.done_saved,
            "archived" => t.done_archived,
            "unarchived" => t.done_unarchived,
            _ => return None,
        };
        Some(fill(words, name))
    }

    /// Archiving or unarchiving: label, explanation, and last segment of the path.
    fn archive_action(&self, goods: &Goods) -> (&'static str, &'static str, &'static str) {
        let t = &self.chrome.text().goods;
        match goods.is_archived() {
            true => (t.unarchive, t.unarchive_text, "unarchive"),
            false => (t.archive, t.archive_text, "archive"),
        }
    }
}

/// An uploaded file that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadError {
    /// The file's name on the sender's device.
    pub file: String,
    pub code: &'static str,
}

/// What others changed since the form was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherChanges {
    pub actors: Vec<String>,
    /// The names of the changed fields.
    pub fields: Vec<&'static str>,
}

/// The form of new or existing goods.
#[derive(Debug, Template)]
#[template(path = "goods/goods_form.html")]
pub struct AdminGoodsForm {
    pub chrome: Chrome,
    /// `None` for new goods.
    pub id: Option<GoodsId>,
    /// The values as entered, with the pictures accepted so far: an error elsewhere does not lose them.
    pub goods: Goods,
    /// The categories to choose from.
    pub categories: Vec<Category>,
    /// The goods of which these can be a variant.
    pub products: Vec<Goods>,
    /// The goods that are variants of these.
    pub variants: Vec<Goods>,
    /// The version that saving replaces; empty for new goods.
    pub version: String,
    /// What others changed, if the goods no longer have that version. Saving again then overwrites it knowingly.
    pub others: Option<OtherChanges>,
    /// Whether to show what shoppers will see.
    pub preview: bool,
    pub errors: Vec<FieldError>,
    pub uploads: Vec<UploadError>,
}

impl AdminGoodsForm {
    fn label<'a>(&self, field: &'a str) -> &'a str {
        match field {
            "category_id" => self.chrome.text().categories.field,
            "variant_of" => self.chrome.text().goods.variant_of,
            "variant_zh" => self.chrome.text().goods.variant_zh,
            "variant_en" => self.chrome.text().goods.variant_en,
            "pictures" => self.chrome.text().goods.pictures,
            "archived" => self.chrome.text().goods.archived,
            _ => label(&self.chrome, field),
        }
    }

    /// Says who changed which fields.
    fn others_text(&self, others: &OtherChanges) -> String {
        let t = &self.chrome.text().goods;
        let separator = if self.chrome.locale == Locale::Zh { "、" } else { ", " };
        let fields: Vec<&str> = others.fields.iter().map(|field| self.label(field)).collect();
        match others.actors.is_empty() {
            true => t.changed_unknown.to_owned(),
            false => {
                let who = fill(t.changed_by, others.actors.join(separator));
                format!("{who} {}", fill(t.changed_fields, fields.join(separator)))
            }
        }
    }

    fn is_chosen(&self, category: &Category) -> bool {
        self.goods.category_id == Some(category.id)
    }

    fn is_product(&self, goods: &Goods) -> bool {
        self.goods.variant_of == Some(goods.id)
    }

    fn upload_error_text(&self, code: &&'static str) -> &'static str {
        field_error(self.chrome.locale, code)
    }

    /// The pictures with their places in the gallery.
    fn rows(&self) -> impl Iterator<Item = (usize, &Picture)> {
        (1..).zip(&self.goods.pictures)
    }

    /// The chrome of the preview in each language.
    fn each_language(&self) -> impl Iterator<Item = Chrome> {
        Locale::ALL.into_iter().map(|locale| Chrome { locale, ..self.chrome.clone() })
    }
}
