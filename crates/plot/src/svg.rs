//! A picture as SVG.
//!
//! It takes its colours from classes, with another set for dark ground, so that it fits any page.

use super::picture::{Area, Picture, Shape};
use super::style;
use std::fmt::Write;

/// The whole picture.
pub fn svg(picture: &Picture) -> String {
    let Picture { name, width, height, shapes } = picture;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height:.0}\" width=\"{width}\" \
        height=\"{height:.0}\" role=\"img\">\n\
         <title>{}</title>\n<style>{}</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n",
        escape(name),
        style::css()
    );
    write_shapes(&mut out, shapes);
    out.push_str("</svg>\n");
    out
}

fn write_shapes(out: &mut String, shapes: &[Shape]) {
    for shape in shapes {
        let _ = match shape {
            Shape::Text { class, x, y, text } => {
                writeln!(out, r#"<text class="{class}" x="{x}" y="{y}">{}</text>"#, escape(text))
            }
            Shape::Path { class, fill_opacity, data } if *fill_opacity < 1.0 => {
                writeln!(out, r#"<path class="{class}" fill-opacity="{fill_opacity}" d="{data}"/>"#)
            }
            Shape::Path { class, data, .. } => writeln!(out, r#"<path class="{class}" d="{data}"/>"#),
            Shape::Rect { class, area } => writeln!(out, r#"<rect class="{class}" {}/>"#, attributes(area)),
            Shape::Clip { id, area, shapes } => {
                let area = attributes(area);
                let _ = writeln!(out, r#"<clipPath id="{id}"><rect {area}/></clipPath><g clip-path="url(#{id})">"#);
                write_shapes(out, shapes);
                writeln!(out, "</g>")
            }
        };
    }
}

fn attributes(Area { x, y, width, height }: &Area) -> String {
    format!(r#"x="{x}" y="{y}" width="{width}" height="{height}""#)
}

/// A text in XML; control characters, which XML cannot represent, are replaced.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c if c.is_control() && !matches!(c, '\n' | '\t') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
