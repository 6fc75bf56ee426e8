import { ApiServer } from 'kopf/server'
import { expect, test } from 'vitest'
import { ask, InProcessWatch } from '../../../support/in-process.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { runScript } from '../../../support/scripts.ts'

const path = '/api/v1/namespaces/default/events'

test('events expire an hour after their last write', async () => {
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

test('events expire without other requests, and watches see them deleted', async () => {
  const clock = new ManualClock()
  const api = new ApiServer({ clock })
  for (const name of ['first', 'second']) {
    await ask(api, 'POST', path, { body: eventNamed(name) })
    await clock.advance(600_000)
  }
  const watch = await InProcessWatch.open(api, `${path}?resourceVersion=${api.version}&timeoutSeconds=7200`)
  await clock.advance(2_400_000 - 1)
  expect((await ask(api, 'GET', path)).body['items']).toHaveLength(2)
  await clock.advance(1)
  expect(await watch.next()).toBe('DELETED first')
  await clock.advance(600_000)
  expect(await watch.next()).toBe('DELETED second')
  await watch.leave()
  await api.close()
  expect(clock.sleeping).toBe(0)
})

test('the expiry timer of an event does not keep the process alive', async () => {
  const source = `
    import { ApiServer } from 'kopf/server'
    const { status } = await new ApiServer().send({ method: 'POST', path: '${path}', body: process.argv[1] })
    console.log(status)`
  expect(await runScript(source, { args: [JSON.stringify(eventNamed('lasting'))] })).toBe('201\n')
})

test('timestamps that the server sets come from its clock', async () => {
  const api = new ApiServer({ clock: new ManualClock() })
  const volumes = '/api/v1/persistentvolumes'
  const spec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/data' } }
  const made = await ask(api, 'POST', volumes, { body: { metadata: { name: 'disk' }, spec } })
  expect(made.body['status']).toMatchObject({ lastPhaseTransitionTime: '2030-01-01T00:00:00Z' })
  const patched = await ask(api, 'PATCH', `${volumes}/disk/status`, { body: { status: { phase: 'Released' } } })
  expect(patched.body['status']).toMatchObject({ lastPhaseTransitionTime: '2030-01-01T00:00:00Z' })
})

function eventNamed(name: string): object {
  return { metadata: { name }, involvedObject: { kind: 'Pod', namespace: 'default', name: 'web' }, reason: 'Tested' }
}
