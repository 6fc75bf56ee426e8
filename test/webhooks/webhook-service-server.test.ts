/** `WebhookServiceServer`: certificates in a Secret that are created once, shared by replicas, and renewed before they expire. */
import { execFile } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { WebhookServiceServer } from 'kopf/webhooks'
import { afterAll, describe, expect, test } from 'vitest'
import { ask } from '../support/in-process.ts'
import {
  certificatesIn,
  createWorld,
  hourMs,
  minuteMs,
  type Replica,
  secretPath,
  type World,
} from './webhook-replicas.ts'
import { makeFolder } from './webhook-support.ts'

const folder = makeFolder()

afterAll(() => rmSync(folder, { recursive: true }))

const serials = async (world: World) =>
  new Set(await Promise.all(world.replicas.map(async (one) => (await one.shown()).serialNumber)))

const writes = (world: World) => world.replicas.flatMap(({ requests }) => requests.writes())

test('the first replica creates the Secret and yields the Service as its address', async () => {
  const world = await createWorld()
  const replica = await world.start({ path: 'hooks', servicePort: 8443 })
  expect(replica.configs).toEqual([
    {
      service: { namespace: 'shop', name: 'web', port: 8443, path: '/hooks' },
      caBundle: Buffer.from(await world.text('ca.crt')).toString('base64'),
    },
  ])
  expect(await world.secret()).toMatchObject({
    type: 'kubernetes.io/tls',
    metadata: { labels: { 'kopf.dev/webhook-service': 'web' } },
  })
  const certificate = await replica.shown()
  for (const host of ['web', 'web.shop', 'web.shop.svc', 'web.shop.svc.cluster.local']) {
    expect(certificate.checkHost(host)).toBe(host)
  }
})

test('further replicas serve the existing certificate and write nothing', async () => {
  const world = await createWorld()
  const first = await world.start()
  const second = await world.start()
  expect(second.configs).toEqual(first.configs)
  expect((await second.shown()).serialNumber).toBe((await first.shown()).serialNumber)
  expect(second.requests.writes()).toEqual([])
})

test('one of several simultaneous replicas creates the Secret, and the others use it', async () => {
  const world = await createWorld()
  for (let index = 0; index < 5; index += 1) world.begin()
  await world.pass(10 * minuteMs)
  expect(await serials(world)).toHaveProperty('size', 1)
  expect(new Set(world.replicas.map(({ bundle }) => bundle))).toEqual(new Set([await world.text('ca.crt')]))
  expect(writes(world).map(({ method }) => method)).toEqual(Array(5).fill('POST'))
})

test('a replica without due rotation checks the Secret every five minutes and writes nothing', async () => {
  const world = await createWorld()
  const replica = await world.start()
  replica.requests.requests.length = 0
  await world.pass(hourMs)
  expect(replica.requests.writes()).toEqual([])
  expect(replica.requests.watches().length).toBeGreaterThan(10)
  expect(replica.requests.requests.length).toBeLessThanOrEqual(24)
  expect(replica.configs).toHaveLength(1)
})

test('a certificate is renewed after two thirds of its life by one replica for all', async () => {
  const world = await createWorld()
  const options = { caLifetime: '36h' } as const
  const replicas = [await world.start(options), await world.start(options)]
  const [before] = await serials(world)
  world.jump(7 * hourMs)
  await world.pass(50 * minuteMs)
  expect(await serials(world)).toEqual(new Set([before]))
  await world.pass(20 * minuteMs)
  const after = await serials(world)
  expect(after.size).toBe(1)
  expect(after).not.toContain(before)
  expect(replicas.map(({ configs }) => configs.length)).toEqual([1, 1])
  expect(world.server.requests.last({ verb: 'update', resource: 'secrets', status: 200 })).toHaveLength(1)
})

/** The number of trusted authorities, and whether the newest of them has signed the served certificate. */
async function stateOf(replica: Replica): Promise<[number, boolean]> {
  const authorities = certificatesIn(replica.bundle)
  return [authorities.length, (await replica.shown()).checkIssued(authorities.at(-1)!)]
}

