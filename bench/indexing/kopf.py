"""Measures Kopf's indexer. Reads pods from standard input; the argument is the number of lookups. Run by main.ts."""
import asyncio
import gc
import json
import logging
import sys
import time
import tracemalloc

import kopf
from kopf._cogs.structs import bodies, references
from kopf._core.engines import indexing
from kopf._core.intents import registries

logging.disable(logging.CRITICAL)
pods = json.load(sys.stdin)
lookups = int(sys.argv[1])
registry = registries.OperatorRegistry()
settings = kopf.OperatorSettings()
resource = references.Resource('', 'v1', 'pods', kind='Pod', namespaced=True, preferred=True, verbs=frozenset({'list', 'watch'}))
logger = logging.getLogger('bench')


@kopf.index('v1', 'pods', registry=registry)
async def by_name(namespace, name, spec, **_):
    return {(namespace, name): spec['nodeName']}


def create_indexers():
    indexers = indexing.OperatorIndexers()
    indexers.ensure(registry._indexing.get_all_handlers())
    return indexers


async def fill(indexers):
    for pod in pods:
        await indexing.index_resource(
            indexers=indexers, registry=registry, settings=settings, resource=resource,
            raw_event={'type': None, 'object': pod}, memory=indexing.IndexingMemory(), logger=logger,
            memo=kopf.Memo(), body=bodies.Body(pod),
        )


def measure_time():
    took = []
    for _ in range(3):
        began = time.process_time()
        asyncio.run(fill(create_indexers()))
        took.append(time.process_time() - began)
    return sorted(took)[1] / len(pods) * 1e6


def measure_memory():
    """The pods are allocated before, so that only the entries and their keys are counted."""
    gc.collect()
    tracemalloc.start()
    indexers = create_indexers()
    asyncio.run(fill(indexers))
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size / len(pods), indexers


def measure_lookups(index):
    keys = [(pod['metadata']['namespace'], pod['metadata']['name']) for pod in pods]
    began = time.perf_counter()
    found = 0
    for n in range(lookups):
        namespace, name = keys[n % len(keys)]
        found += len(index.get((namespace, name), []))
    assert found == lookups
    return lookups / (time.perf_counter() - began)


indexing_us = measure_time()
entry_bytes, indexers = measure_memory()
index = indexers.indices['by_name']
assert len(index) == len(pods)
print(json.dumps({'indexingUs': indexing_us, 'entryBytes': entry_bytes, 'lookupsPerSecond': measure_lookups(index)}))
