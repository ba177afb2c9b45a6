//! Tasks come back as they went in, are found by everything they can be looked for, and change under their version.

use domain::accounts::Account;
use domain::canonical::Sha256Hash;
use domain::organizations::Organization;
use domain::projects::Project;
use domain::resource_catalogue::ResourceCatalogue;
use domain::risk::{History, RiskInputs, assess};
use domain::tasks::comments::Comment;
use domain::tasks::dependencies::Edge;
use domain::tasks::{
    Behind, DeclaredRisk, Mode, Provenance, Resource, Revision, Task, TaskState, TaskStatus,
};
use domain::{Id, Timestamp};
use records::tasks::{Filter, list};
use records::{Error, Result, projects, task_comments, task_dependencies, task_revisions, tasks};
use serde_json::{Map, json};
use uuid::Uuid;

use crate::people::tenant;
use crate::support::{Ground, NOW, assert_error, on_both_engines};

on_both_engines!(
    a_task_comes_back_as_it_went_in,
    what_differs_is_saved_and_nothing_else,
    a_stale_version_is_a_lost_race,
    every_filter_finds_its_own,
    pages_meet_without_gaps,
    edges_are_followed_all_the_way_down,
    a_deleted_task_takes_everything_along,
);

type Tenant = (Id<Organization>, Id<Account>, Id<Project>);

async fn ground_of(ground: &Ground, number: u128) -> Tenant {
    let (org, owner) = tenant(ground, number).await;
    let id = Id::new(Uuid::from_u128(number << 64 | 3));
    let project = Project {
        id,
        org_id: org,
        name: "Default".into(),
        slug: "default".into(),
        created_at: NOW,
        updated_at: NOW,
    };
    let added: Result<()> =
        ground.db.write(project, |tx, project| Box::pin(projects::insert(tx, project))).await;
    added.unwrap();
    (org, owner, id)
}

fn task((org, author, project): Tenant, number: u128) -> Task {
    let catalogue = ResourceCatalogue::default();
    let at = Timestamp::from_micros(NOW.micros() + i64::try_from(number & 0xffff).unwrap());
    let risk = assess(&RiskInputs {
        resources: &[],
        declared: DeclaredRisk::Medium,
        preview: None,
        catalogue: &catalogue,
        dependents: 0,
        history: History::default(),
        thresholds: [25, 50, 75],
        now: NOW,
    });
    Task {
        id: Id::new(Uuid::from_u128(number)),
        org_id: org,
        project_id: project,
        author_id: author,
        slug: None,
        path: None,
        state: TaskState::Draft,
        status: TaskStatus::Pending,
        revision: 1,
        content_hash: Sha256Hash::of(b"{}"),
        version: 1,
        task_type: "infrastructure".into(),
        priority: 50,
        assignee: None,
        due_at: None,
        tags: Vec::new(),
        metadata: Map::new(),
        risk,
        preview: None,
        effect_hash: None,
        review_id: None,
        queue_rank: 50,
        not_before: None,
        needs_attention: false,
        resubmitted_from: None,
        submitted_at: None,
        approved_at: None,
        applying_at: None,
        completed_at: None,
        ended_at: None,
        created_at: at,
        updated_at: at,
    }
}

fn resource(id: &str) -> Resource {
    Resource { kind: "database".into(), id: id.into(), mode: Mode::Exclusive }
}

async fn add(ground: &Ground, task: &Task, resources: &[Resource]) {
    let revision = Revision {
        id: Id::new(Uuid::from_u128(task.id.raw().as_u128() | 1 << 100)),
        task_id: task.id,
        number: 1,
        config: b"{}".to_vec(),
        content_hash: task.content_hash,
        edited_by: task.author_id,
        provenance: Provenance::default().with(&Behind::act(task.author_id, &[], task.author_id)),
        created_at: task.created_at,
    };
    let added: Result<()> = ground
        .db
        .write((task.clone(), resources.to_vec(), revision), |tx, (task, resources, revision)| {
            Box::pin(async move {
                tasks::insert(tx, task, resources).await?;
                task_revisions::insert(tx, task.org_id, revision).await
            })
        })
        .await;
    added.unwrap();
}

async fn read(ground: &Ground, task: &Task) -> Option<Task> {
    let input = (task.org_id, task.id);
    let read: Result<Option<Task>> =
        ground.db.read(input, |tx, &(org, id)| Box::pin(tasks::get(tx, org, id))).await;
    read.unwrap()
}

async fn save(ground: &Ground, before: &Task, after: &Task) -> Result<()> {
    let input = (before.clone(), after.clone());
    ground.db.write(input, |tx, (before, after)| Box::pin(tasks::save(tx, before, after))).await
}

