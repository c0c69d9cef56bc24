//! Rows of a panel: names of all panels, the list, lines about the chosen entry, keys.

use crate::line::{Line, Role, Span};
use crate::model::Model;
use crate::panel::{Open, Panel, PanelItem, PanelKind};
use crate::text::{clean, clip, clip_line, width, wrap};
use crate::view::Frame;

/// Lines of the detail that a page scrolls: less than half of the smallest usual screen, so that
/// nothing is skipped unseen.
pub(crate) const PAGE: usize = 8;
/// Columns of the smallest title beside its figures.
const LEAST_TITLE: usize = 12;

impl Model {
    /// The open panel for a screen; `None` if there is none.
    pub fn panel_view(&self, columns: usize, height: usize) -> Option<Frame> {
        // A question that waits is answered first.
        let open = self.panel.as_ref().filter(|_| self.dialogs.is_empty())?;
        let columns = columns.max(8);
        let height = height.max(6);
        let mut rows = vec![names(open.kind, columns)];
        let mut below = vec![keys(open, columns)];
        if let Some((said, failed)) = &open.said {
            let role = if *failed { Role::Bad } else { Role::Good };
            below.insert(0, clip_line(Line::of(clean(said), role), columns));
        }
        let mut cursor = None;
        let mut editor = Vec::new();
        if let Some((words, act)) = &open.editing {
            let sign = if act.is_some() {
                "edit › "
            } else {
                "search › "
            };
            let shown = words.shown(columns.saturating_sub(width(sign) + 1).max(1));
            let most = (height / 2).max(1);
            let first = shown.rows.len().saturating_sub(most);
            for (nth, row) in shown.rows.iter().enumerate().skip(first) {
                let lead = if nth == first { sign } else { "" };
                let lead = format!("{lead:>indent$}", indent = width(sign));
                editor.push(Line::of(lead, Role::Accent).with(row.clone(), Role::Plain));
            }
            cursor = Some((
                shown.cursor.0.saturating_sub(first),
                shown.cursor.1 + width(sign),
            ));
        }
        let room = height.saturating_sub(rows.len() + below.len() + editor.len());
        rows.extend(body(open, columns, room));
        rows.resize(
            height.saturating_sub(below.len() + editor.len()),
            Line::default(),
        );
        let above = rows.len();
        rows.extend(editor);
        rows.extend(below);
        rows.truncate(height);
        Some(Frame {
            rows,
            cursor: cursor.map(|(row, column)| (row + above, column.min(columns - 1))),
        })
    }

    /// The open panel as lines, for a terminal that knows lines only.
    pub(crate) fn panel_lines(&self, columns: usize) -> Option<Vec<Line>> {
        let open = self.panel.as_ref()?;
        let panel = open.panel.as_ref()?;
        let mut lines = vec![Line::default(), Line::of(open.kind.name(), Role::Accent)];
        for line in &panel.summary {
            lines.extend(wrap(&[Span::plain(clean(line))], columns, 2));
        }
        if panel.items.is_empty() {
            lines.push(Line::of(panel.empty.clone(), Role::Plain));
        }
        for (nth, item) in panel.items.iter().enumerate() {
            let text = format!(
                "{} {} ({})",
                nth + 1,
                clean(&item.title),
                clean(&item.aside)
            );
            lines.extend(wrap(&[Span::plain(text)], columns, 2));
            for line in item.detail.iter().take(PAGE) {
                lines.extend(wrap(
                    &[Span::plain(format!("  {}", clean(line)))],
                    columns,
                    4,
                ));
            }
        }
        Some(lines)
    }
}

/// Names of the panels; the open one stands out.
fn names(open: PanelKind, columns: usize) -> Line {
    let mut line = Line::default();
    for (nth, kind) in PanelKind::ALL.into_iter().enumerate() {
        let role = if kind == open {
            Role::Chosen
        } else {
            Role::Dim
        };
        let mark = if kind == open { "›" } else { " " };
        line = line.with(format!("{mark}{} {}", nth + 1, kind.name()), role);
    }
    if line.width() > columns {
        // The open one alone tells where one is.
        let at = PanelKind::ALL.iter().position(|kind| *kind == open);
        let text = format!(
            "›{} {} (Tab: next)",
            at.unwrap_or_default() + 1,
            open.name()
        );
        line = Line::of(text, Role::Chosen);
    }
    clip_line(line, columns)
}

