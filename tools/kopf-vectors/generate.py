"""
Prints the results of Python's Kopf for a table of inputs as JSON: keys, essences, stored annotations, diffs.

Run with a Python that has Kopf 1.45.2 installed, from the root of the repository:
  python tools/kopf-vectors/generate.py > src/persistence/testdata/kopf-vectors.json
"""
import json
import sys
import warnings

import kopf
from kopf._cogs.configs.diffbase import (
    AnnotationsDiffBaseStorage, MultiDiffBaseStorage, StatusDiffBaseStorage,
)
from kopf._cogs.configs.progress import (
    AnnotationsProgressStorage, MultiProgressStorage, SmartProgressStorage, StatusProgressStorage,
)
from kopf._cogs.structs import bodies, diffs, patches

warnings.simplefilter('ignore')

DEPLOYMENT_OWNER = [{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'name': 'd', 'uid': 'u'}]
KUBECTL = 'kubectl.kubernetes.io/last-applied-configuration'


def body(annotations=None, labels=None, kind='KopfExample', metadata=None, **fields):
    meta = {'name': 'obj', 'uid': 'uid1', 'resourceVersion': '5', 'generation': 1, **(metadata or {})}
    if labels is not None:
        meta['labels'] = labels
    if annotations is not None:
        meta['annotations'] = annotations
    return {'apiVersion': 'kopf.dev/v1', 'kind': kind, 'metadata': meta, **fields}


def keys():
    cases = []
    names = [
        'create_fn', 'create_fn/spec.field', 'fn.<locals>.inner', 'a' * 46, 'a' * 47, 'a' * 63, 'a' * 64, 'x/' * 40, 'fn' * 100,
        'very_long_handler_name_to_exceed_the_limit_of_63_chars_for_annotations/spec.field.subfield',
        'last-handled-configuration', 'touch-dummy', 'create_fn/sub/sub',
    ] + [c * n for c in 'xyz' for n in (40, 64)]
    prefixes = ['kopf.zalando.org', 'my-operator.example.com'] + ['p' * (n - 4) + '.com' for n in (36, 37, 54, 55, 56, 80)]
    for prefix in prefixes:
        for name in names:
            owned = body(kind='ReplicaSet', metadata={'ownerReferences': DEPLOYMENT_OWNER})
            for raw in (body(), owned) if prefix in prefixes[:2] else (body(),):
                storage = AnnotationsProgressStorage(prefix=prefix)
                cases.append({
                    'prefix': prefix, 'key': name, 'kind': raw['kind'],
                    'expected': list(storage.make_keys(name, body=bodies.Body(raw))),
                })
    return cases


BODIES = {
    'nothing but metadata': body(),
    'a spec': body(spec={'field': 'value', 'n': None, 'list': [1, {'a': None}]}),
    'unicode': body(spec={'ü': '\U0001f600 \u2028 \x7f \x01 "\\'}, labels={'a': 'b'}),
    'large integers': body(spec={'n': 9223372036854775807, 'm': -9007199254740993, 'ok': 9007199254740991, 'f': 0.5}),
    'empty stanzas': body(spec={}, labels={}, annotations={}, status={}),
    'status only': body(status={'x': 1, 'kopf': {'progress': {'fn': {'retries': 1}}}}),
    'everything': body(
        spec={'z': 1, 'a': {'b': [1, 2, 'ü']}, 'n': None}, labels={'somelabel': 'somevalue'},
        annotations={
            'a': 'b', 'kopf.zalando.org/create_fn': '{"retries":1}', KUBECTL: '{}', 'other.example.com/kopf-managed': 'yes',
            'other.example.com/foo': '1', 'sub.kopf.zalando.org/x': '1', 'subkopf.zalando.org/y': 'stays', 'no-slash': 'stays',
            'a/b/kopf-managed': 'stays',
        },
        status={'x': 1, 'y': 2}),
    'only records in annotations': body(annotations={
        'kopf.zalando.org/last-handled-configuration': '{"spec":{"old":1}}\n', KUBECTL: '{}'}, data={'k': 'v'}),
    'a prefix of its own': body(annotations={
        'my-op.example.com/last-handled-configuration': '{"spec":{"old":2}}\n', 'my-op.example.com/fn': '{"retries":3}',
        'my-op.example.com/kopf-managed': 'yes', 'kept': 'yes'}, spec={'a': 1}),
    'an unmarked prefix': body(annotations={
        'kopf.example.com/last-handled-configuration': '{"spec":{"old":3}}\n', 'kopf.example.com/fn': '{"retries":3}'}, spec={'a': 1}),
    'a stored status': body(spec={'a': 1}, status={
        'x': 1, 'kopf': {'last-handled-configuration': '{"spec":{"old":4}}', 'progress': {
            'fn': {'started': '2020-01-01T00:00:00.000000+00:00', 'retries': 2, 'success': False}}, 'dummy': 't'}}),
    'of a deployment': body(
        kind='ReplicaSet', metadata={'ownerReferences': DEPLOYMENT_OWNER}, spec={'replicas': 1},
        annotations={
            'kopf.zalando.org/last-handled-configuration': '{"spec":{"of":"the deployment"}}\n',
            'kopf.zalando.org/last-handled-configuration-ofDRS': '{"spec":{"of":"the replicaset"}}\n',
            'kopf.zalando.org/fn-ofDRS': '{"retries":7}', 'kopf.zalando.org/touch-dummy-ofDRS': 'now'}),
    'top-level fields': body(data={'a': 'b'}, type='x', rules=[{'verbs': ['get']}], immutable=False, binaryData=None),
}

