//! What was asked for on the command line.

use crate::table::Failure;

/// What to print.
#[derive(Debug, PartialEq, Eq)]
pub enum Shown {
    /// The table that people look at.
    Overview,
    /// `-h`
    Help,
    /// `-L`
    List,
    /// `--query-gpu`, by the names of its fields.
    Gpus(Vec<String>, Format),
    /// `--query-compute-apps`, by the names of its fields.
    Apps(Vec<String>, Format),
}

/// The words after `csv` in `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    pub header: bool,
    pub units: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    pub shown: Shown,
    /// `-i`: indexes, UUIDs, serial numbers or bus ids.
    pub ids: Option<Vec<String>>,
}

impl Options {
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, Failure> {
        let mut typed = Typed::default();
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (argument.as_str(), None),
            };
            let mut value = || value.clone().or_else(|| arguments.next()).unwrap_or_default();
            match name {
                "-h" | "--help" => return Ok(Self { shown: Shown::Help, ids: None }),
                "-L" | "--list-gpus" => typed.is_list = true,
                "-i" | "--id" => typed.ids = Some(words(&value())),
                "--query-gpu" => typed.gpus = Some(words(&value())),
                "--query-compute-apps" => typed.apps = Some(words(&value())),
                "--format" => typed.format = Some(words(&value())),
                _ => {
                    return Err(Failure::usage(&format!(
                        "Invalid combination of input arguments. Unknown option: {argument}"
                    )));
                }
            }
        }
        typed.meant()
    }
}

#[derive(Default)]
struct Typed {
    is_list: bool,
    ids: Option<Vec<String>>,
    gpus: Option<Vec<String>>,
    apps: Option<Vec<String>>,
    format: Option<Vec<String>>,
}

impl Typed {
    fn meant(self) -> Result<Options, Failure> {
        let format = || format(self.format.as_deref());
        let shown = match (self.is_list, self.gpus, self.apps) {
            (false, None, None) => Shown::Overview,
            (true, None, None) => Shown::List,
            (false, Some(names), None) => Shown::Gpus(names, format()?),
            (false, None, Some(names)) => Shown::Apps(names, format()?),
            _ => return Err(Failure::usage("Only one --query-* switch can be used at a time.")),
        };
        Ok(Options { shown, ids: self.ids })
    }
}

fn format(words: Option<&[String]>) -> Result<Format, Failure> {
    let words = words.unwrap_or_default();
    if !words.iter().any(|word| word == "csv") {
        return Err(Failure::usage("\"--format=\" switch is missing, or it lacks \"csv\"."));
    }
    Ok(Format {
        header: !words.iter().any(|word| word == "noheader"),
        units: !words.iter().any(|word| word == "nounits"),
    })
}

fn words(text: &str) -> Vec<String> {
    text.split(',').map(|word| word.trim().to_owned()).collect()
}
