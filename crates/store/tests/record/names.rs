use std::sync::Arc;

use gua_core::card::{CardFacts, InstanceFacts};
use gua_core::identity::{Job, Source, Told, Who};
use gua_core::process::{Kinds, ProcessId};
use gua_core::span::HolderId;
use gua_core::units::UnixMillis;
use gua_core::{Reading, Reason, Span, State};
use gua_store::{Database, Person, ProcessEntry, Run, Tick, Writer};

use crate::lab::*;

fn entry(id: ProcessId, user: &str) -> ProcessEntry {
    ProcessEntry {
        program: Some("python3".into()),
        person: Person { user: Some(user.into()), uid: id.uid, source: Some(Source::Uid) },
        kinds: Kinds::COMPUTE,
        ..ProcessEntry::unread(id)
    }
}

/// Stores a span of one second of two processes, or of these.
fn tick(writer: &mut Writer, second: i64, card: &Arc<CardFacts>, processes: &[ProcessEntry]) {
    let from = START + second * 1000;
    let mut span: Span = span(card, from, from + 1000, State::IdleHeld);
    for (holder, process) in span.holders.iter_mut().zip(processes) {
        holder.holder = HolderId::Process(process.id);
    }
    let at = UnixMillis(from + 1000);
    writer.tick(&Tick { closed: &[span], processes, ..Tick::new(at, at) }).unwrap();
}

/// Trap: a process is (pid, start time, boot, person).
#[test]
fn process_is_another_after_setuid_a_reused_pid_or_a_reboot() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let id = |start, uid| ProcessId { pid: 9, start_ticks: Some(start), uid: Some(uid) };
    let entries = [entry(id(1, 0), "root"), entry(id(1, 1000), "ann"), entry(id(2, 1000), "ann")];
    for (second, entry) in (0..).zip(entries) {
        tick(&mut writer, second * 31, &card(0), &[entry.clone(), entry]);
    }
    assert_eq!(lab.number("SELECT count(*) FROM process"), 3);
    assert_eq!(lab.number("SELECT count(*) FROM person"), 2);
    drop(writer);
    // A restart finds them again.
    let mut writer = lab.begin(START + HOUR);
    tick(&mut writer, 3600, &card(0), &[entry(id(2, 1000), "ann")]);
    assert_eq!(lab.number("SELECT count(*) FROM process WHERE pid = 9"), 3);
    drop(writer);
    // After a reboot it is another, though pid, start and person are the same.
    let rebooted = Run { boot: "boot-2".into(), ..run(START + 2 * HOUR) };
    let database = Database::open_to_write(&lab.path()).unwrap();
    let mut writer = Writer::begin(database, rebooted).unwrap();
    tick(&mut writer, 7200, &card(0), &[entry(id(2, 1000), "ann")]);
    assert_eq!(lab.number("SELECT count(*) FROM process WHERE pid = 9"), 4);
}

/// Trap: start time may be unknown.
#[test]
fn process_of_unknown_start_time_is_kept() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let unread = ProcessEntry::unread(ProcessId::unread(7));
    tick(&mut writer, 0, &card(0), &[unread]);
    assert_eq!(lab.number("SELECT start_ticks FROM process WHERE pid = 7"), -1);
    let holder = lab.read().holder(1).unwrap().unwrap();
    assert_eq!(holder.process.unwrap().person, Person::default());
}

#[test]
fn person_learned_later_is_attached_and_an_unread_one_changes_nothing() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let id = process(1);
    tick(&mut writer, 0, &card(0), &[ProcessEntry::unread(id)]);
    tick(&mut writer, 1, &card(0), &[entry(id, "ann")]);
    tick(&mut writer, 2, &card(0), &[ProcessEntry::unread(id)]);
    drop(writer);
    let mut writer = lab.begin(START + 3000);
    tick(&mut writer, 3, &card(0), &[ProcessEntry::unread(id)]);
    assert_eq!(lab.number("SELECT count(*) FROM process WHERE pid = 1"), 1);
    let process = lab.read().holder(1).unwrap().unwrap().process.unwrap();
    assert_eq!(process.person.user.as_deref(), Some("ann"));
    assert_eq!(process.program.as_deref(), Some("python3"));
}

