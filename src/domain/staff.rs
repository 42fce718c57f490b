//! What belongs to the staff: their roles, the filters that they saved, and the texts about the shop that they write.

use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use crate::Bilingual;
use crate::wire::wire_enum;

wire_enum! {
    /// What an account may do. All roles but `User` are staff.
    pub enum Role {
        User = "user",
        /// The owner: may do everything, including appointing others.
        Admin = "admin",
        /// Runs sales and maintains the catalogue.
        Operator = "operator",
        /// Helps shoppers with their orders and accounts.
        Support = "support",
        /// Reads everything and changes nothing.
        Viewer = "viewer",
    }
}

impl Role {
    pub fn is_staff(self) -> bool {
        self != Role::User
    }
}

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
            ConsoleList::Orders => {
                &["order", "user", "sale", "status", "parcel", "return", "held", "from", "to", "sort", "hide"]
            }
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

// Texts about the whole shop that staff write, such as terms and returns.

wire_enum! {
    /// The name of a text in its URL.
    pub enum ShopPageName {
        Returns = "returns",
        Contact = "contact",
        Terms = "terms",
        Privacy = "privacy",
        /// Name, address and tax number of the shop's owner. Receipts begin with it.
        Seller = "seller",
        /// The licence line of a business, and the licences of what it uses.
        Licence = "licence",
    }
}

/// One text in Markdown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShopPage {
    pub name: ShopPageName,
    pub text: Bilingual,
    /// Time of the last change. It increases with every change. `None` for a page that is not written yet.
    pub updated_at: Option<Timestamp>,
}

impl ShopPage {
    pub fn unwritten(name: ShopPageName) -> ShopPage {
        ShopPage { name, text: Bilingual::new("", ""), updated_at: None }
    }

    /// Changes with every change of the page; 0 for one that is not written yet.
    pub fn version(&self) -> i64 {
        self.updated_at.map_or(0, Timestamp::as_millisecond)
    }
}
