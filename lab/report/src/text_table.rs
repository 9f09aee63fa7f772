//! A plain-text table: columns as wide as their widest cell, and a rule under the header.

/// The alignment of a column's cells.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Blanks behind the text.
    Left,
    /// Blanks before the text.
    Right,
}

/// The narrowest first column of a table that is too wide.
const NARROWEST: usize = 8;

/// A table under construction; [`render`](Self::render) gives the text.
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
    /// Creates a table with these headers and no rows.
    pub fn new(columns: &[(&'static str, Side)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row of one cell for each column.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(Row::Cells(cells));
    }

    /// Adds a line of text that spans all columns without widening them.
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
        self.render_without(&[], usize::MAX)
    }

    /// Renders the table within a width: columns are left out in this order, until it fits or none
    /// is left to leave out. A line below names them. If it is too wide even so, the first column
    /// is as narrow as needed, and longer cells of it stand on lines of their own, above the rest of
    /// their row. Lines that span all columns are not broken.
    pub fn render_within(&self, columns: Option<usize>, order: &[&str]) -> String {
        let Some(columns) = columns else { return self.render() };
        let fits = |count: &usize| total(&self.widths(&order[..*count])) <= columns;
        let count = (0..order.len()).find(fits).unwrap_or(order.len());
        let dropped = &order[..count];
        let widths = self.widths(dropped);
        let first = widths.iter().find(|width| **width > 0).copied().unwrap_or_default();
        let rest = total(&widths) - first;
        let text = self.render_without(dropped, columns.saturating_sub(rest).max(NARROWEST));
        let has_cells = |name: &&&str| {
            let mut all = self.columns.iter().zip(self.widths(&[]));
            all.any(|((other, _), width)| other == *name && width > 0)
        };
        let names: Vec<&str> = dropped.iter().filter(has_cells).copied().collect();
        match names.is_empty() {
            true => text,
            false => format!("{text}left out for want of width: {}\n", names.join(", ")),
        }
    }

    /// The width of each column; 0 for one that is left out.
    fn widths(&self, dropped: &[&str]) -> Vec<usize> {
        let cells = || {
            self.rows
                .iter()
                .filter_map(|row| if let Row::Cells(cells) = row { Some(cells) } else { None })
        };
        let widest = |column: usize| {
            cells().filter_map(|cells| cells.get(column)).map(|cell| width(cell)).max()
        };
        (0..self.columns.len())
            .map(|column| match widest(column) {
                _ if dropped.contains(&self.columns[column].0) => 0,
                None | Some(0) => 0,
                Some(widest) => widest.max(width(self.columns[column].0)),
            })
            .collect()
    }

    /// Renders the table without the columns of these names. The first column is at most `most`
    /// wide.
    fn render_without(&self, dropped: &[&str], most: usize) -> String {
        let mut widths = self.widths(dropped);
        let first = widths.iter().position(|width| *width > 0).unwrap_or_default();
        if let Some(width) = widths.get_mut(first) {
            *width = (*width).min(most);
        }
        let lay = |cells: &mut dyn Iterator<Item = &str>| {
            let laid = cells.zip(&self.columns).zip(&widths).filter(|(_, width)| **width > 0);
            let laid: Vec<String> =
                laid.map(|((cell, (_, side)), width)| pad(cell, *width, *side)).collect();
            format!("{}\n", laid.join("  ").trim_end())
        };
        let header = lay(&mut self.columns.iter().map(|(name, _)| *name));
        let rule = "─".repeat(total(&widths));
        let rows = self.rows.iter().map(|row| match row {
            Row::Cells(cells) => {
                let is_long = |cell: &String| width(cell) > widths[first];
                let Some(long) = cells.get(first).filter(|cell| is_long(cell)) else {
                    return lay(&mut cells.iter().map(String::as_str));
                };
                let rest = cells.iter().enumerate();
                let mut rest = rest.map(|(at, cell)| if at == first { "" } else { cell.as_str() });
                format!("{long}\n{}", lay(&mut rest))
            }
            Row::Line(text) => format!("{text}\n"),
        });
        format!("{header}{rule}\n{}", rows.collect::<String>())
    }
}

