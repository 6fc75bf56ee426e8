import { ApiServer } from 'kopf/server'
import { expect, test } from 'vitest'

const path = '/api/v1/namespaces/default/events'

test('events are gone an hour after they were last written', async () => {
  let now = Date.parse('2030-01-01T00:00:00Z')
  const api = new ApiServer({ clock: { now: () => now, sleep: () => new Promise(() => {}) } })
  const post = (name: string) => api.send({ method: 'POST', path, body: JSON.stringify(eventNamed(name)) })
  const names = async () => {
    const response = await api.send({ method: 'GET', path })
    const chunks: Uint8Array[] = []
    for await (const chunk of response.body) chunks.push(chunk)
    const { items } = JSON.parse(Buffer.concat(chunks).toString()) as { items: Array<{ metadata: { name: string } }> }
    return items.map(({ metadata }) => metadata.name)
  }

  expect((await post('old')).status).toBe(201)
  await post('renewed')
  now += 1_800_000
  await api.send({
    method: 'PATCH',
    path: `${path}/renewed`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: '{"count":2}',
  })
  now += 1_801_000
  await post('new')

  expect(await names()).toEqual(['new', 'renewed'])
})

function eventNamed(name: string): object {
  return { metadata: { name }, involvedObject: { kind: 'Pod', namespace: 'default', name: 'web' }, reason: 'Tested' }
}
