//! Blocks read by their first bytes against the CommonMark parser.

use proptest::prelude::*;

use super::*;

/// The plain reference: the crate's parser reads all of it.
fn reference(text: &str) -> Note {
    if text.is_empty() {
        return Note::default();
    }
    let (front, start) = front(text);
    let part = start..text.len();
    let mut builder = NoteBuilder::new(text, &part, Some(preamble(text, start)));
    builder.read(part);
    builder.note(front)
}

/// Lines that are one thing alone and another where others stand around them.
const LINES: [&str; 106] = [
    "",
    "",
    "",
    "",
    "",
    "",
    " ",
    "\t",
    "text",
    "more text",
    "Text *with* `code`",
    "é 数据",
    "# One",
    "## Two_words",
    "### a\\_b \\# c",
    "# *em*",
    "# [link]",
    "# [a](u)",
    "#",
    "####### 7",
    "# trailing #",
    "# C#",
    "#hash",
    "# &amp; &",
    "# A & B",
    "   # three",
    "    # four",
    "# _a_",
    "===",
    "---",
    "--",
    "***",
    "* * *",
    "___",
    "- - -",
    "-",
    "+",
    "*",
    "- item",
    "* item",
    "+ item",
    "1. one",
    "2. two",
    "1)",
    "1.5 text",
    "2024 text",
    "-x",
    "  - nested",
    "  text",
    "    text",
    "      text",
    "\ttext",
    "> quote",
    ">",
    "> - item",
    "> ```",
    "```",
    "```rust",
    "``` a`b",
    "````",
    "~~~",
    "  ```",
    "    ```",
    "``code``",
    "`code` text",
    "- ```",
    "  ~~~",
    "| a | b |",
    "|---|---|",
    "|---|",
    "| - | - |",
    "|",
    "||",
    "a | b",
    "--|--",
    ":-|-:",
    "|:-",
    "::: row",
    "| a \\| b |",
    "<div>",
    "</div>",
    "<dl> <dt>",
    "</dt> <dd>",
    "<span>",
    "<span>a</span>",
    "<a href=\"x\">",
    "<script>",
    "<script> x </script>",
    "<!-- c -->",
    "<!--",
    "-->",
    "<article>",
    "<pre>",
    "[a]: /url",
    "[a]:",
    "[a]",
    "\u{b}",
    "\u{c}",
    "\u{a0}",
    "\0",
    "___\u{c}",
    "# \u{a0}One",
    "> <!--",
    "<?",
    "?>",
    "<!-->",
];

#[test]
fn odd_ends_of_lines_are_what_they_are_to_the_parser() {
    for text in [
        // what a `\r` alone ends, with a mark behind it that goes on over empty lines
        "text\r<!-- c\n\n# no heading\n-->\n",
        "- a\r```\n\n# no heading\n",
        "#hash\r<textarea>\n\n# One\n",
        "a\n\n*\r<br>\n",
        "1) \n\n1)\r2024 text",
        // white space that makes no line empty
        "text\n\u{c}\nmore\n",
        "text\r\n\u{b}\n# One\n",
        "=\n\u{c}\n&",
        "___\u{c}\n</b>\n",
    ] {
        assert_eq!(parse(text), reference(text), "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(4000)
    })]

    #[test]
    fn blocks_are_what_the_parser_says(
        lines in prop::collection::vec((0..LINES.len(), 0..12u8), 0..24),
    ) {
        let ending =
            |kind| match kind { 0 => "\r\n", 1 => "\n\n", 2 => "", 3 => "\r", _ => "\n" };
        let text: String = lines.iter().flat_map(|&(at, end)| [LINES[at], ending(end)]).collect();
        prop_assert_eq!(parse(&text), reference(&text), "{:?}", text);
    }
}
