//! A graph in layers from left to right, after Sugiyama: whatever an arrow leads to stands further right.
//!
//! Circles are opened by turning some arrows round, each node gets the first layer behind all that lead to it, arrows
//! over several layers get a bend in each, and the order in a layer is the best of a few sweeps that put each node near
//! the middle of its neighbours. What no arrow joins stands one below the other, each part as low as its fullest layer.

mod lines;

use std::collections::BTreeMap;

use lines::draw;

/// Sweeps over all layers; drawings of this size do not get better after these.
const SWEEPS: usize = 8;
/// How much a bend of a long arrow takes of a node's height.
const BEND_HEIGHT: i32 = 20;

/// How large things are.
#[derive(Clone, Copy, Debug)]
pub(in crate::pages) struct Sizes {
    /// Of a node.
    pub(in crate::pages) width: i32,
    pub(in crate::pages) height: i32,
    /// Between layers, and between nodes of one.
    pub(in crate::pages) across: i32,
    pub(in crate::pages) between: i32,
    /// Around everything.
    pub(in crate::pages) margin: i32,
}

/// Where everything stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::pages) struct Layout {
    pub(in crate::pages) width: i32,
    pub(in crate::pages) height: i32,
    /// The upper left corner of each node.
    pub(in crate::pages) nodes: Vec<(i32, i32)>,
    /// The line of each arrow, from its beginning to its end.
    pub(in crate::pages) lines: Vec<Line>,
    /// The nodes as one reads them: layer by layer, from above.
    pub(in crate::pages) reading: Vec<usize>,
}

/// One arrow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::pages) struct Line {
    /// The `d` of a path.
    pub(in crate::pages) path: String,
    /// A place beside it for a few words.
    pub(in crate::pages) label: (i32, i32),
}

/// Nodes and bends in their layers.
struct Ranks {
    /// The layer of each item; the first `count` items are the nodes.
    layer: Vec<usize>,
    count: usize,
    /// Arrows between neighbouring layers.
    steps: Vec<(usize, usize)>,
    /// For each arrow the items it runs over, from left to right, and whether it was turned round.
    runs: Vec<(Vec<usize>, bool)>,
    order: Vec<Vec<usize>>,
}

/// Draws `count` nodes and these arrows. Arrows from a node to itself, or to what is not there, are left out of the
/// order and drawn as nothing.
pub(in crate::pages) fn layered(count: usize, arrows: &[(usize, usize)], sizes: Sizes) -> Layout {
    let mut ranks = Ranks::of(count, arrows);
    ranks.untangle();
    let parts = ranks.apart();
    let tops = ranks.tops(&parts, sizes);
    draw(&ranks, &tops, sizes)
}

/// Arrows that lead back to where one came from, walking along all others.
fn backward(count: usize, arrows: &[(usize, usize)]) -> Vec<bool> {
    let mut from: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, (begin, end)) in arrows.iter().enumerate() {
        if begin != end && *begin < count && *end < count {
            from.entry(*begin).or_default().push(place);
        }
    }
    // 0 not seen, 1 on the way, 2 done.
    let mut seen = vec![0_u8; count];
    let mut back = vec![false; arrows.len()];
    for start in 0..count {
        let mut way = vec![(start, 0)];
        if seen[start] != 0 {
            continue;
        }
        seen[start] = 1;
        while let Some((node, next)) = way.pop() {
            let Some(place) = from.get(&node).and_then(|places| places.get(next)).copied() else {
                seen[node] = 2;
                continue;
            };
            way.push((node, next + 1));
            let end = arrows[place].1;
            match seen[end] {
                0 => {
                    seen[end] = 1;
                    way.push((end, 0));
                }
                1 => back[place] = true,
                _ => {}
            }
        }
    }
    back
}

