"""Python tests of the package; Rust tests are in `tests/rust`."""