describe('replacement of the authority', () => {
  test('the authority is replaced in three steps an hour apart, by all replicas together', async () => {
    const world = await createWorld()
    const replicas = [await world.start(), await world.start()]
    world.jump(7 * hourMs)
    await world.pass(50 * minuteMs)
    const old = replicas[0]!.bundle
    for (const expected of [
      [1, true],
      [2, false],
      [2, true],
      [1, true],
    ]) {
      for (const replica of replicas) expect(await stateOf(replica)).toEqual(expected)
      await world.pass(hourMs)
    }
    expect(replicas[0]!.bundle).not.toContain(old)
    expect(replicas[0]!.bundle).toBe(replicas[1]!.bundle)
    expect(replicas.map(({ configs }) => configs.length)).toEqual([3, 3])
  })

  test.each([
    [5, -5],
    [-5, 5],
  ])('the authority is replaced by replicas whose clocks are %d and %d minutes off', async (one, other) => {
    const world = await createWorld()
    await world.start({ offMs: one * minuteMs })
    await world.start({ offMs: other * minuteMs })
    const old = world.replicas[0]!.bundle
    world.jump(7 * hourMs)
    await world.pass(4 * hourMs)
    for (const replica of world.replicas) {
      expect(await stateOf(replica)).toEqual([1, true])
      expect(replica.bundle).not.toContain(old)
      expect(replica.configs).toHaveLength(3)
    }
  })

  test.each([0, 1, 2, 3])(
    'the authority is replaced by another replica if the first is killed after %d writes',
    async (count) => {
      const world = await createWorld()
      const first = await world.start()
      const old = first.bundle
      first.requests.requests.length = 0
      world.jump(7 * hourMs)
      await world.until(() => first.requests.writes().length === count)
      await world.stop(first)
      const second = await world.start()
      await world.until(async () => !second.bundle.includes(old) && (await stateOf(second))[0] === 1)
      expect(await stateOf(second)).toEqual([1, true])
    },
  )

  test('the authority is replaced by a replica that restarts every twenty minutes', async () => {
    const world = await createWorld()
    let replica = await world.start()
    const old = replica.bundle
    world.jump(7 * hourMs)
    for (let index = 0; index < 12; index += 1) {
      await world.pass(20 * minuteMs)
      await world.stop(replica)
      replica = await world.start()
    }
    expect(await stateOf(replica)).toEqual([1, true])
    expect(replica.bundle).not.toContain(old)
  })

  test('the authority is replaced although responses of the API server get lost', async () => {
    const world = await createWorld()
    for (const verb of ['create', 'update'] as const) {
      world.server.faults.add({ on: { verb, resource: 'secrets' }, effect: { type: 'drop' }, times: 1 })
    }
    world.begin()
    world.begin()
    await world.settle()
    world.jump(7 * hourMs)
    await world.pass(4 * hourMs)
    expect(await stateOf(world.replicas.find(({ failure }) => failure === undefined)!)).toEqual([1, true])
  })

  test('the authority is replaced after an outage of the API server', async () => {
    const world = await createWorld()
    const replica = await world.start()
    const old = replica.bundle
    world.jump(7 * hourMs)
    await world.settle()
    const fault = world.server.faults.add({ effect: { type: 'refuse' } })
    await world.pass(2 * hourMs)
    expect(replica.bundle).toBe(old)
    fault.remove()
    await world.pass(2 * hourMs + 10 * minuteMs)
    expect(await stateOf(replica)).toEqual([1, true])
    expect(replica.bundle).not.toContain(old)
  })
})

test('certificates that expired while no replica was running are replaced at the start', async () => {
  const world = await createWorld()
  const first = await world.start()
  const old = first.bundle
  await world.stop(first)
  world.clock.set(world.clock.now() + 40 * hourMs)
  world.told.length = 0
  const second = await world.start()
  await world.check()
  expect(await stateOf(second)).toEqual([1, true])
  expect(second.bundle).not.toContain(old)
})

test('a replica notices changes of the Secret although its watch is silent', async () => {
  const world = await createWorld()
  const first = await world.start()
  const second = await world.start()
  world.server.faults.add({ on: { verb: 'watch', resource: 'secrets' }, effect: { type: 'silence' } })
  await world.edit({ 'tls.key': '' })
  await world.pass(6 * minuteMs)
  expect((await serials(world)).size).toBe(1)
  expect(first.bundle).toBe(second.bundle)
})

test('a replica that may not watch the Secret reads it every minute', async () => {
  const world = await createWorld()
  world.server.faults.add({ on: { verb: 'watch', resource: 'secrets' }, effect: { type: 'error', status: 403 } })
  const replica = await world.start()
  replica.requests.requests.length = 0
  await world.pass(hourMs)
  expect(replica.requests.requests.length).toBeGreaterThan(2 * 55)
  expect(replica.requests.requests.length).toBeLessThanOrEqual(2 * 60)
})

