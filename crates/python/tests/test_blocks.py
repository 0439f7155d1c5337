"""Sub-tracking: marks, analyses and comparisons, held against the second program on the same files."""

import json
import subprocess
from pathlib import Path

import pytest

from conftest import PROGRAMS, ROOT

RUN = """
import asyncio, gua, json, os
from pretend import until

with gua.Tracker(sleep_time=0.01, tracking_file='run{ending}') as tracker:
    def three_samples():
        before = tracker.details.samples
        until(lambda: tracker.details.samples > before + 3)

    @gua.sub_track(code_block_name='outer', sub_tracking_file='blocks{ending}')
    def outer():
        with gua.SubTracker('inner', sub_tracking_file='blocks{ending}'):
            three_samples()
        return 5

    @gua.sub_track('later', sub_tracking_file='blocks{ending}')
    async def later():
        three_samples()
        return 6

    assert [outer(), outer(), asyncio.run(later())] == [5, 5, 6]
    with gua.SubTracker(code_block_name='empty', sub_tracking_file='blocks{ending}'):
        pass
"""


@pytest.mark.parametrize("ending", [".csv", ".sqlite"])
def test_an_analysis_is_what_the_program_tells(lab, ending):
    told = lab.json(
        RUN.format(ending=ending)
        + f"""
analyzer = gua.SubTrackingAnalyzer('run{ending}', 'blocks{ending}')
assert analyzer.load_code_block_names() == ['empty', 'inner', 'later', 'outer']
pairs = analyzer.load_timestamp_pairs('outer')
assert len(pairs) == 2 and all(begin < end for begin, end in pairs)
assert len(analyzer.load_timepoints(pairs)) >= 6
assert 'main_ram' in analyzer.load_timepoints(pairs)[0]
results = analyzer.sub_tracking_results()
assert results.overall == analyzer.overall_timepoint_results()
assert results.static_data == analyzer.read_static_data()
by_name = {{block.name: block for block in results.code_block_results}}
assert by_name['outer'].num_calls == 2 and by_name['outer'].num_non_empty_calls == 2
assert by_name['empty'].resource_usage['main_ram']['mean'] is None or by_name['empty'].num_timepoints
print(json.dumps([results.to_json(), str(results)]))
"""
    )
    found, text = told
    analyze = ["sub-track", "analyze", f"--tf=run{ending}", f"--stf=blocks{ending}"]
    program = [str(PROGRAMS / "gpu-tracker"), *analyze]
    done = subprocess.run(program, cwd=lab.folder, capture_output=True, text=True, check=True)
    assert text.rstrip("\n") == done.stdout.rstrip("\n")
    done = subprocess.run(
        [*program, "-f", "json"], cwd=lab.folder, capture_output=True, text=True, check=True
    )
    assert found == json.loads(done.stdout)


def test_a_block_shorter_than_the_sleep_time_has_one_row(lab):
    lab.python(
        """
        import gua
        for ending in ('.csv', '.sqlite'):
            with gua.Tracker(sleep_time=3600, tracking_file='short' + ending):
                with gua.SubTracker('inner', sub_tracking_file='marks' + ending):
                    pass
            analyzer = gua.SubTrackingAnalyzer('short' + ending, 'marks' + ending)
            (row,) = analyzer.load_timepoints([(0, 1e12)])
            assert row['main_ram'] > 0 and row['main_n_threads'] >= 1, row
            results = analyzer.sub_tracking_results()
            assert results.overall['main_ram']['max'] == row['main_ram']
            # The row is of the tracker's end, after the inner block.
            (inner,) = results.code_block_results
            assert inner.num_timepoints == 0 and inner.resource_usage['main_ram']['max'] is None
            assert 'no values' in str(results) and 'nan' not in str(results).lower()
        """
    )


