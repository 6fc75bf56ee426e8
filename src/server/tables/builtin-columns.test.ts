import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { builtinColumns, defaultColumns } from './builtin-columns.ts'
import { headers } from './headers.generated.ts'
import recorded from './testdata/builtin-rows.json' with { type: 'json' }

const now = new Date('2026-11-16T00:00:00Z')

function split(resource: string): [group: string, plural: string] {
  const slash = resource.indexOf('/')
  return [resource.slice(0, slash), resource.slice(slash + 1)]
}

function cellsOf(resource: string, object: unknown): unknown[] {
  return builtinColumns(...split(resource)).map((column) => column.cell(object as KubeObject, now))
}

describe('shows what the real server was recorded to show', () => {
  test.each(recorded)('$resource $object.metadata.name', ({ resource, object, cells, now: time }) => {
    const columns = builtinColumns(...split(resource))
    expect(columns.map((column) => column.cell(object as unknown as KubeObject, new Date(time)))).toEqual(cells)
  })
})

describe('has a cell for every header, also of objects that are empty or full of surprises', () => {
  const empty = { metadata: {} }
  const wrong = (value: unknown): unknown => ({ metadata: { name: 'x' }, spec: value, status: value, data: value })
  test.each(Object.keys(headers))('%s', (resource) => {
    const count = headers[resource]!.length
    for (const object of [
      empty,
      wrong(5),
      wrong(null),
      wrong('x'),
      wrong([]),
      wrong([null]),
      wrong({ conditions: [5] }),
    ]) {
      const cells = cellsOf(resource, object)
      expect(cells).toHaveLength(count)
      for (const cell of cells) expect(typeof cell).toMatch(/string|number|boolean/)
    }
  })
})

test('shows when an object was created where the real server has no table', () => {
  const role = { metadata: { name: 'a', creationTimestamp: '2026-11-15T00:00:00Z' } }
  expect(builtinColumns('rbac.authorization.k8s.io', 'roles')).toBe(defaultColumns)
  expect(builtinColumns('constructor', 'x')).toBe(defaultColumns)
  expect(cellsOf('rbac.authorization.k8s.io/roles', role)).toEqual(['a', '2026-11-15T00:00:00Z'])
  expect(cellsOf('rbac.authorization.k8s.io/roles', { metadata: {} })).toEqual(['', '0001-01-01T00:00:00Z'])
})

describe('judges the status of a pod', () => {
  const running = { name: 'a', ready: true, state: { running: {} } }
  const completed = { name: 'b', state: { terminated: { exitCode: 0, reason: 'Completed' } } }
  const failed = { name: 'c', state: { terminated: { exitCode: 3 } } }
  const ready = [{ type: 'Ready', status: 'True' }]
  const cases: ReadonlyArray<readonly [string, Record<string, unknown>, string]> = [
    ['by its phase', { phase: 'Pending' }, 'Pending'],
    ['by its reason', { phase: 'Failed', reason: 'Evicted' }, 'Evicted'],
    ['by its gates', { conditions: [{ type: 'PodScheduled', reason: 'SchedulingGated' }] }, 'SchedulingGated'],
    ['as running while one is', { conditions: ready, containerStatuses: [completed, running] }, 'Running'],
    ['as not ready', { containerStatuses: [completed, running] }, 'NotReady'],
    ['by a failure', { containerStatuses: [completed, failed] }, 'ExitCode:3'],
    ['by the first that waits', { containerStatuses: [{ state: { waiting: { reason: 'W' } } }, failed] }, 'W'],
    ['by an init container that failed', { initContainerStatuses: [failed] }, 'Init:ExitCode:3'],
    ['by one that waits', { initContainerStatuses: [{ state: { waiting: { reason: 'W' } } }] }, 'Init:W'],
    ['by how many are done', { initContainerStatuses: [completed, { state: {} }] }, 'Init:1/0'],
  ]
  test.each(cases)('%s', (_, status, expected) => {
    expect(cellsOf('/pods', { metadata: {}, status })[2]).toBe(expected)
  })

  test('as terminating when it is deleted, but not when it has ended', () => {
    const metadata = { deletionTimestamp: '2026-11-16T00:00:00Z' }
    expect(cellsOf('/pods', { metadata, status: { phase: 'Running' } })[2]).toBe('Terminating')
    expect(cellsOf('/pods', { metadata, status: { phase: 'Succeeded' } })[2]).toBe('Succeeded')
    expect(cellsOf('/pods', { metadata, status: { reason: 'NodeLost' } })[2]).toBe('Unknown')
  })
})