/// Trap: a workload learned later is attached later.
#[test]
fn workload_learned_later_is_attached() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let mut entry = entry(process(1), "ann");
    tick(&mut writer, 0, &card(0), &[entry.clone()]);
    assert_eq!(lab.read().holder(1).unwrap().unwrap().process.unwrap().workload, None);
    let job = Job { id: "42".into(), step: None };
    let who = Who { job: Some(Told { value: job, source: Source::Cgroup }), ..Who::default() };
    entry.workload = Some(Arc::new(who.clone()));
    tick(&mut writer, 1, &card(0), &[entry.clone()]);
    entry.workload = None;
    tick(&mut writer, 2, &card(0), &[entry]);
    let workload = lab.read().holder(1).unwrap().unwrap().process.unwrap().workload;
    assert_eq!(workload.unwrap().who, who);
    assert_eq!(lab.number("SELECT count(*) FROM workload"), 1);
}

/// Trap: a card without UUID is known by (index, slot).
#[test]
fn card_without_uuid_is_known_by_index_and_slot() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let unread = |slot: Option<u32>| {
        let mut facts = CardFacts::unread(0, Reason::Lost);
        facts.instance = slot.map(|slot| InstanceFacts {
            slot,
            gpu_instance: Reading::Unknown(Reason::Lost),
            parent_uuid: Reading::Known("GPU-9".into()),
        });
        facts
    };
    let facts = [unread(None), unread(Some(1)), unread(None), unread(Some(2)), unread(Some(1))];
    let other = CardFacts { index: 1, ..unread(Some(1)) };
    for (second, facts) in (0..).zip(facts.into_iter().chain([other, CardFacts::clone(&card(0))])) {
        tick(&mut writer, second, &Arc::new(facts), &[]);
    }
    let cards = lab.read().cards().unwrap();
    let places: Vec<_> =
        cards.values().map(|card| (card.uuid.as_deref(), card.index, card.slot)).collect();
    let unnamed = |index, slot| (None, index, slot);
    let expected = [
        unnamed(0, None),
        unnamed(0, Some(1)),
        unnamed(0, Some(2)),
        unnamed(1, Some(1)),
        (Some("GPU-0"), 0, None),
    ];
    assert_eq!(places, expected);
}

/// Trap: an unread fact does not overwrite a known one.
#[test]
fn unread_fact_of_a_card_does_not_overwrite_a_known_one() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    let instance = |parent_uuid| InstanceFacts {
        slot: 1,
        gpu_instance: Reading::Unknown(Reason::NotAsked),
        parent_uuid,
    };
    let mut facts = CardFacts::clone(&card(0));
    facts.name = Reading::Known("H100".into());
    facts.instance = Some(instance(Reading::Known("GPU-9".into())));
    tick(&mut writer, 0, &Arc::new(facts.clone()), &[]);
    facts.name = Reading::Unknown(Reason::TimedOut);
    facts.instance = Some(instance(Reading::Unknown(Reason::TimedOut)));
    facts.index = 5;
    tick(&mut writer, 1, &Arc::new(facts), &[]);
    let cards = lab.read().cards().unwrap();
    assert_eq!(cards.len(), 1);
    let card = &cards[&1];
    assert_eq!((card.name.as_deref(), card.index), (Some("H100"), 5));
    assert_eq!(card.parent_uuid.as_deref(), Some("GPU-9"));
}

/// Trap: memory that no listed process holds has a share of its own.
#[test]
fn unlisted_memory_is_a_holder_of_its_card() {
    let lab = Lab::new();
    let mut writer = lab.begin(START);
    for (second, card) in [(0, card(0)), (0, card(1)), (1, card(0))] {
        let from = START + second * 1000;
        let mut span = span(&card, from, from + 1000, State::IdleHeld);
        span.holders[1].holder = HolderId::Unlisted;
        let at = UnixMillis(from + 1000);
        writer.tick(&Tick { closed: &[span], ..Tick::new(at, at) }).unwrap();
    }
    assert_eq!(lab.number("SELECT count(*) FROM holder WHERE process IS NULL"), 2);
    let unlisted = lab.read().holder(2).unwrap().unwrap();
    assert_eq!((unlisted.card, unlisted.process), (1, None));
    lab.assert_sound();
}
