//! File kinds by extension: notes (Markdown), transcripts (JSON Lines), and all others.

/// What kind of file a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum FileKind {
    /// Markdown.
    Note,
    /// One JSON message a line.
    Transcript,
    /// Anything else: listed, never indexed.
    Other,
}

impl FileKind {
    /// Returns the kind by the extension of a name, in whatever case.
    pub fn of(path: &str) -> Self {
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
        match extension.to_ascii_lowercase().as_str() {
            "md" | "markdown" => Self::Note,
            "jsonl" => Self::Transcript,
            _ => Self::Other,
        }
    }
}
