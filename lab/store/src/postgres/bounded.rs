//! A connection whose calls end, whatever its server does: a server that takes a connection and then is
//! silent, as a stopped one, would hold a call for ever.
//!
//! The client waits in a thread of its own, and the caller for an answer. A call that ends without one
//! leaves the thread behind with the connection. Between the calls the thread waits for the next one,
//! and disturbs no measurement.
//!
//! A server has few connections, by default a hundred. One that rests has none, and connects at its next
//! call; one that finds no free connection tries again, at times that differ between programs. A server
//! that many programs connect to at once lets a connection wait until it times out: where it has
//! answered before, that is tried again as long.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
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
    error::Busy,
    store_error,
};
use chronoscope_base::{console, signals};

/// The longest wait for an answer: a server ends a statement itself after 60 s.
const LONGEST: Duration = Duration::from_secs(65);

/// The longest wait after a signal.
const AFTER_A_SIGNAL: Duration = Duration::from_secs(2);

/// The wait after which a line says so.
const TOLD: Duration = Duration::from_secs(5);

/// The longest time to try for a free connection.
const FULL: Duration = Duration::from_secs(600);

/// The longest time to try for a connection to a server that takes none in time and has never answered.
const UNKNOWN: Duration = Duration::from_secs(60);

/// The shortest and the longest wait before the next try for a free connection.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(2)];

/// How often a caller looks for a signal.
const LOOK: Duration = Duration::from_millis(50);

/// A call for the client's thread.
type Call = Box<dyn FnOnce(&mut Postgres) + Send>;

/// A connection behind a thread.
pub struct Bounded {
    server: Server,
    name: String,
    client: Client,
}

/// The client's thread.
enum Client {
    /// Waits for calls.
    Connected(Sender<Call>),
    /// Given back: the next call connects.
    Resting,
    /// The server has not answered.
    Lost,
}

impl Bounded {
    /// Connects as [`Postgres::open`] does.
    ///
    /// # Errors
    /// As there, and without an answer.
    pub fn open(server: &Server, name: &str, create: bool) -> Result<Self> {
        let client = Client::Connected(connected(server, name, create, UNKNOWN)?);
        Ok(Self { server: server.clone(), name: name.to_owned(), client })
    }

    fn connect(&mut self) -> Result<(), StoreError> {
        self.client = Client::Lost;
        let calls = connected(&self.server, &self.name, false, FULL);
        self.client = Client::Connected(calls.map_err(|error| store_error(&self.name, error))?);
        Ok(())
    }

    /// The result of a call.
    fn ask<T: Send + 'static>(
        &mut self,
        call: impl FnOnce(&mut Postgres) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        if matches!(self.client, Client::Resting) {
            self.connect()?;
        }
        let (answer, answered) = channel();
        let call: Call = Box::new(move |client| drop(answer.send(call(client))));
        let is_sent = match &self.client {
            Client::Connected(calls) => calls.send(call).is_ok(),
            Client::Resting | Client::Lost => false,
        };
        let result = if is_sent {
            waited(&answered, &self.name, &mut false)
        } else {
            Err(silent(&self.name))
        };
        if result.is_err() {
            self.client = Client::Lost;
        }
        result
    }
}

/// The calls of a thread with a client that has connected. Tries until the server has a free connection,
/// for [`FULL`] at most and until a signal; for `late` where it takes no connection in time.
fn connected(server: &Server, name: &str, create: bool, late: Duration) -> Result<Sender<Call>> {
    let start = Instant::now();
    let mut longest = PAUSES[0];
    let mut is_told = false;
    loop {
        let error = match attempt(server, name, create, &mut is_told)? {
            Ok(calls) => return Ok(calls),
            Err(error) => error.downcast::<Busy>()?,
        };
        let most = if matches!(error, Busy::Full(_)) { FULL } else { late };
        if start.elapsed() >= most || is_stopped() {
            return Err(error.into_inner().into());
        }
        tell_once(&mut is_told, start, || match &error {
            Busy::Full(error) => format!("{error:#}: waiting; Ctrl-C ends the wait"),
            Busy::Late(_) => unanswered(name),
        });
        // Programs that were refused together do not come again together.
        pause(PAUSES[0] + longest.mul_f64(random()));
        longest = (longest * 2).min(PAUSES[1]);
    }
}

/// A number from 0 to 1 that differs between programs.
fn random() -> f64 {
    RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64
}

/// Sleeps, until a signal at most.
fn pause(time: Duration) {
    let end = Instant::now() + time;
    while Instant::now() < end && !is_stopped() {
        thread::sleep(LOOK.min(end.saturating_duration_since(Instant::now())));
    }
}

fn is_stopped() -> bool {
    signals::stop().load(Ordering::Relaxed)
}

/// Connects once. The outer error is of the wait.
fn attempt(
    server: &Server,
    name: &str,
    create: bool,
    is_told: &mut bool,
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
    Ok(waited(&is_open, name, is_told)?.map(|()| calls))
}

/// Waits for an answer. Whether a line has told of the wait is kept in `is_told`.
fn waited<T>(answered: &Receiver<T>, name: &str, is_told: &mut bool) -> Result<T, StoreError> {
    let start = Instant::now();
    let mut signalled = None;
    loop {
        match answered.recv_timeout(LOOK) {
            Ok(answer) => return Ok(answer),
            Err(RecvTimeoutError::Disconnected) => return Err(silent(name)),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if is_stopped() {
            signalled.get_or_insert_with(Instant::now);
        }
        if signalled.is_some_and(|at: Instant| at.elapsed() >= AFTER_A_SIGNAL)
            || start.elapsed() >= LONGEST
        {
            return Err(silent(name));
        }
        tell_once(is_told, start, || unanswered(name));
    }
}

/// Prints the line of a wait that has taken [`TOLD`], once.
fn tell_once(is_told: &mut bool, start: Instant, line: impl FnOnce() -> String) {
    if start.elapsed() >= TOLD && !std::mem::replace(is_told, true) {
        console::remark(&line());
    }
}

/// The line that tells of a wait.
fn unanswered(name: &str) -> String {
    format!("the store {name} has not answered for 5 s: Ctrl-C ends the wait")
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

    /// Ends the thread, and its connection with it.
    fn rest(&mut self) {
        if matches!(self.client, Client::Connected(_)) {
            self.client = Client::Resting;
        }
    }

    /// Connects anew also where the server did not answer.
    fn reconnect(&mut self) -> Result<bool, StoreError> {
        if let Client::Connected(_) = self.client
            && !self.ask(|client| client.client.is_closed())?
        {
            return Ok(false);
        }
        self.connect()?;
        Ok(true)
    }

    fn remark(&mut self) -> Option<String> {
        self.ask(Postgres::remark).ok()?
    }
}
