import { expect, test } from 'vitest'
import type { ServerContext } from '../../call.ts'
import { ServerStore } from '../../storage/store.ts'
import { follow, read } from './reading.ts'

const pod = (name: string) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' } })

test('who starts late sees what is there, then what comes', () => {
  const store = new ServerStore({ changes: 10, characters: 10_000 })
  store.create('pods', pod('before'), {})
  const seen: string[] = []
  follow({ store } as unknown as ServerContext, 'pods', ({ type, current }) => seen.push(`${type} ${current.name}`))
  const after = store.create('pods', pod('after'), {})!
  store.remove(after)
  expect(seen).toEqual(['ADDED before', 'ADDED after', 'DELETED after'])
})

test('a state is read once', () => {
  const store = new ServerStore({ changes: 10, characters: 10_000 })
  const stored = store.create('pods', pod('one'), {})!
  expect(read(stored)).toBe(read(stored))
})
