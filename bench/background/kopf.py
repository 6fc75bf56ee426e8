"""Daemons and timers that wait. On SIGUSR2, prints how many there are and how late the timers were."""

import json
import os
import signal
import time

import kopf

GADGETS = (os.environ['BENCH_GROUP'], 'v1', os.environ['BENCH_PLURAL'])
INTERVAL = float(os.environ['BENCH_INTERVAL'])

counts = {'daemons': 0, 'timers': 0, 'turns': 0}
lateness = []  # in milliseconds, since the last report


@kopf.daemon(*GADGETS, id='wait')
async def wait(stopped, **_):
    counts['daemons'] += 1
    while not stopped:
        await stopped.wait(INTERVAL)
        counts['turns'] += 1


@kopf.timer(*GADGETS, id='tick', interval=INTERVAL)
async def tick(memo, **_):
    now = time.monotonic()
    if 'ticked' in memo:
        lateness.append((now - memo.ticked - INTERVAL) * 1000)
    else:
        counts['timers'] += 1
    memo.ticked = now


def report(*_):
    print('report', json.dumps(counts | {'lateness': lateness}), flush=True)
    counts['turns'] = 0
    lateness.clear()


signal.signal(signal.SIGUSR2, report)
