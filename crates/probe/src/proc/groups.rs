//! Which groups a user belongs to.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::{name_service, why};
use crate::reading::{Reading, Why};

/// The names of a user's groups. On our own host the C library tells, which knows directory
/// services too; elsewhere the host's files do.
#[must_use]
pub fn groups(root: &Path, user: &str) -> Reading<Arc<[Arc<str>]>> {
    if root == Path::new("/") {
        return of_this_host(user);
    }
    let read = |file: &str| fs::read(root.join(file)).map_err(|error| why(&error));
    match (read("etc/passwd"), read("etc/group")) {
        (Ok(passwd), Ok(group)) => Reading::Known(parse(
            &String::from_utf8_lossy(&passwd),
            &String::from_utf8_lossy(&group),
            user,
        )),
        (Err(why), _) | (_, Err(why)) => Reading::Unknown(why),
    }
}

fn of_this_host(user: &str) -> Reading<Arc<[Arc<str>]>> {
    let account = match name_service::by_name(user) {
        Ok(Some(account)) => account,
        Ok(None) => return Reading::Unknown(Why::Gone),
        Err(why) => return Reading::Unknown(why),
    };
    match name_service::groups_of(user, account.primary_group) {
        Ok(groups) => Reading::Known(groups.into()),
        Err(why) => Reading::Unknown(why),
    }
}

/// The groups that list the user, and the one that the account names.
#[must_use]
pub fn parse(passwd: &str, group: &str, user: &str) -> Arc<[Arc<str>]> {
    let account = passwd.lines().find(|line| line.split(':').next() == Some(user));
    let own = account.and_then(|line| line.split(':').nth(3));
    let is_theirs = |line: &&str| {
        let fields: Vec<&str> = line.split(':').collect();
        let lists = fields.get(3).is_some_and(|all| all.split(',').any(|one| one.trim() == user));
        lists || (own.is_some() && fields.get(2).copied() == own)
    };
    let name = |line: &str| Arc::from(line.split(':').next().unwrap_or_default());
    group.lines().filter(is_theirs).map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_in_the_groups_that_list_them_and_in_their_own() {
        let passwd = "root:x:0:0::/root:/bin/sh\nann:x:1001:100::/home/ann:/bin/sh\n";
        let group = "root:x:0:\nusers:x:100:\nlab:x:200:bob,ann\nstaff:x:50:bob\n";
        let found: Vec<String> =
            parse(passwd, group, "ann").iter().map(ToString::to_string).collect();
        assert_eq!(found, ["users", "lab"]);
        assert!(parse(passwd, group, "carol").is_empty());
    }

    #[test]
    fn root_has_a_group_on_this_host() {
        let found = groups(Path::new("/"), "root").known().unwrap();
        assert!(found.iter().any(|group| &**group == "root"));
        assert_eq!(groups(Path::new("/"), "no such user"), Reading::Unknown(Why::Gone));
    }
}
