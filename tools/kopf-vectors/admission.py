"""
Prints the responses of Python's Kopf to a table of admission reviews, and its webhook configurations, as JSON. Handlers are data
(selector, options, steps), from which the test builds the same handlers.

Run with a Python that has Kopf 1.45.2 installed, from the root of the repository:
  python tools/kopf-vectors/admission.py > src/admission/testdata/kopf-reviews.json
"""
import asyncio
import base64
import collections.abc
import copy
import enum
import json
import logging
import sys

import jsonpatch
import kopf
from kopf._cogs.structs import references
from kopf._core.engines import admission
from kopf._core.reactor import inventory

logging.disable(logging.CRITICAL)

GROUP = 'example.com'
TOKENS = {'<present>': kopf.PRESENT, '<absent>': kopf.ABSENT}
ERRORS = {'admission': kopf.AdmissionError, 'permanent': kopf.PermanentError, 'temporary': kopf.TemporaryError, 'other': ValueError}
SEEN = [
    'operation', 'subresource', 'dryrun', 'userinfo', 'headers', 'name', 'namespace', 'uid', 'labels', 'annotations', 'spec',
    'status', 'meta', 'body', 'old', 'new', 'diff', 'param', 'retry',
]


def resource(plural, kind, group=GROUP, preferred=True):
    return references.Resource(
        group=group, version='v1', plural=plural, kind=kind, singular=kind.lower(), shortcuts=frozenset(),
        categories=frozenset(), subresources=frozenset(), namespaced=True, preferred=preferred, verbs=frozenset(['list', 'watch']))


RESOURCES = [resource('widgets', 'Widget'), resource('gadgets', 'Gadget')]


def widget(**fields):
    metadata = {'name': 'one', 'namespace': 'default', **fields.pop('metadata', {})}
    return {'apiVersion': f'{GROUP}/v1', 'kind': 'Widget', 'metadata': metadata, 'spec': {'size': 1}, **fields}


def review(webhook=None, version='admission.k8s.io/v1', without=(), **changes):
    request = {
        'uid': 'review-uid', 'resource': {'group': GROUP, 'version': 'v1', 'resource': 'widgets'}, 'operation': 'CREATE',
        'name': 'one', 'namespace': 'default', 'userInfo': {'username': 'admin'}, 'object': widget(), 'oldObject': None,
        'dryRun': False, **changes,
    }
    request = {key: value for key, value in request.items() if key not in without}
    return {'webhook': webhook, 'review': {'apiVersion': version, 'kind': 'AdmissionReview', 'request': request}}


def handler(id='check', kind='validate', does=(), plural='widgets', **options):
    return {'id': id, 'kind': kind, 'plural': plural, 'options': options, 'does': list(does)}


def update(old, new, **changes):
    return review(operation='UPDATE', object=new, oldObject=old, **changes)


def delete(old, **changes):
    return review(operation='DELETE', object=None, oldObject=old, **changes)


LABELLED = widget(metadata={'labels': {'app': 'web'}, 'annotations': {'example.com/a~b': 'x'}})
RICH = widget(
    metadata={'uid': 'u', 'labels': {'app': 'web'}, 'annotations': {'example.com/a~b': 'x'}},
    spec={'size': 1, 'list': [1, 2, {'a': 1}], 'deep': {'a': {'b': 1, 'c': 2}}, 'text': 'ü', 'no': None}, status={'phase': 'New'})


