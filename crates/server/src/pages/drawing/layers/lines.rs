//! The lines of a drawing, once it is known where everything stands.

use super::{Layout, Line, Ranks, Sizes};

pub(super) fn draw(ranks: &Ranks, tops: &[i32], sizes: Sizes) -> Layout {
    let x = |item: usize| {
        let layer = i32::try_from(ranks.layer[item]).unwrap_or(0);
        sizes.margin + layer * (sizes.width + sizes.across)
    };
    let centre = |item: usize| tops[item] + ranks.height(item, sizes) / 2;
    let lines = ranks.runs.iter().map(|(run, turned)| {
        let mut points = Vec::new();
        for (place, item) in run.iter().enumerate() {
            let (left, right) = (x(*item), x(*item) + sizes.width);
            match place {
                0 => points.push((right, centre(*item))),
                _ if place + 1 == run.len() => points.push((left, centre(*item))),
                _ => points.extend([(left, centre(*item)), (right, centre(*item))]),
            }
        }
        if *turned {
            points.reverse();
        }
        line(&points)
    });
    let nodes: Vec<(i32, i32)> = (0..ranks.count).map(|item| (x(item), tops[item])).collect();
    let below = (0..ranks.layer.len()).map(|item| tops[item] + ranks.height(item, sizes)).max();
    let right = (0..ranks.layer.len()).map(|item| x(item) + sizes.width).max();
    Layout {
        width: right.unwrap_or(0) + sizes.margin,
        height: below.unwrap_or(0) + sizes.margin,
        nodes,
        lines: lines.collect(),
        reading: ranks.order.iter().flatten().copied().filter(|item| *item < ranks.count).collect(),
    }
}

/// A smooth line over these points: flat where it passes a layer, bent between them.
fn line(points: &[(i32, i32)]) -> Line {
    let Some((first, rest)) = points.split_first() else {
        return Line { path: String::new(), label: (0, 0) };
    };
    let mut path = format!("M{} {}", first.0, first.1);
    let mut at = *first;
    for point in rest {
        match at.1 == point.1 {
            true => path.push_str(&format!("H{}", point.0)),
            false => {
                let middle = i32::midpoint(at.0, point.0);
                path.push_str(&format!("C{middle} {} {middle} {} {} {}", at.1, point.1, point.0, point.1));
            }
        }
        at = *point;
    }
    // Words stand where the line is flat; where many lines end, they would be on each other.
    let (from, to) = match points {
        [_, from, to, _, ..] => (from, to),
        _ => (first, rest.first().unwrap_or(first)),
    };
    Line { path, label: (i32::midpoint(from.0, to.0), i32::midpoint(from.1, to.1)) }
}
