//! The documents are tested too: what the README shows is what the program does.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::machine::{Machine, project, run};
use crate::recorder::Recorder;

fn readme() -> String {
    fs::read_to_string(project().join("README.md")).unwrap()
}

/// The `sh` blocks of the README, line by line.
fn commands() -> Vec<String> {
    let text = readme();
    let blocks = text.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.flat_map(str::lines).map(str::to_owned).filter(|line| !line.is_empty()).collect()
}

/// `./test` runs this test, so it is only looked for; `./try` builds first, so the program that it
/// runs is run here as it was built for the tests.
#[test]
fn the_commands_shown_run() {
    let machine = Machine::bundled("lab.toml");
    let mut ran = 0;
    for line in commands() {
        let line = line.split(" #").next().unwrap().trim();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["./test", ..] => assert!(project().join("test").is_file()),
            ["./try", args @ ..] => {
                assert!(project().join("try").is_file());
                let args = if args.is_empty() { &["demo", "--days", "7"] } else { args };
                let run = machine.gua(args);
                assert!(matches!(run.code, Some(0)), "{line}: {run:?}");
            }
            // It fails where there is no recorder to be stopped.
            ["gua", "policy", "off"] => {
                let recorder = Recorder::start(&machine);
                let run = machine.gua(&["policy", "off"]);
                assert!(matches!(run.code, Some(0)), "{line}: {run:?}");
                recorder.end();
            }
            ["gua", args @ ..] => {
                let mut command = machine.command(args);
                command.current_dir(machine.home());
                let run = run(command);
                assert!(matches!(run.code, Some(0)), "{line}: {run:?}");
            }
            ["gpu-tracker", ..] => {
                let run = run(in_a_shell(&machine, line));
                assert!(matches!(run.code, Some(0)), "{line}: {run:?}");
            }
            _ => panic!("the README shows a command that no test knows: {line}"),
        }
        ran += 1;
    }
    assert!(ran >= 2, "the README shows no commands");
}

/// A line with quotes in it, as it is typed. What it writes goes with the machine.
fn in_a_shell(machine: &Machine, line: &str) -> Command {
    let program = machine.gpu_tracker(&[]);
    let folder = Path::new(program.get_program()).parent().unwrap();
    let path = format!("{}:{}", folder.display(), env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).envs(
        program
            .get_envs()
            .filter_map(|(name, value)| value.map(|value| (name.to_owned(), value.to_owned()))),
    );
    shell.env("PATH", path).current_dir(machine.dir()).stdin(Stdio::null());
    shell
}

/// The pictures of the README, in their order.
fn pictures() -> Vec<String> {
    let text = readme();
    let blocks = text.split("```text\n").skip(1);
    blocks.map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// Every line of the report shown is one of the real one, in its order; `…` stands for some.
#[test]
fn the_report_shown_is_real() {
    let args = ["demo", "--days", "7", "--at", "2026-11-15T20:00:00Z", "--width", "100"];
    let real = run(crate::machine::program(&args)).stdout;
    let mut left = real.lines();
    for line in pictures()[0].lines().filter(|line| line.trim() != "…") {
        assert!(left.any(|real| real == line), "not in the report, or not there: {line}");
    }
}

/// Each card's line in the README's picture stands in the real output in the same way.
#[test]
fn the_cards_shown_are_real() {
    let shown = &pictures()[1];
    let real = Machine::bundled("lab.toml").gua(&["stat"]).stdout;
    let shape = |text: &str| -> Vec<String> {
        let without_figures = |line: &str| {
            let words = line.split_whitespace();
            words
                .filter(|word| !word.contains(|c: char| c.is_ascii_digit()))
                .collect::<Vec<_>>()
                .join(" ")
        };
        text.lines().map(without_figures).collect()
    };
    assert_eq!(shape(shown), shape(&real));
}

/// Trap: a block that is not closed takes all that follows it.
#[test]
fn every_block_is_closed() {
    let text = readme();
    let mut fences = text.lines().filter(|line| line.starts_with("```"));
    while let Some(begin) = fences.next() {
        assert!(
            ["```sh", "```text", "```console", "```python", "```toml"].contains(&begin),
            "begins with {begin}"
        );
        assert_eq!(fences.next(), Some("```"), "{begin} is not closed");
    }
}

/// What may be read of an environment is told to those whose it is.
#[test]
fn the_names_that_are_read_of_an_environment_are_told() {
    let text = readme();
    for (name, _) in probe::identity::NAMES {
        assert!(text.contains(&format!("`{name}`")), "{name}");
    }
    let seven = "of an environment seven names are read";
    assert_eq!((probe::identity::NAMES.len(), text.contains(seven)), (7, true));
}
