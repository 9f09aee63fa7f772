//! The processes of a scene: their start and their end.

use tandem_user::{self as user, Endpoint, Family};

/// Spawns a process, and returns how it has ended.
pub fn outcome(family: Family, name: &str, body: impl FnOnce()) -> usize {
    start(2, family, name, body);
    user::reap().expect("a child has ended").1
}

/// Spawns a process. `body` must hold numbers alone.
pub fn start(priority: u8, family: Family, name: &str, body: impl FnOnce()) -> user::Child {
    // SAFETY: the bodies of scenes hold numbers.
    unsafe { user::spawn(priority, name, family, body) }.expect("a process can start")
}

/// Spawns a process that alone receives on an endpoint of the caller's. `body` must hold numbers alone.
pub fn start_server(
    priority: u8,
    name: &str,
    endpoint: Endpoint,
    body: impl FnOnce(),
) -> user::Child {
    // SAFETY: the bodies of scenes hold numbers.
    unsafe { user::spawn_server(priority, name, endpoint, body) }.expect("a process can start")
}
