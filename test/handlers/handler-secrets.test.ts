/** Secrets: the values that handlers get, and the absence of values in storage, logs and events. */
import {
  type Args,
  ConcealedValue,
  type Diff,
  DiffBaseStorage,
  inWorker,
  type KubeObject,
  Operator,
  type OperatorOptions,
  TemporaryError,
} from 'kopf'
import { afterEach, describe, expect, test } from 'vitest'
import { annotationsOf, lastHandled, settle } from '../support/handled.ts'
import { type Body, useLab } from '../support/lab.ts'

const lab = useLab()
const merge = 'application/merge-patch+json'
const base64 = (text: string) => Buffer.from(text).toString('base64')
const path = (name = '') => `/api/v1/namespaces/${lab.namespace}/secrets${name && `/${name}`}`

const get = async (name: string): Promise<Body> => (await lab.call('GET', path(name))).body
const patch = (name: string, change: object) => lab.call('PATCH', path(name), change, merge)

async function create(name: string, data: Record<string, string>, annotations: Record<string, string> = {}) {
  const labels = { test: 'secrets' }
  const { status } = await lab.call('POST', path(), { metadata: { name, labels, annotations }, data })
  expect(status).toBe(201)
}

const storedOf = async (name: string): Promise<Record<string, Record<string, string>> | undefined> => {
  const text = annotationsOf(await get(name))[lastHandled]
  return text === undefined ? undefined : JSON.parse(text)
}

/** Resolves when `isStored` holds for the `data` in the last handled state of the Secret. */
async function untilStored(name: string, isStored: (data: Readonly<Record<string, string>>) => boolean): Promise<void> {
  await lab.until(async () => isStored((await storedOf(name))?.['data'] ?? {}))
}

afterEach(async () => {
  await lab.stopAll()
  const { body } = await lab.call('GET', path())
  for (const { metadata } of (body as unknown as { items: Body[] }).items) {
    if (metadata.labels?.['test'] !== 'secrets') continue
    await patch(metadata.name!, { metadata: { finalizers: null } })
    await lab.call('DELETE', path(metadata.name))
  }
})

/** The diff with the clear text in place of concealed values, so that it can be compared. */
function opened(diff: Diff, ...clear: string[]): unknown[] {
  const open = (value: unknown): unknown => {
    if (!(value instanceof ConcealedValue)) return value
    return `concealed ${clear.find((one) => value.matches(one)) ?? 'something'}`
  }
  return diff.map(([operation, field, old, now]) => [operation, field.join('.'), open(old), open(now)])
}

const labels = { test: 'secrets' }

