//! A file that lines are added to, each whole and at once, and that makes room for the next
//! when it is full.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How a file begins and how long it gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    pub begins: Begins,
    pub rotation: Option<Rotation>,
}

/// What is done with a file that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begins {
    /// It is left alone.
    Anew,
    /// Lines are added to it.
    Appended,
    /// It is replaced.
    Replaced,
}

/// When a file is full, and how many full ones are kept beside it: `FILE.1`, the newest, to
/// `FILE.N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    pub bytes: u64,
    pub keep: u32,
}

/// Why a file is not written to. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("`{}` is there already", .0.display())]
    Exists(PathBuf),
    #[error("`{}` holds something else: it begins with `{found}`", path.display())]
    OtherKind { path: PathBuf, found: String },
    #[error("`{}` is no ordinary file, so it cannot make room for another", .0.display())]
    NotOrdinary(PathBuf),
    #[error("`{}` cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

impl Terms {
    /// Whether a file may be written to; the first line of one that is appended to has to fit.
    ///
    /// # Errors
    /// When it may not. Nothing is changed in any case.
    pub fn check(&self, path: &Path, fits: impl Fn(&str) -> bool) -> Result<(), Refused> {
        let full = self.rotation.iter().flat_map(|rotation| 1..=rotation.keep);
        let mut all = std::iter::once(path.to_owned()).chain(full.map(|n| numbered(path, n)));
        let not_ordinary = || Err(Refused::NotOrdinary(path.to_owned()));
        if self.rotation.is_some() && is_passage(path) {
            return not_ordinary();
        }
        if self.begins == Begins::Replaced {
            return Ok(());
        }
        if self.begins == Begins::Anew {
            // What keeps nothing cannot be spoiled.
            let there = all.find(|path| path.symlink_metadata().is_ok() && !is_passage(path));
            return there.map_or(Ok(()), |path| Err(Refused::Exists(path)));
        }
        if self.rotation.is_some() && path.symlink_metadata().is_ok_and(|file| !file.is_file()) {
            return not_ordinary();
        }
        check_first_line(path, fits)
    }
}

fn check_first_line(path: &Path, fits: impl Fn(&str) -> bool) -> Result<(), Refused> {
    /// More of a line than anybody needs to tell it from another.
    const MOST: u64 = 1 << 16;
    let unreadable = |source| Refused::Unreadable { path: path.to_owned(), source };
    // What is no ordinary file keeps nothing that could be compared.
    if !path.metadata().is_ok_and(|file| file.is_file()) {
        return Ok(());
    }
    let mut found = Vec::new();
    let file = BufReader::new(File::open(path).map_err(unreadable)?);
    file.take(MOST).read_until(b'\n', &mut found).map_err(unreadable)?;
    let found = String::from_utf8_lossy(&found);
    let found = found.trim_end_matches(['\n', '\r']);
    if found.is_empty() || fits(found) {
        return Ok(());
    }
    let found = found.chars().take(100).collect();
    Err(Refused::OtherKind { path: path.to_owned(), found })
}

/// The file while it is written.
#[derive(Debug)]
pub struct LineFile {
    path: PathBuf,
    file: File,
    rotation: Option<Rotation>,
    size: u64,
    has_lines: bool,
}

impl LineFile {
    /// Opens it on the terms that were checked.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path, terms: &Terms) -> io::Result<Self> {
        let mut file = match terms.begins {
            Begins::Anew | Begins::Replaced if is_passage(path) => appended(path)?,
            Begins::Anew => File::create_new(path)?,
            Begins::Appended => appended(path)?,
            Begins::Replaced => File::create(path)?,
        };
        let kind = file.metadata()?;
        let size = if kind.is_file() { kind.len() } else { 0 };
        if size > 0 && !ends_with_a_line(path)? {
            // What was cut off stays on a line of its own.
            file.write_all(b"\n")?;
        }
        let path = path.to_owned();
        Ok(Self { path, file, rotation: terms.rotation, size, has_lines: size > 0 })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the head at the beginning, once.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(&mut self, head: &[String]) -> io::Result<()> {
        if self.size > 0 {
            return Ok(());
        }
        head.iter().try_for_each(|line| self.put(line))
    }

    /// Adds a line, after making room for it where it is needed.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(&mut self, head: &[String], line: &str) -> io::Result<()> {
        if self.is_full_for(line) {
            self.rotate()?;
        }
        self.begin(head)?;
        self.has_lines = true;
        self.put(line)
    }

    /// A line that is too long for any file still has one to itself.
    fn is_full_for(&self, line: &str) -> bool {
        let needed = self.size.saturating_add(line.len() as u64 + 1);
        self.has_lines && self.rotation.is_some_and(|rotation| needed > rotation.bytes)
    }

    /// In one piece, past every buffer of ours: who kills us finds whole lines.
    fn put(&mut self, line: &str) -> io::Result<()> {
        let line = format!("{line}\n");
        self.file.write_all(line.as_bytes())?;
        self.size += line.len() as u64;
        Ok(())
    }

    /// Each full file moves up one place, from the oldest on, so that none is overwritten but
    /// the one that is given up.
    fn rotate(&mut self) -> io::Result<()> {
        let keep = self.rotation.map_or(1, |rotation| rotation.keep);
        for n in (1..keep).rev() {
            rename(&numbered(&self.path, n), &numbered(&self.path, n + 1))?;
        }
        rename(&self.path, &numbered(&self.path, 1))?;
        self.file = File::create_new(&self.path)?;
        (self.size, self.has_lines) = (0, false);
        Ok(())
    }
}

