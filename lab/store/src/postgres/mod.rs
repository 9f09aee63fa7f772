//! Stores on PostgreSQL servers, in the schema `chronoscope` of a database.
//!
//! The client runs only inside the calls of a session: between them no thread of this program works
//! for it, so that an open store disturbs no measurement. A session is used through
//! [`Bounded`], whose calls end whatever the server does.

mod bounded;
mod error;
mod stream;
mod tls;

pub use self::bounded::Bounded;

use std::{
    collections::HashMap,
    env,
    error::Error as _,
    net::IpAddr,
    sync::atomic::Ordering,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result, anyhow, bail};
use bytes::BytesMut;
use postgres::{
    Client, Config, Statement,
    config::{Host, SslMode, SslNegotiation},
    types::{IsNull, ToSql, Type, to_sql_checked},
};

use self::error::{explain, unconnected};
use super::{
    place::Server,
    reference::MAX_FILE,
    schema::{Dialect, VERSION, migrations},
    session::{Row, Session, StoreError, Value},
};
use chronoscope_base::signals;

/// The longest wait for the server to accept a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// The longest wait for a server's acknowledgement.
const SILENCE: Duration = Duration::from_secs(10);

/// The settings of a session: the schema of its tables, and its longest waits for other sessions
/// and for a statement.
const SETTINGS: &str = "SET search_path = chronoscope, pg_catalog; SET lock_timeout = '10s';
    SET statement_timeout = '60s'; SET idle_in_transaction_session_timeout = '60s'";

/// The most statements that the server keeps prepared: inserts of few and of many rows differ.
const PREPARED: usize = 64;

/// The number of the lock under which the tables are made: `chro`.
const LOCK: i64 = 0x6368_726f;

/// The tables of version 0: the version itself.
const FIRST: &str = "CREATE SCHEMA IF NOT EXISTS chronoscope;
    CREATE TABLE chronoscope.version (number BIGINT NOT NULL);
    INSERT INTO chronoscope.version VALUES (0)";

/// The largest difference of two clocks, in seconds, without a remark.
const CLOCKS: f64 = 60.0;

/// An open connection.
pub struct Postgres {
    client: Client,
    config: Config,
    tls: tls::Make,
    /// The store's URL without a password, for messages.
    name: String,
    /// Statements that the server has prepared on this connection, by their text.
    prepared: HashMap<String, Statement>,
    /// `true` while a transaction is open, which a new connection would not have.
    is_writing: bool,
}

impl Postgres {
    /// Connects to a store; makes its tables first with `create`. `name` is the place in messages.
    ///
    /// # Errors
    /// If the server cannot be reached, or the database is no store that this program knows.
    pub fn open(server: &Server, name: &str, create: bool) -> Result<Self> {
        let place = name.to_owned();
        let (config, tls) = configured(server.url()).map_err(|error| StoreError {
            place,
            reason: format!("cannot be opened: {error:#}"),
        })?;
        let client = connect(&config, &tls, name)?;
        let (name, prepared) = (name.to_owned(), HashMap::new());
        let mut session = Self { client, config, tls, name, prepared, is_writing: false };
        session.prepare(create)?;
        Ok(session)
    }

    /// Makes the tables where they are missing, and migrates older ones.
    fn prepare(&mut self, create: bool) -> Result<()> {
        let name = self.name.clone();
        match self.version()? {
            None if !create => {
                bail!("there is no store of runs at {name}: `chronoscope run` makes it")
            }
            Some(VERSION) => Ok(()),
            Some(newer) if newer > VERSION => bail!(self.error(format!(
                "has version {newer} and this program knows {VERSION}: use the chronoscope that wrote it, or name \
                 another store with --store"
            ))),
            Some(_) | None => Ok(self.migrate()?),
        }
    }

    /// The version of the tables; `None` without tables.
    fn version(&mut self) -> Result<Option<i64>, StoreError> {
        // Not by to_regclass: it may not see tables that another program made while this one waited
        // for the lock.
        let exists =
            "SELECT count(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
                      WHERE nspname = 'chronoscope' AND relname = 'version'";
        if self.rows(exists, &[])?.first().is_none_or(|row| row.int(0) == 0) {
            return Ok(None);
        }
        let rows = self.rows("SELECT number FROM chronoscope.version", &[])?;
        Ok(rows.first().map(|row| row.int(0)))
    }

