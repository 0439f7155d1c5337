//! What it shows, and what keys do.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use nvidia_ml::skip::skipped;

use super::terminal::Terminal;
use crate::machine::{Machine, project};

const GUA: &str = env!("CARGO_BIN_EXE_gua");

fn on_a_terminal(machine: &Machine, columns: u16, rows: u16, args: &str) -> Option<Terminal> {
    let terminal = Terminal::new(columns, rows, &machine.command(&[]))?;
    terminal.type_line(&format!("{GUA} top --every 200ms {args}"));
    Some(terminal)
}

/// On a machine with every kind of trouble, through the driver's library.
#[test]
fn keys_are_followed_and_the_screen_tells() {
    let machine = Machine::bundled("lab.toml");
    let Some(terminal) = on_a_terminal(&machine, 110, 30, "") else {
        return skipped("keys_are_followed_and_the_screen_tells", "there is no tmux");
    };
    let screen = terminal.wait_for("cards", |screen| screen.contains("lost from the bus"));
    for seen in ["6 cards:", "● active", "◐ idle-held", "○ free", "? unknown", "jupyter-lab"]
    {
        assert!(screen.contains(seen), "{seen} is missing:\n{screen}");
    }
    terminal.press(&["/", "b", "o", "b"]);
    let found = terminal.wait_for("filter", |screen| screen.contains("filter: bob"));
    assert!(found.contains("2 of 7") && !found.contains("alice"), "{found}");
    terminal.press(&["Enter", "Enter"]);
    terminal.wait_for("details", |screen| screen.contains("process 5678 on card 1"));
    terminal.press(&["Escape"]);
    terminal.wait_for("list", |screen| !screen.contains("process 5678 on card 1"));
    terminal.press(&["?"]);
    terminal.wait_for("help", |screen| screen.contains("gua top: keys"));
    terminal.press(&["q"]);
    terminal.wait_for("list again", |screen| !screen.contains("gua top: keys"));
    terminal.press(&["p"]);
    terminal.wait_for("pause", |screen| screen.contains("paused at"));
    terminal.press(&["q"]);
    terminal
        .wait_for("the shell", |screen| screen.contains("shell$") && !screen.contains("active"));
}

/// Each line of the README's picture stands in the real view in the same way, graphs aside.
#[test]
fn the_view_shown_in_the_readme_is_real() {
    let machine = Machine::bundled("lab.toml");
    let Some(terminal) = on_a_terminal(&machine, 80, 24, "") else {
        return skipped("the_view_shown_in_the_readme_is_real", "there is no tmux");
    };
    // How much of a core somebody has takes two looks.
    let is_whole = |screen: &str| screen.contains(" 0 %  2.0 GiB");
    let real = terminal.wait_for("cards", is_whole);
    let shape = |text: &str| -> Vec<String> {
        let is_word = |word: &&str| {
            let is_figure = |c: char| c.is_ascii_digit() || ('█'..='▏').contains(&c) || c == '─';
            !word.contains(is_figure) && !word.contains(|c| ('\u{2800}'..='\u{28ff}').contains(&c))
        };
        let line =
            |line: &str| line.split_whitespace().filter(is_word).collect::<Vec<_>>().join(" ");
        text.lines().map(line).collect()
    };
    let readme = std::fs::read_to_string(project().join("README.md")).unwrap();
    let shown = readme.split("```console\n").nth(1).unwrap().split("```").next().unwrap();
    let real = shape(&real).into_iter().take(shown.lines().count()).collect::<Vec<_>>();
    // Looks are closer to each other than a second here, and the header says so.
    assert_eq!(shape(shown)[1..], real[1..]);
}

#[test]
fn any_size_is_drawn_and_the_next_too() {
    let machine = Machine::bundled("eight-cards.toml");
    let Some(terminal) = on_a_terminal(&machine, 120, 40, "") else {
        return skipped("any_size_is_drawn_and_the_next_too", "there is no tmux");
    };
    terminal.wait_for("cards", |screen| screen.contains("8 cards:"));
    for (columns, rows) in [(40, 12), (300, 60), (20, 3), (60, 8), (1, 1), (120, 40)] {
        terminal.resize(columns, rows);
        let rows = usize::from(rows);
        // The last row is the keys', the first the header's, once it was drawn anew.
        terminal.wait_for("a frame of this size", |screen| {
            let lines: Vec<_> = screen.lines().collect();
            rows < 3 || lines.len() == rows && lines[rows - 1].contains("? help")
        });
    }
}

#[test]
fn plain_characters_and_no_colours_are_enough() {
    let machine = Machine::bundled("lab.toml");
    let Some(terminal) = on_a_terminal(&machine, 100, 30, "--ascii --no-color") else {
        return skipped("plain_characters_and_no_colours_are_enough", "there is no tmux");
    };
    let screen = terminal.wait_for("cards", |screen| screen.contains("lost from the bus"));
    let top = screen.lines().skip_while(|line| !line.starts_with("lab-a100"));
    assert!(top.collect::<String>().is_ascii(), "{screen}");
}

