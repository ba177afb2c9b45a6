//! Chance that can be repeated.

/// SplitMix64: small, and the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

const SCALARS: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1",
    "-1",
    "40",
    "1.5",
    "1e3",
    "1e400",
    "-1e-400",
    "9007199254740991",
    "9007199254740993",
    "123456789012345678901234567890",
    "1e15",
    "01",
    "+1",
    ".5",
    "1.",
    "0x1",
    "NaN",
    "nul",
    "\"\"",
    "\"ci\"",
    "\"enabled\"",
    "\"events:read\"",
    "\"keys:*\"",
    "\"é😀\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud83d\"",
    "\"\\u0000\"",
    "\"\\x\"",
    "\"\u{202e}\u{200b}\"",
    "\"\t\"",
    "\"2099-01-01T00:00:00Z\"",
    "\"never",
    "\"0197a000-0000-7000-8000-000000000000\"",
    "\"'; DROP TABLE accounts; --\"",
    "\"../../etc/passwd\"",
];
/// Strings that are good JSON, whatever else they are.
const STRINGS: &[&str] = &[
    "\"ci 7\"",
    "\"é😀\"",
    "\"\\ud83d\\ude00\"",
    "\"\u{202e}\u{200b}\"",
    "\"2099-01-01T00:00:00Z\"",
    "\"'; DROP TABLE accounts; --\"",
    "\"\\n\"",
    "\"   \"",
    "\"\\\\u0000\"",
    "\"\u{fffd}\u{ffff}\"",
];
const NAMES: &[&str] = &[
    "name",
    "scopes",
    "account_id",
    "organization_id",
    "expires_at",
    "key",
    "id",
    "",
    "a/b~c",
    "__proto__",
    "na\\u006de",
    "lock:default_ttl",
    "lock:max_ttl",
    "lock:heartbeat_interval",
    "risk:thresholds",
    "approval:on_call",
    "feature:batch_approvals",
    "events:retention",
    "lock:",
    "\\ud800",
];

/// A text that is JSON, or nearly.
pub(crate) fn tree(random: &mut Random, depth: usize) -> String {
    let kinds = if depth == 0 { 1 } else { 4 };
    match random.below(kinds) {
        2 => {
            let items: Vec<String> = (0..random.below(4)).map(|_| tree(random, depth - 1)).collect();
            format!("[{}]", items.join(","))
        }
        3 => {
            let members: Vec<String> = (0..random.below(5)).map(|_| member(random, depth - 1)).collect();
            format!("{{{}}}", members.join(", "))
        }
        _ => random.pick(SCALARS).to_owned(),
    }
}

fn member(random: &mut Random, depth: usize) -> String {
    format!("\"{}\": {}", random.pick(NAMES), tree(random, depth))
}

/// A body: a random tree, a good body with other values in it, or one that something happened to.
pub(crate) fn body(random: &mut Random, good: &str) -> Vec<u8> {
    match random.below(3) {
        0 => tree(random, 6).into_bytes(),
        1 => exchanged(random, good).into_bytes(),
        _ => {
            let mut text = good.as_bytes().to_vec();
            for _ in 0..=random.below(3) {
                mutate(random, &mut text);
            }
            text
        }
    }
}

/// The members of a good body, some with other values, some left out.
fn exchanged(random: &mut Random, good: &str) -> String {
    if let Ok(items) = serde_json::from_str::<Vec<serde_json::Value>>(good) {
        let items: Vec<String> = items.iter().map(|item| exchanged(random, &item.to_string())).collect();
        return format!("[{}]", items.join(", "));
    }
    let members: serde_json::Map<String, serde_json::Value> = serde_json::from_str(good).unwrap();
    let mut texts = Vec::new();
    for (name, value) in members {
        match random.below(4) {
            0 => texts.push(format!("\"{name}\": {value}")),
            1 => texts.push(format!("\"{name}\": {}", tree(random, 2))),
            2 => texts.push(format!("\"{name}\": {}", random.pick(STRINGS))),
            _ => {}
        }
    }
    format!("{{{}}}", texts.join(", "))
}

fn mutate(random: &mut Random, text: &mut Vec<u8>) {
    let place = random.below(text.len() + 1);
    match random.below(7) {
        0 => drop(text.splice(place..place, random.next().to_le_bytes().into_iter().take(1))),
        1 => text.truncate(place),
        2 if place < text.len() => drop(text.remove(place)),
        3 if place < text.len() => text[place] ^= 1 << random.below(8),
        4 => {
            let end = place + random.below(text.len() - place + 1);
            let piece = text[place..end].to_vec();
            drop(text.splice(end..end, piece));
        }
        // One more member, in front of the others.
        _ => {
            let separator = if text.get(1).is_some_and(|byte| *byte == b'}') { "" } else { ", " };
            let more = format!("{}{separator}", member(random, 3));
            let front = text.len().min(1);
            drop(text.splice(front..front, more.into_bytes()));
        }
    }
}
