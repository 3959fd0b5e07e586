"""
Threads, tasks, processes and groups.
"""

import asyncio
import concurrent.futures
import functools
import multiprocessing

import anyio
import anyio.from_thread
import anyio.to_thread
import purpose_lib
import trio

from purpose_acme.errors import AcmeError, AcmeGroup
from purpose_acme.table import situation


def refuse():
    raise ValueError("no")


def crash():
    return int("x")


def refuse_own():
    raise AcmeError("no")


async def _later(fail):
    await asyncio.sleep(0)
    fail()


async def _to_thread(fail):
    await asyncio.to_thread(fail)


async def _anyio_to_thread(fail):
    await anyio.to_thread.run_sync(fail)


async def _from_thread(fail):
    async def body():
        fail()

    await anyio.to_thread.run_sync(lambda: anyio.from_thread.run(body))


async def _run_in_executor(fail):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        await asyncio.get_running_loop().run_in_executor(pool, fail)


def _thread_pool(fail):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(fail).result()


async def _task(fail):
    await asyncio.create_task(_later(fail))


async def _wait_for(fail):
    await asyncio.wait_for(_later(fail), 5)


async def _shield(fail):
    await asyncio.shield(_later(fail))


async def _gather(fail):
    await asyncio.gather(_later(fail), _later(str))


def _run(fail):
    # A loop of its own in a thread, as in a sync tool that wraps async code.
    _thread_pool(lambda: asyncio.run(_later(fail)))


async def _asyncio_group(fail):
    async with asyncio.TaskGroup() as group:
        group.create_task(_later(fail))


async def _anyio_group(fail):
    async with anyio.create_task_group() as group:
        group.start_soon(_later, fail)


async def _anyio_groups(fail):
    async with anyio.create_task_group() as outer:
        outer.start_soon(_anyio_group, fail)


def _trio_group(fail):
    async def part():
        fail()

    async def run():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(part)

    trio.run(run)


def _library_group(fail):
    try:
        fail()
    except ValueError as e:
        purpose_lib.group(e)


def _except_star(fail):
    try:
        fail()
    except* ValueError:
        raise


WAYS = {
    "asyncio.to_thread": _to_thread,
    "anyio.to_thread": _anyio_to_thread,
    "anyio.from_thread": _from_thread,
    "run_in_executor": _run_in_executor,
    "a thread pool": _thread_pool,
    "a task": _task,
    "wait_for": _wait_for,
    "shield": _shield,
    "gather": _gather,
    "asyncio.run in a thread": _run,
    "an asyncio task group": _asyncio_group,
    "an anyio task group": _anyio_group,
    "an anyio task group in another": _anyio_groups,
    "a trio nursery": _trio_group,
    "a group that a library raises": _library_group,
    "except* with a bare raise": _except_star,
}

for _name, _way in WAYS.items():
    situation(f"raise through {_name}", "P")(functools.partial(_way, refuse))
    situation(f"int('x') through {_name}", "A")(functools.partial(_way, crash))


@situation("the author raises a group over leaves that nobody raised", "P")
def group_of_unraised():
    raise ExceptionGroup("several", [ValueError("no"), KeyError("k")])


@situation("a library raises a group over leaves that nobody raised", "A")
def library_group_of_unraised():
    purpose_lib.group(ValueError("no"))


@situation("the author raises a group with an accident in it", "A")
def group_with_accident():
    errors = [ValueError("no")]
    try:
        crash()
    except ValueError as e:
        errors.append(e)
    raise ExceptionGroup("several", errors)


@situation("the author's own class of group", "P")
def own_group():
    raise AcmeGroup("several", [ValueError("no")])


@situation("a library's group with an own class in it", "P")
def library_group_of_own():
    purpose_lib.group(AcmeError("no"))


def _in_process(fail):
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        pool.submit(fail).result()


situation("raise in a process", "?", "A", because="the traceback is lost")(functools.partial(_in_process, refuse))
situation("raise of an own class in a process", "P")(functools.partial(_in_process, refuse_own))
