"""The report as plain data, from a history on the disk."""

import json
import subprocess

import pytest

from conftest import PROGRAMS


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    path = tmp_path_factory.mktemp("history") / "gua.db"
    subprocess.run(
        [PROGRAMS / "gua", "demo", "--db", path, "--days", "3", "--at", "2026-11-08T12:00:00Z"],
        check=True,
        capture_output=True,
    )
    return path


# Everything that a report can have in it.
MORE = ["--price", "2.5", "--compare", "24h"]
WINDOW = [*MORE, "--from", "2026-11-06", "--until", "2026-11-08T12:00:00Z", "--tz", "Europe/Berlin"]


def test_a_report_is_what_the_program_tells(lab, history):
    found = lab.json(
        f"""
        import dataclasses, datetime, gua, json
        report = gua.report(from_='2026-11-06', until='2026-11-08T12:00:00Z', tz='Europe/Berlin', db={str(history)!r}, price=2.5, compare='24h')
        assert report.window.to == datetime.datetime(2026, 11, 8, 12, tzinfo=datetime.timezone.utc)
        assert report.states.active.gpu_hours > 0 and report.cards[0].states.idle_held.share is not None
        assert '→' in report._repr_html_() and 'A100' in report._repr_html_()
        print(json.dumps(dataclasses.asdict(report), default=str))
        """,
        None,
    )
    command = [PROGRAMS / "gua", "report", "--json", "--db", history, *WINDOW]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert same(found, json.loads(done.stdout)), "a field of the JSON has no place in gua/_report.py"


def same(ours, theirs):
    """The same names and values; moments are other objects, and `from` has another name."""
    if isinstance(theirs, dict):
        ours = {key.rstrip("_"): value for key, value in ours.items()}
        return set(ours) == set(theirs) and all(
            key in ("from", "to", "requested_to") or same(ours[key], value) for key, value in theirs.items()
        )
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return ours == theirs


def test_windows_accounts_and_errors(lab, history):
    lab.python(
        f"""
        import datetime, gua, pytest
        db = {str(history)!r}
        until = datetime.datetime(2026, 11, 8, 12, tzinfo=datetime.timezone.utc)
        day = gua.report('24h', until=until, db=db)
        assert day.window.seconds == 86400
        assert gua.report(datetime.timedelta(days=1), until=until, db=db) == day
        assert gua.report(86400, until=until.replace(tzinfo=None), db=db) == day
        assert [one.active_percent for one in day.basis] == [10] and not day.basis[0].imported
        with pytest.raises(TypeError, match='active_percent'):
            gua.report('24h', until=until, db=db, active_percent=50)
        cards = sum(card.states.idle_held.gpu_hours for card in day.cards)
        assert abs(sum(one.idle_held_gpu_hours for one in day.accounts) - cards) < 1e-6
        idle = gua.report('24h', until=until, db=db, sort='idle').accounts
        assert idle[0].idle_held_gpu_hours == max(one.idle_held_gpu_hours for one in day.accounts)
        with pytest.raises(ValueError, match='no price of a GPU-hour to sort by'):
            gua.report('24h', until=until, db=db, sort='cost')
        priced = gua.report('24h', until=until, db=db, by=['user', 'card'], compare='previous',
                            price=[2.5, 'H100=4'], price_kwh=0.3, currency='EUR')
        assert priced.energy_money.cost_per_kwh == 0.3 and day.energy_money is None
        assert priced.accounts_by == ['user', 'card'] and priced.money.currency == 'EUR'
        assert priced.compared.window.to == day.window.from_
        assert set(account.by for account in priced.accounts) == set(['user', 'card'])
        name = next(account.name for account in priced.accounts if account.name)
        page = gua.report('24h', until=until, db=db, user=name)
        assert page.person.name == name and page.person.suggestion['kind']
        assert page.verdict is None and page.heatmap is None
        assert page.states.active.gpu_hours == page.person.active_gpu_hours
        assert str(page) == repr(page)[1:-1] and 'observed' in page._repr_html_()
        with pytest.raises(gua.GuaError, match='nobody called nobody-here'):
            gua.report('24h', until=until, db=db, user='nobody-here')
        assert len(repr(day)) < 100 and str(day).startswith(repr(day)[1:-1] + ': ')
        assert gua.report(from_=datetime.date(2026, 11, 7), until=until, db=db).window.seconds == 129600
        with pytest.raises(TypeError, match='a length of time is seconds'):
            gua.report(until, db=db)
        with pytest.raises(ValueError, match='since cannot be used with from'):
            gua.report('24h', from_=until, db=db)
        assert gua.report(period='2024-10', tz='UTC', db=db).window.seconds == 31 * 86400
        with pytest.raises(ValueError, match='since cannot be used with period'):
            gua.report('24h', period='today', db=db)
        with pytest.raises(ValueError, match='`soon` is no period: expected today, yesterday'):
            gua.report(period='soon', db=db)
        with pytest.raises(ValueError, match='`planet` is no by: expected one of user, job'):
            gua.report('24h', by='planet', db=db)
        assert isinstance(day.cards[0], gua.parts.CardReport)
        with pytest.raises(ValueError, match='`soon` is no since: expected'):
            gua.report('soon', db=db)
        with pytest.raises(gua.HistoryError, match='nowhere'):
            gua.report(db='/nowhere/gua.db')
        with pytest.raises(gua.HistoryError):
            gua.report()
        """,
        None,
    )


def test_tables_for_pandas(lab, history):
    pytest.importorskip("pandas")
    lab.python(
        f"""
        import gua, pytest
        report = gua.report('3d', until='2026-11-08T12:00:00Z', db={str(history)!r})
        cards = report.to_frame()
        assert len(cards) == len(report.cards) > 0 and cards['active_gpu_hours'].sum() > 0
        assert 'mean_utilization_percent' in cards
        assert len(report.to_frame('heatmap')) > 24
        for part in ('accounts', 'sessions', 'basis', 'gaps'):
            report.to_frame(part)
        with pytest.raises(ValueError, match="'all' is no part of a report"):
            report.to_frame('all')
        """,
        None,
    )


def test_without_pandas_it_says_what_is_missing(lab, history):
    lab.python(
        f"""
        import sys
        sys.modules['pandas'] = None
        import gua, pytest
        with pytest.raises(ImportError, match='pip install pandas'):
            gua.report('3d', until='2026-11-08T12:00:00Z', db={str(history)!r}).to_frame()
        """,
        None,
    )
