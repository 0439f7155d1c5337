//! Sub-tracking: which code ran when, and what was used meanwhile.
//!
//! A program marks where blocks of its code begin and end in a file of its own. Held against
//! the tracking file of the same time, that tells what each block used.

mod analysis;
mod calls;
mod combine;
mod comparison;
mod marks;
mod parsed;
mod summary;
mod table;
mod text;

pub use analysis::{Analysis, Block, analyze};
pub use calls::{Call, NoBegin, calls};
pub use combine::{CombineError, combine, files_of};
pub use comparison::{
    Compared, Comparison, Mismatch, NoSuchStatistic, Session, Statistic, compare,
};
pub use marks::{Mark, MarkWriter, Position, read};
pub use parsed::{ParseError, parse};
pub use summary::Summary;

/// Held against what gpu_tracker 5.0.1 wrote and printed: `captured/`.
#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::gpu_tracker::json::json;
    use crate::gpu_tracker::tracking_file;

    fn captured(name: &str) -> PathBuf {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        folder.join("src/gpu_tracker/sub_tracking/captured").join(name)
    }

    fn text(name: &str) -> String {
        fs::read_to_string(captured(name)).unwrap()
    }

    fn analysis() -> Analysis {
        let tracked = tracking_file::read(&captured("tracking.csv")).unwrap();
        analyze(&tracked, &read(&captured("sub_tracking.csv")).unwrap()).unwrap()
    }

    #[test]
    fn a_file_can_be_gone_on_with() {
        let folder = tempfile::tempdir().unwrap();
        let mark = |at| Mark { process: 7, block: "a".into(), position: Position::Begin, at };
        for name in ["a.csv", "a.sqlite"] {
            let path = folder.path().join(name);
            for at in [1.0, 2.0] {
                MarkWriter::append(&path).unwrap().write(&[mark(at)]).unwrap();
            }
            assert_eq!(read(&path).unwrap(), [mark(1.0), mark(2.0)]);
        }
        let other = folder.path().join("other.csv");
        fs::write(&other, "a,b\n1,2\n").unwrap();
        let refused = MarkWriter::append(&other).unwrap_err().to_string();
        assert!(refused.contains("has no column `process_id`"), "{refused}");
    }

    #[test]
    fn an_analysis_reads_as_gpu_trackers() {
        assert_eq!(analysis().text(), text("analysis.txt"));
    }

    /// Sums of floats depend on their order, so the last digits may differ.
    #[test]
    fn an_analysis_is_gpu_trackers_in_json() {
        let (ours, theirs) = (json(&analysis().tree()), text("analysis.json"));
        assert_eq!(ours.lines().count(), theirs.lines().count());
        for (ours, theirs) in ours.lines().zip(theirs.lines()) {
            assert!(is_the_same(ours, theirs), "{ours} | {theirs}");
        }
    }

    fn is_the_same(ours: &str, theirs: &str) -> bool {
        let number = |line: &str| {
            let (key, value) = line.split_once(": ")?;
            Some((key.to_owned(), value.trim_end_matches(',').parse::<f64>().ok()?))
        };
        match (number(ours), number(theirs)) {
            (Some((our_key, a)), Some((their_key, b))) => {
                our_key == their_key && (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
            }
            _ => ours == theirs,
        }
    }

    #[test]
    fn an_analysis_is_read_back_from_its_json() {
        let analysis = analysis();
        assert_eq!(parse(&json(&analysis.tree())).unwrap(), analysis);
    }

    #[test]
    fn a_comparison_reads_as_gpu_trackers() {
        let whole = Session { name: "whole".to_owned(), analysis: analysis() };
        let mut tracked = tracking_file::read(&captured("tracking.csv")).unwrap();
        tracked.timepoints.truncate(6);
        let marks = read(&captured("sub_tracking.csv")).unwrap();
        let part = analyze(&tracked, &marks).unwrap();
        let part = Session { name: "first-part".to_owned(), analysis: part };
        let comparison = compare(&[whole, part], Statistic::Max).unwrap();
        assert_eq!(comparison.text(), text("comparison.txt"));
        assert_eq!(json(&comparison.tree()), text("comparison.json"));
    }

    #[test]
    fn blocks_at_other_lines_are_compared_and_told() {
        let session = |name: &str, lines: [&str; 2]| {
            let mut analysis = analysis();
            for (block, line) in analysis.blocks.iter_mut().zip(lines) {
                block.name = line.to_owned();
            }
            Session { name: name.to_owned(), analysis }
        };
        // By number: 9 comes before 10.
        let (old, new) = (["a.py:10", "a.py:9"], ["a.py:12", "a.py:11"]);
        let comparison =
            compare(&[session("old", old), session("new", new)], Statistic::Mean).unwrap();
        let names: Vec<&str> = comparison.blocks.iter().map(|block| block.name.as_str()).collect();
        assert_eq!(names, ["a.py:11 -> a.py:9", "a.py:10 -> a.py:12"]);
        assert_eq!(comparison.moved.len(), 2);
        let other = session("other", ["a.py:10", "b.py:9"]);
        let refused = compare(&[session("old", old), other], Statistic::Mean).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "code block `a.py:10` of session `old` has no counterpart in `other`, which has \
             `b.py:9` in its place. Only sessions with the same blocks can be compared"
        );
    }

    /// Of nothing there are no statistics, and no zeros are made up for them.
    #[test]
    fn a_block_without_samples_has_no_figures() {
        let mut tracked = tracking_file::read(&captured("tracking.csv")).unwrap();
        tracked.timepoints.clear();
        let marks = read(&captured("sub_tracking.csv")).unwrap();
        let analysis = analyze(&tracked, &marks).unwrap();
        assert_eq!(analysis.overall[0], None);
        assert_eq!(analysis.blocks[0].non_empty_calls, 0);
        assert!(json(&analysis.tree()).contains("\"mean\": null"));
        assert_eq!(parse(&json(&analysis.tree())).unwrap(), analysis);
    }

    #[test]
    fn files_are_made_one() {
        let folder = tempfile::tempdir().unwrap();
        let marks = read(&captured("sub_tracking.csv")).unwrap();
        for format in ["csv", "sqlite"] {
            let path = |name: &str| folder.path().join(name).with_extension(format);
            let files = [path("a"), path("b")];
            MarkWriter::create(&files[0]).unwrap().write(&marks[..3]).unwrap();
            MarkWriter::create(&files[1]).unwrap().write(&marks[3..]).unwrap();
            combine(&files, &path("all")).unwrap();
            assert_eq!(read(&path("all")).unwrap(), marks);
            let refused = combine(&files, &path("all")).unwrap_err().to_string();
            assert!(refused.contains("exists already; nothing was changed"), "{refused}");
        }
        let files = [folder.path().join("a.csv"), folder.path().join("b.sqlite")];
        let refused = combine(&files, &folder.path().join("new.csv")).unwrap_err().to_string();
        assert!(refused.contains("b.sqlite` does not end in .csv"), "{refused}");
    }

    #[test]
    fn a_folder_stands_for_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["2.csv", "1.csv"] {
            fs::write(path(name), "").unwrap();
        }
        assert_eq!(files_of(&[folder.path().to_owned()]).unwrap(), [path("1.csv"), path("2.csv")]);
        assert_eq!(files_of(&[path("x"), path("y")]).unwrap(), [path("x"), path("y")]);
    }
}
