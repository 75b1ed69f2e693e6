#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""profconv.distributed on Dask: a scheduler and two worker processes, one of which is killed in the middle, give the
bytes of the local merge; so does a LocalCluster; failed inputs are tried again and reported.

Inputs come over HTTP from this process, which sees how far the run is and can hold back, break off and refuse answers.
"""
import http.server
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import pybinding  # noqa: E402

pybinding.run_under("distributed")
pybinding.start()
import distributed  # noqa: E402

import profconv  # noqa: E402
import profconv.distributed as fleet  # noqa: E402

COUNT = 40
DEADLINE = 180  # seconds for anything to happen


class Server:
    """Serves /<number>.pb.gz. `delay`: seconds before each answer; `fail`: {number: how many times 503 comes first};
    `cut`: {number: how many times the body ends too early}."""

    def __init__(self, count):
        self.data = [pybinding.synthetic(i).to_bytes("pprof") for i in range(count)]
        self.delay, self.fail, self.cut = 0.0, {}, {}
        self.served = [0] * count
        self.lock = threading.Condition()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, *_arguments):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def answer(self, request):
        number = int(request.path.strip("/").split(".")[0])
        time.sleep(self.delay)
        with self.lock:
            self.served[number] += 1
            refuse = self.fail.get(number, 0) >= self.served[number]
            cut = self.cut.get(number, 0) >= self.served[number]
            self.lock.notify_all()
        if refuse or number >= len(self.data):
            request.send_error(503)
            return
        data = self.data[number]
        request.send_response(200)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        try:
            request.wfile.write(data[:len(data) // 2] if cut else data)
        except OSError:
            pass  # the worker is gone

    def wait_for(self, count):
        with self.lock:
            assert self.lock.wait_for(lambda: sum(self.served) >= count, DEADLINE), self.served

    def reset(self):
        with self.lock:
            self.delay, self.fail, self.cut = 0.0, {}, {}
            self.served = [0] * len(self.data)

    def urls(self):
        return [f"http://127.0.0.1:{self.http.server_address[1]}/{i}.pb.gz" for i in range(len(self.data))]


class Processes:
    """A scheduler and workers, each a process of its own without a nanny: one that is killed stays away."""

    def __init__(self, folder, workers):
        self.folder = folder
        self.env = dict(os.environ, PYTHONPATH=pybinding.PACKAGE, PYTHONWARNINGS="ignore")
        self.running = []
        file = os.path.join(folder, "scheduler.json")
        self.start("scheduler", ["dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                                 "--scheduler-file", file])
        end = time.monotonic() + DEADLINE
        while not os.path.exists(file):
            assert time.monotonic() < end and self.running[0].poll() is None, "the scheduler does not start"
            time.sleep(0.1)
        for i in range(workers):
            self.start(f"worker{i}", ["dask_worker", "--scheduler-file", file, "--nthreads", "1", "--no-nanny",
                                      "--no-dashboard",
                                      "--memory-limit", "1GB", "--name", f"worker{i}", "--local-directory", folder])
        self.client = distributed.Client(scheduler_file=file, timeout=DEADLINE)
        self.client.wait_for_workers(workers, timeout=DEADLINE)
        self.address = self.client.scheduler.address

    def start(self, name, arguments):
        log = open(os.path.join(self.folder, name + ".log"), "wb")
        module = "distributed.cli." + arguments[0]
        self.running.append(subprocess.Popen([sys.executable, "-m", module, *arguments[1:]], env=self.env, stdout=log,
                                             stderr=subprocess.STDOUT))
        log.close()

    def stop(self):
        self.client.close()
        for process in self.running[::-1]:
            process.terminate()
        for process in self.running:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Distributed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(COUNT)
        cls.want = profconv.merge([bytes(d) for d in cls.server.data])
        cls.bytes = cls.want.to_bytes("pprof")
        cls.folder = tempfile.mkdtemp()
        cls.processes = Processes(cls.folder, 2)

    @classmethod
    def tearDownClass(cls):
        cls.processes.stop()
        cls.server.http.shutdown()
        shutil.rmtree(cls.folder, ignore_errors=True)

    def setUp(self):
        self.server.reset()

    def same(self, result, skipped=()):
        self.assertEqual([s.index for s in result.skipped], list(skipped))
        self.assertEqual(result.count, COUNT - len(skipped))
        if not skipped:
            self.assertEqual(result.profile.dump(), self.want.dump())
            self.assertEqual(result.profile.to_bytes("pprof"), self.bytes)

    def test_1_client_and_address(self):
        urls = self.server.urls()
        self.same(fleet.merge(urls, client=self.processes.client))
        self.same(fleet.merge(urls, client=self.processes.address, batch=3, fan_in=2, max_memory=256 << 20))
        self.assertGreaterEqual(min(self.server.served), 2)

    def test_2_weights_and_files(self):
        paths = []
        for i, data in enumerate(self.server.data):
            paths.append(os.path.join(self.folder, f"{i}.pb.gz"))
            with open(paths[-1], "wb") as file:
                file.write(data)
        weights = [1 + i % 3 for i in range(COUNT)]
        result = fleet.merge(["file://" + p if i % 2 else p for i, p in enumerate(paths)], client=self.processes.client,
                             batch=7,
                             weights=weights)
        self.assertEqual(result.profile.to_bytes("pprof"), profconv.merge(paths, weights=weights).to_bytes("pprof"))

    def test_3_failed_inputs(self):
        self.server.fail = {3: 1, 7: 99}
        self.server.cut = {11: 1}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = fleet.merge(self.server.urls(), client=self.processes.client, batch=5, retries=2, delay=0.01)
        self.same(result, [7])
        self.assertIn("503", result.skipped[0].reason)
        self.assertEqual(result.skipped[0].attempts, 3)
        self.assertTrue(any(isinstance(w.message, fleet.SkippedWarning) for w in caught))
        want = profconv.merge([d for i, d in enumerate(self.server.data) if i != 7])
        self.assertEqual(result.profile.to_bytes("pprof"), want.to_bytes("pprof"))
        self.server.reset()
        self.server.fail = {7: 99}
        with self.assertRaises(Exception) as failed:
            fleet.merge(self.server.urls(), client=self.processes.client, retries=0, on_error="raise")
        self.assertIn("503", str(failed.exception))

    def test_4_a_worker_is_killed(self):
        self.server.delay = 0.15
        results, failures = [], []

        def run():
            try:
                results.append(fleet.merge(self.server.urls(), client=self.processes.client, batch=2, fan_in=2))
            except BaseException as exc:
                failures.append(exc)

        thread = threading.Thread(target=run)
        thread.start()
        self.server.wait_for(COUNT // 3)
        victim = self.processes.running[-1]
        victim.send_signal(signal.SIGKILL)
        victim.wait(20)
        served_then = sum(self.server.served)
        self.assertLess(served_then, COUNT)  # it was in the middle
        thread.join(DEADLINE)
        self.assertEqual(failures, [])
        self.assertFalse(thread.is_alive())
        self.same(results[0])
        self.assertEqual(len(self.processes.client.scheduler_info()["workers"]), 1)
        self.assertGreater(sum(self.server.served), COUNT)  # what the dead worker had was read again

    def test_5_local_cluster(self):
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
                                      memory_limit="1GB", local_directory=self.folder) as cluster:
            self.same(fleet.merge(self.server.urls(), client=cluster))


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = pybinding.PACKAGE  # for workers of the LocalCluster
    unittest.main(warnings="ignore")
