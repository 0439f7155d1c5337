//! The processes on the cards: how many can be named, other users' among them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use probe::proc::Host;
use probe::process::Presence;
use probe::{CardLook, Reading};
use rustix::process::{getegid, geteuid, getgroups};
use serde::Serialize;

use super::finding::Finding;

/// Processes that the driver lists, by what the host shows of them.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(super) struct ProcessCounts {
    listed_count: usize,
    /// With a user who has a name.
    named_count: usize,
    /// Running, but the user has no name or is unknown.
    nameless_count: usize,
    hidden_count: usize,
    foreign_count: usize,
    gone_count: usize,
}

/// View of other processes from here.
struct Sight {
    root: PathBuf,
    has_proc: bool,
    sees_all: bool,
    /// The `hidepid` option of `/proc`, if it applies to this user.
    hidden_by: Option<String>,
    cards: usize,
    /// Cards whose list of processes could not be read.
    unread_cards: usize,
}

/// Looks up every process that the driver lists.
pub(super) fn check(mut host: Host, cards: &[CardLook]) -> (Finding, ProcessCounts) {
    let holders = cards.iter().flat_map(|card| &card.vitals.holders.seen);
    let pids: BTreeSet<u32> = holders.map(|holder| holder.pid).collect();
    let counts = count(pids.into_iter().map(|pid| host.process(pid)));
    let sight = Sight {
        root: host.root().to_owned(),
        has_proc: host.root().join("proc/stat").exists(),
        sees_all: host.sees_all_processes(),
        hidden_by: hidden_by(host.root()),
        cards: cards.len(),
        unread_cards: cards.iter().filter(|card| card.vitals.holders.unread.is_some()).count(),
    };
    (judge(&sight, &counts), counts)
}

fn count(presences: impl Iterator<Item = Presence>) -> ProcessCounts {
    let mut counts = ProcessCounts::default();
    for presence in presences {
        counts.listed_count += 1;
        *match presence {
            Presence::Here(facts) if matches!(facts.user, Reading::Known(Some(_))) => {
                &mut counts.named_count
            }
            Presence::Here(_) => &mut counts.nameless_count,
            Presence::Hidden(_) => &mut counts.hidden_count,
            Presence::Foreign => &mut counts.foreign_count,
            Presence::Gone => &mut counts.gone_count,
        } += 1;
    }
    counts
}

/// Returns how the `/proc` below `root` hides processes from this user.
fn hidden_by(root: &Path) -> Option<String> {
    if geteuid().is_root() {
        return None;
    }
    let mounts = fs::read(root.join("proc/mounts")).ok()?;
    let (mode, exempt) = hidepid(&String::from_utf8_lossy(&mounts), &root.join("proc"))?;
    let mut groups = getgroups().unwrap_or_default();
    groups.push(getegid());
    let is_exempt = exempt.is_some_and(|gid| groups.iter().any(|group| group.as_raw() == gid));
    (!is_exempt).then_some(mode)
}

/// Returns the `hidepid` option of a mount table, and the group that is exempt from it. The
/// last mount on a path is the one in use.
fn hidepid(mounts: &str, proc: &Path) -> Option<(String, Option<u32>)> {
    let mut options = None;
    for line in mounts.lines() {
        let mut fields = line.split_whitespace();
        let (_, at, kind) = (fields.next(), fields.next(), fields.next());
        let is_ours = at.map(Path::new) == Some(proc) || at == Some("/proc");
        if is_ours && kind == Some("proc") {
            options = fields.next();
        }
    }
    let value = |name: &str| options?.split(',').find_map(|option| option.strip_prefix(name));
    let mode = value("hidepid=").filter(|mode| !matches!(*mode, "0" | "off"))?;
    Some((mode.to_owned(), value("gid=").and_then(|gid| gid.parse().ok())))
}

fn judge(sight: &Sight, counts: &ProcessCounts) -> Finding {
    let summary = summary(sight, counts);
    if !sight.has_proc {
        let root = sight.root.display();
        return Finding::warning(format!("there is no /proc below {root}: {summary}"))
            .next("Mount it: `mount -t proc proc /proc`.");
    }
    if !sight.sees_all {
        return Finding::warning(format!("in a container without the host's /proc: {summary}"))
            .next(
                "Mount the host's / (`-v /:/host:ro`) and name it with --host-root /host, or \
                 share its processes (`--pid=host`).",
            );
    }
    if let Some(mode) = &sight.hidden_by {
        return Finding::warning(format!(
            "/proc hides other users' processes (hidepid={mode}): {summary}"
        ))
        .next("Run gua as root, or as a member of the group in the mount's gid= option.");
    }
    if counts.hidden_count > 0 {
        return Finding::warning(summary).next("Run gua as root, or as a user who may read /proc.");
    }
    if counts.listed_count > 0 && counts.gone_count == counts.listed_count {
        return Finding::warning(format!("{summary}; the driver may count them by other numbers"))
            .next("In a container, name the host's root with --host-root.");
    }
    if sight.unread_cards > 0 {
        return Finding::warning(summary).next("The lines of the cards say why, and what to do.");
    }
    Finding::ok(summary)
}

