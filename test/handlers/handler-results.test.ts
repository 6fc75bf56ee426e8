import { type Args, Operator, TemporaryError } from 'kopf'
import { afterAll, describe, expect, test } from 'vitest'
import { crdsPath } from '../support/crds.ts'
import { settle, untilHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab()

describe('return values', () => {
  const cases: readonly [string, unknown, unknown][] = [
    ['a mapping', { a: 1, b: { c: [1] } }, { a: 1, b: { c: [1] } }],
    ['a text', 'done', 'done'],
    ['a number', 0, 0],
    ['false', false, false],
    ['a list', [1, 'a'], [1, 'a']],
    ['nothing', undefined, undefined],
    ['null', null, undefined],
  ]
  test.each(cases)('the return value of a handler is stored under its id: %s', async (_, result, expected) => {
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'fn' }, async () => result)
    await lab.start(kopf)
    await lab.create('one', { spec: {} })
    const body = await untilHandled(lab, 'one')
    expect((body['status'] as Record<string, unknown> | undefined)?.['fn']).toEqual(expected)
  })
})

test('an object returned by a handler is merged with its previous result and with its patch', async () => {
  const kopf = new Operator()
  const fn = ({ reason, patch }: Args<'create', typeof lab.widgets>) => {
    if (reason === 'create') patch.status['fn'] = { patched: 1 }
    return { [`${reason}d`]: 1 }
  }
  kopf.on.create(lab.widgets, fn)
  kopf.on.update(lab.widgets, fn)
  await lab.start(kopf)
  await lab.create('merged', { spec: { n: 1 } })
  await untilHandled(lab, 'merged')
  await lab.patch('merged', { spec: { n: 2 } })
  const { status } = await untilHandled(lab, 'merged')
  expect(status).toEqual({ fn: { patched: 1, created: 1, updated: 1 } })
})

test('the patch of a failed attempt is written, without a result', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn' }, ({ patch, retry }) => {
    patch.status[`attempt${retry}`] = true
    if (retry === 0) throw new TemporaryError('later', { delay: 0.2 })
    return 'second'
  })
  await lab.start(kopf)
  await lab.create('half', { spec: {} })
  const half = await lab.untilObject('half', ({ status }) => status !== undefined)
  expect(half['status']).toEqual({ attempt0: true })
  expect((await untilHandled(lab, 'half'))['status']).toEqual({ attempt0: true, attempt1: true, fn: 'second' })
})

test('the status is written before the record of the success', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn' }, ({ patch }) => {
    patch.metadata.labels['a'] = 'b'
    return 'done'
  })
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  const { metadata } = await lab.create('ordered', { spec: {} })
  await untilHandled(lab, 'ordered')
  await settle(lab)
  const [status, object] = wire.writes('ordered')
  expect(status).toMatchObject({ path: `${lab.path('ordered')}/status`, contentType: 'application/json-patch+json' })
  expect(status!.body).toContainEqual({ op: 'test', path: '/metadata/uid', value: metadata.uid })
  expect(status!.body).toContainEqual({ op: 'add', path: '/status', value: { fn: 'done' } })
  expect(object).toMatchObject({
    path: lab.path('ordered'),
    contentType: 'application/merge-patch+json',
    body: { metadata: { uid: metadata.uid, labels: { a: 'b' } } },
  })
})

test('a patch and its functions are one request for the status and one for the object', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn' }, ({ patch, retry }) => {
    patch.status['patched'] = 1
    patch.spec['patched'] = 1
    patch.fns.push((body) => {
      body.status = { ...body.status, edited: 1 }
    })
    patch.fns.push((body) => {
      body.spec = { ...body.spec, edited: 1 }
    })
    if (retry === 0) throw new TemporaryError('look at what was written', { delay: 30 })
  })
  const wire = lab.record()
  await lab.start(kopf, { transport: wire })
  await lab.create('edited', { spec: { n: 1 } })
  const body = await lab.untilObject('edited', ({ metadata }) => metadata.annotations !== undefined)
  expect(body).toMatchObject({ spec: { n: 1, patched: 1, edited: 1 }, status: { patched: 1, edited: 1 } })
  expect(wire.writes('edited').map(({ path }) => path)).toEqual([`${lab.path('edited')}/status`, lab.path('edited')])
  expect(wire.writes('edited')[1]!.body).toContainEqual(
    expect.objectContaining({ op: 'test', path: '/metadata/resourceVersion' }),
  )
})

