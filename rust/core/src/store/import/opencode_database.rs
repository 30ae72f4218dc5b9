//! Database of opencode: its sessions as lines of JSON, each message as `opencode export` writes it.
//!
//! Since version 1.2 opencode keeps the rows of `session`, `message` and `part` in an SQLite database
//! that it writes while we read. It is opened read-only; a session is read when one of its rows is
//! newer than all rows were seconds before the last import. Source: `packages/opencode/src/session/session.sql.ts`
//! of anomalyco/opencode (MIT).
//!
//! (Longer than 350 lines: each table and column is checked, as another program writes them.)

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, Cursor, Error as IoError, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, Row};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::memory_limit::MemoryLimit;
use crate::messages::formats::MAX_BAD_LINES;
use crate::store::import::ledger::Stamp;

/// The first bytes of a database.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// How names of databases end.
const EXTENSIONS: [&str; 3] = ["db", "sqlite", "sqlite3"];
/// How long a writer is waited for, which has the database for moments.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a message that is not finished may still grow, in milliseconds.
const GROWS_FOR: i64 = 600_000;
/// How long a row may be written after the time that it has, in milliseconds: it waits for others.
const COMMITTED_WITHIN: i64 = 10_000;
/// Bytes that are taken at most to read a byte of a message.
const READ_BYTE: u64 = 12;

/// How many of the tables that are read are tables: the rows of a view may have no end.
const TABLES: &str = "SELECT count(*) FROM sqlite_schema
    WHERE type = 'table' AND name IN ('session', 'message', 'part')";
/// The sessions with a row from then on, or with one whose time cannot be told.
const CHANGED: &str =
    "SELECT id, parent_id, directory, title, time_created, substr(quote(id), 1, 80)
    FROM session WHERE id IN (
    SELECT id FROM session WHERE time_updated >= ?1 OR typeof(time_updated) <> 'integer'
    UNION SELECT session_id FROM message
        WHERE time_updated >= ?1 OR typeof(time_updated) <> 'integer'
    UNION SELECT session_id FROM part WHERE time_updated >= ?1 OR typeof(time_updated) <> 'integer')
    ORDER BY time_created, id";
const NEWEST: &str = "SELECT max(
    coalesce((SELECT max(time_updated) FROM session WHERE typeof(time_updated) = 'integer'), 0),
    coalesce((SELECT max(time_updated) FROM message WHERE typeof(time_updated) = 'integer'), 0),
    coalesce((SELECT max(time_updated) FROM part WHERE typeof(time_updated) = 'integer'), 0))";
const MESSAGES: &str = "SELECT id, substr(quote(id), 1, 80) FROM message WHERE session_id = ?1
    ORDER BY time_created, id";
const MESSAGE: &str = "SELECT data, time_created, time_updated, (SELECT max(time_updated) FROM part
    WHERE message_id = ?1 AND typeof(time_updated) = 'integer') FROM message WHERE id = ?1";
/// The bytes of a message and its parts.
const SIZE: &str = "SELECT coalesce((SELECT octet_length(data) FROM message WHERE id = ?1), 0) +
    coalesce((SELECT sum(octet_length(data)) FROM part WHERE message_id = ?1), 0)";
const PARTS: &str =
    "SELECT data, substr(quote(id), 1, 80) FROM part WHERE message_id = ?1 ORDER BY id";

/// Returns whether a file is a database, by its name and its first bytes.
pub(super) fn is_database(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let mut start = [0; MAGIC.len()];
    extension.is_some_and(|found| EXTENSIONS.contains(&found))
        // to open a pipe would wait for its writer
        && path.is_file()
        && File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok())
        && start == *MAGIC
}

/// Returns what tells that a database has not changed: its own stamp, and that of its log.
pub(super) fn stamp(path: &Path) -> Option<Stamp> {
    if !is_database(path) {
        return None;
    }
    let (own, log) = (Stamp::of(path)?, Stamp::of(&log_of(path)).unwrap_or_default());
    let mtime_ns = own.mtime_ns.wrapping_add(log.mtime_ns);
    Some(Stamp { size: own.size + log.size, mtime_ns, ..own })
}

fn log_of(path: &Path) -> PathBuf {
    let mut log = OsString::from(path);
    log.push("-wal");
    log.into()
}

/// Rows of which a column is not what it has to be.
#[derive(Debug, Default)]
pub(super) struct BadRows {
    pub count: u64,
    /// The first [`MAX_BAD_LINES`] of them, with table, id and reason.
    pub first: Vec<String>,
}

impl BadRows {
    /// Notes a row that is left out, by what `quote(id)` gives.
    fn skip(&mut self, table: &str, id: &str, why: &str) {
        self.note(table, id, &format!("is left out: {why}"));
    }

