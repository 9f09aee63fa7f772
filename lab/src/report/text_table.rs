//! A plain-text table: columns as wide as their widest cell, and a rule under the header.

/// The alignment of a column's cells.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

pub struct TextTable {
    columns: Vec<(&'static str, Side)>,
    rows: Vec<Row>,
}

enum Row {
    Cells(Vec<String>),
    /// Text that spans all columns without widening them.
    Line(String),
}

impl TextTable {
    pub fn new(columns: &[(&'static str, Side)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(Row::Cells(cells));
    }

    pub fn line(&mut self, text: impl Into<String>) {
        self.rows.push(Row::Line(text.into()));
    }

    /// Adds an empty line, except before the first row.
    pub fn gap(&mut self) {
        if !self.rows.is_empty() {
            self.line("");
        }
    }

    /// Renders the table; columns whose cells are all empty are left out.
    pub fn render(&self) -> String {
        self.render_without(&[])
    }

    /// Renders the table within a width: columns are left out in this order, until it fits or none
    /// is left to leave out. A line below names them. Lines that span all columns are not broken.
    pub fn render_within(&self, columns: Option<usize>, order: &[&str]) -> String {
        let Some(columns) = columns else { return self.render() };
        let is_wide = |text: &str| text.lines().nth(1).is_some_and(|rule| width(rule) > columns);
        for count in 0..=order.len() {
            let text = self.render_without(&order[..count]);
            if !is_wide(&text) || count == order.len() {
                let names = order[..count].join(", ");
                let named = !names.is_empty();
                let line = format!("left out for want of {columns} columns: {names}\n");
                return if named { text + &line } else { text };
            }
        }
        self.render()
    }

    /// Renders the table without the columns of these names.
    fn render_without(&self, dropped: &[&str]) -> String {
        let cells = || {
            self.rows
                .iter()
                .filter_map(|row| if let Row::Cells(cells) = row { Some(cells) } else { None })
        };
        let widest = |column: usize| {
            cells().filter_map(|cells| cells.get(column)).map(|cell| width(cell)).max()
        };
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| match widest(column) {
                _ if dropped.contains(&self.columns[column].0) => 0,
                None | Some(0) => 0,
                Some(widest) => widest.max(width(self.columns[column].0)),
            })
            .collect();
        let lay = |cells: &mut dyn Iterator<Item = &str>| {
            let laid = cells.zip(&self.columns).zip(&widths).filter(|(_, width)| **width > 0);
            let laid: Vec<String> =
                laid.map(|((cell, (_, side)), width)| pad(cell, *width, *side)).collect();
            format!("{}\n", laid.join("  ").trim_end())
        };
        let header = lay(&mut self.columns.iter().map(|(name, _)| *name));
        let used = widths.iter().filter(|width| **width > 0);
        let rule = "─".repeat(used.clone().sum::<usize>() + 2 * used.count().saturating_sub(1));
        let rows = self.rows.iter().map(|row| match row {
            Row::Cells(cells) => lay(&mut cells.iter().map(String::as_str)),
            Row::Line(text) => format!("{text}\n"),
        });
        format!("{header}{rule}\n{}", rows.collect::<String>())
    }
}

fn pad(text: &str, to: usize, side: Side) -> String {
    let space = " ".repeat(to.saturating_sub(width(text)));
    match side {
        Side::Left => format!("{text}{space}"),
        Side::Right => format!("{space}{text}"),
    }
}

/// The number of characters that a terminal shows; ANSI colour codes count as none.
fn width(text: &str) -> usize {
    let mut in_colour = false;
    let shown = text.chars().filter(|&character| {
        let hidden = in_colour || character == '\x1b';
        in_colour = hidden && character != 'm';
        !hidden
    });
    shown.count()
}

/// Joins items by ` · ` and wraps between items at `columns` characters. All lines but the first
/// are indented by `indent` spaces; the first is assumed to follow a prefix of that width.
pub fn wrap(items: &[String], indent: usize, columns: usize) -> String {
    let mut text = String::new();
    let mut column = indent;
    for (index, item) in items.iter().enumerate() {
        if index > 0 && column + 3 + width(item) > columns {
            text.push_str(&format!("\n{}", " ".repeat(indent)));
            column = indent;
        } else if index > 0 {
            text.push_str(" · ");
            column += 3;
        }
        text.push_str(item);
        column += width(item);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lean_right_and_empty_columns_vanish() {
        let mut table =
            TextTable::new(&[("case", Side::Left), ("n", Side::Right), ("none", Side::Right)]);
        table.line("a line that is longer than all columns together");
        table.row(vec!["a".into(), "5".into(), String::new()]);
        table.row(vec!["\x1b[32mbb\x1b[0m".into(), "µ50".into()]);
        let text = table.render();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["case    n", "─────────"]);
        assert_eq!(lines[3..], ["a       5", "\x1b[32mbb\x1b[0m    µ50"]);
    }

    #[test]
    fn columns_leave_in_their_order_and_are_named() {
        let mut table =
            TextTable::new(&[("case", Side::Left), ("n", Side::Right), ("cold", Side::Right)]);
        table.row(vec!["a case".into(), "5000".into(), "12 µs".into()]);
        let within = |columns| table.render_within(Some(columns), &["cold", "n"]);
        assert_eq!(within(19), table.render());
        assert_eq!(
            within(18),
            "case       n\n────────────\na case  5000\nleft out for want of 18 columns: cold\n"
        );
        assert!(within(3).ends_with("a case\nleft out for want of 3 columns: cold, n\n"));
        assert_eq!(table.render_within(None, &["n"]), table.render());
    }

    #[test]
    fn items_wrap_between_each_other() {
        let items = ["aaaa", "bbbb", "cccc"].map(str::to_owned);
        assert_eq!(wrap(&items, 2, 16), "aaaa · bbbb\n  cccc");
    }
}
