//! The list of archived files, `.commonplace/archive/files.json`: only what is in it counts.
//!
//! It is read here alone, in one pass: that of ten thousand files has megabytes, and the first search
//! of each process waits for it. A file of which the entry is damaged is not archived; the others are.

use std::io::Read as _;
use std::num::NonZeroUsize;
use std::str::FromStr;

use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::files::paths::OWN;
use crate::files::root::{Root, Stat};
use crate::index::bm25f::{FIELDS, Field, Totals};
use crate::messages::json::PullParser;
use crate::messages::json_string::decode;

/// Below [`OWN`].
const LIST: &str = "archive/files.json";

/// What is known of an archived file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArchivedFile {
    /// Its size when it was archived.
    pub size: u64,
    /// Its modification time then, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Its number in the archive.
    pub id: u64,
    /// Its messages that are in the archive, and the lengths of their fields.
    pub totals: Totals,
    /// Its session record.
    pub summary: String,
    /// The times of its first and its last message, in milliseconds since 1970.
    pub times: [Option<i64>; 2],
}

/// The list of archived files.
#[derive(Debug, Default)]
pub struct ArchivedFiles {
    /// The version of the rows in the archive, if the list says it.
    pub version: Option<i64>,
    /// Greater than the number of every file that is or was in the list.
    next: u64,
    /// Rows of the archive were deleted, which are still counted in it.
    pub has_deleted: bool,
    /// Every change that was begun has ended.
    pub is_finished: bool,
    /// Some or all of the list is not as it is written: what was to be read there is not archived.
    pub is_damaged: bool,
    /// The messages of all files.
    pub totals: Totals,
    /// The stamps of the list when it was read; none where there is none.
    stamp: Option<Stat>,
    files: FxHashMap<String, ArchivedFile>,
    /// The paths by the numbers.
    paths: FxHashMap<u64, String>,
}

impl ArchivedFiles {
    /// Reads the list; what is none archives nothing.
    ///
    /// # Errors
    /// Those of reading it; [`Error::Refused`] where a link is in its place.
    pub fn open(root: &Root) -> Result<Self> {
        let stamp = Self::stamp(root);
        let mut text = Vec::new();
        match root.open_own(&format!("{OWN}/{LIST}")) {
            Err(Error::NotFound { .. }) => return Ok(Self::default()),
            file => {
                let read = file?.read_to_end(&mut text);
                read.map_err(|error| Error::io("read", format!("{OWN}/{LIST}"), error))?;
            }
        }
        Ok(Self { stamp, ..Self::of(&text) })
    }

    /// Returns the list that a text is; one that holds nothing where it is none.
    fn of(text: &[u8]) -> Self {
        if text.is_empty() {
            return Self::default();
        }
        Self::parse(text).unwrap_or_else(|| Self { is_damaged: true, ..Self::default() })
    }

    fn parse(text: &[u8]) -> Option<Self> {
        let mut list = Self::default();
        let mut parser = PullParser::new(text);
        parser.object(|key, parser| {
            match key {
                b"version" => list.version = number(parser)?,
                b"next" => match number(parser)? {
                    Some(next) => list.next = next,
                    None => list.is_damaged = true,
                },
                b"deleted" => list.has_deleted = parser.skip()? == b"true",
                b"unfinished" => list.is_finished = parser.skip()? == b"false",
                b"files" if parser.peek()? == b'{' => list.read_files(parser)?,
                b"files" => {
                    list.is_damaged = true;
                    parser.skip()?;
                }
                _ => drop(parser.skip()?),
            }
            Some(())
        })?;
        list.paths = list.files.iter().map(|(path, file)| (file.id, path.clone())).collect();
        list.is_damaged |= list.paths.len() < list.files.len();
        list.files.values().for_each(|file| list.totals.merge(&file.totals));
        let last = list.paths.keys().max().map_or(0, |id| id.saturating_add(1));
        list.next = list.next.max(last);
        parser.is_done().then_some(list)
    }

    fn read_files(&mut self, parser: &mut PullParser<'_>) -> Option<()> {
        parser.object(|path, parser| {
            match ArchivedFile::read(parser)? {
                Some(file) => drop(self.files.insert(decode(path).into_owned(), file)),
                None => self.is_damaged = true,
            }
            Some(())
        })
    }

    /// Returns the stamps of the list; none where there is none.
    pub(crate) fn stamp(root: &Root) -> Option<Stat> {
        root.stat_own(&format!("{OWN}/{LIST}")).ok()
    }

