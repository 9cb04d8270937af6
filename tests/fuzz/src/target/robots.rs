//! Robots: read or refused with a place; the resulting scene can be saved, and starts or is refused.

use super::scenes::check_saved;
use super::{Target, check_refusal, machine, nothing};
use bristle::urdf::{self, Options};

pub static TARGET: Target = Target {
    name: "robots",
    run,
    folders: &["../../crates/bristle/tests/urdf", "../../crates/bristle/examples"],
    made: nothing,
    tokens: &[
        "<",
        ">",
        "/>",
        "\"",
        "'",
        "&amp;",
        "&#0;",
        "&#xD800;",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?x ?>",
        "<!DOCTYPE a [",
        "nan",
        "inf",
        "1e999",
        "é",
        "\u{feff}",
        "\0",
        "\r",
        "\n",
        "<joint name=\"x\" type=\"fixed\">",
        "</joint>",
        "<link name=\"a\"/>",
        "<link name=\"b\">",
        "</link>",
        "<mimic joint=\"j0\" multiplier=\"-2\" offset=\"1e308\"/>",
        "<dynamics damping=\"1\" friction=\"1\"/>",
        "<axis xyz=\"0 0 1\"/>",
        "<limit lower=\"-1\" upper=\"1\" effort=\"1\" velocity=\"1\"/>",
        "type=\"floating\"",
        "type=\"planar\"",
        "type=\"prismatic\"",
        "type=\"continuous\"",
        "<origin xyz=\"1 2 3\" rpy=\"0.1 0 0\"/>",
        "<mass value=\"1e-9\"/>",
        "<inertia ixx=\"1\" ixy=\"0\" ixz=\"0\" iyy=\"1\" iyz=\"0\" izz=\"1\"/>",
        "world",
        "${x}",
        "xmlns:a=\"b\" a:",
        "<xacro:if/>",
        "<parent link=\"a\"/>",
        "<child link=\"b\"/>",
    ],
};

fn run(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    // strict, floating: by the length, so that the file is the whole case
    let options =
        Options { floating: text.len().is_multiple_of(3), strict: text.len().is_multiple_of(5), ..Options::default() };
    match urdf::read_with(&text, "case.urdf", &options) {
        Ok(import) => {
            let _: Vec<String> = import.lines.iter().map(ToString::to_string).collect();
            check_saved(&import.scene);
            machine::start(&import.scene);
            true
        }
        Err(error) => {
            check_refusal(&error, &text);
            false
        }
    }
}
