//! Pictures of the screen, from its own lines: for a recording that needs no terminal.

use crate::line::Line;
use crate::view::Frame;
use std::collections::VecDeque;

/// Picture of a screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shot {
    /// Name of the moment.
    pub name: String,
    /// Rows from the top.
    pub rows: Vec<Line>,
    /// Columns of the screen.
    pub columns: usize,
    /// Row and column of the cursor; hidden if absent.
    pub cursor: Option<(usize, usize)>,
}

/// Finished lines that are still in sight, and the pictures so far.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    above: VecDeque<Line>,
    wanted: Vec<String>,
    pub(crate) shots: Vec<Shot>,
}

impl Recorder {
    /// A picture of the next update is wanted.
    pub(crate) fn want(&mut self, name: String) {
        self.wanted.push(name);
    }

    /// Takes an update in.
    pub(crate) fn drawn(
        &mut self,
        finished: &[Line],
        frame: &Frame,
        covers: bool,
        (columns, height): (usize, usize),
    ) {
        self.above.extend(finished.iter().cloned());
        let over = self.above.len().saturating_sub(height);
        self.above.drain(..over);
        for name in std::mem::take(&mut self.wanted) {
            let room = if covers {
                0
            } else {
                height.saturating_sub(frame.rows.len())
            };
            let skipped = self.above.len().saturating_sub(room);
            let above = self.above.iter().skip(skipped);
            let above: Vec<Line> = above.cloned().collect();
            let cursor = frame
                .cursor
                .map(|(row, column)| (row + above.len(), column));
            let mut rows = above;
            rows.extend(frame.rows.iter().cloned());
            rows.resize(height, Line::default());
            self.shots.push(Shot {
                name,
                rows,
                columns,
                cursor,
            });
        }
    }
}
