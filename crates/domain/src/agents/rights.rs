//! Who may do what with an agent.

/// Something done with one agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AgentAct {
    /// Change what is said about it.
    Change,
    /// Give it another owner.
    ChangeOwner,
    /// Say that it is alive.
    Heartbeat,
    /// Have it take no new work.
    Drain,
    /// Have it take work again.
    Resume,
    /// Retire it.
    Deactivate,
    /// Take, keep and give back its locks.
    Lock,
    /// Claim tasks for it, and report on them.
    Work,
}

/// What the caller is to the agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Relation {
    /// The agent itself.
    pub is_itself: bool,
    /// Who answers for it.
    pub is_owner: bool,
    /// An admin of its organization.
    pub is_org_admin: bool,
    /// Whether the credential may change agents at all.
    pub may_write: bool,
}

/// Whether the caller may. Of itself an agent needs no permission to say that it lives, or that it has enough.
#[must_use]
pub const fn may(act: AgentAct, relation: Relation) -> bool {
    let Relation { is_itself, is_owner, is_org_admin, may_write } = relation;
    match act {
        AgentAct::Change | AgentAct::Resume | AgentAct::Deactivate => may_write && (is_owner || is_org_admin),
        AgentAct::ChangeOwner => may_write && is_org_admin,
        AgentAct::Heartbeat => is_itself || may_write && is_owner,
        // Whether the credential may take locks or report at all is another question than whose.
        AgentAct::Lock | AgentAct::Work => is_itself || is_owner,
        AgentAct::Drain => is_itself || may_write && (is_owner || is_org_admin),
    }
}
