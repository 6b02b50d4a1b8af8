//! The same promises on a server of PostgreSQL, and what breaks between it and this process.

mod broken;
mod runs;

use std::time::Duration;

use tokio::task::JoinSet;

use crate::testing::{self, PASSWORD, Server};
use crate::{Database, Postgres, PostgresConfig, Schema, Store, StoreError, sql};

const NOTES: Schema = Schema {
    owner: "notes",
    steps: &[],
    postgres: &[
        "CREATE TABLE notes (number BIGINT GENERATED ALWAYS AS IDENTITY, text TEXT NOT NULL UNIQUE)",
    ],
    legacy_versions: &[],
};

fn open(database: &Database) -> Store {
    Store::open(database, &NOTES).unwrap()
}

async fn note(store: &Store, text: impl Into<String>) -> Result<usize, StoreError> {
    let text = text.into();
    let insert = "INSERT INTO notes (text) VALUES (?1)";
    store.write(move |tx| tx.execute(insert, [&text])).await
}

async fn notes(store: &Store) -> Vec<String> {
    let select = "SELECT text FROM notes ORDER BY number";
    let read = store.read(move |tx| tx.query_map(select, (), |row| row.get(0)));
    read.await.unwrap()
}

#[tokio::test]
async fn what_was_written_is_read_by_another_process_and_failures_leave_nothing() {
    let Some(database) = testing::database() else {
        return;
    };
    let store = open(&database);
    note(&store, "one").await.unwrap();
    let half = store.write(|tx| {
        tx.execute("INSERT INTO notes (text) VALUES ('half')", ())?;
        tx.execute("INSERT INTO notes (text) VALUES (NULL)", ())
    });
    let error = half.await.unwrap_err().with_causes();
    assert!(
        error.contains("null value") && error.contains("23502"),
        "{error}"
    );
    assert!(!error.contains("half") && !error.contains('\n'), "{error}");
    let raised = store.write(|tx| {
        tx.execute_batch(
            "DO $$ BEGIN RAISE EXCEPTION E'one\n\x1b[2J two' USING DETAIL = 'row', HINT = 'hint'; END $$",
        )
    });
    let error = raised.await.unwrap_err().with_causes();
    let shown = r"cannot be read or written: one\n\u{1b}[2J two (SQLSTATE P0001)";
    assert!(error.ends_with(shown), "{error}");
    let panicked = store.write(|tx| -> sql::Result<()> {
        tx.execute("INSERT INTO notes (text) VALUES ('half')", ())?;
        panic!("on purpose")
    });
    let panicked = panicked.await.unwrap_err();
    assert!(matches!(panicked, StoreError::Panicked { .. }));
    let written = store.read(|tx| tx.execute("INSERT INTO notes (text) VALUES ('no')", ()));
    let error = written.await.unwrap_err().with_causes();
    assert!(error.contains("read-only"), "{error}");
    assert_eq!(notes(&store).await, ["one"]);

    let Database::Postgres(postgres) = &database else {
        unreachable!()
    };
    let other = Database::Postgres(Postgres::new(postgres.config().clone()));
    assert_eq!(notes(&open(&other)).await, ["one"]);
}

#[tokio::test]
async fn jobs_that_fail_in_the_middle_of_a_batch_leave_the_others() {
    let Some(database) = testing::database() else {
        return;
    };
    let store = open(&database);
    let mut all = JoinSet::new();
    for n in 0..200 {
        let store = store.clone();
        // Each text is there five times, and may be stored once.
        all.spawn(async move { note(&store, format!("{}", n % 40)).await.is_ok() });
    }
    let stored = all.join_all().await.into_iter().filter(|is_ok| *is_ok);
    assert_eq!(stored.count(), 40);
    assert_eq!(notes(&store).await.len(), 40);
}

