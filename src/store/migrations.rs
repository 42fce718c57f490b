//! The schema's migrations, built into the program, and how a database stands to them.
//!
//! A program of an older version works with a newer schema as long as that only adds (expand). A migration that takes
//! something away (contract) says so in `schema_floor`, and programs that do not know it end with one sentence.
//!
//! This is an explicit list instead of `sqlx::migrate!`, because the macro needs the database drivers at compile time,
//! so all of them would be compiled a second time. A database records the same about a migration either way: version,
//! description and SHA-384 of the SQL.

use std::time::Duration;

use sqlx::any::AnyRow;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::{Connection, Row, SqlSafeStr};

use crate::{Store, StoreError, StoreResult, row};

/// Version, description and SQL, ascending. The file of version 1, "shop", is `migrations/0001_shop.sql`. A file that is
/// applied anywhere must not change: databases compare its checksum.
const MIGRATIONS: [(i64, &str, &str); 75] = [
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
    (69, "waitlist segments", include_str!("../../migrations/0069_waitlist_segments.sql")),
    (70, "earlier calls", include_str!("../../migrations/0070_earlier_calls.sql")),
    (71, "called off draws", include_str!("../../migrations/0071_called_off_draws.sql")),
    (FLOOR_VERSION, "schema floor", include_str!("../../migrations/0073_schema_floor.sql")),
    (74, "shop secret", include_str!("../../migrations/0074_shop_secret.sql")),
    (75, "payment providers", include_str!("../../migrations/0075_payment_providers.sql")),
    (76, "parcels", include_str!("../../migrations/0076_parcels.sql")),
    (77, "invoices", include_str!("../../migrations/0077_invoices.sql")),
    (78, "later rounds", include_str!("../../migrations/0078_later_rounds.sql")),
    (79, "returns", include_str!("../../migrations/0079_returns.sql")),
    (80, "shipping", include_str!("../../migrations/0080_shipping.sql")),
    (81, "settlements", include_str!("../../migrations/0081_settlements.sql")),
    (82, "shop settings", include_str!("../../migrations/0082_shop_settings.sql")),
    (83, "integration", include_str!("../../migrations/0083_integration.sql")),
    (84, "events", include_str!("../../migrations/0084_events.sql")),
    (85, "fronts", include_str!("../../migrations/0085_fronts.sql")),
    (86, "order numbers of people", include_str!("../../migrations/0086_order_numbers_of_people.sql")),
    (87, "shop decisions", include_str!("../../migrations/0087_shop_decisions.sql")),
    (88, "after payment", include_str!("../../migrations/0088_after_payment.sql")),
    (89, "draw results", include_str!("../../migrations/0089_draw_results.sql")),
];

/// The migration that creates `schema_floor`.
const FLOOR_VERSION: i64 = 73;
/// How long the migration of a large database may take. Other processes wait for it.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(3600);

/// How the schema of a database stands to this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaState {
    /// Version and name of the migrations that the database lacks, ascending.
    pub pending: Vec<(i64, String)>,
    /// The newest migration that only newer programs know.
    pub newer: Option<i64>,
    /// Why this program cannot work with the database, and what to do; `None` if it can, once nothing is pending.
    pub problem: Option<String>,
}

impl SchemaState {
    /// `applied` are version and checksum of the migrations of the database; `floor` is the oldest that a program has to
    /// know.
    fn of(known: &Migrator, applied: &[(i64, Vec<u8>)], floor: Option<i64>) -> SchemaState {
        let newest = known.iter().map(|migration| migration.version).max().unwrap_or_default();
        let find = |version: i64| applied.iter().find(|(applied, _)| *applied == version);
        let missing = known.iter().filter(|migration| find(migration.version).is_none());
        let pending = missing.map(|migration| (migration.version, migration.description.to_string())).collect();
        let unknown = applied.iter().map(|(version, _)| *version).filter(|version| !known.version_exists(*version));
        let changed = known
            .iter()
            .find(|migration| find(migration.version).is_some_and(|(_, checksum)| *checksum != *migration.checksum));
        let problem = match (floor, changed) {
            (Some(floor), _) if floor > newest => Some(format!(
                "the schema needs a program that knows migration {floor}, and this one ends with {newest}; start the newer \
                 version, or restore the backup from before the upgrade"
            )),
            (_, Some(changed)) => Some(format!(
                "migration {} of the database is not the one of this program: another build made it; start that build, or \
                 restore a backup from before it",
                changed.version
            )),
            _ => None,
        };
        SchemaState { pending, newer: unknown.max(), problem }
    }
}

