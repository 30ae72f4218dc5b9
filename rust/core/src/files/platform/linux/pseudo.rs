//! Pseudo file systems: their files are made up by the kernel, and nothing can be kept there.

use std::os::fd::BorrowedFd;

/// Their magic numbers, as in `linux/magic.h`, and their names.
const PSEUDO_FILE_SYSTEMS: [(u32, &str); 16] = [
    (0x9FA0, "proc"),
    (0x6265_6572, "sysfs"),
    (0x0027_E0EB, "cgroup"),
    (0x6367_7270, "cgroup2"),
    (0x6462_6720, "debugfs"),
    (0x7472_6163, "tracefs"),
    (0x7363_6673, "securityfs"),
    (0xF97C_FF8C, "selinuxfs"),
    (0x6265_6570, "configfs"),
    (0xCAFE_4A11, "bpf"),
    (0x6165_676C, "pstore"),
    (0xDE5E_81E4, "efivarfs"),
    (0x4249_4E4D, "binfmt_misc"),
    (0x1980_0202, "mqueue"),
    (0x1CD1, "devpts"),
    (0x6E73_6673, "nsfs"),
];

/// Returns the name of the file system of an open folder if it is one of them.
#[allow(clippy::unnecessary_cast, clippy::cast_possible_truncation)] // The widths differ.
pub(super) fn name(folder: BorrowedFd<'_>) -> Option<&'static str> {
    let magic = rustix::fs::fstatfs(folder).ok()?.f_type as u32;
    PSEUDO_FILE_SYSTEMS.iter().find(|(number, _)| *number == magic).map(|(_, name)| *name)
}
