"""The handlers of every case of scenarios/requests.ts; the labels of an object select its case."""

import os

import kopf

GADGETS = (os.environ['BENCH_GROUP'], 'v1', os.environ['BENCH_PLURAL'])


@kopf.on.startup()
def configure(settings, **_):
    if os.environ.get('BENCH_STORAGE') == 'status':
        settings.persistence.progress_storage = kopf.StatusProgressStorage()
        settings.persistence.diffbase_storage = kopf.StatusDiffBaseStorage()


def register(handlers, status, finalizer, number):
    labels = {'handlers': str(handlers), 'status': status, 'finalizer': finalizer}
    suffix = f'{handlers}-{status}-{finalizer}-{number}'

    async def observe(spec, patch, reason, name, **_):
        print(f'run {reason.value} {name}', flush=True)
        if status == 'yes' and reason.value != 'resume':
            patch.status[f'observed{number}'] = spec['size']

    async def cleanup(name, **_):
        print(f'run delete {name}', flush=True)

    for decorator in (kopf.on.create, kopf.on.update, kopf.on.resume):
        decorator(*GADGETS, labels=labels, id=f'observe-{suffix}')(observe)
    if finalizer == 'yes':
        kopf.on.delete(*GADGETS, labels=labels, id=f'cleanup-{suffix}')(cleanup)


for handlers in (1, 3, 10):
    for status in ('no', 'yes'):
        for finalizer in ('no', 'yes'):
            for number in range(handlers):
                register(handlers, status, finalizer, number)
