/* The timers' slots (`tandem/src/time.rs`, `time/filing.rs`, `records/timer.rs`): the radix heap, its alarm,
 * and the task that files timers anew, for all that a program can do between two of its windows.
 *
 * The model            the code
 * now                  the board's clock; it may advance between any two windows
 * armed, base          `Timers::armed`, `Timers::base`; the board's alarm is set wherever `armed` is
 * count[r], due, own   ring r of `Timers::rings`, from its head on, and its bit in `occupied`: ring 0 is
 *                      `UNFILED`, the others are slots. `due` is `Timer::due`; `own` is the time for which
 *                      the timer is set, which the code has in `OWN_DUE` for one that pretends
 * pretends[r]          `PRETENDS` in the place of the head of slot r
 * place                `Timer::place` of the unfiled timers: the slot that was spread
 * urgent, levels       with LEVELS: the task of a timer is the more urgent of two; `Timers::levels`, and
 *                      `Timers::raised` for the rings of `raised_in`
 * raise                with LEVELS: `lock::raise_timers`, of a task that inherits a priority
 * file                 `Timers::file`, `file_behind`
 * set                  `Timers::set_in_window`, `set_first`
 * arm                  the first window of `Me::delay_until`, which sets the alarm before the timer
 * remove, cancel       `Timers::remove`, `remove_among`; `Timer::cancel`
 * spread, refile       `Timers::spread`, `Timers::refile`
 * expire               the first window of `expire`: it wakes a task or spreads a slot, and sets the alarm
 * under_way            a run of `expire` has spread a slot, and not yet begun the filing: `filing::begin`
 * files                the task that files is ready: `STATE` in `filing.rs`
 *
 * Times have 3 bits in place of 64. The nearest slot has the lowest one (with WIDE the two lowest, as in
 * the code), and the others have one each (with FAR the second has all others, as the farthest in the
 * code). Timers have no identity, which stands for all their permutations.
 *
 * Between two windows a timer is set for any time, a past one too, or cancelled; a thread that is about to
 * sleep sets the alarm; the clock advances; `expire` begins, since the alarm has come, for no reason, or
 * above another run; the task files a timer. Nothing of that is bounded but the clock. A run may take a
 * time that has come for one that has not: it has read the clock before. Of two runs, the one below may
 * begin the filing once more, which the task finds done: that is no state of its own here.
 *
 * Checked after each window (`check`, as `Timers::check`): each timer is in the slot of its time; the head
 * is due first or pretends to be; a nearer slot is due before a farther one; `base` is not in the future
 * nor behind `armed`; unfiled timers have the task, or a run that begins it; without both, `armed` is no
 * later than any timer's time. With LEVELS, the task that files is no less urgent than that of any unfiled
 * timer. Checked for each timer that expires: its time has come; none in a slot is due earlier; all are
 * gone that were set before it for the same time (`before`), but for those that were unfiled then.
 * Checked for each that is filed: it moves to a nearer slot, or is in the nearest; and the base moves, or a
 * time that is not behind the base has been set. Checked for all runs and the task: they end, if nothing
 * is set or cancelled (the bound of `steps`). So each timer expires when its time has come, the alarm's
 * handler has run, and the task that files has.
 *
 * Variants, for which all of it must hold: WIDE, FAR, LEVELS, and NESTLESS (handlers do not nest, as on
 * RISC-V: a run is one window).
 *
 * Mutants, each of which must be found: HONEST (the new head of a slot does not pretend), LIAR (a head that
 * gets one in front of it goes on pretending), EARLY (a slot is spread while its head pretends), PLACE (a
 * timer that is alone in its ring empties the slot of its place, although it is unfiled), PAST (a time
 * behind the base is not raised to the base), BEHIND (the base moves, `armed` does not), EXACT (an unfiled
 * timer expires at the base alone, and not before it), FORGETS (the task ends its filing without the
 * alarm), ASLEEP (the task finds nothing to file in one window, and waits in the next), and with LEVELS LOW
 * (a slot that joins unfiled timers does not add its levels), ALONE (a timer behind others does not), and
 * SLOW and ASIDE (a task that is raised leaves the slots, or the task that files, as they are).
 *
 * ORDER asks whether all timers of one time expire in the order in which they were set. They do not: one
 * that is set while another is unfiled comes before it (docs/tandem.md, Models).
 */
/* With 4 timers, of which two are unfiled when a slot of two joins them, no error is in 4.1 million states:
 * a minute and a half. */
#ifndef N
#define N 3
#endif
#ifdef LEVELS
#define TOP 3 /* 2 bits: two slots */
#else
#define TOP 7
#endif
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
/* The head of the nearest slot is due, with the clock as it is. */
#define is_due (nearest != UNFILED && due[at(nearest, 0)] <= now)