describe('results outside of the schema', () => {
  const kind = `Strict${lab.group.slice(1, 9)}`
  const plural = `${kind.toLowerCase()}s`
  const phase = { type: 'object', properties: { phase: { type: 'string' } } }
  const schema = { type: 'object', properties: { spec: { type: 'object' }, status: phase } }
  afterAll(() => lab.call('DELETE', `${crdsPath}/${plural}.${lab.group}`))

  test('a result that the schema drops is logged once, with the field and a hint', async () => {
    await lab.install({ kind, plural, schema, subresources: { status: {} } })
    const kopf = new Operator()
    kopf.on.create([lab.group, 'v1', plural], { id: 'fn' }, ({ patch }) => {
      patch.status['phase'] = 'Ready'
      return { message: 'lost' }
    })
    await lab.start(kopf)
    const path = lab.path('', plural)
    for (const name of ['one', 'two']) {
      await lab.call('POST', path, { apiVersion: `${lab.group}/v1`, kind, metadata: { name } })
      await lab.until(async () => (await lab.call('GET', `${path}/${name}`)).body.status?.['phase'] === 'Ready')
    }
    await settle(lab)
    const told = lab.logs.filter((line) => line.includes('The API server drops the field'))
    expect(told).toEqual([
      expect.stringMatching(
        /"status\.fn", which handler "fn" has returned, as the schema does not have it; return nothing .*preserve unknown fields.*strict/s,
      ),
    ])
  })

  test('each handler with fields that the schema drops is logged once, also if they share one write', async () => {
    await lab.install({ kind, plural, schema, subresources: { status: {} } })
    const kopf = new Operator()
    const selector = [lab.group, 'v1', plural] as const
    kopf.on.create(selector, { id: 'returns' }, () => ({ message: 'lost' }))
    kopf.on.create(selector, { id: 'writes' }, ({ patch }) => {
      patch.status['phase'] = 'Ready'
      patch.status['first'] = 1
      patch.status['second'] = 2
    })
    kopf.on.create(selector, { id: 'fits' }, () => undefined)
    const wire = lab.record()
    await lab.start(kopf, { transport: wire })
    const path = lab.path('', plural)
    for (const name of ['three', 'four']) {
      await lab.call('POST', path, { apiVersion: `${lab.group}/v1`, kind, metadata: { name } })
      await lab.until(async () => (await lab.call('GET', `${path}/${name}`)).body.status?.['phase'] === 'Ready')
    }
    await settle(lab)
    const lines = lab.logs.filter((line) => line.includes('The API server drops the field'))
    expect(lines.map((line) => /field (.*), as the schema/.exec(line)?.[1])).toEqual([
      '"status.returns", which handler "returns" has returned',
      '"status.first", which handler "writes" has written',
    ])
    // The check costs no request.
    expect(wire.requests.filter(({ method, path: sent }) => method === 'GET' && sent.endsWith('/three'))).toEqual([])
  })

  test('fields that are kept or removed by the patch are not logged as dropped', async () => {
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'fn' }, ({ patch }) => {
      patch.status['gone'] = null
      patch.status['tree'] = { gone: null, kept: { list: [], text: '', zero: 0 } }
      return {}
    })
    await lab.start(kopf)
    await lab.create('one', { spec: {} })
    await untilHandled(lab, 'one')
    expect(lab.logs.filter((line) => line.includes('The API server drops the field'))).toEqual([])
  })

  test('a result in the status of a built-in resource without it is not written repeatedly', async () => {
    const kopf = new Operator()
    let ticks = 0
    kopf.timer('configmaps', { id: 'tick', interval: 1, labels: { ticks: 'yes' } }, () => {
      ticks += 1
      return { ticks }
    })
    const wire = lab.record()
    await lab.start(kopf, { transport: wire })
    const path = `/api/v1/namespaces/${lab.namespace}/configmaps`
    await lab.call('POST', path, { metadata: { name: 'ticking', labels: { ticks: 'yes' } } })
    await lab.until(() => ticks >= 4)
    await lab.call('DELETE', `${path}/ticking`)
    await lab.until(async () => (await lab.call('GET', `${path}/ticking`)).status === 404)
    const bodies = wire.writes('ticking').map(({ body }) => JSON.stringify(body))
    expect(bodies.filter((text) => text.includes('"tick"'))).toHaveLength(1)
    expect(lab.logs.filter((line) => line.includes('The API server drops the field'))).toEqual([
      expect.stringMatching(
        /"status\.tick", which handler "tick" has returned, as the schema does not have it; return nothing from the handler \(/,
      ),
    ])
  })
})
