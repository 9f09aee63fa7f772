//! The driver's protocol, as defined by `linux/android/binder.h` for 64-bit processes: a stream of
//! commands to the driver, and a stream of returns from it. Numbers are in native byte order and
//! unaligned.

/// `BINDER_WRITE_READ` and the other calls of `ioctl` that a client or a server makes.
pub const WRITE_READ: u32 = 0xc030_6201;
pub const SET_MAX_THREADS: u32 = 0x4004_6205;
pub const SET_CONTEXT_MANAGER: u32 = 0x4004_6207;
pub const THREAD_EXIT: u32 = 0x4004_6208;
pub const VERSION: u32 = 0xc004_6209;

/// The version of this protocol.
pub const PROTOCOL: i32 = 8;

/// The argument of [`WRITE_READ`].
#[repr(C)]
#[derive(Default)]
pub struct WriteRead {
    pub write_size: u64,
    pub write_consumed: u64,
    pub write_buffer: u64,
    pub read_size: u64,
    pub read_consumed: u64,
    pub read_buffer: u64,
}

const _: () = assert!(size_of::<WriteRead>() == 48);

/// `BC_…`: to the driver. Bits 16 to 29 hold the size of what follows.
mod command {
    pub const TRANSACTION: u32 = 0x4040_6300;
    pub const REPLY: u32 = 0x4040_6301;
    pub const FREE_BUFFER: u32 = 0x4008_6303;
    pub const ACQUIRE: u32 = 0x4004_6305;
    pub const INCREFS_DONE: u32 = 0x4010_6308;
    pub const ACQUIRE_DONE: u32 = 0x4010_6309;
    pub const ENTER_LOOPER: u32 = 0x0000_630c;
    pub const REQUEST_DEATH_NOTIFICATION: u32 = 0x400c_630e;
    pub const DEAD_BINDER_DONE: u32 = 0x4008_6310;
    pub const TRANSACTION_SG: u32 = 0x4048_6311;
    pub const REPLY_SG: u32 = 0x4048_6312;
}

/// `BR_…`: from the driver.
mod event {
    pub const ERROR: u32 = 0x8004_7200;
    pub const TRANSACTION: u32 = 0x8040_7202;
    pub const REPLY: u32 = 0x8040_7203;
    pub const DEAD_REPLY: u32 = 0x0000_7205;
    pub const INCREFS: u32 = 0x8010_7207;
    pub const ACQUIRE: u32 = 0x8010_7208;
    pub const DEAD_BINDER: u32 = 0x8008_720f;
    pub const FAILED_REPLY: u32 = 0x0000_7211;
}

/// The receiver of a call: the context manager, which every process can call, or a node passed on
/// by another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(pub u32);

pub const MANAGER: Handle = Handle(0);

/// The kinds of object in a message, which the driver translates. A message lists their offsets
/// separately from its bytes.
pub mod object {
    /// A node of the sender.
    pub const BINDER: u32 = 0x7362_2a85;
    /// A node of another process, by the receiver's handle.
    pub const HANDLE: u32 = 0x7368_2a85;
    /// Bytes to be copied beside the message, whose address the driver corrects.
    pub const POINTER: u32 = 0x7074_2a85;
    /// A flag of a [`POINTER`]: its address is in the bytes of another one.
    pub const HAS_PARENT: u32 = 1;

    /// The minimum priority to inherit is nice 127, so all are inherited. (Android's kernels:
    /// real-time ones too, by the bit 0x800.)
    pub const FLAGS: u32 = 0x87f;
}

/// A node or a handle in a message.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct FlatObject {
    pub kind: u32,
    pub flags: u32,
    /// The sender's number of its node, or a handle in the low half.
    pub node: u64,
    pub cookie: u64,
}

/// Bytes beside a message.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct BufferObject {
    pub kind: u32,
    pub flags: u32,
    pub buffer: u64,
    pub length: u64,
    /// The index of the object that holds this one's address, and the offset in it.
    pub parent: u64,
    pub parent_offset: u64,
}

impl BufferObject {
    /// Returns the object's bytes in a message.
    pub fn bytes(&self) -> [u8; 40] {
        let head = u64::from(self.flags) << 32 | u64::from(self.kind);
        lay_out([head, self.buffer, self.length, self.parent, self.parent_offset])
    }
}

