//! The code of this program, given back to the kernel where it was needed only once.
//!
//! What a program runs through to start stays resident, though nobody calls it again. The pages
//! are as they are in the file, so they can go: who does need one finds it in the kernel's cache.

use std::fs;
use std::io;
use std::ops::Range;

use rustix::mm::{Advice, madvise};

/// Pages that are no longer as in their file. What the loader wrote may be swapped out already.
const CHANGED: [&str; 2] = ["Anonymous:", "Swap:"];

/// Gives back all of it; what is called next comes back by itself, and only that.
///
/// # Errors
/// When the kernel does not tell what there is, or does not take it.
pub fn give_back() -> io::Result<()> {
    let mappings = fs::read_to_string("/proc/self/smaps")?;
    let here = give_back as fn() -> io::Result<()> as usize;
    for range in unchanged(&mappings, here) {
        // SAFETY: the pages belong to the file that this very code is in, which stays mapped as
        // long as the code runs. They are read-only and equal to the file, from which the kernel
        // maps them anew.
        unsafe { madvise(range.start as *mut _, range.len(), Advice::LinuxDontNeed) }?;
    }
    Ok(())
}

/// Gives back what is run only, and not what is read. That is found by a list that is short in any
/// program: what was changed in memory is only told by a walk through all of its pages, which takes
/// long where somebody else's program has many.
///
/// # Errors
/// When the kernel does not tell what there is, or does not take it.
pub fn give_back_what_is_run() -> io::Result<()> {
    let mappings = fs::read_to_string("/proc/self/maps")?;
    let here = give_back_what_is_run as fn() -> io::Result<()> as usize;
    let Some(range) = run(&mappings, here) else { return Ok(()) };
    // SAFETY: the pages belong to the file that this very code is in, which stays mapped as long as
    // the code runs. Nothing writes to code that is loaded, so they are equal to the file, from
    // which the kernel maps them anew.
    unsafe { madvise(range.start as *mut _, range.len(), Advice::LinuxDontNeed) }?;
    Ok(())
}

/// The code around this address, if it is from a file.
fn run(mappings: &str, address: usize) -> Option<Range<usize>> {
    let here = parsed(mappings).into_iter().find(|mapping| mapping.range.contains(&address))?;
    (here.permissions == "r-xp" && !here.file.is_empty()).then_some(here.range)
}

/// One range of addresses, as the kernel describes it.
#[derive(Debug)]
struct Mapping<'a> {
    range: Range<usize>,
    permissions: &'a str,
    /// The file in it, empty where there is none.
    file: &'a str,
    /// How many sorts of changed pages it was said to have none of: here, and swapped out.
    without: usize,
}

/// What is unchanged of the file that this address is from: its code, and what it reads only.
fn unchanged(mappings: &str, address: usize) -> Vec<Range<usize>> {
    let mappings = parsed(mappings);
    let of_address = mappings.iter().find(|mapping| mapping.range.contains(&address));
    let Some(file) = of_address.map(|mapping| mapping.file).filter(|file| !file.is_empty()) else {
        return Vec::new();
    };
    let is_read_only = |mapping: &&Mapping<'_>| matches!(mapping.permissions, "r-xp" | "r--p");
    mappings
        .iter()
        .filter(|mapping| mapping.file == file && mapping.without == CHANGED.len())
        .filter(is_read_only)
        .map(|mapping| mapping.range.clone())
        .collect()
}

/// A mapping begins with a line of its own; what is told of it follows. One that does not say
/// that nothing of it was changed is taken as changed.
fn parsed(mappings: &str) -> Vec<Mapping<'_>> {
    let mut all: Vec<Mapping<'_>> = Vec::new();
    for line in mappings.lines() {
        if let Some(begun) = begun(line) {
            all.push(begun);
        } else if let (true, Some(mapping)) = (is_without(line), all.last_mut()) {
            mapping.without += 1;
        }
    }
    all
}

