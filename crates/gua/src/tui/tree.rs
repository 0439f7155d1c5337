//! The list as lines: one a holder, or as a tree below the processes that started them.

use std::collections::BTreeMap;

use super::holding::{Entry, Holding, Unseen};
use super::look::{CardKey, HolderKey, Kin};

/// One line of the list.
#[derive(Debug, Clone)]
pub struct Line {
    /// What stands before the program: the branches of the tree.
    pub branch: String,
    pub what: What,
}

#[derive(Debug, Clone)]
pub enum What {
    Holder(Box<Holding>),
    /// Somebody who is not listed.
    Unseen(Unseen),
    /// A process that holds nothing itself.
    Parent(Kin),
}

/// What a line is known by, so that it stays chosen wherever it moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineKey {
    Holder(HolderKey),
    Unseen(CardKey),
    Parent(u32),
}

impl Line {
    #[must_use]
    pub fn key(&self) -> LineKey {
        match &self.what {
            What::Holder(holding) => LineKey::Holder(holding.key.clone()),
            What::Unseen(unseen) => LineKey::Unseen(unseen.card_key.clone()),
            What::Parent(kin) => LineKey::Parent(kin.pid),
        }
    }
}

/// One below the other.
#[must_use]
pub fn flat(entries: Vec<Entry>) -> Vec<Line> {
    let line = |entry| match entry {
        Entry::Holder(holding) => Line { branch: String::new(), what: What::Holder(holding) },
        Entry::Unseen(unseen) => of_unseen(unseen),
    };
    entries.into_iter().map(line).collect()
}

const fn of_unseen(unseen: Unseen) -> Line {
    Line { branch: String::new(), what: What::Unseen(unseen) }
}

/// Below those who started them. Of the ancestors only those are shown that started a holder
/// themselves or from which several branches come; the order within a branch is kept. Who is
/// not listed has no place in it and comes last.
#[must_use]
pub fn tree(entries: Vec<Entry>) -> Vec<Line> {
    let mut forest = Forest::default();
    let mut unseen = Vec::new();
    for entry in entries {
        match entry {
            Entry::Holder(holding) => forest.add(*holding),
            Entry::Unseen(one) => unseen.push(of_unseen(one)),
        }
    }
    let mut lines = Vec::new();
    let roots = forest.roots.clone();
    for root in roots {
        forest.put(root, "", "", &mut lines);
    }
    lines.extend(unseen);
    lines
}

#[derive(Debug, Default)]
struct Forest {
    /// In the order in which they came.
    roots: Vec<u32>,
    nodes: BTreeMap<u32, Node>,
}

/// A process: what it holds, and what it started.
#[derive(Debug, Default)]
struct Node {
    kin: Option<Kin>,
    holds: Vec<Holding>,
    children: Vec<u32>,
}

impl Forest {
    fn add(&mut self, holding: Holding) {
        let pid = holding.key.pid;
        let kin = std::sync::Arc::clone(&holding.kin);
        let is_new = !self.nodes.contains_key(&pid);
        self.nodes.entry(pid).or_default().holds.push(holding);
        if is_new {
            self.hang(pid, &kin);
        }
    }

    /// Hangs a process below its parents, as far as they do not hang there yet.
    fn hang(&mut self, pid: u32, kin: &[Kin]) {
        let mut child = pid;
        for parent in kin {
            let is_new = !self.nodes.contains_key(&parent.pid);
            let node = self.nodes.entry(parent.pid).or_default();
            node.kin.get_or_insert_with(|| parent.clone());
            // What a hostile /proc says could go round in circles.
            if child == parent.pid || node.children.contains(&child) {
                return;
            }
            node.children.push(child);
            // It stood alone until its parent came.
            self.roots.retain(|root| *root != child);
            if !is_new {
                return;
            }
            child = parent.pid;
        }
        if !self.roots.contains(&child) {
            self.roots.push(child);
        }
    }

    /// Writes a process and what hangs below it. Taken out as it is written, so that nothing
    /// is written twice.
    fn put(&mut self, pid: u32, before: &str, below: &str, lines: &mut Vec<Line>) {
        let Some(node) = self.nodes.remove(&pid) else { return };
        let is_shown = !node.holds.is_empty() || self.is_worth_a_line(&node);
        if !is_shown {
            for child in node.children {
                self.put(child, before, below, lines);
            }
            return;
        }
        if node.holds.is_empty()
            && let Some(kin) = node.kin
        {
            lines.push(Line { branch: before.to_owned(), what: What::Parent(kin) });
        }
        for holding in node.holds {
            lines.push(Line { branch: before.to_owned(), what: What::Holder(Box::new(holding)) });
        }
        let last = node.children.len().saturating_sub(1);
        for (place, child) in node.children.into_iter().enumerate() {
            let (mark, rest) =
                if place == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.put(child, &format!("{below}{mark}"), &format!("{below}{rest}"), lines);
        }
    }

    fn is_worth_a_line(&self, node: &Node) -> bool {
        let holds = |pid: &u32| self.nodes.get(pid).is_some_and(|child| !child.holds.is_empty());
        node.children.len() > 1 || node.children.iter().any(holds)
    }
}
