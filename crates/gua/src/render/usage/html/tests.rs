//! How pages and pictures read.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::address::{Address, Sort};
use super::*;
use crate::cli::Picture;
use crate::render::paint::Paint;
use crate::report::accounts::By;
use crate::report::fleet::{FleetPerson, ModelUsage, Source};
use crate::report::usage::examples::week_of;

fn view() -> View {
    View {
        paint: Paint(false),
        width: 80,
        tz: TimeZone::UTC,
        now: "2026-11-15T20:00:00Z".parse::<Timestamp>().unwrap(),
        command: "gua report".to_owned(),
        sessions: 5,
        is_here: true,
    }
}

fn page(bob: &str, notebook: &str) -> Page {
    Page { usage: week_of(bob, notebook, |_| {}), bands: None, board: None }
}

/// A tag a line: a change is seen where it is.
fn lines(markup: &str) -> String {
    let style = markup.find("<style>").zip(markup.find("</style>"));
    let mut shown = markup.to_owned();
    if let Some((from, to)) = style {
        shown.replace_range(from + "<style>".len()..to, "…");
    }
    shown.replace("><", ">\n<")
}

#[test]
fn a_page_as_a_file() {
    let mut out = Vec::new();
    write(&mut out, &page("bob", "exp/sweep.ipynb"), &view()).unwrap();
    insta::assert_snapshot!(lines(&String::from_utf8(out).unwrap()));
}

#[test]
fn two_windows_side_by_side() {
    let week = || week_of("bob<b>", "x", |question| question.bys = vec![By::User]);
    let page = Page::from(week().beside(&week()));
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

#[test]
fn a_served_page_has_nothing_inline() {
    let (page, view, address) = (page("bob", "x"), view(), Address::default());
    let sheet = Sheet { page: &page, view: &view, dress: Dress::Served(&address), fleet: None };
    let served = document(&sheet).into_string();
    for inline in ["<style", " style=", " onclick=", " onload=", "javascript:"] {
        assert!(!served.contains(inline), "{inline}");
    }
    assert_eq!(served.matches("<script").count(), 1);
}

/// Who is given the address of a window sees the same hours, in the same order.
#[test]
fn a_form_has_its_zone_and_a_table_its_order() {
    let (page, view) = (page("bob", "x"), view());
    let address = Address { sort: Sort::Present, ..Address::default() };
    let sheet = Sheet { page: &page, view: &view, dress: Dress::Served(&address), fleet: None };
    let served = document(&sheet).into_string();
    for part in [
        "<input type=\"hidden\" name=\"tz\" value=\"UTC\">",
        ">By user, longest present first</caption>",
        "data-address=\"/?sort=present\"",
    ] {
        assert!(served.contains(part), "{part}: {served}");
    }
    let names: Vec<_> =
        served.split(" id=\"").skip(1).filter_map(|it| it.split('"').next()).collect();
    let different: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(different.len(), names.len(), "{names:?}");
}

#[test]
fn an_address_says_only_what_is_unusual() {
    let usual = Address::default();
    assert_eq!(usual.href("/"), "/");
    assert_eq!(usual.since("7d"), "/?since=7d");
    let asked = Address {
        from: Some("2026-11-08 20:00".to_owned()),
        tz: Some("+02:00".to_owned()),
        sort: Sort::Present,
        ..usual
    };
    assert_eq!(asked.href("/"), "/?from=2026-11-08%2020:00&tz=%2B02:00&sort=present");
    assert_eq!(asked.api("report"), "/api/v1/report?from=2026-11-08%2020:00&tz=%2B02:00");
    assert_eq!(asked.since("24h"), "/?since=24h&tz=%2B02:00&sort=present");
}

#[test]
fn an_axis_has_round_times() {
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let labels = |from: &str, to: &str, tz: &TimeZone| -> Vec<String> {
        axis::ticks(at(from), at(to), tz).into_iter().map(|tick| tick.label).collect()
    };
    let day = labels("2026-11-08T20:10:00Z", "2026-11-09T20:10:00Z", &TimeZone::UTC);
    assert_eq!(day, ["21:00", "00:00", "03:00", "06:00", "09:00", "12:00", "15:00", "18:00"]);
    let berlin = TimeZone::get("Europe/Berlin").unwrap();
    let week = labels("2026-10-22T12:00:00Z", "2026-10-29T12:00:00Z", &berlin);
    assert_eq!(week, ["Fri 23", "Sat 24", "Sun 25", "Mon 26", "Tue 27", "Wed 28", "Thu 29"]);
}

/// Over many hosts there is neither a board nor bands, and everything else is there.
#[test]
fn a_page_about_many_hosts() {
    let usage = week_of("bob", "x", |_| {});
    let fleet = FleetUsage {
        source: Source {
            url: "http://engine".to_owned(),
            matching: None,
            host: None,
            flaws: vec!["<i>half".to_owned()],
        },
        hosts: Vec::new(),
        models: vec![ModelUsage { name: None, cards: 3, states: usage.states }],
        people: vec![FleetPerson {
            user: Some("<script>x</script>\u{202e}".to_owned()),
            hosts: 2,
            gpu_hours: 3.0,
            idle_held_gpu_hours: 2.0,
            idle_held_part_gpu_hours: 1.0,
        }],
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