impl FlatObject {
    /// Returns the object's bytes in a message.
    pub fn bytes(&self) -> [u8; 24] {
        lay_out([u64::from(self.flags) << 32 | u64::from(self.kind), self.node, self.cookie])
    }
}

fn lay_out<const WORDS: usize, const BYTES: usize>(words: [u64; WORDS]) -> [u8; BYTES] {
    const { assert!(8 * WORDS == BYTES) };
    let mut bytes = [0; BYTES];
    for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    bytes
}

const _: () = assert!(size_of::<FlatObject>() == 24 && size_of::<BufferObject>() == 40);

/// A message to send: bytes, and the offsets of the objects in them.
#[derive(Clone, Copy)]
pub struct Message<'a> {
    pub bytes: &'a [u8],
    pub offsets: &'a [u64],
    /// The size of the buffers of [`object::POINTER`]s, in bytes; 0 without such objects.
    pub beside: u64,
}

impl<'a> Message<'a> {
    pub const fn plain(bytes: &'a [u8]) -> Self {
        Self { bytes, offsets: &[], beside: 0 }
    }
}

/// The commands for the driver, in order.
#[derive(Default)]
pub struct Commands(Vec<u8>);

impl Commands {
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    fn put(&mut self, command: u32, body: &[u8]) {
        self.0.extend_from_slice(&command.to_ne_bytes());
        self.0.extend_from_slice(body);
    }

    /// Registers the calling thread as one that takes calls.
    pub fn enter_looper(&mut self) {
        self.put(command::ENTER_LOOPER, &[]);
    }

    /// Keeps the node behind the handle alive.
    pub fn acquire(&mut self, handle: Handle) {
        self.put(command::ACQUIRE, &handle.0.to_ne_bytes());
    }

    /// Frees the room of a message for the driver.
    pub fn free(&mut self, message: &Received) {
        self.put(command::FREE_BUFFER, &message.buffer.to_ne_bytes());
    }

    /// Asks for a [`Return::Dead`] with `cookie` when the node's process ends.
    pub fn request_death_notification(&mut self, handle: Handle, cookie: u64) {
        self.put(command::REQUEST_DEATH_NOTIFICATION, &handle.0.to_ne_bytes());
        self.0.extend_from_slice(&cookie.to_ne_bytes());
    }

    pub fn dead_binder_done(&mut self, cookie: u64) {
        self.put(command::DEAD_BINDER_DONE, &cookie.to_ne_bytes());
    }

    /// Sends the acknowledgement that [`Return::Count`] asks for.
    pub fn counted(&mut self, count: Count) {
        let Count { acquire, node } = count;
        self.put(if acquire { command::ACQUIRE_DONE } else { command::INCREFS_DONE }, &node);
    }

    /// Calls. `message` must not move until the commands have been given to the driver.
    pub fn call(&mut self, handle: Handle, code: u32, message: Message<'_>) {
        self.transaction(
            [command::TRANSACTION, command::TRANSACTION_SG],
            handle.0.into(),
            code,
            message,
        );
    }

    /// Answers the call taken last. `message` must not move until the commands have been given to
    /// the driver.
    pub fn reply(&mut self, message: Message<'_>) {
        self.transaction([command::REPLY, command::REPLY_SG], 0, 0, message);
    }

    fn transaction(
        &mut self,
        [plain, gathered]: [u32; 2],
        target: u64,
        code: u32,
        message: Message<'_>,
    ) {
        let Message { bytes, offsets, beside } = message;
        self.put(if beside > 0 { gathered } else { plain }, &target.to_ne_bytes());
        let address = |start: *const u8| start.expose_provenance() as u64;
        let words = [
            0, // the cookie is the receiver's
            // The code and no flags, in native byte order: all 64-bit Androids and Debians with
            // binder are little-endian.
            u64::from(code),
            0, // sender, which the driver fills in
            bytes.len() as u64,
            size_of_val(offsets) as u64,
            address(bytes.as_ptr()),
            address(offsets.as_ptr().cast()),
        ];
        words.iter().for_each(|word| self.0.extend_from_slice(&word.to_ne_bytes()));
        if beside > 0 {
            self.0.extend_from_slice(&beside.to_ne_bytes());
        }
    }
}

