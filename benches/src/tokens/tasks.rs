//! The tasks: files, the calls that an agent makes one after the other, and the program that makes them in one turn.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// What a user asks, and two ways to do it.
pub(super) struct Task {
    pub(super) asked: &'static str,
    pub(super) calls: Vec<(&'static str, Value)>,
    pub(super) program: &'static str,
    /// What the program returns, and the model answers after its calls.
    pub(super) answer: Value,
}

const DAYS: u32 = 30;
const CONFIGS: u32 = 12;
const SOURCES: u32 = 10;
const ORDERS: u32 = 120;
const COUNTRIES: [&str; 3] = ["DE", "FR", "KR"];

fn errors_of(day: u32) -> u32 {
    day * 7 % 11
}

fn total_of(order: u32) -> u32 {
    order * 37 % 1000
}

/// Writes the files that the tasks are about.
pub(super) fn write_files(work: &Path) {
    for folder in ["logs", "config", "src", "docs", "data"] {
        fs::create_dir(work.join(folder)).unwrap();
    }
    let write = |path: String, text: String| fs::write(work.join(path), text).unwrap();
    for day in 1..=DAYS {
        let line = |line: u32| {
            let level = if line < errors_of(day) {
                "ERROR"
            } else {
                "INFO"
            };
            format!(
                "2026-11-{day:02} 10:{line:02}:00 {level} request {line} took {} ms\n",
                line * 13 % 90 + day
            )
        };
        write(
            format!("logs/day-{day:02}.txt"),
            (0..20).map(line).collect(),
        );
    }
    for number in 1..=CONFIGS {
        let port = if number == 5 {
            json!(null)
        } else {
            json!(8000 + number)
        };
        let mut config = json!({"name": format!("service-{number}"), "version": "1.4.2", "port": port,
            "hosts": ["a.example", "b.example"], "retries": number % 4});
        if number % 6 == 0 {
            config.as_object_mut().unwrap().remove("version");
        }
        write(format!("config/{number:02}.json"), format!("{config:#}\n"));
    }
    for number in 1..=SOURCES {
        let header = if number % 2 == 0 {
            "// Apache-2.0\n"
        } else {
            ""
        };
        let body = format!(
            "//! Module {number}.\n\nfn main() {{\n    // TODO: colour of module {number}\n    println!(\"{number}\");\n}}\n"
        );
        write(format!("src/m{number:02}.rs"), format!("{header}{body}"));
    }
    let links: String = (1..=14)
        .map(|page| format!("- [page {page}](docs/page-{page:02}.md)\n"))
        .collect();
    write("index.md".to_owned(), format!("# Index\n\n{links}"));
    for page in (1..=14).filter(|page| page % 4 != 0) {
        write(
            format!("docs/page-{page:02}.md"),
            format!("# Page {page}\n\nThe colour of page {page}.\n"),
        );
    }
    let orders: Vec<Value> = (1..=ORDERS)
        .map(|order| json!({"id": order, "customer": order % 9 + 1, "total": total_of(order), "country": COUNTRIES[order as usize % 3]}))
        .collect();
    write(
        "data/orders.json".to_owned(),
        serde_json::to_string(&orders).unwrap(),
    );
    let customers: String = (1..=9)
        .map(|id| format!("{id},Customer {id},c{id}@example.com\n"))
        .collect();
    write(
        "data/customers.csv".to_owned(),
        format!("id,name,email\n{customers}"),
    );
}

fn read(path: String) -> (&'static str, Value) {
    ("file-system__read", json!({ "path": path }))
}

fn glob(pattern: &str) -> (&'static str, Value) {
    ("file-system__glob", json!({ "pattern": pattern }))
}

fn query(path: &str, query: &str) -> (&'static str, Value) {
    ("json-query__query", json!({"path": path, "query": query}))
}

fn write(path: String, content: String) -> (&'static str, Value) {
    (
        "file-system__write",
        json!({"path": path, "content": content}),
    )
}

fn logs() -> impl Iterator<Item = String> {
    (1..=DAYS).map(|day| format!("logs/day-{day:02}.txt"))
}

fn configs() -> impl Iterator<Item = String> {
    (1..=CONFIGS).map(|number| format!("config/{number:02}.json"))
}

fn sources() -> impl Iterator<Item = String> {
    (1..=SOURCES).map(|number| format!("src/m{number:02}.rs"))
}

fn calls<const N: usize>(
    first: [(&'static str, Value); N],
    rest: impl Iterator<Item = (&'static str, Value)>,
) -> Vec<(&'static str, Value)> {
    first.into_iter().chain(rest).collect()
}

#[rustfmt::skip]
pub(super) fn tasks() -> Vec<Task> {
    let most = (1..=DAYS).max_by_key(|day| (errors_of(*day), DAYS - day)).unwrap();
    let sum: u32 = (1..=DAYS).map(errors_of).sum();
    let large = (1..=ORDERS).filter(|order| total_of(*order) > 900);
    let invoice = |order: u32| format!("Order {order}: {} EUR\n", total_of(order));
    let by_customer = |customer: u32| -> u32 { (1..=ORDERS).filter(|order| order % 9 + 1 == customer).map(total_of).sum() };
    let best = (1..=9).max_by_key(|customer| by_customer(*customer)).unwrap();
    let average = |day: u32| (0..20).map(|line| line * 13 % 90 + day).sum::<u32>() / 20;
    let slowest = (1..=DAYS).max_by_key(|day| average(*day)).unwrap();
    let configs_with = |number: u32| !number.is_multiple_of(6);
    vec![
        Task { asked: "Which day's log in logs/ has the most ERROR lines?",
            calls: vec![("file-system__grep", json!({"pattern": "ERROR", "path": "logs", "limit": 1000}))],
            program: "const {files} = await tools['file-system__grep']({pattern: 'ERROR', path: 'logs', limit: 1000});
const counted = files.map((file) => [file.path, file.lines.length]).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
return counted[0][0].match(/day-\\d\\d/)[0];",
            answer: json!(format!("day-{most:02}")) },
        Task { asked: "How many ERROR lines do all logs have together? Read each file, as lines may span formats.",
            calls: calls([glob("logs/*.txt")], logs().map(read)),
            program: "const {files} = await tools['file-system__glob']({pattern: 'logs/*.txt'});
let sum = 0;
for (const path of files) sum += (await tools['file-system__read']({path})).content.split('\\n').filter((line) => line.includes(' ERROR ')).length;
return sum;",
            answer: json!(sum) },
        Task { asked: "Which log has the slowest average request?",
            calls: calls([glob("logs/*.txt")], logs().map(read)),
            program: "const {files} = await tools['file-system__glob']({pattern: 'logs/*.txt'});
const averages = await Promise.all(files.map(async (path) => {
  const times = [...(await tools['file-system__read']({path})).content.matchAll(/took (\\d+) ms/g)].map((m) => +m[1]);
  return [times.reduce((a, b) => a + b, 0) / times.length, path];
}));
return averages.sort((a, b) => b[0] - a[0])[0][1];",
            answer: json!(format!("/logs/day-{slowest:02}.txt")) },
        Task { asked: "Rename logs/day-NN.txt to logs/2026-11-NN.log.",
            calls: calls([glob("logs/*.txt")], (1..=DAYS).map(|day| ("file-system__move", json!({"from": format!("logs/day-{day:02}.txt"), "to": format!("logs/2026-11-{day:02}.log")})))),
            program: "const {files} = await tools['file-system__glob']({pattern: 'logs/*.txt'});
for (const from of files) await tools['file-system__move']({from, to: from.replace('day-', '2026-11-').replace('.txt', '.log')});
return files.length;",
            answer: json!(DAYS) },
        Task { asked: "Set the version to 2.0.0 in all files of config/ that have one.",
            calls: calls([glob("config/*.json"), ("file-system__grep", json!({"pattern": "\"version\"", "path": "config"}))], (1..=CONFIGS).filter(|n| configs_with(*n)).map(|number| ("file-system__edit", json!({"path": format!("config/{number:02}.json"), "old": "\"version\": \"1.4.2\"", "new": "\"version\": \"2.0.0\""})))),
            program: "const {files} = await tools['file-system__grep']({pattern: '\"version\"', path: 'config'});
for (const {path} of files) await tools['file-system__edit']({path, old: '\"version\": \"1.4.2\"', new: '\"version\": \"2.0.0\"'});
return files.length;",
            answer: json!((1..=CONFIGS).filter(|n| configs_with(*n)).count()) },
        Task { asked: "Which files of config/ lack a name, a version or a port that is a number?",
            calls: calls([glob("config/*.json")], configs().map(|path| query(&path, "[has(\"name\"), has(\"version\"), (.port | type)]"))),
            program: "const {files} = await tools['file-system__glob']({pattern: 'config/*.json'});
const broken = [];
for (const path of files) {
  const config = (await tools['json-query__query']({path, query: '.'})).results[0];
  if (!('name' in config && 'version' in config && typeof config.port === 'number')) broken.push(path);
}
return broken;",
            answer: json!(["/config/05.json", "/config/06.json", "/config/12.json"]) },
        Task { asked: "Merge all files of config/ into services.json: an array of {name, port} in their order.",
            calls: calls([glob("config/*.json")], configs().map(read).chain([write("services.json".to_owned(), {
                let services: Vec<_> = (1..=CONFIGS).map(|number| json!({"name": format!("service-{number}"), "port": if number == 5 { json!(null) } else { json!(8000 + number) }})).collect();
                serde_json::to_string(&services).unwrap() })])),
            program: "const {files} = await tools['file-system__glob']({pattern: 'config/*.json'});
const services = [];
for (const path of files) {
  const {name, port} = JSON.parse((await tools['file-system__read']({path})).content);
  services.push({name, port});
}
await tools['file-system__write']({path: 'services.json', content: JSON.stringify(services)});
return services.length;",
            answer: json!(CONFIGS) },
        Task { asked: "Add the line `// Apache-2.0` to the top of each file of src/ that lacks it.",
            calls: calls([glob("src/*.rs")], sources().map(|path| ("file-system__read", json!({"path": path, "limit": 1})))
                .chain((1..=SOURCES).filter(|number| number % 2 == 1).map(|number| ("file-system__edit", json!({"path": format!("src/m{number:02}.rs"), "old": format!("//! Module {number}.\n"), "new": format!("// Apache-2.0\n//! Module {number}.\n")}))))),
            program: "const {files} = await tools['file-system__glob']({pattern: 'src/*.rs'});
let added = 0;
for (const path of files) {
  const {content} = await tools['file-system__read']({path});
  if (content.startsWith('// Apache-2.0')) continue;
  await tools['file-system__write']({path, content: '// Apache-2.0\\n' + content});
  added++;
}
return added;",
            answer: json!(SOURCES / 2) },
        Task { asked: "Collect all TODO comments of src/ in TODO.md, a list with the file of each.",
            calls: vec![("file-system__grep", json!({"pattern": "TODO", "path": "src"})), write("TODO.md".to_owned(), (1..=SOURCES).map(|number| format!("- src/m{number:02}.rs: TODO: colour of module {number}\n")).collect())],
            program: "const {files} = await tools['file-system__glob']({pattern: 'src/*.rs'});
let list = '';
for (const path of files) for (const [, todo] of (await tools['file-system__read']({path})).content.matchAll(/\\/\\/ (TODO.*)/g)) list += `- ${path.slice(1)}: ${todo}\\n`;
await tools['file-system__write']({path: 'TODO.md', content: list});
return files.length;",
            answer: json!(SOURCES) },
        Task { asked: "Which pages that index.md links to do not exist?",
            calls: calls([read("index.md".to_owned())], (1..=14).map(|page| ("file-system__stat", json!({"path": format!("docs/page-{page:02}.md")})))),
            program: "const {content} = await tools['file-system__read']({path: 'index.md'});
const missing = [];
for (const [, path] of content.matchAll(/\\]\\(([^)]+)\\)/g)) try { await tools['file-system__stat']({path}); } catch { missing.push(path); }
return missing;",
            answer: json!(["docs/page-04.md", "docs/page-08.md", "docs/page-12.md"]) },
        Task { asked: "Write `color` for `colour` in all files of docs/ and src/.",
            calls: calls([("file-system__grep", json!({"pattern": "colour"}))], sources().chain((1..=14).filter(|page| page % 4 != 0).map(|page| format!("docs/page-{page:02}.md"))).map(|path| ("file-system__edit", json!({"path": path, "old": "colour", "new": "color", "all": true})))),
            program: "const {files} = await tools['file-system__grep']({pattern: 'colour'});
for (const {path} of files) await tools['file-system__edit']({path, old: 'colour', new: 'color', all: true});
return files.length;",
            answer: json!(SOURCES + 11) },
        Task { asked: "Write invoices/ID.txt with `Order ID: TOTAL EUR` for each order over 900 in data/orders.json.",
            calls: calls([query("data/orders.json", "map(select(.total > 900)) | map({id, total})")], large.clone().map(|order| write(format!("invoices/{order}.txt"), invoice(order)))),
            program: "const orders = (await tools['json-query__query']({path: 'data/orders.json', query: '.'})).results[0].filter((order) => order.total > 900);
for (const {id, total} of orders) await tools['file-system__write']({path: `invoices/${id}.txt`, content: `Order ${id}: ${total} EUR\\n`});
return orders.length;",
            answer: json!(large.count()) },
        Task { asked: "What is the sum of all orders of each country in data/orders.json?",
            calls: vec![query("data/orders.json", "group_by(.country) | map({(.[0].country): (map(.total) | add)}) | add")],
            program: "return (await tools['json-query__query']({path: 'data/orders.json', query: 'group_by(.country) | map({(.[0].country): (map(.total) | add)}) | add'})).results[0];",
            answer: { let of = |rest: u32| -> u32 { (1..=ORDERS).filter(|order| order % 3 == rest).map(total_of).sum() }; json!({"DE": of(0), "FR": of(1), "KR": of(2)}) } },
        Task { asked: "Who is the customer with the largest sum of orders, and what is the address? See data/.",
            calls: vec![read("data/customers.csv".to_owned()), read("data/orders.json".to_owned())],
            program: "const orders = JSON.parse((await tools['file-system__read']({path: 'data/orders.json'})).content);
const sums = {};
for (const {customer, total} of orders) sums[customer] = (sums[customer] ?? 0) + total;
const best = Object.entries(sums).sort((a, b) => b[1] - a[1])[0][0];
const rows = (await tools['file-system__read']({path: 'data/customers.csv'})).content.split('\\n').map((row) => row.split(','));
return rows.find(([id]) => id === best)[2];",
            answer: json!(format!("c{best}@example.com")) },
        Task { asked: "Make the folders release/v1 to release/v15, each with a README.md that says `# vN`.",
            calls: calls([], (1..=15).map(|number| write(format!("release/v{number}/README.md"), format!("# v{number}\n")))),
            program: "for (let n = 1; n <= 15; n++) await tools['file-system__write']({path: `release/v${n}/README.md`, content: `# v${n}\\n`});
return 15;",
            answer: json!(15) },
        Task { asked: "Remove the logs of days 1 to 9 that have no ERROR line.",
            calls: calls([("file-system__grep", json!({"pattern": "ERROR", "path": "logs", "glob": "day-0*.txt", "limit": 1000}))], (1..=9).filter(|day| errors_of(*day) == 0).map(|day| ("file-system__remove", json!({"path": format!("logs/day-{day:02}.txt")})))),
            program: "let removed = 0;
for (let day = 1; day <= 9; day++) {
  const path = `logs/day-0${day}.txt`;
  if ((await tools['file-system__read']({path})).content.includes('ERROR')) continue;
  await tools['file-system__remove']({path});
  removed++;
}
return removed;",
            answer: json!((1..=9).filter(|day| errors_of(*day) == 0).count()) },
        Task { asked: "Which logs have the same content but for the dates?",
            calls: calls([glob("logs/*.txt")], logs().map(read)),
            program: "const {files} = await tools['file-system__glob']({pattern: 'logs/*.txt'});
const groups = {};
for (const path of files) {
  const key = (await tools['file-system__read']({path})).content.replace(/^\\S+ /gm, '').replace(/took \\d+/g, 'took');
  (groups[key] ??= []).push(path);
}
return Object.values(groups).filter((paths) => paths.length > 1).length;",
            answer: json!(11) },
        Task { asked: "Copy the first line of each file of src/ to lines.txt.",
            calls: calls([glob("src/*.rs")], sources().map(|path| ("file-system__read", json!({"path": path, "limit": 1})))
                .chain([write("lines.txt".to_owned(), (1..=SOURCES).map(|number| if number % 2 == 0 { "// Apache-2.0\n".to_owned() } else { format!("//! Module {number}.\n") }).collect())])),
            program: "const {files} = await tools['file-system__glob']({pattern: 'src/*.rs'});
let lines = '';
for (const path of files) lines += (await tools['file-system__read']({path})).content.split('\\n')[0] + '\\n';
await tools['file-system__write']({path: 'lines.txt', content: lines});
return files.length;",
            answer: json!(SOURCES) },
        Task { asked: "How many bytes do the files of each folder have?",
            calls: ["logs", "config", "src", "docs", "data"].map(|path| ("bash__exec", json!({"command": format!("cat {path}/* | wc -c")}))).into(),
            program: "const sums = {};
for (const folder of ['logs', 'config', 'src', 'docs', 'data']) sums[folder] = +(await tools['bash__exec']({command: `cat ${folder}/* | wc -c`})).stdout;
return Object.keys(sums).length;",
            answer: json!(5) },
        Task { asked: "Set `retries` to 3 in all files of config/ where it is less.",
            calls: calls([glob("config/*.json")], configs().map(|path| query(&path, ".retries"))
                .chain((1..=CONFIGS).filter(|number| number % 4 < 3).map(|number| ("file-system__edit", json!({"path": format!("config/{number:02}.json"), "old": format!("\"retries\": {}", number % 4), "new": "\"retries\": 3"}))))),
            program: "const {files} = await tools['file-system__glob']({pattern: 'config/*.json'});
let changed = 0;
for (const path of files) {
  const {retries} = (await tools['json-query__query']({path, query: '{retries}'})).results[0];
  if (retries >= 3) continue;
  await tools['file-system__edit']({path, old: `\"retries\": ${retries}`, new: '\"retries\": 3'});
  changed++;
}
return changed;",
            answer: json!((1..=CONFIGS).filter(|number| number % 4 < 3).count()) },
    ]
}
