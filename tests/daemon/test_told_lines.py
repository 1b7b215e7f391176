"""Lines as the daemon tells them: by number, secrets hidden, floods counted."""

from __future__ import annotations

from neuronwatch.daemon import status, texts
from neuronwatch.daemon.tails import Tails
from neuronwatch.model.live import Appended, Delivery


def told(tails: Tails, *items: Appended) -> list[dict]:
    for item in items:
        tails.add(item.path, item.data, item.dropped, item.fresh, item.line)
    return status.lines(Delivery("job", 1000.0, appended=items), tails)


def test_secrets_are_hidden_in_events():
    found = told(
        Tails(),
        Appended(
            "a",
            b"export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY1\nHF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz012345\nx\n",
        ),
    )
    text = "\n".join(found[0]["lines"])
    assert "wJalr" not in text and "hf_abc" not in text and text.endswith("\nx") and len(found[0]["lines"]) == 3


def test_a_private_key_over_many_lines_is_hidden_and_the_lines_stay_as_many():
    key = ["-----BEGIN RSA PRIVATE KEY-----", *["MIIEowIBAAKCAQEA7bq1" * 3] * 5, "-----END RSA PRIVATE KEY-----", "after it"]
    found = status.hidden_lines(key)
    assert len(found) == len(key) and "MIIE" not in "".join(found) and status.hidden_lines([]) == []


def test_a_long_line_is_cut_and_says_so_and_a_secret_at_the_cut_stays_hidden():
    secret = "hf_abcdefghijklmnopqrstuvwxyz012345"
    shown = status.hidden_lines(["x" * 1980 + " HF_TOKEN=" + secret + " more" * 1000])[0]
    assert shown.endswith("[cut: a long line]") and "hf_abc" not in shown and len(shown) < 2100


def test_lines_have_numbers():
    tails = Tails()
    assert told(tails, Appended("a", b"1\n2\n"))[0]["line"] == 1
    assert [
        item["line"] for item in told(tails, Appended("a", b"3\n"), Appended("b", b"x\n"), Appended("a", b"7\n", dropped=3))
    ] == [3, 1, 7]
    fresh = told(tails, Appended("a", b"8\n"), Appended("a", b"1\n", fresh=True))
    assert [(item["line"], item["fresh"]) for item in fresh] == [(0, False), (1, True)]
    assert told(tails, Appended("a", b"half"))[0] == {
        "path": "a",
        "time": 1000.0,
        "lines": ["half"],
        "line": 2,
        "left_out": 0,
        "fresh": False,
        "unfinished": True,
    }
    assert told(tails, Appended("a", b" whole\n3\n"))[0]["line"] == 2


def test_of_a_flood_the_last_lines_are_told_and_the_rest_counted():
    found = told(Tails(), Appended("a", b"x\n" * (status.MAX_LINES + 50), dropped=7))[0]
    assert (len(found["lines"]), found["left_out"], found["line"]) == (status.MAX_LINES, 57, 58)


def test_lines_know_when_they_came_but_for_those_that_were_there_before():
    tails = Tails()
    tails.add("a", b"old\nolder\n", now=1000.0)
    tails.add("a", b"new\n", now=1010.4)
    tails.add("a", b"ha", now=1020.0)
    tails.add("a", b"lf\nnext\n", now=1021.0)
    assert texts.tail(tails, "a", 50)["came"] == [None, None, 1010, 1021, 1021]
    assert texts.tail(tails, "a", 2)["came"] == [1021, 1021]
    tails.add("a", b"anew\n", fresh=True, now=1030.0)
    assert texts.tail(tails, "a", 1)["came"] == [1030]
    for second in range(3000):
        tails.add("a", b"x\n", now=2000.0 + second)
    assert texts.tail(tails, "a", 2)["came"] == [4998, 4999]
    tails.forget("a")
    tails.add("a", b"y\n", now=9000.0)
    assert texts.tail(tails, "a", 1)["came"] == [9000]
