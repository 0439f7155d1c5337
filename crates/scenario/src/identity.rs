//! What a pretend host says of who is behind a process, as its files have it.

use std::collections::BTreeMap;

/// What `/proc/PID` holds of a process's surroundings; what is left out is as usual.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// The whole of `/proc/PID/cgroup`.
    pub cgroup: Option<String>,
    pub loginuid: Option<u32>,
    pub environ: BTreeMap<String, String>,
    /// Where it works.
    pub folder: Option<String>,
    /// The whole of `/proc/PID/uid_map`, for one in a user namespace.
    pub uid_map: Option<String>,
}

impl Identity {
    /// `/proc/PID/cgroup` of a user's process: in a login session, but for root.
    #[must_use]
    pub fn cgroup(&self, uid: u32) -> String {
        match (&self.cgroup, uid) {
            (Some(text), _) => text.clone(),
            (None, 0) => "0::/init.scope\n".into(),
            (None, uid) => format!("0::/user.slice/user-{uid}.slice/session-1.scope\n"),
        }
    }

    /// `/proc/PID/loginuid`. Nobody logged in to start what root runs.
    #[must_use]
    pub fn loginuid(&self, uid: u32) -> u32 {
        self.loginuid.unwrap_or(if uid == 0 { u32::MAX } else { uid })
    }

    /// `/proc/PID/environ`, which always holds something.
    #[must_use]
    pub fn environ(&self) -> String {
        let mut text = "LANG=C.UTF-8\0".to_owned();
        for (name, value) in &self.environ {
            text += &format!("{name}={value}\0");
        }
        text
    }

    /// `/proc/PID/uid_map`.
    #[must_use]
    pub fn uid_map(&self) -> &str {
        self.uid_map.as_deref().unwrap_or("         0          0 4294967295\n")
    }
}

/// What engines and nodes have on record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Records {
    pub containers: Vec<Container>,
    pub pods: Vec<Pod>,
}

/// A container of Docker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    pub id: String,
    pub name: String,
}

/// A pod that keeps logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pod {
    pub uid: String,
    pub namespace: String,
    pub name: String,
}

impl Pod {
    /// The folder of its logs.
    #[must_use]
    pub fn log_folder(&self) -> String {
        format!("{}_{}_{}", self.namespace, self.name, self.uid)
    }
}
