//! The tracking file: what does not change, then one row a sample. CSV or SQLite.
//!
//! Each row is handed to the kernel before the next sample, so a kill loses nothing.

mod columns;
mod csv;
mod facts;
mod reader;
mod recording;
mod sqlite;
mod writer;

pub use columns::MEASURES;
pub use facts::{CountedCards, Facts, Static};
pub use reader::{Timepoint, Tracked, read};
pub use recording::{Plan, Recording};
pub use writer::{Existing, Writer, check};

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::time::{Duration, UNIX_EPOCH};

    use probe::units::{Bytes, Percent};
    use probe::{Reading, Why};

    use super::*;
    use crate::gpu_tracker::Units;
    use crate::gpu_tracker::file::FileError;
    use crate::parts::Parts;
    use crate::sample::{GpuSample, Ram, Sample};

    const FACTS: Facts = Facts {
        ram_capacity: Reading::Known(Bytes(64_000_000_000)),
        gpu_ram_capacity: Reading::Known(Bytes(80_000_000_000)),
        cores: 8,
        expected_cores: 2,
        cards: Reading::Known(2),
        expected_cards: Reading::Known(1),
    };

    fn parts<T>(main: T, descendants: T, combined: T) -> Parts<T> {
        Parts { main, descendants, combined }
    }

    fn sample(gpu: Reading<GpuSample>) -> Sample {
        let ram = |total| Ram { total: Bytes(total), ..Ram::default() };
        Sample {
            at: UNIX_EPOCH + Duration::from_millis(1_700_000_000_250),
            since_begin: Duration::from_secs(1),
            ram: parts(ram(1_500_000_000), ram(0), ram(1_500_000_000)),
            system_ram: Reading::Known(Bytes(9_000_000_000)),
            cpu: parts(Percent(50.0), Percent(150.0), Percent(200.0)),
            system_cpu: Reading::Known(Percent(400.0)),
            threads: parts(3, 4, 7),
            processes: 2,
            gpu,
        }
    }

    fn gpu() -> GpuSample {
        GpuSample {
            memory: parts(
                Reading::Known(Bytes(2_000_000_000)),
                Reading::Known(Bytes(0)),
                Reading::Unknown(Why::NotTold),
            ),
            system_memory: Reading::Known(Bytes(3_000_000_000)),
            utilization: Reading::Known(Percent(30.0)),
            tree_utilization: Reading::Unknown(Why::NotSupported),
        }
    }

    fn write(path: &Path, facts: &Facts) -> Result<(), FileError> {
        let mut writer = Writer::create(path, Existing::Refuse, Units::default(), facts)?;
        writer.write(&sample(Reading::Unknown(Why::FirstLook)))?;
        writer.write(&sample(Reading::Known(gpu())))
    }

    fn written(name: &str, facts: &Facts) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        write(&path, facts).unwrap();
        (folder, path)
    }

    #[test]
    fn a_csv_file_has_two_tables() {
        let (_folder, path) = written("a.csv", &FACTS);
        let text = fs::read_to_string(path).unwrap();
        assert_eq!(text.matches("\r\n").count(), text.matches('\n').count());
        insta::assert_snapshot!(text.replace("\r\n", "\n"));
    }

    #[test]
    fn both_formats_read_back_as_the_same() {
        let (_one, csv) = written("a.csv", &FACTS);
        let (_two, sqlite) = written("a.sqlite", &FACTS);
        let tracked = read(&csv).unwrap();
        assert_eq!(tracked, read(&sqlite).unwrap());
        assert_eq!(tracked.timepoints.len(), 2);
        assert_eq!(tracked.timepoints[0].at, 1_700_000_000.25);
        // What was not known is left out, and what is known to be 0 is 0.
        assert_eq!(tracked.timepoints[0].values[4..8], [None; 4]);
        assert_eq!(tracked.timepoints[1].values[4..7], [Some(2.0), Some(0.0), None]);
        assert_eq!(tracked.facts.ram_capacity, Some(64.0));
    }

    #[test]
    fn on_a_machine_without_cards_they_hold_nothing() {
        let unknown = Reading::Unknown(Why::NotAsked);
        let no = Reading::Known(0);
        let none = Facts { gpu_ram_capacity: unknown, cards: no, expected_cards: no, ..FACTS };
        let (_folder, path) = written("a.csv", &none);
        let tracked = read(&path).unwrap();
        assert_eq!(tracked.facts.gpu_ram_capacity, Some(0.0));
        assert_eq!(tracked.timepoints[0].values[4..10], [Some(0.0); 6]);
    }

    #[test]
    fn cards_that_nobody_could_count_are_not_none() {
        let late = Reading::Unknown(Why::TimedOut);
        let unknown = Facts {
            gpu_ram_capacity: Reading::Unknown(Why::TimedOut),
            cards: late,
            expected_cards: late,
            ..FACTS
        };
        for name in ["a.csv", "a.sqlite"] {
            let (_folder, path) = written(name, &unknown);
            let Tracked { facts, timepoints } = read(&path).unwrap();
            let counts = (facts.gpu_ram_capacity, facts.cards, facts.expected_cards);
            assert_eq!(counts, (None, None, None));
            assert_eq!(timepoints[0].values[4..10], [None; 6]);
            assert_eq!(timepoints[1].values[8..10], [Some(30.0), None], "a share of what?");
        }
    }

    #[test]
    fn rows_are_there_while_the_writer_is() {
        for name in ["a.csv", "a.sqlite"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            let mut writer = Writer::create(&path, Existing::Refuse, Units::PLAIN, &FACTS).unwrap();
            for rows in 1..4 {
                writer.write(&sample(Reading::Known(gpu()))).unwrap();
                assert_eq!(read(&path).unwrap().timepoints.len(), rows);
            }
        }
    }

    #[test]
    fn an_existing_file_is_replaced_only_when_asked() {
        for name in ["a.csv", "a.sqlite"] {
            let (_folder, path) = written(name, &FACTS);
            let before = fs::read(&path).unwrap();
            let refused = write(&path, &FACTS).unwrap_err().to_string();
            assert_eq!(
                refused,
                format!(
                    "File {} already exists. Set overwrite to True to overwrite the existing file.",
                    path.display()
                )
            );
            assert_eq!(fs::read(&path).unwrap(), before);
            Writer::create(&path, Existing::Replace, Units::default(), &FACTS).unwrap();
            assert_eq!(read(&path).unwrap().timepoints, []);
        }
    }

    #[test]
    fn other_files_are_refused_with_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        fs::write(&path, "process_id,position\r\n1,0\r\n").unwrap();
        let refused = read(&path).unwrap_err().to_string();
        assert!(refused.contains("has no column `ram_unit`"), "{refused}");
        let refused = write(&folder.path().join("a.txt"), &FACTS).unwrap_err().to_string();
        assert!(refused.ends_with("End it in .csv or .sqlite"), "{refused}");
        let (_other, sqlite) = written("b.sqlite", &FACTS);
        fs::copy(&sqlite, &path).unwrap();
        assert!(read(&path).is_err());
    }

    /// A writer that was killed in the middle of a row.
    #[test]
    fn a_part_of_a_row_is_no_row() {
        let (_folder, path) = written("a.csv", &FACTS);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}1.5,0.0,1.5,9")).unwrap();
        assert_eq!(read(&path).unwrap().timepoints.len(), 2);
    }

    #[test]
    fn a_part_of_a_row_in_the_middle_is_no_file() {
        let (_folder, path) = written("a.csv", &FACTS);
        let text = fs::read_to_string(&path).unwrap();
        let last = text.lines().last().unwrap().to_owned();
        fs::write(&path, format!("{text}1.5,0.0\r\n{last}\r\n")).unwrap();
        let refused = read(&path).unwrap_err().to_string();
        assert!(refused.starts_with("row 3 of `"), "{refused}");
        assert!(refused.ends_with("has fewer than its 22 cells"), "{refused}");
    }
}
