/* The timers' slots (`tandem/src/time.rs`, `records/timer.rs`): the radix heap, its alarm, and the filing
 * by the alarm's handler, for all that a program can do between two of its windows.
 *
 * The model            the code
 * now                  the board's clock; it may advance between any two windows
 * armed, base          `Timers::armed`, `Timers::base`
 * is_set               the board's alarm is set for no later time than `armed`: what each write of `armed`
 *                      outside of a run of `expire` must keep true
 * count[r], due, own   ring r of `Timers::rings`, from its head on, and its bit in `occupied`: ring 0 is
 *                      `UNFILED`, the others are slots. `due` is `Timer::due`; `own` is the time for which
 *                      the timer is set, which the code has in `OWN_DUE` for one that pretends
 * pretends[r]          `PRETENDS` in the place of the head of slot r
 * from                 `Timer::place` of all unfiled timers: the slot that was spread
 * file                 `Timers::file`, `file_behind`
 * set                  `Timers::set_in_window`, `set_first`
 * arm                  the first window of `Me::delay_until`, which sets the alarm before the timer
 * remove, cancel       `Timers::remove`, `remove_among`; `Timer::cancel`
 * spread, refile       `Timers::take` and `spread`; `Timers::refile`
 * step                 a window of `expire` or `expire_rest`: it wakes a task, spreads a slot or files a timer
 * end                  `arm_again`, `set_next_alarm`: a run's last window
 * under_way            a run of `expire` has opened a window, and has not ended
 *
 * Times have 3 bits in place of 64. The nearest slot has the lowest one (with WIDE the two lowest, as in
 * the code), and the others have one each (with FAR the second has all others, as the farthest in the
 * code). Timers have no identity, which stands for all their permutations.
 *
 * Between two windows a timer is set for any time, a past one too, or cancelled; a thread that is about to
 * sleep sets the alarm; the clock advances; `expire` begins, since the alarm has come, for no reason, or
 * above another run. Nothing of that is bounded but the clock. A run may take a time that has come for one
 * that has not, and end: it has read the clock before. So a run that has stopped amid its filing, and goes
 * on when other runs have begun and ended, is one that is under way.
 *
 * Checked after each window (`check`, as `Timers::check`): each timer is in the slot of its time; the head
 * is due first or pretends to be; a nearer slot is due before a farther one; `base` is not in the future;
 * the alarm is set for no later time than `armed`, unless a run is under way, and `armed` is no later than
 * any timer's time. Checked for each timer that expires: its time has come; no other is due earlier; all
 * are gone that were set before it for the same time (`before`), but for those that were unfiled then.
 * Checked for each that is filed: it moves to a nearer slot, or is in the nearest; and the base moves, or a
 * time that is not behind the base has been set. Checked for a run: it ends, if nothing is set or cancelled
 * (the bound of `steps`). So each timer expires when its time has come and the alarm's handler has run.
 *
 * Variants, for which all of it must hold: WIDE, FAR, and NESTLESS (handlers do not nest, as on RISC-V: a run
 * wakes one task or files two timers, all masked, and sets the alarm).
 *
 * Mutants, each of which must be found: HONEST (the new head of a slot does not pretend), LIAR (a head that
 * gets one in front of it goes on pretending), EARLY (a slot is spread while its head pretends), PLACE (a
 * timer that is alone in its ring empties the slot of its place, although it is unfiled), PAST (a time
 * behind the base is not raised to the base), BEHIND (the base moves, `armed` does not), LATE (a run without
 * nesting sets the alarm for the first filed timer, although others are unfiled), FORGETS (a run ends
 * without the alarm).
 *
 * ORDER asks whether all timers of one time expire in the order in which they were set. They do not: one
 * that is set while another is unfiled comes before it (docs/tandem.md, Models).
 */
#define N 4
#define TOP 7
#define NEVER 8
#define SLOTS 3
#define RINGS 4
#define UNFILED 0

#if defined(WIDE)
#define slot_of(difference) (difference < 4 -> 1 : 2)
#elif defined(FAR)
#define slot_of(difference) (difference < 2 -> 1 : 2)
#else
#define slot_of(difference) (difference < 2 -> 1 : (difference < 4 -> 2 : 3))
#endif