describe('Secret of the webhook server', () => {
  const garbage = Buffer.from('garbage').toString('base64')

  test.each(['ca.crt', 'ca.key', 'tls.crt', 'tls.key'])(
    'the Secret is repaired if its %s is overwritten',
    async (key) => {
      const world = await createWorld()
      const replica = await world.start()
      await world.start()
      await world.edit({ [key]: garbage })
      await world.pass(4 * hourMs)
      expect(await stateOf(replica)).toEqual([1, true])
      expect((await serials(world)).size).toBe(1)
      expect(await world.text(key)).not.toBe('garbage')
      expect(await world.text('ca.crt')).toBe(replica.bundle)
    },
  )

  test('the Secret is created again with a new authority if it is deleted, without interruption', async () => {
    const world = await createWorld()
    const replica = await world.start()
    await world.start()
    const old = replica.bundle
    await ask(world.server, 'DELETE', secretPath)
    await world.pass(5 * minuteMs)
    expect(await stateOf(replica)).toEqual([2, false])
    await world.pass(2 * hourMs)
    expect(await stateOf(replica)).toEqual([1, true])
    expect(replica.bundle).not.toContain(old)
    expect((await serials(world)).size).toBe(1)
  })

  test('the Secret is written at most once a minute if it is overwritten repeatedly', async () => {
    const world = await createWorld()
    const replica = await world.start()
    replica.requests.requests.length = 0
    const endMs = world.clock.now() + 10 * minuteMs
    while (world.clock.now() < endMs) {
      await world.edit({ 'tls.crt': garbage })
      await world.pass(3000)
    }
    expect(replica.requests.writes().length).toBeLessThanOrEqual(10)
    expect(replica.requests.writes().length).toBeGreaterThan(5)
  })

  test('the Secret keeps the fields that others have added', async () => {
    const world = await createWorld()
    await world.start()
    await ask(world.server, 'PATCH', secretPath, {
      body: { metadata: { annotations: { team: 'red' } }, data: { note: garbage, 'tls.crt': garbage } },
    })
    await world.pass(5 * minuteMs)
    expect(await world.secret()).toMatchObject({ metadata: { annotations: { team: 'red' } }, data: { note: garbage } })
    expect(await world.text('tls.crt')).not.toBe('garbage')
  })

  const put = (world: World, fields: object) =>
    ask(world.server, 'POST', '/api/v1/namespaces/shop/secrets', {
      body: {
        apiVersion: 'v1',
        kind: 'Secret',
        ...fields,
        metadata: { name: 'web-certificates', ...('metadata' in fields ? (fields.metadata as object) : {}) },
      },
    })

  test('the Secret is filled if it is empty and may not be created', async () => {
    const world = await createWorld()
    await put(world, {})
    world.server.faults.add({ on: { verb: 'create', resource: 'secrets' }, effect: { type: 'error', status: 403 } })
    const replica = await world.start()
    expect(replica.failure).toBeUndefined()
    expect(await world.secret()).toMatchObject({ type: 'Opaque' })
    expect(await world.text('ca.crt')).toBe(replica.bundle)
  })

  test.each([
    ['has other content', { data: { password: garbage } }],
    ['is for the Service "api"', { metadata: { labels: { 'kopf.dev/webhook-service': 'api' } } }],
  ])('the Secret is left unchanged if it %s', async (why, fields) => {
    const world = await createWorld()
    await put(world, fields)
    const before = await world.secret()
    const replica = await world.start()
    expect(replica.failure).toMatchObject({ code: 'KOPF_WEBHOOK_SECRET', message: expect.stringContaining(why) })
    expect(replica.failure!.message).toContain('choose another name with the option "secret"')
    expect(await world.secret()).toEqual(before)
  })

  test('the Secret is left unchanged if it loses its label, and the served certificate stays', async () => {
    const world = await createWorld()
    const replica = await world.start()
    await ask(world.server, 'PATCH', secretPath, { body: { metadata: { labels: null }, data: { 'tls.crt': garbage } } })
    await world.pass(hourMs)
    expect(replica.failure).toBeUndefined()
    expect(await world.text('tls.crt')).toBe('garbage')
  })
})

describe('missing permissions for the Secret', () => {
  test.each(['get', 'create'] as const)('a missing permission to %s the Secret is reported', async (verb) => {
    const world = await createWorld()
    world.server.faults.add({ on: { verb, resource: 'secrets' }, effect: { type: 'error', status: 403 } })
    const { failure } = await world.start()
    expect(failure).toMatchObject({ code: 'KOPF_WEBHOOK_SECRET' })
    expect(failure!.message).toMatch(/"shop\/web-certificates".*"get", "watch" and "update".*"create"/)
  })

  test('a replica that loses its permissions continues to serve its certificate', async () => {
    const world = await createWorld()
    const replica = await world.start()
    world.server.faults.add({
      on: { verb: 'update', resource: 'secrets' },
      effect: { type: 'error', status: 403, message: 'no more' },
    })
    world.jump(7 * hourMs)
    await world.pass(2 * hourMs)
    expect(replica.failure).toBeUndefined()
    expect(replica.logs.join('')).toContain('allow the operator')
  })
})

