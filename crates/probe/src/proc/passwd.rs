//! `/etc/passwd`: from uid to name.

use std::collections::HashMap;
use std::sync::Arc;

/// The first name of each uid. Lines that make no sense are passed over, as the C
/// library does.
#[must_use]
pub fn parse(text: &str) -> HashMap<u32, Arc<str>> {
    let mut names = HashMap::new();
    for line in text.lines() {
        let mut fields = line.split(':');
        let (Some(name), Some(_), Some(uid)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        if let Ok(uid) = uid.parse::<u32>()
            && !name.is_empty()
            && !name.starts_with('#')
        {
            names.entry(uid).or_insert_with(|| Arc::from(name));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_lines_are_passed_over() {
        let text = "root:x:0:0:root:/root:/bin/bash\n\n#x:y:3:\nalice:x:1000:1000::/home/alice:\n\
                    toor:x:0:0::/root:/bin/sh\n+::::::\nbroken\nbob:x:many:1:\n";
        let names = parse(text);
        assert_eq!(names.get(&0).map(|name| &**name), Some("root"));
        assert_eq!(names.get(&1000).map(|name| &**name), Some("alice"));
        assert_eq!(names.len(), 2);
    }
}
