//! The provider of logins: whole or not at all.

use super::*;

const ISSUER: (&str, &str) = ("COUNTERSIGN_OIDC_ISSUER", "https://id.example/realms/staff");
const CLIENT: (&str, &str) = ("COUNTERSIGN_OIDC_CLIENT_ID", "hub");
const SECRET: (&str, &str) = ("COUNTERSIGN_OIDC_CLIENT_SECRET", "hush hush");

#[test]
fn a_provider_needs_an_issuer_and_a_client_id() {
    let public = env(&[ISSUER, CLIENT]).config().oidc.unwrap();
    assert_eq!((public.name.as_str(), public.scopes.as_str()), ("id.example", "openid email profile"));
    assert_eq!((public.issuer.as_str(), public.client_secret), (ISSUER.1, None));
    let named = [ISSUER, CLIENT, SECRET, ("COUNTERSIGN_OIDC_NAME", "Example ID")];
    let whole = env(&named).config().oidc.unwrap();
    assert!(whole.client_secret.is_some() && whole.name == "Example ID");
    assert_eq!(Case::default().config().oidc, None);
}

#[test]
fn half_a_provider_refuses_to_start_and_says_which_half() {
    let check = |given: &[(&str, &str)], missing: &str, because: &str| {
        let problems = env(given).problems();
        let [problem] = problems.as_slice() else { panic!("{problems:?}") };
        assert_eq!(problem.setting, missing);
        assert_eq!(problem.reason, format!("it is required because {because} is set"));
    };
    check(&[ISSUER], "oidc_client_id", "oidc_issuer");
    check(&[ISSUER, SECRET], "oidc_client_id", "oidc_issuer");
    check(&[CLIENT], "oidc_issuer", "oidc_client_id");
    check(&[SECRET], "oidc_issuer", "oidc_client_secret");
    check(&[("COUNTERSIGN_OIDC_NAME", "Example ID")], "oidc_issuer", "oidc_name");
    check(&[("COUNTERSIGN_OIDC_SCOPES", "openid")], "oidc_issuer", "oidc_scopes");
}

#[test]
fn bad_values_are_refused_and_show_no_secret() {
    let long = "x".repeat(61);
    for (variable, value, setting) in [
        ("COUNTERSIGN_OIDC_ISSUER", "id.example", "oidc_issuer"),
        ("COUNTERSIGN_OIDC_ISSUER", "http://id.example", "oidc_issuer"),
        ("COUNTERSIGN_OIDC_ISSUER", "https://me:hush@id.example", "oidc_issuer"),
        ("COUNTERSIGN_OIDC_ISSUER", "https://id.example/?a=hush", "oidc_issuer"),
        ("COUNTERSIGN_OIDC_CLIENT_ID", "h\u{fc}b", "oidc_client_id"),
        ("COUNTERSIGN_OIDC_CLIENT_SECRET", "hush\nhush", "oidc_client_secret"),
        ("COUNTERSIGN_OIDC_NAME", " Example", "oidc_name"),
        ("COUNTERSIGN_OIDC_NAME", long.as_str(), "oidc_name"),
        ("COUNTERSIGN_OIDC_SCOPES", "email profile", "oidc_scopes"),
        ("COUNTERSIGN_OIDC_SCOPES", "openid  email", "oidc_scopes"),
        ("COUNTERSIGN_OIDC_SCOPES", "openid \"email\"", "oidc_scopes"),
    ] {
        let given: Vec<_> = [ISSUER, CLIENT]
            .into_iter()
            .filter(|known| known.0 != variable)
            .chain([(variable, value)])
            .collect();
        let problems = env(&given).resolve().unwrap_err();
        let text = format!("{problems} {problems:?}");
        assert!(!text.contains("hush"), "{text}");
        let [problem] = problems.0.as_slice() else { panic!("{text}") };
        assert_eq!(problem.setting, setting);
    }
    let shown = format!("{:?}", env(&[ISSUER, CLIENT, SECRET]).resolve().unwrap());
    assert!(!shown.contains("hush") && shown.contains("****"), "{shown}");
}
