//! A server of pages for browsers on this machine. It answers GET alone, and only requests that name
//! this machine as their host, so that no other site's page can read from it by a name of its own
//! (DNS rebinding). It opens no file.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The longest head of a request, in bytes.
const HEAD: u64 = 16 << 10;

/// How long a client may take to send its request, and to take in a part of the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often the flag that ends the server is looked at, in ns.
const PAUSE: i64 = 200_000_000;

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
        thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                let mut wanted = [PollFd::new(&self.listener, PollFlags::IN)];
                // A signal ends the wait early.
                let _ = poll(&mut wanted, Some(&Timespec { tv_sec: 0, tv_nsec: PAUSE }));
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
                scope.spawn(|| {
                    // A client that goes away is its own matter.
                    let _ = self.talk(stream, &answer);
                    open.fetch_sub(1, Ordering::Relaxed);
                });
            }
            Ok(())
        })
    }

    fn talk(&self, stream: TcpStream, answer: &impl Fn(&str) -> Answer) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut lines = Vec::new();
        for line in BufReader::new((&stream).take(HEAD)).lines() {
            match line?.as_str() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        if lines.is_empty() {
            // A browser opens connections that it may need later.
            return Ok(());
        }
        (&stream).write_all(self.response(&lines, answer).as_bytes())
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
