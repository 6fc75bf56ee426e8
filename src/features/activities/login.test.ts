import { expect, test } from 'vitest'
import { ConnectionInfo } from '../../client/credentials.ts'
import { chooseConnection } from './login.ts'

const at = (name: string, priority?: number) => new ConnectionInfo({ server: `https://${name}`, priority })

test.each<[string, ConnectionInfo[], number, string | undefined]>([
  ['nobody has an answer', [], 0.5, undefined],
  ['the only one', [at('a', -5)], 0.99, 'https://a'],
  ['the highest priority', [at('a', 1), at('b', 20), at('c')], 0, 'https://b'],
  ['0 where none is told', [at('a', -1), at('b')], 0, 'https://b'],
  ['among equals the first', [at('a', 2), at('b', 2), at('c', 1)], 0, 'https://a'],
  ['or another, by chance', [at('a', 2), at('b', 2), at('c', 1)], 0.99, 'https://b'],
])('%s', (_, connections, chance, expected) => {
  expect(chooseConnection(connections, () => chance)?.server).toBe(expected)
})
