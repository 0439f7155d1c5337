//! Notebooks and their kernels: by the connection file that a kernel was started with, and the
//! variable that its server sets.

use std::sync::Arc;

use super::command::kept;
use super::environment::{Labels, Name};
use super::{Ancestor, Client, Evidence, Notebook, Source, Told};

/// Kernel that a command line starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernel {
    pub id: Arc<str>,
    pub client: Client,
}

/// Returns the kernel that these arguments start: `-f …/kernel-ID.json`, from VS Code `--f=…`.
#[must_use]
pub fn kernel(arguments: &[String]) -> Option<Kernel> {
    let before = std::iter::once("").chain(arguments.iter().map(String::as_str));
    before.zip(arguments).find_map(|(before, argument)| {
        let (option, file) = match argument.split_once('=') {
            Some((option, file)) if option.starts_with('-') => (option, file),
            _ => (before, argument.as_str()),
        };
        let id = connection(file)?;
        let is_meant = matches!(option, "-f" | "--f") || option.ends_with("connection_file");
        // Kernels of other languages take the file without an option. Other files may have such a name.
        let is_kernel = is_meant || is_uuid(id);
        let client = if option == "--f" { Client::VsCode } else { Client::Jupyter };
        is_kernel.then(|| Kernel { id: Arc::from(id), client })
    })
}

/// Returns the id in a connection file's name.
fn connection(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    let id = name.strip_prefix("kernel-")?.strip_suffix(".json")?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_id = (1..=80).contains(&id.len()) && id.bytes().all(is_plain);
    is_id.then_some(id)
}

fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12])
        && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// Returns the notebook that a process works for, as a kernel or as a descendant of one.
#[must_use]
pub(super) fn notebook(evidence: &Evidence, labels: &Labels) -> Option<Told<Notebook>> {
    let session = labels.get(Name::JupyterSession);
    if let Some(kernel) = kernel(&evidence.arguments) {
        let path = path(session, evidence.folder.as_deref());
        return Some(told(Some(kernel), path, Source::CommandLine));
    }
    let mut related = evidence.ancestors.iter().filter(|ancestor| ancestor.uid == evidence.uid);
    match related.find(|ancestor| ancestor.kernel.is_some()) {
        Some(ancestor) => {
            let session = session.or_else(|| session_of(ancestor));
            let path = path(session, ancestor.folder.as_deref());
            Some(told(ancestor.kernel.clone(), path, Source::Ancestors))
        }
        None => session.map(|session| {
            let source = session.source;
            told(None, Some(session), source)
        }),
    }
}

fn session_of(ancestor: &Ancestor) -> Option<Told<Arc<str>>> {
    let value = Arc::clone(ancestor.environ.get(Name::JupyterSession)?);
    Some(Told { value, source: Source::AncestorEnvironment })
}

fn told(kernel: Option<Kernel>, path: Option<Told<Arc<str>>>, known_by: Source) -> Told<Notebook> {
    let source = path.as_ref().map_or(known_by, |path| path.source);
    let client = kernel.as_ref().map_or(Client::Jupyter, |kernel| kernel.client);
    let (kernel, path) = (kernel.map(|kernel| kernel.id), path.map(|path| path.value));
    Told { value: Notebook { kernel, path, client }, source }
}

/// Returns the path of the notebook. Older servers set its name without the folder, and VS Code sets
/// nothing: then the kernel's working folder is used. A folder alone ends with a slash.
fn path(session: Option<Told<Arc<str>>>, folder: Option<&str>) -> Option<Told<Arc<str>>> {
    let at = |path: String| Some(Told { value: kept(&path)?, source: Source::WorkingFolder });
    match (session, folder) {
        (Some(session), _) if session.value.starts_with('/') => Some(session),
        (Some(session), Some(folder)) => {
            let name = session.value.rsplit('/').next().unwrap_or_default();
            at(format!("{}/{name}", folder.trim_end_matches('/')))
        }
        (Some(session), None) => Some(session),
        (None, Some(folder)) => at(format!("{}/", folder.trim_end_matches('/'))),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0b6b5c1e-3a43-4f0c-9a55-6d1f5a2f7c11";

    fn found(words: &[&str]) -> Option<(String, Client)> {
        let kernel = kernel(&words.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        Some((kernel.id.to_string(), kernel.client))
    }

    #[test]
    fn each_client_has_its_way_of_naming_the_file() {
        let file = format!("/run/user/1001/jupyter/kernel-{ID}.json");
        let jupyter = Some((ID.to_owned(), Client::Jupyter));
        assert_eq!(found(&["python", "-m", "ipykernel_launcher", "-f", &file]), jupyter);
        assert_eq!(found(&["R", "--slave", "-e", "IRkernel::main()", "--args", &file]), jupyter);
        let option = format!("--IPKernelApp.connection_file={file}");
        assert_eq!(found(&["python", "-m", "ipykernel", &option]), jupyter);
        let code = ["python", "-m", "ipykernel_launcher", "--f=/x/kernel-v3abc.json"];
        assert_eq!(found(&code), Some(("v3abc".to_owned(), Client::VsCode)));
    }

    #[test]
    fn other_files_are_no_kernels() {
        assert_eq!(found(&["python", "train.py", "--config", "kernel-a.json"]), None);
        assert_eq!(found(&["python", "-f", "kernel-\x1b[2J.json"]), None);
        assert_eq!(found(&["python", "-f", "kernel-.json"]), None);
        assert_eq!(found(&[]), None);
    }

    fn found_at(session: Option<&str>, folder: Option<&str>) -> Option<(String, Source)> {
        let session =
            session.map(|session| Told { value: Arc::from(session), source: Source::Environment });
        path(session, folder).map(|told| (told.value.to_string(), told.source))
    }

    #[test]
    fn the_folder_helps_where_the_name_is_bare() {
        let some = |path: &str, source| Some((path.to_owned(), source));
        let whole = found_at(Some("/home/ann/a.ipynb"), Some("/x"));
        assert_eq!(whole, some("/home/ann/a.ipynb", Source::Environment));
        let bare = found_at(Some("a.ipynb"), Some("/home/ann/work"));
        assert_eq!(bare, some("/home/ann/work/a.ipynb", Source::WorkingFolder));
        let relative = found_at(Some("work/a.ipynb"), Some("/home/ann/work/"));
        assert_eq!(relative, some("/home/ann/work/a.ipynb", Source::WorkingFolder));
        assert_eq!(found_at(Some("a.ipynb"), None), some("a.ipynb", Source::Environment));
        assert_eq!(found_at(None, Some("/home/ann")), some("/home/ann/", Source::WorkingFolder));
        assert_eq!(found_at(None, None), None);
    }
}
