//! What staff may enter about the accounts of others. Pages and API share these checks.

use domain::Role;

/// Characters of the reason for a block, which the audit log keeps.
const MAX_BLOCK_REASON_CHARS: usize = 500;

/// The role of the staff with this name; `None` for unknown names and for shoppers, who have no role in the console.
pub fn staff_role(name: &str) -> Option<Role> {
    name.parse().ok().filter(|role: &Role| role.is_staff())
}

/// The trimmed reason for a block, or the code of what is wrong with it.
pub fn check_block_reason(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err("required"),
        text if text.chars().count() > MAX_BLOCK_REASON_CHARS => Err("too_long"),
        text => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_roles_of_the_staff_can_be_given() {
        assert_eq!(staff_role("operator"), Some(Role::Operator));
        assert_eq!(staff_role("user"), None);
        assert_eq!(staff_role("root"), None);
    }

    #[test]
    fn a_block_needs_a_reason_within_its_bounds() {
        assert_eq!(check_block_reason(" fraud "), Ok("fraud".to_owned()));
        assert_eq!(check_block_reason(" "), Err("required"));
        assert_eq!(check_block_reason(&"x".repeat(MAX_BLOCK_REASON_CHARS + 1)), Err("too_long"));
    }
}
