//! A server of pages for browsers on this machine. It answers GET alone, and only requests that name
//! this machine as their host, so that no other site's page can read from it by a name of its own
//! (DNS rebinding). It opens no file.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The longest head of a request, in bytes.
const HEAD: u64 = 16 << 10;

/// How long a client may take to send its request.
const ASKING: Duration = Duration::from_secs(5);

/// How long a client may take to take in the answer.
const TAKING: Duration = Duration::from_secs(60);

/// How often the flag that ends the server is looked at.
const PAUSE: Duration = Duration::from_millis(200);

/// The most connections at once; a further one waits.
const MOST: usize = 16;

/// The answer to a request for a path.
pub enum Answer {
    Page(String),
    /// There is nothing, and nothing is amiss.
    Nothing,
    NotFound,
    /// The page cannot be made; the text says why.
    Failed(String),
}

/// A server that waits for connections on the loopback interface.
pub struct Server {
    listener: TcpListener,
    port: u16,
}

impl Server {
    /// Waits at a port, or at a free one for 0.
    ///
    /// # Errors
    /// If the port is taken.
    pub fn at(port: u16) -> Result<Self> {
        let place = (Ipv4Addr::LOCALHOST, port);
        let taken = || format!("the port {port} cannot be used: name another with --port");
        let listener = TcpListener::bind(place).with_context(taken)?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// The address for a browser.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Answers requests until `stop` is true. `answer` is given the path of each.
    ///
    /// # Errors
    /// If the system accepts no connections.
    pub fn serve(&self, stop: &AtomicBool, answer: impl Fn(&str) -> Answer + Sync) -> Result<()> {
        let open = AtomicUsize::new(0);
        let pause = Timespec { tv_sec: 0, tv_nsec: PAUSE.subsec_nanos().into() };
        thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                let mut wanted = [PollFd::new(&self.listener, PollFlags::IN)];
                // A signal ends the wait early.
                let _ = poll(&mut wanted, Some(&pause));
                if open.load(Ordering::Relaxed) >= MOST {
                    thread::sleep(Duration::from_millis(20));
                    continue;
                }
                let stream = match self.listener.accept() {
                    Ok((stream, _)) => stream,
                    Err(error) if is_passing(error.kind()) => continue,
                    Err(error) => return Err(error).context("no connection can be accepted"),
                };
                open.fetch_add(1, Ordering::Relaxed);
                let (open, answer) = (&open, &answer);
                scope.spawn(move || {
                    // A client that goes away is its own matter.
                    let _ = self.talk(&stream, stop, answer);
                    open.fetch_sub(1, Ordering::Relaxed);
                });
            }
            Ok(())
        })
    }

    fn talk(
        &self,
        stream: &TcpStream,
        stop: &AtomicBool,
        answer: &impl Fn(&str) -> Answer,
    ) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PAUSE))?;
        stream.set_write_timeout(Some(PAUSE))?;
        let within = |limit| Within { stream, stop, end: Instant::now() + limit };
        let mut lines = Vec::new();
        for line in BufReader::new(within(ASKING).take(HEAD)).lines() {
            match line?.as_str() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        if lines.is_empty() {
            // A browser opens connections that it may need later.
            return Ok(());
        }
        let response = self.response(&lines, answer);
        within(TAKING).write_all(response.as_bytes())
    }

    /// The response to a request with these lines in its head.
    fn response(&self, lines: &[String], answer: &impl Fn(&str) -> Answer) -> String {
        let mut words = lines[0].split(' ');
        let (Some(method), Some(path), Some("HTTP/1.0" | "HTTP/1.1"), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return response("400 Bad Request", "this is no request\n");
        };
        let header = |line: &String| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("host").then(|| value.trim().to_ascii_lowercase())
        };
        let hosts: Vec<String> = lines[1..].iter().filter_map(header).collect();
        let own = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        if !matches!(hosts.as_slice(), [host] if own.contains(host)) {
            return response("403 Forbidden", "this server is for browsers on its own machine\n");
        }
        if method != "GET" {
            return response("405 Method Not Allowed", "this server only shows\n");
        }
        match answer(path) {
            Answer::Page(page) => response("200 OK", &page),
            Answer::Nothing => response("204 No Content", ""),
            Answer::NotFound => response("404 Not Found", "there is no such page\n"),
            Answer::Failed(reason) => response("500 Internal Server Error", &(reason + "\n")),
        }
    }
}

