/** Keys that sign the results of steps: in a Secret that the first step fills, in the settings, or in memory. */
import { type Args, Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import type { PartialSettings } from '../../src/settings/settings.ts'
import { isHandled, recordsOf, settle, useCleanLab } from '../support/handled.ts'
import type { Body } from '../support/lab.ts'
import { type Recorded, refusal } from '../support/recording.ts'

const lab = useCleanLab()

const secretsPath = '/api/v1/namespaces/default/secrets'
const random = (fill: string) => Buffer.from(fill.repeat(32)).toString('base64')

interface Scene {
  readonly secret: string
  readonly settings?: PartialSettings
  /** The label of the objects to handle. */
  readonly label?: string
}

/** An operator with one step, which fails while the object has `spec.wait`, so that the result stays on the object. */
function create(effects: string[], { secret, settings = {}, label }: Scene): Operator {
  const kopf = new Operator({
    settings: { networking: { errorBackoffs: [] }, ...settings, steps: { secret, ...settings.steps } },
  })
  const options = { id: 'fn', ...(label === undefined ? {} : { labels: { who: label } }) }
  kopf.on.create(lab.widgets, options, async ({ name, spec, step }: Args<'create', string>) => {
    await step('a', () => void effects.push(name))
    if (spec['wait']) throw new TemporaryError('not yet', { delay: 0.5 })
  })
  return kopf
}

const untilStored = (name: string) =>
  lab.untilObject(name, (body) => 'fn.a' in recordsOf(body) && Number(recordsOf(body)['fn']?.['retries']) > 0)

/** The key id in a signature `v1.<id>.<mac>`. */
const keyIdOf = (body: Body) => String(recordsOf(body)['fn.a']?.['signature']).split('.')[1]

async function dataOf(secret: string): Promise<Record<string, string>> {
  const { status, body } = await lab.call('GET', `${secretsPath}/${secret}`)
  return status === 200 ? ((body['data'] ?? {}) as Record<string, string>) : {}
}

async function fill(secret: string, data: Record<string, string>): Promise<void> {
  await lab.call('DELETE', `${secretsPath}/${secret}`)
  const { status } = await lab.call('POST', secretsPath, { metadata: { name: secret }, data })
  expect(status).toBe(201)
}

const isOfSecret = ({ path }: Recorded) => path.startsWith(secretsPath)

test('the first step fills the key Secret, whether it is empty or missing', async () => {
  for (const secret of [`${lab.namespace}-empty`, `${lab.namespace}-absent`]) {
    if (secret.endsWith('empty')) await fill(secret, {})
    const transport = lab.record()
    const running = await lab.start(create([], { secret }), { transport })
    expect(transport.requests.filter(isOfSecret)).toEqual([])
    await lab.create(secret, { spec: { wait: true } })
    const body = await untilStored(secret)
    const data = await dataOf(secret)
    expect(Object.keys(data)).toEqual(['key-1'])
    expect(Buffer.from(data['key-1']!, 'base64')).toHaveLength(32)
    await lab.create(`${secret}-more`, { spec: { wait: true } })
    await untilStored(`${secret}-more`)
    // The Secret is read, filled, and read once more, but not for every step.
    expect(transport.requests.filter(isOfSecret)).toHaveLength(3)
    const traces = [...lab.logs, JSON.stringify(body)].join('\n')
    expect(traces).not.toContain(data['key-1'])
    await lab.stop(running)
    await lab.call('DELETE', `${secretsPath}/${secret}`)
  }
})

test('replicas that fill the key Secret at the same time get the same key', async () => {
  const secret = `${lab.namespace}-race`
  await fill(secret, {})
  const labels = ['one', 'two', 'three']
  for (const who of labels) await lab.create(who, { spec: { wait: true }, metadata: { labels: { who } } })
  await Promise.all(labels.map((label) => lab.start(create([], { secret, label }))))
  const ids = []
  for (const who of labels) ids.push(keyIdOf(await untilStored(who)))
  expect(new Set(ids).size).toBe(1)
  expect(Object.keys(await dataOf(secret))).toEqual(['key-1'])
})

test('a rotated key signs new results, and the old one verifies until it is removed', async () => {
  const secret = `${lab.namespace}-rotated`
  await fill(secret, { 'key-9': random('a'), unrelated: random('c') })
  const effects: string[] = []
  const run = async (name: string) => {
    const running = await lab.start(create(effects, { secret }))
    await lab.patch(name, { metadata: { labels: { attempt: String(effects.length) } } })
    const { retries } = recordsOf(await lab.get(name))['fn'] ?? { retries: 0 }
    const body = await lab.untilObject(name, (one) => Number(recordsOf(one)['fn']?.['retries']) > Number(retries))
    await lab.stop(running)
    return keyIdOf(body)
  }
  await lab.create('rotated', { spec: { wait: true } })
  const first = await run('rotated')
  await fill(secret, { 'key-9': random('a'), 'key-10': random('b') })
  const second = await run('rotated')
  expect(effects).toEqual(['rotated'])
  expect(second).not.toBe(first)
  await fill(secret, { 'key-10': random('b') })
  expect(await run('rotated')).toBe(second)
  expect(effects).toEqual(['rotated'])
  await fill(secret, { 'key-11': random('d') })
  await run('rotated')
  expect(effects).toEqual(['rotated', 'rotated'])
  expect(lab.logs.some((line) => line.includes('the key of its signature is not known'))).toBe(true)
})

test('a process reads the key Secret again for a newer key, but not for every forgery', async () => {
  const secret = `${lab.namespace}-newer`
  await fill(secret, { 'key-1': random('a') })
  const [mine, theirs]: string[][] = [[], []]
  const transport = lab.record()
  await lab.start(create(mine!, { secret, label: 'me' }), { transport })
  const reads = () => transport.requests.filter(isOfSecret).length
  const own = (who: string) => ({ spec: { wait: true }, metadata: { labels: { who } } })
  await lab.create('warm-up', own('me'))
  await untilStored('warm-up')
  expect(reads()).toBe(1)
  await fill(secret, { 'key-1': random('a'), 'key-2': random('b') })
  const other = await lab.start(create(theirs!, { secret, label: 'them' }))
  await lab.create('handed-over', own('them'))
  await untilStored('handed-over')
  await lab.stop(other)
  // On the real server, a minute is not skipped.
  if (lab.isReal) return
  await lab.elapse(61)
  await lab.patch('handed-over', { metadata: { labels: { who: 'me' } } })
  await lab.untilObject('handed-over', (body) => Number(recordsOf(body)['fn']?.['retries']) > 1)
  expect([mine, theirs]).toEqual([['warm-up'], ['handed-over']])
  expect(reads()).toBe(2)
  const started = '2026-01-01T00:00:00.000000+00:00'
  for (let index = 0; index < 20; index += 1) {
    const signature = `v1.${String(index).padStart(16, '0')}.${'A'.repeat(43)}`
    const record = { started, purpose: 'create', success: true, result: '"forged"', signature }
    const annotations = {
      'kopf.zalando.org/fn': JSON.stringify({ started, purpose: 'create', subrefs: ['fn/a'] }),
      'kopf.zalando.org/fn.a': JSON.stringify(record),
    }
    await lab.create(`forged-${index}`, { metadata: { labels: { who: 'me' }, annotations } })
  }
  await lab.until(() => mine!.length === 21)
  expect(reads()).toBe(2)
})

const forbidden = (isForbidden: () => boolean) => {
  const transport = lab.record()
  transport.meddle = (request, send) => (isOfSecret(request) && isForbidden() ? Promise.resolve(refusal(403)) : send())
  return transport
}

test('a key in memory is used without permissions for the Secret, so that steps run again after a restart', async () => {
  const secret = `${lab.namespace}-forbidden`
  const effects: string[] = []
  const first = await lab.start(create(effects, { secret }), { transport: forbidden(() => true) })
  await lab.create('unkept', { spec: { wait: true } })
  await lab.untilObject('unkept', (body) => Number(recordsOf(body)['fn']?.['retries']) > 2)
  expect(effects).toEqual(['unkept'])
  const warnings = lab.logs.filter((line) =>
    line.includes(`Cannot store the keys for the results of steps in the Secret "default/${secret}"`),
  )
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toMatch(
    /GET was refused with 403.*after a restart steps run again; apply what `kopf manifests` prints/,
  )
  await lab.stop(first)
  await lab.start(create(effects, { secret }), { transport: forbidden(() => true) })
  await lab.until(() => effects.length === 2)
})

test('no step runs without a key if signing is required, but handlers without steps do', async () => {
  const secret = `${lab.namespace}-required`
  const effects: string[] = []
  let isForbidden = true
  const kopf = create(effects, { secret, settings: { steps: { signing: 'required' } } })
  kopf.on.create(lab.widgets, { id: 'plain' }, ({ name }) => void effects.push(`${name} without steps`))
  await lab.start(kopf, { transport: forbidden(() => isForbidden) })
  await lab.create('strict')
  await lab.untilLogged('was refused with 403')
  await lab.until(() => effects.length === 1)
  expect(effects).toEqual(['strict without steps'])
  expect(isHandled(await lab.get('strict'))).toBe(false)
  if (lab.isReal) return
  isForbidden = false
  await lab.untilObject('strict', isHandled)
  expect(effects).toEqual(['strict without steps', 'strict'])
})

test('a server that fails for a while delays the step, and no result counts as forged', async () => {
  const secret = `${lab.namespace}-failing`
  const effects: string[] = []
  const first = await lab.start(create(effects, { secret }))
  await lab.create('patient', { spec: { wait: true } })
  await untilStored('patient')
  await lab.stop(first)
  let failures = 2
  const transport = lab.record()
  transport.meddle = (request, send) => {
    if (!isOfSecret(request) || failures === 0) return send()
    failures -= 1
    return Promise.resolve(refusal(500))
  }
  await lab.start(create(effects, { secret }), { transport })
  await lab.patch('patient', { metadata: { labels: { woken: 'yes' } } })
  await lab.untilLogged('Cannot read the keys for the results of steps')
  await lab.until(() => failures === 0)
  await lab.until(() => lab.logs.filter((line) => line.includes('not yet')).length > 0)
  expect(effects).toEqual(['patient'])
})

test('a key Secret with other content is left alone', async () => {
  const secret = `${lab.namespace}-foreign`
  await fill(secret, { password: random('p'), 'key-1': Buffer.from('short').toString('base64') })
  await lab.start(create([], { secret }))
  await lab.create('foreign', { spec: { wait: true } })
  await untilStored('foreign')
  expect(Object.keys(await dataOf(secret)).sort()).toEqual(['key-1', 'password'])
  expect(lab.logs.some((line) => line.includes('no entry "key-1", "key-2", … of at least 32 bytes'))).toBe(true)
})

test('keys of the settings are used without any request', async () => {
  const secret = `${lab.namespace}-unused`
  const effects: string[] = []
  const [oldKey, newKey] = ['o'.repeat(32), 'n'.repeat(40)]
  for (const keys of [[oldKey!], [newKey!, oldKey!], [newKey!]]) {
    const transport = lab.record()
    const running = await lab.start(create(effects, { secret, settings: { steps: { keys } } }), { transport })
    if (effects.length === 0) await lab.create('given', { spec: { wait: true } })
    else await lab.patch('given', { metadata: { labels: { round: String(keys.length) + keys[0]![0] } } })
    await untilStored('given')
    await lab.until(() => lab.logs.some((line) => line.includes('not yet')))
    await settle(lab)
    expect(transport.requests.filter(isOfSecret)).toEqual([])
    expect(lab.logs.join('\n')).not.toMatch(/oooooooo|nnnnnnnn/)
    await lab.stop(running)
  }
  expect(effects).toEqual(['given'])
})

test('step results are neither signed nor verified with signing off', async () => {
  const secret = `${lab.namespace}-off`
  const effects: string[] = []
  const transport = lab.record()
  await lab.start(create(effects, { secret, settings: { steps: { signing: 'off' } } }), { transport })
  await lab.create('open', { spec: { wait: true } })
  const body = await untilStored('open')
  expect(recordsOf(body)['fn.a']).not.toHaveProperty('signature')
  expect(transport.requests.filter(isOfSecret)).toEqual([])
})
