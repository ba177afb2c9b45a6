//! The configuration as its users meet it: texts in, a `Config` or a list of problems out.

mod files;
mod oidc;

use std::io;
use std::time::Duration;

use super::*;

/// What a case says in the three places a setting can come from.
#[derive(Default)]
struct Case<'a> {
    flags: ServerFlags,
    env: &'a [(&'a str, &'a str)],
    /// The content of `<data>/countersign.toml`, or of the file named by `--config`.
    file: Option<&'a str>,
}

impl Case<'_> {
    fn resolve(&self) -> Result<Resolved, ConfigProblems> {
        let env: Environment = self.env.iter().copied().collect();
        resolve(&self.flags, &env, &|_| {
            self.file.map(str::to_owned).ok_or_else(|| io::ErrorKind::NotFound.into())
        })
    }

    fn config(&self) -> Config {
        self.resolve().unwrap().config
    }

    fn problems(&self) -> Vec<ConfigProblem> {
        self.resolve().unwrap_err().0
    }
}

fn env<'a>(env: &'a [(&'a str, &'a str)]) -> Case<'a> {
    Case { env, ..Case::default() }
}

fn file(text: &str) -> Case<'_> {
    Case { file: Some(text), ..Case::default() }
}

#[test]
fn defaults_are_those_of_the_documents() {
    let expected = Config {
        data: "./countersign-data".into(),
        keys_dir: "./countersign-data/keys".into(),
        records: RecordsConfig { database_url: None, pg_schema: "countersign".to_owned() },
        redis: RedisConfig { url: None, key_prefix: "ade:".to_owned() },
        http: HttpConfig {
            listen: "127.0.0.1:8000".parse().unwrap(),
            public_url: None,
            trusted_proxies: vec![],
            max_connections: 20_000,
            rate_limit: 6000,
            lock_rate_limit: 60_000,
            docs: true,
        },
        log: LogConfig { format: LogFormat::Pretty, level: "info".to_owned() },
        approvals: ApprovalsConfig {
            store: ApprovalStore::Records,
            cleanup_interval: Duration::from_secs(300),
            default_ttl: Duration::from_secs(3600),
        },
        oidc: None,
        allow_private: vec![],
    };
    assert_eq!(Case::default().config(), expected);
}

#[test]
fn the_operators_page_tells_every_setting_with_its_default() {
    let page = include_str!("../../../../docs/operations.md");
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split('|').map(|cell| cell.trim().trim_matches('`')).collect())
        .collect();
    let shown = Case::default().resolve().unwrap().shown;
    assert_eq!(rows.len(), shown.len(), "one row for each setting");
    for setting in shown {
        let row = rows.iter().find(|row| row[1] == setting.name);
        let row = row.unwrap_or_else(|| panic!("{} is not in docs/operations.md", setting.name));
        assert!(row[3].starts_with(&setting.value), "{}: {} is not {}", setting.name, row[3], setting.value);
        let problem = env(&[(row[2], "")]).problems();
        assert_eq!(problem[0].setting, setting.name, "{} sets another setting", row[2]);
    }
}

#[test]
fn flag_before_environment_before_file_before_default() {
    let listen = |flag: Option<&str>, env: &[(&str, &str)], file| {
        let flags = ServerFlags { listen: flag.map(str::to_owned), ..ServerFlags::default() };
        let resolved = Case { flags, env, file }.resolve().unwrap();
        let shown = resolved.shown.into_iter().find(|shown| shown.name == "listen").unwrap();
        (resolved.config.http.listen.port(), shown.source.to_string())
    };
    let in_env = [("COUNTERSIGN_LISTEN", "127.0.0.1:2")];
    let in_file = Some("listen = '127.0.0.1:3'");
    assert_eq!(listen(Some("127.0.0.1:1"), &in_env, in_file), (1, "flag --listen".to_owned()));
    assert_eq!(listen(None, &in_env, in_file), (2, "environment COUNTERSIGN_LISTEN".to_owned()));
    assert_eq!(listen(None, &[], in_file), (3, "file ./countersign-data/countersign.toml".to_owned()));
    assert_eq!(listen(None, &[], None), (8000, "default".to_owned()));
}

