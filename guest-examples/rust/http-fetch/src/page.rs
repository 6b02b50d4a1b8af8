//! HTML pages as Markdown or text, from tokens alone: neither the depth nor the size of a page matters.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use url::Url;

use crate::input::Conversion;
use mark::Mark;
use writer::Writer;

mod container;
mod mark;
mod table;
mod writer;

/// A page that was converted.
pub(crate) struct Page {
    pub(crate) text: String,
    pub(crate) title: Option<String>,
    /// The page goes on.
    pub(crate) truncated: bool,
}

/// Converts a page. Stops soon after `most` bytes of text. Links are relative to `url`.
pub(crate) fn convert(html: &str, url: &Url, conversion: Conversion, most: usize) -> Page {
    let mut emitter = DefaultEmitter::default();
    // So that scripts are not read as tags.
    emitter.naively_switch_states(true);
    let mut converter = Converter {
        writer: Writer::new(conversion == Conversion::Markdown),
        base: url.clone(),
        skipped: None,
        title: None,
        is_in_title: false,
    };
    let mut truncated = false;
    for token in Tokenizer::new_with_emitter(html, emitter) {
        match token {
            Ok(Token::StartTag(tag)) => converter.start(&tag),
            Ok(Token::EndTag(tag)) => converter.end(&tag.name),
            Ok(Token::String(text)) => converter.text(&String::from_utf8_lossy(&text)),
            Ok(Token::Comment(_) | Token::Doctype(_) | Token::Error(_)) | Err(_) => {}
        }
        if converter.writer.len() > most {
            truncated = true;
            break;
        }
    }
    let title = converter.title.map(|title| words(&title));
    Page {
        text: converter.writer.finish(),
        title: title.filter(|title| !title.is_empty()),
        truncated,
    }
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

struct Converter {
    writer: Writer,
    /// What links are relative to.
    base: Url,
    /// The element whose content is left out, and how many of that name are open.
    skipped: Option<(Vec<u8>, usize)>,
    title: Option<String>,
    is_in_title: bool,
}

impl Converter {
    fn text(&mut self, text: &str) {
        if self.is_in_title {
            self.title.get_or_insert_default().push_str(text);
        } else if self.skipped.is_none() {
            self.writer.text(text);
        }
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name: &[u8] = &tag.name;
        if let Some((skipped, depth)) = &mut self.skipped {
            if skipped == name && !tag.self_closing {
                *depth += 1;
            }
            return;
        }
        let writer = &mut self.writer;
        match name {
            b"script" | b"style" | b"noscript" | b"noembed" | b"iframe" | b"template" | b"svg"
            | b"object" | b"canvas" | b"audio" | b"video" | b"select" | b"textarea"
            | b"datalist"
                if !tag.self_closing =>
            {
                self.skipped = Some((name.to_vec(), 1));
            }
            b"title" => self.is_in_title = self.title.is_none(),
            b"base" => {
                if let Some(base) = attribute(tag, b"href").and_then(|it| self.base.join(&it).ok())
                {
                    self.base = base;
                }
            }
            b"br" => writer.line_break(),
            b"hr" => writer.rule(),
            b"ul" | b"menu" | b"dir" => writer.begin_list(None),
            b"ol" => {
                let start = attribute(tag, b"start").and_then(|start| start.parse().ok());
                writer.begin_list(Some(start.unwrap_or(1)));
            }
            b"li" => writer.begin_item(),
            b"blockquote" => writer.begin_quote(),
            b"pre" | b"listing" => writer.begin_pre(language(tag)),
            b"code" if writer.is_pre() => writer.set_language(language(tag)),
            b"code" | b"kbd" | b"samp" | b"tt" => writer.begin(Mark::Code),
            b"strong" | b"b" => writer.begin(Mark::Strong),
            b"em" | b"i" => writer.begin(Mark::Emphasis),
            b"del" | b"s" | b"strike" => writer.begin(Mark::Strike),
            b"a" => {
                writer.end(&Mark::Link(String::new()));
                if let Some(link) = attribute(tag, b"href").and_then(|it| self.link(&it)) {
                    self.writer.begin(Mark::Link(link));
                }
            }
            b"img" => {
                let alt = attribute(tag, b"alt").map(|alt| words(&alt));
                let source = attribute(tag, b"src").and_then(|it| self.link(&it));
                self.writer.image(&alt.unwrap_or_default(), source);
            }
            b"q" => writer.text("\""),
            b"button" | b"label" => writer.text(" "),
            b"table" => writer.begin_table(),
            b"tr" => writer.begin_row(),
            b"td" | b"th" => writer.begin_cell(),
            name => match heading(name) {
                Some(level) => writer.begin_heading(level),
                None if is_block(name) => writer.flush(),
                None => {}
            },
        }
    }

    fn end(&mut self, name: &[u8]) {
        if let Some((skipped, depth)) = &mut self.skipped {
            if skipped == name {
                *depth -= 1;
                if *depth == 0 {
                    self.skipped = None;
                }
            }
            return;
        }
        let writer = &mut self.writer;
        match name {
            b"title" => self.is_in_title = false,
            b"ul" | b"menu" | b"dir" | b"ol" => writer.end_list(),
            b"li" => writer.end_item(),
            b"blockquote" => writer.end_quote(),
            b"pre" | b"listing" => writer.end_pre(),
            b"code" | b"kbd" | b"samp" | b"tt" => writer.end(&Mark::Code),
            b"strong" | b"b" => writer.end(&Mark::Strong),
            b"em" | b"i" => writer.end(&Mark::Emphasis),
            b"del" | b"s" | b"strike" => writer.end(&Mark::Strike),
            b"a" => writer.end(&Mark::Link(String::new())),
            b"q" => writer.text("\""),
            b"button" | b"label" => writer.text(" "),
            b"table" => writer.end_table(),
            b"tr" => writer.end_row(),
            b"td" | b"th" => writer.end_cell(),
            name if heading(name).is_some() => writer.end_heading(),
            name if is_block(name) => writer.flush(),
            _ => {}
        }
    }

    /// Returns the whole URL of a link; none for one within the page, or for one that is a script or data.
    fn link(&self, href: &str) -> Option<String> {
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') {
            return None;
        }
        let url = self.base.join(href).ok()?;
        let is_place = matches!(url.scheme(), "http" | "https" | "mailto" | "ftp" | "tel");
        // Parentheses end a link in Markdown.
        is_place.then(|| String::from(url).replace('(', "%28").replace(')', "%29"))
    }
}

