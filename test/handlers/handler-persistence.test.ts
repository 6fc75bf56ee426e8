import {
  AnnotationsDiffBaseStorage,
  AnnotationsProgressStorage,
  ConcealedValue,
  DiffBaseStorage,
  MultiDiffBaseStorage,
  MultiProgressStorage,
  Operator,
  PermanentError,
  type ProgressRecord,
  ProgressStorage,
  resource as resourceOf,
  StatusDiffBaseStorage,
  StatusProgressStorage,
  TemporaryError,
} from 'kopf'
import { afterAll, describe, expect, test } from 'vitest'
import { crdsPath } from '../support/crds.ts'
import { type Body, useLab } from '../support/lab.ts'

const lab = useLab()
const finalizer = 'kopf.zalando.org/KopfFinalizerMarker'
const lastHandled = 'kopf.zalando.org/last-handled-configuration'
const merge = 'application/merge-patch+json'

/** Registers a handler that needs two attempts, for the objects of one test. */
function retried(kopf: Operator, name: string, retries: number[]): Operator {
  kopf.on.create(lab.widgets, { id: 'fn', when: (args) => args.name === name }, ({ retry }) => {
    retries.push(retry)
    if (retry < 1) throw new TemporaryError('not yet', { delay: 0.4 })
  })
  return kopf
}

function annotationsOf({ metadata }: Body): Readonly<Record<string, string>> {
  return metadata.annotations ?? {}
}

describe('progress storages', () => {
  test("progress can be stored in annotations with a prefix, which are marked as the operator's", async () => {
    const prefix = 'op.example.com'
    const retries: number[] = []
    const kopf = new Operator({
      settings: {
        persistence: {
          progressStorage: new AnnotationsProgressStorage({ prefix }),
          diffbaseStorage: new AnnotationsDiffBaseStorage({ prefix, key: 'handled' }),
        },
      },
    })
    await lab.start(retried(kopf, 'prefixed', retries))
    await lab.create('prefixed')
    const half = await lab.untilObject('prefixed', (body) => `${prefix}/fn` in annotationsOf(body))
    expect(JSON.parse(annotationsOf(half)[`${prefix}/fn`]!)).toMatchObject({ purpose: 'create', retries: 1 })
    expect(annotationsOf(half)[`${prefix}/kopf-managed`]).toBe('yes')
    const whole = await lab.untilObject('prefixed', (body) => `${prefix}/handled` in annotationsOf(body))
    expect(annotationsOf(whole)).toEqual({ [`${prefix}/kopf-managed`]: 'yes', [`${prefix}/handled`]: '{}\n' })
    expect(retries).toEqual([0, 1])
  })

  test('progress can be stored in the status', async () => {
    const retries: number[] = []
    const progressStorage = new StatusProgressStorage({ name: 'mine' })
    const kopf = new Operator({ settings: { persistence: { progressStorage } } })
    await lab.start(retried(kopf, 'in-status', retries))
    await lab.create('in-status')
    const half = await lab.untilObject('in-status', ({ status }) => status?.['mine']?.progress?.fn !== undefined)
    expect(half.status['mine'].progress.fn).toMatchObject({ purpose: 'create', retries: 1, message: 'not yet' })
    expect(annotationsOf(half)).toEqual({})
    const whole = await lab.untilObject('in-status', (body) => lastHandled in annotationsOf(body))
    expect(whole.status['mine'].progress).toEqual({})
    expect(retries).toEqual([0, 1])
  })

  test('progress can be stored in the status and in annotations', async () => {
    const retries: number[] = []
    const progressStorage = new MultiProgressStorage([
      new StatusProgressStorage(),
      new AnnotationsProgressStorage({ prefix: 'multi.example.com' }),
    ])
    const kopf = new Operator({ settings: { persistence: { progressStorage } } })
    await lab.start(retried(kopf, 'in-both', retries))
    await lab.create('in-both')
    const half = await lab.untilObject('in-both', (body) => 'multi.example.com/fn' in annotationsOf(body))
    expect(half.status['kopf'].progress.fn).toMatchObject({ retries: 1 })
    const whole = await lab.untilObject('in-both', (body) => lastHandled in annotationsOf(body))
    expect(whole.status['kopf'].progress).toEqual({})
    expect(annotationsOf(whole)).not.toHaveProperty('multi.example.com/fn')
    expect(retries).toEqual([0, 1])
  })

  test('progress in the status from old versions of Kopf is read and removed', async () => {
    const retries: number[] = []
    await lab.create('inherited')
    const started = new Date(lab.clock.now() - 5000).toISOString()
    const record = { started, purpose: 'create', retries: 3, success: false, failure: false }
    await lab.patch('inherited', { status: { kopf: { progress: { fn: record } }, kept: true } }, '/status')
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'fn', when: ({ name }) => name === 'inherited' }, ({ retry, runtime }) => {
      retries.push(retry, Math.floor(runtime))
    })
    await lab.start(kopf)
    const { status } = await lab.untilObject('inherited', (body) => lastHandled in annotationsOf(body))
    expect(retries[0]).toBe(3)
    expect(retries[1]).toBeGreaterThanOrEqual(5)
    expect(status).toEqual({ kept: true, kopf: { progress: {} } })
  })
})

