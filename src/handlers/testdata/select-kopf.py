"""
Asks Kopf itself which handlers it would select, and prints the answers as JSON: run it with a Python that has kopf 1.45.2,
`python select-kopf.py > select-kopf.json`. Read by select.test.ts.
"""
import itertools
import json
import logging

from kopf._cogs.structs import bodies, diffs, ephemera, patches, references
from kopf._core.engines import indexing
from kopf._core.intents import causes, filters, handlers, registries

RESOURCE = references.Resource(group='kopf.dev', version='v1', plural='kopfexamples', kind='KopfExample',
                               singular='kopfexample', namespaced=True, preferred=True)
TOKENS = {'$PRESENT': filters.PRESENT, '$ABSENT': filters.ABSENT, '$is-x': lambda value, **_: value == 'x'}

KINDS = {
    'create': dict(reason=causes.Reason.CREATE, initial=None, field_needs_change=False),
    'update': dict(reason=causes.Reason.UPDATE, initial=None, field_needs_change=True),
    'delete': dict(reason=causes.Reason.DELETE, initial=None, field_needs_change=False),
    'resume': dict(reason=None, initial=True, field_needs_change=False),
    'field': dict(reason=None, initial=None, field_needs_change=True),
}

OPTIONS = [
    {},
    {'field': 'spec.f'},
    *({'field': 'spec.f', 'value': value} for value in ['x', '$PRESENT', '$ABSENT', '$is-x']),
    *({'field': 'spec.f', 'old': value} for value in ['x', '$PRESENT', '$ABSENT', '$is-x']),
    *({'field': 'spec.f', 'new': value} for value in ['x', '$PRESENT', '$ABSENT', '$is-x']),
    {'field': 'spec.f', 'old': 'x', 'new': 'y'},
    {'field': 'spec.f.deeper'},
    *({'labels': {'l': value}} for value in ['x', '', '$PRESENT', '$ABSENT', '$is-x']),
    {'labels': {'l': 'x', 'm': '$ABSENT'}},
    {'annotations': {'a': '$PRESENT'}},
    {'deleted': True},
]

ESSENCES = [None, {}, {'spec': {}}, {'spec': {'f': 'x'}}, {'spec': {'f': 'y'}}, {'spec': {'f': None}},
            {'spec': {'f': {'deeper': 1}}}, {'spec': 'text'}]
LABELS = [{}, {'l': 'x'}, {'l': ''}, {'l': 'x', 'm': 'z'}]


def situations():
    for reason, initial in itertools.product(['create', 'update', 'delete', 'resume'], [False, True]):
        if reason == 'create' and initial:
            continue
        essences = ESSENCES if reason in ('create', 'update') and not initial else ESSENCES[:5]
        for old, new in itertools.product(essences, [essence for essence in essences if essence is not None]):
            yield dict(reason=reason, initial=initial, deleting=reason == 'delete', old=old, new=new, labels={})
    for labels in LABELS:
        yield dict(reason='create', initial=False, deleting=False, old=None, new={}, labels=labels)


def make_handler(kind, options):
    def token(value):
        return TOKENS.get(value, value) if isinstance(value, str) else value

    def mapping(name):
        return {key: token(value) for key, value in options[name].items()} if name in options else None

    return handlers.ChangingHandler(
        fn=lambda **_: None, id=kind, param=None, errors=None, timeout=None, retries=None, backoff=None,
        selector=references.Selector('kopfexamples'), labels=mapping('labels'), annotations=mapping('annotations'),
        when=None, field=tuple(options['field'].split('.')) if 'field' in options else None,
        value=token(options.get('value')), old=token(options.get('old')), new=token(options.get('new')),
        deleted=options.get('deleted'), requires_finalizer=None, **KINDS[kind])


def make_cause(situation):
    metadata = {'name': 'n', 'uid': 'u', 'labels': situation['labels']}
    if situation['deleting']:
        metadata['deletionTimestamp'] = '2020-01-01T00:00:00Z'
    return causes.ChangingCause(
        logger=logging.getLogger(), indices=indexing.OperatorIndexers().indices, resource=RESOURCE, patch=patches.Patch(),
        memo=ephemera.Memo(), body=bodies.Body({'metadata': metadata, **situation['new']}), initial=situation['initial'],
        reason=causes.Reason(situation['reason']), old=situation['old'], new=situation['new'],
        diff=diffs.diff(situation['old'], situation['new']))


def main():
    declared = [(kind, options) for kind in KINDS for options in OPTIONS
                if ('deleted' not in options or kind == 'resume')
                and (not {'old', 'new'} & set(options) or kind in ('update', 'field'))
                and (kind != 'field' or 'field' in options)]
    rows = []
    for situation in situations():
        cause = make_cause(situation)
        selected, matching = [], []
        for index, (kind, options) in enumerate(declared):
            registry = registries.ChangingRegistry()
            registry.append(make_handler(kind, options))
            selected += [index] if registry.get_handlers(cause) else []
            matching += [index] if registry.prematch(cause) else []
        rows.append({**situation, 'selected': selected, 'matching': matching})
    handlers_text = ',\n'.join(json.dumps({'kind': kind, 'options': options}) for kind, options in declared)
    rows_text = ',\n'.join(json.dumps(row) for row in rows)
    print(f'{{"handlers": [\n{handlers_text}\n], "situations": [\n{rows_text}\n]}}')


main()