/// A device or a pipe, which passes on what is written.
fn is_passage(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| !file.is_file() && !file.is_dir())
}

fn appended(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

fn ends_with_a_line(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// One that is not there needs no moving.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// `FILE.1`, `FILE.2`, …
fn numbered(path: &Path, n: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{n}"));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tempfile::TempDir;

    const APPENDED: Terms = Terms { begins: Begins::Appended, rotation: None };
    const ANEW: Terms = Terms { begins: Begins::Anew, rotation: None };

    fn any(_: &str) -> bool {
        true
    }

    fn is_head(line: &str) -> bool {
        line == "head"
    }

    fn place() -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        (folder, path)
    }

    fn write(path: &Path, terms: &Terms, lines: &[String]) {
        let mut file = LineFile::open(path, terms).unwrap();
        let head = ["head".to_owned()];
        file.begin(&head).unwrap();
        for line in lines {
            file.add(&head, line).unwrap();
        }
    }

    /// All lines without the heads, oldest first, and how long each file is.
    fn kept(path: &Path, keep: u32) -> (Vec<String>, Vec<u64>) {
        let files = (1..=keep).rev().map(|n| numbered(path, n)).chain([path.to_owned()]);
        let texts: Vec<_> = files.filter_map(|file| fs::read_to_string(file).ok()).collect();
        for text in &texts {
            assert_eq!(text.lines().next(), Some("head"));
        }
        let lines = texts.iter().flat_map(|text| text.lines().skip(1)).map(str::to_owned);
        (lines.collect(), texts.iter().map(|text| text.len() as u64).collect())
    }

    #[test]
    fn what_is_there_is_left_alone() {
        let (_folder, path) = place();
        ANEW.check(&path, any).unwrap();
        fs::write(&path, "kept\n").unwrap();
        assert!(matches!(ANEW.check(&path, any), Err(Refused::Exists(_))));
        assert!(LineFile::open(&path, &ANEW).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "kept\n");
    }

    #[test]
    fn a_full_file_that_is_there_is_left_alone_too() {
        let (_folder, path) = place();
        fs::write(numbered(&path, 2), "kept\n").unwrap();
        let rotation = |keep| Terms { rotation: Some(Rotation { bytes: 9, keep }), ..ANEW };
        assert!(matches!(rotation(2).check(&path, any), Err(Refused::Exists(_))));
        rotation(1).check(&path, any).unwrap();
    }

    #[test]
    fn a_file_of_other_columns_is_not_appended_to() {
        let (_folder, path) = place();
        APPENDED.check(&path, is_head).unwrap();
        for (text, fits) in [("head\nx\n", true), ("", true), ("other\n", false), ("headx", false)]
        {
            fs::write(&path, text).unwrap();
            assert_eq!(APPENDED.check(&path, is_head).is_ok(), fits, "{text}");
        }
    }

    #[test]
    fn a_line_that_was_cut_off_does_not_spoil_the_next() {
        let (_folder, path) = place();
        fs::write(&path, "head\n1\n2, 3").unwrap();
        write(&path, &APPENDED, &["4".to_owned()]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "head\n1\n2, 3\n4\n");
    }

    #[test]
    fn what_is_no_file_is_never_moved() {
        let rotation = Some(Rotation { bytes: 1, keep: 1 });
        let terms = Terms { rotation, ..APPENDED };
        let null = Path::new("/dev/null");
        assert!(matches!(terms.check(null, any), Err(Refused::NotOrdinary(_))));
        APPENDED.check(null, is_head).unwrap();
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn all_files_together_hold_each_line_once(
            lines in prop::collection::vec("[a-z]{0,20}", 0..40),
            bytes in 1_u64..80,
            cut in 0_usize..40,
        ) {
            let (_folder, path) = place();
            let rotation = Some(Rotation { bytes, keep: 100 });
            // In two runs, the second of which goes on where the first ended.
            let (first, second) = lines.split_at(cut.min(lines.len()));
            for part in [first, second] {
                write(&path, &Terms { rotation, ..APPENDED }, part);
            }
            let (found, sizes) = kept(&path, 100);
            prop_assert_eq!(&found, &lines);
            // The head, and where a line does not fit beside it, both.
            let longest = lines.iter().map(|line| line.len() as u64 + 6).max().unwrap_or(5);
            prop_assert!(sizes.iter().all(|size| *size <= bytes.max(longest)), "{:?}", sizes);
        }

        #[test]
        fn what_is_given_up_is_the_oldest(count in 0_usize..30, keep in 1_u32..5) {
            let (_folder, path) = place();
            let lines: Vec<_> = (0..count).map(|n| n.to_string()).collect();
            write(&path, &Terms { rotation: Some(Rotation { bytes: 1, keep }), ..ANEW }, &lines);
            let most = keep as usize + 1;
            let expected = &lines[count.saturating_sub(most)..];
            prop_assert_eq!(kept(&path, 100).0, expected);
        }
    }
}