/// A connection that fails once its time is over, however slowly it goes on, or the server ends.
struct Within<'a> {
    stream: &'a TcpStream,
    stop: &'a AtomicBool,
    end: Instant,
}

impl Within<'_> {
    fn patiently<T>(&self, mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        loop {
            if self.stop.load(Ordering::Relaxed) || Instant::now() >= self.end {
                return Err(io::ErrorKind::TimedOut.into());
            }
            // The stream's own time limit, PAUSE, ends an attempt with either of these two.
            match attempt() {
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) => {}
                done => return done,
            }
        }
    }
}

impl Read for Within<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut stream = self.stream;
        self.patiently(|| stream.read(buffer))
    }
}

impl Write for Within<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut stream = self.stream;
        self.patiently(|| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Errors of a single connection, after which others are accepted.
fn is_passing(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    [ConnectionAborted, ConnectionReset, Interrupted, WouldBlock].contains(&kind)
}

fn response(status: &str, body: &str) -> String {
    let kind = if status.starts_with("200") { "html" } else { "plain" };
    let allow = if status.starts_with("405") { "Allow: GET\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/{kind}; charset=utf-8\r\nContent-Length: {}\r\n{allow}\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that sends a byte now and then, and one that sends nothing, hold the server up for
    /// no longer than their time, nor its end.
    #[test]
    fn a_slow_client_is_left_and_holds_up_no_end() {
        let server = Server::at(0).unwrap();
        let stop = AtomicBool::new(false);
        let address = (Ipv4Addr::LOCALHOST, server.port);
        let answer = |_: &str| Answer::Nothing;
        thread::scope(|scope| {
            let serving = scope.spawn(|| server.serve(&stop, answer));
            let mut slow = TcpStream::connect(address).unwrap();
            slow.set_nonblocking(true).unwrap();
            let begin = Instant::now();
            let mut reply = [0; 1];
            while slow.write(b"x").is_ok()
                && matches!(slow.read(&mut reply), Err(error) if is_passing(error.kind()))
            {
                assert!(begin.elapsed() < 10 * ASKING, "it is still heard");
                thread::sleep(PAUSE);
            }
            let silent = TcpStream::connect(address).unwrap();
            thread::sleep(PAUSE);
            let begin = Instant::now();
            stop.store(true, Ordering::Relaxed);
            serving.join().unwrap().unwrap();
            println!("ended after {:?}", begin.elapsed());
            assert!(begin.elapsed() < ASKING - PAUSE, "the silent client held it up");
            drop(silent);
        });
    }

    fn status(lines: &[&str]) -> String {
        let server = Server::at(0).unwrap();
        let port = server.port.to_string();
        let lines: Vec<String> = lines.iter().map(|line| line.replace("PORT", &port)).collect();
        let answer = |path: &str| match path {
            "/" => Answer::Page("<p>".to_owned()),
            "/bad" => Answer::Failed("why".to_owned()),
            _ => Answer::NotFound,
        };
        let text = server.response(&lines, &answer);
        assert!(text.contains("\r\n\r\n"), "{text}");
        text.split(' ').nth(1).unwrap().to_owned()
    }

    #[test]
    fn only_get_from_this_machine_is_answered() {
        let own = "Host: 127.0.0.1:PORT";
        assert_eq!(status(&["GET / HTTP/1.1", own]), "200");
        assert_eq!(status(&["GET / HTTP/1.1", "Accept: x", "hOsT:LocalHost:PORT"]), "200");
        assert_eq!(status(&["GET /x HTTP/1.1", own]), "404");
        assert_eq!(status(&["GET /bad HTTP/1.1", own]), "500");
        for method in ["POST", "HEAD", "PUT", "DELETE", "OPTIONS", "get", "CONNECT"] {
            assert_eq!(status(&[&format!("{method} / HTTP/1.1"), own]), "405");
        }
        for host in ["Host: evil.example", "Host: 127.0.0.1", "Host: 127.0.0.1:1", "Host:", "X: y"]
        {
            assert_eq!(status(&["GET / HTTP/1.1", host]), "403");
        }
        assert_eq!(status(&["GET / HTTP/1.1", own, own]), "403");
        for wrong in ["GET /", "GET  / HTTP/1.1", "GET / HTTP/2", "x", "GET / HTTP/1.1 "] {
            assert_eq!(status(&[wrong, own]), "400");
        }
    }
}