describe('handlers of Secrets', () => {
  test('a handler of a Secret gets the new values in clear and the old ones concealed, without unchanged keys in the diff', async () => {
    const seen: Array<Pick<Args<'update', 'secrets'>, 'old' | 'new' | 'diff'>> = []
    const kopf = new Operator()
    kopf.on.create('secrets', { id: 'c', labels }, ({ old, new: now, diff }) => void seen.push({ old, new: now, diff }))
    kopf.on.update('secrets', { id: 'u', labels }, ({ old, new: now, diff }) => void seen.push({ old, new: now, diff }))
    await lab.start(kopf)
    await create('plain', { password: 'b25l', user: 'bWU=' })
    await lab.until(async () => (await storedOf('plain')) !== undefined)
    await patch('plain', { data: { password: 'dHdv' } })
    await lab.until(() => seen.length === 2)
    const [created, updated] = seen
    expect(created!.new?.['data']).toEqual({ password: 'b25l', user: 'bWU=' })
    expect(created!.diff).toEqual([['add', [], undefined, created!.new]])
    expect(updated!.new?.['data']).toEqual({ password: 'dHdv', user: 'bWU=' })
    expect(opened(updated!.diff, 'b25l')).toEqual([['change', 'data.password', 'concealed b25l', 'dHdv']])
    const { password, user } = updated!.old!.data!
    expect([password, user].every((value) => value instanceof ConcealedValue)).toBe(true)
    expect((user as ConcealedValue).matches('bWU=')).toBe(true)
    expect(JSON.stringify(updated!.old)).not.toMatch(/sha256|b25l/)
    expect(Object.isFrozen(updated!.old?.data)).toBe(true)
  })

  test('a field handler of a Secret is called when its field changes, and its filters see the same values', async () => {
    const calls: string[] = []
    const kopf = new Operator()
    const note = (id: string) => (args: { readonly old: unknown; readonly new: unknown; readonly diff: Diff }) =>
      void calls.push(
        `${id} ${args.old} ${args.new} ${JSON.stringify(opened(args.diff, 'b25l', 'dHdv'))}`.replaceAll('"', ''),
      )
    const field = 'data.password'
    kopf.on.field('secrets', field, { id: 'field', labels }, note('field'))
    kopf.on.field('secrets', 'data.user', { id: 'user', labels }, note('user'))
    kopf.on.update('secrets', { id: 'old', labels, field, old: 'b25l' }, note('old'))
    kopf.on.update('secrets', { id: 'other', labels, field, old: 'b3RoZXI=' }, note('other'))
    kopf.on.update('secrets', { id: 'new', labels, field, new: 'dHdv' }, note('new'))
    kopf.on.update('secrets', { id: 'value', labels, field, value: 'b25l' }, note('value'))
    kopf.on.update(
      'secrets',
      { id: 'whole', labels, field: 'data', old: { password: 'b25l', user: 'bWU=' } },
      ({ diff }) => {
        calls.push(`whole ${JSON.stringify(opened(diff, 'b25l'))}`.replaceAll('"', ''))
      },
    )
    const isConcealed = (value: unknown) => value instanceof ConcealedValue && value.matches('b25l')
    kopf.on.update(
      'secrets',
      { id: 'callback', labels, field, old: isConcealed, new: (value) => value === 'dHdv' },
      note('callback'),
    )
    await lab.start(kopf)
    await create('field', { password: 'b25l', user: 'bWU=' })
    await lab.until(async () => (await storedOf('field')) !== undefined)
    expect(calls.splice(0).sort()).toEqual([
      'field undefined b25l [[add,,null,b25l]]',
      'user undefined bWU= [[add,,null,bWU=]]',
    ])
    await patch('field', { data: { password: 'dHdv' } })
    await lab.until(() => calls.length >= 6)
    await settle(lab)
    const told = '[concealed] dHdv [[change,,concealed b25l,dHdv]]'
    expect(calls.sort()).toEqual(
      ['callback', 'field', 'new', 'old', 'value']
        .map((id) => `${id} ${told}`)
        .concat(['whole [[change,password,concealed b25l,dHdv]]']),
    )
  })

  test('a handler of a Secret gets the remaining diff as an update, also after a restart, without stored values', async () => {
    const calls: string[] = []
    const shut = new Set(['a'])
    const kopf = new Operator()
    for (const id of ['a', 'b']) {
      const fn = ({ reason, diff, subhandler }: Args<'update', 'secrets'>) => {
        if (shut.has(id)) throw new TemporaryError('not yet', { delay: 0.2 })
        calls.push(`${id} ${reason} ${JSON.stringify(opened(diff, 'b25l', 'dHdv'))}`)
        subhandler('sub', ({ new: now, diff: same }) => {
          calls.push(`${id}/sub ${now?.data?.['password']} ${JSON.stringify(opened(same, 'b25l', 'dHdv'))}`)
        })
      }
      kopf.on.create('secrets', { id, labels }, fn)
      kopf.on.update('secrets', { id, labels }, fn)
    }
    const running = await lab.start(kopf)
    await create('partial', { password: 'b25l' })
    await lab.until(async () => 'kopf.zalando.org/seen-configurations' in annotationsOf(await get('partial')))
    const annotations = JSON.stringify(annotationsOf(await get('partial')))
    expect(annotations).toMatch(/seen-configurations.*sha256:/)
    expect(annotations).not.toContain('b25l')
    await lab.stop(running)
    await patch('partial', { data: { password: 'dHdv' } })
    shut.clear()
    await lab.start(kopf)
    await lab.until(async () => (await storedOf('partial')) !== undefined)
    const change = JSON.stringify([['change', 'data.password', 'concealed b25l', 'dHdv']])
    const rest = calls.filter((call) => call.startsWith('b'))
    expect(rest.slice(-2)).toEqual([`b update ${change}`, `b/sub dHdv ${change}`])
    expect(calls.find((call) => call.startsWith('a '))).toMatch(/^a create .*"password":"dHdv"/)
  })

  test('a handler of a Secret in a worker gets concealed values of the class that it imports', async () => {
    const kopf = new Operator()
    const fn = inWorker(new URL('./workers/secrets.ts', import.meta.url), { name: 'describe' })
    kopf.on.update('secrets', { id: 'u', labels }, (args) => lab.outside(fn(args) as Promise<unknown>))
    await lab.start(kopf)
    await create('threaded', { password: 'b25l' })
    await lab.until(async () => (await storedOf('threaded')) !== undefined)
    await patch('threaded', { data: { password: 'dHdv' } })
    await lab.untilLogged('report {')
    const line = lab.logs.find((one) => one.includes('report {'))!
    expect(JSON.parse(line.slice(line.indexOf('{')))).toEqual({
      isConcealed: true,
      isFrozen: true,
      matchesOld: true,
      matchesNew: false,
      new: 'dHdv',
      changed: 'data.password',
      isChangeConcealed: true,
      to: 'dHdv',
    })
  })

  test('a handler of a Secret cannot write a concealed value', async () => {
    const kopf = new Operator()
    kopf.on.update('secrets', { id: 'u', labels }, ({ old, patch: change }) => {
      change.data = { copy: old!.data!['password'] as string }
    })
    await lab.start(kopf)
    await create('copied', { password: 'b25l' })
    await lab.until(async () => (await storedOf('copied')) !== undefined)
    await patch('copied', { data: { password: 'dHdv' } })
    await lab.untilLogged('The old value of a Secret is concealed and cannot be written')
    expect((await get('copied'))['data']).toEqual({ password: 'dHdv' })
  })

  test('a handler of a Secret cannot send a concealed value with the client', async () => {
    const kopf = new Operator()
    kopf.on.update('secrets', { id: 'u', labels }, async ({ old, client, namespace }) => {
      const metadata = { name: 'backup', namespace: namespace! }
      await client.create({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: { ...old!.data } })
    })
    await lab.start(kopf)
    await create('sent', { password: 'b25l' })
    await lab.until(async () => (await storedOf('sent')) !== undefined)
    await patch('sent', { data: { password: 'dHdv' } })
    await lab.untilLogged(
      'the object holds the old value of a Secret, which is concealed; take the current value from "body"',
    )
    expect((await get('backup'))['kind']).toBe('Status')
  })
})

