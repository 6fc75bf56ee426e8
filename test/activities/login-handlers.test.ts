/** Login handlers: how an operator finds its cluster. */
import { ConnectionInfo, LoginError, Operator, PermanentError, TemporaryError } from 'kopf'
import { expect, test, vi } from 'vitest'
import { useCluster } from '../support/cluster.ts'
import { connectionTo, useStage } from './activity-support.ts'

const cluster = useCluster()
const stage = useStage()

/** Credentials for an address where no server listens. */
const nowhere = (priority = 0) => new ConnectionInfo({ server: 'https://127.0.0.1:1', insecure: true, priority })

function operator(): Operator {
  const kopf = new Operator({ settings: { networking: { errorBackoffs: [] } } })
  kopf.on.event('configmaps', () => {})
  return kopf
}

const start = (kopf: Operator) => stage.start(kopf, { namespaces: [cluster.namespace] })

test('the operator connects with the credentials that its login handler returns', async () => {
  const kopf = operator()
  const order: string[] = []
  kopf.on.startup(() => void order.push('startup'))
  kopf.on.login(async () => {
    order.push('login')
    return connectionTo(cluster)
  })
  const running = await start(kopf)
  await running.ready
  expect(order).toEqual(['startup', 'login'])
  const phrases = stage.logs.filter((line) => line.startsWith('Initial authentication'))
  expect(phrases).toEqual(['Initial authentication has been initiated.', 'Initial authentication has finished.'])
})

test('the login handler with the highest priority wins, and handlers without a result are skipped', async () => {
  const kopf = operator()
  kopf.on.login({ id: 'a' }, () => nowhere())
  kopf.on.login({ id: 'b' }, () => null)
  kopf.on.login({ id: 'c' }, () => connectionTo(cluster, { priority: 20 }))
  kopf.on.login({ id: 'd' }, () => undefined)
  kopf.on.login({ id: 'e' }, () => nowhere(10))
  await (await start(kopf)).ready
})

test('a permanent failure of one login handler is only logged if another one returns credentials', async () => {
  const kopf = operator()
  kopf.on.login({ id: 'broken' }, () => {
    throw new PermanentError('no such vault')
  })
  kopf.on.login({ id: 'fine' }, () => connectionTo(cluster))
  await (await start(kopf)).ready
  expect(stage.logs.join('\n')).toContain("Activity 'broken' failed permanently: no such vault")
})

test('a login handler is retried like other handlers', async () => {
  const kopf = operator()
  const attempts: number[] = []
  kopf.on.login({ retries: 3 }, ({ retry }) => {
    attempts.push(retry)
    if (retry < 2) throw new TemporaryError('sealed', { delay: 0.05 })
    return connectionTo(cluster)
  })
  await (await start(kopf)).ready
  expect(attempts).toEqual([0, 1, 2])
})

test('the operator fails with a LoginError and runs cleanup handlers if no login handler returns credentials', async () => {
  const kopf = operator()
  const cleaned: string[] = []
  kopf.on.login({ id: 'one' }, () => undefined)
  kopf.on.login({ id: 'two', errors: 'ignored' }, () => {
    throw new Error('not here')
  })
  kopf.on.cleanup(() => void cleaned.push('cleanup'))
  const error = await start(kopf).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(LoginError)
  expect(error).toMatchObject({ code: 'KOPF_LOGIN' })
  expect(String(error)).toContain('none of the login handlers ("one", "two") has returned a ConnectionInfo')
  expect(cleaned).toEqual(['cleanup'])
})

test('the LoginError names the failed login handler and its error', async () => {
  const kopf = operator()
  kopf.on.login({ id: 'vault', errors: 'permanent' }, () => {
    throw new TypeError('no address')
  })
  const error = await start(kopf).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(LoginError)
  expect(error).toMatchObject({ cause: expect.any(TypeError) })
  expect(String(error)).toContain('the login handler "vault" has failed: no address')
})

