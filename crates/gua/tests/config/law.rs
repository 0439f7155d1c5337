//! Laws: what is shown can be read again and means the same; no text makes it fall over.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gua::config::{ConfigFile, Files, Flags, Settings, Surroundings, Whose};
use gua::render::config as render;
use gua::report::config::Shown;
use proptest::prelude::*;

fn files(dir: &Path) -> Files {
    let file =
        |name: &str, whose| ConfigFile { path: Arc::from(dir.join(name)), whose, is_named: false };
    Files {
        system: file("system.toml", Whose::System),
        user: Some(file("user.toml", Whose::User)),
        around: Surroundings { home: Some(PathBuf::from("/home/somebody")), gua_home: None },
    }
}

fn shown(settings: &Settings) -> String {
    let mut text = Vec::new();
    render::show(&mut text, &Shown::new(Vec::new(), settings.listed())).unwrap();
    String::from_utf8(text).unwrap()
}

fn quoted(text: &str) -> String {
    // Which is TOML, too.
    serde_json::Value::from(text).to_string()
}

/// A time from 100 ms to an hour, in some unit.
fn interval() -> impl Strategy<Value = String> {
    prop_oneof![
        (100_u32..=3_600_000).prop_map(|ms| format!("\"{ms}ms\"")),
        (1_u32..=3600).prop_map(|s| format!("\"{s}s\"")),
        (1_u32..60, 0_u32..60).prop_map(|(m, s)| format!("\"{m}m{s}s\"")),
    ]
}

fn age() -> impl Strategy<Value = String> {
    prop_oneof![
        (1_u64..1 << 41).prop_map(|ms| format!("\"{ms}ms\"")),
        (1_u32..36_500, 0_u32..24).prop_map(|(d, h)| format!("\"{d}d{h}h\"")),
        (0.001_f64..8e5).prop_map(|h| format!("\"{h:.6}h\"")),
    ]
}

fn percent() -> impl Strategy<Value = String> {
    prop_oneof![
        (1_u32..=100).prop_map(|percent| percent.to_string()),
        (1e-9_f64..=100.0).prop_map(|percent| format!("{percent:?}")),
    ]
}

fn price() -> impl Strategy<Value = String> {
    prop_oneof![
        (0_u32..=1_000_000).prop_map(|price| price.to_string()),
        (0.0_f64..=1e6).prop_map(|price| format!("{price:?}")),
    ]
}

fn mb() -> impl Strategy<Value = String> {
    (0_u32..=1 << 30).prop_map(|mb| mb.to_string())
}

fn models() -> impl Strategy<Value = String> {
    prop::collection::btree_map("[a-zA-Z0-9 äß學\"'\\\\#=.\\[\\]-]{0,12}[a-zA-Z]", price(), 0..4)
        .prop_map(|models| {
            let models: BTreeMap<String, (String, String)> = models
                .into_iter()
                .map(|(name, price)| (name.to_lowercase(), (name, price)))
                .collect();
            let models = models.values().map(|(name, price)| format!("{} = {price}", quoted(name)));
            format!("{{ {} }}", models.collect::<Vec<_>>().join(", "))
        })
}

fn path() -> impl Strategy<Value = String> {
    "(/|~/)[a-zA-Z0-9 äß學\"'\\\\#=./-]{0,30}x".prop_map(|path| quoted(&path))
}

/// A file with some of all keys.
fn file() -> impl Strategy<Value = String> {
    fn key(
        key: &'static str,
        value: impl Strategy<Value = String>,
    ) -> impl Strategy<Value = String> {
        prop::option::of(value).prop_map(move |value| {
            value.map_or(String::new(), |value| format!("{key} = {value}\n"))
        })
    }
    let keys = (
        key("database.path", path()),
        key("recorder.interval", interval()),
        key("thresholds.active_percent", percent()),
        key("thresholds.held_mb", mb()),
        key("thresholds.worked_percent", percent()),
        key("thresholds.context_mb", mb()),
        key("retention.samples", age()),
        (
            key("retention.exact", age()),
            key("retention.quarters", age()),
            key("retention.hours", age()),
            key("cost.price", price()),
            key("cost.currency", "[A-Z$€£¥\"'\\\\#]{1,8}".prop_map(|text| quoted(&text))),
            key("cost.models", models()),
            key("identity.store_command", any::<bool>().prop_map(|switch| switch.to_string())),
        ),
    );
    keys.prop_map(|(a, b, c, d, e, f, g, (h, i, j, k, l, m, n))| {
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n].concat()
    })
}

proptest! {
    #[test]
    fn what_is_shown_means_the_same_when_it_is_read(system in file(), user in file()) {
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        fs::write(&files.system.path, &system).unwrap();
        fs::write(dir.path().join("user.toml"), &user).unwrap();
        let settings = files.settings().unwrap().with(Flags::default());
        let first = shown(&settings);
        fs::remove_file(&files.system.path).unwrap();
        fs::write(dir.path().join("user.toml"), &first).unwrap();
        let again = files.settings().unwrap().with(Flags::default());
        prop_assert_eq!(again.settled(), settings.settled(), "{}", first);
        // But for where it came from, it is shown the same.
        let without_comments = |text: &str| -> Vec<String> {
            text.lines().map(|line| line.rsplit_once("  # ").unwrap_or((line, "")).0.trim().to_owned()).collect()
        };
        prop_assert_eq!(without_comments(&shown(&again)), without_comments(&first));
    }

    #[test]
    fn the_users_value_wins_and_the_systems_fills_in(system in file(), user in file()) {
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        let settled = |system: &str, user: &str| {
            fs::write(&files.system.path, system).unwrap();
            fs::write(dir.path().join("user.toml"), user).unwrap();
            files.settings().unwrap().settled()
        };
        let both = settled(&system, &user);
        let alone = settled("", &user);
        prop_assert_eq!(settled(&system, ""), settled("", &system));
        if user.contains("interval = ") {
            prop_assert_eq!(both.recorder.interval, alone.recorder.interval);
        }
        if user.contains("price = ") {
            prop_assert_eq!(both.cost.price, alone.cost.price);
        }
        for (part, price) in &alone.cost.models {
            let of_both = both.cost.models.iter().find(|(other, _)| other == part);
            prop_assert_eq!(of_both.map(|(_, price)| price), Some(price));
        }
    }

    #[test]
    fn no_text_makes_it_fall_over(text in "(\\PC|\n){0,200}", like in "(\\[?\\[?[a-z_.]{0,12}\\]?\\]?( ?= ?[\"{\\[]?[0-9a-z.]{0,8}[\"}\\]]?)?\n){0,12}") {
        let dir = tempfile::tempdir().unwrap();
        let files = files(dir.path());
        for text in [text, like] {
            fs::write(&files.system.path, &text).unwrap();
            if let Err(gua::config::FileError::Wrong { mistakes, .. }) = files.check(&files.system) {
                let lines = text.matches('\n').count() + 1;
                prop_assert!(mistakes.iter().all(|mistake| (1..=lines).contains(&mistake.line)));
                prop_assert!(mistakes.iter().all(|mistake| !mistake.reason.contains('\n')));
            }
        }
    }
}
