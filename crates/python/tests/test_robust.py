"""Forks, spawns, threads, signals and sudden ends: nothing hangs, nothing leaks."""

import shutil
import subprocess
import sys

import pytest

COUNT_THREADS = "len(os.listdir('/proc/self/task'))"


def test_a_fork_in_the_block_leaves_the_measurement_alone(lab):
    lab.python(
        """
        import gua, os
        from pretend import until

        with gua.Tracker(sleep_time=0.01) as tracker:
            pid = os.fork()
            if pid == 0:
                # The child leaves the block as well, and takes its copy along.
                assert tracker.resource_usage is None and tracker.timeline == []
        if pid == 0:
            try:
                tracker.stop()
            except RuntimeError as error:
                said = str(error)
            assert said.startswith('Cannot stop tracking in a fork'), said
            del tracker
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        assert tracker.to_json()
        """
    )


def test_a_child_that_was_forked_is_measured_and_may_measure_itself(lab):
    lab.python(
        """
        import gua, multiprocessing, os
        from pretend import until

        def work(begin, ready, go):
            begin.wait()
            with gua.Tracker(sleep_time=0.01) as own:
                memory = b'x' * 100_000_000
                ready.set()
                go.wait()
            # The rest of the tree is not the child's.
            assert own.resource_usage.max_ram.main.total_rss > 0.1
            assert own.resource_usage.max_ram.descendents.total_rss == 0

        context = multiprocessing.get_context('fork')
        begin, ready, go = context.Event(), context.Event(), context.Event()
        with gua.Tracker(sleep_time=0.01) as tracker:
            child = context.Process(target=work, args=(begin, ready, go))
            child.start()
            begin.set()
            ready.wait()
            until(lambda: tracker.resource_usage.max_ram.descendents.total_rss > 0.1)
            go.set()
            child.join()
        assert child.exitcode == 0
        assert tracker.details.processes == 2
        """
    )


def test_a_fork_does_not_end_the_measurement_of_its_parent(lab):
    lab.python(
        """
        import gc, gua, os
        from pretend import until
        tracker = gua.Tracker(sleep_time=0.01, tracking_file='a.csv')
        tracker.start()
        for _ in range(20):
            pid = os.fork()
            if pid == 0:
                del tracker
                gc.collect()
                os._exit(0)
            os.waitpid(pid, 0)
        # An exit in order, with all that the interpreter does at its end.
        pid = os.fork()
        if pid == 0:
            raise SystemExit(5)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
        samples = tracker.details.samples
        until(lambda: tracker.details.samples > samples + 3)
        tracker.stop()
        """
    )


def test_spawned_pools_in_the_block(lab):
    lab.python(
        """
        import gua, multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        def square(number):
            return number * number

        if __name__ == '__main__':
            context = multiprocessing.get_context('spawn')
            with gua.Tracker(sleep_time=0.01) as tracker:
                with ProcessPoolExecutor(2, mp_context=context) as pool:
                    assert list(pool.map(square, range(5))) == [0, 1, 4, 9, 16]
            assert tracker.details.processes >= 3
            assert tracker.resource_usage.cpu_utilization.descendents.max_sum_percent > 0
            assert tracker.details.left_running <= 1  # the pool's own resource tracker
        """
    )


def test_two_trackers_at_the_same_time(lab):
    lab.python(
        """
        import gua, os
        from pretend import until
        with gua.Tracker(sleep_time=0.01) as outer:
            with gua.Tracker(sleep_time=0.02, ram_unit='bytes') as inner:
                until(lambda: inner.details.samples > 3)
            assert inner.state is gua.Tracker.State.STOPPED
            samples = outer.details.samples
            until(lambda: outer.details.samples > samples)
        assert outer.details.wall_seconds > inner.details.wall_seconds
        """
    )


def test_trackers_in_threads(lab):
    lab.python(
        """
        import gua, threading
        from pretend import until
        told = []
        def work():
            with gua.Tracker(sleep_time=0.01) as tracker:
                until(lambda: tracker.details.samples > 3)
            told.append(tracker.to_json())
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(told) == 8
        # One may be stopped by another thread than the one that started it.
        tracker = gua.Tracker()
        threading.Thread(target=tracker.start).start()
        until(lambda: tracker.state is gua.Tracker.State.STARTED)
        tracker.stop()
        """
    )


def test_many_trackers_leave_neither_threads_nor_files(lab):
    lab.python(
        f"""
        import gua, os
        from pretend import until
        def once():
            with gua.Tracker():
                pass
        once()
        files = len(os.listdir('/proc/self/fd'))
        for _ in range(50):
            once()
        for _ in range(20):
            forgotten = gua.Tracker()
            forgotten.start()
            del forgotten
        until(lambda: {COUNT_THREADS} == 1)
        until(lambda: len(os.listdir('/proc/self/fd')) <= files)
        """
    )


