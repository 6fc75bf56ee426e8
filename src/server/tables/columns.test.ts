import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../kube/objects.ts'
import { ageColumn, type ColumnDefinition, compileColumn, compileColumns, nameColumn } from './columns.ts'
import recorded from './testdata/custom-rows.json' with { type: 'json' }

const now = new Date('2026-11-16T00:00:00Z')

function objectWith(spec: unknown): KubeObject {
  return { apiVersion: 'kopf.dev/v1', kind: 'KopfExample', metadata: { name: 'a' }, spec }
}

describe('shows what the real server was recorded to show', () => {
  test.each(recorded.columns)('$definition.type $definition.jsonPath', ({ definition, cells }) => {
    const column = compileColumn(definition)
    const objects = recorded.objects as unknown as KubeObject[]
    expect(objects.map((object) => column.cell(object, now))).toEqual(cells)
  })
})

describe('shows dates as ages', () => {
  const column = compileColumn({ name: 'Date', type: 'date', jsonPath: '.spec' })
  test.each([
    ['2026-11-15T23:59:00Z', '60s'],
    ['2026-11-15T22:00:00+02:00', '4h'],
    ['2024-01-01T00:00:00.5Z', '2y319d'],
    ['', '<unknown>'],
    ['0001-01-01T00:00:00Z', '<unknown>'],
    ['yesterday', '<invalid>'],
    ['2026-02-30T00:00:00Z', '<invalid>'],
    ['2026-11-17T00:00:00Z', '<invalid>'],
    [5, null],
  ])('%s as %s', (value, cell) => {
    expect(column.cell(objectWith(value), now)).toBe(cell)
  })
})

test('describes a column by its path where the CRD does not', () => {
  const { cell: _, ...header } = compileColumn({ name: 'Size', type: 'integer', jsonPath: '.spec.size' })
  expect(header).toEqual({
    name: 'Size',
    type: 'integer',
    format: '',
    description: 'Custom resource definition column (in JSONPath format): .spec.size',
    priority: 0,
  })
})

describe('of a CRD', () => {
  const size: ColumnDefinition = { name: 'Size', type: 'integer', jsonPath: '.spec.size' }

  test('are the name and the age where it defines none', () => {
    expect(compileColumns([])).toEqual([nameColumn, ageColumn])
  })

  test('do not have the age where it defines others', () => {
    expect(compileColumns([size]).map((column) => column.name)).toEqual(['Name', 'Size'])
  })

  test('end before the first whose path is wrong', () => {
    const wrong = { ...size, name: 'Wrong', jsonPath: '.spec[' }
    expect(compileColumns([size, wrong, size]).map((column) => column.name)).toEqual(['Name', 'Size'])
  })

  test('show no age of an object that has no timestamp', () => {
    expect(ageColumn.cell(objectWith({}), now)).toBeNull()
  })
})
