//! Which columns a width has room for, and how wide each becomes.

/// What a column needs.
#[derive(Debug, Clone, Copy)]
pub struct Want {
    pub least: u16,
    pub most: u16,
    /// The lower it is, the sooner a narrow screen does without it.
    pub rank: u8,
}

/// What stands between two columns.
pub const GAP: u16 = 1;

/// The width of each column, 0 for one that is left out. What is left over is shared by those
/// that can use it.
#[must_use]
pub fn fit(wants: &[Want], room: u16) -> Vec<u16> {
    let mut widths: Vec<u16> = wants.iter().map(|want| want.least).collect();
    while total(&widths) > room {
        let kept = wants.iter().enumerate().filter(|(place, _)| is_there(&widths, *place));
        let Some((least, _)) = kept.min_by_key(|(_, want)| want.rank) else { break };
        if let Some(width) = widths.get_mut(least) {
            *width = 0;
        }
    }
    put_back(&mut widths, wants, room);
    let mut left = room.saturating_sub(total(&widths));
    while left > 0 {
        let before = left;
        for (width, want) in widths.iter_mut().zip(wants) {
            if *width > 0 && *width < want.most && left > 0 {
                *width += 1;
                left -= 1;
            }
        }
        if left == before {
            break;
        }
    }
    widths
}

/// Where a wide one had to go, a narrow one that went before it may fit.
fn put_back(widths: &mut [u16], wants: &[Want], room: u16) {
    let mut left_out: Vec<_> =
        wants.iter().enumerate().filter(|(place, _)| !is_there(widths, *place)).collect();
    left_out.sort_by_key(|(_, want)| std::cmp::Reverse(want.rank));
    for (place, want) in left_out {
        if total(widths).saturating_add(GAP + want.least) <= room
            && let Some(width) = widths.get_mut(place)
        {
            *width = want.least;
        }
    }
}

fn is_there(widths: &[u16], place: usize) -> bool {
    widths.get(place).is_some_and(|width| *width > 0)
}

fn total(widths: &[u16]) -> u16 {
    let there = widths.iter().filter(|width| **width > 0);
    there.fold(0_u16, |sum, width| sum.saturating_add(width + GAP)).saturating_sub(GAP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WANTS: [Want; 3] = [
        Want { least: 4, most: 4, rank: 9 },
        Want { least: 6, most: 20, rank: 1 },
        Want { least: 5, most: 10, rank: 5 },
    ];

    #[test]
    fn the_least_needed_goes_first_and_the_rest_is_shared() {
        assert_eq!(fit(&WANTS, 17), [4, 6, 5]);
        assert_eq!(fit(&WANTS, 16), [4, 0, 10]);
        assert_eq!(fit(&WANTS, 23), [4, 9, 8]);
        assert_eq!(fit(&WANTS, 100), [4, 20, 10]);
        assert_eq!(fit(&WANTS, 4), [4, 0, 0]);
        assert_eq!(fit(&WANTS, 3), [0, 0, 0]);
    }

    proptest! {
        #[test]
        fn what_is_given_fits(room in 0_u16..400) {
            prop_assert!(total(&fit(&WANTS, room)) <= room);
        }
    }
}