fn keys(open: &Open, columns: usize) -> Line {
    if let Some((_, act)) = &open.editing {
        let text = if act.is_some() {
            "Enter saves · Alt+Enter new line · Esc leaves it as it was"
        } else {
            "Enter searches · Esc back"
        };
        return clip_line(Line::of(text, Role::Dim), columns);
    }
    let mut line = Line::default();
    for action in open.item().map_or(&[][..], |item| item.actions.as_slice()) {
        line = line.with(action.key.to_string(), Role::Accent);
        line = line.with(format!(" {} · ", action.label), Role::Plain);
    }
    let search = match open.kind {
        PanelKind::Memories | PanelKind::Sessions => "/ search · ",
        _ => "",
    };
    // Keys that everybody finds give way first; the way back stays.
    let general = [
        "↑↓ choose · Space more · Tab next · q back",
        "Space more · Tab next · q back",
        "Tab next · q back",
        "q back",
    ];
    let taken = line.width() + width(search);
    let fits = general.iter().find(|text| taken + width(text) <= columns);
    let text = format!("{search}{}", fits.unwrap_or(&"q back"));
    clip_line(line.with(text, Role::Dim), columns)
}

fn body(open: &Open, columns: usize, room: usize) -> Vec<Line> {
    let Some(panel) = &open.panel else {
        return vec![Line::default(), Line::of("reading…", Role::Dim)];
    };
    let mut rows = Vec::new();
    for line in &panel.summary {
        rows.extend(wrap(&[Span::new(clean(line), Role::Plain)], columns, 2));
    }
    if !open.words.is_empty() {
        let words = format!("search: {}", clean(&open.words));
        rows.push(clip_line(Line::of(words, Role::Accent), columns));
    }
    rows.push(Line::default());
    if panel.items.is_empty() {
        rows.extend(wrap(
            &[Span::new(clean(&panel.empty), Role::Dim)],
            columns,
            0,
        ));
        rows.truncate(room);
        return rows;
    }
    let left = room.saturating_sub(rows.len());
    // The list gets half of the rest; more if the detail is short.
    let detail: Vec<Line> = open
        .item()
        .map_or_else(Vec::new, |item| about(item, columns));
    let list = panel
        .items
        .len()
        .min((left / 2).max(left.saturating_sub(detail.len() + 1)).max(1));
    rows.extend(entries(panel, open.chosen, columns, list));
    rows.push(Line::default());
    let left = room.saturating_sub(rows.len());
    let first = open.scrolled.min(detail.len().saturating_sub(left));
    let hidden = detail.len().saturating_sub(first + left);
    rows.extend(detail.into_iter().skip(first).take(left));
    if hidden > 0 {
        // The last row says that there is more.
        rows.pop();
        rows.push(Line::of(
            format!("  … {} more lines", hidden + 1),
            Role::Dim,
        ));
    }
    rows.truncate(room);
    rows
}

fn entries(panel: &Panel, chosen: usize, columns: usize, most: usize) -> Vec<Line> {
    let first = (chosen + 1).saturating_sub(most);
    let shown = panel.items.iter().enumerate().skip(first).take(most);
    let row = |(at, item): (usize, &PanelItem)| {
        let (sign, role) = if at == chosen {
            ("› ", Role::Chosen)
        } else {
            ("  ", Role::Plain)
        };
        let aside = clean(&item.aside);
        let room = columns.saturating_sub(width(&aside) + 4);
        if room < LEAST_TITLE {
            let line = Line::of(format!("{sign}{}", clean(&item.title)), role);
            return clip_line(line, columns);
        }
        let title = clip(&clean(&item.title), room);
        let gap = " ".repeat(room.saturating_sub(width(&title)) + 2);
        let line = Line::of(format!("{sign}{title}"), role);
        clip_line(line.with(gap, Role::Plain).with(aside, Role::Dim), columns)
    };
    shown.map(row).collect()
}

fn about(item: &PanelItem, columns: usize) -> Vec<Line> {
    let line = |text: &String| {
        let role = if text.starts_with("+ ") {
            Role::Good
        } else if text.starts_with("- ") {
            Role::Bad
        } else {
            Role::Plain
        };
        wrap(&[Span::new(format!("  {}", clean(text)), role)], columns, 4)
    };
    item.detail.iter().flat_map(line).collect()
}
