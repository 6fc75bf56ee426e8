"""The same operator as chain.ts: handlers that read the changes of earlier handlers."""

import json
import os

import kopf

WIDGETS = (os.environ['GROUP'], 'v1', 'widgets')


def wait_for(fields, key):
    if key not in fields:
        raise kopf.TemporaryError(f'{key} is not there yet', delay=3600)


@kopf.on.create(*WIDGETS, id='network')
def network(patch, **_):
    patch.status['network'] = '10.0.0.0/8'
    patch.metadata.labels['tier'] = 'gold'


@kopf.on.create(*WIDGETS, id='never', when=lambda status, **_: 'network' not in status)
def never(**_):
    return 'called'


@kopf.on.create(*WIDGETS, id='gold', labels={'tier': 'gold'})
def gold(**_):
    return 'called'


@kopf.on.create(*WIDGETS, id='disks')
def disks(status, labels, retry, **_):
    wait_for(status, 'network')
    return {'tier': labels['tier'], 'retry': retry}


@kopf.on.create(*WIDGETS, id='quota')
def quota(**_):
    raise kopf.PermanentError('no quota')


@kopf.on.create(*WIDGETS, id='users')
def users(status, annotations, retry, **_):
    wait_for(status, 'disks')
    record = json.loads(annotations['kopf.zalando.org/quota'])
    return {'disks': status['disks']['tier'], 'failure': record['failure'], 'retry': retry}


@kopf.on.create(*WIDGETS, id='family')
async def family(patch, **_):
    patch.status['phase'] = 'Starting'

    async def first(**_):
        return 'of the first'

    async def second(status, retry, patch, **_):
        wait_for(status, 'family/first')
        patch.status['phase'] = 'Ready'
        return {'seen': status['family/first'], 'retry': retry}

    await kopf.execute(fns={'first': first, 'second': second})
