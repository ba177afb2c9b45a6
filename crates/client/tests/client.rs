//! The client against a small server that answers as a hub does, or as one does not.
#![expect(clippy::unwrap_used, reason = "the lints' exception for tests does not cover helpers")]

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{Response, StatusCode};
use axum::routing::any;
use client::{Client, ClientError};
use tokio::net::TcpListener;
use uuid::Uuid;
use wire::{
    AgentsQuery, AuditQuery, Code, CreateAgent, CreateApiKey, CreateProject, CreateWorkspace, EventsQuery,
    Heartbeat, PageQuery, Problem, ProjectsQuery, Settings, UpdateAgent, UpdateProject, UpdateWorkspace,
};

const KEY: &str = "csk_test_0123456789";

/// Starts a server that answers every request the same way, and a client of it.
async fn hub(answer: fn(Request) -> Response<Body>) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = Router::new().fallback(any(async move |request: Request| answer(request)));
    #[expect(clippy::disallowed_methods, reason = "it ends with the test's runtime")]
    tokio::spawn(async move { axum::serve(listener, router).await });
    Client::new(&url, Some(KEY)).unwrap()
}

fn json(status: u16, content_type: &str, body: impl Into<Body>) -> Response<Body> {
    Response::builder().status(status).header("content-type", content_type).body(body.into()).unwrap()
}

fn problem(code: Code) -> Response<Body> {
    let body = serde_json::to_vec(&Problem::new(code, "because").with("state", "revoked")).unwrap();
    json(code.status(), "application/problem+json", body)
}

/// Answers with the request itself, in the shape of settings, which take any object.
fn echo(request: Request) -> Response<Body> {
    let header = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap());
    let said = serde_json::json!({
        "method": request.method().as_str(),
        "uri": request.uri().to_string(),
        "authorization": header("authorization"),
        "user_agent": header("user-agent"),
        "content_type": header("content-type"),
    });
    json(200, "application/json", said.to_string())
}

#[tokio::test]
async fn a_request_carries_method_path_key_and_agent() {
    let client = hub(echo).await;
    let Settings(said) = client.patch_settings(&Settings::default()).await.unwrap();
    assert_eq!(said["method"], "PATCH");
    assert_eq!(said["uri"], "/api/v1/settings");
    assert_eq!(said["authorization"], format!("Bearer {KEY}"));
    assert_eq!(said["content_type"], "application/json");
    assert!(said["user_agent"].as_str().unwrap().starts_with("countersign-client/"));
}

#[tokio::test]
async fn a_client_without_a_key_sends_none() {
    let url = hub(echo).await.base_url().to_string();
    let Settings(said) = Client::new(&url, None).unwrap().settings().await.unwrap();
    assert_eq!(said["authorization"], serde_json::Value::Null);
}

#[tokio::test]
async fn queries_are_encoded_and_leave_out_what_is_not_asked() {
    let client = hub(|request| {
        let body = serde_json::to_vec(&Problem::new(Code::NotFound, request.uri().to_string())).unwrap();
        json(404, "application/problem+json", body)
    })
    .await;
    let asked = |error: ClientError| match error {
        ClientError::Problem(problem) => problem.detail,
        other => panic!("{other}"),
    };
    let events = EventsQuery { types: Some("task:*,a&b".to_owned()), after: Some(7), ..Default::default() };
    assert_eq!(
        asked(client.events(&events).await.unwrap_err()),
        "/api/v1/events?after=7&types=task%3A*%2Ca%26b"
    );
    let page = PageQuery { limit: Some(2), cursor: None };
    assert_eq!(asked(client.api_keys(&page).await.unwrap_err()), "/api/v1/api-keys?limit=2");
    assert_eq!(asked(client.audit_seals(&page).await.unwrap_err()), "/api/v1/audit/seals?limit=2");
    let audit = AuditQuery { key_id: Some(Uuid::nil()), ..Default::default() };
    let expected = format!("/api/v1/audit?key_id={}", Uuid::nil());
    assert_eq!(asked(client.audit(&audit).await.unwrap_err()), expected);
    assert_eq!(asked(client.me().await.unwrap_err()), "/api/v1/me");
}

