//! How pages and pictures read.

use gua_core::snapshot::{CardNow, HistoryNow, HistoryState, HostNow, Snapshot, SnapshotSource};
use gua_fleet::report::{ModelUsage, Source};
use gua_query::timeline::{CardTimeline, Timeline, TimelinePerson, TimelineStretch};
use gua_query::usage::{By, TotalState, Usage};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde_json::json;

use super::address::{Address, Sort};
use super::*;
use crate::cli::Picture;
use crate::render::paint::Paint;
use crate::render::usage::examples::{beside, prices, week_of};

fn view() -> View {
    View {
        paint: Paint(false),
        width: 80,
        is_wide: false,
        tz: TimeZone::UTC,
        now: "2026-11-15T20:00:00Z".parse::<Timestamp>().unwrap(),
        command: "gua report".to_owned(),
        sessions: 5,
        is_here: true,
    }
}

fn page(bob: &str, notebook: &str) -> UsagePage {
    let usage = week_of(bob, notebook, |request| request.prices = prices(&[("a100", 2.5)]));
    let timeline = Some(timeline(bob, &usage));
    UsagePage { usage, timeline, now: Some(now(bob, HistoryState::Recording)) }
}

/// The first card was held idle by somebody and then not observed.
fn timeline(bob: &str, usage: &Usage) -> Timeline {
    let (from, to) = (usage.window.from, usage.window.to);
    let middle = from + 84.hours();
    let bob = TimelinePerson { user: Some(bob.to_owned()), uid: Some(1001), ..Default::default() };
    let held = TimelineStretch {
        from,
        to: middle,
        state: Some(TotalState::IdleHeld),
        seconds: 300_000.0,
        people: vec![bob],
        more: 1,
    };
    let gap = TimelineStretch {
        from: middle,
        to,
        state: None,
        seconds: 302_400.0,
        people: Vec::new(),
        more: 0,
    };
    let card = usage.cards.first().unwrap();
    let card = CardTimeline {
        uuid: card.uuid.clone(),
        index: 0,
        slot: None,
        unpartitioned: false,
        name: card.name.clone(),
        stretches: vec![held, gap],
    };
    Timeline { from, to, column_seconds: 840.0, cards: vec![card] }
}

/// A card that somebody holds idle beside others, one that works, one that is free and one that is lost.
fn now(bob: &str, state: HistoryState) -> Snapshot {
    let holder = |pid: u32, user: &str, seconds: Option<f64>| {
        let state = if seconds.is_some() { "idle-held" } else { "active" };
        json!({
            "pid": pid, "user": user, "uid": 1001, "program": "python", "memory_bytes": 8_000_000_000_u64,
            "presence": "here", "kinds": ["compute"], "work": "idle", "state": state,
            "idle_since": seconds.map(|_| "2026-11-11T06:00:00Z"), "idle_seconds": seconds,
            "idle_doubt": seconds.filter(|seconds| *seconds > 200_000.0).map(|_| "beginning_not_recorded"),
            "unknown": {},
        })
    };
    let card = |index: u32, state: &str, holders: &[serde_json::Value]| -> CardNow {
        serde_json::from_value(json!({
            "index": index, "uuid": format!("GPU-{index}"), "name": "NVIDIA A100-SXM4-80GB",
            "state": state, "state_reason": (state == "unknown").then_some("lost"),
            "utilization_percent": (state == "active").then_some(87.5),
            "memory_used_bytes": 9_000_000_000_u64, "memory_total_bytes": 80_000_000_000_u64,
            "holders_complete": true, "holders": holders, "unlisted": null, "reservations": [],
            "unknown": {},
        }))
        .unwrap()
    };
    let held = [
        holder(4001, "alice", Some(3_600.0)),
        holder(4002, bob, Some(396_000.0)),
        holder(4003, "carol", Some(7_200.0)),
        holder(4004, "dave", Some(60.0)),
    ];
    let cards = vec![
        card(0, "idle-held", &held),
        card(1, "active", &[holder(5010, "erin", None)]),
        card(2, "free", &[]),
        card(3, "unknown", &[]),
    ];
    let time = "2026-11-15T20:00:00Z".parse().unwrap();
    let history = HistoryNow { path: None, state, reason: None, recorded_until: Some(time) };
    Snapshot {
        source: SnapshotSource::Recorded,
        history: Some(history),
        ..Snapshot::live(time, HostNow::default(), cards)
    }
}