describe('diffbase storages', () => {
  async function updated(name: string, diffbaseStorage: DiffBaseStorage): Promise<Body> {
    const diffs: unknown[] = []
    const kopf = new Operator({ settings: { persistence: { diffbaseStorage } } })
    const when = (args: { name: string }) => args.name === name
    kopf.on.create(lab.widgets, { when }, () => void diffs.push('created'))
    kopf.on.update(lab.widgets, { when }, ({ diff }) => void diffs.push(diff))
    const running = await lab.start(kopf)
    await lab.create(name, { spec: { size: 1, noise: 1 } })
    await lab.until(() => diffs.length === 1)
    await lab.elapse(0.3)
    await lab.stop(running)
    // The next process knows the handled state.
    await lab.patch(name, { spec: { size: 2, noise: 2 } })
    await lab.start(kopf)
    await lab.until(() => diffs.length === 2)
    await lab.elapse(0.3)
    await lab.stopAll()
    expect(diffs).toEqual(['created', [['change', ['spec', 'size'], 1, 2]]])
    return await lab.get(name)
  }

  const ignoredFields = ['spec.noise']

  test('the last handled configuration can be stored in an annotation', async () => {
    const body = await updated('base-annotation', new AnnotationsDiffBaseStorage({ ignoredFields }))
    expect(annotationsOf(body)).toEqual({ [lastHandled]: '{"spec":{"size":2}}\n' })
  })

  test('the last handled configuration can be stored in the status', async () => {
    const body = await updated('base-status', new StatusDiffBaseStorage({ name: 'mine', ignoredFields }))
    expect(annotationsOf(body)).toEqual({})
    expect(body.status).toEqual({ mine: { 'last-handled-configuration': '{"spec":{"size":2}}' } })
  })

  test('the last handled configuration can be stored in several places', async () => {
    const storages = [
      new StatusDiffBaseStorage({ ignoredFields: [['spec', 'noise']] }),
      new AnnotationsDiffBaseStorage({ prefix: 'base.example.com' }),
    ]
    const body = await updated('base-multi', new MultiDiffBaseStorage(storages))
    expect(JSON.parse(body.status['kopf']['last-handled-configuration'])).toEqual({ spec: { size: 2 } })
    expect(annotationsOf(body)).toEqual({
      'base.example.com/kopf-managed': 'yes',
      'base.example.com/last-handled-configuration': '{"spec":{"size":2}}\n',
    })
  })
})

test('changes of ignored fields do not call handlers', async () => {
  const calls: string[] = []
  const diffbaseStorage = new AnnotationsDiffBaseStorage({ ignoredFields: ['spec.noise', 'metadata.labels'] })
  const kopf = new Operator({ settings: { persistence: { diffbaseStorage } } })
  const when = ({ name }: { name: string }) => name === 'noisy'
  kopf.on.update(lab.widgets, { when }, ({ new: now }) => void calls.push(JSON.stringify(now)))
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('noisy', { spec: { noise: 1 } })
  await lab.untilObject('noisy', (body) => lastHandled in annotationsOf(body))
  const before = transport.writes().length
  await lab.patch('noisy', { metadata: { labels: { a: 'b' } }, spec: { noise: 2 } })
  await lab.elapse(0.3)
  expect(transport.writes()).toHaveLength(before)
  await lab.patch('noisy', { spec: { noise: 3, size: 1 } })
  await lab.until(() => calls.length > 0)
  expect(calls).toEqual(['{"spec":{"size":1}}'])
})

class MemoryProgressStorage extends ProgressStorage {
  readonly records = new Map<string, ProgressRecord>()

