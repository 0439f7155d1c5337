//! What was used over all, and while each block of code ran (pure).

use std::collections::BTreeMap;

use super::calls::{Call, NoBegin, calls};
use super::marks::Mark;
use super::summary::{Summary, entries};
use crate::gpu_tracker::Tree;
use crate::gpu_tracker::tracking_file::{MEASURES, Static, Timepoint, Tracked};

/// A summary of each measure, in the order of [`MEASURES`].
pub type Measured = [Option<Summary>; MEASURES.len()];

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    pub overall: Measured,
    pub facts: Static,
    /// By name.
    pub blocks: Vec<Block>,
}

/// One block of code, over all of its calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    pub name: String,
    /// How many samples fell into its calls.
    pub timepoints: usize,
    pub calls: usize,
    /// How many of the calls had a sample.
    pub non_empty_calls: usize,
    /// In seconds.
    pub compute_time: Option<Summary>,
    pub total_seconds: f64,
    pub resource_usage: Measured,
}

/// Holds marks against samples.
///
/// # Errors
/// When the marks do not fit together.
pub fn analyze(tracked: &Tracked, marks: &[Mark]) -> Result<Analysis, NoBegin> {
    let mut by_block: BTreeMap<&str, Vec<&Mark>> = BTreeMap::new();
    for mark in marks {
        by_block.entry(&mark.block).or_default().push(mark);
    }
    let mut timepoints: Vec<&Timepoint> = tracked.timepoints.iter().collect();
    timepoints.sort_by(|a, b| a.at.total_cmp(&b.at));
    let block = |(name, marks): (&str, Vec<&Mark>)| Ok(block(name, &calls(marks)?, &timepoints));
    Ok(Analysis {
        overall: measured(&timepoints),
        facts: tracked.facts,
        blocks: by_block.into_iter().map(block).collect::<Result<_, _>>()?,
    })
}

fn block(name: &str, calls: &[Call], timepoints: &[&Timepoint]) -> Block {
    let inside = inside(calls, timepoints);
    let seconds: Vec<f64> = calls.iter().map(Call::seconds).collect();
    Block {
        name: name.to_owned(),
        timepoints: inside.len(),
        calls: calls.len(),
        non_empty_calls: calls.iter().filter(|call| !during(call, timepoints).is_empty()).count(),
        compute_time: Summary::of(&seconds),
        total_seconds: seconds.iter().sum(),
        resource_usage: measured(&inside),
    }
}

/// The samples of a call. They are in the order of time.
fn during<'a, 'b>(call: &Call, timepoints: &'a [&'b Timepoint]) -> &'a [&'b Timepoint] {
    let from = timepoints.partition_point(|point| point.at < call.begin);
    let to = timepoints.partition_point(|point| point.at <= call.end);
    &timepoints[from..to.max(from)]
}

/// The samples of any call, each once, however many calls it falls into.
fn inside<'a>(calls: &[Call], timepoints: &[&'a Timepoint]) -> Vec<&'a Timepoint> {
    let mut calls = calls.to_vec();
    calls.sort_by(|a, b| a.begin.total_cmp(&b.begin));
    let mut found = Vec::new();
    let mut seen = 0;
    for call in calls {
        let from = timepoints.partition_point(|point| point.at < call.begin).max(seen);
        let to = timepoints.partition_point(|point| point.at <= call.end).max(from);
        found.extend_from_slice(&timepoints[from..to]);
        seen = to;
    }
    found
}

fn measured(timepoints: &[&Timepoint]) -> Measured {
    std::array::from_fn(|at| {
        let known: Vec<f64> = timepoints.iter().filter_map(|point| point.values[at]).collect();
        Summary::of(&known)
    })
}

impl Analysis {
    /// The keys and values in the order in which they are told.
    #[must_use]
    pub fn tree(&self) -> Tree {
        Tree::group([
            ("overall", measured_tree(&self.overall)),
            ("static_data", self.facts.tree()),
            ("code_block_results", Tree::List(self.blocks.iter().map(Block::tree).collect())),
        ])
    }
}

impl Block {
    fn tree(&self) -> Tree {
        let mut time = entries(self.compute_time);
        time.push(("total".to_owned(), self.total_seconds.into()));
        Tree::group([
            ("name", self.name.as_str().into()),
            ("num_timepoints", self.timepoints.into()),
            ("num_calls", self.calls.into()),
            ("num_non_empty_calls", self.non_empty_calls.into()),
            ("compute_time", Tree::Group(time)),
            ("resource_usage", measured_tree(&self.resource_usage)),
        ])
    }
}

fn measured_tree(measured: &Measured) -> Tree {
    Tree::group(MEASURES.into_iter().zip(measured.map(|summary| Tree::Group(entries(summary)))))
}
