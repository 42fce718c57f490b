//! The console's page of dead letters.

use askama::Template;

use crate::Chrome;
use engine::pipeline::dead_letters::{DeadLetter, DeadLetterList, DeadLetterSource};
use pages::filters;
use words::fill;

/// The messages that could not be processed, with the forms that replay or discard them.
#[derive(Debug, Template)]
#[template(path = "dead_letters/dead_letters.html")]
pub struct DeadLettersPage {
    pub chrome: Chrome,
    pub letters: Vec<DeadLetter>,
    pub may_act: bool,
    pub notice: Option<String>,
    pub warning: Option<&'static str>,
    /// Notes about places that could not be read.
    pub notes: Vec<&'static str>,
}

impl DeadLettersPage {
    pub fn new(
        chrome: Chrome,
        found: DeadLetterList,
        may_act: bool,
        notice: Option<String>,
        warning: Option<&'static str>,
    ) -> DeadLettersPage {
        let t = &chrome.text().cockpit;
        let notes = match (&found.queue, &found.outboxes) {
            (None, None) => vec![t.letters_none_here],
            (queue, outboxes) => {
                let queue = match queue {
                    None => Some(t.letters_no_queue),
                    Some(Err(_)) => Some(t.letters_queue_away),
                    Some(Ok(_)) => None,
                };
                queue.into_iter().chain(matches!(outboxes, Some(Err(_))).then_some(t.letters_outbox_away)).collect()
            }
        };
        let lists = [found.queue, found.outboxes];
        let letters = lists.into_iter().flatten().filter_map(Result::ok).flatten().collect();
        DeadLettersPage { chrome, letters, may_act, notice, warning, notes }
    }

    /// Whether the empty list is complete: no place failed to answer.
    fn is_clean(&self) -> bool {
        let t = &self.chrome.text().cockpit;
        self.letters.is_empty() && !self.notes.iter().any(|n| [t.letters_queue_away, t.letters_outbox_away].contains(n))
    }

    fn place(&self, letter: &DeadLetter) -> String {
        let t = &self.chrome.text().cockpit;
        match &letter.place {
            DeadLetterSource::Queue => t.letter_queue.to_owned(),
            DeadLetterSource::Outbox { bucket, .. } => fill(t.letter_outbox, bucket),
        }
    }
}
