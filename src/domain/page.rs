//! One page of a list that is read with a cursor.

/// Items of one page, and the cursor after which the next page begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T, C> {
    pub items: Vec<T>,
    /// `None` on the last page.
    pub next: Option<C>,
}

impl<T, C> Page<T, C> {
    /// Cuts a list to `limit` items. Read one item more than `limit`: its presence is how a further page is known.
    pub fn cut(mut items: Vec<T>, limit: usize, cursor: impl Fn(&T) -> C) -> Page<T, C> {
        let has_more = items.len() > limit;
        items.truncate(limit);
        let next = if has_more { items.last().map(cursor) } else { None };
        Page { items, next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_cursor_is_the_last_item_shown_and_only_if_more_follow() {
        let page = |items: &[i32]| Page::cut(items.to_vec(), 2, |item| *item);
        assert_eq!(page(&[7, 8, 9]), Page { items: vec![7, 8], next: Some(8) });
        assert_eq!(page(&[7, 8]), Page { items: vec![7, 8], next: None });
        assert_eq!(page(&[]), Page { items: vec![], next: None });
    }
}