    fn note(&mut self, table: &str, id: &str, why: &str) {
        self.count += 1;
        if self.first.len() < MAX_BAD_LINES {
            self.first.push(format!("row {id} of {table} {why}"));
        }
    }
}

/// The sessions of a database that have changed, as lines of JSON.
#[derive(Debug)]
pub(super) struct Sessions {
    connection: Connection,
    path: String,
    limit: MemoryLimit,
    /// The header of each session that is still to be read, the next one last.
    sessions: Vec<(String, Value)>,
    /// The session that is being read.
    session: String,
    /// Its messages, the next one last.
    messages: Vec<String>,
    line: Cursor<Vec<u8>>,
    /// The time of its newest row that was read: where the next import begins.
    pub until: i64,
    /// Whether a message was left out as it may still grow.
    pub has_growing: bool,
    /// Rows that were passed over, or read without a column.
    pub bad: BadRows,
    /// When it was opened, in milliseconds since 1970.
    now: i64,
}

impl Sessions {
    /// Opens a database, to read what has changed since `since`, in milliseconds since 1970.
    ///
    /// # Errors
    /// [`Error::Format`] for what is no database of opencode, or one of a version that is not known,
    /// or is locked.
    pub fn open(path: &Path, since: Option<i64>, now: i64, limit: &MemoryLimit) -> Result<Self> {
        let shown = path.to_string_lossy().into_owned();
        let fail = |error| failure(&shown, &error);
        let connection = connect(path).map_err(fail)?;
        let tables: i64 = connection.query_row(TABLES, [], |row| row.get(0)).map_err(fail)?;
        if tables < 3 {
            return Err(unknown(&shown, "it lacks a table"));
        }
        let newest: i64 = connection.query_row(NEWEST, [], |row| row.get(0)).map_err(fail)?;
        // a database whose newest row is older is another one
        let since = since.filter(|&since| since <= newest).unwrap_or(i64::MIN);
        let since = since.saturating_sub(COMMITTED_WITHIN);
        // a row of a clock that was ahead is not to hide those that come
        let until = newest.min(now);
        let (mut sessions, mut bad) = (Vec::new(), BadRows::default());
        {
            let mut changed = connection.prepare(CHANGED).map_err(fail)?;
            let mut rows = changed.query([since]).map_err(fail)?;
            while let Some(row) = rows.next().map_err(fail)? {
                sessions.extend(header(row, &mut bad).map_err(fail)?);
            }
            drop(rows);
            // what a later version keeps elsewhere is not to look like an empty session
            for statement in [MESSAGES, MESSAGE, PARTS, SIZE] {
                connection.prepare(statement).map_err(fail)?;
            }
        }
        sessions.reverse();
        let (limit, session, line) = (limit.clone(), String::new(), Cursor::default());
        let (path, messages, has_growing) = (shown, Vec::new(), false);
        Ok(Self {
            connection,
            path,
            limit,
            sessions,
            session,
            messages,
            line,
            until,
            has_growing,
            bad,
            now,
        })
    }

    /// Returns whether nothing is left to read.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Returns the next line; none at the end.
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        loop {
            if let Some(message) = self.messages.pop() {
                if let Some(line) = self.message(&message)? {
                    return Ok(Some(line));
                }
                continue;
            }
            let Some((id, header)) = self.sessions.pop() else { return Ok(None) };
            let fail = |error| failure(&self.path, &error);
            let mut statement = self.connection.prepare(MESSAGES).map_err(fail)?;
            let mut rows = statement.query([&id]).map_err(fail)?;
            while let Some(row) = rows.next().map_err(fail)? {
                match text(row, 0).map_err(fail)? {
                    Ok(message) => self.messages.push(message),
                    Err(why) => self.bad.skip("message", &name(row, 1).map_err(fail)?, &why),
                }
            }
            self.messages.reverse();
            self.session = id;
            return Ok(Some(format!("{header}\n").into_bytes()));
        }
    }

    /// Returns a message with its parts; none if it was deleted, or goes on growing.
    fn message(&mut self, id: &str) -> Result<Option<Vec<u8>>> {
        let fail = |error| failure(&self.path, &error);
        let size: i64 = self.connection.query_row(SIZE, [id], |row| row.get(0)).map_err(fail)?;
        let needed = (size.max(0) as u64).saturating_mul(READ_BYTE);
        self.limit.check(&format!("importing {:?}", self.path), needed)?;
        let row =
            |row: &Row<'_>| Ok((object(row)?, [number(row, 1)?, number(row, 2)?, number(row, 3)?]));
        let found = self.connection.query_row(MESSAGE, [id], row).optional().map_err(fail)?;
        let Some((info, [created, own, newest_part])) = found else { return Ok(None) };
        let updated = own.max(newest_part).unwrap_or(0);
        let mut info = match info {
            Ok(info) => info,
            Err(why) => {
                self.bad.skip("message", &format!("'{id}'"), &why);
                return Ok(None);
            }
        };
        let is_open = info["role"] == "assistant" && info["time"]["completed"].is_null();
        if is_open && info["error"].is_null() && updated.saturating_add(GROWS_FOR) > self.now {
            // the next import takes it, and all that comes behind it
            self.until = self.until.min(created.unwrap_or(i64::MIN));
            self.has_growing = true;
            self.messages.clear();
            return Ok(None);
        }
        if let Some(info) = info.as_object_mut() {
            info.insert("id".to_owned(), id.into());
            info.insert("sessionID".to_owned(), self.session.clone().into());
        }
        let mut statement = self.connection.prepare(PARTS).map_err(fail)?;
        let mut rows = statement.query([id]).map_err(fail)?;
        let mut parts: Vec<Value> = Vec::new();
        while let Some(row) = rows.next().map_err(fail)? {
            match object(row).map_err(fail)? {
                Ok(part) => parts.push(part),
                Err(why) => self.bad.skip("part", &name(row, 1).map_err(fail)?, &why),
            }
        }
        Ok(Some(format!("{}\n", json!({ "info": info, "parts": parts })).into_bytes()))
    }
}