/* The index of a timer by its ring and its place there; and whether an index is a timer's. */
#define at(ring, place) ((ring) * N + (place))
#define is_timer(index) ((index) % N < count[(index) / N])
/* The nearest slot with timers, or UNFILED. */
#define nearest (count[1] > 0 -> 1 : (count[2] > 0 -> 2 : (count[3] > 0 -> 3 : UNFILED)))
/* `Timers::next_step`, with the clock as it is. */
#define has_work (count[UNFILED] > 0 || nearest != UNFILED && due[at(nearest, 0)] <= now)

byte now;
byte armed = NEVER;
byte base;
bool is_set = true;
byte count[RINGS];
byte due[RINGS * N];
byte own[RINGS * N];
byte before[RINGS * N]; /* the timers of the same time that must expire first */
bool pretends[RINGS];
byte from;
byte total;
bool under_way;
bool was_past; /* a time no later than the base has been set since a slot was spread */
byte steps;    /* of runs, since the clock or a timer has changed */

/* Variables within a window: no part of the state. */
hidden byte r, i, k, time, first, number, windows, woken, old_own, old_before;

inline check() {
    first = NEVER; /* of the slots from the farthest on */
    r = SLOTS;
    do
    :: r > UNFILED ->
        time = NEVER;
        k = count[r];
        do
        :: k > 0 ->
            k--;
            i = at(r, k);
            assert(base <= due[at(r, 0)] && due[at(r, 0)] <= own[i]);
            assert(due[i] == own[i] || k == 0 && count[r] > 1 && pretends[r]);
            assert(slot_of((own[i] ^ base)) == r);
            assert(armed <= own[i] && own[i] <= first);
            time = (own[i] < time -> own[i] : time)
        :: else -> break
        od;
        first = (time < first -> time : first);
        r--
    :: else -> break
    od;
    k = count[UNFILED];
    do
    :: k > 0 -> k--; assert(armed <= own[k] && due[k] == own[k])
    :: else -> break
    od;
    assert(base <= now && base <= armed);
    assert(under_way || is_set)
}

inline move(to, source) {
    due[to] = due[source]; own[to] = own[source]; before[to] = before[source]
}

inline clear(index) {
    due[index] = 0; own[index] = 0; before[index] = 0
}

inline file(at_time, equals) {
    assert(at_time >= base);
    number = slot_of((at_time ^ base));
    k = count[number];
    if
    :: k > 0 && at_time < due[at(number, 0)] ->
#ifndef LIAR
        due[at(number, 0)] = own[at(number, 0)];
        pretends[number] = false;
#endif
        do
        :: k > 0 -> move(at(number, k), at(number, k - 1)); k--
        :: else -> break
        od
    :: else -> skip
    fi;
    i = at(number, k);
    due[i] = at_time; own[i] = at_time; before[i] = equals;
    count[number]++;
    total++
}

/* Leaves the timer's own time in `old_own`, and what was to expire before it in `old_before`. */
inline remove(ring, place) {
    i = at(ring, place);
    time = due[i]; old_own = own[i]; old_before = before[i];
    if
    :: count[ring] == 1 ->
        /* The slot that it was filed in; its own ring, if no timer is unfiled. */
        number = (ring == UNFILED -> from : ring);
#ifndef PLACE
        number = (count[UNFILED] > 0 && ring == UNFILED -> UNFILED : number);
#endif
        assert(number == ring && !pretends[ring])
    :: else -> skip
    fi;
    k = place;
    do
    :: k + 1 < count[ring] -> move(at(ring, k), at(ring, k + 1)); k++
    :: else -> break
    od;
    clear(at(ring, k));
    count[ring]--;
    total--;
    pretends[ring] = pretends[ring] && place > 0;
    if
    :: count[ring] == 1 -> due[at(ring, 0)] = own[at(ring, 0)]; pretends[ring] = false
#ifndef HONEST
    :: count[ring] > 1 && place == 0 && ring != UNFILED -> due[at(ring, 0)] = time; pretends[ring] = true
#endif
    :: else -> skip
    fi;
    from = (count[UNFILED] > 0 -> from : 0);
    i = 0;
    do
    :: i < RINGS * N ->
        before[i] = before[i] - (is_timer(i) && own[i] == old_own && before[i] > old_before -> 1 : 0);
        i++
    :: else -> break
    od
}

inline cancel(timer) {
    r = 0;
    do
    :: timer >= count[r] -> timer = timer - count[r]; r++
    :: else -> break
    od;
    remove(r, timer)
}