DIFFBASE = {
    'default': lambda: AnnotationsDiffBaseStorage(),
    'own prefix': lambda: AnnotationsDiffBaseStorage(prefix='my-op.example.com'),
    'unmarked prefix': lambda: AnnotationsDiffBaseStorage(prefix='kopf.example.com'),
    'long key': lambda: AnnotationsDiffBaseStorage(prefix='my-op.example.com', key='k' * 60),
    'long key without v1': lambda: AnnotationsDiffBaseStorage(prefix='my-op.example.com', key='k' * 60, v1=False),
    'ignoring': lambda: AnnotationsDiffBaseStorage(ignored_fields=[
        'spec.field', ('metadata', 'annotations', 'no-slash'), 'spec.a.b', 'status.x', 'data.k', 'metadata.labels.somelabel', 'spec.list.a', 'rules.x']),
    'status': lambda: StatusDiffBaseStorage(),
    'named status': lambda: StatusDiffBaseStorage(name='other', field='status.{name}.base'),
    'multi': lambda: MultiDiffBaseStorage([AnnotationsDiffBaseStorage(prefix='my-op.example.com'), StatusDiffBaseStorage()]),
}
EXTRA_FIELDS = {
    'none': [], 'some': ['status.x', 'metadata.name', 'spec.field', 'spec.absent.x', 'status.absent'],
    'whole': ['status', 'metadata.annotations'],
}


def essences():
    cases = []
    for storage_name, make in DIFFBASE.items():
        for body_name, raw in BODIES.items():
            for extra_name, extra in EXTRA_FIELDS.items():
                storage = make()
                essence = storage.build(body=bodies.Body(raw), extra_fields=extra)
                if extra:
                    cases.append({'storage': storage_name, 'body': body_name, 'extra': extra_name, 'essence': essence})
                    continue
                patch = patches.Patch()
                storage.store(body=bodies.Body(raw), patch=patch, essence=essence)
                cases.append({
                    'storage': storage_name, 'body': body_name, 'extra': extra_name,
                    'essence': essence, 'fetched': storage.fetch(body=bodies.Body(raw)), 'patch': json.loads(json.dumps(dict(patch))),
                })
    return cases


