//! The console's page of refunds that wait for a second person.

use askama::Template;

use crate::Chrome;
use domain::{ApprovalStatus, RefundTarget};
use pages::filters;
use store::Approval;
use web::extract::session::{ManageSales, Permission, SupportShoppers};

/// The waiting requests with the forms that approve or decline them, or the decided requests.
#[derive(Debug, Template)]
#[template(path = "approvals/approvals.html")]
pub struct ApprovalsPage {
    pub chrome: Chrome,
    /// Whether these are the decided requests.
    pub decided: bool,
    pub approvals: Vec<Approval>,
    /// A cursor for `before`; `None` on the last page.
    pub older: Option<String>,
    pub is_later: bool,
    pub may_act: bool,
    pub notice: Option<&'static str>,
    pub warning: Option<&'static str>,
}

impl ApprovalsPage {
    /// The lists of waiting and of decided requests: path, name, and whether it is the one shown.
    fn tabs(&self) -> [(String, &'static str, bool); 2] {
        let (t, locale) = (&self.chrome.text().approvals, self.chrome.locale);
        let path = format!("/admin/orders/approvals?lang={locale}");
        let decided = format!("{path}&decided=true");
        [(path, t.tab_open, !self.decided), (decided, t.tab_decided, self.decided)]
    }

    /// Whether the member of the staff who reads the page made the request.
    fn is_own(&self, approval: &Approval) -> bool {
        self.chrome.username.as_ref() == Some(&approval.requester)
    }

    /// The forms of a request: last segment of the path, label, explanation, and the label of the reason if it takes
    /// one.
    fn actions(&self, approval: &Approval) -> Vec<(&'static str, &'static str, &'static str, &'static str)> {
        let t = &self.chrome.text().approvals;
        let roles = if approval.packet.is_some() { ManageSales::ROLES } else { SupportShoppers::ROLES };
        if !roles.contains(&self.chrome.role) {
            return Vec::new();
        }
        if self.is_own(approval) {
            return vec![("decline", t.withdraw, t.withdraw_text, t.why)];
        }
        let about = if approval.packet.is_some() { t.approve_packet_text } else { t.approve_text };
        vec![("approve", t.approve, about, ""), ("decline", t.decline, t.decline_text, t.why)]
    }
}
