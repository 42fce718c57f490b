//! Waiting rooms: all buyers were called, calls were in order, and numbers follow from the seed.

use sqlx::any::AnyRow;

use crate::audit::{Snapshot, Steps};
use crate::{StoreError, row};
use domain::draw::EntryId;
use domain::{Place, UserId, WaitingRoomSeed};

impl Snapshot {
    /// Describes live orders of sales with a waiting room whose owners were not called. An order that was reserved in a
    /// turn whose place was exchanged later is in order: it was on its way when the turn seemed missed.
    pub async fn uncalled_buyers(&mut self) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT 'order ' || orders.id || ' of sale ' || sales.id || ': its owner was not called' AS problem
             FROM sales JOIN orders ON orders.sale_id = sales.id AND orders.status IN ('unpaid', 'paid')
             WHERE sales.mode = 'queue' AND sales.id > $1 AND sales.id <= $2 AND NOT EXISTS
               (SELECT 1 FROM queue_places AS places WHERE places.sale_id = orders.sale_id
                  AND places.user_id = orders.user_id AND (places.called_at_ms IS NOT NULL
                    OR (places.earlier_call_ms IS NOT NULL AND orders.reserved_at_ms < places.joined_at_ms)))";
        self.problems_of(Steps::<i64>::over("sales", "id"), &[sql]).await
    }

    /// Describes places that still wait although a later place was called after they were taken, and numbers that do
    /// not follow from seed and entry.
    pub async fn wrong_places(&mut self) -> Result<Vec<String>, StoreError> {
        let passed_over =
            "SELECT 'sale ' || first.sale_id || ': place ' || first.entry || ' was passed over' AS problem
             FROM queues JOIN queue_places AS first ON first.sale_id = queues.sale_id AND first.called_at_ms IS NULL
               AND (first.segment < queues.serving_segment
                 OR (first.segment = queues.serving_segment AND first.number < queues.serving_number))
             WHERE queues.sale_id > $1 AND queues.sale_id <= $2 AND EXISTS
               (SELECT 1 FROM queue_places AS later WHERE later.sale_id = first.sale_id
                  AND later.called_at_ms > first.joined_at_ms AND (later.segment > first.segment
                    OR (later.segment = first.segment AND later.number > first.number)))";
        let mut problems = self.problems_of(Steps::<i64>::over("queues", "sale_id"), &[passed_over]).await?;
        let seeds = sqlx::query("SELECT sale_id, seed FROM queues ORDER BY sale_id");
        let seed =
            |row: &AnyRow| Ok::<(i64, WaitingRoomSeed), _>((row::int(row, "sale_id")?, row::parsed(row, "seed")?));
        for (sale, seed) in self.all(seeds, seed).await? {
            problems.extend(self.wrong_numbers(sale, &seed).await?);
        }
        Ok(problems)
    }

    async fn wrong_numbers(&mut self, sale: i64, seed: &WaitingRoomSeed) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT user_id, entry, segment, number FROM queue_places
             WHERE sale_id = $3 AND user_id > $1 AND user_id <= $2";
        let mut steps = Steps::<String>::along(format!("queue_places WHERE sale_id = {sale} AND"), "user_id");
        let mut problems = Vec::new();
        while let Some(step) = steps.next(self).await? {
            let read = |row: &AnyRow| {
                let place = Place { segment: row::int(row, "segment")?, number: row::int(row, "number")? };
                Ok::<(UserId, EntryId, Place), _>((row::parsed(row, "user_id")?, row::parsed(row, "entry")?, place))
            };
            let places = self.all(step.bind(sqlx::query(sql)).bind(sale), read).await?;
            let wrong = places.iter().filter(|(_, entry, place)| Place::of(seed, place.segment, *entry) != *place);
            problems.extend(wrong.map(|(user, ..)| format!("sale {sale}: the number of {user} is another one")));
        }
        Ok(problems)
    }
}