describe('clear text of Secrets', () => {
  const [first, second] = ['canary-one-of-the-mine', 'canary-two-of-the-mine']
  const forms = [first, second, base64(first!), base64(second!)].flatMap((text) => [text!, text!.slice(0, 16)])

  test('the values of a Secret appear in no annotation, log line, event, explanation, step, error or JSON of the old state', async () => {
    const texts: string[] = []
    const kopf = new Operator({ settings: { posting: { level: 'debug' } } })
    const when = ({ old }: { readonly old?: unknown }) => {
      texts.push(JSON.stringify(old) ?? '')
      return true
    }
    const fails: string[] = []
    const handle = async ({ old, logger, retry, step, recorder, subhandler }: Args<'update', 'secrets'>) => {
      const password = old?.data?.['password']
      await step('first', () => ({ isConcealed: password instanceof ConcealedValue, told: `${password}` }))
      texts.push(JSON.stringify(old) ?? '', `${password}`)
      logger.info(`it was ${password}`, { old })
      recorder.info('Changed', `it was ${password}`)
      subhandler('sub', ({ old: former }) => void texts.push(JSON.stringify(former)))
      if (retry === 0) {
        fails.push('failed')
        throw new Error(`cannot go on with ${password} of ${JSON.stringify(old)}`)
      }
    }
    const options = { labels, when, backoff: 0.1 }
    kopf.on.create('secrets', { ...options, id: 'c' }, handle)
    kopf.on.update('secrets', { ...options, id: 'u' }, handle)
    kopf.on.update('secrets', { labels, id: 'slow' }, ({ retry }) => {
      if (retry < 3) throw new TemporaryError('not yet', { delay: 0.1 })
    })
    kopf.on.field('secrets', 'data.password', { ...options, id: 'f' }, ({ old }) => void texts.push(String(old)))
    kopf.timer('secrets', { labels, id: 't', interval: 60, field: 'data.password' }, () => {})
    await lab.start(kopf)
    const keep = async () => texts.push(JSON.stringify(annotationsOf(await get('quiet'))))
    const explain = async () => {
      const resource = { ...secrets, verbs: [], shortcuts: [], categories: [], subresources: [] }
      texts.push(JSON.stringify(kopf.explain(resource, (await get('quiet')) as never)))
    }
    await create('quiet', { password: base64(first!) })
    for (let step = 0; step < 2; step += 1) {
      await lab.until(async () => {
        await keep()
        await explain()
        const { password } = (await storedOf('quiet'))?.['data'] ?? {}
        return password !== undefined && fails.length === step + 1 && !(await isOpen('quiet'))
      })
      if (step === 0) await patch('quiet', { data: { password: base64(second!), more: base64(first!) } })
      await explain()
    }
    await settle(lab)
    const events = await lab.call('GET', `/api/v1/namespaces/${lab.namespace}/events`)
    texts.push(...lab.logs, JSON.stringify((events.body as unknown as { items: unknown[] }).items))
    const text = texts.join('\n')
    for (const proof of [
      '[concealed]',
      'Updating diff',
      'it was [concealed]',
      'sha256:',
      'cannot go on with',
      '"changes"',
    ]) {
      expect(text).toContain(proof)
    }
    for (const form of forms) expect(text).not.toContain(form)
    expect(lab.logs.join('\n')).not.toContain('sha256:')
  })

  const secrets = {
    group: '',
    version: 'v1',
    plural: 'secrets',
    kind: 'Secret',
    singular: 'secret',
    namespaced: true,
    preferred: true,
  }

  const isOpen = async (name: string) =>
    Object.keys(annotationsOf(await get(name))).some((key) => /kopf.zalando.org\/(c|u|slow|f)\b/.test(key))
})

