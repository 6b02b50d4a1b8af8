use serde_json::{Value, json};
use toolhost_contract::ToolCatalogItem;

use super::parts::{SearchPart, SearchParts};
use super::words::{Word, WordKind, each_word, folded};
use crate::catalog::ToolCatalog;

fn item(name: &str, description: &str, parameters: Value) -> ToolCatalogItem {
    let item = json!({
        "name": name, "description": description,
        "parameters": {"type": "object", "properties": parameters},
    });
    serde_json::from_value(item).unwrap()
}

fn catalog() -> ToolCatalog {
    let text = |description: &str| json!({"type": "string", "description": description});
    ToolCatalog::new([
        item(
            "file-system__read",
            "Reads a text file of the workdir",
            json!({"path": text("Path of the file")}),
        ),
        item(
            "file-system__write",
            "Writes a text file; makes the folders it needs",
            json!({"path": text("Path"), "content": text("")}),
        ),
        item(
            "file-system__list",
            "Lists what is in a folder of the workdir",
            json!({"path": text("The folder")}),
        ),
        item(
            "graph__create_edge",
            "Connects two nodes",
            json!({"from": text("A node"), "to": text("A node")}),
        ),
        item(
            "graph__remove_node",
            "Takes a node away",
            json!({"id": text("Which node")}),
        ),
        item(
            "mail__send",
            "Sends a message",
            json!({"to": text("E-mail address of the receiver"), "body": text("The text")}),
        ),
        item(
            "image__resize",
            "Scales a picture",
            json!({"width": {"type": "integer"}, "mode": {"enum": ["contain", "cover"]}}),
        ),
        item(
            "convert__base64",
            "Encodes bytes",
            json!({"bytes": text("")}),
        ),
        item(
            "weather__forecast",
            "도시의 날씨 예보를 알려준다",
            json!({"city": text("도시 이름")}),
        ),
        item(
            "notes__find",
            "작업 폴더에서 메모를 찾는다",
            json!({"query": text("찾을 내용")}),
        ),
        item(
            "stock__price",
            "返回股票的当前价格",
            json!({"symbol": text("代码")}),
        ),
    ])
}

fn names(catalog: &ToolCatalog, query: &str) -> Vec<String> {
    let hits = catalog.search(query, 5);
    hits.iter().map(|hit| hit.item.name.to_string()).collect()
}

#[test]
fn the_tool_that_is_meant_is_first() {
    let catalog = catalog();
    for (query, expected) in [
        // Words of names, descriptions and parameters, inflected.
        ("read a file", "file-system__read"),
        (
            "What is in this folder? Please list it",
            "file-system__list",
        ),
        ("writing text into files", "file-system__write"),
        ("connect the nodes", "graph__create_edge"),
        ("address of the receiver", "mail__send"),
        ("contain or cover", "image__resize"),
        // Synonyms.
        ("delete a node", "graph__remove_node"),
        ("make the image smaller: resize", "image__resize"),
        ("send an email to Ada Lovelace in Paris", "mail__send"),
        // Identifiers, however they are written.
        ("create_edge", "graph__create_edge"),
        ("createedge", "graph__create_edge"),
        ("create edge", "graph__create_edge"),
        ("base64", "convert__base64"),
        ("BASE64", "convert__base64"),
        ("removeNode", "graph__remove_node"),
        // Other scripts: whole words, and words with endings that the tool does not have.
        ("날씨", "weather__forecast"),
        ("서울의 날씨를 알려줘", "weather__forecast"),
        ("메모를 찾아줘", "notes__find"),
        ("股票价格", "stock__price"),
    ] {
        let names = names(&catalog, query);
        assert_eq!(
            names.first().map(String::as_str),
            Some(expected),
            "{query}: {names:?}"
        );
    }
}

#[test]
fn a_query_without_an_answer_gets_nothing() {
    let catalog = catalog();
    for query in [
        "",
        " \n\t",
        "?",
        "the of and",
        "42",
        "book a flight to Tokyo",
        "translate this sentence to French",
        "play some music",
        "what is the exchange rate of the dollar in euros today",
        "restart the kubernetes cluster",
        "주식을 사고 싶어요",
        "请帮我订一张机票",
    ] {
        assert_eq!(names(&catalog, query), Vec::<String>::new(), "{query}");
    }
    assert!(ToolCatalog::default().search("read a file", 5).is_empty());
}

#[test]
fn a_tool_that_the_query_names_is_always_first() {
    let mut items: Vec<_> = (0..200)
        .map(|n| {
            item(
                &format!("read-file__read{n}"),
                "Reads a file: file system read",
                json!({"file": {}}),
            )
        })
        .collect();
    items.push(item("file-system__read", "", json!({})));
    let catalog = ToolCatalog::new(items);
    for query in [
        "file-system__read",
        "FILE-SYSTEM__READ",
        "call file-system__read, which reads a file of the file system",
        "please use `file-system__read` to read file read0",
        "file_system__read",
        "read",
    ] {
        let hits = catalog.search(query, 5);
        assert_eq!(hits[0].item.name.as_str(), "file-system__read", "{query}");
        assert!(hits[0].score >= 1000.0);
    }
}

