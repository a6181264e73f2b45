//! Text on a figure.

/// Text that takes no more room than there is.
pub(super) fn shortened(text: &str, max_letters: usize) -> String {
    match text.chars().count() > max_letters {
        true => text.chars().take(max_letters - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// Text as XML has it; control characters, which it cannot have, become spaces.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\u{fffe}' | '\u{ffff}' => escaped.push(' '),
            _ if letter.is_control() => escaped.push(' '),
            _ => escaped.push(letter),
        }
    }
    escaped
}