test('a storage of the user gets digests of a Secret, and its clear values are concealed on reading', async () => {
  const kept = new Map<string, object>()
  class MemoryStorage extends DiffBaseStorage {
    fetch({ body }: { readonly body: KubeObject }) {
      return (kept.get(body.metadata.name!) ?? null) as never
    }
    store({ body, essence }: { readonly body: KubeObject; readonly essence: object }) {
      kept.set(body.metadata.name!, essence)
    }
  }
  const calls: string[] = []
  const kopf = new Operator({ settings: { persistence: { diffbaseStorage: new MemoryStorage() } } })
  kopf.on.update('secrets', { id: 'u', labels }, ({ diff }) => {
    calls.push(JSON.stringify(opened(diff, 'b25l')))
  })
  await lab.start(kopf)
  await create('own', { password: 'b25l' })
  await lab.until(() => kept.has('own'))
  expect(JSON.stringify(kept.get('own'))).toMatch(/"password":"sha256:[0-9a-f]{16}"/)
  kept.set('own', { data: { password: 'b25l' }, type: 'Opaque', metadata: { labels } })
  await patch('own', { data: { more: 'bW9yZQ==' } })
  await lab.until(() => calls.length > 0)
  expect(calls).toEqual([JSON.stringify([['add', 'data.more', undefined, 'bW9yZQ==']])])
})