def test_sessions_side_by_side(lab):
    lab.python(
        RUN.format(ending=".csv")
        + """
results = gua.SubTrackingAnalyzer('run.csv', 'blocks.csv').sub_tracking_results()
for name in 'ab':
    with open(f'{name}.json', 'w') as file:
        json.dump(results.to_json(), file)
comparison = gua.TrackingComparison({'A': 'a.json', 'B': 'b.json'})
compared = comparison.compare('max')
assert list(compared.to_json()) == [
    'overall_resource_usage', 'code_block_resource_usage', 'code_block_compute_time']
assert compared.overall_resource_usage['main_ram'] == {
    'A': results.overall['main_ram']['max'], 'B': results.overall['main_ram']['max']}
assert 'outer' in str(compared)
import pytest
with pytest.raises(ValueError, match='`median` is no statistic to compare'):
    comparison.compare('median')
with pytest.raises(ValueError, match='There is nothing to compare'):
    gua.TrackingComparison({})
with pytest.raises(FileNotFoundError, match='nowhere.json'):
    gua.TrackingComparison({'A': 'nowhere.json'})
with pytest.raises(ValueError, match='`run.csv` is no analysis'):
    gua.TrackingComparison({'A': 'run.csv'})
"""
    )


def test_names_and_files_by_default(lab):
    lab.python(
        """
        import gua, os, pytest, sys
        block = gua.SubTracker()
        assert block.code_block_name == 'script.py:3', block.code_block_name
        assert block.sub_tracking_file == f'{os.getpid()}.csv'
        with block:
            pass
        with gua.SubTracker(code_block_attribute='here') as other:
            assert other.code_block_name == 'script.py:here'
        @gua.sub_track()
        def work():
            pass
        work()
        names = gua.SubTrackingAnalyzer(None, block.sub_tracking_file).load_code_block_names()
        assert sorted(os.path.basename(name) for name in names) == [
            'script.py:3', 'script.py:here', 'script.py:work']
        with open('old.csv', 'w') as file:
            file.write('old')
        with pytest.raises(FileExistsError, match='File old.csv already exists'):
            gua.SubTracker(sub_tracking_file='old.csv')
        gua.SubTracker(sub_tracking_file='old.csv', overwrite=True)
        with pytest.raises(ValueError, match='End it in .csv or .sqlite'):
            gua.SubTracker(sub_tracking_file='a.txt')
        with pytest.raises(ValueError, match='tracking_file is None'):
            gua.SubTrackingAnalyzer(None, 'old.csv').read_static_data()
        """
    )


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_the_files_of_several_processes_are_combined(lab, method):
    lab.python(
        f"""
        import gua, multiprocessing, os

        @gua.sub_track('work')
        def work():
            pass

        if __name__ == '__main__':
            work()
            context = multiprocessing.get_context({method!r})
            children = [context.Process(target=work) for _ in range(2)]
            for child in children:
                child.start()
            for child in children:
                child.join()
            files = [f'{{pid}}.csv' for pid in (os.getpid(), *(child.pid for child in children))]
            all = gua.SubTrackingAnalyzer(None, 'all.csv')
            all.combine_sub_tracking_files(files)
            assert len(all.load_timestamp_pairs('work')) == 3
        """
    )


@pytest.mark.parametrize("ending", [".csv", ".sqlite"])
def test_a_fork_goes_on_with_the_file_of_its_parent(lab, ending):
    lab.python(
        f"""
        import gua, os
        def mark(name):
            with gua.SubTracker(name, sub_tracking_file='one{ending}'):
                pass
        mark('parent')
        pid = os.fork()
        if pid == 0:
            mark('child')
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        mark('parent')
        one = gua.SubTrackingAnalyzer(None, 'one{ending}')
        assert len(one.load_timestamp_pairs('parent')) == 2
        assert len(one.load_timestamp_pairs('child')) == 1
        """
    )


def test_the_captured_files_of_gpu_tracker_read_as_theirs(lab):
    captured = Path(__file__).parents[2] / "track/src/gpu_tracker/sub_tracking/captured"
    told = lab.json(
        f"""
        import gua, json
        folder = {str(captured)!r}
        analyzer = gua.SubTrackingAnalyzer(folder + '/tracking.csv', folder + '/sub_tracking.csv')
        print(json.dumps(str(analyzer.sub_tracking_results())))
        """
    )
    assert told == (captured / "analysis.txt").read_text()


