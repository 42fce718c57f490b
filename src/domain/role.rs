//! Roles of accounts.

use super::wire::wire_enum;

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
