/** Credentials that stop working while the operator runs: refused by the server, expired, or renewed on disk. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConnectionInfo, type ConnectionInfoOptions, LoginError, Operator, PermanentError, TemporaryError } from 'kopf'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { useCluster } from '../support/cluster.ts'
import { addressIn, anywhere, ask, useStage } from './activity-support.ts'
import { type Gatekeeper, until, useGatekeeper } from './gatekeeper.ts'

const cluster = useCluster()
const stage = useStage()
const startGatekeeper = useGatekeeper(cluster)
let gate: Gatekeeper
let folder: string

beforeEach(async () => {
  gate = await startGatekeeper()
  folder = mkdtempSync(join(tmpdir(), 'kopf-relogin-'))
})

// Registered after useStage, so that the operators have ended by then.
afterEach(() => rmSync(folder, { recursive: true }))

const as = (token: string, options: Partial<ConnectionInfoOptions> = {}) =>
  new ConnectionInfo({ server: gate.url, token, ...options })

interface Watcher {
  readonly kopf: Operator
  /** Names of the ConfigMaps seen so far. */
  readonly seen: Set<string>
  readonly start: () => ReturnType<typeof stage.start>
}

function watcher(): Watcher {
  const kopf = new Operator({ settings: { networking: { errorBackoffs: [0.1] } } })
  const seen = new Set<string>()
  kopf.on.event('configmaps', ({ name }) => void seen.add(name))
  return { kopf, seen, start: () => stage.start(kopf, { namespaces: [cluster.namespace], livenessEndpoint: anywhere }) }
}

async function create(): Promise<string> {
  const name = `c-${randomBytes(4).toString('hex')}`
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }
  await cluster.api.post(cluster.core('configmaps'), body)
  return name
}

/** Registers a login handler that returns the next token each time and makes the gatekeeper accept it. */
function renewing(kopf: Operator): { readonly count: () => number; readonly revoke: () => void } {
  let count = 0
  kopf.on.login(() => {
    count += 1
    gate.good.add(`token-${count}`)
    return as(`token-${count}`)
  })
  return { count: () => count, revoke: () => gate.good.clear() }
}

const phrases = () => stage.logs.filter((line) => /authentication/.test(line))

test('a refused token causes one login for all concurrent requests, which are then repeated', async () => {
  const { kopf, start } = watcher()
  const login = renewing(kopf)
  const results: unknown[] = []
  kopf.on.event('configmaps', { id: 'copy', labels: { copy: 'yes' } }, async ({ name, client }) => {
    login.revoke()
    const copies = Array.from({ length: 10 }, (_, index) =>
      client.create('configmaps', { metadata: { name: `${name}-${index}` } }),
    )
    results.push(...(await Promise.allSettled(copies)))
  })
  await (await start()).ready
  const name = `c-${randomBytes(4).toString('hex')}`
  await cluster.api.post(cluster.core('configmaps'), {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, labels: { copy: 'yes' } },
  })
  await until(() => results.length === 10)
  expect(results).toEqual(Array(10).fill(expect.objectContaining({ status: 'fulfilled' })))
  expect(login.count()).toBe(2)
  expect(gate.refused.length).toBeLessThanOrEqual(10)
  expect(phrases()).toEqual([
    'Initial authentication has been initiated.',
    'Initial authentication has finished.',
    'Re-authentication has been initiated.',
    'Re-authentication has finished.',
  ])
})

test('open streams survive a login, and their old connections are closed when the streams end', async () => {
  const { kopf, seen, start } = watcher()
  const login = renewing(kopf)
  let asking: () => Promise<unknown> = async () => {}
  kopf.on.startup(({ client }) => {
    asking = () => client.list('configmaps', { namespace: cluster.namespace })
  })
  await (await start()).ready
  const before = gate.watches.length
  login.revoke()
  await asking()
  expect(login.count()).toBe(2)
  const name = await create()
  await until(() => seen.has(name))
  expect(gate.watches).toHaveLength(before)
  // Each stream ends and is reopened with the new token, so no connection with the old token remains.
  gate.endStreams()
  const other = await create()
  await until(() => seen.has(other))
  expect(gate.watches.slice(before).every(({ token }) => token === 'token-2')).toBe(true)
  await until(() => gate.open.size <= before + 1)
})

test('a stream whose reconnect is refused with 401 triggers a login', async () => {
  const { kopf, seen, start } = watcher()
  const login = renewing(kopf)
  await (await start()).ready
  login.revoke()
  gate.endStreams()
  const name = await create()
  await until(() => seen.has(name))
  expect(login.count()).toBe(2)
})

