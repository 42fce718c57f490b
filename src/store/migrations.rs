//! The schema's migrations, built into the program.
//!
//! This is an explicit list instead of `sqlx::migrate!`, because the macro needs the database drivers at compile time,
//! so all of them would be compiled a second time. A database records the same about a migration either way: version,
//! description and SHA-384 of the SQL.

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Version, description and SQL, ascending. The file of version 1, "shop", is `migrations/0001_shop.sql`. A file that is
/// applied anywhere must not change: databases compare its checksum.
const MIGRATIONS: [(i64, &str, &str); 55] = [
    (1, "shop", include_str!("../../migrations/0001_shop.sql")),
    (2, "staff", include_str!("../../migrations/0002_staff.sql")),
    (3, "pictures", include_str!("../../migrations/0003_pictures.sql")),
    (4, "accounts", include_str!("../../migrations/0004_accounts.sql")),
    (5, "orders", include_str!("../../migrations/0005_orders.sql")),
    (6, "cockpit", include_str!("../../migrations/0006_cockpit.sql")),
    (7, "sales", include_str!("../../migrations/0007_sales.sql")),
    (8, "buckets", include_str!("../../migrations/0008_buckets.sql")),
    (9, "rehearsals", include_str!("../../migrations/0009_rehearsals.sql")),
    (10, "wallet", include_str!("../../migrations/0010_wallet.sql")),
    (11, "packets", include_str!("../../migrations/0011_packets.sql")),
    (12, "processes", include_str!("../../migrations/0012_processes.sql")),
    (13, "attempts", include_str!("../../migrations/0013_attempts.sql")),
    (14, "spending", include_str!("../../migrations/0014_spending.sql")),
    (15, "idempotency", include_str!("../../migrations/0015_idempotency.sql")),
    (16, "growth", include_str!("../../migrations/0016_growth.sql")),
    (17, "payments", include_str!("../../migrations/0017_payments.sql")),
    (18, "totals", include_str!("../../migrations/0018_totals.sql")),
    (19, "books", include_str!("../../migrations/0019_books.sql")),
    (23, "recovery", include_str!("../../migrations/0023_recovery.sql")),
    (27, "security", include_str!("../../migrations/0027_security.sql")),
    (28, "step up", include_str!("../../migrations/0028_step_up.sql")),
    (29, "temporary passwords", include_str!("../../migrations/0029_temporary_passwords.sql")),
    (30, "staff policy", include_str!("../../migrations/0030_staff_policy.sql")),
    (31, "guesses", include_str!("../../migrations/0031_guesses.sql")),
    (32, "partial refunds", include_str!("../../migrations/0032_partial_refunds.sql")),
    (33, "spent proofs", include_str!("../../migrations/0033_spent_proofs.sql")),
    (34, "staff refunds", include_str!("../../migrations/0034_staff_refunds.sql")),
    (35, "feed and held money", include_str!("../../migrations/0035_feed_and_held_money.sql")),
    (36, "mail", include_str!("../../migrations/0036_mail.sql")),
    (38, "passkeys", include_str!("../../migrations/0038_passkeys.sql")),
    (39, "spread", include_str!("../../migrations/0039_spread.sql")),
    (40, "declined", include_str!("../../migrations/0040_declined.sql")),
    (41, "draw", include_str!("../../migrations/0041_draw.sql")),
    (42, "queue", include_str!("../../migrations/0042_queue.sql")),
    (43, "sale reports", include_str!("../../migrations/0043_sale_reports.sql")),
    (44, "waitlist", include_str!("../../migrations/0044_waitlist.sql")),
    (45, "eligibility", include_str!("../../migrations/0045_eligibility.sql")),
    (48, "shop pages", include_str!("../../migrations/0048_shop_pages.sql")),
    (50, "clusters", include_str!("../../migrations/0050_clusters.sql")),
    (51, "saved views", include_str!("../../migrations/0051_saved_views.sql")),
    (53, "push", include_str!("../../migrations/0053_push.sql")),
    (55, "queue joins", include_str!("../../migrations/0055_queue_joins.sql")),
    (57, "registration contacts", include_str!("../../migrations/0057_registration_contacts.sql")),
    (58, "versions", include_str!("../../migrations/0058_versions.sql")),
    (59, "deposits", include_str!("../../migrations/0059_deposits.sql")),
    (60, "categories", include_str!("../../migrations/0060_categories.sql")),
    (61, "questions", include_str!("../../migrations/0061_questions.sql")),
    (62, "gathered lists", include_str!("../../migrations/0062_gathered_lists.sql")),
    (63, "variants", include_str!("../../migrations/0063_variants.sql")),
    (64, "order numbers", include_str!("../../migrations/0064_order_numbers.sql")),
    (65, "sale alarms", include_str!("../../migrations/0065_sale_alarms.sql")),
    (66, "shop packets", include_str!("../../migrations/0066_shop_packets.sql")),
    (67, "payment reports", include_str!("../../migrations/0067_payment_reports.sql")),
    (68, "open payments", include_str!("../../migrations/0068_open_payments.sql")),
];

