"""Beside onlooker.ts: whoever takes the records of another operator's steps for a change says so here."""

import os

import kopf

WIDGETS = (os.environ['GROUP'], 'v1', 'widgets')


@kopf.on.create(*WIDGETS, id='create')
def create(**_):
    return {'by': 'python'}


@kopf.on.update(*WIDGETS, id='update')
def update(spec, **_):
    return {'size': spec['size']}


# So that both want the finalizer, which has one name.
@kopf.on.delete(*WIDGETS, id='delete')
def delete(**_):
    pass