#[tokio::test]
async fn values_come_back_as_they_were_stored() {
    let Some(database) = testing::database() else {
        return;
    };
    let store = open(&database);
    let back = store.write(|tx| {
        tx.execute_batch("CREATE TABLE t (n BIGINT, s TEXT, b BYTEA, y BOOLEAN)")?;
        let (blob, none) = (vec![0_u8, 255], None::<String>);
        let insert = "INSERT INTO t VALUES (:n, :s, :b, CAST(:n AS BIGINT) IS NOT NULL) -- :not ?9";
        let values = crate::named_params! {":n": i64::MIN, ":s": "ä ?1 :n", ":b": blob};
        tx.execute(insert, values)?;
        tx.execute("INSERT INTO t (n, s) VALUES (?2, ?1)", (&none, 7_u32))?;
        let literal = tx.query_row("SELECT ':n ?1' || CAST(?3 AS TEXT)", ("", "", "!"), |row| {
            row.get::<String>(0)
        })?;
        let select =
            "SELECT n, s, b, y FROM t WHERE CAST(?1 AS BIGINT) IS NULL OR n > ?1 ORDER BY n";
        let all = tx.query_map(select, [None::<i64>], |row| {
            let (n, s): (i64, Option<String>) = (row.get("n")?, row.get(1)?);
            let (b, y): (Option<Vec<u8>>, Option<bool>) = (row.get("b")?, row.get("y")?);
            Ok((n, s, b, y))
        })?;
        let wrong = tx.query_row("SELECT s FROM t WHERE n = 7", (), |row| row.get::<i64>("s"));
        Ok((literal, all, wrong.unwrap_err().to_string()))
    });
    let (literal, all, wrong) = back.await.unwrap();
    assert_eq!(literal, ":n ?1!");
    let text = Some("ä ?1 :n".to_owned());
    assert_eq!(all[0], (i64::MIN, text, Some(vec![0, 255]), Some(true)));
    assert_eq!(all[1], (7, None, None, None));
    assert_eq!(wrong, "the column 's' cannot be read");
}

#[tokio::test]
async fn several_processes_can_make_the_tables_at_once() {
    let Some(server) = testing::server() else {
        return;
    };
    let mut all = JoinSet::new();
    for n in 0..6 {
        all.spawn(async move {
            let open = move || open(&server.database("at_once"));
            let store = tokio::task::spawn_blocking(open).await.unwrap();
            note(&store, format!("{n}")).await.unwrap();
            store
        });
    }
    let stores = all.join_all().await;
    assert_eq!(notes(&stores[0]).await.len(), 6);
}

#[test]
fn a_newer_schema_is_refused() {
    const NEWER: Schema = Schema {
        postgres: &[
            "CREATE TABLE notes (text TEXT)",
            "ALTER TABLE notes ADD COLUMN more TEXT",
        ],
        ..NOTES
    };
    let Some(database) = testing::database() else {
        return;
    };
    drop(Store::open(&database, &NEWER).unwrap());
    let error = Store::open(&database, &NOTES).unwrap_err();
    assert!(
        matches!(
            error,
            StoreError::Newer {
                found: 2,
                known: 1,
                ..
            }
        ),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains("has version 2, and this toolhost knows versions up to 1")
    );
}

#[test]
fn a_wrong_password_and_a_missing_server_are_errors_without_the_password() {
    let Some(server) = testing::server() else {
        return;
    };
    let wrong = server
        .config(server.port(), "wrong")
        .with_password("se cret");
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = server.config(unused.local_addr().unwrap().port(), "none");
    drop(unused);
    for (config, cause) in [
        (wrong, "password authentication failed"),
        (nobody, "refused"),
    ] {
        let shown = format!("{config:?}");
        let postgres = Postgres::new(config);
        let error = Store::open(Database::Postgres(postgres.clone()), &NOTES).unwrap_err();
        let text = format!("{} {error:?} {shown} {postgres:?}", error.with_causes());
        assert!(
            text.contains(cause) && text.contains("state.postgres"),
            "{text}"
        );
        assert!(
            !text.contains(PASSWORD) && !text.contains("se cret"),
            "{text}"
        );
    }
}

