//! The names of one sale's keys. They share a hash tag, so they live on one slot of a Redis Cluster.

use crate::domain::SaleId;

pub fn sale(id: SaleId) -> String {
    format!("goods{{{id}}}")
}

pub fn count(id: SaleId) -> String {
    format!("goods{{{id}}}_count")
}

pub fn start(id: SaleId) -> String {
    format!("goods{{{id}}}_start")
}

pub fn access(id: SaleId) -> String {
    format!("goods{{{id}}}_access")
}

pub fn holders(id: SaleId) -> String {
    format!("goods{{{id}}}:holders")
}

pub fn outbox(id: SaleId) -> String {
    format!("goods{{{id}}}:outbox")
}

/// Outbox entries that make no sense, for an operator to look at.
pub fn dead(id: SaleId) -> String {
    format!("goods{{{id}}}:outbox:dead")
}

/// Where holders are gathered while a sale is loaded, one place per attempt.
pub fn loading(id: SaleId, epoch: i64) -> String {
    format!("goods{{{id}}}:loading:{epoch}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_that_operators_know() {
        let id = SaleId(7);
        let all = [sale(id), count(id), start(id), access(id), holders(id), outbox(id)];
        let expected =
            ["goods{7}", "goods{7}_count", "goods{7}_start", "goods{7}_access", "goods{7}:holders", "goods{7}:outbox"];
        assert_eq!(all, expected);
    }
}