/// Whether it says that there are no changed pages of one sort.
fn is_without(line: &str) -> bool {
    CHANGED.iter().any(|sort| line.strip_prefix(sort).is_some_and(|size| size.trim() == "0 kB"))
}

fn begun(line: &str) -> Option<Mapping<'_>> {
    // Addresses, permissions, offset, device, inode; the rest is the name, which may have blanks.
    let (addresses, rest) = line.split_once(' ')?;
    let (from, to) = addresses.split_once('-')?;
    let address = |hex| usize::from_str_radix(hex, 16).ok();
    let (permissions, rest) = rest.split_once(' ')?;
    let file = rest.splitn(4, ' ').nth(3).unwrap_or_default().trim_start();
    Some(Mapping { range: address(from)?..address(to)?, permissions, file, without: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPPINGS: &str = "\
1000-3000 r--p 00000000 fc:00 77                         /opt/a tool/gua
Rss:                   8 kB
Anonymous:             0 kB
Swap:                  0 kB
SwapPss:               0 kB
3000-9000 r-xp 00002000 fc:00 77                         /opt/a tool/gua
Anonymous:             0 kB
Swap:                  0 kB
9000-a000 r--p 00008000 fc:00 77                         /opt/a tool/gua
Anonymous:             4 kB
Swap:                  0 kB
a000-b000 rw-p 00009000 fc:00 77                         /opt/a tool/gua
Anonymous:             0 kB
Swap:                  0 kB
b000-c000 r-xp 00000000 fc:00 78                         /usr/lib/libc.so.6
Anonymous:             0 kB
Swap:                  0 kB
c000-d000 r-xp 00000000 00:00 0 
Anonymous:             0 kB
Swap:                  0 kB
d000-e000 r--p 0000a000 fc:00 77                         /opt/a tool/gua
Anonymous:             0 kB
Swap:                  4 kB
SwapPss:               0 kB
e000-f000 r-xp 0000a000 fc:00 77                         /opt/a tool/gua
";

    #[test]
    fn only_what_is_read_only_and_as_in_the_own_file_is_given_back() {
        assert_eq!(unchanged(MAPPINGS, 0x4321), [0x1000..0x3000, 0x3000..0x9000]);
        assert_eq!(unchanged(MAPPINGS, 0xb010).first(), Some(&(0xb000..0xc000)));
        assert_eq!(unchanged(MAPPINGS, 0xc010), [], "no file");
        assert_eq!(unchanged(MAPPINGS, 0xffff), [], "nothing there");
        assert_eq!(unchanged("", 0x4321), []);
    }

    #[test]
    fn of_what_is_run_only_that_of_the_own_file_is_given_back() {
        assert_eq!(run(MAPPINGS, 0x4321), Some(0x3000..0x9000));
        assert_eq!(run(MAPPINGS, 0x1234), None, "it is read only");
        assert_eq!(run(MAPPINGS, 0xc010), None, "no file");
        assert_eq!(run("", 0x4321), None);
    }

    #[test]
    fn code_that_was_given_back_runs_on() {
        let before = resident_kib();
        give_back_what_is_run().unwrap();
        let after = resident_kib();
        assert!(0 < after && after < before, "{after} KiB of {before} KiB");
    }

    #[test]
    fn what_was_given_back_is_gone_until_it_is_called_again() {
        let before = resident_kib();
        give_back().unwrap();
        let after = resident_kib();
        assert!(0 < after && after < before, "{after} KiB of {before} KiB");
    }

    /// How much of what can be given back is there.
    fn resident_kib() -> u64 {
        let mappings = fs::read_to_string("/proc/self/smaps").unwrap();
        let ranges = unchanged(&mappings, give_back as fn() -> io::Result<()> as usize);
        let mut is_ours = false;
        let mut kib = 0;
        for line in mappings.lines() {
            is_ours = begun(line).map_or(is_ours, |mapping| ranges.contains(&mapping.range));
            let told = line.strip_prefix("Rss:").filter(|_| is_ours);
            kib += told.map_or(0, |told| told.trim_end_matches(" kB").trim().parse().unwrap());
        }
        kib
    }
}