    fn error(&self, reason: String) -> StoreError {
        StoreError { place: self.name.clone(), reason }
    }

    fn migrate(&mut self) -> Result<(), StoreError> {
        self.begin()?;
        // Another program may be making the tables too.
        self.batch(&format!("SELECT pg_advisory_xact_lock({LOCK})"))?;
        let version = match self.version()? {
            Some(version) => version,
            None => {
                self.batch(FIRST)?;
                0
            }
        };
        if version < VERSION {
            self.batch(&migrations(version, Dialect::Postgres))?;
            self.batch(&format!("UPDATE version SET number = {VERSION}"))?;
        }
        self.commit()
    }

    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        if is_too_long(values) {
            let most = MAX_FILE >> 20;
            return Err(self.error(format!(
                "cannot hold a run above {most} MiB: leave out --samples, or name a file with --store"
            )));
        }
        let statement = self.statement(sql)?;
        let rows = self.client.query(&statement, &references(values));
        let rows = rows.and_then(|rows| rows.iter().map(read).collect());
        rows.map_err(|error| explain(&self.name, &error))
    }

    /// Prepares a statement once on a connection: an import would otherwise ask the server twice for each.
    fn statement(&mut self, sql: &str) -> Result<Statement, StoreError> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(&numbered(sql));
        let statement = statement.map_err(|error| explain(&self.name, &error))?;
        if self.prepared.len() >= PREPARED {
            self.prepared.clear();
        }
        self.prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        self.client.batch_execute(sql).map_err(|error| explain(&self.name, &error))
    }
}

/// Returns the client's settings from a URL. `sslmode` decides whether the connection is encrypted;
/// the certificate of an encrypted connection is always checked.
fn configured(url: &str) -> Result<(Config, tls::Make)> {
    let (url, trusted, mode) = without_tls(url);
    let mut config: Config = url.parse().map_err(|error: postgres::Error| {
        // The client's own text is `invalid connection string: …`.
        anyhow!("its URL is not valid ({}): write postgres://USER@HOST/DATABASE", cause(&error))
    })?;
    if config.get_password().is_none()
        && let Ok(password) = env::var("PGPASSWORD")
    {
        config.password(password);
    }
    config.application_name("chronoscope");
    config.connect_timeout(CONNECT).tcp_user_timeout(SILENCE);
    config.keepalives_idle(SILENCE);
    let is_near = is_near(&config);
    let tls = match mode.as_deref() {
        None if is_near && trusted.is_none() => tls::Make::Plain { may_be_clear: false },
        None | Some("require" | "verify-ca" | "verify-full") => tls::Make::encrypted(trusted)?,
        Some("disable") => tls::Make::Plain { may_be_clear: true },
        Some(mode) => bail!("`sslmode={mode}`: write require or disable"),
    };
    config.ssl_mode(SslMode::Require);
    if let tls::Make::Plain { .. } = tls {
        let hosts = config.get_hosts();
        if !hosts.is_empty() && hosts.iter().all(|host| matches!(host, Host::Tcp(_))) {
            // No word of TLS is sent: the connector makes the connection, which follows its frames.
            config.ssl_negotiation(SslNegotiation::Direct);
        } else {
            // The library asks no connector for a socket in a folder, nor for an address without a name.
            config.ssl_mode(SslMode::Disable);
        }
    }
    Ok((config, tls))
}

