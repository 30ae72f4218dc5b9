//! Lines that an exclusion means without naming them: a forked or resumed session begins with
//! messages of another one, which are stored there and are in its context as well.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::error::{Error, Interrupt, Result};
use crate::files::paths::is_below;
use crate::filter::ExcludedLines;
use crate::messages::formats::{copied_lines, copies_of};
use crate::messages::line_reader::lines;
use crate::store::Store;

/// Bytes of a line that may be a copy record; a longer one is a message.
const LONGEST_RECORD: usize = 64 << 10;

impl Store {
    /// Returns the lines of other transcripts to which excluded lines point.
    ///
    /// # Errors
    /// [`Error::Interrupted`]. A transcript that cannot be read points to nothing.
    pub(super) fn excluded_copies(
        &self,
        excluded: &[ExcludedLines],
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<ExcludedLines>> {
        let mut found = Vec::new();
        let state = self.refresh(interrupt)?;
        for file in state.main.files.iter().filter(|file| file.progress.copies > 0) {
            for lines in excluded.iter().filter(|lines| is_below(&file.path, &lines.of)) {
                let of = ExcludedLines { of: file.path.clone(), ..lines.clone() };
                match self.copies_in(&of, file.progress.copies, interrupt) {
                    Err(Error::Interrupted) => return Err(Error::Interrupted),
                    copied => found.extend(copied.unwrap_or_default()),
                }
            }
        }
        Ok(found)
    }

    /// Reads the copy records among some lines of a transcript that has so many copies in all.
    fn copies_in(
        &self,
        of: &ExcludedLines,
        copies: u32,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<ExcludedLines>> {
        let file = self.root().open_read(&of.of)?;
        let size = file.metadata().map_err(|error| Error::io("read", &of.of, error))?.len();
        let (mut found, mut number) = (Vec::new(), 0);
        // most stand at the beginning: the rest is not read
        let left = AtomicU32::new(copies);
        let stop = || left.load(Relaxed) == 0 || interrupt();
        let read = lines(&file, &of.of, 0..size, LONGEST_RECORD, &stop, &mut |_, line, whole| {
            number += 1;
            if number > of.last {
                left.store(0, Relaxed);
                return;
            }
            let copied = copied_lines(line).filter(|_| whole);
            if let Some((path, first, last)) = copied {
                left.store(left.load(Relaxed).saturating_sub(copies_of(line)), Relaxed);
                if (of.first..=of.last).contains(&number) {
                    found.push(ExcludedLines { of: path, first, last });
                }
            }
        });
        match read {
            Err(Error::Interrupted) if left.load(Relaxed) == 0 => Ok(found),
            read => read.map(|()| found),
        }
    }
}