inline set(at_time) {
    time = at_time;
    if
    :: at_time < armed ->
#ifndef PAST
        time = (at_time < base -> base : at_time);
#endif
        armed = time;
        is_set = !under_way
    :: else -> skip
    fi;
    was_past = was_past || time == base;
    /* Behind all of its time that are filed. Those that are unfiled come behind it, unless they expire
     * when it is their turn to be filed. */
    old_before = 0;
    i = 0;
    do
    :: i < RINGS * N ->
        if
        :: is_timer(i) && own[i] == time ->
#ifndef ORDER
            if
            :: i < N && time != base -> before[i]++
            :: else -> old_before++
            fi
#else
            old_before++
#endif
        :: else -> skip
        fi;
        i++
    :: else -> break
    od;
    file(time, old_before)
}

inline spread(ring) {
    assert(count[UNFILED] == 0);
    time = due[at(ring, 0)];
#ifndef EARLY
    due[at(ring, 0)] = own[at(ring, 0)];
#endif
    pretends[ring] = false;
    assert(time > base || was_past);
    was_past = false;
    base = time;
#ifndef BEHIND
    armed = time;
#endif
    k = 0;
    do
    :: k < count[ring] -> move(k, at(ring, k)); clear(at(ring, k)); k++
    :: else -> break
    od;
    count[UNFILED] = count[ring];
    count[ring] = 0;
    from = ring
}

/* The timer that has been removed wakes its task. */
inline expired() {
    assert(old_own <= now && old_before == 0);
    i = 0;
    do
    :: i < RINGS * N -> assert(!is_timer(i) || old_own <= own[i]); i++
    :: else -> break
    od
}

inline refile() {
    first = from;
    time = due[0];
    remove(UNFILED, 0);
    if
    :: time == base -> expired()
    :: else ->
        /* It comes back: those of its time that `remove` took it away from have it before them. */
        i = 0;
        do
        :: i < RINGS * N ->
            before[i] = before[i] + (is_timer(i) && own[i] == old_own && before[i] >= old_before -> 1 : 0);
            i++
        :: else -> break
        od;
        file(time, old_before);
#ifdef FAR
        assert(number <= first)
#else
        assert(number < first || number == 1)
#endif
    fi
}

inline step() {
    r = (count[UNFILED] > 0 -> UNFILED : nearest);
    if
    :: r == UNFILED -> refile()
    :: r != UNFILED && count[r] == 1 -> remove(r, 0); expired()
    :: r != UNFILED && count[r] > 1 -> spread(r)
    fi;
    steps++;
    assert(steps <= 6 * N)
}

inline end() {
    armed = (nearest != UNFILED -> due[at(nearest, 0)] : NEVER);
#ifndef LATE
    armed = (count[UNFILED] > 0 -> base : armed);
#endif
#ifndef FORGETS
    is_set = !under_way
#endif
}

active proctype program() {
    byte chosen;
    do
    :: atomic {
        if
        :: d_step { now < TOP -> now++; steps = 0 }
        :: total < N ->
            chosen = (base > 0 -> base - 1 : 0); /* all times behind the base are alike */
            do
            :: chosen < TOP -> chosen++
            :: break
            od;
            skip;
            d_step { set(chosen); chosen = 0; steps = 0 }
        :: total > 0 ->
            do
            :: chosen + 1 < total -> chosen++
            :: break
            od;
            skip;
            d_step { cancel(chosen); chosen = 0; steps = 0 }
        :: armed > now + 1 && now < TOP ->
            chosen = now + 1;
            do
            :: chosen < TOP && chosen + 1 < armed -> chosen++
            :: break
            od;
            skip;
            d_step { armed = chosen; is_set = !under_way; chosen = 0; steps = 0 } /* arm */
#ifdef NESTLESS
        :: d_step {
            woken = 0;
            windows = 0;
            do
            :: has_work && windows < 2 && woken == 0 ->
                woken = total;
                step();
                woken = woken - total;
                windows++
            :: else -> break
            od;
            is_set = false;
            end()
          }
#else
        :: d_step { has_work -> under_way = true; is_set = false; step() }
        :: d_step {
            under_way && count[UNFILED] == 0 || !has_work ->
            under_way = false;
            is_set = false;
            end()
          }
        /* The run was above another one. */
        :: d_step { under_way && count[UNFILED] == 0 -> end() }
#endif
        fi;
        skip;
        d_step { check() }
      }
    od
}
