//! Rows that no route makes yet, written behind the hub's back.

use domain::Id;
use domain::secrets::SecretKind;
use testkit::TestHub;

use super::id_in;
use crate::backdoor::Backdoor;
use crate::support::get;

/// An agent of the owner of a key, without a credential; its account.
pub(crate) async fn agent(hub: &TestHub, backdoor: &Backdoor, owner_key: &str, name: &str) -> String {
    let me = get(hub, owner_key, "/api/v1/me").await;
    let (owner, org) = (id_in(&me["account"], "id"), id_in(&me["organization"], "id"));
    let id = hub.hub.ids.fresh();
    // Times come from the owner's row, so that one text serves both engines.
    let text = format!(
        "INSERT INTO accounts
             (id, email, display_name, access_level, status, home_org_id, created_at, updated_at)
         SELECT '{id}', '{id}@agents.example', '{name}', 'service', 'active', '{org}', created_at, created_at
         FROM accounts WHERE id = '{owner}';
         INSERT INTO agents
             (id, org_id, owner_id, name, description, max_tasks, labels, config, draining, offline_since,
              created_at, updated_at)
         SELECT '{id}', '{org}', '{owner}', '{name}', '', 1, '{{}}', '{{}}', false, created_at,
                created_at, created_at
         FROM accounts WHERE id = '{owner}'",
    );
    backdoor.run(&text).await;
    hub.seat(Id::new(id), org.parse().unwrap()).await;
    id.to_string()
}

/// A login of an account in an organization; its token.
pub(crate) async fn login(backdoor: &Backdoor, org: &str, account: &str) -> String {
    let secret = hub::ids::secret(SecretKind::Login).unwrap();
    testkit::watch::secret(secret.expose());
    let id = uuid::Uuid::from_bytes(hub::ids::random().unwrap());
    let text = format!(
        "INSERT INTO login_sessions
             (id, org_id, account_id, minted_by, token_hash, method, last_active_at, expires_at, created_at,
              updated_at)
         SELECT '{id}', '{org}', '{account}', '{account}', {hash}, 'password', created_at, {tomorrow},
                created_at, created_at
         FROM accounts WHERE id = '{account}'",
        hash = backdoor.bytes(&secret.hash()),
        tomorrow = backdoor.a_day_after("created_at"),
    );
    backdoor.change(&text).await;
    secret.expose().to_owned()
}

/// A password of an account that nobody knows.
pub(crate) async fn password(backdoor: &Backdoor, account: &str) {
    let text = format!(
        "INSERT INTO passwords (account_id, hash, set_by, created_at, updated_at)
         SELECT id, 'unknown', id, created_at, created_at FROM accounts WHERE id = '{account}'"
    );
    backdoor.change(&text).await;
}

/// An archive with one task in it; the ids of both. Whoever wants one that proves itself lets the hub write it.
pub(crate) async fn archive(backdoor: &Backdoor, org: &str) -> (String, String) {
    let [archive, task, blob] = [(); 3].map(|()| uuid::Uuid::from_bytes(hub::ids::random().unwrap()));
    let line = b"{}\n";
    let of_org = |values: String| format!("SELECT {values} FROM organizations WHERE id = '{org}'");
    let times = "created_at, created_at";
    let text = format!(
        "INSERT INTO blobs (id, org_id, kind, size, created_at, updated_at) {};
         INSERT INTO blob_chunks (blob_id, number, bytes, created_at, updated_at) {};
         INSERT INTO archives
             (id, org_id, blob_id, audit_id, tasks, approvals, bytes, sha256, first_ended_at, last_ended_at,
              created_at, updated_at) {};
         INSERT INTO archived_tasks
             (task_id, org_id, archive_id, line_offset, line_bytes, created_at, updated_at) {}",
        of_org(format!("'{blob}', id, 'archive', {}, {times}", line.len())),
        of_org(format!("'{blob}', 0, {}, {times}", backdoor.bytes(line))),
        of_org(format!(
            "'{archive}', id, '{blob}', '{archive}', 1, 0, {}, {}, {times}, {times}",
            line.len(),
            backdoor.bytes(&domain::canonical::sha256(line))
        )),
        of_org(format!("'{task}', id, '{archive}', 0, {}, {times}", line.len())),
    );
    backdoor.run(&text).await;
    (archive.to_string(), task.to_string())
}