#[tokio::test]
async fn each_call_knows_its_path() {
    let client = hub(|request| {
        let said = format!("{} {}", request.method(), request.uri());
        json(
            404,
            "application/problem+json",
            serde_json::to_vec(&Problem::new(Code::NotFound, said)).unwrap(),
        )
    })
    .await;
    let id = Uuid::nil();
    let said = [
        client.api_key(id).await.err(),
        client.create_api_key(&CreateApiKey::default()).await.err(),
        client.rotate_api_key(id).await.err(),
        client.revoke_api_key(id).await.err(),
        client.audit_proof(id).await.err(),
        client.audit_verification().await.err(),
        client.verify_audit().await.err(),
        client.audit_export().await.err(),
        client.healthz().await.err(),
        client.readyz().await.err(),
    ]
    .map(|error| match error {
        Some(ClientError::Problem(problem)) => problem.detail,
        other => panic!("{other:?}"),
    });
    let expected = [
        format!("GET /api/v1/api-keys/{id}"),
        "POST /api/v1/api-keys".to_owned(),
        format!("POST /api/v1/api-keys/{id}/rotate"),
        format!("DELETE /api/v1/api-keys/{id}"),
        format!("GET /api/v1/audit/{id}/proof"),
        "GET /api/v1/audit/verification".to_owned(),
        "POST /api/v1/audit/verification".to_owned(),
        "GET /api/v1/audit/export".to_owned(),
        "GET /healthz".to_owned(),
        "GET /readyz".to_owned(),
    ];
    assert_eq!(said, expected);
}

#[tokio::test]
async fn calls_about_agents_and_projects_know_theirs() {
    let client = hub(|request| {
        let said = format!("{} {}", request.method(), request.uri());
        let body = serde_json::to_vec(&Problem::new(Code::NotFound, said)).unwrap();
        json(404, "application/problem+json", body)
    })
    .await;
    let id = Uuid::nil();
    let project = CreateProject { name: "p".to_owned(), slug: "p".to_owned() };
    let workspace = CreateWorkspace { name: "w".to_owned(), path: "/".to_owned() };
    let page = PageQuery { limit: Some(2), cursor: None };
    let labelled = AgentsQuery { label: Some("a:b".to_owned()), ..AgentsQuery::default() };
    let said = [
        client
            .projects(&ProjectsQuery { slug: Some("p".to_owned()), ..ProjectsQuery::default() })
            .await
            .err(),
        client.project(id).await.err(),
        client.create_project(&project).await.err(),
        client.update_project(id, &UpdateProject::default()).await.err(),
        client.delete_project(id).await.err(),
        client.workspaces(id, &page).await.err(),
        client.workspace(id, id).await.err(),
        client.create_workspace(id, &workspace).await.err(),
        client.update_workspace(id, id, &UpdateWorkspace::default()).await.err(),
        client.delete_workspace(id, id).await.err(),
        client.agents(&labelled).await.err(),
        client.agent(id).await.err(),
        client.create_agent(&CreateAgent::default()).await.err(),
        client.update_agent(id, &UpdateAgent::default()).await.err(),
        client.deactivate_agent(id).await.err(),
        client.agent_heartbeat(id, &Heartbeat::default()).await.err(),
        client.drain_agent(id).await.err(),
        client.resume_agent(id).await.err(),
    ]
    .map(|error| match error {
        Some(ClientError::Problem(problem)) => problem.detail.replace(&id.to_string(), "ID"),
        other => panic!("{other:?}"),
    });
    let expected = [
        "GET /api/v1/projects?slug=p",
        "GET /api/v1/projects/ID",
        "POST /api/v1/projects",
        "PATCH /api/v1/projects/ID",
        "DELETE /api/v1/projects/ID",
        "GET /api/v1/projects/ID/workspaces?limit=2",
        "GET /api/v1/projects/ID/workspaces/ID",
        "POST /api/v1/projects/ID/workspaces",
        "PATCH /api/v1/projects/ID/workspaces/ID",
        "DELETE /api/v1/projects/ID/workspaces/ID",
        "GET /api/v1/agents?label=a%3Ab",
        "GET /api/v1/agents/ID",
        "POST /api/v1/agents",
        "PATCH /api/v1/agents/ID",
        "DELETE /api/v1/agents/ID",
        "POST /api/v1/agents/ID/heartbeat",
        "POST /api/v1/agents/ID/drain",
        "POST /api/v1/agents/ID/resume",
    ];
    assert_eq!(said, expected);
}

#[tokio::test]
async fn a_problem_arrives_whole() {
    let client = hub(|_| problem(Code::InvalidState)).await;
    let Err(ClientError::Problem(problem)) = client.me().await else { panic!("a problem") };
    assert_eq!(problem.known_code(), Some(Code::InvalidState));
    assert_eq!(problem.extra["state"], "revoked");
}

