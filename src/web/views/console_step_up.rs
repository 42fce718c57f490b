//! The console's pages that ask for the password again.

use askama::Template;

use crate::views::step_up::StepUpForm;
use pages::Chrome;
use pages::filters;

#[derive(Debug, Template)]
#[template(path = "shared/console_step_up.html")]
pub struct AdminStepUpPage {
    pub chrome: Chrome,
    pub form: StepUpForm,
}

/// Links to the export that the password was asked for.
#[derive(Debug, Template)]
#[template(path = "shared/console_stepped_up.html")]
pub struct SteppedUpPage {
    pub chrome: Chrome,
    pub next: String,
}