def test_marks_stay_in_the_file_that_they_began_in(lab):
    lab.python(
        """
        import gua, os
        os.mkdir('x')
        with gua.SubTracker('B', sub_tracking_file='b.csv'), gua.SubTracker('C'):
            os.chdir('x')
        @gua.sub_track('D')
        def later():
            pass
        later()
        assert os.listdir('.') == []
        assert gua.SubTrackingAnalyzer(None, '../b.csv').load_code_block_names() == ['B']
        usual = f'../{os.getpid()}.csv'
        assert gua.SubTrackingAnalyzer(None, usual).load_code_block_names() == ['C', 'D']
        """,
        None,
    )


@pytest.mark.parametrize("ending", [".csv", ".sqlite"])
def test_many_forks_and_threads_mark_in_one_file(lab, ending):
    lab.python(
        f"""
        import gua, os, sys, threading
        sys.setswitchinterval(1e-6)
        name = 'marks{ending}'
        def work(block, times):
            for _ in range(times):
                with gua.SubTracker(block, sub_tracking_file=name, overwrite=True):
                    pass
        threads = [threading.Thread(target=work, args=('thread', 10)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pids = []
        for _ in range(4):
            pid = os.fork()
            if pid == 0:
                try:
                    work('fork', 50)
                    os._exit(0)
                except BaseException as error:
                    print(repr(error), flush=True)
                    os._exit(1)
            pids.append(pid)
        assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 4
        analyzer = gua.SubTrackingAnalyzer(None, name)
        counts = [len(analyzer.load_timestamp_pairs(block)) for block in ('thread', 'fork')]
        assert counts == [40, 200], counts
        """,
        None,
    )


def test_a_generator_is_a_block_for_as_long_as_it_lives(lab):
    lab.python(
        """
        import asyncio, functools, gua, time

        @gua.sub_track('values', sub_tracking_file='b.csv')
        def values():
            got = yield 1
            time.sleep(0.02)
            yield got

        @gua.sub_track('later', sub_tracking_file='b.csv')
        async def later():
            got = yield 1
            await asyncio.sleep(0.02)
            yield got

        steps = values()
        assert next(steps) == 1 and steps.send(5) == 5 and list(steps) == []

        async def main():
            steps = later()
            assert [await steps.__anext__(), await steps.asend(6)] == [1, 6]
            assert [value async for value in steps] == []
        asyncio.run(main())

        class Adder:
            def __call__(self, one):
                return one + 1
        assert gua.sub_track(sub_tracking_file='b.csv')(functools.partial(Adder()))(2) == 3

        analyzer = gua.SubTrackingAnalyzer(None, 'b.csv')
        for block in ('values', 'later'):
            (begin, end), = analyzer.load_timestamp_pairs(block)
            assert end - begin >= 0.02
        assert any(name.endswith('script.py:Adder') for name in analyzer.load_code_block_names())
        """,
        None,
    )


@pytest.mark.parametrize("ending", [".csv", ".sqlite"])
def test_files_that_are_not_there_and_files_of_others_are_told_apart(lab, ending):
    lab.python(
        f"""
        import gua, pytest
        analyzer = gua.SubTrackingAnalyzer('none{ending}', 'nothing{ending}')
        for ask in (analyzer.load_code_block_names, analyzer.read_static_data):
            with pytest.raises(FileNotFoundError, match='no'):
                ask()
        open('other{ending}', 'w').write('x' * 5000)
        with pytest.raises(ValueError, match='other{ending}'):
            gua.SubTrackingAnalyzer(None, 'other{ending}').load_code_block_names()
        """,
        None,
    )


def test_files_that_gpu_tracker_wrote_are_read(lab):
    captured = ROOT / "crates/track/src/gpu_tracker/sub_tracking/captured"
    told = lab.json(
        f"""
        import gua, json
        files = [{str(captured / 'tracking.csv')!r}, {str(captured / 'sub_tracking.csv')!r}]
        print(json.dumps(gua.SubTrackingAnalyzer(*files).sub_tracking_results().to_json()))
        """,
        None,
    )
    theirs = json.loads((captured / "analysis.json").read_text())
    assert set(told) == set(theirs)
    names = [[block["name"] for block in one["code_block_results"]] for one in (told, theirs)]
    counts = [[block["num_timepoints"] for block in one["code_block_results"]] for one in (told, theirs)]
    assert names[0] == names[1] and counts[0] == counts[1]
    for measure, statistics in theirs["overall"].items():
        for name, value in statistics.items():
            assert told["overall"][measure][name] == pytest.approx(value), (measure, name)