#[cfg(target_endian = "big")]
compile_error!("code and flags are put as one little-endian word");

/// A message that the driver has put into this process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    pub code: u32,
    pub sender: i32,
    pub length: u64,
    /// The address of the bytes.
    pub buffer: u64,
}

/// The driver's request to acknowledge a reference to a node of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    acquire: bool,
    node: [u8; 16],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Return {
    Call(Received),
    Reply(Received),
    Count(Count),
    /// The called process has ended before it answered.
    DeadReply,
    /// The driver did not take the message, or the answer: no room, too long, or malformed.
    FailedReply,
    /// The node with this cookie has died.
    Dead(u64),
    Error(i32),
    /// Nothing to act on.
    Other(u32),
}

/// The error of a stream that ends within a return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated;

/// An iterator over the driver's returns. Skips unknown ones by the size in their number.
pub struct Returns<'a> {
    rest: &'a [u8],
}

impl<'a> Returns<'a> {
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl Iterator for Returns<'_> {
    type Item = Result<Return, Truncated>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let Some((number, rest)) = self.rest.split_first_chunk() else {
            self.rest = &[];
            return Some(Err(Truncated));
        };
        let number = u32::from_ne_bytes(*number);
        let size = (number >> 16 & 0x3fff) as usize;
        let Some((body, rest)) = rest.split_at_checked(size) else {
            self.rest = &[];
            return Some(Err(Truncated));
        };
        self.rest = rest;
        Some(Ok(decode(number, body)))
    }
}

/// Decodes a return. The length of `body` is the size in `number`.
fn decode(number: u32, body: &[u8]) -> Return {
    let word = |place| long(body, place).unwrap_or_default();
    let received = || Received {
        code: word(16) as u32,
        sender: word(24) as i32,
        length: word(32),
        buffer: word(48),
    };
    let count = |acquire| {
        let node = body.first_chunk().copied().unwrap_or_default();
        Return::Count(Count { acquire, node })
    };
    match number {
        event::TRANSACTION => Return::Call(received()),
        event::REPLY => Return::Reply(received()),
        event::INCREFS => count(false),
        event::ACQUIRE => count(true),
        event::DEAD_REPLY => Return::DeadReply,
        event::FAILED_REPLY => Return::FailedReply,
        event::DEAD_BINDER => Return::Dead(word(0)),
        event::ERROR => {
            Return::Error(body.first_chunk().map_or(0, |code| i32::from_ne_bytes(*code)))
        }
        other => Return::Other(other),
    }
}

