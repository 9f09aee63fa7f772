//! The protocol of a terminal server: telnet (RFC 854) in its binary mode (RFC 856), with the
//! control of a serial port (RFC 2217). The module encodes and decodes bytes, and does no input or
//! output.

/// The byte that begins a command. As a byte of data, it is sent twice.
const IAC: u8 = 255;

/// Commands on an option: the receiver shall not use it (DONT) or shall (DO); the sender does not
/// use it (WONT) or does (WILL).
const DONT: u8 = 254;
const DO: u8 = 253;
const WONT: u8 = 252;
const WILL: u8 = 251;

/// The command that begins the parameters of an option.
const SB: u8 = 250;

/// The command that ends the parameters of an option.
const SE: u8 = 240;

/// Telnet's options: 8 bits a byte, no "go ahead", and the control of a serial port.
const BINARY: u8 = 0;
const NO_GO_AHEAD: u8 = 3;
const COM_PORT: u8 = 44;

/// Commands of [`COM_PORT`]. The server answers with the command's number plus [`ANSWER`].
const SET_BAUD: u8 = 1;
const SET_DATA_SIZE: u8 = 2;
const SET_PARITY: u8 = 3;
const SET_STOP_SIZE: u8 = 4;
const SET_CONTROL: u8 = 5;
const PURGE: u8 = 12;
const ANSWER: u8 = 100;

/// The most bytes that are kept of an option's parameters. No answer to a request of [`opening`] is
/// longer.
const MAX_PARAMETERS: usize = 16;

/// The client's side of a connection.
#[derive(Debug, Default)]
pub struct Client {
    state: State,
    /// The parameters received so far of the current option.
    parameters: Vec<u8>,
    /// The rate that the server has set, in baud; `None` before its answer.
    pub baud: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Data,
    /// After [`IAC`].
    Command,
    /// After a command on an option, which the next byte names.
    Option(u8),
    /// Within an option's parameters.
    Parameters,
    /// After [`IAC`] within parameters.
    End,
}

impl Client {
    /// Decodes bytes from the server: appends the line's bytes to `data`, and answers to the
    /// server's commands to `reply`. Neither grows by more than three bytes for each byte received.
    pub fn feed(&mut self, bytes: &[u8], data: &mut Vec<u8>, reply: &mut Vec<u8>) {
        for byte in bytes {
            self.state = match (self.state, *byte) {
                (State::Data, IAC) => State::Command,
                (State::Data, byte) => {
                    data.push(byte);
                    State::Data
                }
                (State::Command, IAC) => {
                    data.push(IAC);
                    State::Data
                }
                (State::Command, SB) => {
                    self.parameters.clear();
                    State::Parameters
                }
                (State::Command, verb @ (DO | DONT | WILL | WONT)) => State::Option(verb),
                (State::Command, _) => State::Data,
                (State::Option(verb), option) => {
                    refuse(verb, option, reply);
                    State::Data
                }
                (State::Parameters, IAC) => State::End,
                (State::End, SE) => {
                    self.answered();
                    State::Data
                }
                // IAC twice is the byte 255. Any other byte after IAC breaks the protocol, and is
                // kept like data.
                (State::Parameters | State::End, byte) => {
                    if self.parameters.len() < MAX_PARAMETERS {
                        self.parameters.push(byte);
                    }
                    State::Parameters
                }
            };
        }
    }

    /// Reads the rate if the complete parameters are the answer to [`SET_BAUD`].
    fn answered(&mut self) {
        const BAUD: u8 = SET_BAUD + ANSWER;
        if let [COM_PORT, BAUD, rate @ ..] = &self.parameters[..] {
            self.baud = rate.try_into().ok().map(u32::from_be_bytes);
        }
    }
}

/// Appends the refusal of an option that [`opening`] does not ask for. An option that [`opening`]
/// asks for needs no answer. A server's refusal needs none either: the option stays off.
fn refuse(verb: u8, option: u8, reply: &mut Vec<u8>) {
    let is_asked = [BINARY, NO_GO_AHEAD, COM_PORT].contains(&option);
    match verb {
        DO if !is_asked => reply.extend([IAC, WONT, option]),
        WILL if !is_asked => reply.extend([IAC, DONT, option]),
        _ => {}
    }
}

/// Returns the first bytes of a connection. They ask for binary mode, 8 data bits, no parity, one
/// stop bit, no flow control and the rate `baud`, and discard both of the server's buffers.
pub fn opening(baud: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for option in [BINARY, NO_GO_AHEAD, COM_PORT] {
        bytes.extend([IAC, WILL, option]);
    }
    for option in [BINARY, NO_GO_AHEAD] {
        bytes.extend([IAC, DO, option]);
    }
    for (command, value) in
        [(SET_DATA_SIZE, 8), (SET_PARITY, 1), (SET_STOP_SIZE, 1), (SET_CONTROL, 1), (PURGE, 3)]
    {
        bytes.extend([IAC, SB, COM_PORT, command, value, IAC, SE]);
    }
    bytes.extend([IAC, SB, COM_PORT, SET_BAUD]);
    bytes.extend(escaped(&baud.to_be_bytes()));
    bytes.extend([IAC, SE]);
    bytes
}

/// Encodes data for sending: each byte [`IAC`] is doubled.
pub fn escaped(data: &[u8]) -> Vec<u8> {
    let byte = |byte: &u8| if *byte == IAC { vec![IAC, IAC] } else { vec![*byte] };
    data.iter().flat_map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fed(client: &mut Client, bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let (mut data, mut reply) = (Vec::new(), Vec::new());
        client.feed(bytes, &mut data, &mut reply);
        (data, reply)
    }

    #[test]
    fn data_pass_whatever_stands_between_them() {
        let mut client = Client::default();
        let bytes = [1, IAC, IAC, IAC, DO, 24, IAC, WILL, 1, IAC, WILL, COM_PORT, IAC, 241, 2];
        let refused = vec![IAC, WONT, 24, IAC, DONT, 1];
        assert_eq!(fed(&mut client, &bytes), (vec![1, IAC, 2], refused.clone()));
        // The same, a byte at a time.
        let each = bytes.iter().map(|byte| fed(&mut client, &[*byte]));
        let (data, reply): (Vec<_>, Vec<_>) = each.unzip();
        assert_eq!((data.concat(), reply.concat()), (vec![1, IAC, 2], refused));
    }

    #[test]
    fn the_server_s_rate_is_heard() {
        let mut client = Client::default();
        // 255 is doubled here, too.
        let answer = [IAC, SB, COM_PORT, 101, 0, 0, IAC, IAC, 1, IAC, SE, 9];
        assert_eq!(fed(&mut client, &answer), (vec![9], vec![]));
        assert_eq!(client.baud, Some(0xff01));
        assert!(opening(0xff01).ends_with(&[SET_BAUD, 0, 0, IAC, IAC, 1, IAC, SE]));
    }

    #[test]
    fn parameters_without_an_end_take_no_memory() {
        let mut client = Client::default();
        let endless = [&[IAC, SB][..], &[7; 100_000]].concat();
        assert_eq!(fed(&mut client, &endless), (vec![], vec![]));
        assert!(client.parameters.capacity() <= 2 * MAX_PARAMETERS);
        // The end of other parameters is no answer.
        assert_eq!(fed(&mut client, &[IAC, SE, 5]), (vec![5], vec![]));
        assert_eq!(client.baud, None);
    }
}
