//! File information: kind, link count, identity, size and times, on any system.

/// Stat data that identify the state of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Stat {
    /// The device that the file is on.
    pub dev: u64,
    /// The inode; file systems use it again soon after a file is deleted.
    pub ino: u64,
    /// The length in bytes.
    pub size: u64,
    /// When the content changed, in ns since 1970; anyone can set it.
    pub mtime_ns: i64,
    /// When content or attributes changed, in ns since 1970; set by the kernel alone.
    pub ctime_ns: i64,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileType {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link; on Windows any reparse point.
    Link,
    /// A FIFO, socket or device.
    Other,
    /// A listing does not say.
    Unknown,
}

/// What a system says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileInfo {
    pub kind: FileType,
    /// How many names it has.
    pub links: u64,
    pub stat: Stat,
}

impl FileInfo {
    /// The device and inode.
    pub fn id(&self) -> (u64, u64) {
        (self.stat.dev, self.stat.ino)
    }
}