fn attribute(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    let value = tag.attributes.get(name)?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// Returns the programming language that a class names, such as `language-rust`.
fn language(tag: &StartTag<()>) -> Option<String> {
    let class = attribute(tag, b"class")?;
    let language = class.split_ascii_whitespace().find_map(|class| {
        let named = class.strip_prefix("language-");
        named.or_else(|| class.strip_prefix("lang-"))
    });
    language.map(|language| language.replace('`', ""))
}

fn heading(name: &[u8]) -> Option<usize> {
    match name {
        [b'h', level @ b'1'..=b'6'] => Some(usize::from(level - b'0')),
        _ => None,
    }
}

fn is_block(name: &[u8]) -> bool {
    let blocks: [&[u8]; 33] = [
        b"address",
        b"article",
        b"aside",
        b"body",
        b"caption",
        b"center",
        b"dd",
        b"details",
        b"dialog",
        b"div",
        b"dl",
        b"dt",
        b"fieldset",
        b"figcaption",
        b"figure",
        b"footer",
        b"form",
        b"frameset",
        b"header",
        b"hgroup",
        b"html",
        b"legend",
        b"main",
        b"nav",
        b"option",
        b"p",
        b"search",
        b"section",
        b"summary",
        b"tbody",
        b"tfoot",
        b"thead",
        b"title",
    ];
    blocks.contains(&name)
}