#[tokio::test]
async fn not_ready_is_an_answer() {
    let client = hub(|_| {
        let checks = serde_json::json!([{"name": "records", "ok": false, "detail": "away"}]);
        let body = serde_json::to_vec(&Problem::new(Code::NotReady, "1 check failed").with("checks", checks));
        json(503, "application/problem+json", body.unwrap())
    })
    .await;
    let ready = client.readyz().await.unwrap();
    assert!(!ready.ready);
    assert_eq!(ready.checks[0].name, "records");
    assert!(client.healthz().await.is_err());
}

#[tokio::test]
async fn what_is_no_hub_is_named_so() {
    let page = hub(|_| json(200, "text/html", "<h1>Welcome</h1>")).await;
    let error = page.me().await.unwrap_err();
    assert!(matches!(&error, ClientError::Protocol(text) if text.contains("COUNTERSIGN_URL")), "{error}");

    let missing = hub(|_| json(404, "text/html", "nothing")).await;
    let error = missing.me().await.unwrap_err();
    assert!(matches!(&error, ClientError::Protocol(text) if text.contains("404")), "{error}");

    let garbled = hub(|_| json(409, "application/problem+json", "{")).await;
    assert!(matches!(garbled.me().await, Err(ClientError::Protocol(_))));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let client = hub(|_| {
        let moved =
            Response::builder().status(StatusCode::FOUND).header("location", "http://192.0.2.1/steal");
        moved.body(Body::empty()).unwrap()
    })
    .await;
    let error = client.me().await.unwrap_err();
    assert!(matches!(&error, ClientError::Protocol(text) if text.contains("192.0.2.1")), "{error}");
}

#[tokio::test]
async fn a_gateway_without_a_hub_means_unreachable() {
    for answer in
        [|_| json(502, "text/html", "x"), |_| json(503, "text/html", "x"), |_| json(504, "text/html", "x")]
    {
        let client = hub(answer).await;
        assert!(matches!(client.me().await, Err(ClientError::Unreachable { .. })));
    }
}

#[tokio::test]
async fn nobody_listening_means_unreachable_and_says_what_to_do() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = Client::new(&url, Some(KEY)).unwrap().me().await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&url) && text.contains("countersign serve"), "{text}");
    let cause = std::error::Error::source(&error).expect("the cause is kept");
    assert!(!format!("{cause:?}").contains(KEY));
}

#[tokio::test]
async fn an_export_comes_in_chunks() {
    let client = hub(|_| json(200, "application/x-ndjson", "{}\n{}\n")).await;
    let mut export = client.audit_export().await.unwrap();
    let mut all = Vec::new();
    while let Some(chunk) = export.chunk().await.unwrap() {
        all.extend_from_slice(&chunk);
    }
    assert_eq!(all, b"{}\n{}\n");
}

#[tokio::test]
async fn an_export_that_breaks_off_is_an_error() {
    // More is promised than comes.
    let client = hub(|_| {
        let short = Response::builder().header("content-length", "100").body(Body::from("{}\n"));
        short.unwrap()
    })
    .await;
    let mut export = match client.audit_export().await {
        Ok(export) => export,
        Err(error) => return assert!(matches!(error, ClientError::Unreachable { .. }), "{error}"),
    };
    let error = loop {
        match export.chunk().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the end was never reached"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error}");
}

#[test]
fn addresses_that_are_no_hub_are_refused_without_repeating_them() {
    let bad = [
        "",
        "127.0.0.1:8000",
        "localhost:8000",
        "ftp://hub",
        "http://",
        "http://hub/api",
        "http://hub/?a=b",
        "http://hub/#x",
        "http://user:hush@hub",
        "http://hush@hub",
    ];
    for url in bad {
        let error = Client::new(url, None).expect_err(url);
        assert!(matches!(error, ClientError::Setup(_)), "{url}: {error}");
        assert!(!error.to_string().contains("hush"), "{error}");
    }
    for url in ["http://127.0.0.1:8000", "http://[::1]:8000/", "http://hub.internal"] {
        assert!(Client::new(url, None).is_ok(), "{url}");
    }
}

#[test]
fn keys_that_no_header_can_carry_are_refused_without_repeating_them() {
    for key in ["", "hush hush", "hush\n", "hush\u{e4}", "hush\0"] {
        let error = Client::new("http://hub", Some(key)).expect_err(key);
        assert!(!error.to_string().contains("hush"), "{error}");
    }
}

#[tokio::test]
async fn the_key_never_shows() {
    let client = hub(|_| problem(Code::Unauthenticated)).await;
    let error = client.me().await.unwrap_err();
    for text in [format!("{client:?}"), format!("{error:?}"), error.to_string()] {
        assert!(!text.contains(KEY), "{text}");
    }
    assert!(error.to_string().contains("COUNTERSIGN_API_KEY"), "{error}");
}
