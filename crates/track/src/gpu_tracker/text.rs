//! A report as text: labels instead of keys, and at most three decimals.

use super::number;
use super::tree::Tree;

const INDENT: &str = "   ";
const DECIMALS: usize = 3;

/// The lines, without a line's end after the last.
#[must_use]
pub fn text(tree: &Tree) -> String {
    let mut lines = Vec::new();
    add(tree, 0, &mut lines);
    lines.join("\n")
}

fn add(tree: &Tree, depth: usize, lines: &mut Vec<String>) {
    let Tree::Group(entries) = tree else { return };
    for (key, value) in entries {
        let label = format!("{}{}:", INDENT.repeat(depth), label(key));
        match value {
            Tree::Group(_) | Tree::List(_) => {
                lines.push(label);
                add(value, depth + 1, lines);
            }
            Tree::Text(text) => lines.push(format!("{label} {text}")),
            Tree::Count(count) => lines.push(format!("{label} {count}")),
            Tree::Number(number) => {
                lines.push(format!("{label} {}", number::rounded(*number, DECIMALS)));
            }
            Tree::Missing => lines.push(format!("{label} unknown")),
        }
    }
}

/// A key as people read it: `n_expected_gpus` is `Number of expected GPUs`.
fn label(key: &str) -> String {
    let words: Vec<&str> = key.split('_').map(word).collect();
    let label = words.join(" ");
    let mut letters = label.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn word(word: &str) -> &str {
    match word {
        "ram" => "RAM",
        "rss" => "RSS",
        "cpu" => "CPU",
        "gpu" => "GPU",
        "gpus" => "GPUs",
        "n" => "number of",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn keys_become_labels() {
        let cases = [
            ("max_gpu_ram", "Max GPU RAM"),
            ("total_rss", "Total RSS"),
            ("cpu_utilization", "CPU utilization"),
            ("system_gpu_count", "System GPU count"),
            ("n_expected_gpus", "Number of expected GPUs"),
            ("descendents_n_threads", "Descendents number of threads"),
            ("time", "Time"),
        ];
        for (key, expected) in cases {
            assert_eq!(label(key), expected);
        }
    }
}