/// Trap: one card that hangs must not keep a key waiting.
#[test]
fn a_driver_that_hangs_keeps_no_key_waiting() {
    let scenario = "[[card]]\n[[card]]\n[[fault]]\ncall = \"nvmlDeviceGetMemoryInfo*\"\ncard = 1\n\
                    hang = true\n";
    let machine = Machine::new(scenario);
    let Some(terminal) = on_a_terminal(&machine, 80, 24, "") else {
        return skipped("a_driver_that_hangs_keeps_no_key_waiting", "there is no tmux");
    };
    terminal.wait_for("a screen", |screen| screen.contains("? help"));
    terminal.press(&["?"]);
    terminal.wait_for("help", |screen| screen.contains("gua top: keys"));
    terminal.press(&["Escape"]);
    terminal.wait_for("both cards", |screen| screen.contains("no answer in time"));
    terminal.press(&["q"]);
    terminal
        .wait_for("the shell", |screen| screen.contains("shell$") && !screen.contains("no answer"));
}

/// Nobody else gets it: the process is held by a handle and compared first.
#[test]
fn a_signal_reaches_the_process_after_a_question() {
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    let scenario =
        format!("[[card]]\n[[process]]\npid = {}\ncard = 0\nmemory = \"1GiB\"\n", child.id());
    let machine = Machine::new(&scenario);
    let Some(terminal) = on_a_terminal(&machine, 100, 24, "--host-root /") else {
        child.kill().unwrap();
        child.wait().unwrap();
        return skipped("a_signal_reaches_the_process_after_a_question", "there is no tmux");
    };
    terminal.wait_for("the holder", |screen| screen.contains(" sleep "));
    terminal.press(&["x"]);
    terminal.wait_for("signals", |screen| screen.contains("which signal?"));
    terminal.press(&["2"]);
    terminal.wait_for("question", |screen| screen.contains("Send INT to process"));
    assert!(child.try_wait().unwrap().is_none());
    terminal.press(&["y"]);
    assert_eq!(child.wait().unwrap().signal(), Some(2));
    terminal.wait_for("answer", |screen| screen.contains("INT was sent to"));
}

#[test]
fn machines_that_do_not_exist_are_shown_without_a_driver() {
    let machine = Machine::new("");
    let lab = project().join("scenarios/lab.toml");
    for (args, seen) in [
        (format!("--scenario {}", lab.display()), "lost from the bus"),
        ("--demo".to_owned(), "recorded since"),
    ] {
        let Some(terminal) = on_a_terminal(&machine, 110, 40, &args) else {
            let name = "machines_that_do_not_exist_are_shown_without_a_driver";
            return skipped(name, "there is no tmux");
        };
        terminal.wait_for(seen, |screen| screen.contains(seen));
    }
}

#[test]
fn what_is_wrong_is_told_in_the_shell() {
    let machine = Machine::bundled("lab.toml");
    let Some(terminal) = on_a_terminal(&machine, 110, 40, "--id 77; echo ended $?") else {
        return skipped("what_is_wrong_is_told_in_the_shell", "there is no tmux");
    };
    let screen = terminal.wait_for("the end", |screen| screen.contains("ended 2"));
    assert!(screen.contains("there is no card `77` here"), "{screen}");
    terminal.type_line(&format!("{GUA} top --db /nowhere/gua.db; echo gave $?"));
    let screen = terminal.wait_for("the end", |screen| screen.contains("gave 1"));
    assert!(screen.contains("cannot use /nowhere/gua.db"), "{screen}");
    let damaged = terminal.file("damaged.db");
    std::fs::write(&damaged, "no database").unwrap();
    terminal.type_line(&format!("{GUA} top --db {}", damaged.display()));
    // The cards are shown all the same.
    terminal
        .wait_for("both", |screen| screen.contains("6 cards:") && screen.contains("cannot use /"));
    terminal.press(&["q"]);
    terminal.wait_for("the shell", |screen| !screen.contains("6 cards:"));
    terminal.type_line(&format!("{GUA} top --scenario /nowhere.toml; echo left $?"));
    let screen = terminal.wait_for("the end", |screen| screen.contains("left 2"));
    assert!(screen.contains("this scenario cannot be played"), "{screen}");
}

/// A view that stays open sees cards come and go.
#[test]
fn trouble_that_comes_and_goes_is_told() {
    let card = "[[card]]\nutilization = 50\n";
    let fault =
        |call: &str, code: &str| format!("{card}[[fault]]\ncall = \"{call}\"\ncode = \"{code}\"\n");
    let machine = Machine::new(card);
    let Some(terminal) = on_a_terminal(&machine, 90, 20, "") else {
        return skipped("trouble_that_comes_and_goes_is_told", "there is no tmux");
    };
    let troubles = [
        (fault("nvmlDeviceGet*", "GPU_IS_LOST"), "lost from the bus"),
        (fault("nvmlDeviceGetMemoryInfo*", "NOT_SUPPORTED"), "shares the host's memory"),
        (fault("nvmlDeviceGet*", "RESET_REQUIRED"), "needs a reset"),
    ];
    for (scenario, told) in troubles {
        terminal.wait_for("work", |screen| screen.contains("● active"));
        machine.becomes(&scenario);
        terminal.press(&["h"]);
        terminal.wait_for(told, |screen| screen.contains(told));
        machine.becomes(card);
    }
    terminal.wait_for("work again", |screen| screen.contains("● active"));
}
