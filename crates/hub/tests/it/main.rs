//! What the hub does in the background and with the files it owns, on both engines.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail, loudly")]

mod agents;
mod blobs;
mod jobs;
mod keys;
mod logins;
mod rules;
mod sealer;
mod standalone_grants;
mod suspension;
mod twins;