test('other known credentials are used before the login handlers are called again', async () => {
  const { kopf, seen, start } = watcher()
  const calls: string[] = []
  const noting = (id: string, info: ConnectionInfo) => {
    calls.push(id)
    return info
  }
  gate.good.add('first').add('second').add('third')
  kopf.on.login({ id: 'low' }, () => noting('low', as('third', { priority: -1 })))
  kopf.on.login({ id: 'high' }, () => noting('high', as('first', { priority: 10 })))
  kopf.on.login({ id: 'middle' }, () => noting('middle', as('second')))
  await (await start()).ready
  expect(new Set(gate.seen.map(({ token }) => token))).toEqual(new Set(['first']))
  gate.good.delete('first')
  gate.good.delete('second')
  gate.endStreams()
  const name = await create()
  await until(() => seen.has(name))
  expect(calls).toEqual(['low', 'high', 'middle'])
  expect(gate.seen.at(-1)).toMatchObject({ token: 'third' })
})

test('requests are spread randomly over credentials of equal priority', async () => {
  const { kopf, start } = watcher()
  gate.good.add('one').add('two')
  kopf.on.login({ id: 'one' }, () => as('one'))
  kopf.on.login({ id: 'two' }, () => as('two'))
  const asked: unknown[] = []
  kopf.on.startup(async ({ client }) => {
    for (let index = 0; index < 40; index += 1) asked.push(await client.list('namespaces'))
  })
  await (await start()).ready
  expect(new Set(gate.seen.map(({ token }) => token))).toEqual(new Set(['one', 'two']))
})

test('expired credentials are not used: the login handlers are called before the next request', async () => {
  const { kopf, start } = watcher()
  let asking: () => Promise<unknown> = async () => {}
  let count = 0
  kopf.on.startup(({ client }) => {
    asking = () => client.list('configmaps', { namespace: cluster.namespace })
  })
  kopf.on.login(() => {
    count += 1
    gate.good.add(`token-${count}`)
    return as(`token-${count}`, { expiration: new Date(Date.now() + 400) })
  })
  await (await start()).ready
  const first = count
  const endMs = Date.now() + 10_000
  while (count < first + 2 && Date.now() < endMs) await asking()
  expect(count).toBeGreaterThanOrEqual(first + 2)
  expect(gate.refused).toEqual([])
})

test('an operator whose first credentials are refused fails if the login returns the same ones again', async () => {
  const { kopf, start } = watcher()
  let count = 0
  kopf.on.login({ id: 'vault' }, () => {
    count += 1
    return as('dead')
  })
  const running = await start()
  const error = await running.done.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(LoginError)
  expect(error).toMatchObject({ code: 'KOPF_LOGIN', cause: { status: 401 } })
  expect(String(error)).toContain('Ran out of valid credentials: the API server refuses those of the login handlers')
  await expect(running.ready).rejects.toBe(error)
  expect(count).toBe(2)
  expect(gate.seen.length).toBeLessThanOrEqual(3)
})

test('an operator whose first credentials are refused fails after three logins with new ones that are refused too', async () => {
  const { kopf, start } = watcher()
  let count = 0
  kopf.on.login(() => {
    count += 1
    return as(`dead-${count}`)
  })
  const running = await start()
  await expect(running.done).rejects.toBeInstanceOf(LoginError)
  expect(count).toBe(3)
  // Each login is followed by discovery and the access review, and by no other request.
  expect(gate.seen.length).toBeLessThanOrEqual(2 * count)
})

test('a running operator retries refused credentials, is not ready meanwhile, and recovers once they are accepted', async () => {
  const { kopf, seen, start } = watcher()
  gate.good.add('only')
  let count = 0
  kopf.on.login(() => {
    count += 1
    return as('only')
  })
  await (await start()).ready
  const ready = async () => (await ask(addressIn(stage.logs), '/readyz')).body
  expect(await ready()).toMatchObject({ ready: true })
  gate.good.clear()
  gate.endStreams()
  await until(() => count >= 3)
  expect(await ready()).toMatchObject({ ready: false, checks: { credentials: { ok: false, state: 'refused' } } })
  // One request per login that returned the same credentials.
  expect(gate.refused.length).toBeLessThanOrEqual(count + 1)
  gate.good.add('only')
  const name = await create()
  await until(() => seen.has(name))
  expect(await ready()).toMatchObject({ ready: true })
  expect(stage.logs.join('\n')).toMatch(/Re-authentication will be tried again in [\d.]+ seconds/)
})

test('a running operator repeats a login that returned no credentials', async () => {
  const { kopf, seen, start } = watcher()
  gate.good.add('one').add('two')
  let count = 0
  kopf.on.login({ backoff: 0.05 }, () => {
    count += 1
    if (count === 2) throw new TemporaryError('sealed', { delay: 0.05 })
    if (count === 3) return undefined
    return as(count === 1 ? 'one' : 'two')
  })
  await (await start()).ready
  gate.good.delete('one')
  gate.endStreams()
  const name = await create()
  await until(() => seen.has(name))
  expect(count).toBe(4)
  expect(phrases()).toContain('Re-authentication has failed: no credentials were retrieved from the login handlers.')
})

test('a login handler that fails permanently stops a running operator', async () => {
  const { kopf, start } = watcher()
  let count = 0
  kopf.on.login({ id: 'vault' }, () => {
    count += 1
    if (count > 1) throw new PermanentError('the account was closed')
    gate.good.add('one')
    return as('one')
  })
  const running = await start()
  await running.ready
  gate.good.clear()
  gate.endStreams()
  const error = await running.done.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(LoginError)
  expect(String(error)).toContain('the login handler "vault" has failed: the account was closed')
})

