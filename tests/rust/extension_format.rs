//! Transcript format defined outside the crate: the recipe of CONTRIBUTING.md with a toy format.

use commonplace_core::error::Result;
use commonplace_core::memory_limit::MemoryLimit;
use commonplace_core::messages::formats::{
    ImportSink, MessageLine, Record, TranscriptFormat, import_with,
};

/// Lines such as `<ann> hello`; what is between stars was done and not said.
#[derive(Debug)]
struct ChatLog;

impl TranscriptFormat for ChatLog {
    fn name(&self) -> &'static str {
        "chat-log"
    }

    fn detect(&self, record: &Record<'_>) -> bool {
        record.text().starts_with(b"<")
    }

    fn read(&self, record: Record<'_>, sink: &mut ImportSink<'_>) -> Result<()> {
        let text = String::from_utf8_lossy(record.text());
        match text[1..].split_once("> ") {
            Some((_, deed)) if deed.starts_with('*') => sink.skip("deed"),
            Some((who, said)) => {
                sink.message(MessageLine::new("user").text("content", said).text("name", who))?;
            }
            None => sink.skip("no text"),
        }
        Ok(())
    }
}

#[test]
fn a_format_of_the_caller() {
    let text = "<ann> hello\n<ann> *waves*\n{\"role\":\"user\",\"content\":\"plain\"}\n<\n";
    let mut lines = Vec::new();
    let done = import_with(
        &[&ChatLog],
        text.as_bytes(),
        "log",
        &MemoryLimit::default(),
        &mut |line| {
            lines.push(String::from_utf8_lossy(line).into_owned());
            Ok(())
        },
        &mut |_| {},
        &|| false,
    )
    .unwrap();
    assert_eq!((done.format, done.messages, done.bad_lines), ("chat-log", 2, 0));
    assert_eq!((done.skipped["deed"], done.skipped["no text"]), (1, 1));
    assert_eq!(lines[0], "{\"role\":\"user\",\"content\":\"hello\",\"name\":\"ann\"}\n");
}
