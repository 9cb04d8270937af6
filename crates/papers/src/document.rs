//! A report: text, tables and figures, as Markdown for a folder and as HTML for the page of all reports.
//!
//! Text may contain `code`, **bold** and *italic*. Important numbers are stored a second time, by name, with the
//! printed value: `results.json` and the tests use them.

use super::scoreboard::{Claim, Verdict};
use bristle_plot::escape;
use bristle_plot::format::grouped;
use serde::Serialize;
use std::fmt::Write;

pub use bristle_plot::format::digits;

/// A number of a paper and ours.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quantity {
    /// Its name, `table.row.column`.
    pub name: String,
    /// As the paper prints it; `None` where it prints none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub printed: Option<f64>,
    /// As the run gave it.
    pub ours: f64,
    /// Ours over the paper's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
}

/// A part of a report.
#[derive(Debug, Clone, PartialEq)]
enum Block {
    Heading(String),
    Words(String),
    Table { head: Vec<String>, rows: Vec<Vec<String>> },
    Figure { file: String, svg: String, caption: String },
}

/// A file beside the report.
#[derive(Debug, Clone, PartialEq)]
pub struct Data {
    /// Its name in the folder.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// The report on one paper.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// Name of the paper and of the folder.
    pub name: &'static str,
    /// Heading.
    pub title: String,
    /// Whether experiments were shortened.
    pub is_shortened: bool,
    blocks: Vec<Block>,
    /// Tables of numbers.
    pub data: Vec<Data>,
    /// Important numbers.
    pub quantities: Vec<Quantity>,
    /// Claims of the text, with verdicts.
    pub claims: Vec<Claim>,
}

impl Document {
    /// An empty report.
    pub fn new(name: &'static str, title: &str) -> Self {
        Self {
            name,
            title: title.into(),
            is_shortened: false,
            blocks: Vec::new(),
            data: Vec::new(),
            quantities: Vec::new(),
            claims: Vec::new(),
        }
    }

    /// Begins with the statement that the experiments were shortened, and how to run them in full.
    pub fn mark_shortened(&mut self) {
        let words = format!(
            "**Shortened**, with `--quick`: fewer steps, points and repetitions than in the paper, and some figures \
             are coarser or left out. `bristle reproduce {}` without it gives the full report.",
            self.name
        );
        self.is_shortened = true;
        self.blocks.insert(0, Block::Words(words));
    }

    /// A heading.
    pub fn heading(&mut self, text: &str) {
        self.blocks.push(Block::Heading(text.into()));
    }

    /// A paragraph.
    pub fn words(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Words(text.into()));
    }

    /// A table, with the same as CSV beside the report under `name`.
    pub fn table(&mut self, name: &str, head: &[&str], rows: Vec<Vec<String>>) {
        let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
        let mut text = String::new();
        for row in std::iter::once(&head).chain(&rows) {
            let cells: Vec<String> = row.iter().map(|cell| quoted(&cell.replace("**", ""))).collect();
            let _ = writeln!(text, "{}", cells.join(","));
        }
        self.data.push(Data { name: format!("{name}.csv"), text });
        self.blocks.push(Block::Table { head, rows });
    }

    /// A picture; `name` without its ending.
    pub fn figure(&mut self, name: &str, svg: String, caption: impl Into<String>) {
        self.blocks.push(Block::Figure { file: format!("{name}.svg"), svg, caption: caption.into() });
    }

    /// Curves as CSV, `name` without its ending: columns of any length under their heads.
    pub fn columns(&mut self, name: &str, columns: &[(&str, &[f64])]) {
        let heads: Vec<String> = columns.iter().map(|(head, _)| quoted(head)).collect();
        let mut text = heads.join(",") + "\n";
        let rows = columns.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
        for k in 0..rows {
            for (i, (_, values)) in columns.iter().enumerate() {
                if i > 0 {
                    text.push(',');
                }
                if let Some(value) = values.get(k) {
                    let _ = write!(text, "{value:?}");
                }
            }
            text.push('\n');
        }
        self.data.push(Data { name: format!("{name}.csv"), text });
    }

    /// Stores a number with its printed value.
    pub fn compare(&mut self, name: impl Into<String>, printed: f64, ours: f64) {
        let ratio = Some(ours / printed).filter(|ratio| ratio.is_finite());
        self.quantities.push(Quantity { name: name.into(), printed: Some(printed), ours, ratio });
    }

    /// Stores a number without a printed value.
    pub fn note(&mut self, name: impl Into<String>, ours: f64) {
        self.quantities.push(Quantity { name: name.into(), printed: None, ours, ratio: None });
    }

    /// Stores a claim of the text with its verdict.
    pub fn claim(&mut self, place: &str, claim: &str, verdict: Verdict, finding: impl Into<String>) {
        self.claims.push(Claim { place: place.into(), claim: claim.into(), verdict, finding: finding.into() });
    }

    /// The number stored under `name`; NaN where there is none.
    pub fn value(&self, name: &str) -> f64 {
        self.quantities.iter().find(|quantity| quantity.name == name).map_or(f64::NAN, |quantity| quantity.ours)
    }

    /// A stored number.
    #[cfg(test)]
    pub fn ours(&self, name: &str) -> f64 {
        let found = self.quantities.iter().find(|quantity| quantity.name == name);
        found.map_or_else(|| panic!("{}: there is no {name}", self.name), |quantity| quantity.ours)
    }

    /// Pictures, by file name.
    pub fn figures(&self) -> impl Iterator<Item = (&str, &str)> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Figure { file, svg, .. } => Some((file.as_str(), svg.as_str())),
            _ => None,
        })
    }

    /// As Markdown, pictures beside it.
    pub fn markdown(&self) -> String {
        let mut text = format!("# {}\n", self.title);
        for block in &self.blocks {
            text.push('\n');
            match block {
                Block::Heading(heading) => {
                    let _ = writeln!(text, "## {heading}");
                }
                Block::Words(words) => {
                    let _ = writeln!(text, "{words}");
                }
                Block::Table { head, rows } => {
                    let _ = writeln!(text, "| {} |\n|{}", head.join(" | "), "---|".repeat(head.len()));
                    for row in rows {
                        let _ = writeln!(text, "| {} |", row.join(" | "));
                    }
                }
                Block::Figure { file, caption, .. } => {
                    let _ = writeln!(text, "![{caption}]({file})\n\n*{caption}*");
                }
            }
        }
        text
    }

    /// As a part of an HTML page, pictures in it.
    pub fn html(&self) -> String {
        let mut text = format!("<section id=\"{}\">\n<h2>{}</h2>\n", self.name, inline(&self.title));
        for block in &self.blocks {
            match block {
                Block::Heading(heading) => {
                    let _ = writeln!(text, "<h3>{}</h3>", inline(heading));
                }
                Block::Words(words) => {
                    let _ = writeln!(text, "<p>{}</p>", inline(words));
                }
                Block::Table { head, rows } => {
                    let cells = |cells: &[String], tag: &str| -> String {
                        // numbers stay on one line, sentences need not
                        let class = |cell: &str| if cell.chars().count() < 16 { " class=\"n\"" } else { "" };
                        cells.iter().map(|cell| format!("<{tag}{}>{}</{tag}>", class(cell), inline(cell))).collect()
                    };
                    let _ = writeln!(text, "<div class=\"wide\"><table>\n<tr>{}</tr>", cells(head, "th"));
                    for row in rows {
                        let _ = writeln!(text, "<tr>{}</tr>", cells(row, "td"));
                    }
                    text.push_str("</table></div>\n");
                }
                Block::Figure { file, svg, caption } => {
                    // as a picture of its own: styles stay within
                    let _ = writeln!(
                        text,
                        "<figure><img alt=\"{}\" src=\"data:image/svg+xml;base64,{}\"><figcaption>{} \
                         <code>{}/{}</code></figcaption></figure>",
                        escape(caption),
                        bristle_plot::base64(svg.as_bytes()),
                        inline(caption),
                        self.name,
                        escape(file)
                    );
                }
            }
        }
        text + "</section>\n"
    }
}

