"""The same operator as nulls.ts: prints each call with its reason and its diff."""

import json
import os

import kopf

WIDGETS = (os.environ['GROUP'], 'v1', 'widgets')


def note(id, reason, diff):
    items = sorted([op, list(field), old, new] for op, field, old, new in diff)
    print(f'called {id} {reason.value} {json.dumps(items, separators=(",", ":"))};', flush=True)


@kopf.on.field(*WIDGETS, field='spec.a', id='a')
def field_a(reason, diff, **_):
    note('a', reason, diff)


@kopf.on.field(*WIDGETS, field='spec.deep', id='deep')
def field_deep(reason, diff, **_):
    note('deep', reason, diff)


@kopf.on.update(*WIDGETS, field='spec.a', id='updated')
def updated(reason, diff, **_):
    note('updated', reason, diff)


@kopf.on.update(*WIDGETS, field='spec.a', old=kopf.PRESENT, id='present')
def present(reason, diff, **_):
    note('present', reason, diff)


@kopf.on.update(*WIDGETS, field='spec.a', old=kopf.ABSENT, id='absent')
def absent(reason, diff, **_):
    note('absent', reason, diff)


@kopf.on.resume(*WIDGETS, id='resumed')
def resumed(reason, diff, **_):
    note('resumed', reason, diff)


@kopf.on.delete(*WIDGETS, id='deleted')
def deleted(reason, diff, **_):
    note('deleted', reason, diff)
