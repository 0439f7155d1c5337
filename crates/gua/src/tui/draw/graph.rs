//! A line of values as a graph: dots of braille, or plain characters.

/// Dots of a braille character, from below, on the left and on the right.
const LEFT: [u32; 4] = [0x40, 0x04, 0x02, 0x01];
const RIGHT: [u32; 4] = [0x80, 0x20, 0x10, 0x08];
const BRAILLE: u32 = 0x2800;

/// From nearly nothing to full.
const PLAIN: [char; 6] = ['_', '.', '-', '=', '*', '#'];

/// How many values a graph of so many columns shows.
#[must_use]
pub const fn values(width: usize, is_ascii: bool) -> usize {
    if is_ascii { width } else { width * 2 }
}

/// The rows of a graph, from above. A value that is not known leaves its place empty; zero
/// does not.
#[must_use]
pub fn rows(values: &[Option<f32>], height: usize, is_ascii: bool) -> Vec<String> {
    let from_above = (0..height).rev();
    if is_ascii {
        let levels = heights(values, height * PLAIN.len());
        from_above.map(|row| levels.iter().map(|level| plain(*level, row)).collect()).collect()
    } else {
        let levels = heights(values, height * LEFT.len());
        from_above.map(|row| levels.chunks(2).map(|pair| braille(pair, row)).collect()).collect()
    }
}

/// Steps from the ground, at least one for what is known.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the height")]
#[expect(clippy::cast_precision_loss, reason = "a few hundred rows")]
fn heights(values: &[Option<f32>], most: usize) -> Vec<usize> {
    let height = |share: f32| ((share * most as f32).round() as usize).clamp(1, most.max(1));
    values.iter().map(|value| value.map_or(0, height)).collect()
}

fn plain(level: usize, row: usize) -> char {
    let above = level.saturating_sub(row * PLAIN.len());
    let place = above.min(PLAIN.len());
    place.checked_sub(1).and_then(|place| PLAIN.get(place)).copied().unwrap_or(' ')
}

fn braille(pair: &[usize], row: usize) -> char {
    let dots = |level: Option<&usize>, side: [u32; 4]| {
        let count = level.map_or(0, |level| level.saturating_sub(row * side.len()));
        side.iter().take(count).sum::<u32>()
    };
    let bits = dots(pair.first(), LEFT) + dots(pair.get(1), RIGHT);
    // An empty pattern is as good as a blank, and every font has that.
    if bits == 0 { ' ' } else { char::from_u32(BRAILLE + bits).unwrap_or(' ') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_on_the_ground_and_unknown_is_nowhere() {
        let line = [Some(0.0), Some(0.25), Some(0.5), Some(1.0), None, None, None, Some(1.0)];
        assert_eq!(rows(&line, 1, false), ["⣀⣼ ⢸"]);
        assert_eq!(rows(&line, 2, false), ["⢀⢸ ⢸", "⣠⣿ ⢸"].map(|row| row.replace('⢀', " ")));
        assert_eq!(rows(&line, 1, true), ["_.-#   #"]);
    }

    #[test]
    fn a_graph_is_as_wide_as_it_was_asked_to_be() {
        for is_ascii in [false, true] {
            let all = vec![Some(0.7); values(30, is_ascii)];
            for row in rows(&all, 3, is_ascii) {
                assert_eq!(row.chars().count(), 30);
            }
        }
        assert_eq!(rows(&[], 1, false), [""]);
        assert!(rows(&[Some(1.0)], 0, false).is_empty());
    }
}
