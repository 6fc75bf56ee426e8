import { Operator, type Patch, TemporaryError } from 'kopf'
import { describe, expect, test } from 'vitest'
import { type Body, useLab } from '../support/lab.ts'

const lab = useLab()
const lastHandled = 'kopf.zalando.org/last-handled-configuration'

function isHandled({ metadata }: Body): boolean {
  return lastHandled in (metadata.annotations ?? {})
}

/** The object after one handler has filled its patch, without the annotations of the framework. */
async function patched(name: string, fields: object, fill: (patch: Patch<Body>) => unknown): Promise<Body> {
  const kopf = new Operator()
  const when = (args: { name: string }) => args.name === name
  kopf.on.create(lab.widgets, { when }, ({ patch }) => void fill(patch as Patch<Body>))
  await lab.start(kopf)
  await lab.create(name, fields as never)
  const body = await lab.untilObject(name, isHandled)
  await lab.stopAll()
  const { [lastHandled]: _, ...annotations } = body.metadata.annotations ?? {}
  return { ...body, metadata: { ...body.metadata, annotations } }
}

describe('merge patches', () => {
  test('a patch fills stanzas and keeps the fields that it does not name', async () => {
    const fields = { spec: { kept: 1, list: [1, 2], deep: { kept: 1, changed: 1 } } }
    const body = await patched('filled', fields, (patch) => {
      patch.spec['added'] = true
      patch.spec['list'] = [3]
      patch.spec['deep'] = { changed: 2, other: undefined }
      patch.status['phase'] = 'Ready'
    })
    expect(body.spec).toEqual({ kept: 1, added: true, list: [3], deep: { kept: 1, changed: 2 } })
    expect(body.status).toEqual({ phase: 'Ready' })
  })

  test('a patch can be assigned stanza by stanza', async () => {
    const body = await patched('assigned', { spec: { kept: 1 } }, (patch) => {
      patch.status['first'] = 1
      patch.status = { second: 2 }
      patch.spec = { third: 3 }
    })
    expect(body.status).toEqual({ first: 1, second: 2 })
    expect(body.spec).toEqual({ kept: 1, third: 3 })
  })

  test('a patch changes labels and annotations', async () => {
    const metadata = { labels: { kept: 'a', gone: 'b' }, annotations: { 'example.com/gone': 'c', kept: 'd' } }
    const body = await patched('metadata', { metadata }, (patch) => {
      patch.metadata.labels['added'] = 'x'
      patch.metadata.labels['gone'] = null
      patch.metadata.annotations = { 'example.com/gone': null, 'example.com/a.b': 'y' }
    })
    expect(body.metadata.labels).toEqual({ kept: 'a', added: 'x' })
    expect(body.metadata.annotations).toEqual({ kept: 'd', 'example.com/a.b': 'y' })
  })

  test('a patch removes fields that are null and ignores undefined', async () => {
    const body = await patched('nulls', { spec: { gone: 1, kept: 1, deep: { gone: 1 } } }, (patch) => {
      patch.spec['gone'] = null
      patch.spec['kept'] = undefined
      patch.spec['deep'] = { gone: null }
      patch.spec['never'] = null
    })
    expect(body.spec).toEqual({ kept: 1, deep: {} })
  })

  test('a patch can contain dates and maps', async () => {
    const body = await patched('dates', {}, (patch) => {
      patch.status['at'] = new Date(Date.UTC(2030, 1, 2, 3, 4, 5))
      patch.status['map'] = new Map([['a', 1]])
    })
    expect(body.status).toEqual({ at: '2030-02-02T03:04:05.000Z', map: { a: 1 } })
  })

  test('a patch can contain keys such as constructor and __proto__', async () => {
    const body = await patched('odd-keys', {}, (patch) => {
      patch.status['constructor'] = 1
      patch.status['then'] = 2
      Object.defineProperty(patch.status, '__proto__', { value: { polluted: 3 }, enumerable: true })
    })
    expect(JSON.stringify(body.status)).toContain('"__proto__":{"polluted":3}')
    expect(Object.entries(body.status)).toEqual(
      expect.arrayContaining([
        ['constructor', 1],
        ['then', 2],
      ]),
    )
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })

  test('a patch is read when the handler has finished', async () => {
    const list: number[] = []
    const body = await patched('late', {}, (patch) => {
      patch.status['list'] = list
      list.push(1)
    })
    expect(body.status).toEqual({ list: [1] })
  })
})