  fetch({ key, body }: { key: string; body: { metadata: { uid?: string } } }): ProgressRecord | undefined {
    return this.records.get(`${body.metadata.uid} ${key}`)
  }
  store({ key, body, record }: { key: string; body: { metadata: { uid?: string } }; record: ProgressRecord }): void {
    this.records.set(`${body.metadata.uid} ${key}`, record)
  }
  purge({ key, body }: { key: string; body: { metadata: { uid?: string } } }): void {
    this.records.delete(`${body.metadata.uid} ${key}`)
  }
  touch(): void {}
}

class MemoryDiffBaseStorage extends DiffBaseStorage {
  readonly essences = new Map<string | undefined, never>()

  fetch({ body }: { body: { metadata: { uid?: string } } }): never | undefined {
    return this.essences.get(body.metadata.uid)
  }
  store({ body, essence }: { body: { metadata: { uid?: string } }; essence: unknown }): void {
    this.essences.set(body.metadata.uid, essence as never)
  }
}

test('storages of the user can keep all state outside of the object, so that nothing is written to it', async () => {
  const calls: string[] = []
  const progressStorage = new MemoryProgressStorage()
  const diffbaseStorage = new MemoryDiffBaseStorage()
  const kopf = new Operator({ settings: { persistence: { progressStorage, diffbaseStorage } } })
  const when = ({ name }: { name: string }) => name === 'untouched'
  kopf.on.create(lab.widgets, { id: 'fn', when }, ({ retry }) => {
    calls.push(`create ${retry}`)
    if (retry < 2) throw new TemporaryError('not yet', { delay: 0.2 })
  })
  kopf.on.update(lab.widgets, { when }, ({ diff }) => void calls.push(JSON.stringify(diff)))
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('untouched', { spec: { size: 1 } })
  await lab.until(() => progressStorage.records.size === 1)
  expect([...progressStorage.records.values()]).toMatchObject([{ retries: 1, purpose: 'create' }])
  await lab.until(() => calls.length === 3)
  await lab.until(() => progressStorage.records.size === 0)
  await lab.patch('untouched', { spec: { size: 2 } })
  await lab.until(() => calls.length === 4)
  await lab.elapse(0.3)
  expect(calls).toEqual(['create 0', 'create 1', 'create 2', '[["change",["spec","size"],1,2]]'])
  expect(transport.writes()).toEqual([])
})

test('two operators with different prefixes do not disturb each other', async () => {
  const calls: string[] = []
  const transports = [lab.record(), lab.record()]
  for (const [index, prefix] of ['one.example.com', 'two.example.com'].entries()) {
    const kopf = new Operator({
      settings: {
        persistence: {
          finalizer: `${prefix}/finalizer`,
          progressStorage: new AnnotationsProgressStorage({ prefix }),
          diffbaseStorage: new AnnotationsDiffBaseStorage({ prefix }),
        },
      },
    })
    const when = ({ name }: { name: string }) => name === 'coveted'
    kopf.on.create(lab.widgets, { id: 'fn', when }, ({ retry }) => {
      calls.push(`${index} create ${retry}`)
      if (retry < 1) throw new TemporaryError('not yet', { delay: 0.2 })
    })
    kopf.on.update(lab.widgets, { when }, () => void calls.push(`${index} update`))
    kopf.on.delete(lab.widgets, { when }, () => void calls.push(`${index} delete`))
    await lab.start(kopf, { transport: transports[index]! })
  }
  const isSettled = (body: Body, text: string) =>
    ['one', 'two'].every((name) =>
      annotationsOf(body)[`${name}.example.com/last-handled-configuration`]?.includes(text),
    )
  await lab.create('coveted', { spec: { size: 1 } })
  await lab.untilObject('coveted', (body) => isSettled(body, '"size":1'))
  await lab.elapse(1)
  expect(calls.sort()).toEqual(['0 create 0', '0 create 1', '1 create 0', '1 create 1'])
  const writes = () => transports.map((transport) => transport.writes().length)
  const before = writes()
  await lab.elapse(1)
  expect(writes()).toEqual(before)

  calls.length = 0
  await lab.patch('coveted', { spec: { size: 2 } })
  await lab.untilObject('coveted', (body) => isSettled(body, '"size":2'))
  await lab.elapse(1)
  await lab.delete('coveted')
  await lab.untilGone('coveted')
  expect(calls.sort()).toEqual(['0 delete', '0 update', '1 delete', '1 update'])
})

