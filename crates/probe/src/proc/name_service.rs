//! Accounts and groups from the C library: those in this machine's files and in its directory services.
//! A service that does not answer is distinguished from one that does not have an account.

use std::ffi::{CStr, CString, c_char, c_int};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;

use crate::reading::Why;

/// Size of the buffer for an account: enough for most, and more than any needs.
const USUAL_ROOM: usize = 2048;
const MOST_ROOM: usize = 1 << 20;

/// Number of groups of an account: more than most have, and the most that the kernel allows.
const USUAL_GROUPS: usize = 64;
const MOST_GROUPS: usize = 1 << 16;

/// Account of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub name: Arc<str>,
    pub primary_group: u32,
}

/// Returns the account of a uid; `None` if it has none. The C library returns the result of the last of
/// several services, so one that is down before another that answers is not noticed.
///
/// # Errors
/// If the service does not answer.
pub fn by_uid(uid: u32) -> Result<Option<Account>, Why> {
    ask(account, |record, room, found| {
        // SAFETY: `ask` passes pointers that are valid during the call.
        unsafe { libc::getpwuid_r(uid, record, room.as_mut_ptr(), room.len(), found) }
    })
}

/// Returns the account with this name; `None` if there is none.
///
/// # Errors
/// If the service does not answer.
pub fn by_name(name: &str) -> Result<Option<Account>, Why> {
    // No account's name has a NUL in it.
    let Ok(name) = CString::new(name) else { return Ok(None) };
    ask(account, |record, room, found| {
        // SAFETY: as above; the name ends with a NUL and outlives the call.
        unsafe { libc::getpwnam_r(name.as_ptr(), record, room.as_mut_ptr(), room.len(), found) }
    })
}

/// Returns the names of an account's groups, without groups that have no name. A service that is down
/// while the C library collects the ids of the groups is not noticed, only while it is asked for names.
///
/// # Errors
/// If a service does not answer: groups may be missing.
pub fn groups_of(name: &str, primary_group: u32) -> Result<Vec<Arc<str>>, Why> {
    let Ok(name) = CString::new(name) else { return Ok(Vec::new()) };
    let named = group_ids(&name, primary_group)?.into_iter().map(group_by_id);
    named.filter_map(Result::transpose).collect()
}

fn group_ids(name: &CStr, primary_group: u32) -> Result<Vec<u32>, Why> {
    let mut groups = vec![0; USUAL_GROUPS];
    loop {
        let mut count = c_int::try_from(groups.len()).map_err(|_| Why::NotTold)?;
        // SAFETY: the name ends with a NUL, and there is room for as many groups as `count` says.
        let code = unsafe {
            libc::getgrouplist(name.as_ptr(), primary_group, groups.as_mut_ptr(), &raw mut count)
        };
        if code >= 0 {
            groups.truncate(usize::try_from(count).unwrap_or(0));
            return Ok(groups);
        }
        if groups.len() >= MOST_GROUPS {
            return Err(Why::NotTold);
        }
        groups.resize(groups.len().saturating_mul(2), 0);
    }
}

fn group_by_id(gid: u32) -> Result<Option<Arc<str>>, Why> {
    // SAFETY: the name of a group that was found is a text.
    let name = |group: &libc::group| unsafe { text(group.gr_name) };
    ask(name, |record, room, found| {
        // SAFETY: `ask` passes pointers that are valid during the call.
        unsafe { libc::getgrgid_r(gid, record, room.as_mut_ptr(), room.len(), found) }
    })
}

fn account(found: &libc::passwd) -> Account {
    // SAFETY: the name of an account that was found is a text.
    Account { name: unsafe { text(found.pw_name) }, primary_group: found.pw_gid }
}

/// # Safety
/// `name` must point to a string that ends with a NUL.
unsafe fn text(name: *const c_char) -> Arc<str> {
    // SAFETY: as promised.
    Arc::from(unsafe { CStr::from_ptr(name) }.to_string_lossy())
}

/// Calls with a larger and larger buffer until the answer fits, and converts it with `take`.
fn ask<T, A>(
    take: impl Fn(&T) -> A,
    call: impl Fn(*mut T, &mut [c_char], *mut *mut T) -> c_int,
) -> Result<Option<A>, Why> {
    let mut room: Vec<c_char> = vec![0; USUAL_ROOM];
    loop {
        let mut record = MaybeUninit::<T>::uninit();
        let mut found = ptr::null_mut();
        let code = call(record.as_mut_ptr(), &mut room, &raw mut found);
        if code == libc::ERANGE && room.len() < MOST_ROOM {
            room.resize(room.len().saturating_mul(2), 0);
            continue;
        }
        // SAFETY: `found` is null or points to `record`, with its strings in `room`; both still exist.
        let found = unsafe { found.as_ref() };
        return answered(code).map(|()| found.map(&take));
    }
}

/// Returns an error if the code of a call is not an answer. Some services return ENOENT or ESRCH if
/// there is no such account, and so does a machine without the configured files or services.
const fn answered(code: c_int) -> Result<(), Why> {
    match code {
        0 | libc::ENOENT | libc::ESRCH => Ok(()),
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
        assert_eq!(by_uid(u32::MAX - 7), Ok(None), "nobody has that one");
    }

    #[test]
    fn an_account_is_in_its_own_group_at_least() {
        assert!(groups_of("root", 0).unwrap().contains(&Arc::from("root")));
        let alone = groups_of("no such user", 0).unwrap();
        assert_eq!(alone, [Arc::from("root")], "only in the one that was named");
        assert_eq!(groups_of("no such user", u32::MAX - 7), Ok(Vec::new()), "it has no name");
        assert_eq!(groups_of("no\0body", 0), Ok(Vec::new()));
    }

    /// Trap: a directory service that was down made everybody nameless, and members of no group.
    #[test]
    fn nothing_found_is_an_answer_only_without_a_failure() {
        for code in [0, libc::ENOENT, libc::ESRCH] {
            assert_eq!(answered(code), Ok(()), "{code}");
        }
        for code in [libc::ECONNREFUSED, libc::EIO, libc::EAGAIN, libc::ERANGE] {
            assert_eq!(answered(code), Err(Why::TimedOut), "{code}");
        }
        let refused = |_: *mut libc::group, _: &mut [c_char], _: *mut *mut libc::group| libc::EIO;
        assert_eq!(ask(|_| (), refused), Err(Why::TimedOut));
    }

    #[test]
    fn more_room_is_given_until_it_is_enough() {
        let call = |_: *mut libc::group, room: &mut [c_char], _: *mut *mut libc::group| {
            if room.len() < 10_000 { libc::ERANGE } else { 0 }
        };
        assert_eq!(ask(|_| (), call), Ok(None));
        let never = |_: *mut libc::group, _: &mut [c_char], _: *mut *mut libc::group| libc::ERANGE;
        assert_eq!(ask(|_| (), never), Err(Why::TimedOut));
    }
}
