//! Windows tests: names that mean another file, sharing, second names, junctions.

#![cfg(windows)]
#![allow(missing_docs)]

mod fixture;

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;

use commonplace_core::error::{Error, storage_code};
use commonplace_core::files::write_rules::WriteRules;
use commonplace_core::files::{Expected, Files};
use commonplace_core::store::{Store, StoreOptions};
use fixture::{TestRoot, files_with};
use windows_sys::Win32::Storage::FileSystem::GetShortPathNameW;

fn files(memory: &TestRoot) -> Files {
    let store = Store::open(memory.root().to_str().unwrap(), StoreOptions::default()).unwrap();
    let root = commonplace_core::files::root::Root::open(store.root().path(), false).unwrap();
    Files::new(root, WriteRules::default())
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(Error::Refused { code, .. }) => code,
        Err(Error::NotFound { .. }) => "missing",
        Err(Error::Io { source, .. }) => storage_code(&source).unwrap_or("other"),
        Err(e) => panic!("{e}"),
    }
}

#[test]
fn what_means_another_file_is_refused() {
    let memory = TestRoot::new();
    memory.put("note.md", "tea\n");
    let files = files(&memory);
    for path in ["note.md:stream", "note.md::$DATA", "nul.md", "sub/CON", "note.md.", "note.md "] {
        assert_eq!(code(files.read(path)), "name", "{path:?}");
        assert_eq!(code(files.write(path, b"x", Expected::Any)), "name", "{path:?}");
        assert_eq!(code(files.append(path, b"x", Expected::Any)), "name", "{path:?}");
    }
    assert_eq!(code(files.read("C:\\Windows\\win.ini")), "backslash");
    assert_eq!(fs::read(memory.at("note.md")).unwrap(), b"tea\n");
    let names = fs::read_dir(memory.root()).unwrap().map(|entry| entry.unwrap().file_name());
    let ours = [".commonplace", ".gitattributes", "note.md"];
    assert_eq!(names.filter(|name| !ours.contains(&name.to_str().unwrap())).count(), 0);
}

#[test]
fn a_file_has_the_spelling_of_its_disk() {
    let memory = TestRoot::new();
    memory.put("Facts/A longer name than eight letters.md", "tea\n");
    let files = files(&memory);
    let path = "Facts/A longer name than eight letters.md";
    assert_eq!(files.read(path).unwrap().0, b"tea\n");
    for other in ["facts/A longer name than eight letters.md", &path.to_uppercase()] {
        assert_eq!(code(files.read(other)), "missing", "{other:?}");
    }
    let other = "Facts/a longer name than eight letters.md";
    assert_eq!(code(files.write(other, b"x", Expected::Any)), "case");
    let short = short_name(&memory.at(path));
    assert_eq!(fs::read(memory.at("Facts").join(&short)).unwrap(), b"tea\n");
    // where the volume gives no short names, this is the name itself
    if !path.ends_with(&short) {
        assert_eq!(code(files.read(&format!("Facts/{short}"))), "missing", "{short:?}");
    }
}

fn short_name(path: &Path) -> String {
    let wide: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
    let mut short = vec![0_u16; 1 << 12];
    // SAFETY: the path ends with 0, and the buffer has the size that is told.
    #[expect(unsafe_code, reason = "the standard library knows no short names")]
    let length =
        unsafe { GetShortPathNameW(wide.as_ptr(), short.as_mut_ptr(), short.len() as u32) };
    let short = OsString::from_wide(&short[..length as usize]).into_string().unwrap();
    short.rsplit(['\\', '/']).next().unwrap().to_owned()
}

#[test]
fn a_file_that_is_not_shared_is_an_error_and_stays_as_it_is() {
    let memory = TestRoot::new();
    memory.put("note.md", "tea\n");
    let files = files(&memory);
    let held = OpenOptions::new().read(true).share_mode(0).open(memory.at("note.md")).unwrap();
    for result in [
        files.read("note.md").map(drop),
        files.write("note.md", b"x", Expected::Any).map(drop),
        files.append("note.md", b"x", Expected::Any).map(drop),
        files.delete("note.md", Expected::Any).map(drop),
    ] {
        let told = result.as_ref().unwrap_err().to_string();
        assert!(told.contains("another program has it open"), "{told}");
        assert_eq!(code(result), "notshared");
    }
    drop(held);
    assert_eq!(files.read("note.md").unwrap().0, b"tea\n");
    files.write("note.md", b"coffee\n", Expected::Any).unwrap();
}

#[test]
fn a_second_name_is_refused() {
    let memory = TestRoot::new();
    fs::write(memory.outside().join("secret"), "CANARY").unwrap();
    fs::hard_link(memory.outside().join("secret"), memory.at("note.md")).unwrap();
    let files = files(&memory);
    assert_eq!(code(files.read("note.md")), "hardlink");
    assert_eq!(code(files.append("note.md", b"x", Expected::Any)), "hardlink");
    assert_eq!(files_with(&memory.open(false), "CANARY").len(), 0);
    assert_eq!(fs::read(memory.outside().join("secret")).unwrap(), b"CANARY");
}

#[test]
fn a_junction_is_refused() {
    let memory = TestRoot::new();
    let outside = memory.outside().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.md"), "CANARY").unwrap();
    // it takes no right, as a symbolic link does
    let made = Command::new("cmd")
        .args(["/c", "mklink", "/J"])
        .args([memory.at("junction"), outside.clone()])
        .status();
    assert!(made.unwrap().success() && memory.at("junction").join("secret.md").exists());
    let files = files(&memory);
    assert_eq!(code(files.read("junction/secret.md")), "symlink");
    assert_eq!(code(files.write("junction/new.md", b"x", Expected::Any)), "symlink");
    let store = memory.open(false);
    assert_eq!(files_with(&store, "CANARY").len(), 0);
    let skipped = store.status(&|| false).unwrap().skipped;
    assert_eq!(skipped, [("junction".to_owned(), "symlink".to_owned())]);
    assert_eq!(fs::read_dir(outside).unwrap().count(), 1);
}

#[test]
fn the_lock_file_can_be_read_while_it_is_locked() {
    let memory = TestRoot::new();
    memory.put("note.md", "tea\n");
    let files = files(&memory);
    files.write("note.md", b"coffee\n", Expected::Any).unwrap();
    let root = commonplace_core::files::root::Root::open(memory.root(), false).unwrap();
    let (lock, other) = Default::default();
    let _guard = commonplace_core::files::lock::Lock::acquire(&lock, &root).unwrap();
    assert!(commonplace_core::files::lock::Lock::try_acquire(&other, &root).unwrap().is_none());
    let mut list = String::new();
    File::open(memory.at(".commonplace/lock")).unwrap().read_to_string(&mut list).unwrap();
    assert!(list.contains("history/note.md"), "{list}");
}

#[test]
fn an_editor_that_renames_takes_the_place_of_a_file_that_is_open() {
    let memory = TestRoot::new();
    memory.put("note.md", "tea\n");
    let files = files(&memory);
    let open = files.root().open_read("note.md").unwrap();
    memory.put("new", "coffee\n");
    fs::rename(memory.at("new"), memory.at("note.md")).unwrap();
    assert_eq!(files.read("note.md").unwrap().0, b"coffee\n");
    files.write("note.md", b"juice\n", Expected::Any).unwrap();
    drop(open);
}
