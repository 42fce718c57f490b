//! What is looked for among the orders, as it was typed. Shared by page, API and CSV.

use serde::Deserialize;

use crate::domain::UserId;
use crate::store::{OrderSearch, Store, StoreError};
use crate::web::pages::orders::statuses;
use crate::web::shared::FieldError;
use crate::web::shared::validation::time;
use crate::web::views::OrderFilter;

/// Orders on one page, and at most as many as a program may ask for.
const PAGE: usize = 50;
const MOST: usize = 200;

/// The query of a search. Everything may be missing.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Typed {
    order: String,
    /// A name or an id.
    user: String,
    username: String,
    sale: String,
    status: String,
    from: String,
    to: String,
    pub before: String,
    limit: String,
    /// Of the page's language.
    lang: String,
}

/// A search that makes sense.
#[derive(Debug)]
pub struct Wanted {
    /// `None` when there is nobody of the name, hence no order.
    pub search: Option<OrderSearch>,
    pub limit: usize,
}

impl Typed {
    /// What is wanted, or everything that is wrong with it at once.
    pub async fn read(&self, store: &Store) -> Result<Result<Wanted, Vec<FieldError>>, StoreError> {
        let (mut search, names, limit) = match self.parse() {
            Ok(parsed) => parsed,
            Err(errors) => return Ok(Err(errors)),
        };
        let mut known = true;
        for name in names {
            let user = store.user_named(&name).await?.map(|user| user.id);
            // Two different people at once are nobody.
            known &= user.is_some() && search.user.is_none_or(|other| Some(other) == user);
            search.user = user;
        }
        Ok(Ok(Wanted { search: known.then_some(search), limit }))
    }

    fn parse(&self) -> Result<(OrderSearch, Vec<String>, usize), Vec<FieldError>> {
        let mut errors = Vec::new();
        let mut wrong = |field, code| errors.push(FieldError { field, code });
        let mut search = OrderSearch::default();
        let mut names = Vec::new();
        match given(&self.order, |text| text.parse().ok()) {
            Some(order) => search.order = order,
            None => wrong("order", "bad_id"),
        }
        match given(&self.sale, |text| text.parse().ok()) {
            Some(sale) => search.sale = sale,
            None => wrong("sale", "bad_id"),
        }
        match given(&self.before, |text| text.parse().ok()) {
            Some(before) => search.before = before,
            None => wrong("before", "bad_cursor"),
        }
        match statuses(&self.status) {
            Some(statuses) => search.statuses = statuses,
            None => wrong("status", "bad_status"),
        }
        for (field, text, at) in [("from", &self.from, &mut search.from), ("to", &self.to, &mut search.to)] {
            match given(text, time) {
                Some(time) => *at = time,
                None => wrong(field, "bad_time"),
            }
        }
        if search.from.zip(search.to).is_some_and(|(from, to)| from >= to) {
            wrong("to", "time_order");
        }
        let limit = given(&self.limit, |text| text.parse().ok().filter(|n| (1..=MOST).contains(n)));
        if limit.is_none() {
            wrong("limit", "bad_number");
        }
        match self.user.trim() {
            "" => {}
            text => match text.to_lowercase().parse::<UserId>() {
                Ok(id) => search.user = Some(id),
                Err(_) => names.push(text.to_owned()),
            },
        }
        if !self.username.trim().is_empty() {
            names.push(self.username.trim().to_owned());
        }
        if errors.is_empty() { Ok((search, names, limit.flatten().unwrap_or(PAGE))) } else { Err(errors) }
    }

    /// The form as it was sent.
    pub fn filter(&self, errors: Vec<FieldError>) -> OrderFilter {
        let user = if self.user.trim().is_empty() { &self.username } else { &self.user };
        OrderFilter {
            order: self.order.clone(),
            user: user.clone(),
            sale: self.sale.clone(),
            status: self.status.clone(),
            from: self.from.clone(),
            to: self.to.clone(),
            errors,
        }
    }
}

/// Nothing typed is `Some(None)`; what cannot be read is `None`.
fn given<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    match text.trim() {
        "" => Some(None),
        text => read(text).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::OrderStatus;

    #[test]
    fn everything_may_be_missing_and_every_mistake_is_named() {
        let (search, names, limit) = Typed::default().parse().unwrap();
        assert_eq!((search, names.len(), limit), (OrderSearch::default(), 0, PAGE));
        let wrong = Typed {
            order: "1".into(),
            sale: "x".into(),
            status: "lost".into(),
            from: "soon".into(),
            to: "later".into(),
            before: "x".into(),
            limit: "1000".into(),
            ..Typed::default()
        };
        let fields: Vec<_> = wrong.parse().unwrap_err().iter().map(|error| error.field).collect();
        assert_eq!(fields, ["order", "sale", "before", "status", "from", "to", "limit"]);
        let backwards = Typed { from: "2026-11-21T12:00".into(), to: "2026-11-21T11:00".into(), ..Typed::default() };
        assert_eq!(backwards.parse().unwrap_err()[0].code, "time_order");
        let right = Typed { user: " Mei ".into(), status: "paid,refunded".into(), ..Typed::default() };
        let (search, names, _) = right.parse().unwrap();
        assert_eq!((search.statuses, names), (vec![OrderStatus::Paid, OrderStatus::Refunded], vec!["Mei".to_owned()]));
    }
}
