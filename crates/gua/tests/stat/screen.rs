//! How `gua stat` fits the screen, and what it keeps off it.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use nvidia_ml::skip::skipped;

use super::TWO_CARDS;
use crate::machine::Machine;

#[test]
fn sixteen_cards_with_wide_names_fit_eighty_columns() {
    let mut scenario = String::from("[host]\nname = \"研究室のとても長い名前のサーバー\"\n");
    for index in 0..16 {
        scenario += &format!(
            "[[card]]\nname = \"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition 試作機\"\n\
             utilization = 100\nmemory = \"192GiB\"\nfan = 100\n\
             [[process]]\npid = {}\ncard = {index}\nuser = \"とても長い利用者名とても長い利用者名\"\n\
             program = \"とても長いプログラム名\"\nmemory = \"180GiB\"\nsm = 100\nbegin = \"-300d\"\n",
            4_194_000 + index,
        );
    }
    let machine = Machine::new(&scenario);
    for columns in ["40", "80", "100", "140", "300"] {
        let mut command = machine.command(&["stat", "-a"]);
        command.env("COLUMNS", columns);
        let run = crate::machine::run(command);
        assert_eq!(run.code, Some(0));
        let most: usize = columns.parse().unwrap();
        for line in run.stdout.lines() {
            let width = unicode_width::UnicodeWidthStr::width(line);
            assert!(width <= most, "{width} > {most}: {line}");
        }
        let beginnings = run.stdout.lines().filter(|line| line.starts_with('[')).count();
        assert_eq!(beginnings, 16, "{}", run.stdout);
    }
    let mut command = machine.command(&["stat"]);
    command.env("COLUMNS", "80");
    let run = crate::machine::run(command);
    let line = run.stdout.lines().find(|line| line.starts_with("[15]")).unwrap();
    for figure in ["active", "100 %", "66 °C", "400/400 W", "180.0/192.0 GiB"] {
        assert!(line.contains(figure), "{figure} is missing: {line}");
    }
}

#[test]
fn colour_comes_only_where_it_is_wanted() {
    let machine = Machine::new(TWO_CARDS);
    let has_escape = |args: &[&str], variable: Option<&str>| {
        let mut command = machine.command(args);
        if let Some(variable) = variable {
            command.env(variable, "1");
        }
        crate::machine::run(command).stdout.contains('\x1b')
    };
    assert!(!has_escape(&["stat"], None));
    assert!(has_escape(&["stat", "--color", "always"], None));
    assert!(!has_escape(&["stat", "--color", "always", "--no-color"], None));
    assert!(!has_escape(&["stat"], Some("NO_COLOR")));
}

#[test]
fn a_process_with_a_hostile_name_cannot_break_the_view() {
    let machine = Machine::new(
        "[[card]]\nutilization = 0\n[[process]]\npid = 7\ncard = 0\nmemory = \"1GiB\"\n\
         user = \"eve\"\nprogram = \"x\\u001b[2J\\ny\\u202e\"\n",
    );
    let text = machine.gua(&["stat"]).stdout;
    assert!(!text.contains('\x1b') && !text.contains('\u{202e}'), "{text:?}");
    assert_eq!(text.lines().count(), 2, "{text}");
}

/// The first lines of the program on a terminal of so many rows and columns; `None` where
/// none can be had.
fn on_a_terminal(machine: &Machine, size: &str, term: &str, lines: usize) -> Option<Vec<String>> {
    let gua = machine.command(&[]);
    let mut terminal = Command::new("script");
    let shell = format!("stty {size}; exec {} stat -i 0.1", gua.get_program().to_str().unwrap());
    terminal.args(["-qfc", &shell, "/dev/null"]);
    for (name, value) in gua.get_envs() {
        match value {
            Some(value) => terminal.env(name, value),
            None => terminal.env_remove(name),
        };
    }
    terminal.env("TERM", term);
    let mut child = terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let out = BufReader::new(child.stdout.take().unwrap()).lines();
    let shown = out.take(lines).map(|line| line.unwrap()).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    Some(shown)
}

