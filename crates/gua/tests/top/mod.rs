//! `gua top` on a terminal, which is tmux: keys are sent, the screen is read back.

/// How it gives the terminal back, whatever ends it.
mod restored;
/// What it shows, and what keys do.
mod screen;
/// The terminal.
mod terminal;

use crate::machine::Machine;

/// Without a terminal there is nothing to draw on, and another command to name.
#[test]
fn in_a_pipe_it_says_what_to_use_instead() {
    let machine = Machine::bundled("lab.toml");
    let run = machine.gua(&["top"]);
    assert_eq!((run.code, &*run.stdout), (Some(2), ""));
    insta::assert_snapshot!(run.stderr, @"
    gua: `gua top` draws on a terminal, and this is none
         `gua stat` looks once, `gua stat --watch --json` again and again.
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