#[test]
fn every_setting_can_come_from_environment_and_file() {
    let all = [
        ("data", "COUNTERSIGN_DATA", "'/srv/hub'"),
        ("keys_dir", "COUNTERSIGN_KEYS_DIR", "'/etc/keys'"),
        ("database_url", "DATABASE_URL", "'postgres://me:hush@db/hub'"),
        ("pg_schema", "COUNTERSIGN_PG_SCHEMA", "'hub_2'"),
        ("redis_url", "REDIS_URL", "'rediss://:hush@cache:6379/1'"),
        ("redis_key_prefix", "REDIS_KEY_PREFIX", "'ha:'"),
        ("listen", "COUNTERSIGN_LISTEN", "'0.0.0.0:80'"),
        ("public_url", "COUNTERSIGN_PUBLIC_URL", "'https://Hub.Example.com:443/'"),
        ("trusted_proxies", "COUNTERSIGN_TRUSTED_PROXIES", "'10.0.0.0/8, fd00::/8'"),
        ("allow_private", "COUNTERSIGN_ALLOW_PRIVATE", "'10.1.2.0/24'"),
        ("max_connections", "COUNTERSIGN_MAX_CONNECTIONS", "7"),
        ("rate_limit", "COUNTERSIGN_RATE_LIMIT", "0"),
        ("lock_rate_limit", "COUNTERSIGN_LOCK_RATE_LIMIT", "8"),
        ("docs", "COUNTERSIGN_DOCS", "'off'"),
        ("log_format", "COUNTERSIGN_LOG_FORMAT", "'json'"),
        ("log_level", "COUNTERSIGN_LOG", "'warn,hub=debug'"),
        ("approval_store", "APPROVAL_STORE", "'redis'"),
        ("approval_cleanup_interval", "APPROVAL_CLEANUP_INTERVAL", "9"),
        ("approval_default_ttl", "APPROVAL_DEFAULT_TTL", "10"),
        ("oidc_issuer", "COUNTERSIGN_OIDC_ISSUER", "'https://id.example/a'"),
        ("oidc_client_id", "COUNTERSIGN_OIDC_CLIENT_ID", "'hub'"),
        ("oidc_client_secret", "COUNTERSIGN_OIDC_CLIENT_SECRET", "'hush'"),
        ("oidc_name", "COUNTERSIGN_OIDC_NAME", "'Example ID'"),
        ("oidc_scopes", "COUNTERSIGN_OIDC_SCOPES", "'openid email'"),
    ];
    let text: String = all.iter().map(|(name, _, value)| format!("{name} = {value}\n")).collect();
    let flags = ServerFlags { config: Some("hub.toml".into()), ..ServerFlags::default() };
    let from_file = Case { flags, file: Some(&text), ..Case::default() }.resolve().unwrap();
    let variables: Vec<(&str, &str)> =
        all.iter().map(|(_, env, value)| (*env, value.trim_matches('\''))).collect();
    let from_env = env(&variables).resolve().unwrap();

    assert_eq!(from_file.config, from_env.config);
    assert_eq!(from_env.config.http.public_url.as_deref(), Some("https://hub.example.com"));
    assert_eq!(from_env.config.http.trusted_proxies.len(), 2);
    assert_eq!(from_env.config.records.database_url.unwrap().expose(), "postgres://me:hush@db/hub");
    assert_eq!(from_env.config.approvals.store, ApprovalStore::Redis);
    // The table above is complete, and nothing it set came from anywhere else.
    let names: Vec<&str> = from_file.shown.iter().map(|shown| shown.name).collect();
    let mut expected: Vec<&str> = all.iter().map(|(name, _, _)| *name).collect();
    let mut sorted = names.clone();
    expected.sort_unstable();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    assert!(from_file.shown.iter().all(|shown| shown.source == Source::File("hub.toml".into())));
    assert!(from_env.shown.iter().all(|shown| matches!(shown.source, Source::Environment(_))));
}