describe('webhooks that review Secrets', () => {
  const message = 'Internal error occurred: failed calling webhook "secrets.example.com": no endpoints available'

  test('webhooks that review Secrets are served before the Secret can be written', async () => {
    const world = await createWorld()
    const fault = world.server.faults.add({
      on: { verb: 'create', resource: 'secrets' },
      effect: { type: 'error', status: 500, message },
    })
    const replica = await world.start()
    expect(replica.configs).toHaveLength(1)
    expect(replica.logs.join('')).toContain('by the label kopf.dev/webhook-service')
    await world.pass(minuteMs)
    expect(replica.configs).toHaveLength(1)
    fault.remove()
    await world.pass(minuteMs)
    expect(await world.text('ca.crt')).toBe(replica.bundle)
    expect(replica.configs).toHaveLength(1)
  })

  test('webhooks that review Secrets are served alike by all replicas once one of them could write', async () => {
    const world = await createWorld()
    const fault = world.server.faults.add({
      on: { verb: 'create', resource: 'secrets' },
      effect: { type: 'error', status: 500, message },
    })
    world.begin()
    world.begin()
    await world.settle()
    fault.remove()
    world.told.length = 0
    for (let index = 0; index < 30; index += 1) {
      await world.settle()
      world.clock.skip()
    }
    await world.settle()
    expect((await serials(world)).size).toBe(1)
    expect(new Set(world.replicas.map(({ bundle }) => bundle)).size).toBe(1)
    expect(world.server.requests.last({ verb: 'update', resource: 'secrets' })).toEqual([])
  })
})

/** Whether openssl trusts the certificate of a replica at the time of its clock and for this name. */
async function isTrustedByOpenssl(world: World, replica: Replica, host: string): Promise<boolean> {
  const bundle = join(folder, 'bundle.pem')
  writeFileSync(bundle, replica.bundle)
  const time = String(Math.floor(world.clock.now() / 1000))
  const target = ['s_client', '-connect', `127.0.0.1:${replica.port}`, '-servername', host]
  const checks = ['-CAfile', bundle, '-verify_return_error', '-verify_hostname', host, '-x509_strict', '-attime', time]
  const running = promisify(execFile)('openssl', [...target, ...checks])
  running.child.stdin?.end()
  return await running.then(
    ({ stdout }) => stdout.includes('Verify return code: 0 (ok)'),
    () => false,
  )
}

test('openssl trusts the served certificate in every step of a rotation', async () => {
  const world = await createWorld()
  const replica = await world.start()
  await world.settle()
  world.jump(7 * hourMs)
  for (const ms of [0, hourMs + 10 * minuteMs, hourMs, hourMs]) {
    await world.pass(ms)
    expect(await isTrustedByOpenssl(world, replica, 'web.shop.svc')).toBe(true)
    expect(await isTrustedByOpenssl(world, replica, 'other.shop.svc')).toBe(false)
  }
  expect(replica.configs).toHaveLength(3)
})

test('a service server without a namespace fails with advice', async () => {
  const configs = new WebhookServiceServer({ service: 'web' }).serve(async () => ({}), {} as never)
  await expect(configs.next()).rejects.toMatchObject({
    code: 'KOPF_WEBHOOK_SERVER',
    message: expect.stringContaining('give it as "namespace"'),
  })
})

test.each([
  [{}, 'give it as "service"'],
  [{ service: 'Web' }, '"service" must be'],
  [{ service: 'web', namespaces: 'x' }, 'did you mean "namespace"'],
  [{ service: 'web', secret: 'a/b' }, '"secret" must be'],
  [{ service: 'web', certLifetime: '1h' }, '"certLifetime" must be at least 12 hours'],
  [{ service: 'web', caLifetime: '24h' }, '"caLifetime" must be at least as long as "certLifetime"'],
])('the service server options %j are refused', (options, words) => {
  expect(() => new WebhookServiceServer(options as never)).toThrow(words)
})

test('a service server never logs a key', async () => {
  const world = await createWorld()
  const replica = await world.start()
  const keys = [await world.text('ca.key'), await world.text('tls.key')]
  await world.edit({ 'tls.crt': Buffer.from('canary').toString('base64') })
  world.server.faults.add({ on: { verb: 'update', resource: 'secrets' }, effect: { type: 'refuse' }, times: 1 })
  await world.pass(10 * minuteMs)
  world.jump(7 * hourMs)
  await world.pass(2 * hourMs)
  const text = replica.logs.join('')
  expect(text).toContain('is invalid and will be repaired')
  for (const key of [...keys, await world.text('ca.key')]) expect(text).not.toContain(key.split('\n')[1])
  expect(text).not.toMatch(/canary|PRIVATE/)
})
