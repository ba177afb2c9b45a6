//! What the kernel says about this machine and its processes.

use std::fs;

use anyhow::{Context as _, Result};

/// Which scheduling policies are real-time; the numbers are the kernel's.
const REAL_TIME_POLICIES: [&str; 2] = ["1", "2"];

/// The machine in a line: what a reader needs to compare, and nothing that says whose it is.
pub(crate) fn described() -> Result<String> {
    let cores = std::thread::available_parallelism()?;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    // A vendor's suffix tells more about the owner than about the kernel.
    let kernel = kernel.trim().split('-').next().unwrap_or_default().to_owned();
    let info = fs::read_to_string("/proc/cpuinfo")?;
    let model =
        info.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or(": unknown processor");
    let model = model.trim_start_matches([' ', '\t', ':']);
    let priority = if is_real_time()? { "real-time priority" } else { "ordinary priority" };
    Ok(format!("{cores} cores ({model}), Linux {kernel}, {priority}"))
}

fn is_real_time() -> Result<bool> {
    // Field 41 of the page proc(5), counted from the one after the name, which is the third.
    let policy = stat(std::process::id())?.get(38).cloned().unwrap_or_default();
    Ok(REAL_TIME_POLICIES.contains(&policy.as_str()))
}

/// Processor time a process and its threads have used so far, in microseconds.
pub(crate) fn cpu_micros(pid: u32) -> Result<f64> {
    let fields = stat(pid)?;
    let ticks = |index: usize| -> Result<f64> {
        Ok(fields.get(index).context("a short line in /proc")?.parse::<f64>()?)
    };
    Ok((ticks(11)? + ticks(12)?) * 1e6 / rustix::param::clock_ticks_per_second() as f64)
}

fn stat(pid: u32) -> Result<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).context("the process is gone")?;
    // The name may itself hold spaces and parentheses.
    let (_, rest) = text.rsplit_once(") ").context("a line in /proc that is not understood")?;
    Ok(rest.split_whitespace().map(str::to_owned).collect())
}

/// Memory of a process that is resident, in MB (a million bytes).
pub(crate) fn resident_mb(pid: u32) -> Result<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).context("the process is gone")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS in /proc")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib * 1024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_busy_process_uses_processor_time_and_memory() {
        let me = std::process::id();
        let before = cpu_micros(me).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        while cpu_micros(me).unwrap() <= before {
            assert!(Instant::now() < deadline, "no processor time is ever counted");
        }
        assert!((1.0..10_000.0).contains(&resident_mb(me).unwrap()));
        assert!(cpu_micros(u32::MAX).is_err());
    }

    #[test]
    fn the_machine_is_described_without_its_name() {
        let text = described().unwrap();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        assert!(text.contains("cores") && text.contains("Linux"), "{text}");
        assert!(!text.split_whitespace().any(|word| word == host.trim()), "{text}");
    }
}
