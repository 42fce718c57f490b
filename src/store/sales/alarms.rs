//! The alarms of a sale. Each process that samples the sale records the changes that it sees. Processes see the same
//! changes up to seconds apart, so an alarm that rises just after its end counts as continued.

use jiff::Timestamp;

use crate::{SaleStore, StoreError, row};
use domain::{Alarm, AlarmEvent, SaleId};

const MIN_GAP_MS: i64 = 5_000;

impl SaleStore<'_> {
    /// Records which alarms of a sale rose and which ended.
    pub async fn record_alarms(
        self,
        sale: SaleId,
        rose: &[Alarm],
        ended: &[Alarm],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let now = now.as_millisecond();
        let mut tx = self.begin().await?;
        for alarm in ended {
            let end =
                "UPDATE sale_alarms SET ended_at_ms = $3 WHERE sale_id = $1 AND alarm = $2 AND ended_at_ms IS NULL";
            sqlx::query(end).bind(sale.0).bind(alarm.as_str()).bind(now).execute(&mut *tx).await?;
        }
        for alarm in rose {
            let go_on =
                "UPDATE sale_alarms SET ended_at_ms = NULL WHERE sale_id = $1 AND alarm = $2 AND ended_at_ms > $3
                 AND NOT EXISTS (SELECT 1 FROM sale_alarms WHERE sale_id = $1 AND alarm = $2 AND ended_at_ms IS NULL)";
            let go_on = sqlx::query(go_on).bind(sale.0).bind(alarm.as_str()).bind(now - MIN_GAP_MS);
            if go_on.execute(&mut *tx).await?.rows_affected() == 0 {
                let rise =
                    "INSERT INTO sale_alarms (sale_id, alarm, rose_at_ms) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
                sqlx::query(rise).bind(sale.0).bind(alarm.as_str()).bind(now).execute(&mut *tx).await?;
            }
        }
        tx.commit().await?;
        Ok(())
    }

    /// The newest alarms of a sale, newest first.
    pub async fn alarms(self, sale: SaleId, limit: i64) -> Result<Vec<AlarmEvent>, StoreError> {
        let sql = "SELECT alarm, rose_at_ms, ended_at_ms FROM sale_alarms WHERE sale_id = $1
             ORDER BY rose_at_ms DESC, alarm DESC LIMIT $2";
        let rows = sqlx::query(sql).bind(sale.0).bind(limit).fetch_all(&self.pool).await?;
        let event = |row| -> Result<AlarmEvent, sqlx::Error> {
            let (alarm, rose_at) = (row::parsed(row, "alarm")?, row::time(row, "rose_at_ms")?);
            Ok(AlarmEvent { alarm, rose_at, ended_at: row::optional_time(row, "ended_at_ms")? })
        };
        Ok(rows.iter().map(event).collect::<Result<_, _>>()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Store;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_800_000_000_000 + ms).unwrap()
    }

    #[tokio::test]
    async fn alarm_that_two_processes_see_is_recorded_once() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&base::config::sqlite_in(dir.path())).unwrap();
        store.migrate().await.unwrap();
        let (sale, slow) = (SaleId(1), [Alarm::Slow]);
        for (ms, rose, ended) in [
            (0, &slow[..], &[][..]),
            (900, &slow, &[]),
            // One process sees the end before the other one has seen the rise.
            (20_000, &[], &slow),
            (20_900, &slow, &[]),
            (21_900, &[], &slow),
            (60_000, &slow, &[Alarm::Drift]),
        ] {
            store.sales().record_alarms(sale, rose, ended, at(ms)).await.unwrap();
        }
        let first = AlarmEvent { alarm: Alarm::Slow, rose_at: at(0), ended_at: Some(at(21_900)) };
        let second = AlarmEvent { alarm: Alarm::Slow, rose_at: at(60_000), ended_at: None };
        assert_eq!(store.sales().alarms(sale, 9).await.unwrap(), [second, first]);
        assert_eq!(store.sales().alarms(sale, 1).await.unwrap(), [second]);
        assert_eq!(store.sales().alarms(SaleId(2), 9).await.unwrap(), []);
    }
}