test('the values of a Secret are neither stored in annotations nor logged, and its changes are shown by key', async () => {
  const canary = 'canary-of-the-mine'
  const encoded = Buffer.from(canary).toString('base64')
  const path = `/api/v1/namespaces/${lab.namespace}/secrets`
  const diffs: unknown[] = []
  const seen: unknown[] = []
  const kopf = new Operator()
  const when = ({ name }: { name: string }) => name === 'kept-quiet'
  kopf.on.event('secrets', { when }, ({ body }) => void seen.push(body.data?.['password'] ?? ''))
  kopf.on.create('secrets', { id: 'fn', when }, ({ body, retry }) => {
    seen.push(body.data?.['password'] ?? '')
    if (retry < 1) throw new TemporaryError('not yet', { delay: 0.2 })
  })
  kopf.on.update('secrets', { when }, ({ old, diff, logger }) => {
    diffs.push(diff)
    logger.debug('the old state', { old })
  })
  kopf.on.delete('secrets', { when }, () => {})
  kopf.on.field('secrets', 'data.password', { id: 'field', when }, ({ old, new: now }) => void diffs.push([old, now]))
  await lab.start(kopf)
  const applied = JSON.stringify({ data: { password: encoded } })
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': applied }
  await lab.call('POST', path, { metadata: { name: 'kept-quiet', annotations }, stringData: { password: canary } })
  const get = async () => (await lab.call('GET', `${path}/kept-quiet`)).body
  await lab.until(async () => lastHandled in annotationsOf(await get()))
  const change = { data: { password: Buffer.from(`${canary}2`).toString('base64'), other: encoded } }
  await lab.call('PATCH', `${path}/kept-quiet`, change, merge)
  await lab.until(() => diffs.length === 3)
  const stored = Object.entries(annotationsOf(await get())).filter(([key]) => !(key in annotations))
  const concealed = expect.any(ConcealedValue)
  const { password } = change.data
  expect(diffs).toEqual([
    [undefined, encoded],
    [
      ['add', ['data', 'other'], undefined, encoded],
      ['change', ['data', 'password'], concealed, password],
    ],
    [concealed, password],
  ])
  expect(seen[0]).toBe(encoded)
  const text = [...lab.logs, JSON.stringify(stored)].join('\n')
  expect(text).toContain('Updating diff')
  expect(text).toContain('"password":"[concealed]"')
  for (const secret of [canary, encoded, encoded.slice(0, 16)]) expect(text).not.toContain(secret)
  await lab.call('DELETE', `${path}/kept-quiet`)
  await lab.until(async () => (await lab.call('GET', `${path}/kept-quiet`)).status === 404)
})

test('values of custom resources and ConfigMaps are not logged, even at debug level', async () => {
  const [canary, encoded] = ['canary-in-the-spec', Buffer.from('canary-in-the-spec').toString('base64')]
  const kopf = new Operator()
  const handled: string[] = []
  const when = ({ name }: { name: string }) => name === 'discreet'
  for (const resource of [lab.widgets, resourceOf('v1', 'configmaps')] as const) {
    kopf.on.event(resource, { when }, () => {})
    kopf.on.create(resource, { id: 'c', when }, ({ patch }) => {
      patch.status['token'] = `${canary}-status`
    })
    kopf.on.update(resource, { id: 'u', when }, ({ resource: { kind } }) => {
      handled.push(kind)
      throw new PermanentError('never')
    })
    kopf.on.field(resource, 'spec.password', { id: 'f', when }, () => {})
    kopf.on.delete(resource, { id: 'd', when }, () => {})
  }
  await lab.start(kopf)
  const metadata = { name: 'discreet', annotations: { 'example.com/key': canary } }
  const maps = `/api/v1/namespaces/${lab.namespace}/configmaps`
  await lab.create('discreet', { metadata, spec: { password: canary, list: [{ token: encoded }] } })
  await lab.call('POST', maps, { metadata, data: { password: canary } })
  await lab.untilObject('discreet', (one) => lastHandled in annotationsOf(one))
  await lab.until(async () => lastHandled in annotationsOf((await lab.call('GET', `${maps}/discreet`)).body))
  await lab.patch('discreet', { spec: { password: `${canary}2`, more: encoded } })
  await lab.call('PATCH', `${maps}/discreet`, { data: { password: `${canary}2`, more: encoded } }, merge)
  await lab.until(() => new Set(handled).size === 2)
  await lab.delete('discreet')
  await lab.call('DELETE', `${maps}/discreet`)
  await lab.untilGone('discreet')
  await lab.until(async () => (await lab.call('GET', `${maps}/discreet`)).status === 404)
  const text = lab.logs.join('\n')
  expect(text).toMatch(/discreet\] Creation is in progress: (generation 1, )?resourceVersion \d+\./)
  expect(text).toContain('Updating diff: add spec.more, change spec.password.')
  expect(text).toContain('Updating diff: add data.more, change data.password.')
  for (const secret of [canary, encoded, encoded.slice(0, 12)]) expect(text).not.toContain(secret)
})

