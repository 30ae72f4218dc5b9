//! Benchmark of grep over a transcript of the caller, to compare with ripgrep.
//!
//! `cargo bench --bench grep -- FILE PATTERN [count|find] [threads] [chunk KiB] [read|map] [smart|exact]`
//! prints one figure a run; with `read` the file is not mapped, with `exact` the case of letters
//! counts; without arguments it searches a small transcript made here.

#![allow(clippy::print_stdout, missing_docs)]

use std::fs::File;
use std::io::Write;
use std::time::Instant;

use commonplace_core::grep::{Case, GrepOptions, Scan};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let arg = |at: usize| args.get(at).map(String::as_str);
    let made;
    let path = match arg(0) {
        Some(path) => path.into(),
        None => {
            made = tempfile::NamedTempFile::new()?;
            let line = "{\"role\":\"user\",\"content\":\"It was a bright cold day in April.\"}\n";
            made.as_file().write_all(line.repeat(1_000_000).as_bytes())?;
            made.path().to_path_buf()
        }
    };
    let options = GrepOptions {
        pattern: arg(1).unwrap_or("april").into(),
        threads: arg(3).map_or(Ok(0), str::parse)?,
        chunk: arg(4).map_or(Ok(4096), str::parse::<usize>)? * 1024,
        worth_mapping: if arg(5) == Some("read") { u64::MAX } else { 0 },
        case: if arg(6) == Some("exact") { Case::Sensitive } else { Case::Smart },
        ..GrepOptions::default()
    };
    let size = path.metadata()?.len() as f64;
    let start = Instant::now();
    let mut scan = Scan::transcript(File::open(&path)?, "transcript", options)?;
    let count = match arg(2) {
        Some("find") => {
            while !scan.next_batch(&|| false)?.is_empty() {}
            scan.report().messages_matched
        }
        _ => scan.count(&|| false)?,
    };
    let seconds = start.elapsed().as_secs_f64();
    println!("{count} matches, {seconds:.3} s, {:.2} GB/s", size / seconds / 1e9);
    Ok(())
}
