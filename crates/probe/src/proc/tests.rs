//! The parsers with input that no kernel writes: they may reject it, but never panic.

use proptest::prelude::*;

use super::{accounts, cmdline, meminfo, stat, status};

/// Pieces of the real formats in an order of their own, and plain garbage.
fn almost() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&[u8]> = vec![
        b"4242 (",
        b") S ",
        b"(",
        b")",
        b" ",
        b"\n",
        b"\0",
        b"Uid:\t",
        b"1000\t",
        b"-1 ",
        b"18446744073709551616 ",
        b"btime ",
        b"MemTotal:",
        b"MemAvailable: ",
        b" kB\n",
        b":",
        b"x:",
        b"\xff\xfe",
        b"\x1b[2J",
        b"\xe2\x98\x83",
    ];
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        prop::collection::vec(prop::sample::select(pieces), 0..80).prop_map(|p| p.concat()),
    ]
}

proptest! {
    #[test]
    fn no_parser_panics(bytes in almost()) {
        let text = String::from_utf8_lossy(&bytes);
        let _ = stat::parse(&bytes);
        let _ = stat::boot_seconds(&text);
        let _ = stat::ProcessUsage::parse(&bytes);
        let _ = status::uid(&text);
        let _ = meminfo::parse(&text);
        let _ = accounts::account_names(&text);
        let args = cmdline::parse(&bytes);
        prop_assert!(args.len() <= bytes.len() + 1);
        let _ = cmdline::program(&text, &bytes);
    }

    /// Whatever a process calls itself, its parent and start time are read right.
    #[test]
    fn any_name_leaves_the_fields_in_place(
        name in "\\PC{0,15}", parent in 1_u32..4_000_000, start in any::<u64>(),
    ) {
        let line = format!(
            "77 ({name}) R {parent} 77 77 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 {start} 0 0 \
             18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        );
        let stat = stat::parse(line.as_bytes()).unwrap();
        prop_assert_eq!((stat.parent, stat.start_ticks), (parent, start));
        prop_assert_eq!(stat.comm, name);
    }
}
