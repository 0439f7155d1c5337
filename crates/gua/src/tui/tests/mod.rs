//! Keys and frames, without a terminal.

/// Whole frames, as they are seen.
mod frames;
/// What each key does.
mod keys;
/// What holds for every state and every size.
mod law;
/// What a history adds.
mod recorded;

use std::sync::Arc;
use std::time::Duration;

use crate::cli::Zone;
use gua_core::Thresholds;
use gua_query::snapshot::{CardSelection, add_no_history};
use probe::Reading;
use probe::units::{Bytes, Percent, UnixMillis};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use scenario::Scenario;

use super::draw::{self, Theme};
use super::input::{self, Action};
use super::key::Key;
use super::look::{Kin, Look};
use super::source::{AddRecord, Completion, Played};
use super::state::{Settings, State};
use crate::simulated::SimulatedHost;

/// 2026-11-16 12:00:00 UTC.
pub const NOON: UnixMillis = UnixMillis(1_794_830_400_000);
pub const OWN_UID: u32 = 1001;

pub const LAB: &str = include_str!("../../../../../scenarios/lab.toml");

pub const COLOR: Theme = Theme { color: true, is_ascii: false };
pub const ASCII: Theme = Theme { color: false, is_ascii: true };

/// A machine that is looked at every second.
pub struct Machine {
    played: Played,
    second: i64,
}

impl Machine {
    pub fn new(scenario: &str) -> Self {
        let scenario = scenario::parse::from_str("test", scenario).unwrap();
        Self::with_record(
            scenario,
            Box::new(|snapshot| add_no_history(snapshot, None, String::new())),
        )
    }

    /// Returns a machine with a record.
    pub fn with_record(scenario: Scenario, record: AddRecord) -> Self {
        let mut host = SimulatedHost::new(scenario, NOON, Thresholds::default());
        let play = move |at| {
            let mut snapshot = host.snapshot(at, Duration::from_secs(1));
            snapshot.host.host = Some("lab-a100".to_owned());
            snapshot
        };
        let completion = Completion::new(CardSelection::default(), record);
        Self { played: Played::new(play, completion), second: 0 }
    }

    pub fn look(&mut self) -> Look {
        self.second += 1;
        let at = UnixMillis(NOON.0 + self.second * 1000);
        let mut look = self.played.look_at(at).unwrap();
        for (pid, process) in &mut look.processes {
            process.cpu = Reading::Known(Percent(f64::from(pid % 300)));
            process.ram = Reading::Known(Bytes(u64::from(*pid) << 20));
            process.kin = kin(*pid);
        }
        look
    }
}

/// Everybody below a shell of their own; 41077 and 41200 were started by one launcher.
fn kin(pid: u32) -> Arc<[Kin]> {
    let kin = |pid, program: &str| Kin { pid, program: program.into(), user: Some("carol".into()) };
    match pid {
        41_077 | 41_200 => Arc::from([kin(41_000, "torchrun"), kin(900, "bash"), kin(2, "sshd")]),
        pid => Arc::from([kin(pid - 1, "bash"), kin(2, "sshd")]),
    }
}

pub fn settings() -> Settings {
    Settings {
        every: Duration::from_secs(1),
        zone: Zone::utc(),
        uid: OWN_UID,
        is_pretend: false,
        thresholds: Thresholds::default(),
        began: NOON,
    }
}

/// The state after so many looks, one a second.
pub fn seen(scenario: &str, looks: usize) -> State {
    let mut machine = Machine::new(scenario);
    let mut state = State::new(settings());
    for _ in 0..looks {
        state.see(machine.look());
    }
    state
}

/// Presses one key after the other; what the last one asked for.
pub fn press(state: &mut State, keys: &str) -> Action {
    let press = |key: &str| {
        let key = match key {
            "Enter" => Key::Enter,
            "Esc" => Key::Esc,
            "Tab" => Key::Tab,
            "Up" => Key::Up,
            "Down" => Key::Down,
            "Left" => Key::Left,
            "Right" => Key::Right,
            "PgUp" => Key::PageUp,
            "PgDn" => Key::PageDown,
            "Home" => Key::Home,
            "End" => Key::End,
            "Backspace" => Key::Backspace,
            "Space" => Key::Char(' '),
            "Wheel" => Key::Wheel(3),
            "^C" => Key::Ctrl('c'),
            "^U" => Key::Ctrl('u'),
            "^Z" => Key::Ctrl('z'),
            letter => Key::Char(letter.chars().next().unwrap()),
        };
        input::press(state, key)
    };
    keys.split_whitespace().map(press).last().unwrap_or(Action::None)
}

pub fn frame(state: &mut State, theme: Theme, width: u16, height: u16) -> Buffer {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    draw::draw(state, theme, area, &mut buffer);
    buffer
}

/// What is seen, without colours.
pub fn text(state: &mut State, theme: Theme, width: u16, height: u16) -> String {
    let buffer = frame(state, theme, width, height);
    let row = |y: u16| -> String {
        let mut row = String::new();
        let mut x = 0;
        while x < width {
            let symbol = buffer.cell((x, y)).unwrap().symbol();
            row.push_str(symbol);
            x += draw::columns(symbol).max(1);
        }
        row.trim_end().to_owned() + "\n"
    };
    (0..height).map(row).collect()
}
