"""`make bench-check` reports a loss of more than 25 %, but only if two tries show it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
import bench  # noqa: E402
import check  # noqa: E402
from page import between, table  # noqa: E402

FIGURES = [
    ("record", "x the original", lambda r: r["c"]["record"], ">= 100"),
    ("read", "of pread()", lambda r: r["c"]["read"], ""),
    ("refresh", "x", lambda r: r["c"]["refresh"], "about 1"),
    ("unwanted", "ns", lambda r: r["c"]["unwanted"], "< 100"),
]
ASWAS = {"record": 200.0, "read": 0.8, "refresh": 1.2, "unwanted": 50.0}
PAGE = table(
    ["what", "median", "spread", "unit", "to reach", "reached"],
    [[what, ASWAS[what], "", unit, goal, "yes"] for what, unit, _, goal in FIGURES],
)


def rounds(**changed):
    """Returns three recorded rounds with these changes; in one of them the machine was busy."""
    usual = {"c": {**ASWAS, **changed}}
    return [usual, {"c": {"record": 1.0, "read": 0.01, "refresh": 9.0, "unwanted": 999.0}}, usual]


@pytest.fixture(autouse=True)
def figures(monkeypatch):
    monkeypatch.setattr(check, "FIGURES", FIGURES)


def checked(*measured):
    """Returns the exit of a check that measures these in turn, and the number of measurements."""
    left = list(measured)
    return check.check(PAGE, lambda: left.pop(0)), len(measured) - len(left)


def test_as_recorded():
    assert checked(rounds()) == (0, 1)


@pytest.mark.parametrize(
    "slower",
    [{"record": 149.0}, {"read": 0.59}, {"refresh": 1.61}],
    ids=lambda each: next(iter(each)),
)
def test_a_planted_loss(slower, capsys):
    assert checked(rounds(**slower), rounds(**slower)) == (1, 2)
    [lost] = [line for line in capsys.readouterr().out.splitlines() if "SLOWER" in line][1:]
    assert lost.startswith(f"| {next(iter(slower))} |")


@pytest.mark.parametrize(
    "within", [{"record": 151.0}, {"read": 0.61}, {"refresh": 1.59}, {"record": 999.0}]
)
def test_what_is_no_loss(within):
    assert checked(rounds(**within)) == (0, 1)


def test_nanoseconds_are_of_the_machine():
    assert checked(rounds(unwanted=500.0)) == (0, 1)


def test_the_unit_says_which_way_is_slower():
    for what, unit, _, goal in bench.FIGURES:
        is_less_better = unit in check.LESS_IS_BETTER
        assert unit in check.NO_RATIO or is_less_better == (goal[:1] in ("<", "a")), what


def test_what_is_fast_at_the_second_try_was_no_loss():
    assert checked(rounds(read=0.1), rounds()) == (0, 2)
    # A loss in only the second try does not count either: the first was fast.
    assert checked(rounds(read=0.1), rounds(record=1.0)) == (0, 2)


def test_a_figure_that_is_not_on_the_page_is_told(monkeypatch, capsys):
    more = ("new", "of write()", lambda r: 1.0, "")
    monkeypatch.setattr(check, "FIGURES", [*FIGURES, more])
    assert checked(rounds()) == (0, 1)
    assert "no row for 'new'" in capsys.readouterr().out


def test_a_table_takes_its_place_in_the_page():
    page = "a\n<!-- bench: t -->\nold\n<!-- /bench: t -->\nb\n"
    assert between("t", "new", page) == "a\n<!-- bench: t -->\nnew\n<!-- /bench: t -->\nb\n"
    with pytest.raises(ValueError, match="has 0 places for 'u'"):
        between("u", "new", page)
