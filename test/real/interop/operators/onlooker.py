"""Runs beside onlooker.ts. Its update handler shows whether step records of the other operator count as a change."""

import os

import kopf

WIDGETS = (os.environ['GROUP'], 'v1', 'widgets')


@kopf.on.create(*WIDGETS, id='create')
def create(**_):
    return {'by': 'python'}


@kopf.on.update(*WIDGETS, id='update')
def update(spec, **_):
    return {'size': spec['size']}


# Both operators need the finalizer, which has the same name.
@kopf.on.delete(*WIDGETS, id='delete')
def delete(**_):
    pass
