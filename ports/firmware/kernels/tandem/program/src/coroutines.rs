//! Coroutines in processes: their order across processes, what they cost, and hostile pages.

use core::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed},
    task::Poll,
};

use tandem_user::{
    self as user, Family, KILLED, Refused, Semaphore,
    coroutine::{Coroutine, Order, Ringer, Set, yield_now},
};

use crate::{
    marks::{ROUNDS, Shared, clear, show_shared},
    output::line,
    scene::{outcome, start},
};

/// The arena behind the marks of the benchmark: the notes of scenes, and coroutines.
const NOTES: usize = 0x4800_2000;
const COROUTINES: usize = 0x4801_0000;
/// The page of a process's coroutines.
const PAGE: usize = 0x4fe0_0000;

/// The words that the processes of a scene share.
struct Notes {
    next: AtomicUsize,
    order: [AtomicU32; 32],
    ringer: AtomicUsize,
}

fn notes() -> &'static Notes {
    // SAFETY: the arena is mapped there in the first family, zeroed by the kernel; the fields are
    // atomic integers, and nothing else is there.
    unsafe { &*(NOTES as *const Notes) }
}

impl Notes {
    fn add(&self, name: u32) {
        self.order[self.next.fetch_add(1, Relaxed)].store(name, Relaxed);
    }

    /// Compares the notes with the expected ones, and forgets them.
    #[track_caller]
    fn expect<const N: usize>(&self, expected: [u32; N]) {
        let count = self.next.swap(0, Relaxed);
        let names = core::array::from_fn(|at| self.order[at].swap(0, Relaxed));
        assert_eq!((names, count), (expected, N));
    }

    fn ringer(&self) -> Ringer {
        Ringer(self.ringer.load(Relaxed))
    }
}

fn open<'a>() -> Set<'a> {
    Set::open().expect("a set")
}

fn reap() {
    assert_eq!(user::reap().expect("a child has ended").1, 0);
}

/// Equals in turn, the more urgent first, and bells.
pub fn coroutines() {
    start(4, Family::Same, "alone", || {
        let (set, notes) = (open(), notes());
        assert_eq!(Set::open().err(), Some(Refused::Invalid), "a process has one set");
        let mut bell = set.bell(6).expect("a bell");
        let ringer = bell.ringer();
        let urgent = pin!(Coroutine::new(6, async move {
            notes.add(1);
            bell.wait().await;
            notes.add(4);
            bell.wait().await;
            notes.add(7);
        }));
        let first = pin!(Coroutine::new(5, async move {
            notes.add(2);
            yield_now().await;
            assert_eq!(ringer.ring(), Ok(()));
            notes.add(3);
            yield_now().await;
            notes.add(5);
            // Rings before the next wait count as one.
            assert_eq!((ringer.ring(), ringer.ring()), (Ok(()), Ok(())));
            notes.add(6);
        }));
        let second = pin!(Coroutine::new(5, async move {
            notes.add(12);
            yield_now().await;
            notes.add(13);
            yield_now().await;
            notes.add(15);
        }));
        set.add(urgent.into_ref());
        set.add(first.into_ref());
        set.add(second.into_ref());
        set.run(Order::Batched);
    });
    reap();
    notes().expect([1, 2, 12, 3, 4, 13, 5, 6, 7, 15]);
}

/// Coroutines of one process, above and below a process of another.
pub fn spaces() {
    let gate = Semaphore::new(0).expect("a semaphore");
    start(10, Family::Same, "between", move || {
        gate.take();
        notes().add(3);
        assert_eq!(notes().ringer().ring(), Ok(()));
        notes().add(5);
    });
    start(20, Family::Same, "around", move || {
        let (set, notes) = (open(), notes());
        let mut bell = set.bell(20).expect("a bell");
        notes.ringer.store(bell.ringer().0, Relaxed);
        let high = pin!(Coroutine::new(20, async move {
            notes.add(1);
            gate.give();
            notes.add(2);
            bell.wait().await;
            notes.add(4);
        }));
        let low = pin!(Coroutine::new(5, async move { notes.add(6) }));
        set.add(low.into_ref());
        set.add(high.into_ref());
        set.run(Order::Batched);
    });
    reap();
    reap();
    notes().expect([1, 2, 3, 4, 5, 6]);
    assert_eq!(notes().ringer().ring(), Err(Refused::Dead), "the bell's process has ended");
}