test('a patch knows whether it is empty', async () => {
  const said: boolean[] = []
  await patched('emptiness', {}, (patch) => {
    said.push(patch.isEmpty)
    void patch.status['only looked at']
    void patch.metadata.labels
    said.push(patch.isEmpty)
    patch.status['x'] = undefined
    said.push(patch.isEmpty)
    patch.status['x'] = null
    said.push(patch.isEmpty)
  })
  expect(said).toEqual([true, true, true, false])
  await patched('emptiness-of-functions', {}, (patch) => {
    patch.fns.push(() => {})
    said.push(patch.isEmpty)
  })
  expect(said.at(-1)).toBe(false)
})

test('a patch that changes nothing is not sent', async () => {
  const kopf = new Operator()
  let calls = 0
  kopf.on.event(lab.widgets, { when: ({ name }) => name === 'unchanged' }, ({ patch }) => {
    calls += 1
    void patch.metadata.annotations
    patch.spec['size'] = 1
    patch.spec['never'] = null
    patch.status = {}
    patch.metadata.labels = { a: 'b' }
    patch.fns.push((body) => {
      body['spec']['size'] = 1
    })
  })
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('unchanged', { metadata: { labels: { a: 'b' } }, spec: { size: 1 } })
  await lab.until(() => calls > 0)
  await lab.elapse(0.3)
  expect(transport.writes()).toEqual([])
})

test('a patch is written even if the handler fails temporarily', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { when: ({ name }) => name === 'patient' }, ({ patch, retry }) => {
    patch.status[`attempt-${retry}`] = true
    patch.fns.push((body) => {
      body['spec'] = { ...body['spec'], [`edited-${retry}`]: true }
    })
    if (retry < 1) throw new TemporaryError('not yet', { delay: 0.4 })
  })
  await lab.start(kopf)
  await lab.create('patient')
  const half = await lab.untilObject('patient', ({ status }) => status?.['attempt-0'] === true)
  expect(half.status).toEqual({ 'attempt-0': true })
  const { status } = await lab.untilObject('patient', isHandled)
  expect(status).toEqual({ 'attempt-0': true, 'attempt-1': true })
  const { spec } = await lab.untilObject('patient', (body) => body.spec?.['edited-1'] === true)
  expect(spec).toEqual({ 'edited-0': true, 'edited-1': true })
})

test('a patch can change the data of a ConfigMap', async () => {
  const kopf = new Operator()
  kopf.on.create('configmaps', { when: ({ name }) => name === 'patched' }, ({ patch }) => {
    patch['data'].color = 'blue'
    patch['data'].gone = null
  })
  await lab.start(kopf)
  const path = `/api/v1/namespaces/${lab.namespace}/configmaps`
  await lab.call('POST', path, { metadata: { name: 'patched' }, data: { kept: 'yes', gone: 'yes' } })
  await lab.until(async () => isHandled((await lab.call('GET', `${path}/patched`)).body))
  expect((await lab.call('GET', `${path}/patched`)).body['data']).toEqual({ kept: 'yes', color: 'blue' })
})

