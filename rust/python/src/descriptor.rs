//! File descriptors, by which Python takes over an open file.

use std::fs::File;

use commonplace_core::files::side_files::Access;
use pyo3::prelude::*;

/// Hands an open file over to Python.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "on Windows Python is asked for it")]
pub fn into_descriptor(_: Python<'_>, file: File, _: Access) -> PyResult<i32> {
    Ok(std::os::fd::IntoRawFd::into_raw_fd(file))
}

/// Hands an open file over to Python, whose C library makes the number.
#[cfg(windows)]
pub fn into_descriptor(py: Python<'_>, file: File, access: Access) -> PyResult<i32> {
    use std::os::windows::io::{AsRawHandle, IntoRawHandle};

    let os = py.import("os")?;
    let mode = match access {
        Access::Read => "O_RDONLY",
        Access::Append => "O_APPEND",
        Access::Update | Access::New => "O_RDWR",
    };
    let handle = file.as_raw_handle().expose_provenance();
    let flags = os.getattr(mode)?;
    let number = py.import("msvcrt")?.call_method1("open_osfhandle", (handle, flags))?.extract()?;
    // it is the C library's from here on
    let _ = file.into_raw_handle();
    Ok(number)
}
