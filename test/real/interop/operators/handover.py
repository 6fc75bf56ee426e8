"""The same operator as handover.ts: each handler is for objects with one label. PHASE is first or second."""

import os

import kopf

GROUP = os.environ['GROUP']
FIRST = os.environ['PHASE'] == 'first'
WIDGETS = (GROUP, 'v1', 'widgets')
LONG = 'long' * 20


def case(name):
    return {'case': name}


def not_yet():
    if FIRST:
        raise kopf.TemporaryError('not yet', delay=0.3)


@kopf.on.create(*WIDGETS, labels=case('retries'), id='retries')
def retries(retry, started, **_):
    not_yet()
    return {'by': 'python', 'retry': retry, 'started': started.isoformat()}


@kopf.on.create(*WIDGETS, labels=case('long'), id=LONG)
def long(retry, **_):
    not_yet()
    return {'by': 'python', 'retry': retry}


@kopf.on.create(*WIDGETS, labels=case('handled'), id='handled')
@kopf.on.update(*WIDGETS, labels=case('handled'), id='handled')
def handled(**_):
    return {'by': 'python', 'text': 'gr\u00fc\u00dfe', 'number': 9007199254740993, 'list': [1, None, {'a': 1.5}]}


@kopf.on.create(GROUP, 'v1', 'plains', id='handled')
@kopf.on.update(GROUP, 'v1', 'plains', id='handled')
def plain(**_):
    return {'by': 'python'}


@kopf.on.create(*WIDGETS, labels=case('failed'), id='failed')
def failed(patch, **_):
    patch.status['by'] = 'python'
    raise kopf.PermanentError('never')


@kopf.on.create(*WIDGETS, labels=case('changed'), id='made')
def made(**_):
    return {'by': 'python'}


@kopf.on.update(*WIDGETS, labels=case('changed'), id='changed')
def changed(diff, old, new, **_):
    items = sorted([op, list(field), was, now] for op, field, was, now in diff)
    return {'by': 'python', 'diff': items, 'old': old['spec']['size'], 'new': new['spec']['size']}


@kopf.on.create(*WIDGETS, labels=case('halfway'), id='halfway')
@kopf.on.update(*WIDGETS, labels=case('halfway'), id='halfway')
def halfway(reason, retry, **_):
    not_yet()
    return {'by': 'python', 'reason': str(reason.value), 'retry': retry}


@kopf.on.field(*WIDGETS, labels=case('field'), field='spec.size', id='sized')
def sized(old, new, **_):
    return {'by': 'python', 'old': old, 'new': new}


@kopf.on.resume(*WIDGETS, labels=case('resumed'), id='resumed')
def resumed(**_):
    return {'by': 'python'}


@kopf.on.delete(*WIDGETS, labels=case('deleted'), id='cleanup')
def cleanup(name, logger, **_):
    logger.info(f'cleaned up {name}')


@kopf.on.delete(*WIDGETS, labels=case('deleting'), id='slow_cleanup')
def slow_cleanup(name, retry, logger, **_):
    not_yet()
    logger.info(f'cleaned up {name} at attempt {retry}')


@kopf.on.create(*WIDGETS, labels=case('family'), id='family')
def family(**_):
    @kopf.subhandler(id='a')
    def a(**_):
        return {'by': 'python'}

    @kopf.subhandler(id='b')
    def b(retry, **_):
        not_yet()
        return {'by': 'python', 'retry': retry}
