//! The tokens of the language of `bc`.

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(String),
    Text(String),
    Word(String),
    Sign(&'static str),
    NewLine,
}

const SIGNS: [&str; 36] = [
    "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "==", "<=", ">=", "!=", "&&", "||", "+", "-",
    "*", "/", "%", "^", "=", "<", ">", "!", "(", ")", "{", "}", "[", "]", ",", ";", "?", ":", "&",
    "|",
];

/// Returns the tokens with their lines, and what is wrong with one of them.
pub(super) fn tokens(text: &str) -> (Vec<(Token, usize)>, Option<String>) {
    let (mut tokens, mut error) = (Vec::new(), None);
    let mut rest = text;
    let mut line = 1;
    while let Some(char) = rest.chars().next() {
        let after = rest.get(char.len_utf8()..).unwrap_or_default();
        if char == '\n' {
            tokens.push((Token::NewLine, line));
            line += 1;
            rest = after;
        } else if char == '\\' && after.starts_with('\n') {
            line += 1;
            rest = after.get(1..).unwrap_or_default();
        } else if char.is_whitespace() {
            rest = after;
        } else if char == '#' {
            rest = rest
                .find('\n')
                .and_then(|end| rest.get(end..))
                .unwrap_or_default();
        } else if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment.find("*/").map_or(comment.len(), |end| end + 2);
            line += comment.get(..end).unwrap_or_default().matches('\n').count();
            rest = comment.get(end..).unwrap_or_default();
        } else if char == '"' {
            let end = after.find('"').unwrap_or(after.len());
            let text = after.get(..end).unwrap_or_default();
            tokens.push((Token::Text(text.to_owned()), line));
            line += text.matches('\n').count();
            rest = after.get(end + 1..).unwrap_or_default();
        } else if char.is_ascii_digit() || char == '.' || char.is_ascii_uppercase() {
            let number = rest.replace("\\\n", "");
            let is_part =
                |char: char| char.is_ascii_digit() || char.is_ascii_uppercase() || char == '.';
            let end = number
                .find(|char: char| !is_part(char))
                .unwrap_or(number.len());
            let digits = number.get(..end).unwrap_or_default().to_owned();
            let mut used = 0;
            let mut left = digits.len();
            let mut chars = rest.char_indices();
            while left > 0
                && let Some((at, char)) = chars.next()
            {
                if char != '\\' && char != '\n' {
                    left -= 1;
                }
                used = at + 1;
            }
            if digits.matches('.').count() > 1 {
                error.get_or_insert("syntax error".to_owned());
            }
            let token = if digits == "." {
                Token::Word("last".to_owned())
            } else {
                Token::Number(digits)
            };
            tokens.push((token, line));
            rest = rest.get(used..).unwrap_or_default();
        } else if char.is_ascii_lowercase() {
            let is_part =
                |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '_';
            let end = rest.find(|char: char| !is_part(char)).unwrap_or(rest.len());
            let word = rest.get(..end).unwrap_or_default();
            tokens.push((Token::Word(word.to_owned()), line));
            rest = rest.get(end..).unwrap_or_default();
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            tokens.push((Token::Sign(sign), line));
            rest = rest.get(sign.len()..).unwrap_or_default();
        } else {
            tokens.push((Token::Text(String::new()), line));
            tokens.push((Token::Sign(","), line));
            rest = after;
        }
    }
    tokens.push((Token::NewLine, line));
    (tokens, error)
}
