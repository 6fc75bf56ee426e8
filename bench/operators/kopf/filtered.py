"""The contract, for objects with a label only."""

import os

import kopf

GADGETS = (os.environ['BENCH_GROUP'], 'v1', os.environ['BENCH_PLURAL'])
LABELS = {'picked': os.environ['BENCH_PICKED']}


@kopf.on.create(*GADGETS, labels=LABELS, id='observe')
@kopf.on.update(*GADGETS, labels=LABELS, id='observe')
async def observe(spec, patch, **_):
    patch.status['observed'] = spec['size']


@kopf.on.delete(*GADGETS, labels=LABELS, id='cleanup')
async def cleanup(**_):
    pass
