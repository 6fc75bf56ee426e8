import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../kube/objects.ts'
import { Types } from '../builtins/types.ts'
import { mergeStrategically } from './merge.ts'

const types = new Types()
const pod = 'core.v1.Pod'
const env = (count: number, value: string): JsonObject[] =>
  Array.from({ length: count }, (_, index) => ({ name: `N${index}`, value }))
const withEnv = (list: JsonObject[], rest: JsonObject = {}): JsonObject => ({
  spec: { containers: [{ name: 'a', env: list, ...rest }] },
})
const namesIn = (object: JsonObject): unknown[] => {
  const [container] = (object['spec'] as { containers: Array<{ env: JsonObject[] }> }).containers
  return container!.env.map(({ name }) => name)
}

test('keys that JavaScript has a meaning of its own for are keys like others', () => {
  const patch = JSON.parse('{"metadata":{"labels":{"__proto__":"x","constructor":"y"}}}') as JsonObject
  const merged = mergeStrategically(types, pod, { metadata: { labels: { a: 'b' } } }, patch)
  expect(JSON.stringify(merged)).toBe('{"metadata":{"labels":{"a":"b","__proto__":"x","constructor":"y"}}}')
  expect(({} as JsonObject)['x']).toBeUndefined()
})

describe('a patch as large as a body can be', () => {
  const many = 40_000

  test.each<[string, JsonObject]>([
    ['changes every element', withEnv(env(many, '2').reverse())],
    ['deletes every element', withEnv(env(many, '').map(({ name }) => ({ name: name!, $patch: 'delete' })))],
    ['orders every element', withEnv([], { '$setElementOrder/env': env(many, '').reverse() })],
    ['adds as many', withEnv(env(2 * many, '2').slice(many))],
    ['knows of no order', withEnv(env(2 * many, '2').slice(many), { '$setElementOrder/env': [] })],
  ])('%s in a moment', (_, patch) => {
    const started = process.cpuUsage()
    const merged = mergeStrategically(types, pod, withEnv(env(many, '1')), patch)
    const { user } = process.cpuUsage(started)
    expect(namesIn(merged)).toBeInstanceOf(Array)
    expect(user).toBeLessThan(3_000_000)
  })
})

test('what is deleted and made anew in one patch stands where Go would have it', () => {
  const original = withEnv(env(3, '1'))
  const patch = withEnv(
    [
      { $patch: 'delete', name: 'N1' },
      { name: 'N1', value: 'new' },
    ],
    {
      '$setElementOrder/env': [{ name: 'N1' }],
    },
  )
  expect(namesIn(mergeStrategically(types, pod, original, patch))).toEqual(['N0', 'N2', 'N1'])
})
