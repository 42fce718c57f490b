//! The code of each refusal about questions.

use crate::problem::{Code, Problem};
use crate::questions::{ASK_INTERVAL, AskRefusal};
use store::QuestionRefusal;

impl From<AskRefusal> for Problem {
    fn from(refusal: AskRefusal) -> Self {
        match refusal {
            AskRefusal::NoSuchSale => Code::NoSuchSale.into(),
            AskRefusal::RateLimited => Problem::new(Code::RateLimited).retry_after(ASK_INTERVAL.as_secs()),
            AskRefusal::TooMany => Code::TooManyQuestions.into(),
            AskRefusal::NoSuchAccount => Code::NotSignedIn.into(),
            AskRefusal::NoSuchQuestion => Code::NotFound.into(),
            AskRefusal::Answered => Code::AlreadyAnswered.into(),
            AskRefusal::Store(error) => error.into(),
        }
    }
}

impl From<QuestionRefusal> for Problem {
    fn from(refusal: QuestionRefusal) -> Self {
        match refusal {
            QuestionRefusal::NoSuchQuestion => Code::NotFound.into(),
            QuestionRefusal::ChangedMeanwhile => Code::StaleVersion.into(),
            QuestionRefusal::Hidden => Code::QuestionHidden.into(),
            QuestionRefusal::Store(error) => error.into(),
        }
    }
}
