/* The page that a process shares with the kernel for its coroutines (`tandem/src/process/coroutines.rs`,
 * `tandem/user/src/coroutine.rs`): the invariant of docs/processes.md, "Coroutines in processes", for an
 * honest process, a hostile one of another family, three other tasks, and interrupts between any two steps.
 *
 * The model            the code
 * urgent, inbox        the words of the page: `Words`, `Page`. The inbox has a bit for each of two bells, and
 *                      CHANGED, which is the process's own
 * level, ready         the priority of the honest process in the kernel's ready set, and whether it is there.
 *                      `known` in the page is the same as `level`: `set_level` alone stores them
 * listens, blocked     `Process::listens`; the process waits in another call
 * choose               `reschedule`, and the end of an interrupt's handler: the most urgent task runs on
 * raise                `raise`: at an interrupt from the process (`publish` in `entry.rs`), and first in
 *                      each call but 0 and 1 (`publishing` in `call.rs`)
 * give_way, listen     calls 19 and 20
 * ring                 call 22, by the process itself or by another task
 * is_ready[c]          `Header::is_ready`: coroutine c, of priority c, is in its ring
 * waits[c], rung       `Page::waiting` for the bell of coroutine c, made for priority c; `Page::rung`
 * program              `Set::run`, `publish`, `turns`, `settle`; the inlines have the names of functions. Each
 *                      `user` is one access to a shared word, or a call
 * level_h, ready_h     the hostile process in the ready set. Its page has whatever it writes there, at each
 *                      time that the kernel reads it (`publish_h`), so the page is no part of the state
 *
 * A poll does any number of these: it waits for its bell, rings a bell, adds a coroutine, makes a call that
 * wakes another task or waits, is interrupted. Other tasks ring the bells when they run. How many turns a
 * batch has is left open, and which of several equals runs.
 *
 * Checked where the kernel chooses a task: the honest process, if it is ready, has at least the priority of
 * its most urgent coroutine that is ready (`need`); if it listens, no coroutine is ready and no bell has been
 * rung: no wake-up is lost; the hostile process has no priority above its family's. Checked where a poll
 * begins: the honest process has no priority above its most urgent coroutine's and above all bells at which
 * it has not looked.
 *
 * Mutants, each of which must be found: BLIND (an interrupt does not read `urgent`), STALE (the process reads
 * `known` before it stores `urgent`), HASTY (call 19 lowers although the inbox has a bit), DEAF (call 20
 * waits although the inbox has a bit), QUIET (a bell does not raise a process that is ready), UNCAPPED (the
 * family's highest priority is no limit), LOOKED (a poll that has emptied the inbox does not end the turns).
 *
 * PLAIN has a poll yield by the plain call 1, which does not read `urgent`. Then the process may have a lower
 * priority than a coroutine that this poll has added (docs/processes.md).
 */
#define A 1
#define B 2
#define CHANGED 4
#define bit(c) (c) /* 1 and 2 */
#define HIGHEST 3
#define CAP 2      /* the highest priority of the hostile process's family */

/* The tasks; 1 to 3 have the priority of their number. */
#define HONEST 0
#define HOSTILE 4
#define NOBODY 5

byte running = HONEST;

/* The kernel's records. */
byte level = 1;
bool ready = true;
bool listens, blocked;
bool is_awake[4];
byte level_h = 1;
bool ready_h = true;

/* The honest process's page. */
byte urgent = 1;
byte inbox;

/* The honest process's own records. */
bool is_ready[3];
bool waits[3];
bool is_alive[3];
byte rung;

#define most(x, y) ((x) > (y) -> (x) : (y))
#define is_wanted(c) (is_ready[c] || waits[c] && (inbox & bit(c)))
#define need (is_wanted(B) -> B : (is_wanted(A) -> A : 0))
#define bells ((inbox & bit(B)) -> B : ((inbox & bit(A)) -> A : 0))

#define level_of(t) (t == HONEST -> level : (t == HOSTILE -> level_h : t))
#define is_task_ready(t) \
    (t == HONEST -> ready : (t == HOSTILE -> ready_h : (t == NOBODY -> false : is_awake[t])))
#define is_first(t) (is_task_ready(t)                                                              \
    && (!ready || level_of(t) >= level) && (!ready_h || level_of(t) >= level_h)                    \
    && (!is_awake[1] || level_of(t) >= 1) && (!is_awake[2] || level_of(t) >= 2)                    \
    && (!is_awake[3] || level_of(t) >= 3))

inline choose(rotates) {
    assert(!ready || level >= need);
    assert(!listens || !ready && need == 0 && inbox == 0);
    assert(level_h <= CAP);
    if
    :: !rotates && is_first(running) -> skip
    :: else ->
        running = NOBODY;
        if
        :: is_first(HONEST) -> running = HONEST
        :: is_first(1) -> running = 1
        :: is_first(2) -> running = 2
        :: is_first(3) -> running = 3
        :: is_first(HOSTILE) -> running = HOSTILE
        :: else -> skip
        fi
    fi
}

#define raise() level = most(level, urgent)

/* `published` for the hostile process, in `word`. */
inline publish_h() {
    if
    :: word = 0
    :: word = 1
    :: word = HIGHEST
    :: word = 255
    fi;
    word = (word > HIGHEST -> HIGHEST : word);
#ifndef UNCAPPED
    word = (word > CAP -> CAP : word)
#endif
}