    /// Returns whether the list on the disk is another one by now.
    pub(crate) fn has_changed(&self, root: &Root) -> bool {
        Self::stamp(root) != self.stamp
    }

    /// Returns whether there was no list when it was read, or a link in its place.
    pub(crate) fn is_missing(&self) -> bool {
        self.stamp.is_none()
    }

    /// Returns the archived file of this path, if it is as it was when it was archived.
    pub(crate) fn get(&self, path: &str, stat: &Stat) -> Option<&ArchivedFile> {
        let same = |file: &&ArchivedFile| (file.size, file.mtime_ns) == (stat.size, stat.mtime_ns);
        self.files.get(path).filter(same)
    }

    /// Returns whether the archive may hold words of files that are not in the list: an index keeps
    /// those of deleted documents until it is merged.
    pub(crate) fn may_hold_others(&self) -> bool {
        self.has_deleted || !self.is_finished || self.is_damaged || self.files.is_empty()
    }

    /// Returns a number that no file has or had.
    pub fn next(&self) -> u64 {
        self.next.max(1)
    }

    /// Returns how many messages the files of each part have, which are in a part by their numbers.
    pub fn documents_of_parts(&self, parts: NonZeroUsize) -> Vec<usize> {
        let mut documents = vec![0; parts.get()];
        self.files.values().for_each(|file| {
            documents[(file.id % parts.get() as u64) as usize] += file.messages();
        });
        documents
    }

    /// Returns the path of the file with this number.
    pub fn path(&self, id: u64) -> Option<&str> {
        self.paths.get(&id).map(|path| &**path)
    }

    /// Returns the files by path, in no order.
    pub fn files(&self) -> &FxHashMap<String, ArchivedFile> {
        &self.files
    }
}

impl ArchivedFile {
    /// Reads what the list says of a file; nothing if some of it is missing, or of another type.
    fn read(parser: &mut PullParser<'_>) -> Parsed<Self> {
        if parser.peek()? != b'{' {
            return parser.skip().map(|_| None);
        }
        let (mut size, mut mtime_ns, mut id, mut summary) = (None, None, None, None);
        let (mut documents, mut docs_with_field, mut length) = (None, None, None);
        let mut times = [None; 2];
        parser.object(|key, parser| {
            match key {
                b"id" => id = number(parser)?,
                b"size" => size = number(parser)?,
                b"mtime_ns" => mtime_ns = number(parser)?,
                b"messages" => documents = number(parser)?,
                b"fields" => docs_with_field = by_field(parser)?,
                b"lengths" => length = by_field(parser)?,
                b"summary" if parser.peek()? == b'"' => summary = Some(decode(parser.string()?)),
                b"first" => times[0] = number(parser)?,
                b"last" => times[1] = number(parser)?,
                _ => drop(parser.skip()?),
            }
            Some(())
        })?;
        let whole = || {
            let (documents, docs_with_field, length) = (documents?, docs_with_field?, length?);
            let totals = Totals { documents, docs_with_field, length };
            let summary = summary?.into_owned();
            Some(Self { size: size?, mtime_ns: mtime_ns?, id: id?, totals, summary, times })
        };
        Some(whole())
    }

    /// Returns how many of its messages are in the archive.
    pub fn messages(&self) -> usize {
        self.totals.documents as usize
    }
}

/// A value that was stepped over; in it none where it is of another type.
type Parsed<T> = Option<Option<T>>;

fn number<N: FromStr>(parser: &mut PullParser<'_>) -> Parsed<N> {
    let digits = parser.skip()?;
    Some(std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()))
}

