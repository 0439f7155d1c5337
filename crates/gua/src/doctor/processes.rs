//! Whether the processes on the cards can be named, other users' among them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use probe::CardLook;
use probe::Reading;
use probe::proc::Host;
use probe::process::Presence;
use rustix::process::{getegid, geteuid, getgroups};

use super::report::{Check, Finding, ProcessFacts, Verdict};

/// What can be seen of processes from here.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub root: PathBuf,
    pub has_proc: bool,
    pub sees_all: bool,
    /// How `/proc` is hidden from this user, as it was mounted.
    pub hidden_by: Option<String>,
    pub lists: Lists,
    pub counts: ProcessFacts,
}

/// Of how many cards the list of processes could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lists {
    pub all: usize,
    pub unread: usize,
}

/// Looks up every process that the driver lists.
pub(super) fn gather(mut host: Host, cards: &[CardLook]) -> Seen {
    let holders = cards.iter().flat_map(|card| &card.vitals.holders.seen);
    let pids: BTreeSet<u32> = holders.map(|holder| holder.pid).collect();
    let counts = count(pids.into_iter().map(|pid| host.process(pid)));
    Seen {
        root: host.root().to_owned(),
        has_proc: host.root().join("proc/stat").exists(),
        sees_all: host.sees_all_processes(),
        hidden_by: hidden_by(host.root()),
        lists: Lists {
            all: cards.len(),
            unread: cards.iter().filter(|card| card.vitals.holders.unread.is_some()).count(),
        },
        counts,
    }
}

fn count(presences: impl Iterator<Item = Presence>) -> ProcessFacts {
    let mut counts = ProcessFacts::default();
    for presence in presences {
        counts.listed_count += 1;
        match presence {
            Presence::Here(facts) if matches!(facts.user, Reading::Known(Some(_))) => {
                counts.named_count += 1;
            }
            Presence::Here(_) => counts.nameless_count += 1,
            Presence::Hidden(_) => counts.hidden_count += 1,
            Presence::Foreign => counts.foreign_count += 1,
            Presence::Gone => counts.gone_count += 1,
        }
    }
    counts
}

/// How the `/proc` below `root` is hidden from this user.
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

/// How a mount table hides processes, and the group that it does not hide them from. The
/// last mount on a place is the one that is seen there.
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

pub(super) fn judge(seen: &Seen) -> Finding {
    let warning = |detail| Finding::new(Check::Processes, Verdict::Warning, detail);
    let counts = &seen.counts;
    let told = told(counts, seen.lists);
    if !seen.has_proc {
        return warning(format!("there is no /proc below {}: {told}", seen.root.display()))
            .next("Mount it: `mount -t proc proc /proc`.");
    }
    if !seen.sees_all {
        return warning(format!("in a container without the host's /proc: {told}")).next(
            "Mount the host's / (`-v /:/host:ro`) and name it with --host-root /host, or share \
             its processes (`--pid=host`).",
        );
    }
    if let Some(mode) = &seen.hidden_by {
        return warning(format!("/proc hides other users' processes (hidepid={mode}): {told}"))
            .next("Run gua as root, or as a member of the group in the mount's gid= option.");
    }
    if counts.hidden_count > 0 {
        return warning(told).next("Run gua as root, or as a user who may read /proc.");
    }
    if counts.listed_count > 0 && counts.gone_count == counts.listed_count {
        return warning(format!("{told}; the driver may count them by other numbers"))
            .next("In a container, name the host's root with --host-root.");
    }
    if seen.lists.unread > 0 {
        return warning(told).next("The lines of the cards say why, and what to do.");
    }
    Finding::new(Check::Processes, Verdict::Ok, told)
}

/// How many can be named, and what is with the others.
fn told(counts: &ProcessFacts, lists: Lists) -> String {
    let ProcessFacts { listed_count, named_count, .. } = counts;
    let mut told = match (listed_count, named_count) {
        (0, _) if lists.unread == 0 => "no process is on a card now".to_owned(),
        (0, _) if lists.unread == lists.all => return "no card's list could be read".to_owned(),
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
        told.push_str(&format!(", {count} {what}"));
    }
    match lists.unread {
        0 => told,
        1 => format!("the list of 1 card could not be read; {told}"),
        unread => format!("the lists of {unread} cards could not be read; {told}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    fn seen(counts: ProcessFacts) -> Seen {
        let lists = Lists { all: 2, unread: 0 };
        Seen { root: "/".into(), has_proc: true, sees_all: true, hidden_by: None, lists, counts }
    }

    fn some() -> ProcessFacts {
        ProcessFacts { listed_count: 3, named_count: 2, gone_count: 1, ..ProcessFacts::default() }
    }

    #[test]
    fn who_can_be_named_is_counted() {
        let finding = judge(&seen(some()));
        assert_eq!(finding.verdict, Verdict::Ok);
        assert_eq!(finding.detail, "2 of 3 processes on the cards can be named, 1 gone");
        let none = judge(&seen(ProcessFacts::default()));
        assert_eq!(
            (none.verdict, none.detail.as_str()),
            (Verdict::Ok, "no process is on a card now")
        );
    }

    /// Trap: a denied list is unknown, not empty.
    #[test]
    fn a_list_that_could_not_be_read_is_not_an_empty_one() {
        let with =
            |unread, counts| judge(&Seen { lists: Lists { all: 2, unread }, ..seen(counts) });
        let cases = [
            (with(2, ProcessFacts::default()), "no card's list could be read"),
            (
                with(1, ProcessFacts::default()),
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
        let hidden = ProcessFacts { hidden_count: 1, named_count: 1, ..some() };
        let gone = ProcessFacts { gone_count: 3, named_count: 0, ..some() };
        let obstacles = [
            (Seen { has_proc: false, ..seen(some()) }, "no /proc below /"),
            (Seen { sees_all: false, ..seen(some()) }, "in a container"),
            (Seen { hidden_by: Some("2".into()), ..seen(some()) }, "hidepid=2"),
            (seen(hidden), "1 not readable"),
            (seen(gone), "0 of 3"),
        ];
        for (seen, word) in obstacles {
            let finding = judge(&seen);
            assert_eq!(finding.verdict, Verdict::Warning);
            assert!(finding.detail.contains(word), "{}", finding.detail);
            assert!(finding.next_step.is_some());
        }
    }
}
