//! Filters of the console's lists that a member of the staff saved under a name.

use uuid::Uuid;

use super::wire::wire_enum;

wire_enum! {
    /// A list of the console.
    pub enum ConsoleList {
        Sales = "sales",
        Goods = "goods",
        Orders = "orders",
        Packets = "packets",
        Users = "users",
        Log = "log",
    }
}

impl ConsoleList {
    /// The path of the list.
    pub fn path(self) -> &'static str {
        match self {
            ConsoleList::Sales => "/admin",
            ConsoleList::Goods => "/admin/goods",
            ConsoleList::Orders => "/admin/orders",
            ConsoleList::Packets => "/admin/packets",
            ConsoleList::Users => "/admin/users",
            ConsoleList::Log => "/admin/log",
        }
    }

    /// The keys of the list's query that belong to a view. Cursors and notices do not.
    pub fn keys(self) -> &'static [&'static str] {
        match self {
            ConsoleList::Sales => &["q", "state"],
            ConsoleList::Goods => &["q", "category", "archived", "sort"],
            ConsoleList::Orders => &["order", "user", "sale", "status", "held", "from", "to", "sort", "hide"],
            ConsoleList::Packets => &["hide"],
            ConsoleList::Users => &["q", "sort", "hide"],
            ConsoleList::Log => &["actor", "action", "subject", "from", "to", "zone", "sort"],
        }
    }
}

/// A filter with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedView {
    pub id: Uuid,
    pub list: ConsoleList,
    pub name: String,
    /// The list's query parameters in the order of [`ConsoleList::keys`], URL-encoded, without the language.
    pub query: String,
}

impl SavedView {
    /// Saved views of one member of the staff in one list.
    pub const MAX_PER_LIST: usize = 20;
    pub const MAX_NAME_CHARS: usize = 40;
    /// Length of the query in bytes.
    pub const MAX_QUERY: usize = 1000;
}