/// Returns `true` if all servers are on this machine.
fn is_near(config: &Config) -> bool {
    let is_near = |host: &Host| match host {
        Host::Tcp(name) => matches!(name.as_str(), "localhost" | "127.0.0.1" | "::1"),
        Host::Unix(_) => true,
    };
    // The address of `?hostaddr=` is the one that is connected to.
    config.get_hosts().iter().all(is_near) && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

/// Splits a URL into the URL without the parameters of TLS, the file of trusted certificates, and
/// the mode.
fn without_tls(url: &str) -> (String, Option<String>, Option<String>) {
    let Some((place, query)) = url.split_once('?') else { return (url.to_owned(), None, None) };
    let (mut trusted, mut mode) = (None, None);
    let others = query.split('&').filter(|parameter| match parameter.split_once('=') {
        Some(("sslrootcert", file)) => {
            trusted = Some(file.replace("%2F", "/"));
            false
        }
        Some(("sslmode", word)) => {
            mode = Some(word.to_owned());
            false
        }
        _ => true,
    });
    let others: Vec<&str> = others.collect();
    let url =
        if others.is_empty() { place.to_owned() } else { format!("{place}?{}", others.join("&")) };
    (url, trusted, mode)
}

fn connect(config: &Config, tls: &tls::Make, name: &str) -> Result<Client> {
    let mut client = config.connect(tls.clone()).map_err(|error| unconnected(name, &error))?;
    client.batch_execute(SETTINGS).map_err(|error| explain(name, &error))?;
    Ok(client)
}

/// The error of a store, whatever the kind of `error` is.
fn store_error(name: &str, error: anyhow::Error) -> StoreError {
    let unknown = |error: anyhow::Error| StoreError {
        place: name.to_owned(),
        reason: format!("cannot be opened: {error:#}"),
    };
    error.downcast().unwrap_or_else(unknown)
}

/// Returns a statement with PostgreSQL's marks of values, `$1`. No statement has a `?` in a text.
fn numbered(sql: &str) -> String {
    sql.replace('?', "$")
}

impl ToSql for Value {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(value) => value.to_sql(kind, out),
            Self::Real(value) => value.to_sql(kind, out),
            Self::Text(value) => value.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::FLOAT8, Type::TEXT].contains(kind)
    }

    to_sql_checked!();
}

/// Returns `true` for values with a run that no answer could hold, since [`stream`] bounds them.
fn is_too_long(values: &[Value]) -> bool {
    values.iter().any(|value| matches!(value, Value::Text(text) if text.len() as u64 > MAX_FILE))
}

fn references(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// Reads a row in the types of the tables.
fn read(row: &postgres::Row) -> Result<Row, postgres::Error> {
    let value = |(column, kind): (usize, &Type)| {
        Ok(match *kind {
            Type::INT8 => row.try_get::<_, Option<i64>>(column)?.map_or(Value::Null, Value::Int),
            Type::FLOAT8 => row.try_get::<_, Option<f64>>(column)?.into(),
            _ => row.try_get::<_, Option<String>>(column)?.map_or(Value::Null, Value::Text),
        })
    };
    let kinds = row.columns().iter().map(postgres::Column::type_);
    Ok(Row(kinds.enumerate().map(value).collect::<Result<_, _>>()?))
}

impl Session for Postgres {
    /// Asks a restarted server once more, unless a transaction was lost with the connection.
    fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        let rows = self.query(sql, values);
        if rows.is_err() && !self.is_writing && self.reconnect()? {
            return self.query(sql, values);
        }
        rows
    }

    fn change(&mut self, sql: &str, values: &[Value]) -> Result<usize, StoreError> {
        let statement = self.statement(sql)?;
        let changed = self.client.execute(&statement, &references(values));
        let changed = changed.map_err(|error| explain(&self.name, &error))?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        if signals::stop().load(Ordering::Relaxed) {
            // The program is to end within two seconds.
            self.batch("SET lock_timeout = '1s'; SET statement_timeout = '1500ms'")?;
        }
        self.is_writing = true;
        self.batch("BEGIN")
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.batch("COMMIT")?;
        self.is_writing = false;
        Ok(())
    }

    fn rollback(&mut self) {
        // A lost session has no transaction.
        let _ = self.client.batch_execute("ROLLBACK");
        self.is_writing = false;
    }

    fn check_writable(&mut self) -> Result<()> {
        let tables = ["runs", "cases", "labels"];
        let may = tables.map(|table| format!("has_table_privilege('{table}', 'INSERT')"));
        let query = format!(
            "SELECT ({})::int4::int8, current_user::text, current_setting('transaction_read_only')",
            may.join(" AND ")
        );
        let rows = self.rows(&query, &[])?;
        let row = rows.first().context("the server gave no answer")?;
        if row.int(0) == 0 {
            bail!(self.error(format!(
                "may not be written by the user {}: its owner grants the right (docs/many-machines.md), or name \
                 another store with --store",
                row.text(1)
            )));
        }
        if row.text(2) == "on" {
            let reason =
                "is on a server that only reads: name the server that is written, with --store";
            bail!(self.error(reason.to_owned()));
        }
        Ok(())
    }

    fn reconnect(&mut self) -> Result<bool, StoreError> {
        if !self.client.is_closed() {
            return Ok(false);
        }
        self.prepared.clear();
        self.client = connect(&self.config, &self.tls, &self.name)
            .map_err(|error| store_error(&self.name, error))?;
        self.is_writing = false;
        Ok(true)
    }

    fn remark(&mut self) -> Option<String> {
        let rows = self.rows("SELECT extract(epoch FROM clock_timestamp())::float8", &[]).ok()?;
        let server = rows.first()?.real(0)?;
        let own = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs_f64();
        differing(own - server)
    }
}

