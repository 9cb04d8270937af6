//! One page with all reports, for any browser, offline.

use super::document::Document;
use super::scoreboard::{self, Scoreboard};
use bristle_plot::escape;
use std::fmt::Write;
use std::path::Path;

const STYLE: &str = include_str!("page.css");

/// The page.
pub fn page(out: &Path, documents: &[Document]) -> String {
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width,initial-scale=1\">\n<title>bristle: four papers and a manual, run \
         again</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>Four papers and a manual on friction, run \
         again</h1>\n<p>Every number comes from a run of bristle {} on this machine: the printed number, ours and the \
         ratio. Only the text of the papers was at hand: figures are drawn from their captions and from what the text \
         says of them. Curves and tables lie as CSV in the folders beside this page; the scenes are in \
         <code>scenes/papers</code>.</p>\n<nav>",
        env!("CARGO_PKG_VERSION")
    );
    text.push_str("<a href=\"#scoreboard\">scoreboard</a>");
    for document in documents {
        let _ = write!(text, "<a href=\"#{0}\">{0}</a>", escape(document.name));
    }
    text.push_str("<a href=\"#texts\">texts</a></nav>\n");
    text += &Scoreboard::read(out, documents.iter().map(|document| document.name)).html();
    documents.iter().for_each(|document| text += &document.html());
    text += &scoreboard::bibliography();
    text + "</body>\n</html>\n"
}
