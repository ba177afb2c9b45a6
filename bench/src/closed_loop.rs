//! A closed loop: so many workers, each of which does the next thing when the last one is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::task::JoinSet;

use crate::machine::cpu_micros;

/// Before the clock counts: connections are opened, statements prepared, caches filled.
const WARM_UP: Duration = Duration::from_millis(500);

/// One of the workers.
pub(crate) trait Worker: Send + 'static {
    /// Does one thing.
    fn once(&mut self) -> impl Future<Output = Result<()>> + Send;

    /// Does one thing; how long the part of it took that is measured: all of it, where a worker does not say otherwise.
    fn timed(&mut self) -> impl Future<Output = Result<Duration>> + Send {
        async {
            let began = Instant::now();
            self.once().await?;
            Ok(began.elapsed())
        }
    }
}

/// What a run came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) per_second: f64,
    pub(crate) p50_micros: f64,
    pub(crate) p99_micros: f64,
    /// Processor time of the watched process for each thing done.
    pub(crate) cpu_micros: f64,
}

impl Run {
    /// Several short runs as one.
    pub(crate) fn mean(runs: &[Self]) -> Self {
        let mean = |value: fn(&Self) -> f64| runs.iter().map(value).sum::<f64>() / runs.len() as f64;
        Self {
            per_second: mean(|run| run.per_second),
            p50_micros: mean(|run| run.p50_micros),
            p99_micros: mean(|run| run.p99_micros),
            cpu_micros: mean(|run| run.cpu_micros),
        }
    }
}

/// What workers and timekeeper share.
#[derive(Default)]
struct Board {
    done: AtomicU64,
    counts: AtomicBool,
    over: AtomicBool,
}

/// Lets the workers run for this long and watches the processor time of one process, a server or ourselves.
pub(crate) async fn run<W: Worker>(
    workers: impl IntoIterator<Item = W>,
    duration: Duration,
    watched: u32,
) -> Result<Run> {
    let board = Arc::new(Board::default());
    let mut tasks = JoinSet::new();
    for worker in workers {
        tasks.spawn(work(worker, Arc::clone(&board)));
    }
    tokio::time::sleep(WARM_UP).await;
    board.counts.store(true, Ordering::Relaxed);
    // Under load a timer is late; so the count is taken with the clock, not the clock trusted.
    let (done, cpu, began) = (board.done.load(Ordering::Relaxed), cpu_micros(watched)?, Instant::now());
    tokio::time::sleep(duration).await;
    let took = began.elapsed();
    let (done, cpu) = (board.done.load(Ordering::Relaxed) - done, cpu_micros(watched)? - cpu);
    board.over.store(true, Ordering::Relaxed);
    let mut latencies = Vec::new();
    while let Some(task) = tasks.join_next().await {
        latencies.extend(task??);
    }
    latencies.sort_unstable();
    let done = done as f64;
    Ok(Run {
        per_second: done / took.as_secs_f64(),
        p50_micros: quantile(&latencies, 50),
        p99_micros: quantile(&latencies, 99),
        cpu_micros: cpu / done,
    })
}

/// Works until it is over; how long each thing took, in microseconds.
async fn work<W: Worker>(mut worker: W, board: Arc<Board>) -> Result<Vec<u32>> {
    let mut latencies = Vec::new();
    while !board.over.load(Ordering::Relaxed) {
        let took = worker.timed().await?;
        board.done.fetch_add(1, Ordering::Relaxed);
        if board.counts.load(Ordering::Relaxed) {
            latencies.push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
        }
    }
    Ok(latencies)
}

fn quantile(sorted: &[u32], percent: usize) -> f64 {
    sorted.get(sorted.len().saturating_sub(1) * percent / 100).map_or(f64::NAN, |&value| f64::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sleeper;

    impl Worker for Sleeper {
        async fn once(&mut self) -> Result<()> {
            tokio::time::sleep(Duration::from_millis(2)).await;
            Ok(())
        }
    }

    struct Failing;

    impl Worker for Failing {
        async fn once(&mut self) -> Result<()> {
            anyhow::bail!("no")
        }
    }

    #[tokio::test]
    async fn things_done_are_counted_and_timed() {
        let run = run([Sleeper, Sleeper], Duration::from_millis(200), std::process::id()).await.unwrap();
        assert!((1.0..=1_000.0).contains(&run.per_second), "{run:?}");
        assert!(run.p50_micros >= 2_000.0 && run.p99_micros >= run.p50_micros, "{run:?}");
    }

    #[tokio::test]
    async fn a_run_that_fails_has_no_figure() {
        assert!(run([Failing], Duration::from_millis(1), std::process::id()).await.is_err());
    }

    #[test]
    fn several_runs_count_as_one() {
        let run = |value: f64| Run { per_second: value, p50_micros: 1.0, p99_micros: value, cpu_micros: 4.0 };
        let mean = Run::mean(&[run(10.0), run(20.0)]);
        assert_eq!(
            (mean.per_second, mean.p50_micros, mean.p99_micros, mean.cpu_micros),
            (15.0, 1.0, 15.0, 4.0)
        );
    }

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let sorted: Vec<u32> = (0..=100).collect();
        assert_eq!((quantile(&sorted, 50), quantile(&sorted, 99)), (50.0, 99.0));
        assert_eq!(quantile(&[7], 99), 7.0);
        assert!(quantile(&[], 50).is_nan());
    }
}
