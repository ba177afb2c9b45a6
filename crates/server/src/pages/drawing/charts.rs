//! Bars and lines. Values are printed beside them, and each chart says in words what one sees in it.

/// One bar of several parts, from below.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::pages) struct Bar {
    /// Below it.
    pub(in crate::pages) name: String,
    /// How much each part is; what they are called is the chart's.
    pub(in crate::pages) parts: Vec<i64>,
}

/// A rectangle with the class that colours it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::pages) struct Block {
    pub(in crate::pages) class: &'static str,
    pub(in crate::pages) x: i32,
    pub(in crate::pages) y: i32,
    pub(in crate::pages) width: i32,
    pub(in crate::pages) height: i32,
}

/// A few words somewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::pages) struct Words {
    pub(in crate::pages) x: i32,
    pub(in crate::pages) y: i32,
    pub(in crate::pages) text: String,
}

/// A chart of bars that stand side by side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::pages) struct Bars {
    pub(in crate::pages) width: i32,
    pub(in crate::pages) height: i32,
    /// Lines across, each with its number.
    pub(in crate::pages) grid: Vec<Words>,
    pub(in crate::pages) blocks: Vec<Block>,
    pub(in crate::pages) names: Vec<Words>,
    /// How much each bar is altogether, above it.
    pub(in crate::pages) totals: Vec<Words>,
}

/// Where the axis ends; the numbers stand to its left.
pub(in crate::pages) const AXIS: i32 = 36;
const WIDTH: i32 = 480;
const FLOOR: i32 = 160;
const CEILING: i32 = 24;
const GRID_LINES: i64 = 4;

/// Draws bars that stand side by side, each part in the class of its place.
pub(in crate::pages) fn bars(bars: &[Bar], classes: &[&'static str]) -> Bars {
    let largest = bars.iter().map(|bar| bar.parts.iter().sum::<i64>()).max().unwrap_or(0);
    let top = round_up(largest);
    let level = |value: i64| FLOOR - scaled(value, top, FLOOR - CEILING);
    let steps = (0..=GRID_LINES).map(|step| top * step / GRID_LINES);
    let grid = steps.map(|value| Words { x: AXIS - 6, y: level(value), text: value.to_string() });
    let count = i32::try_from(bars.len()).unwrap_or(i32::MAX).max(1);
    let room = (WIDTH - AXIS) / count;
    let width = (room * 6 / 10).clamp(2, 48);
    let mut chart = Bars {
        width: WIDTH,
        height: FLOOR + 20,
        grid: grid.collect(),
        blocks: Vec::new(),
        names: Vec::new(),
        totals: Vec::new(),
    };
    let mut x = AXIS + (room - width) / 2;
    for bar in bars {
        let mut sum = 0;
        for (part, class) in bar.parts.iter().zip(classes) {
            let (below, above) = (level(sum), level(sum + part));
            sum += part;
            if *part > 0 {
                // A hair of paper between the parts.
                let height = (below - above - 1).max(1);
                chart.blocks.push(Block { class, x, y: below - height, width, height });
            }
        }
        let middle = x + width / 2;
        chart.names.push(Words { x: middle, y: FLOOR + 16, text: bar.name.clone() });
        if sum > 0 {
            chart.totals.push(Words { x: middle, y: level(sum) - 5, text: sum.to_string() });
        }
        x += room;
    }
    chart
}

/// A bar that lies, as long as its share of the largest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::pages) struct Lying {
    pub(in crate::pages) name: String,
    pub(in crate::pages) class: &'static str,
    /// Of a hundred.
    pub(in crate::pages) length: i32,
    pub(in crate::pages) value: i64,
}

/// Lengths of bars that lie one below the other.
pub(in crate::pages) fn lying(values: Vec<(String, &'static str, i64)>) -> Vec<Lying> {
    let largest = values.iter().map(|(_, _, value)| *value).max().unwrap_or(0).max(1);
    let bar = |(name, class, value): (String, _, i64)| Lying {
        name,
        class,
        length: scaled(value, largest, 100),
        value,
    };
    values.into_iter().map(bar).collect()
}

fn scaled(value: i64, of: i64, pixels: i32) -> i32 {
    let exact = i64::from(pixels) * value.max(0) / of.max(1);
    i32::try_from(exact).unwrap_or(pixels)
}

/// The next number that four grid lines divide well.
fn round_up(value: i64) -> i64 {
    let mut step = 4;
    while step < value {
        step = match step.to_string().as_bytes()[0] {
            b'4' => step * 2,
            b'8' => step * 5 / 2,
            _ => step * 2,
        };
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(name: &str, parts: &[i64]) -> Bar {
        Bar { name: name.to_owned(), parts: parts.to_vec() }
    }

    #[test]
    fn the_top_of_the_axis_is_a_round_number_above_all() {
        let tops: Vec<i64> = [0, 1, 4, 5, 9, 21, 99, 100_000].map(round_up).into();
        assert_eq!(tops, [4, 4, 4, 8, 20, 40, 200, 200_000]);
    }

    #[test]
    fn parts_stand_on_each_other_and_none_is_lost() {
        let chart = bars(&[bar("16", &[3, 1]), bar("17", &[0, 0]), bar("today", &[0, 4])], &["c1", "c2"]);
        let shown: Vec<(&str, i32)> = chart.blocks.iter().map(|block| (block.class, block.height)).collect();
        assert_eq!(shown, [("c1", 101), ("c2", 33), ("c2", 135)]);
        let [lower, upper] = [&chart.blocks[0], &chart.blocks[1]];
        assert!(upper.y + upper.height < lower.y && lower.y + lower.height == FLOOR, "{chart:?}");
        let totals: Vec<&str> = chart.totals.iter().map(|words| words.text.as_str()).collect();
        assert_eq!(totals, ["4", "4"], "a day without anything has no number above nothing");
        assert_eq!(chart.names.len(), 3);
    }

    #[test]
    fn nothing_is_drawn_beyond_the_frame() {
        for count in [0, 1, 14, 90] {
            let many: Vec<Bar> = (0..count).map(|n| bar("x", &[n, i64::MAX / 1000])).collect();
            let chart = bars(&many, &["c1", "c2"]);
            for block in &chart.blocks {
                assert!(block.x >= AXIS && block.x + block.width <= WIDTH, "{count} {block:?}");
                assert!(block.y >= 0 && block.y + block.height <= FLOOR, "{count} {block:?}");
            }
        }
    }

    #[test]
    fn lying_bars_are_shares_of_the_largest() {
        let bars = lying(vec![("a".into(), "c1", 4), ("b".into(), "c1", 1), ("c".into(), "c1", 0)]);
        assert_eq!(bars.iter().map(|bar| bar.length).collect::<Vec<_>>(), [100, 25, 0]);
        assert!(lying(vec![("a".into(), "c1", 0)])[0].length == 0);
    }
}