#[test]
fn a_state_root_notes_the_database_that_was_reached_and_refuses_another_one() {
    let Some(server) = testing::server() else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let marker = root.path().join("database");
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = server.config(unused.local_addr().unwrap().port(), "noted");
    drop(unused);
    let nobody = Database::Postgres(Postgres::new(nobody));
    nobody.mark(root.path()).unwrap();
    Store::open(&nobody, &NOTES).unwrap_err();
    assert!(!marker.exists(), "a wrong address is corrected");

    let database = server.database("noted");
    let store = Store::open(&database, &NOTES).unwrap();
    database.mark(root.path()).unwrap();
    database.mark(root.path()).unwrap();
    let noted = Database::elsewhere(root.path()).unwrap().unwrap();
    assert!(noted.ends_with("/postgres schema noted"), "{noted}");
    drop(store);
    let other = server.database("another");
    let error = other.mark(root.path()).unwrap_err().to_string();
    for part in [
        "schema noted",
        "schema another",
        "or remove",
        "/database to",
    ] {
        assert!(error.contains(part), "{error}");
    }

    let fresh = tempfile::tempdir().unwrap();
    let (one, two) = (server.database("noted"), server.database("another"));
    one.mark(fresh.path()).unwrap();
    two.mark(fresh.path()).unwrap();
    drop(Store::open(&one, &NOTES).unwrap());
    let late = Store::open(&two, &NOTES).unwrap_err();
    assert!(matches!(late, StoreError::OtherDatabase { .. }), "{late}");
}

#[tokio::test]
async fn a_database_with_another_encoding_is_refused() {
    let Some(server) = testing::server() else {
        return;
    };
    let at = |database: &str| {
        let port = server.port();
        let url = format!("postgres://toolhost@127.0.0.1:{port}/{database}?sslmode=disable");
        PostgresConfig::parse(&url).unwrap().with_password(PASSWORD)
    };
    let driver = at("postgres").driver;
    let (client, connection) = driver.connect(tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let make = "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0";
    client.batch_execute(make).await.unwrap();
    let latin = Database::Postgres(Postgres::new(at("latin")));
    let error = Store::open(&latin, &NOTES).unwrap_err().to_string();
    assert!(error.contains("/latin has the encoding LATIN1"), "{error}");
}

#[test]
fn addresses_are_read_strictly() {
    let name = |url| PostgresConfig::parse(url).map(|config| config.name().to_owned());
    let read = name("postgres://u:p@h.example/d?sslmode=verify-full&connect_timeout=3").unwrap();
    assert_eq!(read, "postgres://u@h.example:5432/d");
    let socket = PostgresConfig::parse("postgresql://u@%2Frun%2Fpg:6000/d").unwrap();
    assert_eq!(socket.name(), "postgres://u@/run/pg:6000/d");
    assert!(format!("{socket:?}").contains("tls: false"));
    for (url, wrong) in [
        ("mysql://u@h/d", "begins with postgres://"),
        ("postgres://h/d", "names a user"),
        ("postgres://u@h", "names a user"),
        ("postgres://u@h,i/d", "one host"),
        ("postgres://u@h:x/d", "is not postgres://"),
        ("postgres://u:se@cret@h/d", "as %40"),
        ("postgres://u:se@cret/@h/d", "as %40"),
        ("postgres://u:se@cret:1@h:2/d", "as %40"),
        ("postgres://u@se%40cret/d", "as %40"),
        ("postgres://u@h/d?sslmode=require", "`sslmode` is"),
        ("postgres://u@h/d?sslmode=prefer", "`sslmode` is"),
        ("postgres://u@h/d?user=v", "has an option"),
        ("postgres://u:se?cret@h/d", "has an option"),
        (
            "postgres://u@h/d?sslrootcert=%2Fnone",
            "`sslrootcert` /none",
        ),
    ] {
        let error = name(url).unwrap_err().to_string();
        assert!(
            error.contains(wrong) && !error.contains("cret"),
            "{url}: {error}"
        );
    }
    let config = PostgresConfig::parse("postgres://u@h/d?sslmode=disable").unwrap();
    for schema in ["", "1a", "A", "a-b", "a\"b", &"a".repeat(64)] {
        assert!(config.clone().with_schema(schema).is_err(), "{schema}");
    }
}

#[test]
fn tls_checks_the_certificate_and_its_name() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let Some(plain) = testing::server() else {
        return;
    };
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    let file = |name: &str| dir.path().join(name).display().to_string();
    let (key, certificate) = (file("key.pem"), file("cert.pem"));
    let made = std::process::Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
        ])
        .args(["-subj", "/CN=db", "-addext", "subjectAltName=IP:127.0.0.1"])
        .args([
            "-addext",
            "basicConstraints=critical,CA:FALSE",
            "-keyout",
            &key,
            "-out",
            &certificate,
        ])
        .output();
    let Ok(made) = made else {
        eprintln!("test: TLS to PostgreSQL is NOT tested: there is no openssl");
        return;
    };
    assert!(made.status.success());
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    if rustix::process::geteuid().is_root() {
        chown(&key, Some(65_534), Some(65_534)).unwrap();
    }
    let settings = [
        "ssl=on".to_owned(),
        format!("ssl_cert_file={certificate}"),
        format!("ssl_key_file={key}"),
    ];
    let server = Server::start(&settings.each_ref().map(String::as_str)).unwrap();
    let open = |host: &str, options: &str| {
        let port = server.port();
        let url = format!("postgres://toolhost@{host}:{port}/postgres?{options}");
        let config = PostgresConfig::parse(&url).unwrap().with_password(PASSWORD);
        Store::open(Database::Postgres(Postgres::new(config)), &NOTES)
    };
    let trusted = format!("sslrootcert={}", certificate.replace('/', "%2F"));
    open("127.0.0.1", &trusted).unwrap();
    for (host, options) in [("127.0.0.1", ""), ("localhost", trusted.as_str())] {
        let error = open(host, options).unwrap_err().with_causes();
        assert!(error.contains("invalid peer certificate"), "{error}");
    }
    let url = format!("postgres://toolhost@127.0.0.1:{}/postgres", plain.port());
    let config = PostgresConfig::parse(&url).unwrap().with_password(PASSWORD);
    let error = Store::open(Database::Postgres(Postgres::new(config)), &NOTES).unwrap_err();
    assert!(
        error.with_causes().contains("TLS"),
        "{}",
        error.with_causes()
    );
}

