//! Events that a run left behind: another run takes them over.

use toolhost_store::rusqlite::Connection;

use toolhost_store::StoreError;

use super::super::InstanceId;
use super::super::mailbox::{Entry, Standing};
use super::Ledger;

impl Ledger {
    /// The agents that runs which died owe a turn, and those runs.
    pub(crate) async fn orphans(&self) -> Result<Vec<(String, String)>, StoreError> {
        let own = self.store.run_id().to_owned();
        let select = "SELECT DISTINCT agent, run_id FROM agent_events WHERE run_id <> ?1";
        let mut orphans: Vec<(String, String)> = self
            .store
            .read(move |db| {
                let mut select = db.prepare_cached(select)?;
                let rows = select.query_map([own], |row| Ok((row.get(0)?, row.get(1)?)))?;
                rows.collect()
            })
            .await?;
        orphans.retain(|(_, run)| !self.store.is_alive(run));
        Ok(orphans)
    }

    /// Takes over the events that a run owes the instances of an agent, in their order.
    pub(crate) async fn claim(
        &self,
        agent: &str,
        run: &str,
    ) -> Result<Vec<(InstanceId, Entry)>, StoreError> {
        let (agent, run) = (agent.to_owned(), run.to_owned());
        let own = self.store.run_id().to_owned();
        let work = move |db: &Connection| {
            let theirs = "SELECT seq, event_id, instance_key, octet_length(event) FROM agent_events
                WHERE agent = ?1 AND run_id = ?2 ORDER BY seq";
            let mut theirs = db.prepare(theirs)?;
            let rows = theirs.query_map([&agent, &run], |row| {
                let key: String = row.get(2)?;
                let entry = Entry {
                    seq: row.get(0)?,
                    event_id: row.get(1)?,
                    standing: Standing::Owed,
                    bytes: usize::try_from(row.get::<_, i64>(3)?).unwrap_or_default(),
                };
                Ok((InstanceId::new(&agent, &key), entry))
            })?;
            let claimed = rows.collect::<Result<Vec<_>, _>>()?;
            let claim = "UPDATE agent_events SET run_id = ?3 WHERE agent = ?1 AND run_id = ?2";
            db.execute(claim, [&agent, &run, &own])?;
            Ok(claimed)
        };
        self.store.write(move |db| work(db)).await
    }

    /// The id of this run.
    pub(crate) fn own_run(&self) -> &str {
        self.store.run_id()
    }
}
