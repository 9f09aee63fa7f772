"""Writes a recording in trace-cmd's file format of a made-up system, for trace-cmd to report, and prints as JSON the
intervals that were recorded: the tasks' times on the processor, their waits, and the handlers, in ns.

The format is the manual page trace-cmd.dat.v6(5). Usage: trace_dat.py FILE
"""

import collections
import json
import random
import struct
import sys

PAGE = 4096
TASKS = {41: "control", 42: "worker", 43: "log"}
IDLE = 0
START = 100_000_000_000

COMMON = [("unsigned short", "common_type", 0, 2), ("unsigned char", "common_flags", 2, 1),
          ("unsigned char", "common_preempt_count", 3, 1), ("int", "common_pid", 4, 4)]
EVENTS = {
    1: ("sched", "sched_waking", [("char", "comm[16]", 8, 16), ("pid_t", "pid", 24, 4), ("int", "prio", 28, 4),
                                  ("int", "target_cpu", 32, 4)],
        '"comm=%s pid=%d prio=%d target_cpu=%03d", REC->comm, REC->pid, REC->prio, REC->target_cpu'),
    2: ("sched", "sched_switch", [("char", "prev_comm[16]", 8, 16), ("pid_t", "prev_pid", 24, 4),
                                  ("int", "prev_prio", 28, 4), ("long", "prev_state", 32, 8),
                                  ("char", "next_comm[16]", 40, 16), ("pid_t", "next_pid", 56, 4),
                                  ("int", "next_prio", 60, 4)],
        '"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%ld ==> next_comm=%s next_pid=%d next_prio=%d", '
        'REC->prev_comm, REC->prev_pid, REC->prev_prio, REC->prev_state, REC->next_comm, REC->next_pid, REC->next_prio'),
    3: ("irq", "irq_handler_entry", [("int", "irq", 8, 4), ("char", "name[16]", 12, 16)],
        '"irq=%d name=%s", REC->irq, REC->name'),
    4: ("irq", "irq_handler_exit", [("int", "irq", 8, 4), ("int", "ret", 12, 4)],
        '"irq=%d ret=%s", REC->irq, REC->ret ? "handled" : "unhandled"'),
    5: ("ftrace", "print", [("unsigned long", "ip", 8, 8), ("char", "buf[]", 16, 0)],
        '"%ps: %s", (void *)REC->ip, REC->buf'),
}


def name(task):
    return TASKS.get(task, "swapper/0").encode()


def mark(text):
    return struct.pack("<Q", 0) + text.encode() + b"\0"


def system():
    """The events of three tasks under priorities, as (time, task, kind, content), and their intervals. Each task
    marks a turn, and a step within it."""
    runs, waits, handlers, spans = (collections.defaultdict(list) for _ in range(4))
    events, ready, running, since, woken, now = [], [], IDLE, None, {}, START
    chance = random.Random(11)
    for _ in range(600):
        now += chance.randrange(1000, 400_000)
        asleep = [task for task in TASKS if task not in ready]
        if running and chance.random() < 0.45:
            ready.remove(running)
        elif asleep:
            task, number = chance.choice(asleep), chance.randrange(30, 33)
            events.append((now, running, 3, struct.pack("<i16s", number, b"eth%d" % number)))
            entered, now = now, now + chance.randrange(100, 5000)
            events.append((now, running, 1, struct.pack("<16siii", name(task), task, 60, 0)))
            ready.append(task)
            woken[task] = now
            now += chance.randrange(100, 5000)
            events.append((now, running, 4, struct.pack("<ii", number, 1)))
            handlers[f"eth{number}"].append(now - entered)
        following = min(ready, default=IDLE)
        if following != running:
            now += chance.randrange(100, 3000)
            state = 0 if running in ready or running == IDLE else 1
            content = struct.pack("<16siiq16sii", name(running), running, 60, state, name(following), following, 60)
            events.append((now, running, 2, content))
            if since is not None and running:
                runs[f"{TASKS[running]} {running}"].append(now - since)
            running, since = following, now
            if running in woken:
                waits[f"{TASKS[running]} {running}"].append(now - woken.pop(running))
            if running:
                begun = []
                for name_of_mark in ("turn", "step"):
                    begun.append((name_of_mark, now + 10))
                    now += 10
                    events.append((now, running, 5, mark(f"B|{running}|{name_of_mark}")))
                for name_of_mark, began in reversed(begun):
                    now += 10 + 7 * running
                    events.append((now, running, 5, mark(f"E|{running}")))
                    spans[name_of_mark].append(now - began)
    return events, {"events": len(events), "runs": runs, "waits": waits, "handlers": handlers, "spans": spans}


def pages(events):
    """The pages of a processor's buffer: a time, the bytes in use, and records with the time since the one before."""
    page, start, before = b"", None, None
    for now, task, kind, content in events:
        body = struct.pack("<HBBi", kind, 0, 0, task) + content
        body += bytes(-len(body) % 4)
        if start is None or 16 + len(page) + 12 + len(body) > PAGE:
            if start is not None:
                yield struct.pack("<QQ", start, len(page)) + page.ljust(PAGE - 16, b"\0")
            page, start, before = b"", now, now
        passed, before = now - before, now
        if passed >= 1 << 27:
            page += struct.pack("<II", 30 | (passed & 0x7FFFFFF) << 5, passed >> 27)
            passed = 0
        page += struct.pack("<I", len(body) // 4 | passed << 5) + body
    yield struct.pack("<QQ", start, len(page)) + page.ljust(PAGE - 16, b"\0")


def form(number):
    """The text of an event's format, as tracefs has it."""
    _, event, fields, shown = EVENTS[number]
    line = lambda field: "\tfield:%s %s;\toffset:%d;\tsize:%d;\tsigned:%d;\n" % (*field, field[0] in ("int", "long", "pid_t"))
    common, own = ("".join(map(line, some)) for some in (COMMON, fields))
    return f"name: {event}\nID: {number}\nformat:\n{common}\n{own}\nprint fmt: {shown}\n".encode()


def write(path, events):
    sized = lambda text: struct.pack("<Q", len(text)) + text
    page = (b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
            b"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n")
    record = (b"# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n"
              b"\tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n")
    head = b"\x17\x08\x44tracing6\0" + struct.pack("<BBI", 0, 8, PAGE)
    head += b"header_page\0" + sized(page) + b"header_event\0" + sized(record) + struct.pack("<I", 0)
    systems = collections.defaultdict(list)
    for number, (system_name, *_) in EVENTS.items():
        systems[system_name].append(number)
    head += struct.pack("<I", len(systems))
    for system_name, numbers in systems.items():
        head += system_name.encode() + b"\0" + struct.pack("<I", len(numbers)) + b"".join(sized(form(one)) for one in numbers)
    head += struct.pack("<II", 0, 0) + sized(b"".join(b"%d %s\n" % (task, name(task)) for task in TASKS))
    head += struct.pack("<I", 1) + b"options  \0" + struct.pack("<H", 0) + b"flyrecord\0"
    data = b"".join(pages(events))
    start = -(-(len(head) + 16) // PAGE) * PAGE
    with open(path, "wb") as file:
        file.write((head + struct.pack("<QQ", start, len(data))).ljust(start, b"\0") + data)


recorded, intervals = system()
write(sys.argv[1], recorded)
print(json.dumps(intervals))
