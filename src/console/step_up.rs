//! Where links to exports lead first: on to the export if the member of the staff has entered the password lately,
//! otherwise to the page that asks for it. Both routes stand behind the layer
//! [`required`](web::step_up::required).

use crate::prelude::*;
use web::extract::own_path;
use web::views::SteppedUpPage;

inputs! {
    StepUpTarget {
        /// The path of the export.
        next,
    }
}

impl StepUpTarget {
    fn path(&self) -> &str {
        own_path(&self.next).filter(|path| path.starts_with("/api/admin/")).unwrap_or("/admin")
    }
}

pub async fn show(_: StaffVisit<ViewConsole>, Query(target): Query<StepUpTarget>) -> Response {
    see_other(target.path())
}

/// Shown once the password was right. A redirect to a file would leave the browser at the form, so a page links to it.
pub async fn done((_, _, visitor): StaffVisit<ViewConsole>, Form(target): Form<StepUpTarget>) -> Answer {
    let chrome = visitor.chrome_at(format!("/admin/orders?lang={}", visitor.locale));
    personal(StatusCode::OK, &SteppedUpPage { chrome, next: target.path().to_owned() })
}
