//! A connection whose calls end, whatever its server does: a server that takes a connection and then is
//! silent, as a stopped one, would hold a call for ever.
//!
//! The client waits in a thread of its own, and the caller for an answer. A call that ends without one
//! leaves the thread behind with the connection. Between the calls the thread waits for the next one,
//! and disturbs no measurement.

use std::{
    sync::{
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;

use super::{
    super::{
        place::Server,
        session::{Row, Session, StoreError, Value},
    },
    Postgres,
};
use chronoscope_base::{console, signals};

/// The longest wait for an answer: a server ends a statement itself after 60 s.
const LONGEST: Duration = Duration::from_secs(65);

/// The longest wait after a signal.
const AFTER_A_SIGNAL: Duration = Duration::from_secs(2);

/// The wait after which a line says so.
const TOLD: Duration = Duration::from_secs(5);

/// How often a caller looks for a signal.
const LOOK: Duration = Duration::from_millis(50);

/// A call for the client's thread.
type Call = Box<dyn FnOnce(&mut Postgres) + Send>;

/// A connection behind a thread.
pub struct Bounded {
    server: Server,
    name: String,
    /// `None` once the server has not answered.
    calls: Option<Sender<Call>>,
}

impl Bounded {
    /// Connects as [`Postgres::open`] does.
    ///
    /// # Errors
    /// As there, and without an answer.
    pub fn open(server: &Server, name: &str, create: bool) -> Result<Self> {
        let calls = connected(server, name, create)??;
        Ok(Self { server: server.clone(), name: name.to_owned(), calls: Some(calls) })
    }

    /// The result of a call.
    fn ask<T: Send + 'static>(
        &mut self,
        call: impl FnOnce(&mut Postgres) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = channel();
        let call: Call = Box::new(move |client| drop(answer.send(call(client))));
        let is_sent = self.calls.as_ref().is_some_and(|calls| calls.send(call).is_ok());
        let result = if is_sent { waited(&answered, &self.name) } else { Err(silent(&self.name)) };
        if result.is_err() {
            self.calls = None;
        }
        result
    }
}

/// The calls of a thread with a client that has connected. The outer error is of the wait.
fn connected(
    server: &Server,
    name: &str,
    create: bool,
) -> Result<Result<Sender<Call>>, StoreError> {
    let (opened, is_open) = channel();
    let (calls, asked) = channel::<Call>();
    let (server, place) = (server.clone(), name.to_owned());
    let work = move || {
        let mut client = match Postgres::open(&server, &place, create) {
            Ok(client) => client,
            Err(error) => return drop(opened.send(Err(error))),
        };
        if opened.send(Ok(())).is_ok() {
            asked.iter().for_each(|call| call(&mut client));
        }
    };
    let spawned = thread::Builder::new().name("store's server".to_owned()).spawn(work);
    spawned.map_err(|error| StoreError {
        place: name.to_owned(),
        reason: format!("cannot be asked: no thread can be started: {error}"),
    })?;
    Ok(waited(&is_open, name)?.map(|()| calls))
}

/// Waits for an answer.
fn waited<T>(answered: &Receiver<T>, name: &str) -> Result<T, StoreError> {
    let start = Instant::now();
    let (mut signalled, mut is_told) = (None, false);
    loop {
        match answered.recv_timeout(LOOK) {
            Ok(answer) => return Ok(answer),
            Err(RecvTimeoutError::Disconnected) => return Err(silent(name)),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if signals::stop().load(Ordering::Relaxed) {
            signalled.get_or_insert_with(Instant::now);
        }
        if signalled.is_some_and(|at: Instant| at.elapsed() >= AFTER_A_SIGNAL)
            || start.elapsed() >= LONGEST
        {
            return Err(silent(name));
        }
        if start.elapsed() >= TOLD && !std::mem::replace(&mut is_told, true) {
            console::remark(&format!(
                "the store {name} has not answered for 5 s: Ctrl-C ends the wait"
            ));
        }
    }
}

fn silent(name: &str) -> StoreError {
    let reason = "does not answer: look at the server, or name another store with --store";
    StoreError { place: name.to_owned(), reason: reason.to_owned() }
}

impl Session for Bounded {
    fn rows(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, StoreError> {
        let (sql, values) = (sql.to_owned(), values.to_vec());
        self.ask(move |client| client.rows(&sql, &values))?
    }

    fn change(&mut self, sql: &str, values: &[Value]) -> Result<usize, StoreError> {
        let (sql, values) = (sql.to_owned(), values.to_vec());
        self.ask(move |client| client.change(&sql, &values))?
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        self.ask(Postgres::begin)?
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.ask(Postgres::commit)?
    }

    fn rollback(&mut self) {
        // Without an answer the server undoes it.
        let _ = self.ask(Postgres::rollback);
    }

    fn check_writable(&mut self) -> Result<()> {
        self.ask(Postgres::check_writable)?
    }

    /// Connects anew also where the server did not answer.
    fn reconnect(&mut self) -> Result<bool, StoreError> {
        if self.calls.is_some() {
            return self.ask(Postgres::reconnect)?;
        }
        let calls = connected(&self.server, &self.name, false)?;
        let calls = calls.map_err(|error| StoreError {
            place: self.name.clone(),
            reason: format!("cannot be opened: {error:#}"),
        })?;
        self.calls = Some(calls);
        Ok(true)
    }

    fn remark(&mut self) -> Option<String> {
        self.ask(Postgres::remark).ok()?
    }
}
