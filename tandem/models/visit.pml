/* The walk over the tasks that wait on conditions of their own (`List::visit`, `tandem/src/list.rs`):
 * event groups and watches.
 *
 * The model            the code
 * ring[0..count)       the ring, from `first` on
 * seen[n], walks       the same
 * a walk               `visit`: one node in a masked window, between which anything may happen
 * depth                walks that interrupt each other: a handler's above a task's
 * holds[n]             `decide` returns flags for the node's condition
 *
 * Between two windows a handler may begin a walk of its own, make a condition hold (and then walks, as
 * every signal does), and a task may begin or give up its wait (a handler's time limit).
 *
 * Checked: a walk ends, also where others interrupt it (the bound of `steps`); when the last has ended,
 * no node waits whose condition holds.
 *
 * ORDER asks whether the nodes that are left are in the order in which they began to wait. They are not:
 * a walk that another one ends leaves the ring turned (docs/tandem.md, Models).
 *
 * Mutants, each of which must be found: STAYS (a node that is left waiting is not moved to the end), ONCE
 * (a walk ends at the number that it began with), FRONT (a new node goes to the front).
 */
#define N 4
#define DEEPEST 2
#define NONE 255

byte ring[N];
byte count;
byte seen[N];
bool waits[N];
bool holds[N];
byte arrival[N];   /* the order in which the nodes began to wait */
byte arrivals;
byte walks;
byte own[DEEPEST]; /* the number of each walk under way, for the mutant ONCE */
byte depth;
byte changes;      /* conditions and waits that have changed: a bound */
byte steps;        /* nodes visited since no walk was under way */
byte node, place;

/* Takes the node at `place` out of the ring. */
#define take_out(at)                                                                               \
    place = at;                                                                                    \
    do                                                                                             \
    :: place + 1 < count -> ring[place] = ring[place + 1]; place++                                 \
    :: else -> break                                                                               \
    od;                                                                                            \
    count--; ring[count] = 0

#define begin_walk()                                                                               \
    walks++; own[depth] = walks; depth++

inline end_walk() {
    depth--;
    own[depth] = 0;
    if
    :: depth == 0 ->
        steps = 0;
        /* Nobody was forgotten. */
        place = 0;
        do
        :: place < count -> assert(!holds[ring[place]]); place++
        :: else -> break
        od;
#ifdef ORDER
        place = 0;
        do
        :: place + 1 < count -> assert(arrival[ring[place]] < arrival[ring[place + 1]]); place++
        :: else -> break
        od
#endif
    :: else -> skip
    fi
}

/* A window of the innermost walk. */
inline step() {
    if
    :: count == 0 -> end_walk()
#ifdef ONCE
    :: count > 0 && seen[ring[0]] == own[depth - 1] -> end_walk()
    :: count > 0 && seen[ring[0]] != own[depth - 1] ->
#else
    :: count > 0 && seen[ring[0]] == walks -> end_walk()
    :: count > 0 && seen[ring[0]] != walks ->
#endif
        node = ring[0];
        seen[node] = walks;
        steps++;
        assert(steps <= 4 * N);
        if
        :: holds[node] -> take_out(0); waits[node] = false; holds[node] = false
        :: else ->
#ifndef STAYS
            if
            :: count > 1 -> take_out(0); ring[count] = node; count++
            :: else -> skip
            fi
#else
            skip
#endif
        fi
    fi
}

/* A task begins to wait: its condition has just been checked. */
inline enter(n) {
    waits[n] = true;
    holds[n] = false;
    arrival[n] = arrivals;
    arrivals++;
    seen[n] = walks;
#ifdef FRONT
    place = count;
    do
    :: place > 0 -> ring[place] = ring[place - 1]; place--
    :: else -> break
    od;
    ring[0] = n;
#else
    ring[count] = n;
#endif
    count++
}

/* A task gives up its wait. */
inline leave(n) {
    place = 0;
    do
    :: ring[place] == n -> break
    :: else -> place++
    od;
    take_out(place);
    waits[n] = false;
    holds[n] = false
}

active proctype kernel() {
    byte n;
    do
    :: atomic { depth > 0 -> step(); node = 0; place = 0 }
    :: atomic {
        changes < 7 && depth < DEEPEST ->
        /* A signal: a condition begins to hold, and its sender walks. */
        select(n : 0 .. N - 1);
        changes++;
        if
        :: waits[n] -> holds[n] = true
        :: else -> skip
        fi;
        begin_walk();
        n = 0
      }
    :: atomic {
        changes < 7 ->
        select(n : 0 .. N - 1);
        changes++;
        if
        :: !waits[n] -> enter(n)
        :: else -> leave(n)
        fi;
        n = 0; node = 0; place = 0
      }
    :: changes == 7 && depth == 0 -> break
    od
}
