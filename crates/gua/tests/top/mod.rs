//! `gua top` on a terminal, which is tmux: keys are sent, the screen is read back.

/// How it gives the terminal back, whatever ends it.
mod restored;
/// What it shows, and what keys do.
mod screen;
/// The terminal.
mod terminal;

use std::process::{Command, Stdio};

use nvidia_ml::skip::skipped;

use crate::machine::{Machine, run};

/// Without a terminal there is nothing to draw on, and another command to name.
#[test]
fn in_a_pipe_it_says_what_to_use_instead() {
    let machine = Machine::bundled("lab.toml");
    let run = machine.gua(&["top"]);
    assert_eq!((run.code, &*run.stdout), (Some(2), ""));
    insta::assert_snapshot!(run.stderr, @"
    gua: `gua top` draws on a terminal, and this is none
         `gua stat` looks once, `gua stat --watch` again and again; `gua query` prints what you choose, for a file or a program.
    ");
}

#[test]
fn a_beat_that_is_none_is_refused() {
    let machine = Machine::bundled("lab.toml");
    for every in ["50ms", "2h", "0s", "soon", "-1s"] {
        let run = machine.gua(&["top", "--every", every]);
        assert_eq!(run.code, Some(2), "{every}: {run:?}");
    }
}

#[test]
fn a_terminal_that_cannot_be_drawn_on_is_told_from_none() {
    if Command::new("script").arg("--version").output().is_err() {
        return skipped("a_terminal_that_cannot_be_drawn_on", "script(1) is not installed");
    }
    let machine = Machine::bundled("lab.toml");
    let gua = machine.command(&["top"]);
    let mut command = Command::new("script");
    command.args(["-qec", &format!("{} top", gua.get_program().to_str().unwrap()), "/dev/null"]);
    command.envs(gua.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("TERM", "dumb").stdin(Stdio::null());
    let run = run(command);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stdout.contains("this one (TERM=dumb) cannot be drawn on"), "{run:?}");
}