/// The width of a table whose columns have these widths: two blanks are between those that are there.
fn total(widths: &[usize]) -> usize {
    let there = widths.iter().filter(|width| **width > 0);
    there.clone().sum::<usize>() + 2 * there.count().saturating_sub(1)
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

/// Breaks the lines that are wider than `columns` at spaces. The parts after the first are indented to the
/// text after the line's first gap of two spaces, if it begins in the left half of `columns`, or else by two
/// more than the line. A word that is wider than a line stands alone, and a rule is cut.
pub fn fold(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return text.to_owned() };
    let mut folded = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        if width(line) <= columns {
            folded.push_str(line);
        } else {
            fold_line(line, columns, &mut folded);
        }
        folded.push_str(end);
    }
    folded
}

fn fold_line(line: &str, columns: usize, folded: &mut String) {
    if line.chars().all(|sign| sign == '─') {
        folded.extend(line.chars().take(columns));
        return;
    }
    let begin = line.len() - line.trim_start_matches(' ').len();
    let second = line[begin..].find("  ").map(|gap| {
        let after = &line[begin + gap..];
        width(&line[..begin + gap]) + after.len() - after.trim_start_matches(' ').len()
    });
    let indent = second.filter(|column| *column <= columns / 2).unwrap_or(begin + 2);
    let mut column = 0;
    for word in line.split_inclusive(' ') {
        let wide = width(word.trim_end_matches(' '));
        if column + wide > columns && column > indent {
            folded.truncate(folded.trim_end_matches(' ').len());
            folded.push('\n');
            folded.push_str(&" ".repeat(indent));
            column = indent;
        }
        folded.push_str(word);
        column += width(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_lines_are_broken_at_their_columns() {
        let text =
            "  name      one two three four five\nshort\n    a heading of seven words here\n";
        assert_eq!(fold(text, None), text);
        assert_eq!(
            fold(text, Some(24)),
            "  name      one two\n            three four\n            five\nshort\n    a heading of seven\n      words here\n"
        );
        let coloured = "\x1b[32maaaa\x1b[0m bbbb cccc";
        assert_eq!(fold(coloured, Some(9)), "\x1b[32maaaa\x1b[0m bbbb\n  cccc");
        assert_eq!(fold("──────────\n", Some(9)), "─────────\n");
        let long = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b";
        assert_eq!(fold(long, Some(9)), "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n  b");
        for columns in 1..60 {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let folded = fold(text, Some(columns));
            assert_eq!(words(&folded), words(text), "{columns}");
            assert!(folded.lines().all(|line| line.trim_end() == line), "{columns}: {folded}");
        }
    }

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
            "case       n\n────────────\na case  5000\nleft out for want of width: cold\n"
        );
        assert!(within(3).ends_with("a case\nleft out for want of width: cold, n\n"));
        // A column without cells is not shown anyway, and not named.
        let mut table =
            TextTable::new(&[("case", Side::Left), ("warm", Side::Right), ("cold", Side::Right)]);
        table.row(vec!["a case".into(), String::new(), "12 µs".into()]);
        let narrow = table.render_within(Some(8), &["warm", "cold"]);
        assert!(narrow.ends_with("left out for want of width: cold\n"), "{narrow}");
        // Without a column to leave out, the first one is narrow.
        let mut table = TextTable::new(&[("case", Side::Left), ("n", Side::Right)]);
        table.row(vec!["a case of many words".into(), "5".into()]);
        table.row(vec!["short".into(), "12".into()]);
        assert_eq!(
            table.render_within(Some(14), &[]),
            "case         n\n──────────────\na case of many words\n             5\nshort       12\n"
        );
        assert_eq!(table.render_within(None, &["n"]), table.render());
    }

    #[test]
    fn items_wrap_between_each_other() {
        let items = ["aaaa", "bbbb", "cccc"].map(str::to_owned);
        assert_eq!(wrap(&items, 2, 16), "aaaa · bbbb\n  cccc");
    }
}