/// On a terminal the view is drawn in place, and what is below its edge is counted.
#[test]
fn a_low_terminal_counts_what_it_cannot_show() {
    let machine = Machine::new(&"[[card]]\nutilization = 0\n".repeat(9));
    let Some(shown) = on_a_terminal(&machine, "rows 6 cols 100", "xterm", 5) else {
        return skipped("a_low_terminal_counts_what_it_cannot_show", "there is no `script`");
    };
    // Trap: cleared after its text, a line that fills the screen loses its last character.
    assert!(shown[3].starts_with("\x1b[K[2]"), "{shown:?}");
    assert!(shown[4].contains("… 6 more lines"), "{shown:?}");
    assert!(shown[0].starts_with("\x1b[2J\x1b[H\x1b[K"), "{shown:?}");
}

#[test]
fn a_dumb_terminal_gets_no_escape_codes() {
    let machine = Machine::new("[[card]]\nutilization = 0\n");
    for term in ["dumb", ""] {
        let Some(shown) = on_a_terminal(&machine, "rows 20 cols 70", term, 5) else {
            return skipped("a_dumb_terminal_gets_no_escape_codes", "there is no `script`");
        };
        assert!(shown.iter().all(|line| !line.contains('\x1b')), "{shown:?}");
        assert_eq!(shown[0].trim_end().chars().count(), 70, "the time is at the edge: {shown:?}");
    }
}

/// Trap: the time was put at the right edge of a screen that nobody has.
#[test]
fn absurd_columns_are_no_columns() {
    let machine = Machine::new(TWO_CARDS);
    for columns in ["18446744073709551615", "1000000000000", "65535", "0", "-1", "wide"] {
        let mut command = machine.command(&["stat"]);
        command.env("COLUMNS", columns);
        let run = crate::machine::run(command);
        assert_eq!(run.code, Some(0), "{columns}: {run:?}");
        let longest = run.stdout.lines().map(|line| line.chars().count()).max();
        assert!(longest < Some(200), "{columns}: {longest:?}");
    }
}

#[test]
fn a_narrow_header_tells_whole_counts_or_none() {
    let machine = Machine::bundled("lab.toml");
    let header = |columns: &str| {
        let mut command = machine.command(&["stat"]);
        command.env("COLUMNS", columns);
        crate::machine::run(command).stdout.lines().next().unwrap().to_owned()
    };
    assert_eq!(header("60"), "lab-a100  6 cards:  2 active  2 idle-held  1 free  1 unknown");
    assert_eq!(header("50"), "6 cards:  2 active  2 idle-held  1 free  1 unknown");
    assert_eq!(header("49"), "6 cards:  2 active  2 idle-held  1 free  …");
    assert_eq!(header("8"), "6 cards");
    assert_eq!(header("5"), "6 ca…");
}

/// Trap: the driver keeps half a second of samples, so a look alone sees the end of each second,
/// nothing but high or nothing but low.
#[test]
fn no_work_between_two_looks_is_missed() {
    let machine = Machine::new(
        "[samples]\nperiod = \"50ms\"\ncapacity = 10\n[[card]]\n\
         utilization = { duty = 40, period = \"1s\", high = 90, low = 10 }\n",
    );
    let mut command = machine.command(&["stat", "--json", "-i", "1"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().skip(1).take(4);
    let work = |line: std::io::Result<String>| {
        let now: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        now["cards"][0]["utilization_percent"].as_f64().unwrap()
    };
    let looks: Vec<f64> = lines.map(work).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    let mean = looks.iter().sum::<f64>() / 4.0;
    // 40 % of the time at 90 %, the rest at 10 %.
    assert!((34.0..50.0).contains(&mean), "{looks:?}");
}
