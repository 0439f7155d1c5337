//! Builds the program that is measured, and runs it under a tracker.

use std::io::{PipeReader, PipeWriter, Read};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use track::{Cards, Finished, Options, Running, Sample, Tracker};

/// Nothing here takes that long.
const FOREVER: Duration = Duration::from_secs(60);

/// The program, built once a run.
pub fn program() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/subject/subject.c");
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let mine = folder.join(format!("subject-{}", std::process::id()));
        let compiled = Command::new("cc")
            .args(["-O1", "-Wall", "-Wextra", "-Wno-sign-compare", "-pthread", "-o"])
            .arg(&mine)
            .arg(source)
            .status()
            .unwrap();
        assert!(compiled.success());
        // Tests run in processes of their own; each may put its build in place.
        let program = folder.join("subject");
        std::fs::rename(&mine, &program).unwrap();
        program
    })
}

/// The program at work, and what is seen of it.
pub struct Subject {
    pub running: Running,
    pub samples: Receiver<Sample>,
    stdin: PipeWriter,
    stdout: PipeReader,
}

/// Measures the program with these arguments.
pub fn subject(every: Duration, arguments: &[&str]) -> Subject {
    let mut command = Command::new(program());
    command.args(arguments);
    start(every, command)
}

pub fn start(every: Duration, mut command: Command) -> Subject {
    let (stdin_of_child, stdin) = std::io::pipe().unwrap();
    let (stdout, stdout_of_child) = std::io::pipe().unwrap();
    command.stdin(stdin_of_child).stdout(stdout_of_child);
    let (sender, samples) = mpsc::channel();
    let options = Options { every, cards: Cards::None, ..Options::default() };
    let running = Tracker::new(options)
        .on_sample(move |sample| {
            // The test may have seen enough.
            let _ = sender.send(sample.clone());
        })
        .spawn(command)
        .unwrap();
    Subject { running, samples, stdin, stdout }
}

impl Subject {
    /// Until it says that it has what it is to have, and a sample shows that.
    pub fn is_seen(&mut self, is_it: impl Fn(&Sample) -> bool) {
        let mut line = [0; 6];
        self.stdout.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"ready\n");
        // Those of before, and one that may have been begun before, do not count.
        while self.samples.try_recv().is_ok() {}
        self.samples.recv_timeout(FOREVER).unwrap();
        let mut last = None;
        while !last.as_ref().is_some_and(&is_it) {
            let next = self.samples.recv_timeout(FOREVER);
            last = Some(next.unwrap_or_else(|_| panic!("not seen, at last {last:#?}")));
        }
    }

    /// What it writes, until it ends.
    pub fn says(mut self) -> (String, Finished) {
        let mut said = String::new();
        self.stdout.read_to_string(&mut said).unwrap();
        (said, self.end())
    }

    /// Lets it go, and waits for its end.
    pub fn end(self) -> Finished {
        drop(self.stdin);
        self.running.wait()
    }
}

/// Notes that something could not be tested here, for whoever counts.
pub fn skip(what: &str, why: &str) {
    eprintln!("SKIPPED: {what}: {why}");
    let Some(path) = std::env::var_os("GUA_TEST_SKIPS") else { return };
    let mut file = std::fs::File::options().append(true).create(true).open(path).unwrap();
    std::io::Write::write_all(&mut file, format!("SKIPPED: {what}: {why}\n").as_bytes()).unwrap();
}
