"""Checks that a file is in the Trace Event Format, as its description and Perfetto's importer have
it: what one of them ignores or drops is an error here."""

import json
import math

# The kinds that are written here, and the members that each needs.
NEEDED = {
    "X": {"name", "pid", "tid", "ts", "dur"},
    "B": {"name", "pid", "tid", "ts"},
    "E": {"pid", "tid", "ts"},
    "i": {"name", "pid", "ts", "s"},
    "C": {"name", "pid", "ts", "args"},
    "M": {"name", "pid", "args"},
}
KNOWN = {"name", "cat", "pid", "tid", "ts", "dur", "s", "args"}
# Of descriptions: the argument, and its type.
DESCRIBED = {
    "process_name": ("name", str),
    "thread_name": ("name", str),
    "process_sort_index": ("sort_index", int),
    "thread_sort_index": ("sort_index", int),
}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def check_event(event):
    kind = event["ph"]
    assert kind in NEEDED, event
    assert NEEDED[kind] <= event.keys() <= KNOWN | {"ph"}, event
    for member in ("pid", "tid"):
        assert isinstance(event.get(member, 0), int), event
    for member in ("ts", "dur"):
        assert is_number(event.get(member, 0)), event
    assert event.get("dur", 0) >= 0, event
    assert isinstance(event.get("args", {}), dict), event
    assert isinstance(event.get("name", ""), str) and isinstance(event.get("cat", ""), str), event
    if kind == "C":
        assert event["args"] and all(map(is_number, event["args"].values())), event
    if kind == "i":
        assert event["s"] in ("g", "p", "t"), event
    if kind == "M":
        check_description(event)


def check_description(event):
    name, args = event["name"], event["args"]
    assert name in DESCRIBED, event
    if name == "process_name" and list(args) == ["start_time_since_epoch_in_micros"]:
        assert is_number(args["start_time_since_epoch_in_micros"]), event
        return  # the original's readers need it; others see no name and go on
    member, kind = DESCRIBED[name]
    assert type(args.get(member)) is kind, event
    assert "tid" in event or not name.startswith("thread"), event


def check_nesting(events):
    """Events of one thread that overlap without being nested are dropped by viewers."""
    open_ends = {}
    spans = sorted((e for e in events if e["ph"] == "X"), key=lambda e: (e["ts"], -e["dur"]))
    for event in spans:
        ends = open_ends.setdefault((event["pid"], event["tid"]), [])
        while ends and ends[-1] <= event["ts"]:
            ends.pop()
        assert not ends or event["ts"] + event["dur"] <= ends[-1], event
        ends.append(event["ts"] + event["dur"])


def checked(path):
    """Returns the events of a file, all of which are valid."""
    text = path.read_text(encoding="utf-8")

    def refuse(word):
        raise AssertionError(f"{path}: {word} is no JSON")

    events = json.loads(text, parse_constant=refuse)
    if isinstance(events, dict):
        events = events["traceEvents"]
    assert events and all(isinstance(event, dict) for event in events)
    for event in events:
        check_event(event)
    check_nesting(events)
    return events
