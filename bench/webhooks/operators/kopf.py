"""Two admission handlers: one checks the size, one copies it. On SIGUSR2, prints the longest stall of the event loop."""

import asyncio
import json
import os
import signal
import time

import kopf

GADGETS = (os.environ['BENCH_GROUP'], 'v1', os.environ['BENCH_PLURAL'])
EVERY = 0.01

longest = 0.0


@kopf.on.startup()
async def configure(settings, **_):
    settings.admission.server = kopf.WebhookServer(
        addr='127.0.0.1',
        port=int(os.environ['BENCH_PORT']),
        certfile=os.environ['BENCH_CERT'],
        pkeyfile=os.environ['BENCH_KEY'],
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, report)
    asyncio.create_task(watch_loop())


async def watch_loop():
    global longest
    while True:
        before = time.perf_counter()
        await asyncio.sleep(EVERY)
        longest = max(longest, time.perf_counter() - before - EVERY)


def report():
    global longest
    print(f'report {json.dumps({"stallMs": longest * 1000})}', flush=True)
    longest = 0.0


@kopf.on.validate(*GADGETS, id='validate')
async def validate(spec, **_):
    if spec['size'] < 0:
        raise kopf.AdmissionError('the size is less than nothing', code=422)


@kopf.on.mutate(*GADGETS, id='mutate')
async def mutate(spec, patch, **_):
    patch.spec['checked'] = spec['size']