/// Puts each tag on a line, so that a change is seen where it is.
fn lines(markup: &str) -> String {
    let style = markup.find("<style>").zip(markup.find("</style>"));
    let mut shown = markup.to_owned();
    if let Some((from, to)) = style {
        shown.replace_range(from + "<style>".len()..to, "…");
    }
    shown.replace("><", ">\n<")
}

#[test]
fn page_is_one_file() {
    let mut out = Vec::new();
    write(&mut out, &page("bob", "exp/sweep.ipynb"), &view()).unwrap();
    insta::assert_snapshot!(lines(&String::from_utf8(out).unwrap()));
}

#[test]
fn longest_idle_holders_come_first() {
    let page = page("bob", "x");
    let view = view();
    let sheet = Sheet { page: &page, view: &view, dress: Dress::File, fleet: None };
    let tiles = |state| tiles::section(&sheet, &now("bob", state)).into_string();
    let live = tiles(HistoryState::Recording);
    insta::assert_snapshot!(lines(&live));
    let names: Vec<_> = ["bob", "carol", "alice", "and 1 more"].map(|it| live.rfind(it)).into();
    assert!(names.is_sorted(), "{names:?} in {live}");
    let ended = tiles(HistoryState::Ended);
    assert!(ended.contains("The recorder is not running. This is what it last saw."), "{ended}");
    assert!(ended.contains("1 of 4 cards was idle-held</strong>"), "{ended}");
}

/// GPU-hours of an instance are fewer than its hours by the clock, and its price is that of the GPU.
#[test]
fn instance_has_clock_time_and_a_price() {
    let mut page = page("bob", "x");
    let name = "NVIDIA A100-SXM4-80GB MIG 1g.10gb";
    for card in page.usage.cards.iter_mut().take(2) {
        (card.name, card.slot) = (Some(name.to_owned()), Some(1));
        (card.slices, card.slices_of) = (Some(1), Some(8));
        let states = &mut card.states;
        let all = [&mut states.active, &mut states.idle_held, &mut states.truly_idle];
        all.into_iter().for_each(|amount| amount.gpu_hours /= 8.0);
    }
    let timeline = page.timeline.as_mut().unwrap();
    timeline.cards[0].slot = Some(1);
    let now = page.now.as_mut().unwrap();
    now.cards[1].card.name = Some(name.to_owned());
    now.cards[1].holders[0].pid = 5001;
    let (timeline, now) = (timeline.clone(), now.clone());
    let view = view();
    let sheet = Sheet { page: &page, view: &view, dress: Dress::File, fleet: None };
    let time = time::section(&sheet, &timeline).into_string();
    let parts = "active 35.7 % (2d12h), idle-held 23.8 % (1d16h), truly-idle 40.5 % (2d20h)\"";
    assert!(time.contains(parts) && !time.contains(" observed</span>"), "{time}");
    let people = people::section(&sheet).into_string();
    assert!(people.contains(">$100</td>") && !people.contains(">?</td>"), "{people}");
    let tiles = tiles::section(&sheet, &now).into_string();
    assert!(tiles.contains("$150 in this window"), "{tiles}");
}