#[test]
fn hits_are_the_same_each_time_and_as_many_as_asked_for() {
    let catalog = catalog();
    let query = "list read write file folder node";
    let all = names(&catalog, query);
    assert_eq!(
        names(&ToolCatalog::new(catalog.items().to_vec()), query),
        all
    );
    let hits = catalog.search(query, 2);
    assert_eq!(hits.len(), 2);
    assert!(hits[0].score >= hits[1].score);
    assert!(catalog.search(query, 0).is_empty());
    let many = ToolCatalog::new((0..200).map(|n| item(&format!("a__file{n}"), "file", json!({}))));
    assert_eq!(many.search("file", usize::MAX).len(), 50);
    // Equal scores: the order of the catalog.
    assert_eq!(many.search("file", 1)[0].item.name.as_str(), "a__file0");
}

#[test]
fn the_index_is_made_once_by_the_first_search_and_shared_by_clones() {
    let catalog = catalog();
    let clone = catalog.clone();
    assert!(!catalog.has_search_index());
    assert!(!clone.search("read", 1).is_empty());
    assert!(catalog.has_search_index());
}

#[test]
fn each_part_of_the_ranker_can_be_left_out() {
    let catalog = catalog();
    let without = |part| catalog.without_search_part(part);
    for (part, query) in [
        (SearchPart::Parameters, "address of the receiver"),
        (SearchPart::Stems, "reading"),
        (SearchPart::Synonyms, "delete it"),
        (SearchPart::Wholes, "createedges"),
    ] {
        assert!(names(&without(part), query).is_empty(), "{part:?}");
    }
    let rule = without(SearchPart::Rule);
    assert!(
        !names(
            &rule,
            "what is the exchange rate of the list in euros today"
        )
        .is_empty()
    );
}

#[test]
fn what_is_read_of_a_hostile_catalog_is_bounded() {
    let large = "hostile words of one mebibyte ".repeat(36_000);
    let mut deep = json!({"description": large});
    for _ in 0..100 {
        deep = json!({"properties": {"a": deep, "b": {"enum": ["x"]}}});
    }
    let parameters = (0..50_000).map(|n| (format!("p{n}"), json!({"description": "x"})));
    let wide: serde_json::Map<String, Value> = parameters
        .chain([("zebra".to_owned(), json!({}))])
        .collect();
    let items = [
        item("a__large", &large, json!({})),
        item("a__deep", "", deep),
        item("a__wide", "", Value::Object(wide)),
        item("a__one", &"x".repeat(1 << 20), json!({})),
        item("a__paired", &"가나다라".repeat(1 << 17), json!({})),
        item("a__cased", &"aB".repeat(1 << 19), json!({})),
    ];
    let index = super::index::SearchIndex::new(&items, SearchParts::default());
    assert!(index.size() <= items.len() * 1024, "{}", index.size());
    let catalog = ToolCatalog::new(items);
    assert_eq!(names(&catalog, "hostile")[0], "a__large");
    // Beyond what is read.
    assert!(names(&catalog, "zebra").is_empty());
}

#[test]
fn what_is_read_of_a_hostile_query_is_bounded() {
    let catalog = catalog();
    let many: String = (0..100_000).map(|n| format!("word{n} read ")).collect();
    for query in [
        format!("{}read", "file ".repeat(1 << 20)),
        many,
        "x".repeat(1 << 22),
        "가".repeat(1 << 20),
        "a__b ".repeat(1 << 18),
        "\u{202e}\0\u{1}\u{feff}file".repeat(1 << 16),
    ] {
        let _hits = catalog.search(&query, 50);
        let read =
            super::query::Query::new(super::hits::bounded_query(&query), catalog.search_index());
        assert!(read.words.len() <= 64 && read.names.len() <= 65);
    }
    // Only the first KiB is read.
    let late = format!("{} image resize", "the ".repeat(300));
    assert!(names(&catalog, &late).is_empty());
}

#[test]
fn a_text_is_split_into_words() {
    let words = |text: &str| {
        let mut words = Vec::new();
        each_word(text, |Word { text, kind, .. }| {
            let mark = match kind {
                WordKind::Plain => "",
                WordKind::Whole => "=",
                WordKind::Pair => "~",
            };
            words.push(format!("{mark}{text}"));
        });
        words.join(" ")
    };
    for (text, expected) in [
        ("Reads a file, twice.", "reads file twice"),
        ("createEdge", "create edge =createedge"),
        ("create_edge", "create edge =createedge"),
        ("file-system__read", "file system read =filesystemread"),
        ("HTTPServer2", "http server =httpserver2"),
        ("base64 mp3 v2", "base =base64 mp =mp3 =v2"),
        ("2023-10-01 at 7pm", "at pm =7pm"),
        ("don't", "don"),
        ("파일을 읽는다", "~파일 ~일을 ~읽는 ~는다"),
        ("집", "~집"),
        ("json파일 파일json", "json ~파일 ~파일 json"),
        ("Größe ÄNDERN", "größe ändern"),
        (&"x".repeat(65), ""),
        ("__ -- _-_", ""),
    ] {
        assert_eq!(words(text), expected, "{text}");
    }
    assert_eq!(folded("file-system__read"), folded("FileSystem_Read"));
}

#[test]
fn tools_that_are_not_admitted_leave_room_for_others() {
    let items = (0..200).map(|n| item(&format!("a__file{n}"), "file", json!({})));
    let catalog = ToolCatalog::new(items);
    let hits = catalog.search_among("file", 50, |item| item.name.as_str() == "a__file199");
    assert_eq!(hits.len(), 1);
}
