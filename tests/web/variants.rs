//! Goods that are variants of others.

use super::goods::{MULTIPART, form};
use super::*;

impl TestClient<'_> {
    async fn add_goods(&self, en: &str) -> String {
        let created =
            self.post("/api/admin/goods", json!({"name": {"zh": en, "en": en}, "description": {"zh": "", "en": ""}}));
        created.await.json()["goods"]["id"].as_str().unwrap().to_owned()
    }

    async fn edit_goods(&self, id: &str, edit: Value) -> TestResponse {
        self.send("PATCH", &format!("/api/admin/goods/{id}"), &[JSON], edit.to_string()).await
    }
}

#[tokio::test]
async fn all_variants_name_the_same_goods() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let [blue, black, white] =
        [admin.add_goods("Blue").await, admin.add_goods("Black").await, admin.add_goods("White").await];
    let of = |product: &str| json!({"variant_of": product, "variant": {"zh": "款", "en": "Kind"}});
    let made = admin.edit_goods(&black, of(&blue)).await;
    assert_eq!((made.status.as_u16(), &made.json()["goods"]["variant_of"]), (200, &json!(blue)));
    assert_eq!(made.json()["goods"]["variant"], json!({"zh": "款", "en": "Kind"}));
    for (id, product, code) in [
        (&white, "99", "variant_of_variant"),
        (&white, &*white, "variant_of_variant"),
        (&white, &*black, "variant_of_variant"),
        (&blue, &*white, "has_variants"),
    ] {
        let refused = admin.edit_goods(id, of(product)).await;
        let fields = json!([{"field": "variant_of", "code": code}]);
        assert_eq!((refused.status.as_u16(), &refused.json()["fields"]), (422, &fields), "{id} of {product}");
    }
    admin.edit_goods(&white, json!({"variant": {"zh": "白", "en": " "}})).await.wrong("variant.en", "required");
    let blank = admin.edit_goods(&white, json!({"variant": {"zh": " ", "en": " "}})).await;
    assert_eq!(blank.json()["goods"]["variant"], json!({"zh": "", "en": ""}), "blanks are no name");
    let kept = admin.edit_goods(&black, json!({"name": {"zh": "黑", "en": "Coal"}})).await;
    assert_eq!(kept.json()["goods"]["variant_of"], json!(blue));
    assert_eq!(admin.edit_goods(&black, json!({"variant_of": null})).await.json()["goods"]["variant_of"], json!(null));
    assert_eq!(admin.edit_goods(&blue, of(&white)).await.status, 200, "nothing is a variant of it any more");
}

#[tokio::test]
async fn staff_choose_what_goods_are_a_variant_of() {
    let shop = TestShop::open().await;
    let admin = shop.admin().await;
    let page = async |path: &str| admin.get(&format!("/admin/goods/{path}?lang=en")).await;
    assert!(!page("new").await.text().contains("variant_of"), "there is nothing to be a variant of");
    let blue = admin.add_goods("Blue phone").await;
    let names = [("name_zh", "黑色手机"), ("name_en", "Black phone")];
    let save = async |path: &str, variant: &[(&str, &str)]| {
        let texts = [&names[..], variant].concat();
        admin.send("POST", &format!("/admin/goods{path}?lang=en"), MULTIPART, form(&texts, &[])).await
    };
    let half = save("", &[("variant_of", &blue), ("variant_zh", "黑"), ("variant_en", "")]).await;
    assert!(half.is_page(422) && half.text().contains("variant_en-wrong"), "{half:?}");
    assert!(half.text().contains(&format!("value=\"{blue}\" selected")), "the choice is kept");
    let unknown = save("", &[("variant_of", "99"), ("variant_zh", ""), ("variant_en", "")]).await;
    assert!(unknown.is_page(422) && unknown.text().contains("isn’t itself a variant"), "{unknown:?}");
    let black = [("variant_of", &*blue), ("variant_zh", "黑"), ("variant_en", "Black")];
    assert_eq!(save("", &black).await.status, 303);
    assert!(page("2").await.text().contains(&format!("value=\"{blue}\" selected")));
    page(&blue).await.has(&["Other variants:", "/admin/goods/2?lang=en"]);
    assert!(admin.get("/admin/goods?lang=en").await.text().contains("Variant of 1"), "the list tells it");
    // A form of an older program has no fields for variants, and changes nothing about them.
    assert_eq!(save("/2", &[]).await.status, 303);
    assert_eq!(admin.get("/api/admin/goods/2").await.json()["goods"]["variant_of"], json!(blue));
    admin.edit_goods("2", json!({"variant_of": null})).await;
    assert!(admin.get("/admin/log?lang=en").await.text().contains("Variant of"), "the log names the field");
}