byte now;
byte armed = NEVER;
byte base;
byte count[RINGS];
byte due[RINGS * N];
byte own[RINGS * N];
byte before[RINGS * N]; /* the timers of the same time that must expire first */
bool pretends[RINGS];
byte place[N]; /* of the unfiled timers */
byte total;
bool under_way;
bool files;
#ifdef ASLEEP
bool is_over; /* the task has found nothing to file */
#endif
#ifdef LEVELS
bool urgent[RINGS * N];
bool levels[RINGS];
bool level; /* of the task that files */
bool is_urgent; /* the timer that is set or filed */
#endif
bool was_past; /* a time no later than the base has been set since a slot was spread */
byte steps;    /* of runs, since the clock or a timer has changed */

/* Variables within a window: no part of the state. */
hidden byte r, i, k, time, first, number, old_own, old_before;

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
            assert(own[i] <= first);
            assert(files || under_way || armed <= own[i]);
#ifdef LEVELS
            assert(levels[r] || !urgent[i]);
#endif
            time = (own[i] < time -> own[i] : time)
        :: else -> break
        od;
        first = (time < first -> time : first);
        r--
    :: else -> break
    od;
    k = count[UNFILED];
    do
    :: k > 0 ->
        k--;
        assert(due[k] == own[k]);
#ifdef LEVELS
        assert(level || !files || under_way || !urgent[k])
#endif
    :: else -> break
    od;
    assert(base <= now && base <= armed);
    assert(files || under_way || count[UNFILED] == 0)
}

inline move(to, source) {
    due[to] = due[source]; own[to] = own[source]; before[to] = before[source];
#ifdef LEVELS
    urgent[to] = urgent[source]
#endif
}

inline clear(index) {
    due[index] = 0; own[index] = 0; before[index] = 0;
#ifdef LEVELS
    urgent[index] = false
#endif
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
#ifdef LEVELS
    urgent[i] = is_urgent;
#ifdef ALONE
    levels[number] = (count[number] == 0 -> is_urgent : levels[number]);
#else
    levels[number] = is_urgent || count[number] > 0 && levels[number];
#endif
#endif
    count[number]++;
    total++
}

/* Leaves the timer's own time in `old_own`, and the number of those before it in `old_before`. */
inline take_out(ring, which) {
    i = at(ring, which);
    time = due[i]; old_own = own[i]; old_before = before[i];
    if
    :: count[ring] == 1 ->
        /* The slot that it was filed in; its own ring, if no timer is unfiled. */
        number = (ring == UNFILED -> place[0] : ring);
#ifndef PLACE
        number = (count[UNFILED] > 0 && ring == UNFILED -> UNFILED : number);
#endif
        assert(number == ring && !pretends[ring])
    :: else -> skip
    fi;
    k = which;
    do
    :: k + 1 < count[ring] ->
        move(at(ring, k), at(ring, k + 1));
        if
        :: ring == UNFILED -> place[k] = place[k + 1]
        :: else -> skip
        fi;
        k++
    :: else -> break
    od;
    clear(at(ring, k));
    if
    :: ring == UNFILED -> place[k] = 0
    :: else -> skip
    fi;
    count[ring]--;
    total--;
    pretends[ring] = pretends[ring] && which > 0;
    if
    :: count[ring] == 1 -> due[at(ring, 0)] = own[at(ring, 0)]; pretends[ring] = false
#ifndef HONEST
    :: count[ring] > 1 && which == 0 && ring != UNFILED -> due[at(ring, 0)] = time; pretends[ring] = true
#endif
    :: else -> skip
    fi;
#ifdef LEVELS
    levels[ring] = levels[ring] && count[ring] > 0
#endif
}

/* The timer that has been taken out does not come back. */
inline forget() {
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
    take_out(r, timer);
    forget()
}

#ifdef LEVELS
/* The task of a timer that is set becomes the more urgent one. */
inline raise(timer) {
    r = 0;
    do
    :: timer >= count[r] -> timer = timer - count[r]; r++
    :: else -> break
    od;
    urgent[at(r, timer)] = true;
    r = UNFILED;
    do
    :: r < RINGS ->
#ifndef SLOW
        levels[r] = levels[r] || count[r] > 0;
#else
        levels[r] = levels[r] || count[r] > 0 && r == UNFILED;
#endif
        r++
    :: else -> break
    od;
#ifndef ASIDE
    level = level || files && count[UNFILED] > 0
#endif
}
#endif

inline set(at_time) {
    time = at_time;
    if
    :: at_time < armed ->
#ifndef PAST
        time = (at_time < base -> base : at_time);
#endif
        armed = time
    :: else -> skip
    fi;
    was_past = was_past || time == base;
    /* Behind all of its time that are filed. Those that are unfiled may come before or behind it. */
    old_before = 0;
    i = 0;
    do
    :: i < RINGS * N ->
#ifdef ORDER
        old_before = old_before + (is_timer(i) && own[i] == time -> 1 : 0);
#else
        old_before = old_before + (i >= N && is_timer(i) && own[i] == time -> 1 : 0);
#endif
        i++
    :: else -> break
    od;
    file(time, old_before)
}

