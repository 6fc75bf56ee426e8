"""The same operator as field-handlers.ts: a field of the status that other handlers write."""

import json
import os

import kopf

WIDGETS = (os.environ['GROUP'], 'v1', 'widgets')


@kopf.on.create(*WIDGETS, id='create')
def create(patch, **_):
    patch.status['phase'] = 'Ready'


@kopf.on.delete(*WIDGETS, id='cleanup')
def cleanup(patch, retry, **_):
    patch.status['phase'] = 'Cleaning'
    if retry == 0:
        raise kopf.TemporaryError('not yet', delay=0.5)


@kopf.on.field(*WIDGETS, id='phase', field='status.phase')
def phase(reason, old, new, logger, **_):
    logger.info(f'seen: {reason} from {old or "nothing"} to {new}')
