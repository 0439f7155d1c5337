//! The accounts that the C library knows: those of this machine's files and of its directory
//! services. One that cannot be reached is told apart from one that does not know an account.

use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use crate::reading::Why;

/// What most accounts need, and what none does.
const USUAL_ROOM: usize = 2048;
const MOST_ROOM: usize = 1 << 20;

/// An account, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub name: Arc<str>,
    pub primary_group: u32,
}

/// The account of a uid; `None` where it has none. Of several services the C library tells what
/// the last one said: one that is down before another that answers cannot be noticed.
///
/// # Errors
/// When the service does not answer.
pub fn by_uid(uid: u32) -> Result<Option<Account>, Why> {
    ask(|account, room, found| {
        // SAFETY: `ask` hands over places that are valid for as long as the call takes.
        unsafe { libc::getpwuid_r(uid, account, room.as_mut_ptr(), room.len(), found) }
    })
}

/// The account of this name; `None` where there is none.
///
/// # Errors
/// When the service does not answer.
pub fn by_name(name: &str) -> Result<Option<Account>, Why> {
    // No account's name has a NUL in it.
    let Ok(name) = CString::new(name) else { return Ok(None) };
    ask(|account, room, found| {
        // SAFETY: as above; the name ends with a NUL and outlives the call.
        unsafe { libc::getpwnam_r(name.as_ptr(), account, room.as_mut_ptr(), room.len(), found) }
    })
}

/// Asks with more and more room, until the answer has enough.
fn ask(
    call: impl Fn(*mut libc::passwd, &mut [c_char], *mut *mut libc::passwd) -> c_int,
) -> Result<Option<Account>, Why> {
    let mut room: Vec<c_char> = vec![0; USUAL_ROOM];
    loop {
        let mut account = MaybeUninit::<libc::passwd>::uninit();
        let mut found = ptr::null_mut();
        let code = call(account.as_mut_ptr(), &mut room, &raw mut found);
        if code == libc::ERANGE && room.len() < MOST_ROOM {
            room.resize(room.len().saturating_mul(2), 0);
            continue;
        }
        if !is_found(code, !found.is_null(), has_files)? {
            return Ok(None);
        }
        // SAFETY: what was found is the account, whole, and its name is a text in `room`.
        let (name, primary_group) = unsafe {
            let account = account.assume_init();
            (CStr::from_ptr(account.pw_name).to_string_lossy(), account.pw_gid)
        };
        return Ok(Some(Account { name: Arc::from(name), primary_group }));
    }
}

/// Where accounts are that no service keeps. A small container may have none.
fn has_files() -> bool {
    Path::new("/etc/passwd").exists()
}

/// Whether there is such an account. Some say in other ways than POSIX that there is none; any
/// other error is no answer: who could not be asked may know it.
fn is_found(code: c_int, has_result: bool, has_files: fn() -> bool) -> Result<bool, Why> {
    match code {
        0 => Ok(has_result),
        libc::ESRCH => Ok(false),
        // No file with accounts, or no socket of a service that keeps them.
        libc::ENOENT if !has_files() => Ok(false),
        _ => Err(Why::TimedOut),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_the_same_by_uid_and_by_name() {
        let root = by_uid(0).unwrap().unwrap();
        assert_eq!((&*root.name, root.primary_group), ("root", 0));
        assert_eq!(by_name("root"), Ok(Some(root)));
        assert_eq!(by_name("no\0body"), Ok(None));
    }

    /// Trap: a directory service that was down made everybody nameless.
    #[test]
    fn nothing_found_is_an_answer_only_without_an_error() {
        let [with, without]: [fn() -> bool; 2] = [|| true, || false];
        assert_eq!(is_found(0, false, with), Ok(false));
        assert_eq!(is_found(0, true, with), Ok(true));
        assert_eq!(is_found(libc::ESRCH, false, with), Ok(false));
        for code in [libc::ECONNREFUSED, libc::ENOENT, libc::EIO, libc::EAGAIN, libc::ERANGE] {
            assert_eq!(is_found(code, false, with), Err(Why::TimedOut), "{code}");
        }
        assert_eq!(is_found(libc::ENOENT, false, without), Ok(false), "a container without files");
        let refused = |_: *mut libc::passwd, _: &mut [c_char], _: *mut *mut libc::passwd| libc::EIO;
        assert_eq!(ask(refused), Err(Why::TimedOut));
    }
}