def test_an_interpreter_that_ends_without_stop(lab):
    script = lab.script(
        """
        import gua, sys
        from pretend import until
        tracker = gua.Tracker(sleep_time=0.01, tracking_file='rows.csv', resource_usage_file='far.json')
        tracker.start()
        until(lambda: tracker.details.samples > 3)
        sys.exit(4)
        """
    )
    done = lab.run("[[card]]\n", sys.executable, script)
    assert (done.returncode, done.stdout, done.stderr) == (4, "", "")
    assert len((lab.folder / "rows.csv").read_text().splitlines()) > 5
    assert not (lab.folder / "far.json").exists()


@pytest.mark.parametrize("call", ["nvmlInit*", "nvmlDeviceGetSamples", "nvmlShutdown"])
def test_a_driver_that_hangs_holds_up_neither_the_block_nor_the_end(lab, call):
    script = lab.script(
        """
        import gua, time
        with gua.Tracker(disable_logs=True) as tracker:
            pass
        assert tracker.to_json()['compute_time']['time'] > 0
        unknown = [one.figure for one in tracker.unknown]
        print(unknown)
        """
    )
    hangs = f'[[card]]\n[[fault]]\ncall = "{call}"\nhang = true\n'
    done = lab.run(hangs, sys.executable, script)
    assert done.returncode == 0, done.stderr
    if call == "nvmlInit*":
        assert done.stdout == "['all of the GPUs']\n"


def test_ctrl_c_in_the_block_keeps_what_was_measured(lab):
    lab.python(
        """
        import gua, os, signal, pytest
        tracker = gua.Tracker()
        with pytest.raises(KeyboardInterrupt):
            with tracker:
                os.kill(os.getpid(), signal.SIGINT)
                while True:
                    pass
        assert tracker.to_json()['compute_time']['time'] > 0
        """
    )


def test_what_a_panic_or_a_full_disk_does_is_told(lab):
    done = lab.run(
        None,
        sys.executable,
        lab.script(
            """
            import gua, os
            from pretend import until
            tracker = gua.Tracker(sleep_time=0.01, tracking_file='rows.csv')
            os.symlink('/dev/full', 'rows.csv')
            tracker.start()
            until(lambda: tracker.details.samples > 2)
            tracker.stop()
            assert tracker.to_json()
            """
        ),
    )
    assert done.returncode == 0, done.stderr
    assert "rows.csv" in done.stderr and "Samples are missing" in done.stderr


def test_a_file_that_cannot_be_kept_up_to_date_is_told(lab):
    lab.python(
        """
        import gua, logging, os, shutil
        from pretend import until
        told = []
        handler = logging.Handler()
        handler.emit = lambda record: told.append(record.getMessage())
        logging.getLogger('gua').addHandler(handler)
        def block():
            os.mkdir('folder')
            tracker = gua.Tracker(sleep_time=0.01, resource_usage_file='folder/far.json')
            shutil.rmtree('folder')
            with tracker:
                until(lambda: tracker.details.samples > 2)
            assert tracker.to_json()
        # What is over before the file was to be written has nothing to tell.
        until(lambda: block() or told)
        assert 'far.json` cannot be used: No such file' in told[0], told
        assert 'what was used so far' in told[0], told
        """
    )


def test_a_driver_that_hangs_in_the_loader_does_not_keep_the_interpreter_from_ending(lab):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    source = lab.folder / "hang.c"
    source.write_text(
        "#include <unistd.h>\n"
        "__attribute__((constructor)) static void hang(void) { for (;;) sleep(1); }\n"
    )
    library = lab.folder / "libhang.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    script = lab.script(
        """
        import gua, sys
        with gua.Tracker(disable_logs=True, resource_usage_file='far.json') as tracker:
            pass
        # Whoever loads a library from now on waits for ever, so nothing more is imported.
        print(tracker.to_json()['max_gpu_ram']['main'])
        sys.exit(3)
        """
    )
    done = lab.run(None, sys.executable, script, GUA_NVML=str(library))
    assert (done.returncode, done.stdout) == (3, "None\n"), done.stderr


@pytest.mark.parametrize("others", ["logging, concurrent.futures.thread", "slow"])
def test_threads_that_fork_at_once(lab, others):
    # Hooks that came before ours run after them, and may give up the interpreter.
    slow = "os.register_at_fork(before=lambda: time.sleep(0.001))"
    before = slow if others == "slow" else f"import {others}"
    lab.python(
        f"""
        import os, threading, time, warnings
        warnings.simplefilter('ignore')
        {before}
        import gua
        def forks():
            for _ in range(100):
                pid = os.fork()
                if pid == 0:
                    os._exit(0)
                os.waitpid(pid, 0)
        threads = [threading.Thread(target=forks) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        """,
        None,
    )


HANGS = '[[card]]\nuuid = "GPU-aaaa"\n[[fault]]\ncall = "nvmlInit*"\nhang = true\n'


