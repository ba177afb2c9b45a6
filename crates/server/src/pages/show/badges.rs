//! Risks, states and people: each a shape and a word, never a colour alone.

use domain::risk::RiskLevel;
use domain::tasks::{Task, TaskState};
use hub::tasks::Seen;

use super::Markup;
use super::filters::symbol;

/// More signatures than this are told in digits only.
const SEATS_DRAWN_MAX: u32 = 8;

/// Bars, word and number.
pub(crate) fn risk(level: RiskLevel, score: Option<u32>) -> Markup {
    let class = level.as_str().to_ascii_lowercase();
    let mut markup = Markup::default();
    let bars = symbol(&format!("r-{class}"), "i");
    markup.raw(format_args!("<span class=\"risk risk-{class}\">{bars}{}", level.as_str()));
    if let Some(score) = score {
        markup.raw(format_args!(" {score}"));
    }
    markup.raw(format_args!("</span>"));
    markup
}

/// The risk of a task; that of a draft without a number, and marked as what is foreseen.
pub(crate) fn risk_of(task: &Task, shows_score: bool) -> Markup {
    if task.is_scored() {
        return risk(task.risk.level, shows_score.then_some(task.risk.score));
    }
    let mut markup = risk(task.risk.level, None);
    markup.raw(format_args!(" <span class=\"muted small\">foreseen</span>"));
    markup
}

/// The state of a task.
pub(crate) fn pill(state: TaskState) -> Markup {
    let class = state.as_str().to_ascii_lowercase();
    let (first, rest) = state.as_str().split_at(1);
    let shape = symbol(&format!("s-{class}"), "i");
    let mut markup = Markup::default();
    markup.raw(format_args!(
        "<span class=\"pill pill-{class}\">{shape}{first}{}</span>",
        rest.to_ascii_lowercase()
    ));
    markup
}

/// The state of a task that is at hand with its newest attempt: what failed and is being undone says so. Its state is
/// still APPLYING then, which would say the opposite.
pub(crate) fn pill_of(seen: &Seen) -> Markup {
    if seen.task.state != TaskState::Applying || seen.undoing().is_none() {
        return pill(seen.task.state);
    }
    let mut markup = Markup::default();
    let shape = symbol("rollback", "i");
    markup.raw(format_args!("<span class=\"pill pill-undoing\">{shape}Rolling back</span>"));
    markup
}

/// One disc a signature, those that are there filled.
pub(crate) fn seats(given: u32, needed: u32) -> Markup {
    let mut markup = Markup::default();
    if needed <= SEATS_DRAWN_MAX {
        markup.raw(format_args!("<span class=\"seats\" aria-hidden=\"true\">"));
        for place in 0..needed {
            let class = if place < given { " class=\"on\"" } else { "" };
            markup.raw(format_args!("<i{class}></i>"));
        }
        markup.raw(format_args!("</span>"));
    }
    markup.raw(format_args!(" {given} of {needed}<span class=\"sr\"> signatures</span>"));
    markup
}

/// What stands for a kind of resource; the kind itself is in words beside it.
pub(crate) fn resource_icon(kind: &str) -> &'static str {
    match kind {
        "database" | "table" | "schema" => "database",
        "firewall" | "network" => "wall",
        "service" | "deployment" | "app" => "deploy",
        "certificate" | "cert" => "cert",
        "payment" | "invoice" | "refund" => "money",
        _ => "layers",
    }
}

/// Somebody: people are round, agents square.
#[derive(Clone, Debug)]
pub(crate) struct Face {
    /// What people call them.
    pub(crate) name: String,
    /// Whether it is a program.
    pub(crate) is_agent: bool,
    /// Whether it is whoever looks at the page.
    pub(crate) is_me: bool,
}

impl Face {
    /// The round or square alone.
    pub(crate) fn avatar(&self) -> Markup {
        self.drawn("")
    }

    /// The same, larger.
    pub(crate) fn large(&self) -> Markup {
        self.drawn(" av-lg")
    }

    fn drawn(&self, size: &str) -> Markup {
        let mut markup = Markup::default();
        let kind = match (self.is_agent, self.is_me) {
            (true, _) => " av-agent",
            (false, true) => " av-me",
            (false, false) => "",
        };
        markup.raw(format_args!("<span class=\"av{kind}{size}\" aria-hidden=\"true\">"));
        match self.is_agent {
            true => markup.raw(format_args!("{}", symbol("agent", "i"))),
            false => markup.text(&initials(&self.name)),
        }
        markup.raw(format_args!("</span>"));
        markup
    }

    /// With the name.
    pub(crate) fn who(&self) -> Markup {
        let mut markup = Markup::default();
        let name = super::line(&self.name);
        markup.raw(format_args!("<span class=\"who\">{}<span>{name}</span></span>", self.avatar()));
        markup
    }

    /// Its symbol, where there is no room for a face.
    pub(crate) const fn symbol(&self) -> &'static str {
        if self.is_agent { "agent" } else { "user" }
    }

    /// The name alone.
    pub(crate) fn named(&self) -> Markup {
        super::line(&self.name)
    }
}

/// `ML` of `Mara Lindqvist`.
fn initials(name: &str) -> String {
    let mut words = name.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let (first, last) = (words.next(), words.next_back());
    let letters = [first, last].into_iter().flatten().filter_map(|word| word.chars().next());
    letters.flat_map(char::to_uppercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_round_and_agents_square() {
        let face = |name: &str, is_agent| Face { name: name.into(), is_agent, is_me: false };
        assert_eq!(
            face("Mara de Lindqvist", false).avatar().to_string(),
            "<span class=\"av\" aria-hidden=\"true\">ML</span>"
        );
        assert_eq!(initials("ada"), "A");
        assert_eq!(initials("<b>"), "B");
        assert_eq!(initials("\u{202e}"), "");
        let agent = face("<steward>", true).who().to_string();
        assert!(agent.contains("av-agent") && agent.contains("&#60;steward&#62;"), "{agent}");
    }

    #[test]
    fn a_badge_says_it_in_words_too() {
        let shown = risk(RiskLevel::High, Some(68)).to_string();
        assert!(shown.contains("HIGH 68") && shown.contains("#r-high"), "{shown}");
        let shown = pill(TaskState::Reviewing).to_string();
        assert!(shown.contains(">Reviewing<") || shown.contains("Reviewing</span>"), "{shown}");
        assert_eq!(seats(1, 2).to_string().matches("<i").count(), 2);
        assert!(!seats(1, 200).to_string().contains("<i"));
    }
}
