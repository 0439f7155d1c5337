//! Measures the command that it is given: `cargo run --example measure -- sleep 1`.

use std::process::Command;
use std::time::Duration;

use track::{Cards, Options, Tracker};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args_os().skip(1);
    let mut command = Command::new(words.next().ok_or("which command?")?);
    command.args(words);
    let options =
        Options { every: Duration::from_millis(100), cards: Cards::None, ..Options::default() };
    let finished = Tracker::new(options).spawn(command)?.wait();
    println!("{}: {:#?}", finished.status, finished.usage);
    Ok(())
}