/// Takes sqlx's lock and applies missing migrations, each file in a transaction. Refuses a database with a changed or
/// unknown migration.
pub(super) fn migrator() -> Migrator {
    let migrations = MIGRATIONS.map(|(version, description, sql)| {
        Migration::new(version, description.into(), MigrationType::Simple, sql.into_sql_str(), false)
    });
    Migrator::with_migrations(migrations.into())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The column `checksum` of `_sqlx_migrations` in databases that `sqlx::migrate!` migrated.
    const CHECKSUMS: [&str; 13] = [
        "54cd8ec17c1e17d0492ed26c7a8df489cdf6e4bff36a0db9078e3d6b4715a5cad42811203beee9cf397ddc372d3a4db5",
        "9c07a0c8ce2a16707338841685e668d76169926a8ac89cf1596c6d24ab7c1fac82517ee667d887b2f91f6c0636f963c5",
        "3fa603e5626683f71273dbef98968b3a4ec3bb5152da3e1dfeb9b6326cb9f3ba695e3466bd73390dc05116929e41b248",
        "87ccde1741adf0db5d39f047e16c7b38f1f27c9696747011aedb6d033c3acebb0664293683398a752f038f8376ebffaf",
        "558ce6c5574a8c2742af4132bdf6fc29d192d8ef48590681b445d9524bad51fafb1a988cd467249022cf8e03052a7511",
        "2e6273071716714c9d667897e982ebf6529b03d70e07f4b748448cb80a8d51b019f7115ee5484d57bb30d79868df9817",
        "435fd1751e0a9a4c070e21a34b58c882f3e2aff9ad8ea5aa488076c6f7515e6bc544e8b4658c9b0720b3b00759713f9c",
        "d8dc0121be8a59693db07effe171ef481228d7294b13b88726fb1f2a8c2e3bd76b227d7fa3f35a6fac4c77286daa992f",
        "0ac0f794bc23c44785fd18b349d3b902b304b541970d005efd93a1ba7b973f797d76f1be7dc15e4809934a926a17c8b3",
        "b93dbe6813d8e14c0ddb9da7ab1a9246c42ffb5ed4706b778834a09871205ff7b95024ff447dfeac7b300d5d2dc315ae",
        "9a188a0d69ea1dad07fdd91f1e5faa981f18e0c57b6014edac16f4792a8c6fe95b6c54fca3aac197b71b0c2405cf3e54",
        "dd7a44c6499fe73cc744475aa62f994566a807a58ee25c5ff1f3fb48047a6eda0e51d9cb11e673053ec1dfdcc1470998",
        "3acfb34c4bc14b901282bc726b22beb90d0249fc14739b8aa5ade501ad5cf2b95aa4c1e93ff58f4c9b90641dda351ef3",
    ];

    #[test]
    fn migrations_have_the_checksums_that_databases_have_recorded() {
        let migrator = migrator();
        let checksums: Vec<String> = migrator
            .iter()
            .map(|migration| migration.checksum.iter().map(|byte| format!("{byte:02x}")).collect())
            .collect();
        assert_eq!(checksums[..CHECKSUMS.len()], CHECKSUMS);
    }

    #[tokio::test]
    async fn migrations_are_those_that_sqlx_reads_from_the_folder() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
        let of_folder = Migrator::new(folder).await.unwrap();
        let embedded = migrator();
        assert_eq!(embedded.iter().count(), of_folder.iter().count());
        for (embedded, file) in embedded.iter().zip(of_folder.iter()) {
            assert_eq!((embedded.version, &embedded.description), (file.version, &file.description));
            assert_eq!((embedded.migration_type, embedded.no_tx), (file.migration_type, file.no_tx));
            assert_eq!((embedded.sql.as_str(), &embedded.checksum), (file.sql.as_str(), &file.checksum));
        }
    }
}
