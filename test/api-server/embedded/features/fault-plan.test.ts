/** The fault plan: every effect, in process and over a socket. */
import { ApiServer, type FaultMatch, startServer } from 'kopf/server'
import { afterEach, describe, expect, test } from 'vitest'
import type { Tree } from '../../../support/answers.ts'
import { Api } from '../../../support/api.ts'
import { crd, crdsPath } from '../../../support/crds.ts'
import { eventually, failure } from '../../../support/expectations.ts'
import { ask, InProcessWatch } from '../../../support/in-process.ts'
import { ManualClock, settle } from '../../../support/manual-clock.ts'
import { configMap } from '../../../support/objects.ts'

const path = '/api/v1/namespaces/default/configmaps'
const reset = { name: 'ConnectionFault', code: 'ECONNRESET' }
const refused = { name: 'ConnectionFault', code: 'ECONNREFUSED' }

function create(api: ApiServer, name: string, rest: Tree = {}) {
  return ask(api, 'POST', path, { body: configMap(name, rest) })
}

async function namesOf(api: ApiServer): Promise<string[]> {
  const { body } = await ask(api, 'GET', path)
  return (body['items'] as Array<{ metadata: { name: string } }>).map(({ metadata }) => metadata.name)
}

describe('error faults', () => {
  test.each<[number, string]>([
    [401, 'Unauthorized'],
    [403, 'Forbidden'],
    [404, 'NotFound'],
    [409, 'Conflict'],
    [410, 'Expired'],
    [429, 'TooManyRequests'],
    [500, 'InternalError'],
    [503, 'ServiceUnavailable'],
    [504, 'Timeout'],
    [418, ''],
  ])('an error fault answers %i, and the request has no effect', async (status, reason) => {
    const api = new ApiServer()
    api.faults.add({ effect: { type: 'error', status }, times: 1 })
    const answer = await create(api, 'a')
    expect(answer.status).toBe(status)
    expect(answer.body).toEqual(failure(status, reason, `the fault plan says ${status}`, {}))
    expect(answer.headers).not.toHaveProperty('retry-after')
    expect(await namesOf(api)).toEqual([])
  })

  test('an error fault has its retryAfter in the header and in the details', async () => {
    const api = new ApiServer()
    api.faults.add({ effect: { type: 'error', status: 429, retryAfter: 7, message: 'too busy' } })
    const { headers, body } = await ask(api, 'GET', path)
    expect(headers['retry-after']).toBe('7')
    expect(body).toEqual(failure(429, 'TooManyRequests', 'too busy', { retryAfterSeconds: 7 }))
  })
})

describe('delay faults', () => {
  test('a delay fault delays the request for its time', async () => {
    const clock = new ManualClock()
    const api = new ApiServer({ clock })
    api.faults.add({ on: { verb: 'create' }, effect: { type: 'delay', delayMs: 5000 } })
    const answer = create(api, 'a')
    await clock.advance(4999)
    expect(await namesOf(api)).toEqual([])
    await clock.advance(1)
    expect((await answer).status).toBe(201)
  })

  test('a delayed request has no effect when the client aborts', async () => {
    const clock = new ManualClock()
    const api = new ApiServer({ clock })
    const fault = api.faults.add({ effect: { type: 'delay', delayMs: 5000 } })
    const enough = new AbortController()
    const answer = ask(api, 'POST', path, { body: configMap('a'), signal: enough.signal })
    await settle()
    enough.abort(new Error('no more patience'))
    await expect(answer).rejects.toThrow('no more patience')
    expect(clock.sleeping).toBe(0)
    fault.remove()
    expect(await namesOf(api)).toEqual([])
  })

  test('a delay fault comes before an error fault of the same request', async () => {
    const clock = new ManualClock()
    const api = new ApiServer({ clock })
    api.faults.add({ effect: { type: 'delay', delayMs: 100 } })
    api.faults.add({ effect: { type: 'error', status: 503 } })
    const answer = ask(api, 'GET', path)
    await clock.advance(100)
    expect((await answer).status).toBe(503)
  })
})

