import { describe, expect, test } from 'vitest'
import { ManualClock, settle } from '../../../test/support/manual-clock.ts'
import type { Handler } from '../../core/handling/handler.ts'
import { createHandler } from '../../core/handling/register.ts'
import type { KubeObject } from '../../kube/objects.ts'
import type { Resource } from '../../kube/resources.ts'
import { createIndexedObject, isNewTo } from './indexed-object.ts'
import { Indexer } from './indexer.ts'

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

/** Functions of the version of the object, each with an index of its own. */
function setUp(...fns: ((version: string) => unknown)[]) {
  const handlers = fns.map((fn, position): Handler => {
    const index = ({ body }: { body: KubeObject }) => fn(body.metadata.resourceVersion!)
    return createHandler('index', 'pods', { id: String(position) }, index)
  })
  const tables = handlers.map(({ index }) => index!)
  const indexer = new Indexer({
    tables: new Map(tables.map((table, position) => [String(position), [table]])),
    clock: new ManualClock(),
    execution: { defaultBackoff: 60 },
    signal: new AbortController().signal,
  })
  const object = createIndexedObject()
  const bring = (version: string) => {
    const body = bodyOf(version)
    indexer.bring(object, { resource: pods, body, handlers, args: () => ({ body }), logger: silent, watch })
  }
  return { object, bring, discard: () => indexer.discard(object, handlers), tables }
}

/** A function that returns when it is told to. */
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

describe('a state is news', () => {
  test.each<[string, string | undefined, string | undefined, boolean]>([
    ['when there was none before', undefined, '5', true],
    ['when it is newer', '5', '10', true],
    ['not when it is older', '10', '5', false],
    ['not when it is the same', '5', '5', false],
    ['when nobody can tell', 'abc', 'abd', true],
    ['when it does not say what it is', '5', undefined, true],
  ])('%s', (_, known, version, expected) => {
    expect(isNewTo({ ...createIndexedObject(), version: known }, bodyOf(version))).toBe(expected)
  })
})

describe('an object', () => {
  test('is indexed state by state, and of those that wait only the last', async () => {
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

  test('whose time has come meanwhile is not indexed any further', async () => {
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

  test('that comes back is indexed again, also in the state in which it went', async () => {
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