/// A priority that is published without a system call holds when an interrupt comes; so does the
/// lower one behind it.
pub fn published() {
    let due = user::cycles() + 60_000;
    start(10, Family::Same, "between", move || {
        user::sleep_until(due);
        notes().add(2);
    });
    start(5, Family::Same, "around", move || {
        let (set, notes) = (open(), notes());
        let work = move || while user::cycles() < due + 20_000 {};
        let late = pin!(Coroutine::new(20, async move {
            work();
            notes.add(1);
        }));
        let (late, shared) = (late.into_ref(), &set);
        let early = pin!(Coroutine::new(5, async move {
            shared.add(late);
            yield_now().await;
            notes.add(3);
        }));
        // The batch is not at its end after the first turn, so no system call publishes.
        let other = pin!(Coroutine::new(5, async {}));
        set.add(early.into_ref());
        set.add(other.into_ref());
        set.run(Order::Batched);
    });
    reap();
    reap();
    notes().expect([1, 2, 3]);
}

/// A bell for which no coroutine waits raises its process until a poll that empties the inbox ends, and
/// not for the turns behind it.
pub fn unawaited() {
    let gate = Semaphore::new(0).expect("a semaphore");
    start(10, Family::Same, "between", move || {
        gate.take();
        notes().add(2);
    });
    start(5, Family::Same, "around", move || {
        let (set, notes) = (open(), notes());
        let unawaited = set.bell(20).expect("a bell");
        let mut bell = set.bell(5).expect("a bell");
        let ringers = [unawaited.ringer(), bell.ringer()];
        let first = pin!(Coroutine::new(5, async move {
            assert_eq!(ringers.map(Ringer::ring), [Ok(()), Ok(())]);
            gate.give();
            notes.add(1);
            bell.wait().await;
            yield_now().await;
            notes.add(4);
        }));
        let second = pin!(Coroutine::new(5, async move { notes.add(3) }));
        set.add(first.into_ref());
        set.add(second.into_ref());
        set.run(Order::Batched);
    });
    reap();
    reap();
    notes().expect([1, 2, 3, 4]);
}

/// A word of the page of coroutines.
fn write(at: usize, value: u64) {
    // SAFETY: the page has been opened, and no set of this process uses it.
    unsafe { ((PAGE + 8 * at) as *mut u64).write_volatile(value) };
}

fn raw(number: usize, a: usize, b: usize) -> isize {
    // SAFETY: the calls start no process.
    unsafe { user::raw(number, [a, b, 0, 0, 0, 0])[0] as isize }
}

/// Whatever a process writes into its page, it gets no priority above its family's, and others run.
pub fn pages() {
    for call in [19, 20, 21] {
        assert_eq!(raw(call, 0, 0), -2, "call {call} without a page");
    }
    assert_eq!(raw(22, 0, 0), -1, "no bell");
    let liar = || {
        assert_eq!(raw(18, 0, 0), PAGE as isize);
        // SAFETY: the page is mapped, and zeros are valid words.
        let words = unsafe { core::slice::from_raw_parts((PAGE + 16) as *const u64, 510) };
        assert!(words.iter().all(|word| *word == 0), "the page has been cleared");
        for at in 0..512 {
            write(at, u64::MAX);
        }
        assert_eq!((raw(19, 0, 0), raw(19, 1, 0), raw(20, 0, 0)), (0, 0, 0));
        assert_eq!((raw(21, 63, 0), raw(21, 0, 32)), (-2, -2), "no such bell");
        assert!((0..20).filter(|_| raw(21, 0, 31) > 0).count() == 16, "a family's objects");
        loop {
            write(0, u64::MAX);
            raw(19, 1, 0);
        }
    };
    // A process of priority 1 runs although one of family 0 publishes all.
    for _ in 0..3 {
        let child = start(0, Family::Apart, "liar", liar);
        user::sleep_until(user::cycles() + 100_000);
        assert!(child.kill(), "it loops");
        assert_eq!(user::reap(), Some((child, KILLED)));
    }
    let waits = start(0, Family::Apart, "listener", || {
        assert_eq!(raw(18, 0, 0), PAGE as isize);
        write(1, 0);
        raw(20, 0, 0);
    });
    user::sleep_until(user::cycles() + 10_000);
    assert!(waits.kill(), "it waits for a bell");
    assert_eq!(user::reap(), Some((waits, KILLED)));
    let unmapped = || {
        // SAFETY: no page is mapped there.
        unsafe { (PAGE as *const u64).read_volatile() };
    };
    for _ in 0..2 {
        assert_eq!(outcome(Family::Apart, "no-page", unmapped), user::FAULTED);
    }
}