#[test]
fn bad_values_are_refused_with_name_source_value_and_advice() {
    let cases = [
        ("COUNTERSIGN_DATA", "a\0b", "data"),
        ("COUNTERSIGN_LISTEN", "localhost:8000", "listen"),
        ("COUNTERSIGN_LISTEN", "8000", "listen"),
        ("COUNTERSIGN_LISTEN", "127.0.0.1:65536", "listen"),
        ("COUNTERSIGN_PG_SCHEMA", "Hub", "pg_schema"),
        ("COUNTERSIGN_PG_SCHEMA", "1hub", "pg_schema"),
        ("COUNTERSIGN_PG_SCHEMA", "hub;drop", "pg_schema"),
        ("COUNTERSIGN_PG_SCHEMA", "pg_hub", "pg_schema"),
        (
            "COUNTERSIGN_PG_SCHEMA",
            "a234567890123456789012345678901234567890123456789012345678901234",
            "pg_schema",
        ),
        ("REDIS_KEY_PREFIX", "a{b}", "redis_key_prefix"),
        ("REDIS_KEY_PREFIX", "a b", "redis_key_prefix"),
        ("COUNTERSIGN_PUBLIC_URL", "hub.example.com", "public_url"),
        ("COUNTERSIGN_PUBLIC_URL", "ftp://hub", "public_url"),
        ("COUNTERSIGN_PUBLIC_URL", "https://hub/path", "public_url"),
        ("COUNTERSIGN_PUBLIC_URL", "https://hub/?q", "public_url"),
        ("COUNTERSIGN_PUBLIC_URL", "https://hub/#f", "public_url"),
        ("COUNTERSIGN_PUBLIC_URL", "https://me@hub", "public_url"),
        ("COUNTERSIGN_TRUSTED_PROXIES", "10.0.0.1", "trusted_proxies"),
        ("COUNTERSIGN_TRUSTED_PROXIES", "10.0.0.1/8", "trusted_proxies"),
        ("COUNTERSIGN_TRUSTED_PROXIES", "0.0.0.0/0", "trusted_proxies"),
        ("COUNTERSIGN_TRUSTED_PROXIES", "10.0.0.0/8,", "trusted_proxies"),
        ("COUNTERSIGN_MAX_CONNECTIONS", "0", "max_connections"),
        ("COUNTERSIGN_MAX_CONNECTIONS", "1000001", "max_connections"),
        ("COUNTERSIGN_RATE_LIMIT", "-1", "rate_limit"),
        ("COUNTERSIGN_RATE_LIMIT", "+1", "rate_limit"),
        ("COUNTERSIGN_RATE_LIMIT", "6k", "rate_limit"),
        ("COUNTERSIGN_RATE_LIMIT", " 6", "rate_limit"),
        ("COUNTERSIGN_LOCK_RATE_LIMIT", "99999999999999999999", "lock_rate_limit"),
        ("COUNTERSIGN_DOCS", "true", "docs"),
        ("COUNTERSIGN_DOCS", "ON", "docs"),
        ("COUNTERSIGN_LOG_FORMAT", "text", "log_format"),
        ("COUNTERSIGN_LOG", "loud", "log_level"),
        ("COUNTERSIGN_LOG", "info,", "log_level"),
        ("COUNTERSIGN_LOG", "hub=", "log_level"),
        ("COUNTERSIGN_LOG", "=info", "log_level"),
        ("APPROVAL_STORE", "disk", "approval_store"),
        ("APPROVAL_CLEANUP_INTERVAL", "0", "approval_cleanup_interval"),
        ("APPROVAL_CLEANUP_INTERVAL", "86401", "approval_cleanup_interval"),
        ("APPROVAL_DEFAULT_TTL", "1.5", "approval_default_ttl"),
    ];
    for (variable, value, setting) in cases {
        let problems = env(&[(variable, value)]).problems();
        let [problem] = problems.as_slice() else { panic!("{variable}={value:?}: {problems:?}") };
        assert_eq!(problem.setting, setting);
        assert_eq!(problem.value.as_deref(), Some(value));
        assert_eq!(problem.source.to_string(), format!("environment {variable}"));
        assert!(problem.instead.starts_with("write "), "{problem}");
    }
}

