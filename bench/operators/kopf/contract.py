"""The contract: copies spec.size to status.observed, and has a delete handler."""

import os

import kopf

GADGETS = (os.environ['BENCH_GROUP'], 'v1', os.environ['BENCH_PLURAL'])
PRINTS = 'BENCH_PRINT' in os.environ


@kopf.on.create(*GADGETS, id='observe')
@kopf.on.update(*GADGETS, id='observe')
async def observe(spec, patch, reason, name, **_):
    if PRINTS:
        print(f'run {reason.value} {name}', flush=True)
    patch.status['observed'] = spec['size']


@kopf.on.delete(*GADGETS, id='cleanup')
async def cleanup(**_):
    pass
