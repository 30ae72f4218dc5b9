//! Test helper: requires a working `strace`, or `COMMONPLACE_NO_PTRACE=1` to skip.

use std::io::Write as _;
use std::process::Command;

/// Returns whether the test can use `strace`; if not, it is to be skipped.
///
/// # Panics
/// If not, unless `COMMONPLACE_NO_PTRACE=1` says that this is known, as where a container forbids
/// ptrace: nothing is to hide that a tool was not installed.
pub fn require_strace_or_skip() -> bool {
    let traced = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
    let why = match traced {
        Ok(traced) if traced.status.success() => return true,
        Ok(traced) => String::from_utf8_lossy(&traced.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let told = format!("{test} needs strace, which cannot trace here ({})", why.trim());
    assert!(
        std::env::var("COMMONPLACE_NO_PTRACE").is_ok_and(|known| known == "1"),
        "{told}: install it; where ptrace is forbidden, set COMMONPLACE_NO_PTRACE=1"
    );
    // past what captures the output of tests that pass
    let _ = writeln!(std::io::stderr(), "NOT TESTED: {told}");
    false
}