test('an oversized essence is stored as a digest, with one warning for all objects', async () => {
  const calls: unknown[] = []
  const kopf = new Operator()
  const when = ({ name }: { name: string }) => name.startsWith('whale-')
  kopf.on.create(lab.widgets, { when }, ({ name }) => void calls.push(`create ${name}`))
  kopf.on.update(lab.widgets, { when }, ({ name, diff }) => {
    calls.push([name, diff.map(([operation, field, old]) => [operation, field, old])])
  })
  const transport = lab.record()
  await lab.start(kopf, { transport })
  for (const name of ['whale-1', 'whale-2']) await lab.create(name, { spec: { size: 1, text: 'x'.repeat(300_000) } })
  for (const name of ['whale-1', 'whale-2']) {
    const body = await lab.untilObject(name, (one) => lastHandled in annotationsOf(one))
    expect(annotationsOf(body)[lastHandled]).toMatch(/^\{"kopf.dev\/digest":"[\w-]{22}"\}\n$/)
  }
  const warnings = lab.logs.filter((line) => line.includes('too large for its state to be kept in an annotation'))
  expect(warnings).toHaveLength(1)
  const before = transport.writes().length
  await lab.elapse(0.5)
  expect(transport.writes()).toHaveLength(before)
  await lab.patch('whale-1', { spec: { size: 2 } })
  await lab.until(() => calls.length === 3)
  expect(calls).toEqual(['create whale-1', 'create whale-2', ['whale-1', [['change', [], undefined]]]])
  // Once it is small enough, it is stored as a whole.
  await lab.patch('whale-1', { spec: { text: null } })
  await lab.untilObject('whale-1', (body) => annotationsOf(body)[lastHandled] === '{"spec":{"size":2}}\n')
})

test('an object whose annotations are full is handled once, and the log says why no state is stored', async () => {
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { when: ({ name }) => name.startsWith('full') }, ({ name }) => void calls.push(name))
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('full', { metadata: { annotations: { 'example.com/big': 'x'.repeat(262_100) } } })
  await lab.create('full-not')
  await lab.untilObject('full-not', (body) => lastHandled in annotationsOf(body))
  await lab.untilLogged('Throttling for')
  await lab.elapse(lab.isReal ? 2 : 60)
  expect(calls.sort()).toEqual(['full', 'full-not'])
  expect(lab.logs.some((line) => line.includes('/full] ') && line.includes('metadata.annotations: Too long'))).toBe(
    true,
  )
  expect(transport.writes('/full').length).toBeLessThanOrEqual(lab.isReal ? 6 : 12)
  // Once there is room, the state is stored.
  await lab.patch('full', { metadata: { annotations: { 'example.com/big': null } } })
  await lab.untilObject('full', (body) => lastHandled in annotationsOf(body))
})

test('integers beyond 2^53 are stored and patched without loss', async () => {
  const big = '9007199254740993'
  const seen: unknown[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { when: ({ name }) => name === 'large' }, ({ spec, patch }) => {
    seen.push(spec['big'])
    patch.status['copy'] = spec['big']
    patch.fns.push((body) => void body.spec['list'].push(spec['big'] + 2n))
  })
  kopf.on.update(lab.widgets, { when: ({ name }) => name === 'large' }, ({ diff }) => void seen.push(...diff))
  await lab.start(kopf)
  const text = `{"apiVersion":"${lab.group}/v1","kind":"Widget","metadata":{"name":"large"},"spec":{"big":${big},"list":[]}}`
  await lab.call('POST', lab.path(), text)
  await lab.untilObject('large', (body) => annotationsOf(body)[lastHandled]?.includes('995') ?? false)
  const { text: stored } = await lab.call('GET', lab.path('large'))
  expect(seen[0]).toBe(BigInt(big))
  expect(stored).toContain(`"copy":${big}`)
  expect(stored).toContain('"list":[9007199254740995]')
  expect(JSON.parse(stored).metadata.annotations[lastHandled]).toContain(`"big":${big}`)
  seen.length = 0
  await lab.call('PATCH', lab.path('large'), '{"spec":{"big":9007199254740994}}', merge)
  await lab.until(() => seen.length > 0)
  expect(seen).toEqual([['change', ['spec', 'big'], 9007199254740993n, 9007199254740994n]])
})