/// `code`, **bold** and *italic* as HTML; code may stand within the others.
pub fn inline(words: &str) -> String {
    let mut html = String::new();
    let (mut is_bold, mut is_italic) = (false, false);
    for (k, part) in words.split('`').enumerate() {
        if k % 2 == 1 {
            let _ = write!(html, "<code>{}</code>", escape(part));
            continue;
        }
        for (k, part) in part.split("**").enumerate() {
            if k > 0 {
                is_bold = !is_bold;
                html += if is_bold { "<b>" } else { "</b>" };
            }
            for (k, part) in part.split('*').enumerate() {
                if k > 0 {
                    is_italic = !is_italic;
                    html += if is_italic { "<i>" } else { "</i>" };
                }
                html += &escape(part);
            }
        }
    }
    html
}

/// A cell of a CSV file.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

/// A whole number with its thousands apart, for tables.
pub fn count(n: usize) -> String {
    grouped(n, ',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_and_html_agree() {
        let mut document = Document::new("paper", "A & B");
        document.heading("Table 1");
        document.words("With `x < 1` and **bold** *words*.");
        document.words("**Bold with `code`.** Plain.");
        document.table("one", &["a", "b, c"], vec![vec!["1".into(), "**2**".into()]]);
        document.figure("fig1", "<svg/>".into(), "A picture");
        document.compare("one.a", 2.0, 1.0);
        let markdown = document.markdown();
        assert!(markdown.contains("| a | b, c |\n|---|---|\n| 1 | **2** |\n"), "{markdown}");
        assert!(markdown.contains("![A picture](fig1.svg)"));
        let html = document.html();
        assert!(html.contains("<code>x &lt; 1</code> and <b>bold</b> <i>words</i>."), "{html}");
        assert!(html.contains("<b>Bold with <code>code</code>.</b> Plain."), "{html}");
        assert!(html.contains("A &amp; B") && html.contains("data:image/svg+xml;base64,PHN2Zy8+"));
        assert_eq!(document.data[0].text, "a,\"b, c\"\n1,2\n");
        assert_eq!(document.quantities[0].ratio, Some(0.5));
    }

    #[test]
    fn shortened_report_begins_with_a_notice() {
        let mut document = Document::new("paper", "Title");
        document.words("Much.");
        document.mark_shortened();
        let markdown = document.markdown();
        let first: Vec<&str> = markdown.lines().take(3).collect();
        assert!(first[2].starts_with("**Shortened**, with `--quick`: "), "{markdown}");
        assert!(first[2].contains("`bristle reproduce paper`") && document.is_shortened);
        assert!(document.html().contains("<b>Shortened</b>, with <code>--quick</code>: fewer"));
    }
}
