"""The same operator as neighbour.ts: stores its state under PREFIX, and handles the same objects as the other operator."""

import os

import kopf

WIDGETS = (os.environ['GROUP'], 'v1', 'widgets')
PREFIX = os.environ['PREFIX']
ID = os.environ['ID']


@kopf.on.startup()
def configure(settings, **_):
    settings.persistence.finalizer = f'{PREFIX}/finalizer'
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=PREFIX)
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix=PREFIX)


@kopf.on.create(*WIDGETS, id=f'{ID}-first')
@kopf.on.update(*WIDGETS, id=f'{ID}-first')
def first(spec, **_):
    return {'size': spec['size']}


@kopf.on.create(*WIDGETS, id=f'{ID}-second')
@kopf.on.update(*WIDGETS, id=f'{ID}-second')
def second(spec, retry, **_):
    if retry == 0:
        raise kopf.TemporaryError('once more', delay=0.1)
    return {'size': spec['size']}


@kopf.on.delete(*WIDGETS, id=f'{ID}-cleanup')
def cleanup(name, logger, **_):
    logger.info(f'cleaned up {name}')
