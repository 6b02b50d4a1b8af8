//! Databases of other releases, and damaged ones.

use super::*;

#[tokio::test]
async fn a_newer_database_is_refused_and_left_unchanged() {
    let root = state_root();
    for version in [FORMAT + 1, 4_000_000] {
        drop(fs::remove_file(database(&root)));
        let newer = Connection::open(database(&root)).unwrap();
        newer.execute_batch("CREATE TABLE later (x)").unwrap();
        newer.pragma_update(None, "user_version", version).unwrap();
        drop(newer);
        let before = fs::read(database(&root)).unwrap();

        let refused = open(root.path()).unwrap_err();
        let message = refused.to_string();
        assert!(
            matches!(refused, StoreError::Newer { found, .. } if found == version),
            "{message}"
        );
        assert!(message.contains("toolhost.db has version"), "{message}");
        assert_eq!(fs::read(database(&root)).unwrap(), before);
    }
}

/// Returns the tables of a database without that of the versions.
async fn tables(store: &Store) -> Vec<String> {
    let read = store.read(|tx| {
        let select = "SELECT name FROM sqlite_schema WHERE name <> 'schema_versions' ORDER BY name";
        tx.query_map(select, (), |row| row.get(0))
    });
    let mut tables: Vec<String> = read.await.unwrap();
    tables.retain(|name| !name.starts_with("sqlite_"));
    tables
}

#[tokio::test]
async fn each_owner_migrates_its_own_tables() {
    let root = state_root();
    let other = Schema {
        owner: "other",
        steps: &["CREATE TABLE others (n)"],
        postgres: &[],
        legacy_versions: &[],
    };
    const GROWN: Schema = Schema {
        steps: &[SCHEMA.steps[0], SCHEMA.steps[1], "DROP TABLE first"],
        ..SCHEMA
    };
    assert_eq!(
        tables(&open(root.path()).unwrap()).await,
        ["first", "second"]
    );
    for _ in 0..2 {
        let store = Store::open(root.path(), &other).unwrap();
        assert_eq!(tables(&store).await, ["first", "others", "second"]);
    }
    let store = Store::open(root.path(), &GROWN).unwrap();
    assert_eq!(tables(&store).await, ["others", "second"]);
    let refused = open(root.path()).unwrap_err();
    assert!(
        matches!(
            refused,
            StoreError::Newer {
                found: 3,
                known: 2,
                ..
            }
        ),
        "{refused}"
    );
    Store::open(root.path(), &other).unwrap();
}

#[tokio::test]
async fn a_database_of_an_earlier_toolhost_is_migrated() {
    let other = Schema {
        owner: "other",
        steps: &["CREATE TABLE others (n)"],
        postgres: &[],
        legacy_versions: &[2],
    };
    for (version, made) in [
        (1, "CREATE TABLE first (n); INSERT INTO first VALUES (7)"),
        (
            2,
            "CREATE TABLE first (n); INSERT INTO first VALUES (7); CREATE TABLE others (n)",
        ),
        (
            3,
            "CREATE TABLE first (n); INSERT INTO first VALUES (7); CREATE TABLE others (n);
             CREATE TABLE second (n)",
        ),
    ] {
        for schemas in [[SCHEMA, other], [other, SCHEMA]] {
            let root = state_root();
            let earlier = Connection::open(database(&root)).unwrap();
            earlier.execute_batch(made).unwrap();
            earlier
                .pragma_update(None, "user_version", version)
                .unwrap();
            drop(earlier);
            for schema in schemas.iter().chain(&schemas) {
                Store::open(root.path(), schema).unwrap();
            }
            let store = open(root.path()).unwrap();
            assert_eq!(
                tables(&store).await,
                ["first", "others", "second"],
                "{version}"
            );
            let kept = store.read(|tx| tx.query_row("SELECT n FROM first", (), |row| row.get(0)));
            let kept: i64 = kept.await.unwrap();
            assert_eq!(kept, 7);
        }
    }
}

#[tokio::test]
async fn a_damaged_database_is_named_in_the_error() {
    let root = state_root();
    let store = open(root.path()).unwrap();
    let watched = File::open(lock_of(root.path(), &store.run_id())).unwrap();
    make_notes(&store).await;
    drop(store);
    flock(&watched, FlockOperation::LockShared).unwrap();
    let good = fs::read(database(&root)).unwrap();

    let mut damaged = good.clone();
    damaged[100..4096].fill(0xff);
    for bytes in [
        b"not a database, but long enough to be one".repeat(200),
        damaged,
    ] {
        fs::write(database(&root), &bytes).unwrap();
        let refused = open(root.path()).unwrap_err();
        let message = refused.to_string();
        assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused:?}");
        assert!(
            message.contains(&*database(&root).to_string_lossy()),
            "{message}"
        );
        assert_eq!(fs::read(database(&root)).unwrap(), bytes);
    }

    // Damage beyond the first page is found when the page is read.
    let mut damaged = good;
    damaged[4096..].fill(0xff);
    fs::write(database(&root), &damaged).unwrap();
    let count = "SELECT count(*) FROM notes";
    let read: Result<i64, _> = match open(root.path()) {
        Ok(store) => {
            store
                .read(move |tx| tx.query_row(count, (), |row| row.get(0)))
                .await
        }
        Err(refused) => Err(refused),
    };
    assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{read:?}");
}

#[tokio::test]
async fn an_index_that_lost_its_rows_is_found_when_the_database_is_opened() {
    let root = state_root();
    let store = open(root.path()).unwrap();
    let watched = File::open(lock_of(root.path(), &store.run_id())).unwrap();
    let made = store.write(|tx| {
        tx.execute_batch("CREATE TABLE t (k TEXT PRIMARY KEY); INSERT INTO t VALUES ('kept')")?;
        let page = "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_t_1'";
        tx.query_row(page, (), |row| row.get::<u32>(0))
    });
    let page = usize::try_from(made.await.unwrap()).unwrap();
    drop(store);
    flock(&watched, FlockOperation::LockShared).unwrap();

    // The number of cells of the page. SQLite finds no row with it, and reports nothing.
    let mut bytes = fs::read(database(&root)).unwrap();
    let cells = (page - 1) * 4096 + 3;
    bytes[cells..cells + 2].fill(0);
    fs::write(database(&root), &bytes).unwrap();
    let found = Connection::open(database(&root)).unwrap();
    let count = "SELECT count(*) FROM t WHERE k = 'kept'";
    let count: i64 = found.query_row(count, (), |row| row.get(0)).unwrap();
    assert_eq!(count, 0);
    drop(found);

    let refused = open(root.path()).unwrap_err();
    assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused:?}");
    let text = refused.with_causes();
    assert!(
        text.contains("move the database and its -wal and -shm files away"),
        "{text}"
    );
    assert!(text.contains(&format!(" on page {page}")), "{text}");
    assert_eq!(fs::read(database(&root)).unwrap(), bytes);
}