describe('patch functions', () => {
  test('patch functions edit the latest state of the object and of its status', async () => {
    const body = await patched('edited', { spec: { list: ['a'] } }, (patch) => {
      patch.spec['merged'] = true
      patch.fns.push((fresh) => void fresh.spec['list'].push('b'))
      patch.fns.push((fresh) => {
        fresh.status = { ...fresh.status, seen: fresh.spec['merged'] }
      })
      patch.fns.push((fresh) => void delete fresh.spec['merged'])
    })
    expect(body.spec).toEqual({ list: ['a', 'b'] })
    expect(body.status).toEqual({ seen: true })
  })

  test('patch functions lose no concurrent write of another client', async () => {
    const kopf = new Operator()
    const when = ({ name }: { name: string }) => name === 'contended'
    kopf.on.create(lab.widgets, { when }, ({ patch }) => {
      patch.fns.push((body) => {
        const list = body.spec['list'] as string[]
        if (!list.includes('ours')) list.push('ours')
      })
      patch.fns.push((body) => {
        const conditions = (body.status?.['conditions'] ?? []) as string[]
        body.status = { ...body.status, conditions: [...new Set([...conditions, 'ours'])] }
      })
    })
    const transport = lab.record()
    let foreign = 0
    // Another client is faster, three times for each endpoint.
    transport.meddle = async ({ method, path }, send) => {
      if (method === 'PATCH' && path.includes('contended') && foreign < 6) {
        foreign += 1
        const theirs = `theirs-${foreign}`
        const { spec, status } = await lab.get('contended')
        await lab.patch('contended', { spec: { list: [...(spec['list'] as string[]), theirs] } })
        const conditions = [...((status?.['conditions'] as string[]) ?? []), theirs]
        await lab.patch('contended', { status: { conditions } }, '/status')
      }
      return send()
    }
    await lab.start(kopf, { transport })
    await lab.create('contended', { spec: { list: [] } })
    const body = await lab.untilObject('contended', isHandled)
    const everybody = ['ours', 'theirs-1', 'theirs-2', 'theirs-3', 'theirs-4', 'theirs-5', 'theirs-6']
    expect([...(body.spec['list'] as string[])].sort()).toEqual(everybody)
    expect([...(body.status['conditions'] as string[])].sort()).toEqual(everybody)
  })

  test('a patch function that throws is logged with its handler', async () => {
    const kopf = new Operator({ settings: { queueing: { errorDelays: [0.1] } } })
    kopf.on.create(lab.widgets, { id: 'editor', when: ({ name }) => name === 'failing' }, ({ patch }) => {
      patch.fns.push((body) => {
        body['spec']['no']['such'] = 1
      })
    })
    await lab.start(kopf)
    await lab.create('failing')
    await lab.untilLogged('Cannot edit the object with a function in the patch of handler "editor": Cannot read prop')
  })

  test('an async patch function is refused', async () => {
    const kopf = new Operator({ settings: { queueing: { errorDelays: [0.1] } } })
    kopf.on.create(lab.widgets, { id: 'editor', when: ({ name }) => name === 'asynchronous' }, ({ patch }) => {
      patch.fns.push(async () => {
        throw new Error('never seen')
      })
    })
    await lab.start(kopf)
    await lab.create('asynchronous')
    await lab.untilLogged('it is async, and the object would be sent before it is done')
  })
})

describe('values that are not JSON', () => {
  const circular: { self?: object } = {}
  circular.self = circular
  const values: readonly (readonly [string, unknown, string])[] = [
    ['a function', () => {}, 'JSON cannot hold a function'],
    ['a symbol', Symbol('x'), 'JSON cannot hold a symbol'],
    ['not a number', Number.NaN, 'JSON cannot hold the number NaN'],
    ['infinity', Number.POSITIVE_INFINITY, 'JSON cannot hold the number Infinity'],
    ['a circular object', circular, 'JSON cannot hold an object that contains itself'],
  ]
  test.each(values)('a patch that is not JSON fails the handler permanently: %s', async (what, value, problem) => {
    const kopf = new Operator()
    const name = what.replaceAll(' ', '-')
    let calls = 0
    kopf.on.create(lab.widgets, { id: 'odd', when: (args) => args.name === name }, ({ patch }) => {
      calls += 1
      patch.status['value'] = value
    })
    await lab.start(kopf)
    await lab.create(name)
    const { status } = await lab.untilObject(name, isHandled)
    expect(status).toBeUndefined()
    expect(calls).toBe(1)
    const expected = `Cannot write the patch of handler "odd": ${problem}`
    expect(lab.logs.filter((line) => line.includes(expected))).toHaveLength(1)
  })
})