fn filled(mut task: Task, replaced: &Task) -> Task {
    let at = |more| Some(Timestamp::from_micros(NOW.micros() + more));
    task.slug = Some("add-index".into());
    task.path = Some("implementation/database".into());
    task.state = TaskState::Failed;
    task.status = TaskStatus::Failed;
    task.revision = 3;
    task.content_hash = Sha256Hash::of(b"other");
    task.priority = 90;
    task.assignee = Some(task.author_id);
    task.due_at = at(1);
    task.tags = vec!["db".into(), "é \"quoted\"".into()];
    task.metadata = Map::from_iter([("team".to_owned(), json!({"a": [1, 2.5, null]}))]);
    task.preview = Some(json!({"changes": [], "warnings": [], "errors": [], "made_by": "author"}));
    task.effect_hash = Some(Sha256Hash::of(b"effect"));
    task.review_id = Some(Id::new(Uuid::from_u128(77)));
    (task.queue_rank, task.not_before) = (10, at(7));
    task.needs_attention = true;
    task.resubmitted_from = Some(replaced.id);
    (task.submitted_at, task.approved_at, task.applying_at) = (at(2), at(3), at(4));
    (task.completed_at, task.ended_at) = (at(5), at(6));
    task.risk.auto_approvable = true;
    task
}

async fn a_task_comes_back_as_it_went_in(ground: Ground) {
    let tenant = ground_of(&ground, 1).await;
    let plain = task(tenant, 10);
    add(&ground, &plain, &[]).await;
    assert_eq!(read(&ground, &plain).await.as_ref(), Some(&plain));
    let full = filled(task(tenant, 11), &plain);
    add(&ground, &full, &[resource("a"), resource("b")]).await;
    assert_eq!(read(&ground, &full).await.as_ref(), Some(&full));
    let other = ground_of(&ground, 2).await;
    assert_eq!(read(&ground, &Task { org_id: other.0, ..full }).await, None, "another tenant's");
}

async fn what_differs_is_saved_and_nothing_else(ground: Ground) {
    let tenant = ground_of(&ground, 1).await;
    let (first, second) = (task(tenant, 10), task(tenant, 11));
    add(&ground, &first, &[]).await;
    add(&ground, &second, &[]).await;
    let touched = Task { version: 2, ..second.clone() };
    save(&ground, &second, &touched).await.unwrap();
    assert_eq!(read(&ground, &second).await.as_ref(), Some(&touched));
    let described = Task { version: 3, priority: 1, tags: vec!["x".into(), "y".into()], ..touched.clone() };
    save(&ground, &touched, &described).await.unwrap();
    assert_eq!(read(&ground, &second).await.as_ref(), Some(&described));
    let advanced = Task { version: 4, state: TaskState::Reviewing, ..described.clone() };
    save(&ground, &described, &advanced).await.unwrap();
    assert_eq!(read(&ground, &second).await.as_ref(), Some(&advanced));
    let all = Task { version: 5, ..filled(advanced.clone(), &first) };
    save(&ground, &advanced, &all).await.unwrap();
    assert_eq!(read(&ground, &second).await.as_ref(), Some(&all));
    assert_eq!(read(&ground, &first).await.as_ref(), Some(&first), "nobody spoke of it");
    let tags = "SELECT count(*) FROM task_tags WHERE tag IN ('x', 'y')";
    assert_eq!(ground.count_behind_its_back(tags).await, 0);
}

async fn a_stale_version_is_a_lost_race(ground: Ground) {
    let tenant = ground_of(&ground, 1).await;
    let before = task(tenant, 10);
    add(&ground, &before, &[]).await;
    let stale = Task { version: 7, ..before.clone() };
    for after in [
        Task { version: 8, ..before.clone() },
        Task { version: 8, priority: 1, ..before.clone() },
        Task { version: 8, state: TaskState::Approved, ..before.clone() },
    ] {
        assert_error!(save(&ground, &stale, &after).await, Error::LostRace { .. });
    }
    let deleted: Result<()> = ground.db.write(stale, |tx, stale| Box::pin(tasks::delete(tx, stale))).await;
    assert_error!(deleted, Error::LostRace { .. });
    assert_eq!(read(&ground, &before).await, Some(before));
}

async fn found(ground: &Ground, org: Id<Organization>, filter: Filter, limit: i64) -> Vec<u128> {
    let found: Result<Vec<Task>> = ground
        .db
        .read((org, filter, limit), |tx, (org, filter, limit)| Box::pin(list(tx, *org, filter, *limit)))
        .await;
    found.unwrap().iter().map(|task| task.id.raw().as_u128()).collect()
}

