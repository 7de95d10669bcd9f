"""Calls, against a server that answers as the test says."""
import asyncio
import concurrent.futures
import threading

import grpc
import pytest

import lathe_client
from lathe_client import _schema, errors


class Server(grpc.GenericRpcHandler):
    """Answers the calls of `answers`: name -> function of (request, context)."""

    def __init__(self, path):
        self.answers = {}
        self.calls = []
        self._server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), handlers=[self])
        self.address = f"unix:{path}"
        self._server.add_insecure_port(self.address)
        self._server.start()

    def service(self, details):
        service, name = details.method[len("/lathe.v1."):].split("/")
        method = _schema.methods(service)[name]

        def answer(request, context):
            self.calls.append((name, request))
            return self.answers[name](request, context)

        make = grpc.unary_stream_rpc_method_handler if method.is_stream else grpc.unary_unary_rpc_method_handler
        return make(answer, request_deserializer=method.request.FromString, response_serializer=method.response.SerializeToString)

    def stop(self):
        self._server.stop(None)


@pytest.fixture
def server(tmp_path):
    started = Server(tmp_path / "server.sock")
    yield started
    started.stop()


def get_job(state=2):
    return _schema.message("GetJobResponse")(job={"id": 7, "name": "net", "state": state})


def update(cursor, state=2):
    return _schema.message("WatchJobResponse")(cursor=cursor, job={"id": 7, "state": state}, events=[{"cursor": cursor, "kind": "job"}])


def test_a_server_that_is_away_for_a_moment_is_asked_again(server):
    failures = [2]

    def answer(request, context):
        if failures[0] > 0:
            failures[0] -= 1
            context.abort(grpc.StatusCode.UNAVAILABLE, "restarting")
        return get_job()

    server.answers["GetJob"] = answer
    with lathe_client.Client(server.address) as client:
        assert client.job(7).state == "RUNNING"
    assert len(server.calls) == 3


def test_an_error_of_the_server_arrives_with_its_words_and_is_not_repeated(server):
    words = "job 77: no such job; `lathe jobs` lists them"
    server.answers["GetJob"] = lambda request, context: context.abort(grpc.StatusCode.NOT_FOUND, words)
    with lathe_client.Client(server.address) as client, pytest.raises(errors.NotFound) as raised:
        client.job(77)
    assert raised.value.details == words
    assert raised.value.code == "NOT_FOUND"
    assert str(raised.value) == "GetJob: " + words
    assert len(server.calls) == 1


def test_an_error_that_has_no_class_keeps_its_code(server):
    server.answers["GetJob"] = lambda request, context: context.abort(grpc.StatusCode.DATA_LOSS, "damaged")
    with lathe_client.Client(server.address) as client, pytest.raises(lathe_client.LatheError) as raised:
        client.job(77)
    assert raised.value.code == "DATA_LOSS"


def test_nobody_there_is_said_after_the_retries(tmp_path):
    with lathe_client.Client(f"unix:{tmp_path}/nobody.sock", deadline_s=5) as client, pytest.raises(errors.Unavailable):
        client.job(1)


def test_an_answer_that_does_not_come_ends_at_the_deadline(server):
    ended = threading.Event()
    server.answers["GetJob"] = lambda request, context: ended.wait() and get_job()
    try:
        with lathe_client.Client(server.address, deadline_s=0.2) as client, pytest.raises(errors.DeadlineExceeded):
            client.job(7)
        assert len(server.calls) == 1
    finally:
        ended.set()


def broken_watch(request, context):
    """Two updates, a break, and the end: nothing is told twice."""
    if request.after_cursor == 0:
        yield update(1)
        yield update(2)
        context.abort(grpc.StatusCode.UNAVAILABLE, "connection is old")
    assert request.after_cursor == 2
    yield update(3, state=3)


def test_a_watch_goes_on_where_the_connection_was_lost(server):
    server.answers["WatchJob"] = broken_watch
    with lathe_client.Client(server.address) as client:
        seen = list(client.watch(7))
    assert [one.cursor for one in seen] == [1, 2, 3]
    assert [one.job.has_ended for one in seen] == [False, False, True]


def test_a_watch_of_what_is_not_there_fails_at_once(server):
    def answer(request, context):
        context.abort(grpc.StatusCode.NOT_FOUND, "job 9: no such job")
        yield

    server.answers["WatchJob"] = answer
    with lathe_client.Client(server.address) as client, pytest.raises(errors.NotFound):
        list(client.watch(9))


def test_the_same_for_asyncio(server):
    server.answers["WatchJob"] = broken_watch
    server.answers["GetJob"] = lambda request, context: context.abort(grpc.StatusCode.INVALID_ARGUMENT, "job_id: 0")

    async def run():
        async with lathe_client.aio.Client(server.address) as client:
            cursors = [one.cursor async for one in client.watch(7)]
            with pytest.raises(errors.InvalidArgument) as raised:
                await client.job(0)
        return cursors, raised.value.details

    assert asyncio.run(run()) == ([1, 2, 3], "job_id: 0")


def test_a_submission_says_what_was_asked_and_repeats_under_one_id(server):
    server.answers["SubmitJob"] = lambda request, context: _schema.message("SubmitJobResponse")(job={"id": 1, "request_id": request.request_id})
    with lathe_client.Client(server.address) as client:
        first = client.submit(["a", lathe_client.TaskSpec("b", name="two", weight=3, trials=5)], device="pi4", trials_per_task=9, time_limit_s=1.5)
        assert client.submit(["a"], device="pi4", request_id="mine").request_id == "mine"
    (_, request), _ = server.calls
    assert len(first.request_id) == 32
    assert (request.target, request.device_key, request.trials_per_task, request.time_limit_ns) == ("auto", "pi4", 9, 1_500_000_000)
    assert [(t.workload, t.name, t.weight, t.trial_budget) for t in request.tasks] == [("a", "", 1, 0), ("b", "two", 3, 5)]


def test_a_client_needs_a_server(monkeypatch):
    monkeypatch.delenv("LATHE_SERVER", raising=False)
    with pytest.raises(ValueError, match="no server named"):
        lathe_client.Client()
    monkeypatch.setenv("LATHE_SERVER", "127.0.0.1:1")
    assert repr(lathe_client.Client()) == "Client('127.0.0.1:1')"


def test_a_state_that_a_newer_server_knows_stays_a_number():
    assert _schema.state_name(99) == "99"


def test_a_farm_on_another_machine_takes_a_certificate(monkeypatch):
    monkeypatch.delenv("LATHE_TOKEN", raising=False)
    with pytest.raises(ValueError, match="connect to farm.lab:7431: beyond this machine everything is encrypted"):
        lathe_client.Client("farm.lab:7431")
    with pytest.raises(ValueError, match="token and certificate"):
        lathe_client.Client("farm.lab:7431", token="lathe_abc")
    with pytest.raises(ValueError, match="everything is encrypted"):
        lathe_client.Client("127.evil.example:7431")
    for there in ("127.0.0.1:1", "localhost:1", "[::1]:1", "unix:/nowhere"):
        lathe_client.Client(there).close()
