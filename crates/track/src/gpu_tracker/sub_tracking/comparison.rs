//! Several analyses side by side (pure).

use std::str::FromStr;

use super::analysis::{Analysis, Block};
use super::summary::Summary;
use crate::gpu_tracker::Tree;
use crate::gpu_tracker::tracking_file::MEASURES;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Statistic {
    Min,
    Max,
    #[default]
    Mean,
    Std,
}

/// There is no such statistic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no statistic to compare. There are min, max, mean and std")]
pub struct NoSuchStatistic(String);

impl Statistic {
    pub const ALL: [Self; 4] = [Self::Min, Self::Max, Self::Mean, Self::Std];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::Max => "max",
            Self::Mean => "mean",
            Self::Std => "std",
        }
    }
}

impl FromStr for Statistic {
    type Err = NoSuchStatistic;

    fn from_str(typed: &str) -> Result<Self, NoSuchStatistic> {
        let found = Self::ALL.into_iter().find(|statistic| statistic.name() == typed);
        found.ok_or_else(|| NoSuchStatistic(typed.to_owned()))
    }
}

/// One of those compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    pub name: String,
    pub analysis: Analysis,
}

/// One figure of each session, ascending; those without one come last.
pub type Compared = Vec<(String, Option<f64>)>;

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// In the order of [`MEASURES`].
    pub overall: Vec<Compared>,
    /// By name.
    pub blocks: Vec<BlockComparison>,
    /// Blocks that are held to be the same although their line numbers differ.
    pub moved: Vec<Moved>,
}

/// One block of code in all sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockComparison {
    pub name: String,
    /// In the order of [`MEASURES`].
    pub resource_usage: Vec<Compared>,
    pub compute_time: Compared,
}

/// A block that has another line number in another session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    pub block: String,
    pub session: String,
    pub there: String,
}

/// The sessions do not have the same blocks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    #[error(
        "session `{first}` has {count} code blocks, but `{second}` has {other}. Only sessions with the same blocks can be compared"
    )]
    Count { first: String, count: usize, second: String, other: usize },
    #[error(
        "code block `{block}` of session `{first}` has no counterpart in `{second}`, which has `{other}` in its place. Only sessions with the same blocks can be compared"
    )]
    Name { first: String, block: String, second: String, other: String },
}

/// Compares one statistic of all sessions.
///
/// # Errors
/// When the sessions do not have the same blocks.
pub fn compare(sessions: &[Session], statistic: Statistic) -> Result<Comparison, Mismatch> {
    let sorted: Vec<(&str, Vec<&Block>)> =
        sessions.iter().map(|session| (session.name.as_str(), sorted_blocks(session))).collect();
    let moved = matched(&sorted)?;
    let overall = (0..MEASURES.len())
        .map(|at| {
            ranked(
                sessions
                    .iter()
                    .map(|session| (session.name.as_str(), session.analysis.overall[at])),
                statistic,
            )
        })
        .collect();
    let count = sorted.first().map_or(0, |(_, blocks)| blocks.len());
    let blocks = (0..count).map(|at| block_comparison(&sorted, at, statistic)).collect();
    Ok(Comparison { overall, blocks, moved })
}

fn block_comparison(
    sessions: &[(&str, Vec<&Block>)],
    at: usize,
    statistic: Statistic,
) -> BlockComparison {
    let each = || sessions.iter().filter_map(|(name, blocks)| Some((*name, *blocks.get(at)?)));
    let mut names: Vec<&str> = each().map(|(_, block)| block.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let measure = |measure: usize| {
        ranked(each().map(|(name, block)| (name, block.resource_usage[measure])), statistic)
    };
    BlockComparison {
        name: names.join(" -> "),
        resource_usage: (0..MEASURES.len()).map(measure).collect(),
        compute_time: ranked(each().map(|(name, block)| (name, block.compute_time)), statistic),
    }
}

fn ranked<'a>(
    figures: impl Iterator<Item = (&'a str, Option<Summary>)>,
    statistic: Statistic,
) -> Compared {
    let figure = |(name, summary): (&str, Option<Summary>)| {
        (name.to_owned(), summary.map(|summary| summary.get(statistic)))
    };
    let mut figures: Compared = figures.map(figure).collect();
    figures.sort_by(|(_, a), (_, b)| a.unwrap_or(f64::NAN).total_cmp(&b.unwrap_or(f64::NAN)));
    figures
}

/// A name that ends in a line number comes by that number, not by its digits.
fn sorted_blocks(session: &Session) -> Vec<&Block> {
    let mut blocks: Vec<&Block> = session.analysis.blocks.iter().collect();
    blocks.sort_by_key(|block| match line_number(&block.name) {
        Some((place, line)) => (place.to_owned(), Some(line)),
        None => (block.name.clone(), None),
    });
    blocks
}

/// `train.py:12` is line 12 of `train.py`.
fn line_number(name: &str) -> Option<(&str, u64)> {
    let (place, line) = name.rsplit_once(':')?;
    Some((place, line.parse().ok()?))
}

fn matched(sessions: &[(&str, Vec<&Block>)]) -> Result<Vec<Moved>, Mismatch> {
    let Some(((first, blocks), others)) = sessions.split_first() else { return Ok(Vec::new()) };
    let mut moved = Vec::new();
    for (second, other_blocks) in others {
        if blocks.len() != other_blocks.len() {
            return Err(Mismatch::Count {
                first: (*first).to_owned(),
                count: blocks.len(),
                second: (*second).to_owned(),
                other: other_blocks.len(),
            });
        }
        for (block, other) in blocks.iter().zip(other_blocks) {
            moved.extend(matched_block(first, &block.name, second, &other.name)?);
        }
    }
    Ok(moved)
}

fn matched_block(
    first: &str,
    block: &str,
    second: &str,
    other: &str,
) -> Result<Option<Moved>, Mismatch> {
    if block == other {
        return Ok(None);
    }
    match (line_number(block), line_number(other)) {
        (Some((here, _)), Some((there, _))) if here == there => Ok(Some(Moved {
            block: block.to_owned(),
            session: second.to_owned(),
            there: other.to_owned(),
        })),
        _ => Err(Mismatch::Name {
            first: first.to_owned(),
            block: block.to_owned(),
            second: second.to_owned(),
            other: other.to_owned(),
        }),
    }
}

impl Comparison {
    /// The keys and values in the order in which they are told.
    #[must_use]
    pub fn tree(&self) -> Tree {
        let overall = MEASURES.into_iter().zip(self.overall.iter().map(compared_tree));
        let usage = |at: usize| {
            let of_block = |block: &BlockComparison| {
                (block.name.clone(), compared_tree(&block.resource_usage[at]))
            };
            Tree::group(self.blocks.iter().map(of_block))
        };
        let usages = MEASURES.into_iter().enumerate().map(|(at, measure)| (measure, usage(at)));
        let usages = usages.filter(|_| !self.blocks.is_empty());
        let times = self.blocks.iter();
        let times = times.map(|block| (block.name.clone(), compared_tree(&block.compute_time)));
        Tree::group([
            ("overall_resource_usage", Tree::group(overall)),
            ("code_block_resource_usage", Tree::group(usages)),
            ("code_block_compute_time", Tree::group(times)),
        ])
    }
}

fn compared_tree(compared: &Compared) -> Tree {
    Tree::group(compared.iter().map(|(name, figure)| (name.clone(), (*figure).into())))
}
