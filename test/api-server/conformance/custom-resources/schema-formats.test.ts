/**
 * String formats of schemas, each with values at its limits. testdata/formats.json records which values the real API server
 * accepts, also for format names that it does not know.
 */
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { useCluster } from '../../../support/cluster.ts'
import { object } from '../../../support/objects.ts'

interface Values {
  readonly good: readonly string[]
  readonly bad: readonly string[]
}

const file = new URL('testdata/formats.json', import.meta.url)
const formats = Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, Values>)

const cluster = useCluster()

beforeAll(() => {
  const properties = Object.fromEntries(formats.map(([format]) => [format, { type: 'string', format }]))
  const schema = { type: 'object', properties: { spec: { type: 'object', properties } } }
  return cluster.install({ kind: 'Widget', schema })
})

describe('schema formats', () => {
  test.each(formats)(
    'the API server accepts and refuses the recorded values of the format %s',
    async (format, { good, bad }) => {
      const send = async (value: string): Promise<[string, number]> => {
        const widget = object(`${cluster.group}/v1`, 'Widget', 'edge', { spec: { [format]: value } })
        const { status } = await cluster.api.post(cluster.custom('widgets'), widget, { query: { dryRun: 'All' } })
        return [value, status]
      }
      const expected = [...good.map((value) => [value, 201]), ...bad.map((value) => [value, 422])]
      expect(await Promise.all([...good, ...bad].map(send))).toEqual(expected)
    },
  )
})
