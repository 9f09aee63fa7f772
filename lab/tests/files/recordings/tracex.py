"""Writes a recording of TraceX's of a made-up system, reads it with tracex-parser, and prints as JSON what that
package finds: the threads' times on the processor, their waits, and the handlers, in ticks.

Needs: pip install tracex-parser (tools/test-requirements.txt). Usage: tracex.py FILE
"""

import collections
import json
import random
import struct
import sys

HANDLER = 0xFFFFFFFF
THREADS = {0x20000100: "control", 0x20000200: "worker", 0x20000300: "log"}
MASK = 0xFFFFF
ROOM = 400


def system(events):
    """Events of three threads under priorities: a handler or a thread makes another one ready."""
    ready, running, now = [], 0, 0
    pick = lambda: min(ready, default=0)
    chance = random.Random(7)
    for _ in range(900):
        now += chance.randrange(1, 4000)
        asleep = [thread for thread in THREADS if thread not in ready]
        if running and chance.random() < 0.45:
            ready.remove(running)
            events.append((running, 2, now, running, 6, 0, pick()))
        elif asleep:
            woken = chance.choice(asleep)
            in_handler = running == 0 or chance.random() < 0.5
            if in_handler:
                number = chance.randrange(15, 18)
                events.append((HANDLER, 3, now, 0, number, 1, 0))
                now += chance.randrange(1, 50)
            ready.append(woken)
            events.append((HANDLER if in_handler else running, 1, now, woken, 6, 0, pick()))
            if in_handler:
                now += chance.randrange(1, 50)
                events.append((HANDLER, 4, now, 0, number, 1, 0))
        else:
            events.append((running, 83, now, 0x20000400, 1, 0, 0))
        running = pick()


def write(path, events):
    """The memory of ThreadX' trace: head, registry, and a ring of the last events."""
    registry, ring = 0x20001030, 0x20001030 + 48 * len(THREADS)
    place = ring + 32 * (len(events) % ROOM)
    head = struct.pack("<4sIIIHHIIIIIII", b"BTXT", MASK, 0x20001000, registry, 0, 32, ring, ring, ring + 32 * ROOM, place, 0, 0, 0)
    objects = b"".join(struct.pack("<BBHIII32s", 0, 1, 0, at, 0, 0, name.encode()) for at, name in THREADS.items())
    kept = [None] * ROOM
    for number, event in enumerate(events):
        kept[number % ROOM] = event
    rows = b"".join(struct.pack("<IIIIIIII", thread, 1, event, now & MASK, *more) for thread, event, now, *more in kept)
    with open(path, "wb") as file:
        file.write(head + objects + rows)


def read(path):
    """The intervals between the events as the package gives them."""
    from tracex_parser.file_parser import parse_tracex_buffer

    runs, waits, handlers = (collections.defaultdict(list) for _ in range(3))
    events, _ = parse_tracex_buffer(path)
    now, before, running, since, next_one, entered, woken = 0, None, None, 0, None, None, {}

    def switch(thread):
        nonlocal running, since
        if thread == running:
            return
        if running is not None:
            runs[running].append(now - since)
        running, since = thread, now
        if thread in woken:
            waits[thread].append(now - woken.pop(thread))

    for event in events:
        now += (event.timestamp - (event.timestamp if before is None else before)) & MASK
        before = event.timestamp
        if event.thread_name != "INTERRUPT":
            entered = next_one = None
            switch(event.thread_name)
        names = event.mapped_args
        if event.fn_name in ("threadResume", "threadSuspend"):
            if event.fn_name == "threadResume" and names["thread_ptr"] != running:
                woken.setdefault(names["thread_ptr"], now)
            next_one = names["next_thread"] if isinstance(names["next_thread"], str) else None
            if entered is None:
                switch(next_one)
        elif event.fn_name == "isrEnter":
            entered, next_one = (names["isr_num"], now), running
        elif event.fn_name == "isrExit" and entered is not None:
            handlers[f"interrupt {entered[0]}"].append(now - entered[1])
            entered = None
            switch(next_one)
    return {"events": len(events), "runs": runs, "waits": waits, "handlers": handlers}


def main(path):
    events = []
    system(events)
    write(path, events)
    # The package prints remarks on what it cannot name.
    out, sys.stdout = sys.stdout, sys.stderr
    found = read(path)
    sys.stdout = out
    print(json.dumps(found))


main(sys.argv[1])