/// Reads an object that has a number for some of the fields, by name.
fn by_field<N: FromStr + Copy + Default>(parser: &mut PullParser<'_>) -> Parsed<[N; FIELDS]> {
    if parser.peek()? != b'{' {
        return parser.skip().map(|_| None);
    }
    let mut numbers = Some([N::default(); FIELDS]);
    parser.object(|name, parser| {
        let field = std::str::from_utf8(name).ok().and_then(Field::named);
        match (&mut numbers, field, number(parser)?) {
            (Some(numbers), Some(field), Some(number)) => numbers[field as usize] = number,
            _ => numbers = None,
        }
        Some(())
    })?;
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn entry(id: u64) -> Value {
        json!({
            "id": id, "size": 9, "mtime_ns": -1, "messages": 3, "fields": {"body": 3},
            "lengths": {"body": 40, "speaker": 3}, "summary": "{\"type\":\"session\"} é\n",
            "first": 5, "last": null,
        })
    }

    fn list(files: &Value) -> ArchivedFiles {
        let list = json!({
            "version": 5, "next": 9, "deleted": false, "unfinished": false, "files": files,
        });
        ArchivedFiles::of(list.to_string().as_bytes())
    }

    #[test]
    fn a_list_has_what_was_written() {
        let read = list(&json!({"a/\"é\".jsonl": entry(1), "b.jsonl": entry(2)}));
        assert_eq!((read.version, read.next()), (Some(5), 9));
        assert!(read.is_finished && !read.has_deleted && !read.is_damaged);
        assert!(!read.may_hold_others());
        assert_eq!(read.path(1), Some("a/\"é\".jsonl"));
        assert_eq!((read.totals.documents, read.totals.length[Field::Body as usize]), (6, 80));
        let parts = |parts: usize| read.documents_of_parts(parts.try_into().unwrap());
        assert_eq!([parts(1), parts(2), parts(3)], [vec![6], vec![3, 3], vec![0, 3, 3]]);
        let file = &read.files()["b.jsonl"];
        assert_eq!((file.size, file.mtime_ns, file.id, file.messages()), (9, -1, 2, 3));
        assert_eq!(file.totals.docs_with_field[Field::Body as usize], 3);
        assert_eq!(file.totals.length[Field::Speaker as usize], 3);
        assert_eq!(file.summary, "{\"type\":\"session\"} é\n");
        assert_eq!(file.times, [Some(5), None]);
    }

    #[test]
    fn a_damaged_entry_is_left_out_and_the_rest_counts() {
        let mut wrong = vec![json!(5), json!([]), json!(null), json!({})];
        for (name, values) in [
            ("id", [json!(-1), json!("1"), json!(null)]),
            ("size", [json!(-1), json!(1.5), json!(true)]),
            ("mtime_ns", [json!("0"), json!(null), json!({})]),
            ("messages", [json!(-3), json!(1_u64 << 32), json!([3])]),
            ("fields", [json!(null), json!({"body": "x"}), json!({"no field": 1})]),
            ("lengths", [json!([]), json!({"body": -1}), json!({"body": {}})]),
            ("summary", [json!(null), json!(1), json!({})]),
        ] {
            for value in values {
                let mut one = entry(1);
                one[name] = value;
                wrong.push(one);
            }
            let mut one = entry(1);
            one.as_object_mut().unwrap().remove(name);
            wrong.push(one);
        }
        for one in wrong {
            let read = list(&json!({"a.jsonl": one, "b.jsonl": entry(2)}));
            assert!(read.is_damaged && read.may_hold_others(), "{one}");
            assert_eq!(read.files().keys().collect::<Vec<_>>(), ["b.jsonl"], "{one}");
            assert_eq!(read.totals, entry_totals(), "{one}");
        }
    }

    fn entry_totals() -> Totals {
        list(&json!({"a.jsonl": entry(1)})).totals
    }

    #[test]
    fn times_are_left_out_alone() {
        let mut one = entry(1);
        (one["first"], one["last"]) = (json!("x"), json!(7));
        let read = list(&json!({"a.jsonl": one}));
        assert!(!read.is_damaged);
        assert_eq!(read.files()["a.jsonl"].times, [None, Some(7)]);
    }

    #[test]
    fn a_number_belongs_to_one_file() {
        assert!(list(&json!({"a.jsonl": entry(1), "b.jsonl": entry(1)})).is_damaged);
        let read = list(&json!({"a.jsonl": entry(20)}));
        assert_eq!((read.next(), read.is_damaged), (21, false));
    }

    #[test]
    fn what_is_no_list_archives_nothing() {
        let whole = json!({"version": 5, "next": 2, "files": {"a.jsonl": entry(1)}}).to_string();
        assert_eq!(ArchivedFiles::of(whole.as_bytes()).files().len(), 1);
        let torn = (1..whole.len()).map(|end| &whole.as_bytes()[..end]);
        let others = ["{", "[]", "null", "5", "{\"files\": []}", "{\"next\": \"x\"}", "{} {}"];
        for text in torn.chain(others.map(str::as_bytes)) {
            let read = ArchivedFiles::of(text);
            let shown = String::from_utf8_lossy(text);
            assert!(read.is_damaged && read.files().is_empty(), "{shown}");
        }
    }

    #[test]
    fn without_a_list_a_change_may_be_under_way() {
        for read in [ArchivedFiles::of(b""), ArchivedFiles::of(b"{}"), ArchivedFiles::default()] {
            assert!(!read.is_damaged && !read.is_finished && read.may_hold_others());
            assert_eq!(read.next(), 1);
        }
    }
}
