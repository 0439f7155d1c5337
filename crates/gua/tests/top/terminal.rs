//! A terminal that a test can type on and read from.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Longer than any machine takes.
const DEADLINE: Duration = Duration::from_secs(30);

/// A tmux server of its own, gone when dropped.
pub struct Terminal {
    dir: TempDir,
}

impl Terminal {
    /// A shell on a terminal of this size, with the environment of a command; `None` where
    /// there is no tmux.
    pub fn new(columns: u16, rows: u16, like: &Command) -> Option<Self> {
        Command::new("tmux").arg("-V").output().ok()?;
        let terminal = Self { dir: tempfile::tempdir().unwrap() };
        let mut tmux = terminal.tmux();
        tmux.args(["-f", "/dev/null", "new-session", "-d"]);
        tmux.args(["-x", &columns.to_string(), "-y", &rows.to_string()]);
        for (name, value) in like.get_envs() {
            match value {
                Some(value) => tmux.env(name, value),
                None => tmux.env_remove(name),
            };
        }
        tmux.env("TERM", "screen-256color").env("LC_ALL", "C.UTF-8");
        let settings = terminal.file("bashrc");
        fs::write(&settings, "PS1='shell$ '\n").unwrap();
        tmux.arg(format!("bash --noprofile --rcfile {} -i", settings.display()));
        let done = tmux.output().unwrap();
        assert!(done.status.success(), "{done:?}");
        terminal.wait_for("a prompt", |screen| screen.contains("shell$"));
        Some(terminal)
    }

    fn tmux(&self) -> Command {
        let mut tmux = Command::new("tmux");
        tmux.arg("-S").arg(self.dir.path().join("socket"));
        tmux
    }

    fn run(&self, args: &[&str]) -> Output {
        self.tmux().args(args).output().unwrap()
    }

    /// A file beside the socket.
    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Presses keys, by tmux's names for them.
    pub fn press(&self, keys: &[&str]) {
        let done = self.run(&[&["send-keys", "-t", "0"], keys].concat());
        assert!(done.status.success(), "{done:?}");
    }

    /// Types a line into the shell.
    pub fn type_line(&self, line: &str) {
        self.run(&["send-keys", "-t", "0", "-l", line]);
        self.press(&["Enter"]);
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        let (x, y) = (columns.to_string(), rows.to_string());
        let done = self.run(&["resize-window", "-t", "0", "-x", &x, "-y", &y]);
        assert!(done.status.success(), "{done:?}");
    }

    /// What is on the screen.
    pub fn screen(&self) -> String {
        String::from_utf8(self.run(&["capture-pane", "-p", "-t", "0"]).stdout).unwrap()
    }

    /// What tmux knows of the terminal.
    fn told(&self, format: &str) -> String {
        let done = self.run(&["display-message", "-p", "-t", "0", format]);
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    /// Whether another screen lies over the shell's, a cursor is seen, the mouse is listened to.
    pub fn modes(&self) -> [bool; 3] {
        ["#{alternate_on}", "#{cursor_flag}", "#{mouse_any_flag}"]
            .map(|format| self.told(format) == "1")
    }

    /// The screen, once it is as wanted.
    pub fn wait_for(&self, what: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if is_wanted(&screen) {
                return screen;
            }
            assert!(begun.elapsed() < DEADLINE, "no {what}:\n{screen}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// A file's text, once it is there.
    pub fn wait_for_file(&self, name: &str) -> String {
        let begun = Instant::now();
        loop {
            if let Ok(text) = fs::read_to_string(self.file(name))
                && text.ends_with('\n')
            {
                return text;
            }
            assert!(begun.elapsed() < DEADLINE, "no {name}:\n{}", self.screen());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}
