"""The same operator as admission-handlers.ts: admission handlers of all types, served on PORT, in configurations named MANAGED."""

import os

import kopf

WIDGETS = (os.environ['GROUP'], 'v1', 'widgets')


@kopf.on.startup()
def configure(settings, **_):
    settings.admission.managed = os.environ['MANAGED'] or None
    settings.admission.server = kopf.WebhookServer(
        addr='127.0.0.1',
        port=int(os.environ['PORT']),
        certfile=os.environ['CERT'],
        pkeyfile=os.environ['KEY'],
        cafile=os.environ['CA'],
    )


def case(name):
    return {'case': name}


@kopf.on.validate(*WIDGETS, id='check_size')
def check_size(spec, **_):
    if spec.get('size', 0) > 100:
        raise kopf.AdmissionError('too large', code=422)


@kopf.on.mutate(*WIDGETS, id='stamp')
def stamp(patch, **_):
    patch.metadata.labels['by'] = 'python'


@kopf.on.validate(
    *WIDGETS,
    id='picky',
    labels={'stage': 'prod', 'owner': kopf.PRESENT, 'gone': kopf.ABSENT, 'odd': lambda value, **_: True},
    operations=['CREATE', 'UPDATE'],
    ignore_failures=True,
    side_effects=True,
)
def picky(**_):
    raise kopf.AdmissionError('picked', code=409)


@kopf.on.validate(*WIDGETS, id='statuses', subresource='status', operations=['UPDATE'])
def statuses(status, **_):
    if status.get('phase') == 'Bad':
        raise kopf.AdmissionError('a bad phase', code=400)


@kopf.on.mutate(*WIDGETS, id='every:part/of.it', subresource='*', labels=case('part'))
def every_part(patch, **_):
    patch.metadata.annotations['part'] = 'seen'


@kopf.on.validate(*WIDGETS, id='stays', persistent=True, labels=case('stays'))
def stays(**_):
    raise kopf.AdmissionError('not while somebody is here')


@kopf.on.mutate(*WIDGETS, id='farewell', operations=['DELETE'], labels=case('farewell'))
def farewell(patch, warnings, **_):
    warnings.append('farewell')
    patch.metadata.labels['gone'] = 'soon'


@kopf.on.mutate(*WIDGETS, id='change', labels=case('change'))
def change(spec, patch, **_):
    patch.metadata.annotations['example.com/seen~twice'] = 'yes'
    patch.metadata.labels['old'] = None
    patch.spec['size'] = spec['size'] + 1
    patch.spec['gone'] = None
    patch.spec['never'] = None
    patch.spec['nested'] = {'a': {'b': 'new', 'c': None}}
    patch.spec['list'] = [1, 2, 3]
    patch.status['phase'] = 'Made'


@kopf.on.mutate(*WIDGETS, id='edit', labels=case('edit'))
def edit(patch, **_):
    patch.spec['size'] = 7
    patch.fns.append(lambda body: body['spec']['list'].append(body['spec']['size']))


@kopf.on.mutate(*WIDGETS, id='same', labels=case('same'))
def same(spec, patch, **_):
    patch.spec['size'] = spec['size']


@kopf.on.validate(*WIDGETS, id='warns', labels=case('warns'))
def warns(warnings, operation, dryrun, userinfo, **_):
    warnings.append(f'{operation} by {userinfo["username"]}')
    warnings.append(f'grüße, dry run: {str(dryrun).lower()}')


@kopf.on.mutate(*WIDGETS, id='both', labels=case('both'))
def both(patch, warnings, **_):
    patch.spec['size'] = 0
    warnings.append('changed, and refused')
    raise kopf.AdmissionError('refused', code=403)


@kopf.on.validate(*WIDGETS, id='wordless', labels=case('error'))
def wordless(**_):
    raise kopf.AdmissionError('no code')


@kopf.on.validate(*WIDGETS, id='permanent', labels=case('error'))
def permanent(**_):
    raise kopf.PermanentError('for good')


@kopf.on.validate(*WIDGETS, id='temporary', labels=case('error'))
def temporary(**_):
    raise kopf.TemporaryError('for now', delay=10)


@kopf.on.validate(*WIDGETS, id='mistake', labels=case('error'))
def mistake(**_):
    raise ValueError('a mistake')


@kopf.on.validate(*WIDGETS, id='grown', field='spec.size', value=lambda value, **_: value == 5)
def grown(old, new, diff, **_):
    raise kopf.AdmissionError(f'grown: {len(diff)} of {old["spec"]["size"]} to {new["spec"]["size"]}', code=400)