async fn every_filter_finds_its_own(ground: Ground) {
    let tenant = ground_of(&ground, 1).await;
    let (org, author, project) = tenant;
    let other = ground_of(&ground, 2).await;
    add(&ground, &filled(task(other, 99), &task(other, 99)), &[resource("a")]).await;
    let path = |path: &str| Some(path.to_owned());
    add(&ground, &Task { path: path("impl"), ..task(tenant, 10) }, &[resource("a"), resource("b")]).await;
    let tags = vec!["db".to_owned(), "x".to_owned()];
    add(&ground, &Task { tags, path: path("impl/Zoo"), ..task(tenant, 11) }, &[resource("a")]).await;
    let state = TaskState::Approved;
    add(&ground, &Task { state, path: path("impl/a"), ..task(tenant, 12) }, &[]).await;
    let status = TaskStatus::Blocked;
    add(&ground, &Task { status, tags: vec!["db".into()], path: path("imq"), ..task(tenant, 13) }, &[]).await;
    add(&ground, &Task { assignee: Some(author), path: path("Impl"), ..task(tenant, 14) }, &[]).await;
    let none = Filter::default;
    for (filter, expected) in [
        (none(), vec![14, 13, 12, 11, 10]),
        (Filter { state: Some(TaskState::Approved), ..none() }, vec![12]),
        (Filter { status: Some(TaskStatus::Blocked), ..none() }, vec![13]),
        (Filter { author: Some(author), ..none() }, vec![14, 13, 12, 11, 10]),
        (Filter { author: Some(other.1), ..none() }, vec![]),
        (Filter { assignee: Some(author), ..none() }, vec![14]),
        (Filter { project: Some(project), ..none() }, vec![14, 13, 12, 11, 10]),
        (Filter { project: Some(other.2), ..none() }, vec![]),
        (Filter { resource: Some("database:a".into()), ..none() }, vec![11, 10]),
        (Filter { resource: Some("database:b".into()), ..none() }, vec![10]),
        (Filter { tag: Some("db".into()), ..none() }, vec![13, 11]),
        (Filter { tag: Some("db".into()), resource: Some("database:a".into()), ..none() }, vec![11]),
        (Filter { tag: Some("db".into()), status: Some(TaskStatus::Pending), ..none() }, vec![11]),
        (Filter { path_prefix: path("impl"), ..none() }, vec![12, 11, 10]),
        (Filter { path_prefix: path("impl/"), ..none() }, vec![12, 11]),
        (Filter { path_prefix: path("impl/Zo"), ..none() }, vec![11]),
        (Filter { path_prefix: path("im"), status: Some(TaskStatus::Pending), ..none() }, vec![12, 11, 10]),
    ] {
        assert_eq!(found(&ground, org, filter.clone(), 50).await, expected, "{filter:?}");
    }
}

async fn pages_meet_without_gaps(ground: Ground) {
    let tenant = ground_of(&ground, 1).await;
    for number in 1..=7 {
        // Two at each time, so that the id decides.
        let tags = vec!["t".to_owned()];
        let created_at = Timestamp::from_micros(NOW.micros() + i64::try_from(number / 2).unwrap());
        add(&ground, &Task { tags, created_at, ..task(tenant, number) }, &[resource("a")]).await;
    }
    for filter in [
        Filter::default(),
        Filter { tag: Some("t".into()), ..Filter::default() },
        Filter { resource: Some("database:a".into()), ..Filter::default() },
    ] {
        let (mut after, mut seen) = (None, Vec::new());
        loop {
            let page = found(&ground, tenant.0, Filter { after, ..filter.clone() }, 3).await;
            let Some(last) = page.last() else { break };
            let created_at = Timestamp::from_micros(NOW.micros() + i64::try_from(last / 2).unwrap());
            after = Some((created_at, Id::new(Uuid::from_u128(*last))));
            seen.extend(page);
        }
        assert_eq!(seen, [7, 6, 5, 4, 3, 2, 1], "{filter:?}");
    }
}

fn edge(depends_on: u128, dependent: u128) -> Edge {
    Edge { depends_on: Id::new(Uuid::from_u128(depends_on)), dependent: Id::new(Uuid::from_u128(dependent)) }
}