describe('matching of faults', () => {
  const widgets = '/apis/example.com/v1/namespaces/default/widgets'

  async function withWidgets(): Promise<ApiServer> {
    const api = new ApiServer({ tokens: { t: { username: 'jane', groups: [] } } })
    await ask(api, 'POST', crdsPath, {
      body: crd({ group: 'example.com', kind: 'Widget', subresources: { status: {} } }),
    })
    await ask(api, 'POST', widgets, { body: { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' } } })
    return api
  }

  const requests: ReadonlyArray<[string, string, string]> = [
    ['get widget', 'GET', `${widgets}/w`],
    ['get widget status', 'GET', `${widgets}/w/status`],
    ['list widgets', 'GET', widgets],
    ['list widgets everywhere', 'GET', '/apis/example.com/v1/widgets'],
    ['patch widget', 'PATCH', `${widgets}/w`],
    ['patch widget status', 'PATCH', `${widgets}/w/status`],
    ['get config map', 'GET', `${path}/w`],
    ['list config maps', 'GET', path],
    ['get namespace', 'GET', '/api/v1/namespaces/default'],
    ['discovery', 'GET', '/apis/example.com/v1'],
  ]

  async function struck(on: FaultMatch | undefined, headers: Record<string, string> = {}): Promise<string[]> {
    const api = await withWidgets()
    api.faults.add({ ...(on === undefined ? {} : { on }), effect: { type: 'error', status: 418 } })
    const hit: string[] = []
    for (const [name, method, url] of requests) {
      const answer = await ask(api, method, url, { headers, ...(method === 'PATCH' ? { body: {} } : {}) })
      if (answer.status === 418) hit.push(name)
    }
    return hit
  }

  const all = requests.map(([name]) => name)

  test.each<[FaultMatch | undefined, readonly string[]]>([
    [undefined, all],
    [{}, all],
    [{ verb: 'list' }, ['list widgets', 'list widgets everywhere', 'list config maps']],
    [{ verb: 'patch' }, ['patch widget', 'patch widget status']],
    [{ verb: 'watch' }, []],
    [{ resource: 'widgets.example.com' }, all.slice(0, 6)],
    [{ resource: 'widgets' }, []],
    [{ resource: 'configmaps' }, ['get config map', 'list config maps']],
    [{ resource: 'widgets.example.com', subresource: 'status' }, ['get widget status', 'patch widget status']],
    [{ resource: 'widgets.example.com', subresource: '', verb: 'get' }, ['get widget']],
    [{ namespace: 'default', verb: 'list' }, ['list widgets', 'list config maps']],
    [{ namespace: '', verb: 'list' }, ['list widgets everywhere']],
    [{ name: 'w' }, ['get widget', 'get widget status', 'patch widget', 'patch widget status', 'get config map']],
    [{ name: 'default' }, ['get namespace']],
    [{ path: '/apis/example.com/v1' }, ['discovery']],
    [{ user: 'kubernetes-admin' }, all],
    [{ user: 'jane' }, []],
  ])('a fault matches requests by %j', async (on, expected) => {
    expect(await struck(on)).toEqual(expected)
  })

  test('a fault matches requests by user', async () => {
    expect(await struck({ user: 'jane', verb: 'patch' }, { authorization: 'Bearer t' })).toHaveLength(2)
    expect(await struck({ user: 'kubernetes-admin' }, { authorization: 'Bearer t' })).toEqual([])
  })

  async function statuses(api: ApiServer, count: number): Promise<number[]> {
    const answers: number[] = []
    for (let index = 0; index < count; index += 1) answers.push((await ask(api, 'GET', path)).status)
    return answers
  }

  test('a fault skips the requests of its option after, and matches as many as its option times', async () => {
    const api = new ApiServer()
    const fault = api.faults.add({ effect: { type: 'error', status: 503 }, after: 1, times: 2 })
    expect(fault.hits).toBe(0)
    expect(await statuses(api, 5)).toEqual([200, 503, 503, 200, 200])
    expect(fault.hits).toBe(2)
  })

  test('a fault matches requests until it is removed', async () => {
    const api = new ApiServer()
    const one = api.faults.add({ effect: { type: 'error', status: 500 } })
    const other = api.faults.add({ effect: { type: 'error', status: 503 } })
    expect(await statuses(api, 1)).toEqual([500])
    one.remove()
    expect(await statuses(api, 1)).toEqual([503])
    other.remove()
    other.remove()
    expect(await statuses(api, 1)).toEqual([200])
    expect([one.hits, other.hits]).toEqual([1, 2])
  })

  test('a fault matches requests until the plan is cleared', async () => {
    const api = new ApiServer()
    api.faults.add({ effect: { type: 'refuse' } })
    api.faults.clear()
    expect(await statuses(api, 1)).toEqual([200])
  })
})

describe('refuse faults', () => {
  test('a refused connection has no effect', async () => {
    const api = new ApiServer()
    api.faults.add({ effect: { type: 'refuse' }, times: 1 })
    await expect(create(api, 'a')).rejects.toMatchObject(refused)
    expect(await namesOf(api)).toEqual([])
    expect(api.requests.last({ verb: 'create' })).toMatchObject([{ status: 0, name: '' }])
  })
})

describe('drop faults', () => {
  test('a dropped response belongs to a request with effect', async () => {
    const api = new ApiServer()
    api.faults.add({ on: { verb: 'create' }, effect: { type: 'drop' }, times: 1 })
    await expect(create(api, 'a')).rejects.toMatchObject(reset)
    expect(await namesOf(api)).toEqual(['a'])
    expect((await create(api, 'a')).status).toBe(409)
    expect(api.requests.last({ verb: 'create' }).map(({ status }) => status)).toEqual([0, 409])
  })

  test('a dropped watch response leaves no open watch', async () => {
    const api = new ApiServer()
    api.faults.add({ on: { verb: 'watch' }, effect: { type: 'drop' } })
    await expect(InProcessWatch.open(api, path)).rejects.toMatchObject(reset)
    expect(api.openWatches).toBe(0)
  })
})

/** Reads a watch to its end, or to the error that breaks it. */
async function bytesOf(watch: InProcessWatch): Promise<{ text: string; error?: unknown }> {
  let text = ''
  try {
    for (;;) {
      const chunk = await watch.chunk()
      if (chunk === undefined) return { text }
      text += Buffer.from(chunk).toString('latin1')
    }
  } catch (error) {
    return { text, error }
  }
}

describe('cut faults', () => {
  test.each([0, 1, 100, 301])('a cut after %i bytes ends a watch at that byte', async (afterBytes) => {
    const api = new ApiServer()
    await create(api, 'a')
    await create(api, 'b')
    const whole = await InProcessWatch.open(api, path)
    await whole.chunk()
    const expected = Buffer.from((await whole.chunk())!).toString('latin1')
    await whole.leave()
    const fault = api.faults.add({ on: { verb: 'watch' }, effect: { type: 'cut', afterBytes } })
    const { text, error } = await bytesOf(await InProcessWatch.open(api, path))
    expect(error).toMatchObject(reset)
    expect(text).toBe(expected.slice(0, afterBytes))
    expect(api.openWatches).toBe(0)
    expect(fault.hits).toBe(1)
  })

  test('a cut waits until a watch has sent that many bytes', async () => {
    const api = new ApiServer()
    api.faults.add({ on: { verb: 'watch' }, effect: { type: 'cut', afterBytes: 1500 } })
    const reading = bytesOf(await InProcessWatch.open(api, path))
    for (let index = 0; index < 9; index += 1) await create(api, `a${index}`)
    const { text, error } = await reading
    expect(error).toMatchObject(reset)
    expect(text).toHaveLength(1500)
  })

  test('a cut ends other responses too', async () => {
    const api = new ApiServer()
    api.faults.add({ on: { verb: 'list' }, effect: { type: 'cut', afterBytes: 10 } })
    const { body, status } = await api.send({ method: 'GET', path })
    expect(status).toBe(200)
    const chunks: Uint8Array[] = []
    const read = async () => {
      for await (const chunk of body) chunks.push(chunk)
    }
    await expect(read()).rejects.toMatchObject(reset)
    expect(Buffer.concat(chunks).toString()).toBe('{"kind":"C')
  })

  test('a cut ends open watches at once', async () => {
    const api = new ApiServer()
    const watch = await InProcessWatch.open(api, path)
    const other = await InProcessWatch.open(api, '/api/v1/namespaces/default/secrets')
    await create(api, 'a')
    expect(await watch.next()).toBe('ADDED a')
    const waiting = watch.next()
    const fault = api.faults.add({ on: { resource: 'configmaps' }, effect: { type: 'cut' } })
    await expect(waiting).rejects.toMatchObject(reset)
    expect(fault.hits).toBe(1)
    expect(api.openWatches).toBe(1)
    await other.leave()
  })

  test('a cut ends open watches after that many further bytes', async () => {
    const api = new ApiServer()
    const watch = await InProcessWatch.open(api, path)
    await create(api, 'a')
    expect(await watch.next()).toBe('ADDED a')
    api.faults.add({ effect: { type: 'cut', afterBytes: 50 }, times: 1 })
    await create(api, 'b')
    const { text, error } = await bytesOf(watch)
    expect(text).toHaveLength(50)
    expect(error).toMatchObject(reset)
  })

  test('a cut ends no more open watches than its option times', async () => {
    const api = new ApiServer()
    const watches = [
      await InProcessWatch.open(api, path),
      await InProcessWatch.open(api, path),
      await InProcessWatch.open(api, path),
    ]
    const fault = api.faults.add({ effect: { type: 'cut' }, after: 1, times: 1 })
    expect(fault.hits).toBe(1)
    for (const watch of watches) await watch.chunk()
    await create(api, 'a')
    expect(await Promise.all(watches.map((watch) => watch.next().catch(() => 'broken')))).toEqual([
      'ADDED a',
      'broken',
      'ADDED a',
    ])
  })

  test('drop and error faults do not affect open watches', async () => {
    const api = new ApiServer()
    const watch = await InProcessWatch.open(api, path)
    api.faults.add({ effect: { type: 'drop' }, on: { verb: 'watch' } })
    api.faults.add({ effect: { type: 'error', status: 500 }, on: { verb: 'watch' } })
    await create(api, 'a')
    expect(await watch.next()).toBe('ADDED a')
  })
})

describe('silence faults', () => {
  const isSilent = async (promise: Promise<unknown>) => {
    const silent = Symbol('silent')
    return (await Promise.race([promise, settle().then(() => silent)])) === silent
  }

  test('silence begins after its bytes and lasts until the client disconnects', async () => {
    const api = new ApiServer()
    const gone = new AbortController()
    api.faults.add({ on: { verb: 'watch' }, effect: { type: 'silence', afterBytes: 20 } })
    const watch = await InProcessWatch.open(api, path, gone.signal)
    await create(api, 'a')
    expect(await watch.chunk()).toHaveLength(0)
    expect(await watch.chunk()).toHaveLength(20)
    const waiting = watch.chunk()
    await create(api, 'b')
    expect(await isSilent(waiting)).toBe(true)
    gone.abort()
    expect(await waiting).toBeUndefined()
    expect(api.openWatches).toBe(0)
  })

  test('silence stops open watches, and stays when the fault is removed', async () => {
    const api = new ApiServer()
    const watch = await InProcessWatch.open(api, path)
    const other = await InProcessWatch.open(api, path)
    await create(api, 'a')
    expect(await watch.next()).toBe('ADDED a')
    const waiting = watch.next()
    const fault = api.faults.add({ effect: { type: 'silence' }, times: 1 })
    await create(api, 'b')
    expect(await isSilent(waiting)).toBe(true)
    expect([await other.next(), await other.next()]).toEqual(['ADDED a', 'ADDED b'])
    fault.remove()
    await create(api, 'c')
    expect(await isSilent(waiting)).toBe(true)
    await watch.leave()
    expect(await waiting).toBeUndefined()
  })
})

describe('stale faults', () => {
  test('stale reads show the state when the fault was added, while writes go on', async () => {
    const api = new ApiServer()
    await create(api, 'a', { data: { value: 'old' } })
    await create(api, 'b')
    const { version } = api
    const fault = api.faults.add({ effect: { type: 'stale' } })
    await ask(api, 'PATCH', `${path}/a`, { body: { data: { value: 'new' } } })
    await ask(api, 'DELETE', `${path}/b`)
    expect((await create(api, 'c')).status).toBe(201)
    expect((await create(api, 'a')).status).toBe(409)

    expect(await namesOf(api)).toEqual(['a', 'b'])
    expect((await ask(api, 'GET', path)).body['metadata']).toMatchObject({ resourceVersion: version })
    expect((await ask(api, 'GET', `${path}/a`)).body['data']).toEqual({ value: 'old' })
    expect((await ask(api, 'GET', `${path}/b`)).status).toBe(200)
    expect((await ask(api, 'GET', `${path}/c`)).status).toBe(404)

    fault.remove()
    expect(await namesOf(api)).toEqual(['a', 'c'])
    expect((await ask(api, 'GET', `${path}/a`)).body['data']).toEqual({ value: 'new' })
  })

  test('stale reads show the state at the given resourceVersion', async () => {
    const api = new ApiServer()
    await create(api, 'a')
    const { version } = api
    await create(api, 'b')
    api.faults.add({ on: { verb: 'list' }, effect: { type: 'stale', version } })
    expect(await namesOf(api)).toEqual(['a'])
    expect((await ask(api, 'GET', `${path}/b`)).status).toBe(200)
  })

  test('stale reads at a newer resourceVersion time out', async () => {
    const api = new ApiServer()
    await create(api, 'a')
    api.faults.add({ effect: { type: 'stale' } })
    await create(api, 'b')
    const query = `?resourceVersion=${api.version}`
    for (const url of [path, `${path}/a`]) {
      const { status, body } = await ask(api, 'GET', url + query)
      expect(status).toBe(504)
      expect(body['message']).toBe(
        `Timeout: Too large resource version: ${api.version}, current: ${Number(api.version) - 1}`,
      )
    }
  })

  test('stale reads of a compacted resourceVersion are refused', async () => {
    const api = new ApiServer()
    await create(api, 'a')
    api.faults.add({ effect: { type: 'stale' } })
    await create(api, 'b')
    api.compact()
    expect((await ask(api, 'GET', path)).status).toBe(410)
    expect((await ask(api, 'GET', `${path}/a`)).status).toBe(410)
  })
})

describe('compaction', () => {
  test('a watch from a compacted resourceVersion ends with 410', async () => {
    const api = new ApiServer()
    await create(api, 'a')
    const { version } = api
    await create(api, 'b')
    const before = await InProcessWatch.open(api, `${path}?resourceVersion=${version}`)
    expect(await before.next()).toBe('ADDED b')
    api.compact()
    const { text } = await ask(api, 'GET', `${path}?watch=true&resourceVersion=${version}`)
    const message = `too old resource version: ${version} (${api.version})`
    expect(JSON.parse(text)).toEqual({ type: 'ERROR', object: failure(410, 'Expired', message) })

    const after = await InProcessWatch.open(api, `${path}?resourceVersion=${api.version}`)
    await create(api, 'c')
    expect([await before.next(), await after.next()]).toEqual(['ADDED c', 'ADDED c'])
  })

  test('a watch from a compacted resourceVersion ends with 410 for a kind without any change too', async () => {
    const api = new ApiServer()
    const { version } = api
    await create(api, 'a')
    api.compact()
    const watch = await InProcessWatch.open(api, `/api/v1/secrets?resourceVersion=${version}`)
    expect(await watch.next()).toBe('ERROR 410')
  })

  test('a paged list continues after a compaction with the token of the 410', async () => {
    const api = new ApiServer()
    for (const name of ['a', 'b', 'c']) await create(api, name)
    const first = await ask(api, 'GET', `${path}?limit=1`)
    const token = (first.body['metadata'] as Tree)['continue'] as string
    await ask(api, 'DELETE', `${path}/b`)
    const consistent = await ask(api, 'GET', `${path}?limit=5&continue=${token}`)
    expect(JSON.stringify(consistent.body['items'])).toContain('"name":"b"')
    api.compact()
    const refusal = await ask(api, 'GET', `${path}?limit=5&continue=${token}`)
    expect(refusal.status).toBe(410)
    expect(refusal.body['reason']).toBe('Expired')
    const other = (refusal.body['metadata'] as Tree)['continue'] as string
    const rest = await ask(api, 'GET', `${path}?limit=5&continue=${other}`)
    expect((rest.body['items'] as Tree[]).map(({ metadata }) => (metadata as Tree)['name'])).toEqual(['c'])
  })
})

describe('faults over a socket', () => {
  const closing: Array<() => unknown> = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  async function start() {
    const server = await startServer()
    const api = new Api({ url: server.url, caPem: server.ca!, credentials: { token: server.token! } })
    closing.push(
      () => server.stop(),
      () => api.close(),
    )
    return { server, api, faults: server.api.faults }
  }

  test('an error fault over a socket has its header', async () => {
    const { api, faults } = await start()
    faults.add({ effect: { type: 'error', status: 503, retryAfter: 3 }, times: 1 })
    const answer = await api.get(path)
    expect(answer.status).toBe(503)
    expect(answer.headers['retry-after']).toBe('3')
  })

  test('a refused or dropped request over a socket ends with a broken connection, and the next request is served', async () => {
    const { api, faults } = await start()
    faults.add({ effect: { type: 'refuse' }, times: 1 })
    await expect(api.post(path, configMap('a'))).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect((await api.get(`${path}/a`)).status).toBe(404)
    faults.add({ effect: { type: 'drop' }, times: 1 })
    await expect(api.post(path, configMap('a'))).rejects.toMatchObject({ code: 'ECONNRESET' })
    expect((await api.get(`${path}/a`)).status).toBe(200)
  })

  test('a cut response over a socket has its head and so many bytes, and no end', async () => {
    const { server, faults } = await start()
    faults.add({ on: { verb: 'list' }, effect: { type: 'cut', afterBytes: 12 }, times: 1 })
    const { status, text, error } = await readRaw(server, path)
    expect(status).toBe(200)
    expect(text).toBe('{"kind":"Con')
    expect(error).toMatchObject({ code: 'ECONNRESET' })
  })

  test('a cut of an open watch over a socket breaks the stream', async () => {
    const { server, faults } = await start()
    const reading = readRaw(server, `${path}?watch=true`)
    await eventually(async () => expect(server.api.openWatches).toBe(1))
    faults.add({ on: { verb: 'watch' }, effect: { type: 'cut' }, times: 1 })
    expect(await reading).toMatchObject({ status: 200, text: '', error: { code: 'ECONNRESET' } })
    expect(server.api.openWatches).toBe(0)
  })

  test('a silent watch over a socket stays open, and its server can stop', async () => {
    const { server, api, faults } = await start()
    const watch = await api.watch(path)
    faults.add({ on: { verb: 'watch' }, effect: { type: 'silence' }, times: 1 })
    await api.post(path, configMap('a'))
    const fresh = await api.watch(path)
    expect((await fresh.next()).type).toBe('ADDED')
    expect(watch.lines).toEqual([])
    await server.stop()
    expect(await watch.rest()).toEqual([])
  })

  test('breakConnections breaks all connections at once', async () => {
    const { server, api } = await start()
    const reading = readRaw(server, `${path}?watch=true`)
    await eventually(async () => expect(server.api.openWatches).toBe(1))
    server.breakConnections()
    expect((await reading).error).toMatchObject({ code: 'ECONNRESET' })
    await eventually(async () => expect((await api.get(path)).status).toBe(200))
    expect(server.api.openWatches).toBe(0)
  })
})

/** Reads a response to its end, or to the point where the connection breaks. */
async function readRaw(server: { url: string; ca?: string; token?: string }, target: string) {
  const { request } = await import('node:https')
  return new Promise<{ status: number; text: string; error?: unknown }>((resolve, reject) => {
    const headers = { authorization: `Bearer ${server.token}` }
    request(`${server.url}${target}`, { ca: server.ca!, headers, agent: false }, (response) => {
      const status = response.statusCode!
      let text = ''
      response.setEncoding('latin1')
      response.on('data', (chunk: string) => (text += chunk))
      response.on('end', () => resolve({ status, text }))
      response.on('error', (error) => resolve({ status, text, error }))
    })
      .on('error', reject)
      .end()
  })
}
