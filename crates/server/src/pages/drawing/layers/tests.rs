use super::*;

const SIZES: Sizes = Sizes { width: 100, height: 40, across: 50, between: 20, margin: 10 };

fn overlap(layout: &Layout) -> bool {
    let apart = |a: (i32, i32), b: (i32, i32)| {
        (a.0 - b.0).abs() >= SIZES.width || (a.1 - b.1).abs() >= SIZES.height + SIZES.between
    };
    let nodes = &layout.nodes;
    (0..nodes.len()).any(|one| (one + 1..nodes.len()).any(|other| !apart(nodes[one], nodes[other])))
}

fn check(layout: &Layout, count: usize, arrows: &[(usize, usize)]) {
    assert_eq!((layout.nodes.len(), layout.lines.len()), (count, arrows.len()));
    assert!(!overlap(layout), "{layout:?}");
    for (x, y) in &layout.nodes {
        assert!(*x >= SIZES.margin && *y >= SIZES.margin, "{layout:?}");
        assert!(x + SIZES.width + SIZES.margin <= layout.width, "{layout:?}");
        assert!(y + SIZES.height + SIZES.margin <= layout.height, "{layout:?}");
    }
    let mut reading = layout.reading.clone();
    reading.sort_unstable();
    assert_eq!(reading, (0..count).collect::<Vec<_>>());
}

#[test]
fn whatever_waits_stands_to_the_right() {
    let arrows = [(0, 1), (1, 2), (0, 2), (3, 2), (2, 4)];
    let layout = layered(5, &arrows, SIZES);
    check(&layout, 5, &arrows);
    for (begin, end) in arrows {
        assert!(layout.nodes[begin].0 < layout.nodes[end].0, "{begin} {end} {layout:?}");
    }
}

#[test]
fn nothing_and_one_and_no_arrows_are_drawn_too() {
    let nothing = layered(0, &[], SIZES);
    assert_eq!((nothing.width, nothing.height), (10, 10));
    check(&layered(1, &[], SIZES), 1, &[]);
    check(&layered(30, &[], SIZES), 30, &[]);
    let odd = [(0, 0), (0, 7)];
    let layout = layered(1, &odd, SIZES);
    check(&layout, 1, &odd);
    assert!(layout.lines.iter().all(|line| line.path.is_empty()));
}

#[test]
fn lines_that_need_not_cross_do_not() {
    // Written down so that the order in which they come crosses three times.
    let arrows = [(0, 5), (1, 4), (2, 3)];
    let mut ranks = Ranks::of(6, &arrows);
    assert_eq!(ranks.crossings(), 3);
    ranks.untangle();
    assert_eq!(ranks.crossings(), 0);
}

#[test]
fn a_circle_is_opened_and_its_lines_keep_their_direction() {
    let arrows = [(0, 1), (1, 2), (2, 3), (3, 0)];
    let layout = layered(4, &arrows, SIZES);
    check(&layout, 4, &arrows);
    let turned: Vec<bool> = Ranks::of(4, &arrows).runs.iter().map(|(_, turned)| *turned).collect();
    assert_eq!(turned, [false, false, false, true]);
    let begin = |place: usize| -> i32 {
        let path = &layout.lines[place].path;
        path[1..].split(' ').next().unwrap().parse().unwrap()
    };
    // The one that was turned still begins where its arrow does: at the last node, on its left side.
    assert_eq!(begin(3), layout.nodes[3].0);
    assert_eq!(begin(0), layout.nodes[0].0 + SIZES.width);
}

#[test]
fn a_line_over_several_layers_goes_round_the_nodes_between() {
    let arrows = [(0, 1), (1, 2), (0, 2)];
    let layout = layered(3, &arrows, SIZES);
    let (_, top) = layout.nodes[1];
    let bend = layout.lines[2].path.clone();
    let levels: Vec<i32> =
        bend.split(['M', 'C', 'H']).filter_map(|part| part.split(' ').nth_back(0)?.parse().ok()).collect();
    assert!(levels.iter().any(|y| *y < top || *y > top + SIZES.height), "{bend} {layout:?}");
    // Its words are there too, and neither on that node nor where lines end.
    let (x, y) = layout.lines[2].label;
    assert_eq!(x, layout.nodes[1].0 + SIZES.width / 2);
    assert!(levels.contains(&y), "{y} {bend}");
}

#[test]
fn the_same_graph_is_drawn_the_same_way() {
    let arrows: Vec<(usize, usize)> = (0..60).map(|n| (n * 7 % 40, n * 13 % 40)).collect();
    let layout = layered(40, &arrows, SIZES);
    assert_eq!(layout, layered(40, &arrows, SIZES));
    check(&layout, 40, &arrows);
}

/// How high a drawing is where each part is as high as its fullest layer.
fn packed(count: usize, arrows: &[(usize, usize)]) -> i32 {
    let mut ranks = Ranks::of(count, arrows);
    let parts = ranks.apart();
    let tall = |layer: &Vec<usize>| -> i32 {
        layer.iter().map(|item| ranks.height(*item, SIZES) + SIZES.between).sum::<i32>() - SIZES.between
    };
    let parts = parts.iter().map(|layers| layers.iter().map(tall).max().unwrap() + SIZES.between);
    parts.sum::<i32>() - SIZES.between + 2 * SIZES.margin
}

#[test]
fn what_no_arrow_joins_stands_close_together() {
    // A chain beside a dense part, whose layers push one another down.
    let mut arrows = vec![(0, 1), (1, 2)];
    arrows.extend((3..30).flat_map(|node| [(node, node + 1), (node, node + 3)]));
    arrows.extend([(3, 20), (3, 25), (4, 31), (5, 32)]);
    for chain_first in [true, false] {
        let turn = |node: usize| if chain_first { node } else { 32 - node };
        let arrows: Vec<(usize, usize)> = arrows.iter().map(|(a, b)| (turn(*a), turn(*b))).collect();
        let layout = layered(33, &arrows, SIZES);
        check(&layout, 33, &arrows);
        assert_eq!(layout.height, packed(33, &arrows), "{layout:?}");
        // The chain is by itself: nothing of the other part stands as high.
        let heights = |nodes: std::ops::RangeInclusive<usize>| -> Vec<i32> {
            nodes.map(|node| layout.nodes[turn(node)].1).collect()
        };
        let (chain, rest) = (heights(0..=2), heights(3..=32));
        let is_above = chain.iter().max() < rest.iter().min();
        let is_below = chain.iter().min() > rest.iter().max();
        assert!(is_above || is_below, "{layout:?}");
    }
}
