"""The same operator as secret-handlers.ts: prints the arguments of handlers of a Secret."""

import kopf

LABELS = {'case': 'secrets'}


def note(id, name, reason, old, new):
    print(f'called {name} {id} {reason.value} {old} {new};', flush=True)


@kopf.on.create('v1', 'secrets', labels=LABELS, id='created')
def created(name, reason, new, **_):
    note('created', name, reason, None, new['data']['password'])


@kopf.on.update('v1', 'secrets', labels=LABELS, id='updated')
def updated(name, reason, old, new, **_):
    note('updated', name, reason, old['data']['password'], new['data']['password'])


@kopf.on.field('v1', 'secrets', labels=LABELS, field='data.password', id='field')
def field(name, reason, old, new, **_):
    note('field', name, reason, old, new)


@kopf.on.resume('v1', 'secrets', labels=LABELS, id='resumed')
def resumed(name, reason, new, **_):
    note('resumed', name, reason, None, new['data']['password'])