inline give_way(yields) {
    raise();
#ifdef HASTY
    level = urgent;
#else
    level = (inbox == 0 -> urgent : level);
#endif
    choose(yields)
}

inline listen() {
    raise();
#ifdef DEAF
    listens = true;
#else
    listens = inbox == 0;
#endif
    ready = !listens;
    choose(false)
}

inline ring(c) {
    inbox = inbox | bit(c);
#ifdef QUIET
    level = (listens -> c : level);
#else
    level = (listens -> c : most(level, c));
#endif
    ready = ready || listens;
    listens = false;
    choose(false)
}

active proctype machine() {
    byte word;
    do
    /* An interrupt, whose handler wakes a task or none. */
    :: atomic {
        if
        :: running == HOSTILE -> publish_h(); level_h = most(level_h, word); word = 0
#ifndef BLIND
        :: running == HONEST -> raise()
#endif
        :: else -> skip
        fi;
        if
        :: is_awake[1] = true
        :: is_awake[2] = true
        :: is_awake[3] = true
        :: blocked -> blocked = false; ready = true
        :: ready_h = true
        :: ready_h = true; level_h = CAP /* another of its family rings a bell of it */
        :: skip
        fi;
        choose(false)
      }
    /* Tasks of the honest process's family. */
    :: atomic { running >= 1 && running <= 3 -> is_awake[running] = false; choose(false) }
    :: atomic { running >= 1 && running <= 3 -> ring(A) }
    :: atomic { running >= 1 && running <= 3 -> ring(B) }
    /* The hostile process makes a call: any that waits, or call 19, whatever is in its inbox. */
    :: atomic {
        running == HOSTILE ->
        publish_h();
        level_h = most(level_h, word);
        if
        :: ready_h = false; word = 0; choose(false)
        :: level_h = word; word = 0; choose(true)
        :: word = 0; choose(true)
        fi
      }
    od
}

/* A step of the honest process. */
#define user(what) atomic { running == HONEST -> what }

inline insert(c) {
    user(waits[c] = false; changes = !is_ready[c]; is_ready[c] = true; urgent = most(urgent, c));
    if
    :: changes -> user(inbox = inbox | CHANGED); changes = false
    :: else -> skip
    fi
}

inline collect() {
    user(bits = inbox & ~CHANGED);
    if
    :: bits ->
        rung = rung | bits;
        if
        :: (bits & bit(A)) && waits[A] -> insert(A)
        :: else -> skip
        fi;
        if
        :: (bits & bit(B)) && waits[B] -> insert(B)
        :: else -> skip
        fi;
        user(inbox = inbox & ~bits);
#ifndef LOOKED
        user(inbox = inbox | CHANGED);
#endif
        bits = 0
    :: else -> skip
    fi
}

inline leave(c) {
    user(is_ready[c] = false);
    user(inbox = inbox | CHANGED)
}

inline let_others_run() {
    user(seen = level);
    if
    :: seen == urgent -> user(choose(true)) /* call 1 */
    :: else -> user(give_way(true))
    fi;
    seen = 0
}

active proctype program() {
    byte bits, seen, now;
    bool changes, is_quiet;
    d_step { is_alive[A] = true; is_ready[A] = true }
more: /* `Set::run` */
    collect();
    user(inbox = inbox & ~CHANGED);
    now = (is_ready[B] -> B : (is_ready[A] -> A : 0));
    if
    :: now == 0 ->
        user(urgent = 0);
        user(listen());
        goto more
    :: else -> skip
    fi;
    /* `publish` */
#ifdef STALE
    user(seen = level);
    user(urgent = now);
#else
    user(urgent = now);
    user(seen = level);
#endif
    if
    :: seen > now -> user(give_way(false))
    :: else -> skip
    fi;
    seen = 0;
    user(is_quiet = inbox == 0);
    if
    :: is_quiet -> is_quiet = false
    :: else -> goto more
    fi;
turn:
    user(assert(level <= most(most(now, need), bells)));
poll:
    if
    :: user(raise(); is_awake[1] = true; choose(false)); goto poll
    :: user(raise(); is_awake[3] = true; choose(false)); goto poll
    :: user(raise(); ring(A)); goto poll
    :: user(raise(); ring(B)); goto poll
    :: user(raise(); ready = false; blocked = true; choose(false)); goto poll
#ifdef PLAIN
    :: user(choose(true)); goto poll
#endif
    :: user(!is_alive[B] -> is_alive[B] = true); insert(B); goto poll /* `Set::add` */
    :: user(now == B -> is_alive[B] = false; waits[B] = false); leave(B) /* comes to its end */
    :: collect(); /* `Bell::wait` */
        if
        :: rung & bit(now) -> rung = rung & ~bit(now); goto poll
        :: else -> waits[now] = true; leave(now)
        fi
    :: user(skip) /* yields */
    fi;
    user(is_quiet = inbox == 0);
    if
    :: !is_quiet -> /* `settle` */
        if
        :: is_ready[now] -> let_others_run()
        :: true
        fi;
        goto more
    :: is_quiet ->
        is_quiet = false;
        if
        :: goto turn
        :: let_others_run()
        fi;
        user(is_quiet = inbox == 0);
        if
        :: is_quiet -> is_quiet = false; goto turn
        :: else -> goto more
        fi
    fi
}