/// The same figures as in the text report: parts add up in rows and columns, and the sum is last.
#[test]
fn accounts_are_folded_and_add_up() {
    let usage = week_of("bob", "x", |request| request.by = vec![By::User]);
    let mut many = usage.clone();
    many.accounts = usage.accounts.iter().cycle().take(15).cloned().collect();
    let page = UsagePage::from(many);
    let view = view();
    let sheet = Sheet { page: &page, view: &view, dress: Dress::File, fleet: None };
    let html = lines(&people::section(&sheet).into_string());
    let rows = html.matches("<tr>").count();
    assert_eq!(rows, (1 + 12 + 1 + 1) + (1 + 3) + (1 + 1) + (1 + 2), "{html}");
    for part in ["3 more accounts", ">3 more<", ">all<", "low use<"] {
        assert!(html.contains(part), "{part}: {html}");
    }
}

#[test]
fn windows_are_side_by_side() {
    let week = || week_of("bob<b>", "x", |request| request.by = vec![By::User]);
    let page = UsagePage::from(beside(week(), &week()));
    let (view, address) = (view(), Address::default());
    let sheet = Sheet { page: &page, view: &view, dress: Dress::Served(&address), fleet: None };
    let compared = compared::section(&sheet, page.usage.compared.as_ref().unwrap());
    insta::assert_snapshot!(lines(&compared.into_string()));
    assert!(document(&sheet).into_string().contains("id=\"compared\""));
}

