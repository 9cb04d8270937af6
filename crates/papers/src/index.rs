//! One page with all reports, for any browser, offline.

use super::document::Document;
use super::scoreboard::{self, Scoreboard};
use bristle_plot::escape;
use std::fmt::Write;
use std::path::Path;

const STYLE: &str = "body{font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;max-width:1160px;\
margin:0 auto;padding:1rem;color:#222;background:#fff}h1,h2,h3{line-height:1.2}h2{margin-top:3rem;border-top:1px solid #ccc;padding-top:1rem}\
table{border-collapse:collapse;font-size:.85rem;margin:.5rem 0}td,th{border:1px solid #ddd;padding:.2rem .5rem;text-align:right}\
td:first-child,th:first-child{text-align:left}td.n{white-space:nowrap}.claims td,.claims th{text-align:left;vertical-align:top}th{background:#f3f3f3}.wide{overflow-x:auto}figure{margin:1rem 0}img{max-width:100%;height:auto}\
figcaption{font-size:.9rem;color:#555}code{font-size:.9em;background:#f3f3f3;padding:0 .2em}nav a{margin-right:1rem}\
@media (prefers-color-scheme:dark){body{color:#ddd;background:#15171b}th,code{background:#24272d}td,th{border-color:#3a3d44}\
figcaption{color:#aaa}a{color:#8fd0f5}h2{border-color:#444}}";

/// The page.
pub fn page(out: &Path, documents: &[Document]) -> String {
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <title>bristle: four papers and a manual, run again</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <h1>Four papers and a manual on friction, run again</h1>\n\
         <p>Every number comes from a run of bristle {} on this machine: the printed number, ours and the ratio. Only the text of the papers was at hand: figures are drawn from their captions and from what the text says of them. Curves and tables lie \
         as CSV in the folders beside this page; the scenes are in <code>scenes/papers</code>.</p>\n<nav>",
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