/// Prints how many writes a second a database takes.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures"]
async fn writes_per_second() {
    let root = tempfile::tempdir().unwrap();
    let server = Server::start(&["fsync=on", "synchronous_commit=on"]).unwrap();
    const SQLITE: Schema = Schema {
        steps: &["CREATE TABLE notes (number INTEGER PRIMARY KEY, text TEXT NOT NULL)"],
        ..NOTES
    };
    for (name, database) in [
        ("SQLite", Database::from(root.path())),
        ("PostgreSQL", server.database("measured")),
    ] {
        let store = Store::open(&database, &SQLITE).unwrap();
        for in_flight in [1, 64] {
            let begin = std::time::Instant::now();
            let mut all = JoinSet::new();
            for of in 0..in_flight {
                let store = store.clone();
                all.spawn(async move {
                    let mut count = 0_u32;
                    while begin.elapsed() < Duration::from_secs(3) {
                        note(&store, format!("{in_flight}/{of}/{count}"))
                            .await
                            .unwrap();
                        count += 1;
                    }
                    count
                });
            }
            let count: u32 = all.join_all().await.into_iter().sum();
            eprintln!("{name}, {in_flight} in flight: {} writes/s", count / 3);
        }
        let (begin, select) = (std::time::Instant::now(), "SELECT text FROM notes LIMIT 1");
        for _ in 0..1000 {
            let read = store.read(move |tx| tx.query_row(select, (), |row| row.get::<String>(0)));
            read.await.unwrap();
        }
        eprintln!("{name}: {} reads/s", 1000.0 / begin.elapsed().as_secs_f64());
    }
}