/// Returns the remark on two clocks that differ by `seconds`, this machine's minus the server's;
/// `None` up to a minute.
fn differing(seconds: f64) -> Option<String> {
    (seconds.abs() > CLOCKS).then(|| {
        let side = if seconds > 0.0 { "ahead of" } else { "behind" };
        format!(
            "this machine's clock is {:.0} s {side} the store's: the run is stored with its date, and histories are in the \
             order of storing; set the clock",
            seconds.abs()
        )
    })
}

/// Returns the reason of an error in the client's words, or in the stream's.
fn cause(error: &postgres::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_clocks_cause_a_remark() {
        assert_eq!(differing(59.0), None);
        assert!(differing(3600.0).unwrap().starts_with("this machine's clock is 3600 s ahead of"));
        assert!(differing(-61.2).unwrap().contains("61 s behind the store's"));
    }

    #[test]
    fn what_could_not_be_read_again_is_not_stored() {
        let run = |length: u64| [Value::Null, Value::Text("x".repeat(length as usize))];
        assert!(!is_too_long(&run(MAX_FILE)));
        assert!(is_too_long(&run(MAX_FILE + 1)));
    }

    #[test]
    fn remote_servers_need_tls() {
        // Whether a connection is plain, and then whether the password may be sent in clear.
        let plain = |url: &str| {
            configured(url).map(|(config, tls)| match tls {
                tls::Make::Encrypted(_) => {
                    assert_eq!(config.get_ssl_mode(), SslMode::Require, "{url}");
                    assert_eq!(config.get_ssl_negotiation(), SslNegotiation::Postgres, "{url}");
                    None
                }
                tls::Make::Plain { may_be_clear } => Some(may_be_clear),
            })
        };
        for near in ["postgres://u@localhost/d", "postgres://u@localhost/d?hostaddr=127.0.0.1"] {
            assert_eq!(plain(near).unwrap(), Some(false), "{near}");
        }
        assert_eq!(plain("postgres://u@%2Ftmp%2Fx/d").unwrap(), Some(false));
        assert_eq!(plain("postgres://u@h/d?sslmode=disable").unwrap(), Some(true));
        // A server that is not this machine is asked for TLS, whatever the URL leaves out.
        for far in [
            "postgres://u@h/d",
            "postgres://u@localhost,h/d",
            "postgres://u@10.0.0.1/d",
            "postgres://u@localhost/d?hostaddr=10.0.0.1",
            "postgres://u@/d?hostaddr=10.0.0.1",
        ] {
            assert_eq!(plain(far).unwrap(), None, "{far}");
        }
        for wrong in [
            ("postgres://u:pw@h/d?sslmode=prefer", "write require or disable"),
            ("postgres://u:pw@h:port/d", "write postgres://USER@HOST/DATABASE"),
            ("postgres://u:pw@h/d?color=red", "write postgres://USER@HOST/DATABASE"),
            ("postgres://u:pw@h/d?sslrootcert=/no/file", "/no/file"),
        ] {
            let error = format!("{:#}", plain(wrong.0).unwrap_err());
            assert!(error.contains(wrong.1) && !error.contains("pw"), "{error}");
        }
        assert_eq!(
            without_tls("postgres://h/d?a=1&sslmode=require&sslrootcert=%2Fx&b=2"),
            (
                "postgres://h/d?a=1&b=2".to_owned(),
                Some("/x".to_owned()),
                Some("require".to_owned())
            )
        );
    }
}