#[test]
fn a_problem_reads_as_one_line() {
    let problems = env(&[("COUNTERSIGN_LISTEN", "localhost:8000")]).resolve().unwrap_err();
    assert_eq!(
        problems.to_string(),
        "the configuration is not valid\n  listen = \"localhost:8000\" (environment COUNTERSIGN_LISTEN): not an IP \
         address with a port; write an IP address and port such as 127.0.0.1:8000 or [::1]:8000"
    );
}

#[test]
fn empty_is_a_mistake_and_not_the_same_as_unset() {
    for shown in Case::default().resolve().unwrap().shown {
        let text = format!("{} = ''", shown.name);
        let flags = ServerFlags { config: Some("hub.toml".into()), ..ServerFlags::default() };
        let problems = Case { flags, file: Some(&text), ..Case::default() }.problems();
        assert_eq!(problems.len(), 1, "{text}: {problems:?}");
        assert_eq!(problems[0].setting, shown.name);
    }
    for variable in ["DATABASE_URL", "REDIS_URL", "COUNTERSIGN_DATA", "COUNTERSIGN_TRUSTED_PROXIES"] {
        let problems = env(&[(variable, "")]).problems();
        assert_eq!(problems.len(), 1, "{variable}");
        assert!(problems[0].to_string().contains("it is empty"), "{}", problems[0]);
    }
    let flags = ServerFlags { data: Some(String::new()), ..ServerFlags::default() };
    let problems = Case { flags, ..Case::default() }.problems();
    assert_eq!(problems[0].source, Source::Flag("data"));
}

#[cfg(unix)]
#[test]
fn what_is_not_text_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let value = std::ffi::OsStr::from_bytes(b"/srv/\xff").to_owned();
    let mut env = Environment::default();
    env.insert("COUNTERSIGN_DATA", value);
    let problems =
        resolve(&ServerFlags::default(), &env, &|_| Err(io::ErrorKind::NotFound.into())).unwrap_err().0;
    assert_eq!(problems[0].setting, "data");
    assert!(problems[0].reason.contains("UTF-8"));
}

#[test]
fn passwords_are_masked_wherever_values_are_shown() {
    let good = env(&[("DATABASE_URL", "postgres://me:hush@db/hub"), ("REDIS_URL", "redis://:hush@cache")]);
    let resolved = good.resolve().unwrap();
    let text = format!("{:?}", resolved);
    assert!(!text.contains("hush"), "{text}");
    assert!(text.contains("postgres://me:****@db/hub"), "{text}");

    let bad = [
        ("DATABASE_URL", "mysql://me:hush@db/hub"),
        ("DATABASE_URL", "postgres://me:hush@/hub"),
        ("DATABASE_URL", "postgres://me:hu/hush@db/hub"),
        ("DATABASE_URL", "me:hush@db"),
        ("REDIS_URL", "http://:hush@cache"),
        ("REDIS_URL", "redis://:hush@"),
    ];
    for variable in bad {
        let problems = env(&[variable]).resolve().unwrap_err();
        assert_eq!(problems.0.len(), 1);
        let text = format!("{problems} {problems:?}");
        assert!(!text.contains("hush"), "{text}");
        assert!(text.contains(variable.0), "{text}");
    }
}