def cases():
    yield 'arguments', [handler(param=5)], [
        review(), review(dryRun=True), update(LABELLED, RICH), delete(RICH), update(RICH, RICH),
        review(object={'apiVersion': 'v1', 'kind': 'PodExecOptions', 'command': ['sh']}, operation='CONNECT'),
        review(object=widget(metadata={'generateName': 'some-', 'name': None}), name=''),
        review(version='admission.k8s.io/v1beta1'),
        review(without=['uid']), review(without=['dryRun', 'oldObject', 'name']),
    ]
    yield 'bad requests', [handler()], [
        review(without=['userInfo']), review(object=None), review(without=['object', 'oldObject']),
        review(resource={'group': '', 'version': 'v1', 'resource': 'pods'}),
        review(resource={'group': GROUP, 'version': 'v2', 'resource': 'widgets'}),
        review(resource={'group': GROUP, 'version': 'v1', 'resource': 'gadgets'}),
    ]
    ids = [handler('a', does=[['warn', 'a']]), handler('b/c', does=[['warn', 'b']]), handler('d', plural='gadgets')]
    yield 'ids', ids, [review(), review('a'), review('b/c'), review(''), review('unknown'), review('d')]
    subs = [handler(str(sub), subresource=sub, does=[['warn', str(sub)]]) for sub in (None, 'status', '*')]
    yield 'subresources', subs, [review(), review(subResource='status'), review(subResource='scale'), review(subResource='')]
    for kind in ('validate', 'mutate'):
        ops = [None, ['DELETE'], ['UPDATE', 'DELETE'], ['CREATE']]
        handlers = [handler(f'h{i}', kind, operations=op, does=[['warn', f'h{i}']]) for i, op in enumerate(ops)]
        yield f'operations to {kind}', handlers, [delete(widget()), update(widget(), RICH)]
    filters = {
        'label': {'labels': {'app': 'web'}}, 'other': {'labels': {'app': 'db'}}, 'present': {'labels': {'app': '<present>'}},
        'absent': {'labels': {'app': '<absent>'}}, 'note': {'annotations': {'example.com/a~b': 'x'}},
        'unnoted': {'annotations': {'x': '<absent>'}}, 'field': {'field': 'spec.deep'}, 'value': {'field': 'spec.size', 'value': 1},
        'other-value': {'field': 'spec.size', 'value': 2}, 'no-value': {'field': 'spec.deep', 'value': '<absent>'},
        'some-value': {'field': 'spec.no', 'value': '<present>'},
    }
    yield 'filters', [handler(id, does=[['warn', id]], **options) for id, options in filters.items()], [
        review(), review(object=LABELLED), review(object=RICH), update(widget(), RICH), update(RICH, widget()), delete(RICH)]

    raised = [['admission', 'a', 418], ['permanent', 'p'], ['temporary', 't'], ['other', 'o']]
    for first in raised:
        for second in raised + [None]:
            does = [handler('h1', does=[['warn', 'w'], ['raise', *first]])]
            does += [handler('h2', does=[['raise', *second]] if second else [])]
            yield f'errors {first[0]} {second and second[0]}', does, [review()]
    yield 'errors without a code', [handler(does=[['raise', 'admission', 'a', None]])], [review()]
    yield 'errors with the default code', [handler(does=[['raise', 'admission', 'a']])], [review()]
    yield 'errors and a patch', [
        handler('h1', 'mutate', does=[['patch', {'spec': {'size': 5}}], ['raise', 'admission', 'a', 400]])], [review()]
    yield 'warnings', [handler(does=[['warn', 'one'], ['warn', 2], ['warn', 'three']])], [review()]
    yield 'results', [handler(kind='mutate', does=[['return', {'spec': {'size': 9}}]])], [review()]

    patches = [
        {}, {'spec': {'size': 1}}, {'spec': {'size': 2}}, {'spec': {'new': 'x'}}, {'spec': {'size': None}},
        {'spec': {'missing': None}}, {'status': {'phase': None}}, {'status': {'a': {'b': None}}}, {'status': {'a': {'b': 1}}},
        {'spec': {'list': [2, 1]}}, {'spec': {'list': [1, 2, {'a': 1}]}}, {'spec': {'list': []}}, {'spec': None},
        {'spec': {'deep': {'a': {'b': 2}}}}, {'spec': {'deep': {'a': None}}}, {'spec': {'deep': 'text'}},
        {'metadata': {'annotations': {'example.com/a~b': 'y', '~1/': 'z'}}}, {'metadata': {'labels': {'app': None}}},
        {'metadata': {'labels': {'new': 'x'}}}, {'spec': {'text': 'ä\u2028'}}, {'spec': {'no': None}}, {'spec': {'': 'empty'}},
        {'spec': {'__proto__': {'a': 1}, 'constructor': 'c'}}, {'spec': {'size': 9007199254740993}},
        {'metadata': {'finalizers': ['x']}}, {'data': {'k': 'v'}}, {'spec': {'size': True}}, {'spec': {'size': {'a': 1}}},
    ]
    for number, patch in enumerate(patches):
        yield f'patch {number}', [handler(kind='mutate', does=[['patch', patch]])], [review(), review(object=RICH), update(widget(), RICH)]
    yield 'functions', [handler(kind='mutate', does=[['append', 'spec', 'list', 3], ['patch', {'spec': {'list': [1]}}]])], [review(object=RICH)]
    yield 'functions alone', [handler(kind='mutate', does=[['append', 'spec', 'list', 3]])], [review(object=RICH)]
    yield 'several patches', [
        handler('h1', 'mutate', does=[['patch', {'spec': {'size': 2, 'a': 1}}]]),
        handler('h2', 'mutate', does=[['patch', {'spec': {'size': 3, 'b': {'c': 1}}}]]),
        handler('h3', 'mutate', does=[['patch', {'spec': {'b': {'d': 1}, 'a': None}}]])], [review(object=RICH)]
    yield 'a patch of a validation', [handler(does=[['patch', {'spec': {'size': 2}}]])], [review()]
    yield 'a patch of a deletion', [handler(kind='mutate', operations=['DELETE'], does=[['patch', {'spec': {'size': 2}}]])], [delete(RICH)]