@pytest.mark.parametrize("call", ["gua.gpus()", "gua.pick()", "gua.Tracker(gpu_uuids=['GPU-aaaa'])"])
def test_ctrl_c_is_heard_while_the_driver_hangs(lab, call):
    lab.python(
        f"""
        import gua, os, pytest, signal, threading, time
        from pretend import until
        def asks():
            names = [open(f'/proc/self/task/{{one}}/comm').read() for one in os.listdir('/proc/self/task')]
            return any(name.startswith('gua-') for name in names)
        def interrupt():
            until(asks)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt).start()
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            {call}
        # The driver would have been waited for as long as that.
        assert time.monotonic() - begun < 9
        """,
        HANGS,
    )


def test_a_fork_does_not_stop_the_others_while_the_driver_hangs(lab):
    lab.python(
        """
        import gua, os, threading, warnings
        warnings.simplefilter('ignore')
        tracker = gua.Tracker(disable_logs=True)
        tracker.start()
        beats, has_forked = [], threading.Event()
        def beat():
            while not has_forked.is_set():
                beats.append(1)
                has_forked.wait(0.01)
        other = threading.Thread(target=beat)
        other.start()
        before = len(beats)
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        during = len(beats) - before
        has_forked.set()
        other.join()
        assert during > 5, during
        """,
        HANGS,
    )


def test_forks_between_blocks_and_in_later_ones(lab):
    lab.python(
        """
        import gua, os, warnings
        def cards():
            with gua.Tracker() as tracker:
                pass
            return [card.uuid for card in tracker.details.cards]
        def forks(child):
            pid = os.fork()
            if pid == 0:
                os._exit(child())
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        def measures():
            # The driver that stays open is the parent's. The fork opens its own.
            return 7 if cards() == cards() == ['GPU-aaaa'] else 1
        assert cards() == ['GPU-aaaa']
        for _ in range(5):
            # A fork waits until the threads of the block have ended.
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter('always')
                forks(measures)
            assert not warned, [str(one.message) for one in warned]
            assert cards() == ['GPU-aaaa']
            with warnings.catch_warnings():
                # There are threads: it is measured.
                warnings.simplefilter('ignore')
                with gua.Tracker(disable_logs=True) as tracker:
                    forks(measures)
            assert len(tracker.details.cards) == 1
        """
    )


def test_a_driver_that_goes_and_comes_between_blocks(lab):
    lab.python(
        """
        import gua, os
        from pretend import until
        path = os.environ['NVML_SIM_SCENARIO']
        card = open(path).read()
        def becomes(text):
            with open(path + '.new', 'w') as file:
                file.write(text)
            os.replace(path + '.new', path)
        def block():
            with gua.Tracker(disable_logs=True) as tracker:
                pass
            return tracker
        for _ in range(3):
            assert len(block().details.cards) == 1
        for code in ('DRIVER_NOT_LOADED', 'UNINITIALIZED', 'LIB_RM_VERSION_MISMATCH'):
            becomes(card + f'[[fault]]\\ncall = "nvml*"\\ncode = "{code}"\\n')
            # The pretend driver looks now and then whether it is another.
            until(lambda: block().resource_usage.max_gpu_ram.system is None)
            for _ in range(2):
                away = block()
                assert [one.figure for one in away.unknown] == ['all of the GPUs'], away.unknown
            becomes(card + '[[card]]\\nuuid = "GPU-bbbb"\\n')
            until(lambda: len(block().details.cards) == 2)
            for _ in range(2):
                assert len(block().details.cards) == 2
        # One that hangs holds up neither end for long, and is read again when it is back.
        becomes(card + '[[fault]]\\ncall = "nvmlDeviceGetSamples"\\nhang = true\\n')
        until(lambda: block().details.gpu_end_bytes is None)
        becomes(card)
        until(lambda: block().details.gpu_end_bytes == 0)
        """
    )


def test_trackers_at_the_same_time_after_others(lab):
    lab.python(
        """
        import gua, threading
        def cards():
            with gua.Tracker() as outer:
                with gua.Tracker() as inner:
                    pass
                with gua.Tracker() as again:
                    pass
            return [len(one.details.cards) for one in (outer, inner, again)]
        for _ in range(5):
            assert cards() == [1, 1, 1]
        told = []
        def work():
            for _ in range(20):
                told.extend(cards())
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert told == [1] * (4 * 20 * 3)
        """
    )


def test_the_end_of_an_interpreter_right_after_a_block(lab):
    script = lab.script(
        """
        import gua, sys
        for _ in range(3):
            with gua.Tracker() as tracker:
                pass
        print(len(tracker.details.cards))
        sys.exit(4)
        """
    )
    for _ in range(5):
        done = lab.run("[[card]]\n", sys.executable, script)
        assert (done.returncode, done.stdout, done.stderr) == (4, "1\n", "")


def test_what_an_interpreter_loads_for_it(lab):
    loaded = lab.json(
        """
        import sys
        before = set(sys.modules)
        import gua, json
        with gua.Tracker(disable_logs=True):
            pass
        print(json.dumps(sorted(set(sys.modules) - before)))
        """
    )
    # Each of them costs more memory than the module itself.
    assert not {"typing", "dataclasses", "inspect", "logging", "asyncio"} & set(loaded), loaded