#[test]
fn unknown_keys_and_variables_are_refused_by_name() {
    let problems = file("lisen = '127.0.0.1:1'\n[executors]\ncommand = 1").problems();
    let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    let expected =
        "executors (file ./countersign-data/countersign.toml): there is no such setting; remove it";
    assert!(texts[0].starts_with(expected), "{}", texts[0]);
    assert!(
        texts[1].starts_with("lisen (file ") && texts[1].ends_with("did you mean listen?"),
        "{}",
        texts[1]
    );

    let problems = env(&[("COUNTERSIGN_LISEN", "127.0.0.1:1")]).problems();
    assert_eq!(problems[0].setting, "COUNTERSIGN_LISEN");
    assert_eq!(problems[0].instead, "did you mean COUNTERSIGN_LISTEN?");
}

#[test]
fn variables_that_are_not_for_the_server_are_left_alone() {
    let others = [
        ("COUNTERSIGN_URL", ""),
        ("COUNTERSIGN_API_KEY", "csk_hush"),
        ("COUNTERSIGN_TEST_SCALE", "10"),
        ("COUNTERSIGN_FENCING_TOKEN", "7"),
        ("PATH", "/bin"),
        ("LISTEN", "nonsense"),
    ];
    assert_eq!(env(&others).config(), Case::default().config());
}

#[test]
fn all_problems_are_reported_together() {
    let case = Case {
        flags: ServerFlags { listen: Some("nowhere".to_owned()), ..ServerFlags::default() },
        env: &[("COUNTERSIGN_DOCS", "maybe"), ("COUNTERSIGN_NONSENSE", "1"), ("APPROVAL_STORE", "redis")],
        file: Some("rate_limit = 'many'\nnonsense = 1"),
    };
    let problems = case.problems();
    let mut settings: Vec<&str> = problems.iter().map(|problem| problem.setting.as_str()).collect();
    settings.sort_unstable();
    let expected = ["COUNTERSIGN_NONSENSE", "docs", "listen", "nonsense", "rate_limit", "redis_url"];
    assert_eq!(settings, expected);
}

#[test]
fn listening_beyond_loopback_needs_a_public_url() {
    for listen in ["0.0.0.0:8000", "[::]:8000", "192.0.2.1:80"] {
        let problems = env(&[("COUNTERSIGN_LISTEN", listen)]).problems();
        assert_eq!(problems.len(), 1, "{listen}");
        assert_eq!(problems[0].setting, "public_url");
        assert!(problems[0].reason.contains(listen), "{}", problems[0]);
        env(&[("COUNTERSIGN_LISTEN", listen), ("COUNTERSIGN_PUBLIC_URL", "https://hub")]).config();
    }
    for listen in ["127.0.0.1:0", "127.9.9.9:1", "[::1]:8000"] {
        assert_eq!(env(&[("COUNTERSIGN_LISTEN", listen)]).config().http.public_url, None);
    }
    // A bad one is one problem, not two.
    let both = [("COUNTERSIGN_LISTEN", "0.0.0.0:8000"), ("COUNTERSIGN_PUBLIC_URL", "hub")];
    assert_eq!(env(&both).problems().len(), 1);
}

#[test]
fn grants_in_redis_need_redis() {
    let problems = env(&[("APPROVAL_STORE", "redis")]).problems();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].setting, "redis_url");
    env(&[("APPROVAL_STORE", "redis"), ("REDIS_URL", "redis://cache")]).config();
    assert_eq!(env(&[("APPROVAL_STORE", "redis"), ("REDIS_URL", "cache")]).problems().len(), 1);
}

#[test]
fn the_shown_table_says_not_set_and_derives_defaults() {
    let resolved = env(&[("COUNTERSIGN_DATA", "/srv")]).resolve().unwrap();
    let shown = |name| resolved.shown.iter().find(|shown| shown.name == name).unwrap().value.as_str();
    assert_eq!(shown("database_url"), "(not set)");
    assert_eq!(shown("keys_dir"), "/srv/keys");
}
