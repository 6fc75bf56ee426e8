import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { builtinColumns, defaultColumns } from './builtin-columns.ts'
import { ageColumn, nameColumn } from './columns.ts'
import { toObjectTable, toPartialList, toPartialObject, toTable, toTableEvent } from './table.ts'

const now = new Date('2026-11-16T00:00:00Z')
const object: KubeObject = {
  apiVersion: 'kopf.dev/v1',
  kind: 'KopfExample',
  metadata: { name: 'a', resourceVersion: '7', creationTimestamp: '2026-11-15T23:59:30Z' },
  spec: {},
}
const columns = [nameColumn, ageColumn]
const options = { includeObject: 'Metadata', version: 'v1', now } as const
const partial = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata }

describe('a table', () => {
  test('has the version of the list, its columns and a row for each object', () => {
    const table = toTable([object], columns, { ...options, resourceVersion: '9', continue: 'c', remainingItemCount: 3 })
    expect(JSON.parse(JSON.stringify(table))).toEqual({
      kind: 'Table',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { resourceVersion: '9', continue: 'c', remainingItemCount: 3 },
      columnDefinitions: columns.map(({ name, type, format, description, priority }) => {
        return { name, type, format, description, priority }
      }),
      rows: [{ cells: ['a', '30s'], object: partial }],
    })
  })

  test('of one object has its version', () => {
    expect(toObjectTable(object, columns, options)).toMatchObject({ metadata: { resourceVersion: '7' } })
  })

  test.each([
    ['Metadata', partial],
    ['Object', object],
    ['None', null],
  ] as const)('comes with %s of the objects', (includeObject, expected) => {
    expect(toTable([object], columns, { ...options, includeObject })).toMatchObject({ rows: [{ object: expected }] })
  })

  test('is of the version that was asked for', () => {
    expect(toTable([object], columns, { ...options, version: 'v1beta1' })).toMatchObject({
      apiVersion: 'meta.k8s.io/v1beta1',
      rows: [{ object: { apiVersion: 'meta.k8s.io/v1beta1' } }],
    })
  })

  test('without objects has an empty list of rows, or none where the kind has no columns of its own', () => {
    expect(toTable([], columns, options)['rows']).toEqual([])
    expect(toTable([], defaultColumns, options)['rows']).toBeNull()
  })

  test('marks pods that have ended', () => {
    const pod = { ...object, apiVersion: 'v1', kind: 'Pod', status: { phase: 'Failed' } }
    expect(toTable([pod], builtinColumns('', 'pods'), options)).toMatchObject({
      rows: [{ conditions: [{ type: 'Completed', status: 'True', reason: 'Failed', message: 'The pod failed.' }] }],
    })
  })
})

describe('the events of a watch', () => {
  test('have the columns the first time only', () => {
    const first = toTableEvent(object, columns, { ...options, isFirst: true })
    expect(first['columnDefinitions']).toHaveLength(2)
    expect(toTableEvent(object, columns, { ...options, isFirst: false })['columnDefinitions']).toBeNull()
  })

  test('show the bookmark after the initial ones even to who wants no objects', () => {
    const metadata = { resourceVersion: '8', annotations: { 'k8s.io/initial-events-end': 'true' } }
    const event = toTableEvent({ ...object, metadata }, columns, { ...options, includeObject: 'None', isFirst: false })
    expect(event).toMatchObject({ rows: [{ cells: ['', null], object: { metadata } }] })
  })
})

describe('metadata alone', () => {
  test('has nothing else', () => {
    expect(toPartialObject(object, 'v1')).toEqual(partial)
  })

  test('in a list has the list’s own', () => {
    expect(toPartialList([object], { version: 'v1', resourceVersion: '9' })).toEqual({
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { resourceVersion: '9' },
      items: [partial],
    })
    expect(toPartialList([], { version: 'v1' })['items']).toBeNull()
  })
})
