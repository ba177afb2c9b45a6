//! Signing messages as Standard Webhooks has it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::Timestamp;
use domain::webhooks::{Delivery, Webhook, WebhookSecret, signed_content};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use ring::hmac;
use serde_json::{Value, json};

use super::opened;
use crate::{Hub, HubError};

/// What a message is sent with.
pub(super) struct Signed {
    pub(super) headers: HeaderMap,
    /// The same, to be kept.
    pub(super) kept: Value,
}

/// Signs a delivery as of now: with the secret, and with the one before while that still counts.
pub(super) fn signed(
    hub: &Hub,
    webhook: &Webhook,
    delivery: &Delivery,
    now: Timestamp,
) -> Result<Signed, HubError> {
    let mut secrets = vec![opened(hub, webhook, &webhook.secret)?];
    if let Some(previous) = &webhook.previous_secret
        && webhook.previous_until.is_some_and(|until| now < until)
    {
        secrets.push(opened(hub, webhook, previous)?);
    }
    let (id, seconds) = (delivery.id.to_string(), now.micros() / 1_000_000);
    let content = signed_content(&id, seconds, &delivery.body);
    let signatures: Vec<String> = secrets.iter().map(|secret| signature(secret, &content)).collect();
    let pairs = [
        ("webhook-id", id),
        ("webhook-timestamp", seconds.to_string()),
        ("webhook-signature", signatures.join(" ")),
    ];
    let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    for (name, value) in &pairs {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    let kept = pairs.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    Ok(Signed { headers, kept: Value::Object(kept) })
}

fn signature(secret: &WebhookSecret, content: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.key());
    format!("v1,{}", STANDARD.encode(hmac::sign(&key, content)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's libraries.
    #[test]
    fn signatures_are_those_of_standard_webhooks() {
        let secret = WebhookSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let content =
            signed_content("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signature(&secret, &content), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
