/* The shared stack of coroutines (`tandem/src/polls.rs`, `ready.rs`): the invariant of docs/tandem.md,
 * "One stack for all coroutines", for every order of four coroutines and a thread on four levels.
 *
 * The model            the code
 * ring[level], count   the rings of the ready set; the running task is the head of the highest
 * level[t], base[t]    the task's present level, and its own
 * stack[0..depth)      the open polls on the shared stack, the top one last
 * open[t], again[t]    `Header::is_open`, `again`: woken while its poll is open
 * a step of the thread it blocks, yields, wakes another, or its level changes (inheritance, ceiling)
 * a step of a poll     it wakes another (or a handler does), rises by a ceiling or returns to its level,
 *                      or returns
 *
 * Checked where a poll starts: every poll below is of a ready task (a), and less urgent than the new one
 * (b). Checked where a poll goes on or returns: it is the top one, so that none is buried.
 *
 * Mutants, each of which must be found: EQUAL (a woken task goes in front of its equals), UNREADY (a poll's
 * task leaves the ready set while the poll is open), BEHIND (a coroutine that returns from a ceiling goes
 * behind its equals).
 */
#define TASKS 5
#define THREAD 4
#define LEVELS 4
#define NONE 255

typedef Ring { byte task[TASKS]; byte count };

Ring ring[LEVELS];
byte level[TASKS];
byte base[TASKS];
bool ready[TASKS];
bool open[TASKS];
bool again[TASKS];
byte stack[TASKS];
byte depth;
byte top, now, other, i;

inline insert_behind(t, at) {
    ring[at].task[ring[at].count] = t;
    ring[at].count++
}

inline insert_front(t, at) {
    i = ring[at].count;
    do
    :: i > 0 -> ring[at].task[i] = ring[at].task[i - 1]; i--
    :: else -> break
    od;
    ring[at].task[0] = t;
    ring[at].count++
}

inline remove(t, at) {
    i = 0;
    do
    :: ring[at].task[i] == t -> break
    :: else -> i++
    od;
    do
    :: i + 1 < ring[at].count -> ring[at].task[i] = ring[at].task[i + 1]; i++
    :: else -> break
    od;
    ring[at].count--;
    ring[at].task[ring[at].count] = 0
}

/* The level of the most urgent ready task, in `top`; NONE if all sleep. */
inline most_urgent() {
    top = NONE;
    i = LEVELS;
    do
    :: i > 0 && ring[i - 1].count > 0 -> top = i - 1; break
    :: i > 0 && ring[i - 1].count == 0 -> i--
    :: i == 0 -> break
    od
}

inline wake(t) {
    if
    :: !ready[t] ->
        ready[t] = true;
#ifdef EQUAL
        insert_front(t, level[t])
#else
        insert_behind(t, level[t])
#endif
    :: ready[t] && t != THREAD -> again[t] = open[t]
    :: else -> skip
    fi
}

inline move(t, to) {
    remove(t, level[t]);
    level[t] = to
}

/* A step of the thread, which runs on its own stack. */
inline thread_step(t) {
    if
    :: remove(t, level[t]); ready[t] = false
    :: remove(t, level[t]); insert_behind(t, level[t])
    :: select(other : 0 .. TASKS - 1); wake(other)
    :: level[t] == base[t] -> move(t, LEVELS - 1); insert_front(t, LEVELS - 1)
    :: level[t] != base[t] -> move(t, base[t]); insert_behind(t, base[t])
    fi
}

inline start_or_continue(t) {
    if
    :: open[t] -> assert(depth > 0 && stack[depth - 1] == t)
    :: else ->
        assert(depth == 0 || ready[stack[depth - 1]]);
        assert(depth == 0 || level[t] > level[stack[depth - 1]]);
        stack[depth] = t;
        depth++;
        open[t] = true;
        again[t] = false
    fi
}

inline poll_step(t) {
    if
    :: select(other : 0 .. TASKS - 1); wake(other)
    :: level[t] == base[t] && base[t] < LEVELS - 1 ->
        move(t, LEVELS - 1);
        insert_front(t, LEVELS - 1)
    :: level[t] != base[t] ->
        move(t, base[t]);
#ifdef BEHIND
        insert_behind(t, base[t])
#else
        insert_front(t, base[t])
#endif
#ifdef UNREADY
    :: level[t] == base[t] -> remove(t, level[t]); ready[t] = false
#endif
    :: level[t] == base[t] ->
        assert(stack[depth - 1] == t);
        depth--;
        stack[depth] = 0;
        open[t] = false;
        remove(t, level[t]);
        if
        :: again[t] -> again[t] = false; insert_behind(t, level[t])
        :: else -> ready[t] = false
        fi
    fi
}

active proctype processor() {
    d_step {
        base[0] = 0; base[1] = 1; base[2] = 1; base[3] = 2; base[THREAD] = 1;
        i = 0;
        do
        :: i < TASKS -> level[i] = base[i]; i++
        :: else -> break
        od
    }
    do
    :: atomic {
        most_urgent();
        if
        :: top == NONE -> select(other : 0 .. TASKS - 1); wake(other)
        :: else ->
            now = ring[top].task[0];
            if
            :: now == THREAD -> thread_step(now)
            :: else -> start_or_continue(now); poll_step(now)
            fi
        fi;
        top = 0; now = 0; other = 0; i = 0
      }
    od
}