#[test]
fn names_are_text_in_pages_and_pictures() {
    let hostile = "</title><script>alert(1)</script>\u{202e}\x1b[2J\"'&";
    let page = page(hostile, hostile);
    let mut all = Vec::new();
    write(&mut all, &page, &view()).unwrap();
    for which in [Picture::Time, Picture::Habit, Picture::States, Picture::People] {
        picture::write(&mut all, &page, &view(), which).unwrap();
    }
    let address = Address { tz: Some("\"><script>".to_owned()), ..Address::default() };
    let view = view();
    let sheet = Sheet { page: &page, view: &view, dress: Dress::Served(&address), fleet: None };
    all.extend(document(&sheet).into_string().into_bytes());
    let all = String::from_utf8(all).unwrap();
    assert!(!all.contains("<script>") && !all.contains("alert(1)</script>"), "{all}");
    assert!(!all.contains(['\u{202e}', '\x1b']));
    assert!(all.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

/// Regression: a picture with an attribute twice is no XML.
#[test]
fn no_element_has_an_attribute_twice() {
    let page = page("bob", "x");
    let mut all = Vec::new();
    write(&mut all, &page, &view()).unwrap();
    for which in [Picture::Time, Picture::Habit, Picture::States, Picture::People] {
        picture::write(&mut all, &page, &view(), which).unwrap();
    }
    let all = String::from_utf8(all).unwrap();
    for tag in all.split('<').skip(1).filter_map(|rest| rest.split('>').next()) {
        let mut names: Vec<_> =
            tag.split("=\"").filter_map(|part| part.rsplit([' ', '\n']).next()).collect();
        names.pop();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "<{tag}>");
    }
}

#[test]
fn served_page_has_nothing_inline() {
    let (page, view, address) = (page("bob", "x"), view(), Address::default());
    let sheet = Sheet { page: &page, view: &view, dress: Dress::Served(&address), fleet: None };
    let served = document(&sheet).into_string();
    for inline in ["<style", " style=", " onclick=", " onload=", "javascript:"] {
        assert!(!served.contains(inline), "{inline}");
    }
    assert_eq!(served.matches("<script").count(), 1);
}

/// Everybody who opens an address sees the same hours, in the same order.
#[test]
fn form_has_the_zone_and_table_its_order() {
    let (page, view) = (page("bob", "x"), view());
    let address = Address { sort: Sort::Active, ..Address::default() };
    let sheet = Sheet { page: &page, view: &view, dress: Dress::Served(&address), fleet: None };
    let served = document(&sheet).into_string();
    for part in [
        "<input type=\"hidden\" name=\"tz\" value=\"UTC\">",
        ">By user, most active first</caption>",
        "data-address=\"/?sort=active\"",
    ] {
        assert!(served.contains(part), "{part}: {served}");
    }
    let names: Vec<_> =
        served.split(" id=\"").skip(1).filter_map(|it| it.split('"').next()).collect();
    let different: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(different.len(), names.len(), "{names:?}");
}

#[test]
fn address_leaves_out_defaults() {
    let defaults = Address::default();
    assert_eq!(defaults.href("/"), "/");
    assert_eq!(defaults.since("7d"), "/?since=7d");
    let asked = Address {
        from: Some("2026-11-08 20:00".to_owned()),
        tz: Some("+02:00".to_owned()),
        sort: Sort::Active,
        ..defaults
    };
    assert_eq!(asked.href("/"), "/?from=2026-11-08%2020:00&tz=%2B02:00&sort=active");
    assert_eq!(asked.api("report"), "/api/v1/report?from=2026-11-08%2020:00&tz=%2B02:00");
    assert_eq!(asked.since("24h"), "/?since=24h&tz=%2B02:00&sort=active");
}

#[test]
fn axis_has_round_times() {
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let labels = |from: &str, to: &str, tz: &TimeZone| -> Vec<String> {
        axis::ticks(at(from), at(to), tz).into_iter().map(|tick| tick.label).collect()
    };
    let day = labels("2026-11-08T20:10:00Z", "2026-11-09T20:10:00Z", &TimeZone::UTC);
    assert_eq!(day, ["21:00", "00:00", "03:00", "06:00", "09:00", "12:00", "15:00", "18:00"]);
    // Eight labels with a day and a time would be wider than a phone.
    let days = labels("2026-11-08T20:00:00Z", "2026-11-10T13:00:00Z", &TimeZone::UTC);
    assert_eq!(days, ["00:00", "06:00", "12:00", "18:00", "00:00", "06:00", "12:00"]);
    let days = labels("2026-11-08T20:00:00Z", "2026-11-11T20:00:00Z", &TimeZone::UTC);
    assert_eq!(days, ["Mon 9", "12:00", "Tue 10", "12:00", "Wed 11", "12:00"]);
    let berlin = TimeZone::get("Europe/Berlin").unwrap();
    let week = labels("2026-10-22T12:00:00Z", "2026-10-29T12:00:00Z", &berlin);
    assert_eq!(week, ["Fri 23", "Sat 24", "Sun 25", "Mon 26", "Tue 27", "Wed 28", "Thu 29"]);
}

/// The profile says which part of a GPU it is.
#[test]
fn name_of_a_part_keeps_its_profile() {
    let cut = |name, most| picture::cut_name(name, most);
    assert_eq!(cut("H100 80GB HBM3 MIG 1g.10gb", 17), "H100 80G… 1g.10gb");
    assert_eq!(cut("H100 80GB HBM3 MIG unpartitioned", 17), "H1… unpartitioned");
    assert_eq!(cut("A30 MIG 1g.6gb", 17), "A30 MIG 1g.6gb");
    assert_eq!(cut("A100-SXM4-80GB-something", 17), "A100-SXM4-80GB-s…");
}

/// Of many hosts it is not known what each card did when.
#[test]
fn page_of_many_hosts_has_no_timeline() {
    let usage = week_of("<script>x</script>\u{202e}", "x", |_| {});
    let fleet = FleetUsage {
        source: Source {
            url: "http://engine".to_owned(),
            matching: None,
            host: None,
            warnings: vec!["<i>half".to_owned()],
        },
        hosts: Vec::new(),
        models: vec![ModelUsage { name: None, cards: 3, states: usage.states }],
        people: Vec::new(),
        silent_hosts: vec!["<b>h".to_owned()],
        usage,
    };
    let mut out = Vec::new();
    crate::render::fleet::write_html(&mut out, &fleet, &view()).unwrap();
    let page = String::from_utf8(out).unwrap();
    for part in [
        "id=\"hosts\"",
        "id=\"people\"",
        "id=\"habit\"",
        "silent at the end: &lt;b&gt;h",
        "&lt;i&gt;half",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains("&lt;script&gt;x&lt;/script&gt;?") && !page.contains("<script"));
    assert!(!page.contains("id=\"now\"") && !page.contains("id=\"time\""));
}