async fn edges_are_followed_all_the_way_down(ground: Ground) {
    let tenant = ground_of(&ground, 1).await;
    let org = tenant.0;
    for number in 1..=6 {
        add(&ground, &task(tenant, number), &[]).await;
    }
    let edges = [edge(1, 2), edge(2, 3), edge(1, 3), edge(3, 4), edge(5, 4)];
    let done: Result<()> = ground
        .db
        .write(edges, move |tx, edges| {
            Box::pin(async move {
                for (number, edge) in edges.iter().enumerate() {
                    let id = Uuid::from_u128(u128::try_from(number).unwrap_or_default() + 900);
                    task_dependencies::insert(tx, org, (id, *edge), NOW).await?;
                }
                let id = |number| Id::new(Uuid::from_u128(number));
                let mut below = task_dependencies::below(tx, org, id(1)).await?;
                below.sort();
                assert_eq!(below, [edges[0], edges[2], edges[1], edges[3]]);
                assert_eq!(task_dependencies::dependents(tx, org, id(1)).await?, [id(2), id(3)]);
                let blocked = task_dependencies::blocked(tx, org, [id(1), id(3), id(6)]).await?;
                assert_eq!(blocked.into_iter().collect::<Vec<_>>(), [(id(1), 2), (id(3), 1)]);
                let elsewhere = Id::new(Uuid::from_u128(77));
                assert!(task_dependencies::blocked(tx, elsewhere, [id(1)]).await?.is_empty());
                let mut these = tasks::these(tx, org, [id(1), id(6), id(99)]).await?;
                these.sort_by_key(|task| task.id);
                assert_eq!(these.iter().map(|task| task.id).collect::<Vec<_>>(), [id(1), id(6)]);
                assert!(tasks::these(tx, elsewhere, [id(1)]).await?.is_empty());
                let waiting = task_dependencies::prerequisites(tx, org, &[id(4), id(2), id(6)]).await?;
                let pairs: Vec<Edge> = waiting
                    .iter()
                    .map(|waiting| Edge { depends_on: waiting.task_id, dependent: waiting.dependent })
                    .collect();
                assert_eq!(pairs, [edges[0], edges[3], edges[4]], "as they were said");
                let one = task_dependencies::candidate(tx, org, id(3), id(1)).await?;
                assert_eq!(one.map(|one| (one.other_dependents, one.state)), Some((1, TaskState::Draft)));
                task_dependencies::delete(tx, org, edges[1]).await?;
                assert_eq!(task_dependencies::below(tx, org, id(2)).await?, []);
                Ok(())
            })
        })
        .await;
    done.unwrap();
}

async fn a_deleted_task_takes_everything_along(ground: Ground) {
    let tenant = ground_of(&ground, 1).await;
    let (org, author, _) = tenant;
    let (gone, kept) = (Task { tags: vec!["t".into()], ..task(tenant, 1) }, task(tenant, 2));
    add(&ground, &gone, &[resource("a")]).await;
    add(&ground, &kept, &[]).await;
    let done: Result<()> = ground
        .db
        .write(gone, move |tx, gone| {
            Box::pin(async move {
                let comment = Comment {
                    id: Id::new(Uuid::from_u128(50)),
                    org_id: org,
                    task_id: gone.id,
                    author_id: author,
                    author_name: "Owner of 1".into(),
                    body: "why?".into(),
                    created_at: NOW,
                };
                task_comments::insert(tx, &comment).await?;
                let read = task_comments::get(tx, org, gone.id, comment.id).await?;
                assert_eq!(read.as_ref(), Some(&comment));
                assert_eq!(task_comments::list(tx, org, gone.id, None, 5).await?, [comment]);
                let edge = (Uuid::from_u128(60), edge(2, 1));
                task_dependencies::insert(tx, org, edge, NOW).await?;
                let current = task_revisions::current(tx, org, &[gone.id]).await?;
                assert_eq!((current.len(), current[0].author_name.as_str()), (1, "Owner of 1"));
                let revision = task_revisions::get(tx, org, gone.id, 1).await?.unwrap();
                assert!(revision.provenance.includes(author) && revision.config == b"{}");
                assert_eq!(task_revisions::list(tx, org, gone.id, None, 5).await?.len(), 1);
                assert_eq!(task_revisions::list(tx, org, gone.id, Some(1), 5).await?, []);
                assert_eq!(tasks::count_open(tx, gone).await?, 2);
                tasks::delete(tx, gone).await
            })
        })
        .await;
    done.unwrap();
    for table in ["task_comments", "task_dependencies", "task_tags", "task_resources"] {
        assert_eq!(
            ground.count_behind_its_back(&format!("SELECT count(*) FROM {table}")).await,
            0,
            "{table}"
        );
    }
    assert_eq!(ground.count_behind_its_back("SELECT count(*) FROM task_revisions").await, 1);
    assert!(read(&ground, &kept).await.is_some());
}