/// The cost of a turn between two coroutines of a process.
pub fn turns(shared: &'static Shared) {
    clear(shared);
    start(1, Family::Same, "turns", move || {
        let set = open();
        let first = pin!(Coroutine::new(1, async {
            for _ in 0..ROUNDS {
                shared.start.store(user::cycles(), Relaxed);
                yield_now().await;
            }
        }));
        let second = pin!(Coroutine::new(1, async {
            for slot in &shared.taken {
                slot.store(user::cycles() - shared.start.load(Relaxed), Relaxed);
                yield_now().await;
            }
        }));
        set.add(first.into_ref());
        set.add(second.into_ref());
        set.run(Order::Batched);
    });
    reap();
    show_shared("turn of a coroutine", shared);
}

/// The coroutines of each of two processes in [`batches`], and the turns of each.
const TASKS: usize = 50;
const TURNS: usize = 256;

/// The cost of a turn on average, with 100 coroutines in two processes, and the writes of `satp`.
pub fn batches(shared: &'static Shared) {
    for order in [Order::Batched, Order::Alternate] {
        clear(shared);
        let gate = Semaphore::new(0).expect("a semaphore");
        for number in 0..2 {
            start(2, Family::Same, "batch", move || fifty(shared, number, gate, order));
        }
        let before = user::counts().all_entries;
        start(3, Family::Same, "starter", move || (0..2).for_each(|_| gate.give()));
        (0..3).for_each(|_| reap());
        let entries = user::counts().all_entries - before;
        let [first, .., last] = [0, 1, 2, 3].map(|at| shared.taken[at].load(Relaxed));
        let turns = (2 * TASKS * TURNS) as u64;
        let average = (last - first).div_ceil(turns);
        let name = if order == Order::Batched { "batched" } else { "alternate" };
        line(format_args!("{name} turn of 100: {average} to {average}, first {average}"));
        line(format_args!("{name} writes of satp: {entries} to {entries}, first {entries}"));
    }
}

/// Runs coroutines between two marks, once the gate opens.
fn fifty(shared: &'static Shared, number: usize, gate: Semaphore, order: Order) {
    let set = open();
    for at in 0..TASKS {
        let mut left = TURNS;
        set.add(place(
            number * TASKS + at,
            poll_fn(move |_| {
                left -= 1;
                if left == 0 { Poll::Ready(()) } else { Poll::Pending }
            }),
        ));
    }
    gate.take();
    mark(shared);
    set.run(order);
    mark(shared);
}

/// Stores a coroutine in a place of the arena, where it stays.
fn place<F: Future<Output = ()>>(at: usize, future: F) -> Pin<&'static Coroutine<F>> {
    const { assert!(size_of::<Coroutine<F>>() <= 256 && align_of::<Coroutine<F>>() <= 256) };
    let place = (COROUTINES + 256 * at) as *mut Coroutine<F>;
    // SAFETY: within the arena; each place is used for one coroutine at a time, of one process.
    unsafe {
        place.write(Coroutine::new(2, future));
        Pin::new_unchecked(&*place)
    }
}

fn mark(shared: &Shared) {
    let at = shared.taken.iter().position(|slot| slot.load(Relaxed) == 0).unwrap_or(0);
    shared.taken[at].store(user::cycles(), Relaxed);
}
