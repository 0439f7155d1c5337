//! Texts of labels: cards, people and what they run.

use std::sync::Arc;

use gua_core::card::CardFacts;
use gua_core::identity::Who;
use gua_store::{Person, ProcessEntry};

/// User of processes whose owner is not known.
pub const UNATTRIBUTED: &str = "unattributed";

/// User of memory that no listed process holds.
pub const UNLISTED: &str = "unlisted";

/// User of everybody beyond the cap.
pub const OTHERS: &str = "others";

/// Names of labels that our series have. Labels of the config must have others.
pub const OUR_LABELS: [&str; 16] = [
    "UUID",
    "basis",
    "container",
    "driver_version",
    "gpu",
    "hostname",
    "kind",
    "le",
    "model_name",
    "notebook",
    "reason",
    "slurm_job",
    "state",
    "use",
    "user",
    "version",
];

/// Longest value of a label, in characters.
const LONGEST: usize = 120;

/// Labels that series have besides the user's, and how many there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnerLabels {
    pub job: bool,
    pub container: bool,
    pub notebook: bool,
    /// Most people on all cards together; the rest is counted as others. As many workloads.
    pub most_owners: usize,
}

impl Default for OwnerLabels {
    fn default() -> Self {
        Self { job: false, container: false, notebook: false, most_owners: 1000 }
    }
}

/// Returns the text for a card: its UUID, or its place where that cannot be read.
#[must_use]
pub fn card_label(card: &CardFacts) -> Arc<str> {
    match card.uuid.as_ref().known() {
        Some(uuid) => clean_label(uuid).into(),
        None => format!("card {}", card.label()).into(),
    }
}

/// Returns the text for a person.
#[must_use]
pub fn user_label(person: &Person) -> Arc<str> {
    match (&person.user, person.uid) {
        // An account may have the name of a label that has a meaning here.
        (Some(user), _) if [UNATTRIBUTED, UNLISTED, OTHERS].contains(&&**user) => {
            format!("user {user}").into()
        }
        (Some(user), _) => clean_label(user).into(),
        (None, Some(uid)) => format!("uid {uid}").into(),
        (None, None) => UNATTRIBUTED.into(),
    }
}

/// Returns the text for a user's workload; `None` if it has none of the labels that are asked for.
#[must_use]
pub(crate) fn workload_label(
    user: &str,
    process: &ProcessEntry,
    labels: OwnerLabels,
) -> Option<Arc<str>> {
    let who: &Who = process.workload.as_ref()?;
    let job = who.job.as_ref().filter(|_| labels.job).map(|job| &job.value.id);
    let container = who.container.as_ref().filter(|_| labels.container);
    let container = container.map(|it| it.value.name.as_ref().unwrap_or(&it.value.id));
    let notebook = who.notebook.as_ref().filter(|_| labels.notebook);
    let notebook = notebook.and_then(|it| it.value.path.as_ref());
    let named = [("slurm_job", job), ("container", container), ("notebook", notebook)];
    let mut text = user.to_owned();
    for (name, value) in named {
        if let Some(value) = value {
            text.push_str(&format!("\n{name}={}", clean_label(value)));
        }
    }
    (text.len() > user.len()).then(|| text.into())
}

/// Returns the labels of a text: the user, and those of a workload.
pub(crate) fn owner_labels(text: &str) -> Vec<(&str, &str)> {
    let mut lines = text.split('\n');
    let user = lines.next().map(|user| ("user", user));
    user.into_iter().chain(lines.filter_map(|line| line.split_once('='))).collect()
}

/// Returns a name from outside as a value of a label: no control characters, nothing that turns the
/// direction of text, not too long.
#[must_use]
pub fn clean_label(text: &str) -> String {
    let is_clean = |c: char| {
        !c.is_control()
            && !matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            && !matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().take(LONGEST).map(|c| if is_clean(c) { c } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gua_core::identity::{Job, Notebook, Source, Told};
    use gua_core::process::ProcessId;

    #[test]
    fn account_cannot_take_a_label_with_a_meaning() {
        let person = |user: &str| Person { user: Some(user.into()), ..Person::default() };
        assert_eq!(&*user_label(&person("others")), "user others");
        assert_eq!(&*user_label(&person("unlisted")), "user unlisted");
        assert_eq!(&*user_label(&person("a\nb=c\u{202e}")), "a?b=c?");
        assert_eq!(&*user_label(&Person { uid: Some(7), ..Person::default() }), "uid 7");
        assert_eq!(&*user_label(&Person::default()), UNATTRIBUTED);
        assert_eq!(clean_label(&"ä".repeat(500)).chars().count(), LONGEST);
    }

    #[test]
    fn workload_has_the_labels_that_are_asked_for() {
        let source = Source::Cgroup;
        let job = Job { id: "12\n=3".into(), step: None };
        let notebook = Notebook {
            kernel: None,
            path: Some("a=b.ipynb".into()),
            client: gua_core::identity::Client::Jupyter,
        };
        let who = Who {
            job: Some(Told { value: job, source }),
            notebook: Some(Told { value: notebook, source }),
            ..Who::default()
        };
        let mut process = ProcessEntry::unread(ProcessId::unread(1));
        let all = OwnerLabels { job: true, notebook: true, ..OwnerLabels::default() };
        assert_eq!(workload_label("ann", &process, all), None);
        process.workload = Some(who.into());
        assert_eq!(workload_label("ann", &process, OwnerLabels::default()), None);
        let text = workload_label("ann", &process, all).unwrap();
        let labels = [("user", "ann"), ("slurm_job", "12?=3"), ("notebook", "a=b.ipynb")];
        assert_eq!(owner_labels(&text), labels);
    }
}
