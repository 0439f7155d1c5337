//! Which signal to send, and whether really.

use super::popup::{Line, Text};
use super::theme::Ink;
use crate::tui::signal::{Signal, Target};

pub fn text(target: &Target, choice: Signal, is_asked: bool) -> Text {
    let who = format!("process {} ({}) of {}", target.pid, target.program, target.user);
    if is_asked {
        let name = choice.name();
        let lines = vec![
            Line::Said(format!("Send {name} to {who}?"), Ink::Strong),
            Line::Said(format!("It {}.", choice.meaning()), Ink::Plain),
        ];
        return Text { title: "signal".into(), lines, keys: "y: send it   any other key: no" };
    }
    let line = |(signal, number): (Signal, usize)| {
        let ink = if signal == choice { Ink::Chosen } else { Ink::Plain };
        let mark = if signal == choice { ">" } else { " " };
        let (name, meaning) = (signal.name(), signal.meaning());
        Line::Said(format!("{mark} {number} {name:<4}  {meaning}"), ink)
    };
    let mut lines = vec![Line::Said(who, Ink::Strong)];
    lines.extend(Signal::ALL.into_iter().zip(1..).map(line));
    Text { title: "which signal?".into(), lines, keys: "Enter or 1 2 3: choose   Esc: back" }
}