test('a token that is renewed in its file is used without a login', async () => {
  const { kopf, seen, start } = watcher()
  const tokenPath = join(folder, 'token')
  writeFileSync(tokenPath, 'one\n')
  gate.good.add('one')
  let count = 0
  kopf.on.login(() => {
    count += 1
    return new ConnectionInfo({ server: gate.url, tokenPath })
  })
  await (await start()).ready
  writeFileSync(tokenPath, 'two\n')
  gate.good.clear()
  gate.good.add('two')
  gate.endStreams()
  const name = await create()
  await until(() => seen.has(name))
  expect(count).toBe(1)
  expect(gate.seen.at(-1)).toMatchObject({ token: 'two' })
})

test('a connection function is called again when its credentials are refused', async () => {
  const { kopf, seen } = watcher()
  let count = 0
  const connection = async () => {
    count += 1
    gate.good.add(`token-${count}`)
    return as(`token-${count}`)
  }
  const running = await stage.start(kopf, { namespaces: [cluster.namespace], connection })
  await running.ready
  gate.good.clear()
  gate.endStreams()
  const name = await create()
  await until(() => seen.has(name))
  expect(count).toBe(2)
})

test('a connection function that throws fails the start, but is called again in a running operator', async () => {
  const { kopf, seen } = watcher()
  let count = 0
  const connection = () => {
    count += 1
    if (count % 2 === 1) throw new Error('the program has failed')
    gate.good.add(`token-${count}`)
    return as(`token-${count}`)
  }
  const options = { namespaces: [cluster.namespace], connection }
  await expect(stage.start(kopf, options)).rejects.toThrow('the program has failed')
  await (await stage.start(kopf, options)).ready
  gate.good.clear()
  gate.endStreams()
  const name = await create()
  await until(() => seen.has(name))
  expect(count).toBe(4)
  expect(phrases()).toContain('Re-authentication has failed: the program has failed')
})

test.each([
  ['nothing', () => undefined, 'the function `connection` has returned no ConnectionInfo'],
  ['something else', () => ({ token: 'hush' }), '`connection` is not a ConnectionInfo'],
])('a connection function that returns %s fails the start', async (_, connection, message) => {
  const { kopf } = watcher()
  const error = await stage.start(kopf, { connection: connection as never }).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(LoginError)
  expect(String(error)).toContain(message)
  expect(String(error)).not.toContain('hush')
})

test('an operator that has lost its credentials can be stopped, and its cleanup handlers do not hang', async () => {
  const { kopf, start } = watcher()
  gate.good.add('only')
  let failure: unknown
  kopf.on.login(() => as('only'))
  kopf.on.cleanup(async ({ client }) => {
    failure = await client.list('namespaces').catch((error: unknown) => error)
  })
  const running = await start()
  await running.ready
  gate.good.clear()
  gate.endStreams()
  await until(() => stage.logs.some((line) => line.includes('will be tried again')))
  await running.stop()
  expect(failure).toBeInstanceOf(LoginError)
})

test('an operator recovers from repeated 401 responses with one login each', async () => {
  const { kopf, seen, start } = watcher()
  const login = renewing(kopf)
  await (await start()).ready
  for (let round = 0; round < 3; round += 1) {
    login.revoke()
    gate.endStreams()
    const name = await create()
    await until(() => seen.has(name))
  }
  expect(login.count()).toBe(4)
  expect(gate.refused.length).toBeLessThanOrEqual(12)
})

test('an operator handles each object exactly once although every seventh request is refused with 401', async () => {
  const kopf = new Operator()
  const created: string[] = []
  kopf.on.create('configmaps', { labels: { flaky: 'yes' } }, async ({ name, client, patch }) => {
    created.push(name)
    await client.create('configmaps', { metadata: { name: `${name}-child` } })
    patch['data'] = { handled: 'yes' }
  })
  gate.good.add('only')
  let count = 0
  kopf.on.login(() => {
    count += 1
    return as('only')
  })
  await (await stage.start(kopf, { namespaces: [cluster.namespace] })).ready
  gate.everyNth = 7
  const names = Array.from({ length: 8 }, () => `flaky-${randomBytes(4).toString('hex')}`)
  for (const name of names) {
    const metadata = { name, labels: { flaky: 'yes' } }
    await cluster.api.post(cluster.core('configmaps'), { apiVersion: 'v1', kind: 'ConfigMap', metadata })
  }
  const isHandled = (name: string) =>
    gate.seen.some(({ method, path, status }) => method === 'PATCH' && path.includes(name) && status === 200)
  await until(() => names.every(isHandled))
  expect(created.sort()).toEqual(names.sort())
  // Each refusal costs one or two logins.
  expect(gate.refused.length).toBeGreaterThan(0)
  expect(count).toBeLessThanOrEqual(1 + 2 * gate.refused.length)
})
