//! PostgreSQL over TLS: verified always, asked for or refused as the URL says.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use testkit::postgres::Postgres;
use testkit::watch::Data;

use crate::support::Home;

const FAILED: i32 = 1;

/// An authority of the test's own, and a key of this machine that it signed.
pub(crate) fn certificates() -> Data {
    let dir = Data::make();
    // The server runs under another account and has to get here.
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    fs::write(dir.path().join("names"), "subjectAltName=IP:127.0.0.1,DNS:localhost\n").unwrap();
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    openssl(
        dir.path(),
        &format!("req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj /CN=test-authority"),
    );
    openssl(dir.path(), &format!("req {key} -keyout server.key -out server.csr -subj /CN=localhost"));
    openssl(
        dir.path(),
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem",
    );
    fs::set_permissions(dir.path().join("server.key"), Permissions::from_mode(0o600)).unwrap();
    Postgres::give(&dir.path().join("server.key"));
    dir
}

fn openssl(dir: &Path, args: &str) {
    let made = Command::new("openssl").args(args.split(' ')).current_dir(dir).output();
    let made = made.expect("openssl, which comes with PostgreSQL's packages");
    assert!(made.status.success(), "openssl {args}: {}", String::from_utf8_lossy(&made.stderr));
}

#[tokio::test]
async fn a_verified_server_is_spoken_to_and_a_stranger_is_not() {
    let dir = certificates();
    let file = |name: &str| dir.path().join(name).display().to_string();
    let (certificate, key) = (file("server.pem"), file("server.key"));
    let options =
        ["ssl=on".to_owned(), format!("ssl_cert_file={certificate}"), format!("ssl_key_file={key}")];
    let postgres = Postgres::start_with(&options.each_ref().map(String::as_str));
    let encrypted = || {
        postgres.query(
            "SELECT count(*) > 0 FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
             WHERE ssl AND application_name = 'countersign'",
        )
    };

    let required = format!("{}?sslmode=require", postgres.url());
    let home = Home::with(Some(required.clone())).env("SSL_CERT_FILE", &file("ca.pem"));
    let served = home.serve().await;
    served.admin().me().await.unwrap();
    assert_eq!(encrypted().trim(), "t");
    served.stop();

    let stranger = Home::with(Some(required));
    stranger.refused().assert_refused(FAILED, &["PostgreSQL", "certificate"]);

    // On this machine plain is the default, whatever the certificate.
    let plain = Home::with(Some(postgres.fresh_database()));
    let served = plain.serve().await;
    assert_eq!(encrypted().trim(), "f");
    served.stop();
}