/// Returns how many processes can be named, and what is known of the others.
fn summary(sight: &Sight, counts: &ProcessCounts) -> String {
    let mut summary = match (counts.listed_count, counts.named_count) {
        (0, _) if sight.unread_cards == 0 => "no process is on a card now".to_owned(),
        (0, _) if sight.unread_cards == sight.cards => {
            return "no card's list could be read".to_owned();
        }
        (0, _) => "no process is on the other cards".to_owned(),
        (1, 1) => "the one process on the cards can be named".to_owned(),
        (1, 0) => "the one process on the cards cannot be named".to_owned(),
        (2, 2) => "both processes on the cards can be named".to_owned(),
        (all, named) if all == named => format!("all {all} processes on the cards can be named"),
        (all, named) => format!("{named} of {all} processes on the cards can be named"),
    };
    let others = [
        (counts.nameless_count, "of a user without a name"),
        (counts.hidden_count, "not readable"),
        (counts.foreign_count, "outside of this container"),
        (counts.gone_count, "gone"),
    ];
    for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
        summary.push_str(&format!(", {count} {what}"));
    }
    match sight.unread_cards {
        0 => summary,
        1 => format!("the list of 1 card could not be read; {summary}"),
        unread => format!("the lists of {unread} cards could not be read; {summary}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Verdict;

    #[test]
    fn the_mount_that_is_seen_decides() {
        let of = |mounts: &str| hidepid(mounts, Path::new("/host/proc"));
        let mode = |mode: &str, gid| Some((mode.to_owned(), gid));
        assert_eq!(of("proc /proc proc rw,nosuid,hidepid=2 0 0\n"), mode("2", None));
        assert_eq!(
            of("proc /host/proc proc rw,hidepid=invisible,gid=27 0 0\n"),
            mode("invisible", Some(27))
        );
        assert_eq!(of("proc /proc proc rw,hidepid=2 0 0\nproc /proc proc rw 0 0\n"), None);
        for mounts in [
            "proc /proc proc rw 0 0\n",
            "proc /proc proc rw,hidepid=0 0 0\n",
            "proc /proc proc rw,hidepid=off 0 0\n",
            "proc /jail/proc proc rw,hidepid=2 0 0\n",
            "tmpfs /proc tmpfs rw,hidepid=2 0 0\n",
            "garbage\n\n",
        ] {
            assert_eq!(of(mounts), None, "{mounts}");
        }
    }

    fn sight() -> Sight {
        Sight {
            root: "/".into(),
            has_proc: true,
            sees_all: true,
            hidden_by: None,
            cards: 2,
            unread_cards: 0,
        }
    }

    fn some() -> ProcessCounts {
        ProcessCounts { listed_count: 3, named_count: 2, gone_count: 1, ..ProcessCounts::default() }
    }

    #[test]
    fn who_can_be_named_is_counted() {
        let finding = judge(&sight(), &some());
        assert_eq!(finding.verdict, Verdict::Ok);
        assert_eq!(finding.detail, "2 of 3 processes on the cards can be named, 1 gone");
        let none = judge(&sight(), &ProcessCounts::default());
        assert_eq!(
            (none.verdict, none.detail.as_str()),
            (Verdict::Ok, "no process is on a card now")
        );
    }

    /// Trap: a denied list is unknown, not empty.
    #[test]
    fn a_list_that_could_not_be_read_is_not_an_empty_one() {
        let with = |unread_cards, counts| judge(&Sight { unread_cards, ..sight() }, &counts);
        let cases = [
            (with(2, ProcessCounts::default()), "no card's list could be read"),
            (
                with(1, ProcessCounts::default()),
                "the list of 1 card could not be read; no process is on the other cards",
            ),
            (
                with(2, some()),
                "the lists of 2 cards could not be read; 2 of 3 processes on the cards can be \
                 named, 1 gone",
            ),
        ];
        for (finding, detail) in cases {
            assert_eq!((finding.verdict, finding.detail.as_str()), (Verdict::Warning, detail));
            assert!(finding.next_step.is_some());
        }
    }

    #[test]
    fn each_obstacle_is_a_warning_with_a_way_out() {
        let hidden = ProcessCounts { hidden_count: 1, named_count: 1, ..some() };
        let gone = ProcessCounts { gone_count: 3, named_count: 0, ..some() };
        let obstacles = [
            (Sight { has_proc: false, ..sight() }, some(), "no /proc below /"),
            (Sight { sees_all: false, ..sight() }, some(), "in a container"),
            (Sight { hidden_by: Some("2".into()), ..sight() }, some(), "hidepid=2"),
            (sight(), hidden, "1 not readable"),
            (sight(), gone, "0 of 3"),
        ];
        for (sight, counts, word) in obstacles {
            let finding = judge(&sight, &counts);
            assert_eq!(finding.verdict, Verdict::Warning);
            assert!(finding.detail.contains(word), "{}", finding.detail);
            assert!(finding.next_step.is_some());
        }
    }
}
