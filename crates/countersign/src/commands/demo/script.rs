//! What the agents of the demo propose.

use serde_json::{Map, Value, json};

/// Something an agent wants to do.
pub(super) struct Proposal {
    pub(super) agent: &'static str,
    /// A name that others refer to.
    pub(super) slug: &'static str,
    /// Where it stands in the plan.
    pub(super) path: &'static str,
    pub(super) config: Value,
    /// What the agent says it would change: what is done to what.
    pub(super) changes: &'static [(&'static str, &'static str, &'static str)],
    /// What must be done before it.
    pub(super) after: &'static [&'static str],
}

impl Proposal {
    /// The changes as a preview has them.
    pub(super) fn preview(&self) -> Vec<Map<String, Value>> {
        let change = |(kind, resource, detail): &(&str, &str, &str)| {
            [("kind", kind), ("resource", resource), ("description", detail)]
                .into_iter()
                .map(|(name, value)| (name.to_owned(), json!(value)))
                .collect()
        };
        self.changes.iter().map(change).collect()
    }

    /// What people call it.
    pub(super) fn title(&self) -> &str {
        self.config["description"].as_str().unwrap_or(self.slug)
    }
}

/// This morning: all of it is over when the curtain rises.
pub(super) fn morning() -> Vec<Proposal> {
    vec![
        Proposal {
            agent: "report-builder",
            slug: "morning-report",
            path: "reports/daily",
            config: json!({
                "type": "report", "description": "Build the revenue report of yesterday", "declared_risk": "trivial",
                "resources": [{"type": "report", "id": "revenue-daily"}],
                "parameters": {"day": "yesterday", "currency": "EUR"}, "rollback_strategy": "none"
            }),
            changes: &[("create", "report:revenue-daily", "one new page")],
            after: &[],
        },
        Proposal {
            agent: "release-pilot",
            slug: "roll-out-cart-41",
            path: "release/cart",
            config: json!({
                "type": "deployment", "description": "Roll out cart 41 to two of eight replicas",
                "resources": [{"type": "service", "id": "cart"}], "declared_risk": "low",
                "parameters": {"image": "registry.example.org/cart:41", "replicas": 2}, "rollback_strategy": "automatic"
            }),
            changes: &[("update", "service:cart", "image cart:40 → cart:41 on 2 of 8 replicas")],
            after: &[],
        },
        Proposal {
            agent: "edge-warden",
            slug: "renew-certificate",
            path: "network/certificates",
            config: json!({
                "type": "certificate", "description": "Renew the certificate of shop.example.org",
                "resources": [{"type": "certificate", "id": "shop.example.org"}], "declared_risk": "medium",
                "parameters": {"days": 90, "fails": true}, "rollback_strategy": "automatic"
            }),
            changes: &[("update", "certificate:shop.example.org", "valid until 90 days from now")],
            after: &[],
        },
        Proposal {
            agent: "edge-warden",
            slug: "open-admin-port",
            path: "network/firewall",
            config: json!({
                "type": "network", "description": "Open port 8443 of the admin network to the office",
                "resources": [{"type": "firewall", "id": "admin"}], "declared_risk": "medium",
                "parameters": {"port": 8443, "from": ["0.0.0.0/0"]}, "rollback_strategy": "manual"
            }),
            changes: &[("create", "firewall:admin", "allow 8443 from 4,294,967,296 addresses")],
            after: &[],
        },
    ]
}

/// What waits for somebody now, the most dangerous first.
pub(super) fn waiting() -> Vec<Proposal> {
    let mut proposals = order_migration();
    proposals.extend([
        Proposal {
            agent: "edge-warden",
            slug: "open-partner-range",
            path: "network/firewall",
            config: json!({
                "type": "network", "description": "Let the warehouse partner reach the order API",
                "resources": [{"type": "firewall", "id": "edge"}], "declared_risk": "medium", "priority": 70,
                "parameters": {"port": 443, "from": ["10.20.0.0/16"]}, "rollback_strategy": "manual"
            }),
            changes: &[("create", "firewall:edge", "allow 443 from 65,536 addresses (10.20.0.0/16)")],
            after: &[],
        },
        small(
            "refresh-statistics",
            "Refresh the statistics of staging-orders",
            ("database", "staging-orders"),
        ),
        small("vacuum-staging", "Vacuum the tables of staging-billing", ("database", "staging-billing")),
        small(
            "stop-idle-workers",
            "Stop three workers of staging that nobody has used for a month",
            ("service", "staging-workers"),
        ),
    ]);
    proposals
}

/// Three steps, each after the one before.
fn order_migration() -> Vec<Proposal> {
    let orders = json!([{"type": "database", "id": "prod-orders"}]);
    vec![
        Proposal {
            agent: "schema-steward",
            slug: "add-shipped-at",
            path: "orders/schema",
            config: json!({
                "type": "database", "description": "Add the column shipped_at to orders", "resources": orders,
                "declared_risk": "medium", "priority": 80, "rollback_strategy": "automatic",
                "parameters": {"statement": "ALTER TABLE orders ADD COLUMN shipped_at timestamptz;"}
            }),
            changes: &[(
                "update",
                "database:prod-orders",
                "orders: one more column, 412,806,113 rows untouched",
            )],
            after: &[],
        },
        Proposal {
            agent: "release-pilot",
            slug: "roll-out-orders-88",
            path: "orders/release",
            config: json!({
                "type": "deployment", "description": "Roll out orders 88, which writes shipped_at", "priority": 60,
                "resources": [{"type": "service", "id": "orders"}], "declared_risk": "low",
                "parameters": {"image": "registry.example.org/orders:88"}, "rollback_strategy": "automatic"
            }),
            changes: &[("update", "service:orders", "image orders:87 → orders:88 on 12 replicas")],
            after: &["add-shipped-at"],
        },
        Proposal {
            agent: "schema-steward",
            slug: "drop-legacy-status",
            path: "orders/schema",
            config: json!({
                "type": "database", "description": "Drop the column legacy_status of orders", "resources": orders,
                "declared_risk": "critical", "priority": 40, "rollback_strategy": "none",
                "parameters": {"statement": "ALTER TABLE orders DROP COLUMN legacy_status;"}
            }),
            changes: &[("delete", "database:prod-orders", "orders.legacy_status, 3.1 GB")],
            after: &["roll-out-orders-88"],
        },
    ]
}

/// One of those that come all day long.
pub(super) fn another(number: usize) -> Proposal {
    let routine = [
        ("rebuild-search-index", "Rebuild the search index of staging", ("service", "staging-search")),
        (
            "expire-sessions",
            "Delete the sessions of staging that ended a week ago",
            ("database", "staging-web"),
        ),
        ("resize-report-cache", "Give the cache of the reports 512 MB more", ("report", "cache")),
        ("warm-price-list", "Warm the cached price list", ("report", "price-list")),
    ];
    let (slug, title, resource) = routine[number % routine.len()];
    small(slug, title, resource)
}

fn small(slug: &'static str, title: &str, (kind, id): (&str, &str)) -> Proposal {
    Proposal {
        agent: "cost-scout",
        slug,
        path: "housekeeping",
        config: json!({
            "type": "maintenance", "description": title, "resources": [{"type": kind, "id": id}],
            "declared_risk": "trivial", "priority": 30, "rollback_strategy": "automatic", "idempotent": true,
            "max_retries": 1
        }),
        changes: &[],
        after: &[],
    }
}