test.each([
  ['a plain object', () => ({ server: 'https://example.com', token: 'sesame' }), 'Object'],
  ['a text', () => 'sesame', 'string'],
  ['a promise of a number', () => Promise.resolve(42), 'number'],
])('a login handler that returns %s fails the login, and the value is not shown', async (_, answer, type) => {
  const kopf = operator()
  kopf.on.login(answer as never)
  const error = await start(kopf).catch((thrown: unknown) => thrown)
  expect(String(error)).toContain(`expected a ConnectionInfo, got ${type}`)
  expect(`${error}${stage.logs.join()}`).not.toContain('sesame')
})

test('a login handler may return a ConnectionInfo from another copy of the package', async () => {
  vi.resetModules()
  const other = await import('../../src/client/auth/connection-info.ts')
  expect(other.ConnectionInfo).not.toBe(ConnectionInfo)
  const kopf = operator()
  kopf.on.login(() => new other.ConnectionInfo(connectionTo(cluster).reveal()))
  await (await start(kopf)).ready
})

test('a login handler is not called if a connection is passed to start', async () => {
  const calls: string[] = []
  const kopf = operator()
  kopf.on.login(() => {
    calls.push('login')
    return nowhere()
  })
  const running = await stage.start(kopf, { namespaces: [cluster.namespace], connection: connectionTo(cluster) })
  await running.ready
  expect(calls).toEqual([])
})

test('requests of startup handlers trigger one login for all of them', async () => {
  const order: string[] = []
  const kopf = operator()
  kopf.on.login(async () => {
    order.push('login')
    return connectionTo(cluster)
  })
  kopf.on.startup(async ({ client }) => {
    order.push('startup')
    const lists = [client.list('configmaps', { namespace: cluster.namespace }), client.list('namespaces')]
    const [, namespaces] = await Promise.all(lists)
    order.push(`found ${namespaces!.some(({ metadata }) => metadata.name === cluster.namespace)}`)
  })
  await (await start(kopf)).ready
  expect(order).toEqual(['startup', 'login', 'found true'])
})

test('a login that failed for a startup handler is repeated when that handler is retried', async () => {
  const order: string[] = []
  const kopf = operator()
  kopf.on.login(() => {
    order.push('login')
    return order.length > 2 ? connectionTo(cluster) : undefined
  })
  kopf.on.startup({ backoff: 0.05 }, async ({ client, retry }) => {
    order.push(`startup ${retry}`)
    await client.list('namespaces')
  })
  await (await start(kopf)).ready
  expect(order).toEqual(['startup 0', 'login', 'startup 1', 'login'])
})

test('the client of a login handler refuses requests, since the login cannot wait for itself', async () => {
  const kopf = operator()
  const refused: unknown[] = []
  kopf.on.login(async ({ client }) => {
    await client.list('namespaces').catch((error: unknown) => refused.push(error))
    await client.get(['', 'v1', 'namespaces'], 'default').catch((error: unknown) => refused.push(error))
    return connectionTo(cluster)
  })
  await (await start(kopf)).ready
  expect(refused).toHaveLength(2)
  for (const error of refused) expect(String(error)).toContain('Cannot use the client in a login handler')
})

test('login handlers are not called if a startup handler fails', async () => {
  const calls: string[] = []
  const kopf = operator()
  kopf.on.startup(() => {
    throw new PermanentError('no database')
  })
  kopf.on.login(() => {
    calls.push('login')
    return connectionTo(cluster)
  })
  await expect(start(kopf)).rejects.toThrow('no database')
  expect(calls).toEqual([])
})

test.each(['startup', 'login'] as const)(
  'an operator can be stopped while its %s handler is being retried',
  async (kind) => {
    const stop = new AbortController()
    const seen: string[] = []
    const kopf = operator()
    kopf.on[kind](({ signal }) => {
      seen.push(`aborted ${signal.aborted}`)
      setImmediate(() => stop.abort())
      throw new TemporaryError('not yet', { delay: 3600 })
    })
    kopf.on.cleanup(() => void seen.push('cleanup'))
    const starting = stage.start(kopf, { namespaces: [cluster.namespace], signal: stop.signal })
    await expect(starting).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }))
    expect(seen).toEqual(['aborted false', 'cleanup'])
  },
)