/// Returns the eight bytes at an offset as a number; `None` beyond the end.
pub fn long(bytes: &[u8], place: usize) -> Option<u64> {
    bytes.get(place..)?.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use proptest::{
        collection::vec,
        prelude::*,
        sample::{Index, select},
    };

    use super::*;

    fn returns(bytes: &[u8]) -> Vec<Result<Return, Truncated>> {
        Returns::new(bytes).collect()
    }

    #[test]
    fn a_reply_is_read() {
        const NOOP: u32 = 0x720c;
        let words: [u64; 8] = [0, 0, 7, 42, 5, 0, 0x1000, 0];
        let body: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let stream = [&NOOP.to_ne_bytes()[..], &event::REPLY.to_ne_bytes(), &body].concat();
        let received = Received { code: 7, sender: 42, length: 5, buffer: 0x1000 };
        assert_eq!(returns(&stream), [Ok(Return::Other(NOOP)), Ok(Return::Reply(received))]);
        for end in 5..stream.len() {
            assert_eq!(returns(&stream[..end]), [Ok(Return::Other(NOOP)), Err(Truncated)], "{end}");
        }
    }

    fn stream(returns: &[(u32, Vec<u8>)]) -> Vec<u8> {
        returns
            .iter()
            .flat_map(|(number, body)| [&number.to_ne_bytes()[..], body].concat())
            .collect()
    }

    /// Generates a return of a known or unknown kind, with a body of the size in its number.
    fn any_return() -> impl Strategy<Value = (u32, Vec<u8>)> {
        let known = select(vec![
            event::ERROR,
            event::TRANSACTION,
            event::REPLY,
            event::DEAD_REPLY,
            event::INCREFS,
            event::ACQUIRE,
            event::DEAD_BINDER,
            event::FAILED_REPLY,
        ]);
        let other =
            (any::<u32>(), 0..100_u32).prop_map(|(number, size)| number & 0xc000_ffff | size << 16);
        prop_oneof![known, other].prop_flat_map(|number| {
            let size = (number >> 16 & 0x3fff) as usize;
            (Just(number), vec(any::<u8>(), size))
        })
    }

    proptest! {
        /// Any bytes: no panic, an end, no return read twice, and none after an incomplete one.
        #[test]
        fn any_bytes_are_read_to_an_end(bytes in vec(any::<u8>(), 0..600)) {
            let all = returns(&bytes);
            // Each return takes at least four bytes.
            prop_assert!(all.len() <= bytes.len().div_ceil(4));
            let whole = all.iter().take_while(|one| one.is_ok()).count();
            prop_assert!(whole + 1 >= all.len());
        }

        #[test]
        fn a_stream_is_read_return_by_return(
            sent in vec(any_return(), 0..12),
            cut in any::<Index>(),
        ) {
            let bytes = stream(&sent);
            let expected: Vec<_> =
                sent.iter().map(|(number, body)| Ok(decode(*number, body))).collect();
            prop_assert_eq!(returns(&bytes), &expected[..]);
            // Cut at any place: all whole returns, then an error.
            let end = cut.index(bytes.len() + 1);
            let ends: Vec<usize> = sent
                .iter()
                .scan(0, |at, (_, body)| {
                    *at += 4 + body.len();
                    Some(*at)
                })
                .collect();
            let whole = ends.iter().filter(|&&at| at <= end).count();
            let is_whole = end == 0 || ends.contains(&end);
            let mut expected = expected[..whole].to_vec();
            expected.extend((!is_whole).then_some(Err(Truncated)));
            prop_assert_eq!(returns(&bytes[..end]), expected);
        }

        #[test]
        fn words_are_read_only_where_they_are(
            bytes in vec(any::<u8>(), 0..40),
            place in any::<usize>(),
        ) {
            let inside = place.checked_add(8).is_some_and(|end| end <= bytes.len());
            prop_assert_eq!(long(&bytes, place).is_some(), inside);
        }
    }

    #[test]
    fn what_the_driver_tells_of_deaths_and_counts_is_answered() {
        let mut commands = Commands::default();
        let cookies: Vec<u8> = [5_u64, 6].iter().flat_map(|word| word.to_ne_bytes()).collect();
        let sent = [
            (event::INCREFS, cookies.clone()),
            (event::ACQUIRE, cookies.clone()),
            (event::DEAD_BINDER, cookies[..8].to_vec()),
        ];
        for event in returns(&stream(&sent)) {
            match event.unwrap() {
                Return::Count(count) => commands.counted(count),
                Return::Dead(cookie) => commands.dead_binder_done(cookie),
                other => panic!("{other:?}"),
            }
        }
        let expected = [
            (command::INCREFS_DONE, cookies.clone()),
            (command::ACQUIRE_DONE, cookies.clone()),
            (command::DEAD_BINDER_DONE, cookies[..8].to_vec()),
        ];
        assert_eq!(commands.bytes(), stream(&expected));
    }

    #[test]
    fn a_call_is_laid_out_as_the_driver_reads_it() {
        let mut commands = Commands::default();
        let bytes = [1, 2, 3];
        commands.call(Handle(9), 4, Message::plain(&bytes));
        let all = commands.bytes();
        assert_eq!(all.len(), 4 + 64);
        assert_eq!(all[..4], command::TRANSACTION.to_ne_bytes());
        let word = |place: usize| long(all, 4 + place).unwrap();
        assert_eq!([word(0), word(16), word(32), word(40)], [9, 4, 3, 0]);
        assert_eq!(word(48), bytes.as_ptr().expose_provenance() as u64);
        commands.clear();
        commands.reply(Message { beside: 16, ..Message::plain(&bytes) });
        assert_eq!(commands.bytes().len(), 4 + 72);
    }
}