STARTED = '2020-01-01T00:00:00.000000+00:00'
BLANK = dict.fromkeys(['started', 'stopped', 'delayed', 'purpose', 'retries', 'success', 'failure', 'message', 'subrefs'])
RECORDS = {
    'fresh': {**BLANK, 'started': STARTED, 'purpose': 'create', 'retries': 0, 'success': False, 'failure': False},
    'failed once': {
        **BLANK, 'started': STARTED, 'delayed': '2020-01-01T00:01:00.000000+00:00', 'purpose': 'create', 'retries': 1,
        'success': False, 'failure': False, 'message': 'oops, ü\n'},
    'done': {
        **BLANK, 'started': STARTED, 'stopped': '2020-01-01T00:01:00.123456+00:00', 'purpose': 'update', 'retries': 2,
        'success': True, 'failure': False, 'subrefs': ['fn/a', 'fn/b']},
}
PROGRESS = {
    'annotations': lambda: AnnotationsProgressStorage(),
    'own prefix': lambda: AnnotationsProgressStorage(prefix='my-op.example.com'),
    'verbose': lambda: AnnotationsProgressStorage(verbose=True),
    'without v1': lambda: AnnotationsProgressStorage(v1=False),
    'status': lambda: StatusProgressStorage(),
    'multi': lambda: MultiProgressStorage([AnnotationsProgressStorage(), StatusProgressStorage()]),
    'smart': lambda: SmartProgressStorage(),
}


def patch_of(method, **kwargs):
    patch = patches.Patch()
    method(patch=patch, **kwargs)
    return json.loads(json.dumps(dict(patch)))


def progress():
    cases = []
    for storage_name, make in PROGRESS.items():
        for body_name, raw in BODIES.items():
            storage, subject = make(), bodies.Body(raw)
            essence = {'metadata': raw['metadata'], 'status': raw.get('status', {})}
            case = {
                'storage': storage_name, 'body': body_name,
                'touched': patch_of(storage.touch, body=subject, value='now!'),
                'untouched': patch_of(storage.touch, body=subject, value=None),
                'cleared': storage.clear(essence=essence), 'keys': [],
            }
            for key in ('fn', 'fn/spec.field', 'f' * 70):
                case['keys'].append({
                    'key': key, 'fetched': storage.fetch(key=key, body=subject),
                    'purged': patch_of(storage.purge, key=key, body=subject),
                })
            if body_name in ('nothing but metadata', 'a prefix of its own', 'of a deployment'):
                case['stored'] = {
                    name: patch_of(storage.store, key='fn/' + name[0] * 50, record=record, body=subject)
                    for name, record in RECORDS.items()
                }
            cases.append(case)
    return cases


def diff_cases():
    pairs = [
        (None, None), (None, {'a': 1}), ({'a': 1}, None), ({'a': 1}, {'a': 1}), ({}, {'spec': {'a': {'b': 2}}}),
        ({'spec': {'a': 1, 'b': 2}}, {'spec': {'a': 1, 'c': 3}}), ({'l': [1, 2]}, {'l': [1, 2, 3]}), ({'l': [1]}, {'l': [1]}),
        ({'n': None}, {}), ({}, {'n': None}), ({'n': None}, {'n': 1}), ({'n': 1}, {'n': None}), ({'x': {'n': None}}, {'x': {}}),
        ({'l': [{'n': None}]}, {'l': [{}]}), ({'x': {'a': 1}}, {'x': [1]}), ({'x': {'a': 1}}, {'x': 'text'}),
        ({'spec': {'a': {'b': 1}}}, {}), ({'spec': {'a': {'b': 1}}}, {'spec': 'text'}), ({'spec': {'a': {'b': 1}}}, {'spec': None}),
        ({'spec': {'a': {'b': 1, 'c': [1]}}}, {'spec': {'a': {'b': 2, 'c': [2], 'd': 9223372036854775807}}}),
        ({'spec': {'a': 0}}, {'spec': {'a': ''}}), ({'spec': {'a': False}}, {'spec': {}}),
    ]
    paths = [(), ('spec',), ('spec', 'a'), ('spec', 'a', 'b'), ('x',), ('absent',)]
    cases = []
    for old, new in pairs:
        diff = diffs.diff(old, new)
        cases.append({'old': old, 'new': new, 'diff': list(diff), 'reduced': [[path, list(diffs.reduce(diff, path))] for path in paths]})
    return cases


def main():
    json.dump({
        'kopf': kopf.__version__ if hasattr(kopf, '__version__') else '1.45.2',
        'keys': keys(), 'bodies': BODIES, 'extraFields': EXTRA_FIELDS, 'essences': essences(),
        'records': RECORDS, 'progress': progress(), 'diffs': diff_cases(),
    }, sys.stdout, indent=None, separators=(',', ':'), sort_keys=False)
    print()


if __name__ == '__main__':
    main()