describe('objects that lose their state', () => {
  const kind = `Pruned${lab.group.slice(1, 9)}`
  const plural = `${kind.toLowerCase()}s`
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const schema = {
    type: 'object',
    properties: { spec: anything, status: { type: 'object', properties: { phase: { type: 'string' } } } },
  }
  afterAll(() => lab.call('DELETE', `${crdsPath}/${plural}.${lab.group}`))

  test('an object that does not keep its state is handled once, with one warning, and its retries are counted', async () => {
    await lab.install({ kind, plural, schema, subresources: { status: {} } })
    const calls: string[] = []
    const persistence = { progressStorage: new StatusProgressStorage(), diffbaseStorage: new StatusDiffBaseStorage() }
    const kopf = new Operator({ settings: { persistence } })
    const resource = [lab.group, 'v1', plural] as const
    kopf.on.create(resource, ({ name, retry, patch }) => {
      calls.push(`create ${name} ${retry}`)
      if (retry < 2) throw new TemporaryError('not yet', { delay: 0.2 })
      patch.status['phase'] = 'Ready'
      return { lost: true }
    })
    kopf.on.update(resource, ({ name, diff }) => void calls.push(`update ${name} ${JSON.stringify(diff)}`))
    const transport = lab.record()
    await lab.start(kopf, { transport })
    const path = lab.path('', plural)
    for (const name of ['pruned-1', 'pruned-2']) {
      await lab.call('POST', path, { apiVersion: `${lab.group}/v1`, kind, metadata: { name }, spec: { size: 1 } })
    }
    for (const name of ['pruned-1', 'pruned-2']) {
      await lab.until(async () => (await lab.call('GET', `${path}/${name}`)).body.status?.['phase'] === 'Ready')
    }
    await lab.elapse(1)
    const expected = ['pruned-1', 'pruned-2'].flatMap((name) => [0, 1, 2].map((retry) => `create ${name} ${retry}`))
    expect([...calls].sort()).toEqual(expected)
    const warnings = lab.logs.filter((line) => line.includes('does not stay on the object'))
    expect(warnings.filter((line) => line.includes('The last handled configuration'))).toHaveLength(1)
    expect(warnings.filter((line) => line.includes('The progress of handlers'))).toHaveLength(1)
    const before = transport.writes().length
    // One write for each attempt.
    expect(before).toBe(6)
    await lab.elapse(2)
    expect(transport.writes()).toHaveLength(before)

    await lab.call('PATCH', `${path}/pruned-1`, { spec: { size: 2 } }, merge)
    await lab.until(() => calls.length > 6)
    expect(calls.at(-1)).toBe('update pruned-1 [["change",["spec","size"],1,2]]')
    await lab.elapse(1)
    expect(calls).toHaveLength(7)
  })

  test('an object whose finalizer is stripped is retried at growing intervals', async () => {
    const calls: string[] = []
    const kopf = new Operator()
    kopf.on.create(lab.widgets, { id: 'c', when: ({ name }) => name === 'stripped' }, () => void calls.push('create'))
    kopf.on.delete(lab.widgets, { id: 'd', when: ({ name }) => name === 'stripped' }, () => void calls.push('delete'))
    const transport = lab.record()
    // Like a mutating webhook that removes it.
    transport.meddle = ({ text }, send) => send(text.includes(finalizer) ? text.replaceAll(`"${finalizer}"`, '') : text)
    await lab.start(kopf, { transport })
    await lab.create('stripped')
    await lab.untilLogged('Cannot finish the handling of the object: each write to it is reverted at once')
    await lab.elapse(lab.isReal ? 2 : 60)
    expect(transport.writes('stripped').length).toBeLessThanOrEqual(lab.isReal ? 20 : 50)
    expect(lab.logs.filter((line) => line.includes('Throttling for')).length).toBeGreaterThan(1)
    expect(calls).toEqual([])
    // Without the webhook, the object is handled.
    transport.meddle = (_request, send) => send()
    await lab.untilObject('stripped', (body) => lastHandled in annotationsOf(body))
    expect(calls).toEqual(['create'])
    await lab.delete('stripped')
    await lab.untilGone('stripped')
  })
})