impl Read for Sessions {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Sessions {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if self.line.fill_buf()?.is_empty()
            && let Some(line) = self.next().map_err(IoError::other)?
        {
            self.line = Cursor::new(line);
        }
        self.line.fill_buf()
    }

    fn consume(&mut self, read: usize) {
        self.line.consume(read);
    }
}

/// Opens a database for reading, beside others that write it.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// Returns the id of a session, and the record that begins it; none of a row without an id.
fn header(row: &Row<'_>, bad: &mut BadRows) -> rusqlite::Result<Option<(String, Value)>> {
    let shown = name(row, 5)?;
    let id = match text(row, 0)? {
        Ok(id) => id,
        Err(why) => {
            bad.skip("session", &shown, &why);
            return Ok(None);
        }
    };
    let mut said = |column| -> rusqlite::Result<Option<String>> {
        // a session without a parent, and what an old version lacks
        Ok(match text(row, column)? {
            _ if matches!(row.get_ref(column)?, ValueRef::Null) => None,
            Ok(said) => Some(said),
            Err(why) => {
                bad.note("session", &shown, &format!("is read without what is wrong: {why}"));
                None
            }
        })
    };
    let info = json!({
        "id": id, "parentID": said(1)?, "directory": said(2)?, "title": said(3)?,
        "time": { "created": number(row, 4)? },
    });
    Ok(Some((id, json!({ "info": info, "messages": [] }))))
}

/// Returns the text of a column, also one that is stored as bytes; else what it is instead.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<std::result::Result<String, String>> {
    let found = match row.get_ref(column)? {
        ValueRef::Text(text) | ValueRef::Blob(text) => match str::from_utf8(text) {
            Ok(text) => return Ok(Ok(text.to_owned())),
            Err(_) => "not UTF-8".to_owned(),
        },
        other => format!("{}, not text", other.data_type()),
    };
    Ok(Err(format!("column {} is {found}", row.as_ref().column_name(column)?)))
}

/// Returns the object in the first column; else what it is instead.
fn object(row: &Row<'_>) -> rusqlite::Result<std::result::Result<Value, String>> {
    Ok(text(row, 0)?.and_then(|text| match serde_json::from_str(&text) {
        Ok(object @ Value::Object(_)) => Ok(object),
        _ => Err("column data is no JSON object".to_owned()),
    }))
}

/// Returns the number of a column, such as a time; none where it has another type.
fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<i64>> {
    Ok(row.get_ref(column)?.as_i64_or_null().unwrap_or_default())
}

/// Returns what `quote(id)` gives, by which a row is named.
fn name(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(String::from_utf8_lossy(row.get_ref(column)?.as_bytes().unwrap_or_default()).into_owned())
}

/// Returns why a database cannot be read, in words.
fn failure(path: &str, error: &rusqlite::Error) -> Error {
    let why = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "it is locked by another program; import it again later".to_owned()
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            format!("it cannot be opened ({error}); allow reading it and writing to its folder")
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            format!("it is damaged ({error}); import what `opencode export SESSION` writes")
        }
        _ => return unknown(path, &error.to_string()),
    };
    Error::Format { path: path.to_owned(), line: None, why }
}

/// Returns that a database has other tables than are known.
fn unknown(path: &str, what: &str) -> Error {
    let why = format!(
        "it is no database of opencode, or of a version that is not known ({what}); import what \
         `opencode export SESSION` writes"
    );
    Error::Format { path: path.to_owned(), line: None, why }
}
