import { describe, expect, test } from 'vitest'
import { ManualClock, settle } from '../../test/support/manual-clock.ts'
import { createHandler } from '../handler-definitions.ts'
import type { IndexHandler } from '../handlers/handler.ts'
import type { KubeObject } from '../kube/objects.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { createIndexedObject, Indexer, isNewTo } from './indexer.ts'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const watch = { begin: () => ({ returned: () => {}, settled: () => {} }) }
const pods: Resource = {
  group: '',
  version: 'v1',
  plural: 'pods',
  kind: 'Pod',
  singular: 'pod',
  shortcuts: [],
  categories: [],
  subresources: [],
  namespaced: true,
  preferred: true,
  verbs: ['list', 'watch'],
}

function bodyOf(resourceVersion: string | undefined): KubeObject {
  const metadata = { name: 'a', ...(resourceVersion !== undefined && { resourceVersion }) }
  return { apiVersion: 'v1', kind: 'Pod', metadata }
}

/** Index handlers that get the version of the object, each with its own index. */
function setUp(...fns: ((version: string) => unknown)[]) {
  const handlers = fns.map((fn, position): IndexHandler => {
    const index = ({ body }: { body: KubeObject }) => fn(body.metadata.resourceVersion!)
    return createHandler('index', 'pods', { id: String(position) }, index)
  })
  const tables = handlers.map(({ index }) => index)
  const indexer = new Indexer({
    tables: new Map(tables.map((table, position) => [String(position), [table]])),
    clock: new ManualClock(),
    execution: { defaultBackoff: 60 },
    signal: new AbortController().signal,
  })
  const object = createIndexedObject()
  const bring = (version: string) => {
    const body = bodyOf(version)
    indexer.indexState(object, {
      resource: pods,
      body,
      handlers,
      args: () => ({ body }),
      logger: silent,
      watch,
      observer: undefined,
      observed: undefined,
    })
  }
  return { object, bring, discard: () => indexer.discard(object, handlers), tables }
}

/** An index handler that returns when the test calls `finish`. */
function slow() {
  const calls: string[] = []
  const gates: (() => void)[] = []
  const fn = async (version: string) => {
    calls.push(version)
    await new Promise<void>((resolve) => gates.push(resolve))
    return version
  }
  return { fn, calls, finish: () => gates.shift()!() }
}

describe('new states of an object', () => {
  test.each<[string, string | undefined, string | undefined, boolean]>([
    ['is new if there was none before', undefined, '5', true],
    ['is new if its version is newer', '5', '10', true],
    ['is not new if its version is older', '10', '5', false],
    ['is not new if its version is the same', '5', '5', false],
    ['is new if the versions cannot be compared', 'abc', 'abd', true],
    ['is new if it has no version', '5', undefined, true],
  ])('a state of an object %s', (_, known, version, expected) => {
    expect(isNewTo({ ...createIndexedObject(), version: known }, bodyOf(version))).toBe(expected)
  })
})

describe('indexed objects', () => {
  test('an object is indexed state by state, and of the waiting states only the last is indexed', async () => {
    const { fn, calls, finish } = slow()
    const { object, bring, tables } = setUp(fn)
    for (const version of ['1', '2', '3', '4']) bring(version)
    expect(calls).toEqual(['1'])
    const done = object.done
    finish()
    await settle()
    expect([calls, tables[0]!.get(null)]).toEqual([['1', '4'], ['1']])
    finish()
    await done
    await settle()
    expect([tables[0]!.get(null), object.done]).toEqual([['4'], undefined])
  })

  test('an object that is discarded while it is indexed is not indexed any further', async () => {
    const { fn, calls, finish } = slow()
    const later: string[] = []
    const { bring, discard, tables } = setUp(fn, (version) => later.push(version))
    bring('1')
    bring('2')
    discard()
    finish()
    await settle()
    expect([calls, later, tables[0]!.size, tables[1]!.size]).toEqual([['1'], [], 0, 0])
  })

  test('an object that returns is indexed again, also in the state in which it was discarded', async () => {
    const { object, bring, discard, tables } = setUp((version) => version)
    bring('5')
    await object.done
    discard()
    expect([tables[0]!.size, isNewTo(object, bodyOf('5'))]).toEqual([0, true])
    object.isGone = false
    bring('5')
    await object.done
    expect(tables[0]!.get(null)).toEqual(['5'])
  })
})
