//! `[remote_write]`: where every tick is pushed to, as Prometheus takes it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use probe::units::Bytes;
use toml::de::DeValue;

use super::origin::Setting;
use super::section::{self, Visit};
use super::value::{Age, Labels, Value, Word};

/// A receiver of ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteWrite {
    /// `None`: nothing is pushed.
    pub url: Option<String>,
    /// With `password_file`.
    pub user: Option<String>,
    pub password_file: Option<PathBuf>,
    pub token_file: Option<PathBuf>,
    /// Certificates to trust besides the host's.
    pub ca_file: Option<PathBuf>,
    pub timeout: Duration,
    /// Ticks that are older than this are dropped from the outbox.
    pub give_up_after: Duration,
    /// Size of the outbox above which its oldest ticks are dropped.
    pub give_up_above: Bytes,
    /// On every series.
    pub labels: Vec<(String, String)>,
}

impl Default for RemoteWrite {
    fn default() -> Self {
        Self {
            url: None,
            user: None,
            password_file: None,
            token_file: None,
            ca_file: None,
            timeout: Duration::from_secs(30),
            give_up_after: Duration::from_secs(7 * 86_400),
            give_up_above: Bytes::from_mib(256),
            labels: Vec::new(),
        }
    }
}

/// Size of the outbox: room for a tick at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OutboxSize(Bytes);

impl Value for OutboxSize {
    const EXPECTED: &'static str = "a whole number of MB (of 1024² bytes) from 1 to 1073741824, \
                                    such as 256; without `url`, nothing is sent";

    fn read(typed: &DeValue<'_>, home: Option<&Path>) -> Option<Self> {
        Bytes::read(typed, home).filter(|bytes| bytes.0 > 0).map(Self)
    }

    fn toml(&self) -> Option<toml::Value> {
        self.0.toml()
    }

    fn json(&self) -> serde_json::Value {
        self.0.json()
    }
}

#[derive(Debug, Clone)]
pub(super) struct Section {
    url: Setting<Option<Word>>,
    user: Setting<Option<Word>>,
    password_file: Setting<Option<PathBuf>>,
    token_file: Setting<Option<PathBuf>>,
    ca_file: Setting<Option<PathBuf>>,
    timeout: Setting<Age>,
    give_up_after: Setting<Age>,
    give_up_above_mb: Setting<OutboxSize>,
    labels: Setting<Labels>,
}

impl Section {
    pub fn usual() -> Self {
        let usual = RemoteWrite::default();
        Self {
            url: Setting::usual(None),
            user: Setting::usual(None),
            password_file: Setting::usual(None),
            token_file: Setting::usual(None),
            ca_file: Setting::usual(None),
            timeout: Setting::usual(Age(usual.timeout)),
            give_up_after: Setting::usual(Age(usual.give_up_after)),
            give_up_above_mb: Setting::usual(OutboxSize(usual.give_up_above)),
            labels: Setting::usual(Labels(Vec::new())),
        }
    }

    pub fn settled(&self) -> RemoteWrite {
        let word = |setting: &Setting<Option<Word>>| setting.value.clone().map(|word| word.0);
        RemoteWrite {
            url: word(&self.url),
            user: word(&self.user),
            password_file: self.password_file.value.clone(),
            token_file: self.token_file.value.clone(),
            ca_file: self.ca_file.value.clone(),
            timeout: self.timeout.value.0,
            give_up_after: self.give_up_after.value.0,
            give_up_above: self.give_up_above_mb.value.0,
            labels: self.labels.value.0.clone(),
        }
    }
}

impl section::Section for Section {
    fn name(&self) -> &'static str {
        "remote_write"
    }

    fn visit(&mut self, keys: &mut dyn Visit) {
        keys.key("url", &mut self.url);
        keys.key("user", &mut self.user);
        keys.key("password_file", &mut self.password_file);
        keys.key("token_file", &mut self.token_file);
        keys.key("ca_file", &mut self.ca_file);
        keys.key("timeout", &mut self.timeout);
        keys.key("give_up_after", &mut self.give_up_after);
        keys.key("give_up_above_mb", &mut self.give_up_above_mb);
        keys.key("labels", &mut self.labels);
    }
}