impl Ranks {
    fn of(count: usize, arrows: &[(usize, usize)]) -> Self {
        let back = backward(count, arrows);
        let is_drawn = |(begin, end): (usize, usize)| begin != end && begin < count && end < count;
        let forward: Vec<(usize, usize)> = arrows
            .iter()
            .zip(&back)
            .map(|((begin, end), back)| if *back { (*end, *begin) } else { (*begin, *end) })
            .collect();
        let mut layer = vec![0; count];
        // As often as the longest way has steps: without circles nothing moves any more then.
        for _ in 0..count {
            let mut moved = false;
            for (begin, end) in forward.iter().copied().filter(|arrow| is_drawn(*arrow)) {
                if layer[end] <= layer[begin] {
                    layer[end] = layer[begin] + 1;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        let mut ranks = Self { layer, count, steps: Vec::new(), runs: Vec::new(), order: Vec::new() };
        for (arrow, turned) in forward.iter().zip(back) {
            let run = if is_drawn(*arrow) { ranks.run(*arrow) } else { Vec::new() };
            ranks.runs.push((run, turned));
        }
        ranks.order = vec![Vec::new(); ranks.layer.iter().max().map_or(0, |last| last + 1)];
        for (item, layer) in ranks.layer.iter().enumerate() {
            ranks.order[*layer].push(item);
        }
        ranks
    }

    /// An arrow with a bend in each layer that it passes.
    fn run(&mut self, (begin, end): (usize, usize)) -> Vec<usize> {
        let mut run = vec![begin];
        for layer in self.layer[begin] + 1..self.layer[end] {
            let bend = self.layer.len();
            self.layer.push(layer);
            self.steps.push((run[run.len() - 1], bend));
            run.push(bend);
        }
        self.steps.push((run[run.len() - 1], end));
        run.push(end);
        run
    }

    /// Keeps the order with the fewest crossings.
    fn untangle(&mut self) {
        let mut best = (self.crossings(), self.order.clone());
        for sweep in 0..SWEEPS {
            let is_down = sweep % 2 == 0;
            let layers: Vec<usize> = match is_down {
                true => (1..self.order.len()).collect(),
                false => (0..self.order.len().saturating_sub(1)).rev().collect(),
            };
            for layer in layers {
                self.sort(layer, is_down);
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.order.clone());
            }
        }
        self.order = best.1;
    }

    /// Puts each item of a layer where the middle of its neighbours to the left, or to the right, is.
    fn sort(&mut self, layer: usize, by_left: bool) {
        let places = self.places();
        let middle = |item: usize| -> Option<usize> {
            let mut beside: Vec<usize> = self.beside(item, by_left).map(|item| places[item]).collect();
            beside.sort_unstable();
            beside.get(beside.len() / 2).copied()
        };
        let mut keyed: Vec<(usize, usize, usize)> = self.order[layer]
            .iter()
            .enumerate()
            .map(|(place, item)| (middle(*item).unwrap_or(place), place, *item))
            .collect();
        keyed.sort_unstable();
        self.order[layer] = keyed.into_iter().map(|(_, _, item)| item).collect();
    }

    fn beside(&self, item: usize, to_left: bool) -> impl Iterator<Item = usize> {
        self.steps.iter().filter_map(move |(begin, end)| match to_left {
            true => (*end == item).then_some(*begin),
            false => (*begin == item).then_some(*end),
        })
    }

    /// The place of each item in its layer.
    fn places(&self) -> Vec<usize> {
        let mut places = vec![0; self.layer.len()];
        for layer in &self.order {
            for (place, item) in layer.iter().enumerate() {
                places[*item] = place;
            }
        }
        places
    }

    fn crossings(&self) -> usize {
        let places = self.places();
        let mut by_layer: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        for (begin, end) in &self.steps {
            by_layer.entry(self.layer[*begin]).or_default().push((places[*begin], places[*end]));
        }
        let crossing = |(a, b): (usize, usize), (c, d): (usize, usize)| (a < c && b > d) || (a > c && b < d);
        by_layer
            .values()
            .flat_map(|steps| steps.iter().enumerate().map(move |(place, one)| (one, &steps[place + 1..])))
            .map(|(one, others)| others.iter().filter(|other| crossing(*one, **other)).count())
            .sum()
    }

    fn height(&self, item: usize, sizes: Sizes) -> i32 {
        if item < self.count { sizes.height } else { BEND_HEIGHT }
    }

    /// The layers of each part that no arrow joins to another, and every layer in the order of the parts.
    fn apart(&mut self) -> Vec<Vec<Vec<usize>>> {
        let mut part: Vec<usize> = (0..self.layer.len()).collect();
        // As often as the longest way has steps; each takes the least number that it meets.
        loop {
            let mut moved = false;
            for (begin, end) in &self.steps {
                let least = part[*begin].min(part[*end]);
                moved |= part[*begin] != least || part[*end] != least;
                (part[*begin], part[*end]) = (least, least);
            }
            if !moved {
                break;
            }
        }
        for layer in &mut self.order {
            layer.sort_by_key(|item| part[*item]);
        }
        let mut parts: BTreeMap<usize, Vec<Vec<usize>>> = BTreeMap::new();
        for (place, layer) in self.order.iter().enumerate() {
            for item in layer {
                let layers = parts.entry(part[*item]).or_insert_with(|| vec![Vec::new(); self.order.len()]);
                layers[place].push(*item);
            }
        }
        parts.into_values().collect()
    }

    /// The upper edge of each item: part by part, from above.
    fn tops(&self, parts: &[Vec<Vec<usize>>], sizes: Sizes) -> Vec<i32> {
        let mut tops = vec![0; self.layer.len()];
        let mut top = sizes.margin;
        for layers in parts {
            self.place(&mut tops, layers, sizes);
            top = self.pack(&mut tops, layers, (top, sizes)) + sizes.between;
        }
        tops
    }

    /// One below the other, then drawn towards their neighbours as far as there is room.
    fn place(&self, tops: &mut [i32], layers: &[Vec<usize>], sizes: Sizes) {
        for layer in layers {
            let mut y = 0;
            for item in layer {
                tops[*item] = y;
                y += self.height(*item, sizes) + sizes.between;
            }
        }
        for sweep in 0..SWEEPS {
            let by_left = sweep % 2 == 0;
            let mut order: Vec<&Vec<usize>> = layers.iter().collect();
            if !by_left {
                order.reverse();
            }
            for layer in order {
                self.draw_near(tops, layer, (by_left, sizes));
            }
        }
    }

    /// Moves a part to begin at `top`, and together until it is as high as its fullest layer. Gives where it ends.
    fn pack(&self, tops: &mut [i32], layers: &[Vec<usize>], (top, sizes): (i32, Sizes)) -> i32 {
        let taken = |item: &usize| self.height(*item, sizes) + sizes.between;
        let tall = |layer: &Vec<usize>| (layer.iter().map(taken).sum::<i32>() - sizes.between).max(0);
        let height = layers.iter().map(tall).max().unwrap_or(0);
        let mut all: Vec<i32> = layers.iter().flatten().map(|item| tops[*item]).collect();
        all.sort_unstable();
        let begin = all.get(all.len() / 2).map_or(0, |middle| middle - height / 2);
        for layer in layers {
            // Between what stands above it in its layer and what stands below there is always room.
            let (mut least, mut most) = (begin, begin + height - tall(layer));
            for item in layer {
                tops[*item] = tops[*item].clamp(least, most) - begin + top;
                least += taken(item);
                most += taken(item);
            }
        }
        top + height
    }

    fn draw_near(&self, tops: &mut [i32], items: &[usize], (by_left, sizes): (bool, Sizes)) {
        let wanted: Vec<i32> = items
            .iter()
            .map(|item| {
                let centres: Vec<i32> = self
                    .beside(*item, by_left)
                    .map(|other| tops[other] + self.height(other, sizes) / 2)
                    .collect();
                let count = i32::try_from(centres.len()).unwrap_or(i32::MAX);
                match count {
                    0 => tops[*item],
                    count => centres.iter().sum::<i32>() / count - self.height(*item, sizes) / 2,
                }
            })
            .collect();
        // From above each takes what it wants, or the next free place; what was pushed down too far moves the whole
        // layer up again by half.
        let mut free = i32::MIN;
        let mut pushed = 0;
        for (item, wanted) in items.iter().zip(&wanted) {
            let y = (*wanted).max(free);
            pushed = pushed.max(y - wanted);
            tops[*item] = y;
            free = y + self.height(*item, sizes) + sizes.between;
        }
        for item in items {
            tops[*item] -= pushed / 2;
        }
    }
}

#[cfg(test)]
mod tests;
