//! An agent that asks before it acts: it proposes a task, waits until people have approved it, and applies it.
//!
//! Needs a hub (`countersign serve`) and the key of an agent:
//!
//! ```sh
//! export COUNTERSIGN_URL=http://127.0.0.1:8000
//! export COUNTERSIGN_API_KEY=$(countersign agent key example)
//! cargo run -p client --example agent
//! ```

use std::error::Error;
use std::time::Duration;

use client::{Claim, Client, Failed};
use serde_json::json;
use wire::{CreateTask, FailExecution, NextTask};

/// How long one question to the hub waits for its answer.
const WAIT_SECONDS: u32 = 30;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::var("COUNTERSIGN_URL").unwrap_or_else(|_| "http://127.0.0.1:8000".to_owned());
    let key = std::env::var("COUNTERSIGN_API_KEY")?;
    let client = Client::new(&url, Some(&key))?;
    let me = client.me().await?.account;

    // Everything that matters is in the config: people read exactly this, and exactly this comes back.
    let config = json!({
        "type": "greeting",
        "description": "Greet the world, politely",
        "resources": [{"type": "world", "id": "earth"}],
        "parameters": {"greeting": "Hello"},
        "rollback_strategy": "automatic",
    });
    let wanted = CreateTask { config, submit: Some(true), assignee: Some(me.id), ..CreateTask::default() };
    let task = client.create_task(&wanted).await?;
    say(&format!("proposed task {}; approve it with `countersign approval list`", task.id));

    loop {
        // The next task this agent may apply: approved, its prerequisites done, its locks free, claimed for us alone.
        let Some(claim) = client.next(me.id, &NextTask { wait_seconds: Some(WAIT_SECONDS) }, None).await?
        else {
            say("nobody has approved it yet");
            continue;
        };
        apply(claim).await?;
        return Ok(());
    }
}

async fn apply(claim: Claim) -> Result<(), Box<dyn Error>> {
    let config = claim.task().config.clone();
    claim.writer().write("looking at the world\n").await?;
    // Heartbeats go out by themselves. If the claim is lost, the work is dropped where it stands.
    let worked = match claim.work(greet(&config)).await {
        Ok(worked) => worked,
        Err(lost) => {
            say(&format!("stopped: {lost}"));
            return Ok(());
        }
    };
    match worked {
        Ok(said) => {
            let execution = claim.complete(Some(format!("{said}\n"))).await?;
            say(&format!("done: {:?}", execution.result));
        }
        Err(error) => match claim.fail(&FailExecution { error, error_details: None }).await? {
            Failed::Ended(_) => say("failed"),
            Failed::RollBack(claim) => {
                // Undo what was done, then say so.
                claim.complete(Some("nothing was said, so nothing is taken back\n".to_owned())).await?;
                say("failed, and undone");
            }
        },
    }
    Ok(())
}

/// The work itself.
async fn greet(config: &serde_json::Value) -> Result<String, String> {
    tokio::time::sleep(Duration::from_secs(1)).await;
    let greeting = config["parameters"]["greeting"].as_str().ok_or("there is no greeting")?;
    Ok(format!("{greeting}, {}!", config["resources"][0]["id"].as_str().unwrap_or("world")))
}

#[expect(clippy::print_stdout, reason = "an example talks to whoever runs it")]
fn say(text: &str) {
    println!("{text}");
}
