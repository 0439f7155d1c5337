//! Polls the cards of this host for some seconds and prints the classified spans as JSON lines.
//!
//! `cargo run -p probe --example classify -- SECONDS [POLL_SECONDS]`

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use gua_core::span::HolderId;
use gua_core::{Classifier, Span, State, Thresholds};
use probe::nvml::{Options, Prober};
use probe::poller::Poller;
use probe::proc::Host;
use serde_json::{Value, json};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("classify: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let number = |argument: String| {
        argument.parse::<u64>().map_err(|_| format!("'{argument}' is not a number of seconds"))
    };
    let arguments: Vec<u64> = std::env::args().skip(1).map(number).collect::<Result<_, _>>()?;
    let seconds = arguments.first().copied().unwrap_or(60);
    let every = arguments.get(1).copied().unwrap_or(5).max(1);
    let prober = Prober::open(Options::default())?;
    let mut poller = Poller::new(prober, Host::new(None), Duration::from_secs(every));
    let mut classifier = Classifier::new(Thresholds::default());
    let begin = Instant::now();
    for second in 0..=seconds {
        thread::sleep(
            (begin + Duration::from_secs(second)).saturating_duration_since(Instant::now()),
        );
        if second % every == 0 {
            classifier.add(&poller.poll());
            print(&classifier.take_spans())?;
        } else {
            for poll in poller.process_samples(|card| classifier.has_several_workers(card)) {
                classifier.add_process_samples(&poll);
            }
        }
    }
    classifier.finish();
    print(&classifier.take_spans())?;
    Ok(())
}

fn print(spans: &[Span]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    spans.iter().try_for_each(|span| writeln!(out, "{}", json_of(span)))
}

fn json_of(span: &Span) -> Value {
    let state = match span.state {
        State::Active => "active",
        State::IdleHeld => "idle_held",
        State::TrulyIdle => "truly_idle",
        State::Unknown(_) => "unknown",
    };
    let holders = span.holders.iter().map(|holder| {
        let pid = match holder.holder {
            HolderId::Process(id) => Some(id.pid),
            HolderId::Unlisted => None,
        };
        let work = format!("{:?}", holder.work).to_lowercase();
        json!({ "pid": pid, "work": work, "share_ms": holder.share_ms })
    });
    json!({
        "card": span.card.index,
        "from_ms": span.period.from.0,
        "to_ms": span.period.to.0,
        "state": state,
        "holders": holders.collect::<Vec<_>>(),
    })
}