describe('persistence.secretValues', () => {
  const digest = /^sha256:[0-9a-f]{16}$/
  const plain: OperatorOptions<Record<string, unknown>> = { settings: { persistence: { secretValues: 'plain' } } }

  /** Records the calls of update and field handlers; `r` shows that the object was processed. */
  function watcher(options: OperatorOptions<Record<string, unknown>> = {}) {
    const calls: string[] = []
    const kopf = new Operator(options)
    kopf.on.update('secrets', { id: 'u', labels }, ({ old, new: now }) => {
      calls.push(`u ${old?.data?.['password']} ${now?.data?.['password']}`)
    })
    kopf.on.field('secrets', 'data.password', { id: 'f', labels }, ({ reason, old, new: now }) => {
      calls.push(`f ${reason} ${old} ${now}`)
    })
    kopf.on.resume('secrets', { id: 'r', labels }, () => void calls.push('r'))
    return { kopf, calls }
  }

  test('secretValues "plain" stores the values of a Secret like Kopf, and passes them as old values', async () => {
    const { kopf, calls } = watcher(plain)
    await lab.start(kopf)
    await create('stored', { password: 'b25l' })
    await untilStored('stored', ({ password }) => password === 'b25l')
    const text = annotationsOf(await get('stored'))[lastHandled]
    expect(text).toBe('{"data":{"password":"b25l"},"type":"Opaque","metadata":{"labels":{"test":"secrets"}}}\n')
    await patch('stored', { data: { password: 'dHdv' } })
    await untilStored('stored', ({ password }) => password === 'dHdv')
    expect(calls).toEqual(['f create undefined b25l', 'u b25l dHdv', 'f update b25l dHdv'])
  })

  test.each<[string, string, OperatorOptions<Record<string, unknown>>]>([
    ['digest', '[concealed]', {}],
    ['plain', 'b25l', plain],
  ])('secretValues "%s" reads the state of Kopf without an update', async (_, old, options) => {
    const text = '{"data":{"password":"b25l"},"type":"Opaque","metadata":{"labels":{"test":"secrets"}}}\n'
    await create('inherited', { password: 'b25l' }, { [lastHandled]: text })
    const { kopf, calls } = watcher(options)
    await lab.start(kopf)
    await lab.until(() => calls.includes('r'))
    await settle(lab)
    expect(calls.splice(0)).toEqual(['r'])
    expect(annotationsOf(await get('inherited'))[lastHandled]).toBe(text)
    await patch('inherited', { data: { password: 'dHdv' } })
    await lab.until(() => calls.length === 2)
    expect(calls).toEqual([`u ${old} dHdv`, `f update ${old} dHdv`])
  })

  test('secretValues can be switched without an update, and the next change is detected in both modes', async () => {
    await create('switched', { password: 'b25l' })
    const modes = [{}, plain, {}, plain]
    const told: string[][] = []
    const play = async (options: OperatorOptions<Record<string, unknown>>, change?: string) => {
      const { kopf, calls } = watcher(options)
      const running = await lab.start(kopf)
      await lab.until(() => calls.length > 0)
      const isPlain = options === plain
      if (change !== undefined) {
        await patch('switched', { data: { password: change } })
        await untilStored('switched', ({ password = '' }) => (isPlain ? password === change : digest.test(password)))
        await lab.until(() => calls.length === 3)
      }
      await settle(lab)
      await lab.stop(running)
      told.push(calls)
    }
    for (const mode of modes) await play(mode)
    expect(told.splice(0)).toEqual([['f create undefined b25l'], ['r'], ['r'], ['r']])
    // The old value is concealed in both modes, since it was stored as a digest.
    await play(plain, 'dHdv')
    await play({}, 'dGhyZWU=')
    await play(plain, 'Zm91cg==')
    expect(told).toEqual([
      ['r', 'u [concealed] dHdv', 'f update [concealed] dHdv'],
      ['r', 'u [concealed] dGhyZWU=', 'f update [concealed] dGhyZWU='],
      ['r', 'u [concealed] Zm91cg==', 'f update [concealed] Zm91cg=='],
    ])
  })
})