def make_function(data, seen):
    def function(patch, warnings, **kwargs):
        seen.append({name: plain(kwargs[name]) for name in SEEN})
        for step, *args in data['does']:
            if step == 'warn':
                warnings.append(args[0])
            elif step == 'patch':
                for key, value in args[0].items():
                    merge(patch, key, value)
            elif step == 'append':
                patch.fns.append(lambda body, args=args: body[args[0]][args[1]].append(args[2]))
            elif step == 'raise':
                raise ERRORS[args[0]](*args[1:])
            elif step == 'return':
                return args[0]
    return function


def merge(target, key, value):
    if isinstance(value, dict):
        inner = target.setdefault(key, {})
        for name, one in value.items():
            merge(inner, name, one)
    else:
        target[key] = copy.deepcopy(value)


def plain(value):
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    if hasattr(value, 'items'):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, collections.abc.Sequence):
        return [plain(one) for one in value]
    return str(value)


def register(registry, data, seen):
    tokens = lambda values: {key: TOKENS.get(value, value) for key, value in values.items()}
    options = dict(data['options'])
    for name in ('labels', 'annotations'):
        if name in options:
            options[name] = tokens(options[name])
    if 'value' in options:
        options['value'] = TOKENS.get(options['value'], options['value'])
    for ours, theirs in (('sideEffects', 'side_effects'), ('ignoreFailures', 'ignore_failures')):
        if ours in options:
            options[theirs] = options.pop(ours)
    decorator = kopf.on.validate if data['kind'] == 'validate' else kopf.on.mutate
    decorator(GROUP, 'v1', data['plural'], id=data['id'], registry=registry, **options)(make_function(data, seen))


async def answer(handlers, asked):
    seen = []
    registry = kopf.OperatorRegistry()
    for data in handlers:
        register(registry, data, seen)
    insights = references.Insights()
    insights.webhook_resources.update(
        one for one in RESOURCES if any(handler['plural'] == one.plural for handler in handlers))
    try:
        review = await admission.serve_admission_request(
            json.loads(json.dumps(asked['review'])), webhook=asked['webhook'], headers={'a': 'b'}, settings=kopf.OperatorSettings(),
            memories=inventory.ResourceMemories(), memobase=kopf.Memo(), registry=registry, insights=insights, indices={})
    except (admission.WebhookError, TypeError) as error:
        return {'error': type(error).__name__}
    response = review['response']
    body = asked['review']['request'].get('object') or asked['review']['request'].get('oldObject')
    patch = json.loads(base64.b64decode(response.pop('patch'))) if 'patch' in response else []
    after = jsonpatch.apply_patch(body, patch) if patch else None
    return {'review': review, 'after': after, 'calls': len(seen), 'seen': seen if handlers[0]['options'].get('param') else []}


def webhooks():
    options = [
        {}, {'operations': ['CREATE']}, {'operations': ['CREATE', 'UPDATE']}, {'subresource': 'status'}, {'subresource': '*'},
        {'sideEffects': True}, {'ignoreFailures': True}, {'persistent': True}, {'labels': {'app': 'web'}},
        {'labels': {'a': '<present>', 'b': '<absent>', 'c': 'd'}}, {'annotations': {'a': 'b'}}, {'field': 'spec.size'},
    ]
    handlers = [handler(f'h{number}', **one) for number, one in enumerate(options)]
    handlers += [handler(id) for id in ('some_fn', 'fn/sub.field', 'with space', 'a+b', 'ends.here', 'camelCase')]
    handlers += [handler('gadget', plural='gadgets'), handler('mutator', 'mutate')]
    configs = [
        {'url': 'https://example.com'}, {'url': 'https://example.com:8080/base/'}, {'url': 'https://example.com', 'caBundle': 'Q0E='},
        {'service': {'namespace': 'ns', 'name': 'svc'}}, {'service': {'namespace': 'ns', 'name': 'svc', 'path': '/base', 'port': 9443}},
    ]
    registry = kopf.OperatorRegistry()
    for data in handlers:
        register(registry, data, [])
    build = lambda config: admission.build_webhooks(
        registry._webhooks.get_all_handlers(), resources=RESOURCES, name_suffix='auto.kopf.dev', client_config=config)
    return {'handlers': handlers, 'built': [{'config': config, 'webhooks': build(config)} for config in configs]}


async def main():
    reviews = []
    for name, handlers, asked in cases():
        answers = [{**one, 'expected': await answer(handlers, one)} for one in asked]
        reviews.append({'name': name, 'handlers': handlers, 'reviews': answers})
    json.dump({'reviews': reviews, 'webhooks': webhooks()}, sys.stdout, sort_keys=True, separators=(',', ':'))


asyncio.run(main())