inline spread(ring) {
    time = due[at(ring, 0)];
#ifndef EARLY
    due[at(ring, 0)] = own[at(ring, 0)];
#endif
    pretends[ring] = false;
    assert(time > base || was_past);
    was_past = false;
    base = time;
#ifdef LEVELS
#ifdef LOW
    levels[UNFILED] = (count[UNFILED] == 0 -> levels[ring] : levels[UNFILED]);
#else
    levels[UNFILED] = levels[ring] || count[UNFILED] > 0 && levels[UNFILED];
#endif
    levels[ring] = false;
#endif
    /* In front of those that are unfiled already. */
    k = count[UNFILED];
    do
    :: k > 0 ->
        k--;
        move(k + count[ring], k);
        place[k + count[ring]] = place[k]
    :: else -> break
    od;
    k = 0;
    do
    :: k < count[ring] ->
        i = at(ring, k);
        place[k] = ring;
        move(k, i);
        clear(i);
        k++
    :: else -> break
    od;
    count[UNFILED] = count[UNFILED] + count[ring];
    count[ring] = 0
}

/* The timer that has been taken out wakes its task. */
inline expired() {
    assert(old_own <= now && old_before == 0);
    forget();
    i = N;
    do
    :: i < RINGS * N -> assert(!is_timer(i) || old_own <= own[i]); i++
    :: else -> break
    od
}

inline count_step() {
    steps++;
    assert(steps <= 8 * N)
}

inline refile() {
    first = place[0];
    time = due[0];
#ifdef LEVELS
    is_urgent = urgent[0];
#endif
    take_out(UNFILED, 0);
    if
#ifdef EXACT
    :: time == base -> expired()
#else
    :: time <= base -> expired()
#endif
    :: else ->
        file(time, old_before);
#ifdef FAR
        assert(number <= first)
#else
        assert(number < first || number == 1)
#endif
    fi;
    count_step()
}

/* Sets the alarm for the first timer in a slot other than this one. */
inline arm_beside(ring) {
    armed = NEVER;
    k = SLOTS;
    do
    :: k > UNFILED ->
        armed = (k != ring && count[k] > 0 -> due[at(k, 0)] : armed);
        k--
    :: else -> break
    od
}

inline begin() {
    under_way = false;
#ifdef LEVELS
    level = levels[UNFILED] || files && level;
#endif
    files = true
}

inline expire() {
    r = (is_due -> nearest : UNFILED);
    if
    :: r == UNFILED -> arm_beside(UNFILED)
    :: r != UNFILED && count[r] == 1 ->
        arm_beside(r);
        take_out(r, 0);
        expired();
        count_step()
    :: r != UNFILED && count[r] > 1 ->
#ifndef BEHIND
        arm_beside(r);
#endif
        spread(r);
        under_way = true;
#ifdef NESTLESS
        begin();
#endif
        count_step()
    fi
}

/* The task that files has no timer to file: it sets the alarm, or waits. */
inline end() {
    first = (nearest != UNFILED -> due[at(nearest, 0)] : NEVER);
    if
#ifndef FORGETS
    :: first < armed -> armed = first
#endif
    :: else -> files = false;
#ifdef LEVELS
        level = false
#endif
    fi
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
#ifdef LEVELS
            if
            :: is_urgent = true
            :: is_urgent = false
            fi;
#endif
            d_step { set(chosen); chosen = 0; steps = 0 }
        :: total > 0 ->
            do
            :: chosen + 1 < total -> chosen++
            :: break
            od;
            skip;
            d_step { cancel(chosen); chosen = 0; steps = 0 }
#ifdef LEVELS
        :: total > 0 ->
            do
            :: chosen + 1 < total -> chosen++
            :: break
            od;
            skip;
            d_step { raise(chosen); chosen = 0 }
#endif
        :: armed > now + 1 && now < TOP ->
            chosen = now + 1;
            do
            :: chosen < TOP && chosen + 1 < armed -> chosen++
            :: break
            od;
            skip;
            d_step { armed = chosen; chosen = 0; steps = 0 } /* arm */
        :: d_step { expire(); skip }
        :: d_step { under_way -> begin(); skip }
        :: d_step { files && count[UNFILED] > 0 -> refile(); skip }
#ifdef ASLEEP
        :: d_step { files && count[UNFILED] == 0 -> is_over = true }
        :: d_step { files && is_over -> is_over = false; end(); skip }
#else
        :: d_step { files && count[UNFILED] == 0 -> end(); skip }
#endif
        fi;
        skip;
        d_step { check() }
      }
    od
}
