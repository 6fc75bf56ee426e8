"""The same operator as step-handlers.ts, without steps, which Kopf does not have."""

import os

import kopf

WIDGETS = (os.environ['GROUP'], 'v1', 'widgets')
FIRST = os.environ['PHASE'] == 'first'


def not_yet():
    if FIRST:
        raise kopf.TemporaryError('not yet', delay=0.3)


@kopf.on.create(*WIDGETS, id='backups')
def backups(retry, **_):
    not_yet()
    return {'by': 'python', 'retry': retry}


@kopf.on.create(*WIDGETS, id='family')
def family(**_):
    @kopf.subhandler(id='child')
    def child(**_):
        not_yet()


@kopf.on.create(*WIDGETS, id='plain')
def plain(retry, **_):
    not_yet()
    return {'by': 'python', 'retry': retry}


@kopf.on.delete(*WIDGETS, id='cleanup')
def cleanup(**_):
    pass