impl Store {
    /// Compares the schema of the database with this program.
    pub async fn schema(&self) -> StoreResult<SchemaState> {
        let sql = "SELECT version, checksum FROM _sqlx_migrations WHERE success ORDER BY version";
        let read = |row: &AnyRow| Ok((row::int(row, "version")?, row.try_get::<Vec<u8>, _>("checksum")?));
        let applied = match self.all(sqlx::query(sql), read).await {
            // A new database has no such table.
            Err(StoreError::Refused(_)) => Vec::new(),
            applied => applied?,
        };
        let mut floor = None;
        if applied.iter().any(|(version, _)| *version == FLOOR_VERSION) {
            let sql = "SELECT version FROM schema_floor WHERE id = 1";
            floor = self.optional(sqlx::query(sql), |row| row::int(row, "version")).await?;
        }
        Ok(SchemaState::of(&migrator(), &applied, floor))
    }

    /// Applies the migrations that the database lacks. Others that only newer programs know stay.
    pub async fn migrate(&self) -> StoreResult<()> {
        // Most starts end here. The migrator's connection has only one deadline, for the longest of all migrations. If
        // the host vanished, a start would wait for this long.
        if self.schema().await?.pending.is_empty() {
            return Ok(());
        }
        // After a failure the connection still has PostgreSQL's lock around migrations, so it must be closed.
        let mut connection = self.pool.acquire_detached().await?;
        let run = async {
            if self.own_clock.is_none() {
                sqlx::query("SET statement_timeout = 0").execute(&mut connection).await?;
            }
            let done = migrator().run(&mut connection).await;
            connection.close().await?;
            Ok::<_, sqlx::Error>(done)
        };
        let done = tokio::time::timeout(MIGRATION_TIMEOUT, run).await.map_err(|_| sqlx::Error::PoolTimedOut)??;
        done.map_err(|error| match error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
            other => StoreError::Refused(other.into()),
        })?;
        self.sales().give_spread_seeds().await
    }
}

/// Takes sqlx's lock and applies missing migrations, each file in a transaction. Refuses a database with a changed
/// migration.
fn migrator() -> Migrator {
    let migrations = MIGRATIONS.map(|(version, description, sql)| {
        Migration::new(version, description.into(), MigrationType::Simple, sql.into_sql_str(), false)
    });
    let mut migrator = Migrator::with_migrations(migrations.into());
    migrator.set_ignore_missing(true);
    migrator
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
    fn older_program_goes_on_until_a_migration_raises_the_floor() {
        let known = migrator();
        let mut applied: Vec<(i64, Vec<u8>)> =
            known.iter().map(|migration| (migration.version, migration.checksum.to_vec())).collect();
        let state = SchemaState::of(&known, &applied, Some(FLOOR_VERSION));
        assert_eq!(state, SchemaState { pending: Vec::new(), newer: None, problem: None });
        applied.push((9_999, vec![1]));
        let newer = SchemaState::of(&known, &applied, Some(FLOOR_VERSION));
        assert_eq!(newer, SchemaState { newer: Some(9_999), ..state });
        let contracted = SchemaState::of(&known, &applied, Some(9_999)).problem.unwrap();
        assert!(contracted.contains("9999") && contracted.contains("start the newer version"), "{contracted}");
        applied[0].1 = vec![1];
        assert!(SchemaState::of(&known, &applied, Some(1)).problem.unwrap().contains("migration 1 "));
        let before = SchemaState::of(&known, &applied[1..3], None);
        assert_eq!((before.pending[0].0, before.pending[1].0, before.problem), (1, 4, None));
    }

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
